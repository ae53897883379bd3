//! Parts of the page about usage: sessions, cache, tables, notes.

use maud::Markup;
use maud::html;

use super::bars::cell_bar;
use super::bars::shares;
use super::link::Link;
use super::session_link;
use super::text::Names;
use super::text::capitalised;
use super::text::cost;
use super::text::count;
use super::text::day_text;
use super::text::dollars;
use super::text::one_line;
use super::text::percent;
use super::text::plural;
use super::text::short;
use super::usage::day_link;
use recto_view::figures::Slice;
use recto_view::figures::UsageFigures;

/// How many days are shown at once; the rest is folded.
const DAYS: usize = 14;

/// How many projects or models are shown at once.
const SLICES: usize = 12;

pub(super) fn top_sessions(figures: &UsageFigures, link: &Link) -> Markup {
    let largest = figures.sessions.first().map_or(0, |one| one.total.known_cost.pico());
    html! {
        section.panel aria-labelledby="top-sessions" {
            div.panel-head { h2 #top-sessions { "Top sessions by cost" } }
            div.table-scroll {
                table.table {
                    thead { tr { th { "Session" } th.number { "Messages" } th.number { "Cost" } } }
                    tbody {
                        @for session in &figures.sessions {
                            tr {
                                td.wide {
                                    div.cut { (session_link(Some(&session.id), None, 0, session.title.as_deref())) }
                                    (cell_bar(session.total.known_cost.pico(), largest, 0))
                                }
                                td.number { (count(session.total.messages)) }
                                td.number {
                                    a href=(link.at("/usage/explain").without(&["by", "show"]).with("session", &session.id))
                                        title="Explain" { (cost(&session.total)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

pub(super) fn cache(figures: &UsageFigures, link: &Link) -> Markup {
    let total = &figures.total;
    let parts = [
        ("Read from the cache", total.tokens.cache_read, 1),
        ("Written to the cache", total.tokens.cache_creation, 2),
        ("Sent without", total.tokens.input, 4),
    ];
    let all: u64 = parts.iter().map(|(_, tokens, _)| tokens).sum();
    let share = |tokens: u64| if all == 0 { 0.0 } else { tokens as f64 * 100.0 / all as f64 };
    let bar: Vec<(usize, u128)> =
        parts.iter().map(|(_, tokens, at)| (*at, u128::from(*tokens))).collect();
    let saved = figures.cache.saved.pico();
    let spent = figures.cache.spent.pico();
    let net = recto_session::usage::Money::from_pico(saved.abs_diff(spent));
    html! {
        section.panel aria-labelledby="cache" {
            div.panel-head { h2 #cache { "Cache efficiency" } }
            div.panel-body {
                p.big {
                    strong { (total.tokens.cache_hit_percent().map_or_else(|| "–".to_owned(), percent)) }
                    span.muted { " of what was sent came from the cache" }
                }
                (shares("Input tokens by cache use", &bar))
                table.table.plain {
                    tbody {
                        @for (name, tokens, at) in parts {
                            tr {
                                td { span class=(format!("swatch {}", super::bars::colour(at))) aria-hidden="true" {} (name) }
                                td.number { (short(tokens)) }
                                td.number { (percent(share(tokens))) }
                            }
                        }
                    }
                }
                p.muted {
                    "By the prices of each message, reading cost " strong { (dollars(figures.cache.saved)) }
                    " less than sending again, and writing " strong { (dollars(figures.cache.spent)) } " more: "
                    strong { (dollars(net)) }
                    @if saved >= spent { " saved." } @else { " lost." }
                }
                p { a href=(link.at("/usage/explain").without(&["by", "show"])) { "See it message by message" } }
            }
        }
    }
}

/// A table of projects or models.
pub(super) fn slices(
    title: &str,
    name: &str,
    slices: &[Slice],
    names: &Names,
    link: &Link,
) -> Markup {
    let largest = slices.iter().map(|slice| slice.total.known_cost.pico()).max().unwrap_or(0);
    let row = |slice: &Slice, at: usize| {
        html! {
            tr {
                td.wide {
                    div.cut title=(one_line(&slice.label)) {
                        a href=(link.with(name, &slice.key)) { bdi { (names.name(&slice.label)) } }
                    }
                    (cell_bar(slice.total.known_cost.pico(), largest, at))
                }
                td.number { (short(slice.total.tokens.all())) }
                td.number { (slice.total.tokens.cache_hit_percent().map_or_else(|| "–".to_owned(), percent)) }
                td.number {
                    a href=(link.at("/usage/explain").without(&["by", "show"]).with(name, &slice.key)) title="Explain" { (cost(&slice.total)) }
                }
            }
        }
    };
    let head = html! {
        thead { tr { th { (capitalised(name)) } th.number { "Tokens" } th.number { "Cache hit" } th.number { "Cost" } } }
    };
    html! {
        section.panel aria-label=(title) {
            div.panel-head {
                h2 { (title) }
                a.button.quiet.small href=(link.at("/usage.csv").with("by", name)) download { "CSV" }
            }
            div.table-scroll {
                table.table { (head) tbody { @for (at, slice) in slices.iter().take(SLICES).enumerate() { (row(slice, at)) } } }
            }
            @if slices.len() > SLICES {
                details.further {
                    summary { (count((slices.len() - SLICES) as u64)) " more" }
                    div.table-scroll { table.table { (head) tbody { @for slice in slices.iter().skip(SLICES) { (row(slice, 7)) } } } }
                }
            }
        }
    }
}

/// The days, newest first.
pub(super) fn days(days: &[Slice], link: &Link) -> Markup {
    let largest = days.iter().map(|day| day.total.known_cost.pico()).max().unwrap_or(0);
    let row = |day: &Slice| {
        let total = &day.total;
        html! {
            tr {
                td.nowrap { a href=(day_link(link, &day.label)) { (day_text(&day.label)) } }
                td.number { (count(total.messages)) }
                td.number.hide-narrow { (short(total.tokens.input)) }
                td.number { (short(total.tokens.output)) }
                td.number.hide-narrow { (short(total.tokens.cache_creation)) }
                td.number.hide-narrow { (short(total.tokens.cache_read)) }
                td.number { a href=(day_link(&link.at("/usage/explain").without(&["by", "show"]), &day.label)) title="Explain" { (cost(total)) } }
                td.bar-cell { (cell_bar(total.known_cost.pico(), largest, 0)) }
            }
        }
    };
    let head = html! {
        thead {
            tr {
                th { "Day" } th.number { "Messages" } th.number.hide-narrow { "Input" } th.number { "Output" }
                th.number.hide-narrow { "Cache write" } th.number.hide-narrow { "Cache read" } th.number { "Cost" } th { span.unseen { "Share" } }
            }
        }
    };
    html! {
        section.panel aria-label="By day" {
            div.panel-head {
                h2 { "By day" }
                a.button.quiet.small href=(link.at("/usage.csv").with("by", "day")) download { "CSV" }
            }
            div.table-scroll { table.table { (head) tbody { @for day in days.iter().rev().take(DAYS) { (row(day)) } } } }
            @if days.len() > DAYS {
                details.further {
                    summary { (plural((days.len() - DAYS) as u64, "earlier day")) }
                    div.table-scroll { table.table { (head) tbody { @for day in days.iter().rev().skip(DAYS) { (row(day)) } } } }
                }
            }
        }
    }
}

/// What the figures do not say themselves.
pub(super) fn notes(figures: &UsageFigures) -> Markup {
    let doubts = &figures.doubts;
    let total = &figures.total;
    let told = [
        (doubts.unknown_way, "sent in a way that has no public price: the cost is unknown"),
        (doubts.bad_count, "with an impossible count, which recto skips"),
        (doubts.no_id, "without an id: recto counts every line"),
        (
            doubts.tiers_differ,
            "with more cache writes by lifetime than in total: recto counts the former",
        ),
        (doubts.no_time, "without a time: outside every period"),
        (doubts.in_the_future, "in the future"),
        (total.under_reported, "from clients that log too few output tokens"),
    ];
    let has_notes = told.iter().any(|(number, _)| *number > 0)
        || !doubts.unknown_models.is_empty()
        || !figures.skipped.is_empty();
    html! {
        @if has_notes {
            section.panel aria-labelledby="notes" {
                div.panel-head { h2 #notes { "Caveats" } }
                div.panel-body {
                    ul.notes {
                        @if !doubts.unknown_models.is_empty() {
                            li {
                                "No price is known for " bdi { (one_line(&doubts.unknown_models.join(", "))) } ": "
                                (plural(total.unpriced, "message")) " of unknown cost. " code { "prices.toml" } " can name one."
                            }
                        }
                        @for (number, what) in told {
                            @if number > 0 { li { (plural(number, "message")) " " (what) "." } }
                        }
                        @if !figures.skipped.is_empty() {
                            li { (plural(figures.skipped.len() as u64, "log")) " could not be read." }
                        }
                    }
                }
            }
        }
    }
}
