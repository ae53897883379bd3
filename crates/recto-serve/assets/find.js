// Find in this session: the server looks through all of the log, and this goes from place to
// place. Words are marked by the browser's own highlights, which add no nodes.

import { $, make } from "./shared.js";

/** Marks texts inside an element; gives the first place. */
export function markWords(within, pattern) {
  if (!window.CSS?.highlights) return null;
  const ranges = [];
  const walker = document.createTreeWalker(within, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && ranges.length < 500; node = walker.nextNode()) {
    for (const match of node.data.matchAll(pattern)) {
      if (!match[0]) continue;
      const range = new Range();
      range.setStart(node, match.index);
      range.setEnd(node, match.index + match[0].length);
      ranges.push(range);
    }
  }
  CSS.highlights.set("found", new Highlight(...ranges));
  return ranges[0] ?? null;
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Words as a pattern that finds any of them. */
export const patternOf = (words) => new RegExp(words.map(escaped).join("|"), "giu");

export function startFind(reader, { showPlace }) {
  const base = reader.dataset.api;
  const bar = $("#reader-bar");
  const form = make("form", "find-form");
  form.role = "search";
  form.ariaLabel = "Find in this session";
  form.hidden = true;
  const field = make("input", "field");
  Object.assign(field, { type: "search", placeholder: "Find in this session", ariaLabel: "Find in this session", autocomplete: "off", spellcheck: false });
  const count = make("span", "faint find-count");
  count.role = "status";
  const button = (name, label, act) => {
    const one = make("button", "button small", name);
    one.type = "button";
    one.ariaLabel = label;
    one.title = label;
    one.addEventListener("click", act);
    return one;
  };
  const regex = make("input");
  regex.type = "checkbox";
  const label = make("label", "find-regex");
  label.append(regex, " regex");
  form.append(field, count, button("↑", "Previous (N)", () => step(-1)), button("↓", "Next (n)", () => step(1)), label, button("×", "Close", close));
  bar.append(form);
  const opener = button("Find", "Find in this session (f)", open);
  opener.className = "button small find-button";
  opener.dataset.command = "Find in this session";
  $(".chips", bar).after(opener);

  let found = null;
  let at = -1;
  let asked = null;

  function open() {
    form.hidden = false;
    field.focus();
    field.select();
  }

  function close() {
    form.hidden = true;
    found = null;
    count.textContent = "";
    window.CSS?.highlights?.delete("found");
    $(".found-line")?.classList.remove("found-line");
    opener.focus({ preventScroll: true });
  }

  function pattern() {
    try {
      return regex.checked ? new RegExp(field.value, "gimu") : patternOf([field.value]);
    } catch {
      return null; // Only the server understands it: the place is shown, words are not marked.
    }
  }

  async function ask() {
    asked?.abort();
    const text = field.value;
    if (!text) {
      found = null;
      count.textContent = "";
      return;
    }
    asked = new AbortController();
    count.textContent = "…";
    try {
      const answer = await fetch(`${base}/find?q=${encodeURIComponent(text)}${regex.checked ? "&regex=true" : ""}`, { signal: asked.signal });
      const data = await answer.json();
      if (!answer.ok) {
        found = null;
        count.textContent = data.error ?? "not found";
        return;
      }
      found = { ...data, text };
      // From where one is on, as every editor does it.
      const here = Number($("#turns .turn.here")?.dataset.turn ?? 1);
      at = Math.max(0, found.places.findIndex((place) => place.turn >= here)) - 1;
      if (found.places.length === 0) count.textContent = "no matches";
      else await step(1);
    } catch (error) {
      if (error.name !== "AbortError") count.textContent = "no answer";
    }
  }

  async function step(by) {
    if (!found?.places.length) return;
    at = (at + by + found.places.length) % found.places.length;
    const place = found.places[at];
    const element = await showPlace(place);
    const words = pattern();
    if (element && words) {
      const range = markWords(element, words);
      const box = range?.getBoundingClientRect();
      if (box && (box.top < 120 || box.bottom > window.innerHeight)) {
        range.startContainer.parentElement.scrollIntoView({ block: "center", behavior: "instant" });
      }
    }
    const more = found.places.length < found.total ? `, ${found.total.toLocaleString("en")} in all` : "";
    count.textContent = `${at + 1} of ${found.places.length.toLocaleString("en")}${more}`;
  }

  let timer = null;
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(ask, 180);
  };
  field.addEventListener("input", soon);
  regex.addEventListener("change", ask);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (found?.text === field.value) step(1);
    else ask();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
  });
  return { open, next: () => step(1), previous: () => step(-1) };
}
