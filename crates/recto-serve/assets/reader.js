// The reader: loads turns as they are needed, follows a session that is written,
// jumps about. It keeps the place of who reads: nothing that is added moves what
// is on the screen.

import { $, $$, age, copy, fragment, isTyping, make, tell } from "./shared.js";
import { watch } from "./highlight.js";

const reader = $(".reader");
const turns = $("#turns");
const log = reader?.dataset.log;

/** The turns that are on the page, those of subagents left out. */
const shown = () => $$("#turns > .turn:not([data-part])");

// ---- Loading ----

/** Puts what a link promises in its place. */
async function load(link) {
  if (link.classList.contains("loading")) return;
  link.classList.add("loading");
  try {
    const rows = await fragment(link.dataset.more);
    const nodes = [...rows.childNodes];
    if (link.classList.contains("earlier")) keepPlace(() => link.replaceWith(...earlier(link, nodes)));
    else link.replaceWith(...nodes);
    ready(nodes);
  } catch (error) {
    link.classList.remove("loading");
    tell("The server does not answer");
    throw error;
  }
}

/** Turns that come before others, with a link to those before them. */
function earlier(link, nodes) {
  const from = Number(new URL(link.dataset.more, location.href).searchParams.get("from"));
  return from > 1 ? [earlierLink(from), ...nodes] : nodes;
}

function earlierLink(from) {
  const start = Math.max(1, from - 12);
  const link = make("a", "more earlier", "Earlier turns");
  link.href = `${log}?from=${start}`;
  link.dataset.more = `${log}/turns?from=${start}&until=${from}${branch()}`;
  return link;
}

const branch = () => (reader.dataset.query ? `&branch=${encodeURIComponent(reader.dataset.query)}` : "");

/** Does something that adds content above, and leaves the screen as it was. */
function keepPlace(change) {
  const anchor = $$("#turns .turn").find((turn) => turn.getBoundingClientRect().bottom > 60);
  const before = anchor?.getBoundingClientRect().top;
  change();
  if (anchor?.isConnected) window.scrollBy({ top: anchor.getBoundingClientRect().top - before, behavior: "instant" });
}

const links = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    if (!entry.isIntersecting) continue;
    links.unobserve(entry.target);
    load(entry.target).catch(() => {});
  }
}, { rootMargin: "800px" });

/** Makes new nodes work. */
function ready(nodes) {
  for (const node of nodes) {
    if (node.nodeType !== Node.ELEMENT_NODE) continue;
    watch(node);
    if (node.matches("a.more")) observe(node);
    for (const link of $$("a.more", node)) observe(link);
    if (node.matches(".turn")) places.observe(node);
  }
  foldTools();
}

function observe(link) {
  // Earlier turns are asked for, not guessed: who has come by a link to a turn wants that.
  if (!link.classList.contains("earlier") && link.closest("details:not([open])") === null) links.observe(link);
}

// ---- Where the reader is ----

let here = null;

const places = new IntersectionObserver(() => {
  const all = shown();
  const top = 96;
  const at = all.findLast((turn) => turn.getBoundingClientRect().top <= top) ?? all[0];
  if (at && at !== here) mark(at);
}, { rootMargin: "-90px 0px -70% 0px", threshold: [0, 1] });

function mark(turn) {
  here?.classList.remove("here");
  here = turn;
  here.classList.add("here");
  $("#outline a[aria-current]")?.removeAttribute("aria-current");
  const entry = $(`#outline a[data-goto="${turn.dataset.turn}"]`);
  entry?.setAttribute("aria-current", "location");
  if (entry && $("#outline").offsetParent) {
    const list = $(".outline-list");
    const [top, bottom] = [entry.offsetTop, entry.offsetTop + entry.offsetHeight];
    if (top < list.scrollTop || bottom > list.scrollTop + list.clientHeight) list.scrollTop = top - list.clientHeight / 3;
  }
}

function goTo(turn) {
  turn.scrollIntoView({ block: "start", behavior: "instant" });
  mark(turn);
  turn.querySelector(".turn-number")?.focus({ preventScroll: true });
}

/** Goes to a turn by its number, wherever it is. */
async function jump(number, { write = true } = {}) {
  let turn = document.getElementById(`turn-${number}`);
  if (!turn) {
    const rows = await fragment(`${log}/turns?from=${number}${branch()}`);
    const nodes = [...rows.childNodes];
    turns.replaceChildren(...(number > 1 ? [earlierLink(number)] : []), ...nodes);
    ready(nodes);
    turn = document.getElementById(`turn-${number}`) ?? shown()[0];
  }
  if (!turn) return;
  if (write) history.replaceState(null, "", `#turn-${turn.dataset.turn}`);
  goTo(turn);
}

function step(by) {
  const all = shown();
  const at = all.indexOf(here);
  const next = all[at + by];
  if (next) goTo(next);
  else if (by > 0) $("#turns > a.more:not(.earlier)")?.scrollIntoView({ block: "center" });
  else {
    const link = $("#turns > a.earlier");
    if (link) load(link).then(() => step(-1));
  }
}

