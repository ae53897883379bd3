// The script of every page: colours, the list at the side, the palette, keys.
// Text of a log is only ever put in as text; markup comes from the server alone.

import { listen as listenInReader } from "./reader.js";
import "./marks.js";
import { listen as listenForNotices } from "./notices.js";
import "./search.js";
import { $, $$, age, copy, fragment, isTyping, make, renewList, tell } from "./shared.js";

const root = document.documentElement;

// ---- Colours ----

const THEMES = ["auto", "light", "dark"];
const THEME_NAMES = { auto: "system", light: "light", dark: "dark" };

function theme() {
  return root.dataset.theme ?? "auto";
}

function setTheme(name) {
  if (name === "auto") delete root.dataset.theme;
  else root.dataset.theme = name;
  try {
    localStorage.setItem("theme", name);
  } catch {
    // It holds for this page then.
  }
  nameTheme();
}

function nameTheme() {
  const label = `Theme: ${THEME_NAMES[theme()]}`;
  $("[data-act=theme]")?.setAttribute("aria-label", label);
  $("[data-act=theme]")?.setAttribute("title", label);
}

function nextTheme() {
  setTheme(THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length]);
  tell(`Theme: ${THEME_NAMES[theme()]}`);
}

// ---- Ages ----

function renewAges() {
  if (document.hidden) return;
  const now = Date.now();
  for (const time of $$("time[data-age]")) {
    time.textContent = age((now - Date.parse(time.dateTime)) / 1000);
  }
}

// ---- The list at the side ----

const side = { filter: "", asked: null };

/** How many are asked for at a time; the server gives no more than MOST_ROWS. */
const SIDE_ROWS = 60;
const MOST_ROWS = 1000;

const keyOfRow = (entry) => $("a", entry)?.getAttribute("href") ?? "";

async function loadSide({ more = null, renews = false, isFar = false } = {}) {
  const list = $("#side-list");
  if (!list) return;
  side.asked?.abort();
  side.asked = new AbortController();
  // What was asked for before is still wanted: the list is as long as it was.
  const count = renews ? Math.min(MOST_ROWS, Math.max(SIDE_ROWS, $$("a.row", list).length)) : SIDE_ROWS;
  const address = more ?? `/sessions/list?count=${isFar ? MOST_ROWS : count}&group=${groupBy()}&q=${encodeURIComponent(side.filter)}`;
  let rows;
  try {
    rows = await fragment(address, side.asked.signal);
  } catch (error) {
    if (error.name !== "AbortError" && !renews) list.replaceChildren(make("p", "side-more faint", "The server does not answer."));
    return;
  }
  const here = location.pathname.match(/^\/session\/([0-9a-f-]{36}(~[0-9a-f]{8})?)/)?.[1];
  if (here) rows.querySelector(`a[href^="/session/${here}"]`)?.setAttribute("aria-current", "page");
  const total = rows.querySelector("[data-total]")?.dataset.total;
  if (total !== undefined) $("#side-count").textContent = Number(total).toLocaleString("en");
  const entries = $$("ol > li", rows);
  const old = $("ol", list);
  if (old && more) old.append(...entries);
  else if (old && renews) renewList(old, entries, keyOfRow);
  else {
    list.replaceChildren(rows);
    showOpen(isFar, total);
    return;
  }
  for (const link of $$(".side-more", list)) link.remove();
  list.append(...$$(".side-more", rows));
}

/** Scrolls to the session that is open; one that is far down the list is asked for once. */
function showOpen(isFar, total) {
  if (!location.pathname.startsWith("/session/") || side.filter) return;
  const open = $("#side-list a[aria-current]");
  const list = $("#side-list");
  if (open) {
    const top = open.offsetTop - list.offsetTop;
    if (top > list.clientHeight - 80) list.scrollTop = top - list.clientHeight / 2;
  } else if (!isFar && Number(total) > SIDE_ROWS) loadSide({ isFar: true });
}

function groupBy() {
  try {
    return localStorage.getItem("group") === "project" ? "project" : "day";
  } catch {
    return "day";
  }
}

function showGroups() {
  for (const button of $$("[data-group-by]")) button.setAttribute("aria-pressed", String(button.dataset.groupBy === groupBy()));
}

/** The session before or after the open one in the list. */
function neighbour(step) {
  const rows = $$("#side-list a.row");
  const at = rows.findIndex((row) => row.hasAttribute("aria-current"));
  const next = rows[at + step];
  if (next) location.assign(next.getAttribute("href"));
  else tell(step > 0 ? "This is the last session in the list" : "This is the first session in the list");
}

/** Loads the list again, but not more often than every two seconds. */
let sideTimer = null;
function renewSide() {
  if (sideTimer) return;
  sideTimer = setTimeout(() => {
    sideTimer = null;
    if (!document.hidden) loadSide({ renews: true });
  }, 2000);
}

