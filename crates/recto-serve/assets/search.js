// Results while one types: the same page, asked for again, and only its results replaced.

import { $, fragment } from "./shared.js";

const form = $(".search-form");
let asked = null;
let timer = null;

async function renew() {
  asked?.abort();
  asked = new AbortController();
  const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
  if (!query.get("q")) return;
  const address = `/search?${query}`;
  const place = $("#search-results");
  place.ariaBusy = "true";
  try {
    const results = (await fragment(address, asked.signal)).querySelector("#search-results");
    // A page that loads itself again while an index is built must not do so while one types.
    results?.querySelector("meta[http-equiv]")?.remove();
    if (results) place.replaceWith(results);
    history.replaceState(history.state, "", address);
  } catch (error) {
    if (error.name !== "AbortError") place.ariaBusy = "false";
  }
}

$("#q", form ?? document)?.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(renew, 220);
});
