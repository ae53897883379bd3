// The reader: loads turns as they are needed, follows a session that is written,
// jumps about. It keeps the place of who reads: nothing that is added moves what
// is on the screen.

import { $, $$, age, copy, fragment, isTyping, make, tell } from "./shared.js";
import { watch } from "./highlight.js";
import "./media.js";
import { markWords, patternOf, startFind } from "./find.js";
import { prune } from "./prune.js";
import { startCosts, showCosts } from "./costs.js";
import { startTurnMenu } from "./turn_menu.js";

const reader = $(".reader");
const turns = $("#turns");
const log = reader?.dataset.log;

/** The turns that are on the page, those of subagents left out. */
const shown = () => $$("#turns > .turn:not([data-part])");

// ---- Loading ----

/** Links that are being followed, with what is awaited. */
const loading = new WeakMap();

/** Puts what a link promises in its place; who asks twice waits for the same. */
function load(link) {
  if (!loading.has(link)) loading.set(link, loadOnce(link).finally(() => loading.delete(link)));
  return loading.get(link);
}

async function loadOnce(link) {
  link.classList.add("loading");
  try {
    const rows = await fragment(link.dataset.more);
    const nodes = [...rows.childNodes];
    if (link.classList.contains("earlier")) keepPlace(() => link.replaceWith(...earlier(link, nodes)));
    // What was left out above the screen comes back there.
    else if (link.getBoundingClientRect().top < 0) keepPlace(() => link.replaceWith(...nodes));
    else link.replaceWith(...nodes);
    ready(nodes);
    bound();
  } catch (error) {
    link.classList.remove("loading");
    tell("The server does not answer");
    throw error;
  }
}

/** Turns that come before others, with a link to those before them. */
function earlier(link, nodes) {
  const asked = new URL(link.dataset.more, location.href).searchParams;
  const from = Number(asked.get("from"));
  const first = nodes.find((node) => node.nodeType === Node.ELEMENT_NODE && node.matches(".turn"));
  // The server begins at a message, so a piece of a turn can begin before what was asked for.
  const skip = Number(first?.dataset.turn) === from ? Number(first.dataset.skip ?? 0) : Number(asked.get("skip") ?? 0);
  return from > 1 || skip > 0 ? [earlierLink(from, skip, link.dataset.auto), ...nodes] : nodes;
}

/** How many lines of a turn, and how many turns, come back at once. */
const LINES_BACK = 60;
const TURNS_BACK = 12;

function earlierLink(from, skip = 0, auto = undefined) {
  const link = make("a", "more earlier", "Earlier turns");
  if (skip > 0) {
    const start = Math.max(0, skip - LINES_BACK);
    link.href = `${log}?from=${from}${choice()}`;
    link.dataset.more = `${log}/turns?from=${from}&skip=${start}&stop=${skip}&until=${from + 1}${choice()}`;
  } else {
    const start = Math.max(1, from - TURNS_BACK);
    link.href = `${log}?from=${start}${choice()}`;
    link.dataset.more = `${log}/turns?from=${start}&until=${from}${choice()}`;
  }
  if (auto) link.dataset.auto = auto;
  return link;
}

function laterLink(from, skip = 0) {
  const link = make("a", "more", "More turns");
  link.href = `${log}?from=${from}&skip=${skip}${choice()}`;
  link.dataset.more = `${log}/turns?from=${from}&skip=${skip}${choice()}`;
  return link;
}

/** What is wanted of the log wherever one is in it. */
function choice() {
  const { branch, show } = reader.dataset;
  return (branch ? `&branch=${encodeURIComponent(branch)}` : "") + (show && show !== "all" ? `&show=${show}` : "");
}

/** Turns that are far away leave the page, and come back when one scrolls to them. */
function bound() {
  prune(turns, {
    keepPlace,
    earlier: (turn) => {
      const link = earlierLink(Number(turn.dataset.turn), Number(turn.dataset.skip ?? 0), "yes");
      observe(link);
      return link;
    },
    later: (turn) => {
      const link = laterLink(Number(turn.dataset.turn), Number(turn.dataset.skip ?? 0));
      observe(link);
      return link;
    },
    gone: (turn) => places.unobserve(turn),
  });
}

