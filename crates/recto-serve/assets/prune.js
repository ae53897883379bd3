// Turns that are far from the screen leave the page, so that a session of any length is as
// light as a short one. Links take their place, and bring them back.

/** How many elements the turns may have. Text in them about doubles the nodes. */
const MOST_ELEMENTS = 1100;

/** How far above and below turns are kept in any case: more than what links reach. */
const reach = () => Math.max(1200, window.innerHeight * 1.5);

export function prune(turns, { keepPlace, earlier, later, gone }) {
  const size = (node) => node.getElementsByTagName("*").length + 1;
  let left = size(turns);
  if (left <= MOST_ELEMENTS) return;
  const parts = [...turns.children];
  const rects = parts.map((part) => part.getBoundingClientRect());
  const screen = window.innerHeight;
  // What is used is not taken away.
  const isBusy = (part) => part.contains(document.activeElement) && document.activeElement !== document.body;
  let [first, last] = [0, parts.length - 1];
  while (left > MOST_ELEMENTS && first < last) {
    const above = -rects[first].bottom;
    const below = rects[last].top - screen;
    const takesFirst = above >= below;
    if (Math.max(above, below) < reach()) break;
    const part = parts[takesFirst ? first : last];
    if (isBusy(part)) break;
    left -= size(part);
    if (takesFirst) first += 1;
    else last -= 1;
  }
  if (first === 0 && last === parts.length - 1) return;
  const isTurn = (part) => part.matches(".turn");
  const start = parts.slice(first, last + 1).find(isTurn);
  const behind = parts.slice(last + 1).find(isTurn);
  if (!start) return;
  keepPlace(() => {
    const removed = [...parts.slice(0, first), ...parts.slice(last + 1)];
    for (const part of removed) {
      if (isTurn(part)) gone(part);
      part.remove();
    }
    if (first > 0) start.before(earlier(start));
    if (behind) turns.append(later(behind));
    // Only a link was behind: it stays.
    else if (last < parts.length - 1) turns.append(...parts.slice(last + 1));
  });
}