function startSide() {
  const filter = $("#side-filter");
  const list = $("#side-list");
  if (!filter || !list) return;
  let waiting = null;
  filter.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      side.filter = filter.value.trim();
      list.scrollTop = 0;
      loadSide();
    }, 120);
  });
  filter.addEventListener("keydown", (event) => {
    if (event.key === "Enter") $("a.row", list)?.click();
    if (event.key === "ArrowDown") {
      event.preventDefault();
      $("a.row", list)?.focus();
    }
  });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const rows = $$("a.row", list);
    const next = rows[rows.indexOf(document.activeElement) + step];
    if (next) next.focus();
    else if (step < 0) filter.focus();
  });
  showGroups();
  document.addEventListener("click", (event) => {
    const by = event.target.closest("[data-group-by]")?.dataset.groupBy;
    if (!by) return;
    try {
      localStorage.setItem("group", by);
    } catch {
      // The list stays as it is then.
    }
    showGroups();
    loadSide();
  });
  list.addEventListener("click", (event) => {
    const more = event.target.closest("a.side-more[data-more]");
    if (!more) return;
    event.preventDefault();
    loadSide({ more: more.dataset.more });
  });
  loadSide();
}

function drawer(open = !root.classList.contains("drawer-open")) {
  root.classList.toggle("drawer-open", open);
  $(".drawer-button")?.setAttribute("aria-expanded", String(open));
  if (open) $("#side-filter")?.focus();
}

// ---- Palette ----

const palette = { at: 0, asked: null, sessions: [] };

function pages() {
  const links = $$(".nav a").map((link) => ({ name: link.textContent, note: "page", href: link.getAttribute("href") }));
  const here = $$("[data-command]").map((element) => ({
    name: element.dataset.command, note: "this session", act: () => element.click(),
  }));
  return [
    ...links, ...here,
    { name: "Dark or light", note: "colours", act: nextTheme },
    { name: "Keyboard shortcuts", note: "help", act: openHelp },
  ];
}

function openPalette() {
  const dialog = $("#palette");
  if (!dialog || dialog.open) return;
  $("#palette-input").value = "";
  dialog.showModal();
  fillPalette();
}

async function fillPalette() {
  const words = $("#palette-input").value.trim();
  const fits = (entry) => entry.name.toLowerCase().includes(words.toLowerCase());
  const search = { name: `Search for “${words}”`, note: "all sessions", href: `/search?q=${encodeURIComponent(words)}` };
  // Who types a word looks for a session; who types nothing yet sees where to go.
  const show = (sessions) => drawPalette(words
    ? [...sessions, ...pages().filter(fits), search]
    : [...pages(), ...sessions]);
  palette.at = 0;
  // What was found for other words is not what Enter must open.
  show(palette.sessions.filter(fits));
  palette.asked?.abort();
  palette.asked = new AbortController();
  try {
    const rows = await fragment(`/sessions/list?count=12&q=${encodeURIComponent(words)}`, palette.asked.signal);
    palette.sessions = $$("a.row", rows).map((row) => ({
      name: $(".row-title", row).textContent,
      note: $$(".row-facts > span", row).map((fact) => fact.textContent).join(" · "),
      href: row.getAttribute("href"),
    }));
    show(palette.sessions);
  } catch {
    // What is there stays.
  }
}

function drawPalette(entries) {
  const list = $("#palette-list");
  palette.at = Math.min(palette.at, Math.max(entries.length - 1, 0));
  list.replaceChildren(...entries.map((entry, at) => {
    const item = make("li");
    item.id = `palette-${at}`;
    item.role = "option";
    item.append(make("span", "cut", entry.name), make("small", "cut", entry.note));
    item.addEventListener("click", () => run(entry));
    return item;
  }));
  palette.entries = entries;
  choose(palette.at);
}

function choose(at) {
  const items = $$("#palette-list li");
  if (items.length === 0) return;
  palette.at = (at + items.length) % items.length;
  items.forEach((item, place) => item.setAttribute("aria-selected", String(place === palette.at)));
  items[palette.at].scrollIntoView({ block: "nearest" });
  $("#palette-input").setAttribute("aria-activedescendant", items[palette.at].id);
}

function run(entry) {
  $("#palette").close();
  if (entry.act) entry.act();
  else location.assign(entry.href);
}

function startPalette() {
  const input = $("#palette-input");
  if (!input) return;
  input.addEventListener("input", fillPalette);
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      choose(palette.at + step);
    } else if (event.key === "Enter") {
      event.preventDefault();
      const entry = palette.entries?.[palette.at];
      if (entry) run(entry);
    }
  });
  for (const dialog of $$("dialog")) {
    // A click beside it closes it.
    dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  }
}

function openHelp() {
  drawer(false);
  $("#help")?.showModal();
}

// ---- Clicks and keys ----

const ACTS = { theme: nextTheme, palette: openPalette, help: openHelp, drawer: () => drawer() };

