// Stars, pins, tags and notes of a session: recto's own data, never in the log.

import { $, $$, post, tell } from "./shared.js";

async function save(place, change) {
  try {
    const marks = await post(place.dataset.marks, change);
    for (const button of $$("[data-mark]", place)) button.setAttribute("aria-pressed", String(marks[button.dataset.mark]));
    tell("Saved");
  } catch (error) {
    tell(error.message);
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-mark]");
  const place = button?.closest("[data-marks]");
  if (place) save(place, { [button.dataset.mark]: button.getAttribute("aria-pressed") !== "true" });
  const remove = event.target.closest("[data-forget-search]");
  if (remove) {
    post("/api/v1/searches", { name: remove.dataset.forgetSearch, query: "" })
      .then(() => remove.closest("li").remove())
      .catch((error) => tell(error.message));
  }
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.matches(".marks-form:not(.save-search)")) {
    event.preventDefault();
    const tags = $("[name=tags]", form).value.split(",").map((tag) => tag.trim()).filter(Boolean);
    save(form.closest("[data-marks]"), { tags, note: $("[name=note]", form).value });
  } else if (form.matches(".save-search")) {
    event.preventDefault();
    post("/api/v1/searches", { name: $("[name=name]", form).value, query: form.dataset.query })
      .then(() => location.reload())
      .catch((error) => tell(error.message));
  }
});