/** The next call that failed, on the page or in a turn that is not loaded yet. */
async function nextError() {
  const errors = $$("#turns .is-error");
  const from = Number($("[data-error-here]")?.dataset.errorHere ?? -1);
  const last = errors.findIndex((error) => error.hasAttribute("data-error-here"));
  const isBelow = (error) => error.getBoundingClientRect().top > 110;
  const next = last >= 0 ? errors[last + 1] : errors.find(isBelow);
  if (next) return showError(next);
  const after = Math.max(from, ...shown().map((turn) => Number(turn.dataset.turn)));
  const further = $$("#outline a.has-error").find((link) => Number(link.dataset.goto) > after);
  if (!further) return tell("No further errors");
  await jump(Number(further.dataset.goto));
  const first = $(`#turn-${further.dataset.goto} .is-error`);
  if (first) showError(first);
}

function showError(error) {
  $("[data-error-here]")?.removeAttribute("data-error-here");
  error.dataset.errorHere = error.closest(".turn")?.dataset.turn ?? "";
  if (error.matches("details")) error.open = true;
  error.scrollIntoView({ block: "center", behavior: "instant" });
  error.querySelector("summary")?.focus({ preventScroll: true });
}

let toolsOpen = null;
function foldTools() {
  if (toolsOpen === null) return;
  for (const call of $$("#turns .call")) call.open = toolsOpen;
}

function outline() {
  $("#outline").classList.toggle("open");
}

// ---- Following ----

/** Whether the end of the log is on the page. */
const hasEnd = () => $("#turns > a.more:not(.earlier)") === null;
const isAtEnd = () => window.innerHeight + window.scrollY >= document.body.scrollHeight - 120;

let news = 0;
let asking = false;
let again = false;

/** Asks for what is new at the end, and puts it there. */
async function follow() {
  if (asking) {
    again = true;
    return;
  }
  asking = true;
  try {
    const wasAtEnd = isAtEnd();
    const last = $$("#turns > .turn").at(-1);
    const number = last ? Number(last.dataset.turn) : 1;
    // Calls get their results later: what is a few lines back is looked at again.
    const skip = last ? Math.max(0, Number(last.dataset.lines) - 60) : 0;
    const rows = await fragment(`${log}/turns?from=${number}&skip=${skip}${branch()}`);
    const added = merge(last, rows);
    if (added > 0 && wasAtEnd) window.scrollTo({ top: document.body.scrollHeight, behavior: "instant" });
    else if (added > 0) showNews(added);
  } catch {
    // The next event asks again.
  } finally {
    asking = false;
    if (again) {
      again = false;
      follow();
    }
  }
}

/** Puts new items into the last turn and new turns behind it; says how many. */
function merge(last, rows) {
  let added = 0;
  $("#turns > .empty")?.remove();
  for (const node of [...rows.children]) {
    const isSame = last && node.matches(".turn") && node.dataset.turn === last.dataset.turn;
    if (!isSame) {
      turns.append(node);
      added += node.matches(".turn") ? Math.max(1, $$(":scope > .items > *", node).length) : 0;
      ready([node]);
      addToOutline(node);
      continue;
    }
    last.dataset.lines = node.dataset.lines;
    const head = $(":scope > .turn-head", node);
    const place = $(":scope > .turn-head", last);
    if (head && place) place.replaceWith(head);
    const known = new Map($$(`#turns > .turn[data-turn="${last.dataset.turn}"] > .items > *`).map((item) => [item.dataset.key, item]));
    for (const item of $$(":scope > .items > *", node)) {
      const old = known.get(item.dataset.key);
      if (!old) {
        $(":scope > .items", last).append(item);
        added += 1;
        ready([item]);
      } else if (old.dataset.sign !== item.dataset.sign) {
        const open = $$("details", old).map((fold) => fold.open);
        $$("details", item).forEach((fold, at) => { fold.open = open[at] ?? false; });
        old.replaceWith(item);
        ready([item]);
      }
    }
  }
  return added;
}

function addToOutline(turn) {
  if (!turn.matches(".turn") || $(`#outline a[data-goto="${turn.dataset.turn}"]`)) return;
  const link = make("a");
  link.href = `#turn-${turn.dataset.turn}`;
  link.dataset.goto = turn.dataset.turn;
  const text = make("span", "outline-text");
  text.append(make("span", "cut", $(".prompt .plain", turn)?.textContent.trim().slice(0, 90) || `(${turn.dataset.kind})`));
  link.append(make("span", "outline-number", turn.dataset.turn), text);
  const item = make("li");
  item.append(link);
  $(".outline-list")?.append(item);
}