document.addEventListener("click", (event) => {
  const acting = event.target.closest("[data-act]");
  if (acting) ACTS[acting.dataset.act]?.();
  const copying = event.target.closest("[data-copy]");
  if (copying) copy(copying.dataset.copy, copying.dataset.copied);
  for (const menu of $$("details.menu[open]")) {
    if (!menu.contains(event.target) || copying) menu.open = false;
  }
});

document.addEventListener("keydown", (event) => {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    openPalette();
    return;
  }
  if (event.key === "Escape") {
    drawer(false);
    for (const menu of $$("details.menu[open]")) menu.open = false;
  }
  if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey || $("dialog[open]")) return;
  if (event.key === "/") {
    event.preventDefault();
    const field = $("main input[type=search]") ?? $("#bar-search");
    if (field?.offsetParent) field.focus();
    else openPalette();
  } else if (event.key === "?") openHelp();
  else if (event.key === "d") nextTheme();
  else if (event.key === "[" || event.key === "]") neighbour(event.key === "]" ? 1 : -1);
});

// A form with a choice that counts at once; without scripts there is a button.
document.addEventListener("change", (event) => {
  if (event.target.matches("select[data-submit], input[data-submit]")) event.target.form?.requestSubmit();
});

nameTheme();
startSide();
startPalette();
setInterval(renewAges, 30_000);

// Where the bar has no room for all pages, the one that is open is seen.
const bar = $(".nav");
const here = $(".nav [aria-current]");
if (bar && here && bar.scrollWidth > bar.clientWidth) {
  bar.scrollLeft = here.offsetLeft - (bar.clientWidth - here.offsetWidth) / 2;
}

// ---- What happens meanwhile ----

/** One stream of events for all parts of a page. */
function listen() {
  const home = $("[data-live]");
  const source = new EventSource("/api/v1/events");
  for (const name of ["appeared", "appended", "moved", "removed", "announcements", "status"]) {
    source.addEventListener(name, () => {
      renewSide();
      if (home) renewLive();
    });
  }
  source.addEventListener("open", () => { root.dataset.events = "open"; });
  source.addEventListener("error", () => {
    root.dataset.events = "lost";
    // A stream that was refused does not come back by itself: the server has another token.
    if (source.readyState === EventSource.CLOSED) reconnect();
  });
  listenForNotices(source);
  listenInReader(source);
}

/** Asks until the server knows this browser again, and then shows the page anew. */
let isReconnecting = false;
async function reconnect() {
  if (isReconnecting) return;
  isReconnecting = true;
  const banner = make("p", "notice warn reconnect", "The server no longer knows this browser. Open the address that recto serve printed, in any tab; this page then continues by itself.");
  banner.role = "alert";
  for (;;) {
    await new Promise((done) => setTimeout(done, 2000));
    try {
      const answer = await fetch("/api/v1/overview");
      if (answer.ok) return location.reload();
      if (answer.status === 401 && !banner.isConnected) $("#main").prepend(banner);
    } catch {
      // The server is not there: it is asked again.
    }
  }
}

let liveTimer = null;
function renewLive() {
  liveTimer ??= setTimeout(async () => {
    liveTimer = null;
    if (document.hidden) return;
    try {
      putLive(await fragment("/live"));
    } catch {
      // The next event asks again.
    }
  }, 1000);
}

const statuses = (within) => new Map($$("a.live", within).map((row) => [
  row.getAttribute("href"), { name: $(".live-title", row).textContent, status: row.dataset.status },
]));

/** Puts what is new where it belongs; what is the same, open or in focus stays so. */
function putLive(news) {
  const place = $("#live");
  if (!place) return;
  const before = statuses(place);
  const [head, newHead] = [$(".panel-head", place), $(".panel-head", news)];
  if (!head.isEqualNode(newHead)) head.replaceWith(newHead);
  const lists = $$(".live-list", place);
  const newLists = $$(".live-list", news);
  // Parts that are there on both sides are renewed; else all of it is another one.
  if (lists.length === newLists.length && lists.length > 0) {
    lists.forEach((list, at) => renewList(list, [...newLists[at].children], keyOfRow));
    const [summary, newSummary] = [$("summary", place), $("summary", news)];
    if (summary && newSummary) summary.textContent = newSummary.textContent;
  } else {
    const focused = place.contains(document.activeElement) && document.activeElement.getAttribute("href");
    $("#live-body").replaceWith($("#live-body", news));
    if (focused) $$("a", place).find((link) => link.getAttribute("href") === focused)?.focus({ preventScroll: true });
  }
  const changed = [...statuses(place)].filter(([href, now]) => before.get(href)?.status !== now.status);
  if (changed.length > 0) {
    $("#live-status").textContent = changed.slice(0, 3)
      .map(([, { name, status }]) => `${name}: ${status.replaceAll("_", " ")}`).join(". ");
  }
}

listen();
