// How many sessions wait for somebody, in the title of the tab; and notices of the desktop, if
// one wants them.

import { $, tell } from "./shared.js";

const base = document.title;
const KEY = "notices";
let known = null;
let timer = null;

const wanted = () => {
  try {
    return localStorage.getItem(KEY) === "on";
  } catch {
    return false;
  }
};

function notify(row) {
  if (!wanted() || !("Notification" in window) || Notification.permission !== "granted") return;
  const notice = new Notification(row.title ?? row.first_prompt ?? "A session", {
    body: row.status.replaceAll("_", " "), tag: row.id,
  });
  notice.addEventListener("click", () => {
    window.focus();
    location.assign(`/session/${row.name}`);
  });
}

async function renew() {
  timer = null;
  try {
    const answer = await fetch("/api/v1/sessions?live=true&count=200");
    if (!answer.ok) return;
    const { sessions } = await answer.json();
    const waiting = sessions.filter((row) => row.status?.startsWith("waiting"));
    document.title = waiting.length > 0 ? `(${waiting.length}) waiting · ${base}` : base;
    const now = new Map(waiting.map((row) => [row.id, row.status]));
    // How things were when the page was opened is no news.
    if (known) waiting.filter((row) => known.get(row.id) !== row.status).forEach(notify);
    known = now;
  } catch {
    // The next event asks again.
  }
}

export function listen(source) {
  for (const name of ["status", "announcements", "appeared", "removed"]) {
    source.addEventListener(name, () => { timer ??= setTimeout(renew, 700); });
  }
  renew();
}

const button = $("[data-act=notices]");
function show() {
  button?.setAttribute("aria-pressed", String(wanted()));
  if (button) button.textContent = wanted() ? "Desktop notifications: on" : "Desktop notifications: off";
}

button?.addEventListener("click", async () => {
  if (!("Notification" in window)) return tell("This browser has no desktop notifications");
  const on = !wanted();
  if (on && (await Notification.requestPermission()) !== "granted") return tell("The browser blocks notifications");
  try {
    localStorage.setItem(KEY, on ? "on" : "off");
  } catch {
    // They hold for nothing then.
  }
  show();
});
show();
