// Another title for a session, and the way back; a session back from the archive. Only on pages of a server that
// allows edits. What a session is called is always the server's markup.

import { $, fragment, post, tell } from "./shared.js";

const reader = $(".reader");
const place = () => $("#session-name");

/** The reader need not load the page again for what this page has done itself. */
function expect(seconds) {
  reader.dataset.edited = String(Date.now() + seconds * 1000);
}

function open(isOpen) {
  $("form", place()).hidden = !isOpen;
  for (const other of [$("h1", place()), $("[data-edit=rename]", place()), $(".renamed", place())]) {
    if (other) other.hidden = isOpen;
  }
  complain("");
  if (isOpen) $("input", place()).select();
  else {
    $("form", place()).reset();
    $("[data-edit=rename]", place()).focus();
  }
}

function complain(text) {
  const error = $(".edit-error");
  error.textContent = text;
  error.hidden = text === "";
}

/** Puts the name there as the server has it now. */
async function renew() {
  place().replaceWith(await fragment(place().dataset.sessionName));
  document.title = `${place().dataset.title} · recto`;
  ready();
}

let isBusy = false;
async function change(address, body, done) {
  if (isBusy) return;
  isBusy = true;
  place().ariaBusy = "true";
  expect(30);
  try {
    const { remarks } = await post(address, body);
    expect(5);
    await renew();
    $("[data-edit=rename]", place()).focus();
    tell([done, ...remarks].join("; "));
  } catch (error) {
    expect(0);
    complain(error.message);
  } finally {
    isBusy = false;
    place().ariaBusy = "false";
  }
}

/** Brings a session back from the archive; the page is then that of a session of the home. */
async function restore(button) {
  if (isBusy) return;
  isBusy = true;
  button.disabled = true;
  try {
    await post(button.dataset.restore, {});
    location.reload();
  } catch (error) {
    complain(error.message);
    button.disabled = false;
    isBusy = false;
  }
}

function ready() {
  const rename = $("[data-edit=rename]");
  if (rename) rename.hidden = false;
}

document.addEventListener("click", (event) => {
  const archived = event.target.closest("[data-restore]");
  if (archived) restore(archived);
  const button = event.target.closest("[data-edit]");
  if (!button) return;
  if (button.dataset.edit === "undo") {
    change("/api/v1/undo", { operation: Number(button.dataset.operation) }, "The old title is back");
  } else open(button.dataset.edit === "rename");
});

document.addEventListener("submit", (event) => {
  if (!event.target.matches(".rename-form")) return;
  event.preventDefault();
  change(event.target.getAttribute("action"), { title: $("input", event.target).value }, "Renamed");
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && event.target.closest(".rename-form")) open(false);
});

ready();
