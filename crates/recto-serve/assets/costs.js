// What turns and subagents cost, beside them. The server counts; this puts the amounts where
// they belong, as attributes that the style sheet shows, so they cost no nodes.

import { $, $$, fragment } from "./shared.js";

let costs = null;

/** The same words as on the server. */
export function money(dollars) {
  if (dollars > 0 && dollars < 0.0001) return "< $0.0001";
  if (dollars > 0 && dollars < 0.01) return `$${dollars.toFixed(4)}`;
  return `$${dollars.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
}

/** Puts amounts to what is on the page now. */
export function showCosts() {
  if (!costs) return;
  for (const facts of $$("[data-cost-turn]:not([data-cost])")) {
    const turn = costs.turns.get(Number(facts.dataset.costTurn));
    facts.dataset.cost = turn && turn.cost_usd > 0 ? money(turn.cost_usd) : "";
    if (turn?.cache_misses) facts.dataset.misses = "▾ ";
  }
  for (const place of $$("[data-cost-agent]:empty")) {
    const agent = costs.agents.get(place.dataset.costAgent);
    if (agent) place.textContent = money(agent.cost_usd);
  }
  for (const link of $$("#outline a[data-goto]:not([data-cost])")) {
    const turn = costs.turns.get(Number(link.dataset.goto));
    link.dataset.cost = turn && turn.cost_usd > 0 ? (turn.cache_misses ? "▾ " : "") + money(turn.cost_usd) : "";
  }
}

function turnAt(svg, event) {
  const { left, width } = svg.getBoundingClientRect();
  const numbers = [...costs.turns.keys()];
  return costs.turns.get(numbers[Math.min(numbers.length - 1, Math.floor(((event.clientX - left) / width) * numbers.length))]);
}

export async function startCosts(reader, jump) {
  const place = $("#costs");
  const agentCosts = !place && reader.dataset.api ? `${reader.dataset.api.replace(/\/agents\/.*/, "")}/costs` : null;
  const address = place?.dataset.costs ?? agentCosts;
  if (!address) return;
  try {
    const [answer, strip] = await Promise.all([fetch(address), place ? fragment(place.dataset.load) : null]);
    if (!answer.ok) return;
    const { turns, agents } = await answer.json();
    costs = {
      // The turns of a subagent's page are its own, and not those of the session.
      turns: new Map(reader.dataset.agent ? [] : turns.map((turn) => [turn.turn, turn])),
      agents: new Map(agents.map((agent) => [agent.agent, agent])),
    };
    if (place) place.replaceChildren(strip);
    showCosts();
    const svg = $("#costs svg");
    svg?.addEventListener("mousemove", (event) => {
      const turn = turnAt(svg, event);
      if (turn) $("#cost-here").textContent = `turn ${turn.turn}: ${money(turn.cost_usd)}, ${money(turn.cumulative_usd)} so far`;
    });
    svg?.addEventListener("click", (event) => {
      const turn = turnAt(svg, event);
      if (turn) jump(turn.turn, { write: "pushState" }).catch(() => {});
    });
  } catch {
    // The page is read without them.
  }
}