/** How much of the top of the screen the bars take. */
const covered = () => ($("#reader-bar")?.getBoundingClientRect().bottom ?? 60) + 8;

/** What stands first on the screen, as small a thing as has a name. */
function firstOnScreen() {
  const top = covered() - 2;
  let around = null;
  for (const thing of $$("#turns > .turn > .turn-head, #turns [data-key], #turns .call")) {
    const rect = thing.getBoundingClientRect();
    if (rect.top >= top && rect.height > 0) return rect.top < window.innerHeight * 0.7 ? thing : around ?? thing;
    // Of things inside each other, the innermost comes last.
    if (rect.bottom > top) around = thing;
  }
  return around;
}

/** Changes what is above or around, and leaves what is read where it was. */
function keepPlace(change) {
  const anchor = firstOnScreen();
  const before = anchor?.getBoundingClientRect().top;
  change();
  if (!anchor?.isConnected) return;
  // What is folded while one reads in the middle of it is seen from its beginning.
  const wanted = anchor.matches(".call:not([open])") ? Math.max(before, covered()) : before;
  window.scrollBy({ top: anchor.getBoundingClientRect().top - wanted, behavior: "instant" });
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
  showCosts();
}

function observe(link) {
  // Earlier turns are asked for, not guessed: who has come by a link to a turn wants that.
  const isWanted = !link.classList.contains("earlier") || link.dataset.auto;
  if (isWanted && link.closest("details:not([open])") === null) links.observe(link);
}

// ---- Where the reader is ----

let here = null;

const places = new IntersectionObserver(() => {
  const all = shown();
  const top = covered() + 24;
  const at = all.findLast((turn) => turn.getBoundingClientRect().top <= top) ?? all[0];
  if (at && at !== here) mark(at);
}, { rootMargin: "-90px 0px -70% 0px", threshold: [0, 1] });

function mark(turn) {
  $("#reader-place").textContent = `turn ${Number(turn.dataset.turn).toLocaleString("en")} of ${Number(reader.dataset.turns).toLocaleString("en")}`;
  here?.classList.remove("here");
  here = turn;
  here.classList.add("here");
  markInOutline(turn);
  writePlace();
}

/** The address says where the reader is, so that loading the page again leads there. */
let placeTimer = null;
function writePlace() {
  clearTimeout(placeTimer);
  placeTimer = setTimeout(() => {
    const isAtStart = !location.hash && window.scrollY < 200;
    // Who is on the way has an address already.
    if (here?.isConnected && !isAtStart && arrived === trip) history.replaceState(history.state, "", `#turn-${here.dataset.turn}`);
  }, 500);
}

function markInOutline(turn) {
  $("#outline a[aria-current]")?.removeAttribute("aria-current");
  const entry = $(`#outline a[data-goto="${turn.dataset.turn}"]`);
  entry?.setAttribute("aria-current", "location");
  if (entry && $("#outline").offsetParent) {
    const list = $(".outline-list");
    const [top, bottom] = [entry.offsetTop, entry.offsetTop + entry.offsetHeight];
    if (top < list.scrollTop || bottom > list.scrollTop + list.clientHeight) list.scrollTop = top - list.clientHeight / 3;
  }
}

function goTo(turn, focused = document.activeElement) {
  turn.scrollIntoView({ block: "start", behavior: "instant" });
  mark(turn);
  // Who went on to something else while the turn was fetched stays there.
  if ([focused, document.body].includes(document.activeElement)) turn.querySelector(".turn-number")?.focus({ preventScroll: true });
}

// Ways to another place take time, and the last one that was begun wins.
let trip = 0;
let arrived = 0;

