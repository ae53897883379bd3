// What all scripts of the pages use.

export const $ = (selector, within = document) => within.querySelector(selector);
export const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

/** Makes an element with a class and a text. */
export function make(name, className = "", text = "") {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text) element.textContent = text;
  return element;
}

/** Asks the server to change something; fails with what it says in words. */
export async function post(address, body) {
  let answer;
  let text;
  try {
    answer = await fetch(address, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    text = await answer.text();
  } catch {
    throw new Error("The server does not answer");
  }
  if (answer.ok) return JSON.parse(text);
  if (!answer.headers.get("content-type")?.startsWith("application/json")) throw new Error(text.trim());
  const { error, hint } = JSON.parse(text);
  throw new Error(hint ? `${error}: ${hint}` : error);
}

/** Markup that the server made, as nodes. */
export async function fragment(address, signal) {
  const answer = await fetch(address, { headers: { accept: "text/html" }, signal });
  if (!answer.ok) throw new Error(`${answer.status} for ${address}`);
  const template = document.createElement("template");
  template.innerHTML = await answer.text();
  return template.content;
}

/**
 * Makes a list what another one is, entry by entry. What is the same stays the same
 * node, and what has the focus has it afterwards; `keyOf` names an entry.
 */
export function renewList(list, entries, keyOf) {
  const focused = list.contains(document.activeElement) ? document.activeElement : null;
  const focusKey = focused && keyOf(focused.closest("li") ?? focused);
  const known = new Map([...list.children].map((entry) => [keyOf(entry), entry]));
  let place = list.firstElementChild;
  for (const entry of entries) {
    const old = known.get(keyOf(entry));
    const node = old?.isEqualNode(entry) ? old : entry;
    if (node === place) place = place.nextElementSibling;
    else list.insertBefore(node, place);
    if (old && old !== node) {
      if (old === place) place = place.nextElementSibling;
      old.remove();
    }
    known.delete(keyOf(entry));
  }
  for (const gone of known.values()) gone.remove();
  if (!focused || document.activeElement === focused) return;
  const again = [...list.children].find((entry) => keyOf(entry) === focusKey);
  again?.querySelector("a, button")?.focus({ preventScroll: true });
}

/** A short message that goes away. */
export function tell(text) {
  $(".toast")?.remove();
  const toast = make("div", "toast", text);
  toast.role = "status";
  document.body.append(toast);
  setTimeout(() => toast.remove(), 2200);
}

/** Puts a text on the clipboard. */
export async function copy(text, what = "Copied") {
  try {
    await navigator.clipboard.writeText(text);
    tell(what);
  } catch {
    tell("Clipboard access was denied");
  }
}

/** Whether keys go into a field now. */
export const isTyping = (event) =>
  Boolean(event.target.closest?.("input, textarea, select, [contenteditable]"));

/** The same words as on the server. */
export function age(seconds) {
  if (seconds < 60) return "now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)}h`;
  if (seconds < 1209600) return `${Math.floor(seconds / 86400)}d`;
  if (seconds < 31536000) return `${Math.floor(seconds / 604800)}w`;
  return `${Math.floor(seconds / 31536000)}y`;
}