function showNews(count) {
  news += count;
  let pill = $(".news");
  if (!pill) {
    pill = make("button", "news");
    pill.type = "button";
    pill.addEventListener("click", () => {
      window.scrollTo({ top: document.body.scrollHeight, behavior: "instant" });
      clearNews();
    });
    document.body.append(pill);
  }
  pill.textContent = `${news} new ↓`;
}

function clearNews() {
  news = 0;
  $(".news")?.remove();
}

function onAppended(event) {
  const data = JSON.parse(event.data);
  if (data.session !== reader.dataset.session || (data.agent ?? "") !== (reader.dataset.agent ?? "")) return;
  if (hasEnd()) follow();
  else if (data.generation !== renamed) showNews(data.lines ?? 1);
}

/** The log since a title was given to it on this page: all its lines come again. */
let renamed = null;

function onRestarted(event) {
  const data = JSON.parse(event.data);
  if (data.session !== reader.dataset.session) return;
  // A title changes no turn: what is on the page stays.
  if (Number(reader.dataset.edited ?? 0) > Date.now()) renamed = data.generation;
  else location.reload();
}

function onStatus(event) {
  const data = JSON.parse(event.data);
  const place = $("#session-status");
  if (!place || reader.dataset.agent || data.id !== reader.dataset.session) return;
  const words = data.status.replaceAll("_", " ");
  place.dataset.status = data.status;
  Object.assign($(".dot", place), { title: words, ariaLabel: words });
  $(".dot", place).dataset.status = data.status;
  $("strong", place).textContent = words;
  $(".why", place).textContent = data.why.join("; ");
  const time = $("time", place);
  if (time && data.since) {
    time.dateTime = data.since;
    time.textContent = age((Date.now() - Date.parse(data.since)) / 1000);
  }
}

/** Called by the page's one stream of events. */
export function listen(source) {
  if (!reader) return;
  source.addEventListener("appended", onAppended);
  source.addEventListener("status", onStatus);
  // Something was missed, or the file is another one: what is there is asked for anew.
  source.addEventListener("gap", () => hasEnd() && follow());
  source.addEventListener("restarted", onRestarted);
}

// ---- Start ----

async function loadFacts() {
  const place = $("[data-load]");
  if (!place) return;
  try {
    place.replaceChildren(await fragment(place.dataset.load));
  } catch {
    place.replaceChildren(make("p", "faint", "Cost and health could not be computed."));
  }
}

async function loadRest(link) {
  const answer = await fetch(link.getAttribute("href"));
  if (!answer.ok) return tell("The text could not be loaded");
  const text = make("pre", "scroll", await answer.text());
  const before = link.previousElementSibling;
  if (before?.matches("pre")) before.replaceWith(text);
  else link.before(text);
  link.remove();
}

const KEYS = {
  j: () => step(1),
  k: () => step(-1),
  e: nextError,
  g: () => jump(1),
  G: () => jump(Number(reader.dataset.turns)).then(() => window.scrollTo(0, document.body.scrollHeight)),
  t: () => {
    toolsOpen = !toolsOpen;
    foldTools();
  },
  y: () => here && copyLink(here.dataset.turn),
  o: outline,
};

function copyLink(number) {
  copy(`${location.origin}${log}#turn-${number}`, `Link to turn ${number} copied`);
}

function start() {
  const button = make("button", "button outline-button", "Outline");
  button.type = "button";
  button.addEventListener("click", outline);
  $(".session-acts")?.append(button);
  ready([...turns.childNodes]);
  loadFacts();
  const wanted = location.hash.match(/^#turn-(\d+)$/)?.[1];
  if (wanted) jump(Number(wanted), { write: false }).catch(() => {});
  window.addEventListener("hashchange", () => {
    const number = location.hash.match(/^#turn-(\d+)$/)?.[1];
    if (number) jump(Number(number), { write: false }).catch(() => {});
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a.more[data-more]");
    const goto = event.target.closest("[data-goto]");
    const rest = event.target.closest("a[data-rest]");
    const turn = event.target.closest("[data-turn-link]");
    if (!(link || goto || rest || turn || event.target.closest("[data-reader=error]"))) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (link) load(link).catch(() => {});
    else if (goto) {
      jump(Number(goto.dataset.goto)).catch(() => {});
      $("#outline").classList.remove("open");
    } else if (rest) loadRest(rest);
    else if (turn) copyLink(turn.dataset.turnLink);
    else nextError();
  });
  document.addEventListener("keydown", (event) => {
    if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey || $("dialog[open]")) return;
    if (KEYS[event.key]) {
      event.preventDefault();
      KEYS[event.key]();
    }
  });
  // A subagent's log is loaded when its thread is opened.
  document.addEventListener("toggle", (event) => {
    if (event.target.open) {
      for (const more of $$(":scope > .thread-body > a.more", event.target)) load(more).catch(() => {});
    }
  }, true);
  window.addEventListener("scroll", () => isAtEnd() && clearNews(), { passive: true });
}

if (reader) start();