/** Goes to a turn by its number, wherever it is. */
async function jump(number, { write = "replaceState", way = ++trip, focused = document.activeElement } = {}) {
  try {
    await goToNumber(number, write, way, focused);
  } finally {
    arrived = Math.max(arrived, way);
  }
}

async function goToNumber(number, write, way, focused) {
  let turn = document.getElementById(`turn-${number}`);
  if (!turn) {
    const rows = await fragment(`${log}/turns?from=${number}${choice()}`);
    if (way !== trip) return;
    const nodes = [...rows.childNodes];
    turns.replaceChildren(...(number > 1 ? [earlierLink(number)] : []), ...nodes);
    ready(nodes);
    turn = document.getElementById(`turn-${number}`) ?? shown()[0];
    // Nothing of what is wanted follows: the last of it is the nearest.
    if (!turn && reader.dataset.show !== "all") return goToNumber(1, write, way, focused);
  }
  if (!turn) return;
  const address = `#turn-${turn.dataset.turn}`;
  if (write && location.hash !== address) history[write](null, "", address);
  goTo(turn, focused);
}

/** Shows a turn from a line on, instead of what is there. */
async function showFrom(number, skip, way = trip) {
  const rows = await fragment(`${log}/turns?from=${number}&skip=${skip}${choice()}`);
  if (way !== trip) return;
  const nodes = [...rows.childNodes];
  const first = nodes.find((node) => node.nodeType === Node.ELEMENT_NODE && node.matches(".turn"));
  const start = Number(first?.dataset.skip ?? 0);
  turns.replaceChildren(...(number > 1 || start > 0 ? [earlierLink(number, start, "yes")] : []), ...nodes);
  // Above what is shown now is the rest of it: it comes when one scrolls there.
  ready(nodes);
  requestAnimationFrame(() => $$("#turns > a.earlier").forEach(observe));
}

/** Goes to the end of the log, however far it is. */
async function toEnd() {
  const way = ++trip;
  await renew();
  const number = Number(reader.dataset.turns);
  if (way === trip) await jump(number, { way });
  if (way !== trip) return;
  // A turn can be longer than what comes at once.
  const lines = Number($$("#turns > .turn").at(-1)?.dataset.lines ?? 0);
  if (lastLink()) await showFrom(number, Math.max(0, lines - LINES_BACK), way);
  for (let more = lastLink(); more && way === trip; more = lastLink()) await load(more);
  if (way !== trip) return;
  window.scrollTo({ top: document.body.scrollHeight, behavior: "instant" });
  clearNews();
}

const lastLink = () => $("#turns > a.more:not(.earlier)");

