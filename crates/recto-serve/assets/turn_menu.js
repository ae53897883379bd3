// What can be done with a turn. One menu for all turns, made when it is asked for.

import { $, $$, copy, make, post, tell } from "./shared.js";

export function startTurnMenu(reader, copyLink) {
  const base = reader.dataset.api;

  /** All texts of a kind in a turn, whole. */
  async function texts(turn, kind) {
    const found = [];
    let next = { from: turn, skip: 0 };
    while (next && next.from === turn) {
      const answer = await fetch(`${base}/turns?from=${turn}&skip=${next.skip}&count=1&show=conversation`);
      if (!answer.ok) throw new Error("The server does not answer");
      const page = await answer.json();
      for (const item of page.turns[0]?.items ?? []) {
        if (item.item !== kind) continue;
        found.push(item.rest ? await (await fetch(item.rest)).text() : item.text);
      }
      next = page.next;
    }
    return found.join("\n\n");
  }

  async function copyTexts(turn, kind) {
    const text = await texts(turn, kind);
    if (text) await copy(text, kind === "prompt" ? "Prompt copied" : "Answer copied");
    else tell(kind === "prompt" ? "This turn has no prompt" : "This turn has no answer");
  }

  async function fork(turn) {
    if (!reader.dataset.edits) {
      await copy(`recto fork ${reader.dataset.session} --at ${turn}`, "Command copied: paste it in a terminal");
      return;
    }
    const { session } = await post(`${base}/fork`, { turn });
    location.assign(`/session/${session}`);
  }

  const entries = (turn) => [
    ["Copy prompt", () => copyTexts(turn, "prompt")],
    ["Copy answer", () => copyTexts(turn, "answer")],
    ["Copy link", () => copyLink(turn)],
    ...(reader.dataset.agent ? [] : [[reader.dataset.edits ? "Fork from here" : "Copy fork command", () => fork(turn)]]),
    ...($("[data-restore]") ? [["Restore from archive", () => $("[data-restore]").click()]] : []),
  ];

  let opener = null;
  function close(refocus) {
    $(".turn-menu")?.remove();
    opener?.removeAttribute("aria-expanded");
    if (refocus) opener?.focus({ preventScroll: true });
    opener = null;
  }

  function open(button) {
    close(false);
    opener = button;
    button.setAttribute("aria-expanded", "true");
    const menu = make("div", "sheet turn-menu");
    menu.role = "menu";
    menu.ariaLabel = button.ariaLabel;
    for (const [name, act] of entries(Number(button.dataset.turnMenu))) {
      const entry = make("button", "", name);
      entry.type = "button";
      entry.role = "menuitem";
      entry.addEventListener("click", () => {
        close(true);
        act().catch((error) => tell(error.message));
      });
      menu.append(entry);
    }
    button.after(menu);
    $("button", menu).focus({ preventScroll: true });
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-turn-menu]");
    if (button) {
      if (opener === button) close(true);
      else open(button);
    } else if (!event.target.closest(".turn-menu")) close(false);
  });
  document.addEventListener("keydown", (event) => {
    const menu = $(".turn-menu");
    if (!menu) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape" || event.key === "Tab") close(true);
    else if (step) {
      event.preventDefault();
      const all = $$("button", menu);
      all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
    }
  });
}
