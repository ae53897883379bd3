//! Pages about many sessions: usage, search, tools, plans, files, health.
//!
//! Each page is a function from data to markup and a handler that gets the data.
//! Charts are SVG with sizes in percent, so that they fit any width and their
//! texts stay as large as others; every chart has a table with the same figures.

mod bars;
mod explain;
mod file;
mod files;
mod health;
mod insights;
mod link;
mod plans;
mod search;
mod search_form;
mod team;
mod team_answers;
mod text;
mod tools;
mod treemap;
mod usage;
mod usage_cards;
mod usage_compare;
mod usage_csv;
mod usage_groups;
mod usage_parts;

use axum::Router;
use axum::routing::get;
use maud::Markup;
use maud::html;

use crate::context::Context;
pub(crate) use link::Link;
use recto_view::figures::Choice;
use recto_view::figures::Period;
use recto_view::figures::Progress;
pub(crate) use text::change;
pub(crate) use text::cost;
use text::count;
pub(crate) use text::day_text;
pub(crate) use text::dollars;
pub(crate) use text::percent;
pub(crate) use tools::period_link;

pub(crate) fn routes() -> Router<Context> {
    Router::new()
        .route("/usage", get(usage::usage))
        .route("/usage.csv", get(usage_csv::csv))
        .route("/usage/explain", get(explain::explain))
        .route("/usage/groups", get(usage_groups::groups))
        .route("/usage/compare", get(usage_groups::compare))
        .route("/insights", get(insights::activity))
        .route("/insights/quality", get(insights::quality))
        .route("/insights/cache", get(insights::cache))
        .route("/insights/context", get(insights::growth))
        .route("/search", get(search::search))
        .route("/tools", get(tools::tools))
        .route("/plans", get(plans::plans))
        .route("/files", get(files::files))
        .route("/file", get(file::file))
        .route("/health", get(health::health))
        .route("/team", get(team::team))
}

/// How many rows a page of a long list has.
const ROWS: usize = 50;

/// The choice of a period, as links and a form for days.
pub(crate) fn period_choice(period: &Period, link: &Link) -> Markup {
    let hidden = link.without(&["period", "from", "to", "page"]);
    html! {
        nav.choice aria-label="Period" {
            @for (name, text, choice) in Choice::USUAL {
                a href=(link.without(&["from", "to", "page"]).with("period", name))
                    aria-current=[(period.choice == choice).then_some("true")] { (text) }
            }
        }
        form.filters method="get" action=(hidden.path()) {
            @for (name, value) in hidden.pairs() { input type="hidden" name=(name) value=(value); }
            label.unseen for="from" { "First day" }
            input #from .field type="date" name="from" value=[period.from];
            span.faint aria-hidden="true" { "–" }
            label.unseen for="to" { "Last day" }
            input #to .field type="date" name="to" value=[period.to];
            button.button type="submit" { "Show" }
        }
    }
}

/// Links to the other pages of a list, and which of its rows are here.
fn paging(link: &Link, page: usize, total: usize, what: &str) -> Markup {
    let pages = total.div_ceil(ROWS);
    let first = (page - 1) * ROWS + 1;
    let last = (page * ROWS).min(total);
    let at = |page: usize| link.with("page", &page.to_string());
    html! {
        @if total > 0 {
            nav.paging aria-label="Pages of the list" {
                @if page > 1 { a.button.small rel="prev" href=(at(page - 1)) { "← Before" } }
                span.faint.number {
                    (count(first as u64)) "–" (count(last as u64)) " of " (count(total as u64)) " " (what)
                }
                @if page < pages { a.button.small rel="next" href=(at(page + 1)) { "Next →" } }
            }
        }
    }
}

/// Says how far the survey is; the page comes again by itself until it is over.
fn progress(progress: Progress) -> Markup {
    html! {
        @if !progress.is_over() {
            // Not a script's work: the page works without.
            meta http-equiv="refresh" content="2";
            div.notice role="status" {
                progress max=(progress.all) value=(progress.done) {}
                span {
                    "Reading all logs: " (count(progress.done as u64)) " of " (count(progress.all as u64))
                    ". The figures grow until it is done."
                }
            }
        }
    }
}

/// What stands where there is nothing to show.
fn empty(title: &str, text: &str) -> Markup {
    html! { div.empty { strong { (title) } (text) } }
}

/// A session, by its title.
fn session_link(id: Option<&str>, agent: Option<&str>, turn: u32, title: Option<&str>) -> Markup {
    let short = |id: &str| id.chars().take(8).collect::<String>();
    let title = title.map(text::one_line).filter(|title| !title.is_empty());
    html! {
        @match id {
            Some(id) => {
                a href=(session_address(id, agent, turn)) {
                    bdi { (title.unwrap_or_else(|| short(id))) }
                }
            }
            None => span.faint { "unknown session" }
        }
    }
}

/// Where a turn of a session, or of a subagent of it, is read.
fn session_address(id: &str, agent: Option<&str>, turn: u32) -> String {
    let mut address = format!("/session/{}", link::segment(id));
    if let Some(agent) = agent {
        address.push_str(&format!("/agent/{}", link::segment(agent)));
    }
    // A long session is read in parts, and this is the one that begins there.
    match turn {
        0 => address,
        1 => format!("{address}#turn-1"),
        _ => format!("{address}?from={turn}#turn-{turn}"),
    }
}

/// Where a line of a turn is read, in the middle of the screen.
fn line_address(id: &str, agent: Option<&str>, turn: u32, line: u64) -> String {
    let address = session_address(id, agent, 0);
    match turn {
        0 => address,
        _ => format!("{address}?from={turn}&line={line}#turn-{turn}"),
    }
}