/** Shows the line that an address names: unfolded, in the middle, and marked. */
async function showLine(line, turn, skip) {
  const find = () => $(`#turns > .turn[data-turn="${turn}"] > .items [data-line="${line}"]`);
  if (!find()) await showFrom(turn, Math.max(0, skip - 6));
  const place = find();
  if (!place) return null;
  $(".found-line")?.classList.remove("found-line");
  for (let fold = place.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  place.classList.add("found-line");
  place.scrollIntoView({ block: "center", behavior: "instant" });
  // What is higher than the screen is read from its beginning.
  if (place.offsetHeight > window.innerHeight * 0.7) place.scrollIntoView({ block: "start", behavior: "instant" });
  const turnPlace = place.closest("#turns > .turn");
  if (turnPlace && turnPlace !== here) mark(turnPlace);
  return place;
}

function step(by) {
  const all = shown();
  const at = all.indexOf(here);
  const next = all[at + by];
  if (next) goTo(next);
  else if (by > 0) lastLink()?.scrollIntoView({ block: "center" });
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
  const way = ++trip;
  await jump(Number(further.dataset.goto), { way });
  const find = () => $(`#turns > .turn[data-turn="${further.dataset.goto}"] .is-error`);
  const isInTurn = (link) => new URL(link.dataset.more, location.href).searchParams.get("from") === further.dataset.goto;
  // A long turn comes in parts; what was passed leaves the page at the top.
  for (let more = lastLink(); more && way === trip && !find() && isInTurn(more); more = lastLink()) {
    window.scrollTo({ top: document.body.scrollHeight, behavior: "instant" });
    await load(more);
  }
  if (way === trip && find()) showError(find());
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

/** Opens or closes the outline where it lies on the page. */
function outline(open = !$("#outline").classList.contains("open")) {
  const wasOpen = $("#outline").classList.contains("open");
  $("#outline").classList.toggle("open", open);
  const button = $(".outline-button");
  button?.setAttribute("aria-expanded", String(open));
  if (open && !wasOpen) ($("#outline a[aria-current]") ?? $("#outline a"))?.focus();
  else if (wasOpen && !open) button?.focus({ preventScroll: true });
}

// ---- Following ----

/** Whether the end of the log is on the page. */
const hasEnd = () => lastLink() === null;
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
    const rows = await fragment(`${log}/turns?from=${number}&skip=${skip}${choice()}`);
    const added = merge(last, rows);
    if (added > 0 && wasAtEnd) window.scrollTo({ top: document.body.scrollHeight, behavior: "instant" });
    else if (added > 0) showNews(added);
    if (added > 0) say(added);
    if (wasAtEnd) bound();
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

/** Renews the numbers of the head and the end of the outline. */
async function renew() {
  const from = Math.max(1, Number(reader.dataset.turns));
  let rows;
  try {
    rows = await fragment(`${log}/news?from=${from}${choice()}`);
  } catch {
    return; // The next event asks again.
  }
  reader.dataset.turns = $("[data-turns]", rows)?.dataset.turns ?? reader.dataset.turns;
  for (const part of ["#session-numbers", ".outline-head"]) {
    const [old, now] = [$(part), $(part, rows)];
    if (old && now && !old.isEqualNode(now)) old.replaceWith(now);
  }
  const list = $("#outline .outline-list");
  const entries = $$(".outline-list > li", rows);
  if (!list || entries.length === 0) return;
  for (const entry of $$(":scope > li", list)) {
    if (Number(entry.dataset.turn) >= from) entry.remove();
  }
  list.append(...entries);
  if (here) markInOutline(here);
}

let renewTimer = null;
function renewSoon() {
  renewTimer ??= setTimeout(() => {
    renewTimer = null;
    if (!document.hidden) renew();
  }, 800);
}

/** Tells who cannot see it that something was added, but not for every line. */
let said = 0;
let sayTimer = null;
function say(count) {
  said += count;
  sayTimer ??= setTimeout(() => {
    sayTimer = null;
    $("#reader-status").textContent = `${said} new ${said === 1 ? "item" : "items"} at the end`;
    said = 0;
  }, 1500);
}

function showNews(count) {
  news += count;
  let pill = $(".news");
  if (!pill) {
    pill = make("button", "news");
    pill.type = "button";
    pill.addEventListener("click", () => toEnd().catch(() => {}));
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
  renewSoon();
  if (hasEnd()) follow();
  else if (!isRenamed) {
    showNews(data.lines ?? 1);
    say(data.lines ?? 1);
  }
}

/** Whether a title was given to the log on this page: all its lines come again. */
let isRenamed = false;

function onRestarted(event) {
  const data = JSON.parse(event.data);
  if (data.session !== reader.dataset.session) return;
  // A title changes no turn: what is on the page stays.
  if (Number(reader.dataset.edited ?? 0) > Date.now()) isRenamed = true;
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
  source.addEventListener("gap", () => {
    renewSoon();
    if (hasEnd()) follow();
  });
  source.addEventListener("restarted", onRestarted);
}

// ---- Start ----

async function loadFacts() {
  const place = $("#facts[data-load]");
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
  text.tabIndex = 0;
  const before = link.previousElementSibling;
  if (before?.matches("pre")) before.replaceWith(text);
  else link.before(text);
  link.remove();
}

let finder = null;

const KEYS = {
  f: () => finder.open(),
  n: () => finder.next(),
  N: () => finder.previous(),
  j: () => step(1),
  k: () => step(-1),
  e: nextError,
  g: () => jump(1),
  G: toEnd,
  t: () => {
    toolsOpen = !toolsOpen;
    keepPlace(foldTools);
  },
  y: () => here && copyLink(here.dataset.turn),
  o: () => outline(),
};

/** The same words as on the server. */
function printed(first, last, all) {
  if (first <= 1 && last >= all) return `All ${all} turns.`;
  const missing = [];
  if (first > 1) missing.push(`1–${first - 1}`);
  if (last < all) missing.push(`${last + 1}–${all}`);
  return `Turns ${first}–${last} of ${all}. Not printed: turns ${missing.join(" and ")}. An export has all of them.`;
}

function copyLink(number) {
  copy(`${location.origin}${log}#turn-${number}`, `Link to turn ${number} copied`);
}

function start() {
  const button = make("button", "button outline-button", "Outline");
  button.type = "button";
  button.setAttribute("aria-expanded", "false");
  button.setAttribute("aria-controls", "outline");
  button.addEventListener("click", () => outline());
  ($(".session-acts") ?? $(".session-title"))?.append(button);
  ready([...turns.childNodes]);
  loadFacts();
  startCosts(reader, jump);
  startTurnMenu(reader, copyLink);
  finder = startFind(reader, { showPlace: ({ line, turn, skip }) => showLine(line, turn, skip) });
  const head = $(".session-title");
  if (head) new IntersectionObserver(([entry]) => reader.classList.toggle("scrolled", !entry.isIntersecting), { rootMargin: "-48px" }).observe(head);
  const wanted = () => Number(location.hash.match(/^#turn-(\d+)$/)?.[1] ?? 0);
  const { target, targetTurn, targetSkip } = reader.dataset;
  if (wanted() || target) {
    // Otherwise the browser scrolls to where the page was when its other turns are not there yet.
    history.scrollRestoration = "manual";
    jump(wanted() || Number(targetTurn), { write: "", focused: document.body })
      .then(() => target && [0, Number(targetTurn)].includes(wanted()) && showLine(target, Number(targetTurn), Number(targetSkip)))
      .then((place) => {
        const words = reader.dataset.markWords?.split("\n").filter(Boolean);
        if (place && words?.length) markWords(place, patternOf(words))?.startContainer.parentElement.scrollIntoView({ block: "center", behavior: "instant" });
      })
      .catch(() => {});
  }
  window.addEventListener("hashchange", () => {
    if (wanted()) jump(wanted(), { write: "" }).catch(() => {});
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a.more[data-more]");
    const goto = event.target.closest("[data-goto]");
    const rest = event.target.closest("a[data-rest]");
    const chip = event.target.closest("a.chip");
    // Who chooses what is shown stays at the turn that is read.
    if (chip && here && Number(here.dataset.turn) > 1) chip.hash = `#turn-${here.dataset.turn}`;
    const act = event.target.closest("[data-reader]")?.dataset.reader;
    // A click beside the outline closes it, and does what it does.
    if (!event.target.closest("#outline, .outline-button")) $("#outline").classList.contains("open") && outline(false);
    if (!(link || goto || rest || act)) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (link) load(link).catch(() => {});
    else if (goto) {
      outline(false);
      // The way back leads to where the reader was.
      jump(Number(goto.dataset.goto), { write: "pushState" }).catch(() => {});
    } else if (rest) loadRest(rest);
    else if (act === "outline") outline(false);
    else nextError();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && $("#outline").classList.contains("open")) outline(false);
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
  // Paper has what is on the page, and says what is not.
  window.addEventListener("beforeprint", () => {
    const numbers = shown().map((turn) => Number(turn.dataset.turn));
    const [first, last, all] = [numbers[0] ?? 0, numbers.at(-1) ?? 0, Number(reader.dataset.turns)];
    $("#printed-turns").textContent = printed(first, last, all);
  });
  window.addEventListener("scroll", () => isAtEnd() && clearNews(), { passive: true });
}

if (reader) start();
