//! The first page: what runs now and why, and what was last. Its figures are in
//! `home_figures`.

use std::collections::HashMap;

use axum::extract::State;
use jiff::SignedDuration;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::Markup;
use maud::html;

use crate::answer::Failure;
use crate::answer::Page;
use crate::context::Context;
use crate::pages::format::age_tag;
use crate::pages::format::count;
use crate::pages::format::short;
use crate::pages::home_figures;
use crate::pages::home_figures::Asked;
use crate::pages::home_figures::top_rows;
use crate::pages::layout::Nav;
use crate::pages::layout::page;
use crate::pages::sessions::address;
use crate::pages::sessions::project;
use crate::pages::sessions::short_model;
use crate::pages::sessions::status_dot;
use crate::pages::sessions::table;
use crate::pages::sessions::title;
use crate::pages::text::one_line;
use crate::pages::text::shown;
use crate::parameters::Parameters;
use recto_session::status::StatusKind;
use recto_view::SessionQuery;
use recto_view::SessionRow;
use recto_view::StatusRow;

/// How many sessions are listed as running.
const MOST_RUNNING: usize = 40;

/// How many of them that need nobody are seen at once.
const QUIET: usize = 5;

/// For how long a session that has ended is still news.
const RECENTLY: SignedDuration = SignedDuration::from_hours(1);

/// How many sessions are listed as recent.
const RECENT: usize = 12;

pub(crate) async fn home(
    State(context): State<Context>,
    mut parameters: Parameters,
) -> Result<Page, Failure> {
    let asked = Asked::take(&mut parameters, &context)?;
    parameters.finish()?;
    let (now, zone) = (context.library.now(), context.library.zone().clone());
    let question = asked.question();
    let (overview, live, recent, activity, top) = context
        .work(move |context| {
            let query = SessionQuery { count: RECENT, ..SessionQuery::default() };
            let recent = context.library.sessions(&query);
            let activity = context.library.activity(&question);
            let top = top_rows(context, &activity);
            Ok((
                context.library.overview(&context.library.inventory()),
                running(context),
                recent,
                activity,
                top,
            ))
        })
        .await?;
    let body = html! {
        h1.unseen { "Home" }
        @if recent.total == 0 && live.is_empty() {
            (nothing(&context))
        } @else {
            form.home-search role="search" aria-label="Search all sessions" action="/search" {
                label.unseen for="home-search" { "Search all sessions" }
                input #home-search .field type="search" name="q" autocomplete="off" spellcheck="false"
                    placeholder="Search prompts, answers, commands and changes";
                button.button.primary { "Search" }
            }
            (live_panel(&live, now, &zone))
            (home_figures::figures(&asked, &overview, recent.total, &activity, &top, &zone))
            section.panel {
                div.panel-head { h2 { "Recent sessions" } a.button.small href="/sessions" { "All sessions" } }
                (table(&recent.sessions, now, &zone))
            }
        }
    };
    Ok(page("Home", Nav::Home, &body))
}

/// Where there is nothing yet: where that was looked for, and what to do.
fn nothing(context: &Context) -> Markup {
    html! {
        div.panel {
            div.empty {
                strong { "No sessions yet" }
                p { "recto looked in " code { (shown(&context.library.home().projects().display().to_string())) } " and found no logs of Claude Code." }
                p { "Start " code { "claude" } " in a project: its session appears here while it runs." }
                p { "If your logs are somewhere else, name the folder: " code { "recto serve --home DIR" } ", or set " code { "CLAUDE_CONFIG_DIR" } "." }
            }
        }
        // Not a script's work: the page works without.
        meta http-equiv="refresh" content="5";
    }
}

/// `/live`: what runs now, for a page that is open.
pub(crate) async fn live(
    State(context): State<Context>,
    parameters: Parameters,
) -> Result<Page, Failure> {
    parameters.finish()?;
    let (now, zone) = (context.library.now(), context.library.zone().clone());
    let live = context.work(|context| Ok(running(context))).await?;
    Ok(Page(live_panel(&live, now, &zone)))
}

/// What runs now, or did a short time ago: those that need somebody first.
fn live_panel(live: &[Running], now: Timestamp, zone: &TimeZone) -> Markup {
    let busy = live.iter().filter(|one| !is_quiet(one)).count();
    let (first, more) = live.split_at((busy + QUIET).min(live.len()));
    html! {
        section.panel #live data-live {
            div.panel-head {
                h2 { "Now" }
                @for (kind, count) in kinds(live) {
                    span.tag { (status_dot(kind)) (count) " " (kind.replace('_', " ")) }
                }
            }
            // Says what changed, and nothing else: the list itself is read by who wants to.
            p #live-status .unseen role="status" {}
            div #live-body {
                @if live.is_empty() {
                    p.panel-body.faint { "Nothing is running. Sessions appear here as soon as they start." }
                } @else {
                    (live_list(first, now, zone))
                    @if !more.is_empty() {
                        details.live-more {
                            summary { (count(more.len() as u64)) " more that need nothing from you" }
                            (live_list(more, now, zone))
                        }
                    }
                }
            }
        }
    }
}

fn live_list(live: &[Running], now: Timestamp, zone: &TimeZone) -> Markup {
    html! {
        ul.live-list {
            @for one in live {
                li { (live_row(one, now, zone)) }
            }
        }
    }
}

/// Whether a session neither works nor waits for anybody.
fn is_quiet(one: &Running) -> bool {
    matches!(one.status.status, "idle" | "ended" | "unknown")
}

fn live_row(one: &Running, now: Timestamp, zone: &TimeZone) -> Markup {
    let Running { row, status } = one;
    let call = status.pending.as_ref().or(status.current.as_ref());
    html! {
        a.live href=(address(row)) data-status=(status.status) {
            (status_dot(status.status))
            span.live-title.cut { bdi { (title(row)) } }
            span.live-why.cut title=(shown(&status.why.join("; "))) {
                bdi { (one_line(&status.why.join("; "), 240)) }
            }
            span.live-facts {
                span.tag .warn[status.status == "waiting_for_approval"] .info[status.status == "waiting_for_input"]
                    .good[status.status == "working"] title=(format!("confidence: {}", status.confidence)) {
                    (StatusKind::from_name(status.status).unwrap_or(StatusKind::Unknown).label())
                }
                @if let Some(since) = status.since { (age_tag(now, zone, since.0)) }
                span { bdi { (project(row)) } }
                @if let Some(call) = call { code.cut.live-call { bdi { (one_line(&format!("{} {}", call.tool, call.about), 80)) } } }
                @if !status.running.is_empty() { span { (status.running.len()) " running in the background" } }
                @if let Some(tokens) = status.context_tokens { span.hide-narrow { (short(tokens)) " ctx" } }
                @if let Some(model) = &row.model { span.hide-narrow { bdi { (short_model(model)) } } }
            }
        }
    }
}

/// How many there are of each status.
fn kinds(live: &[Running]) -> Vec<(&'static str, usize)> {
    let mut kinds: Vec<(&'static str, usize)> = Vec::new();
    for one in live {
        match kinds.iter_mut().find(|(kind, _)| *kind == one.status.status) {
            Some((_, count)) => *count += 1,
            None => kinds.push((one.status.status, 1)),
        }
    }
    kinds
}

/// A session that runs, or did a short time ago.
struct Running {
    row: SessionRow,
    status: StatusRow,
}

fn running(context: &Context) -> Vec<Running> {
    let now = context.library.now();
    let statuses: Vec<StatusRow> = context
        .library
        .statuses(None)
        .into_iter()
        .filter(|one| is_told(one, now))
        .take(MOST_RUNNING)
        .collect();
    let rows = context.library.session_rows(statuses.iter().filter_map(|one| one.id.parse().ok()));
    let mut rows: HashMap<String, SessionRow> =
        rows.into_iter().map(|row| (row.id.clone(), row)).collect();
    let running = statuses.into_iter().filter_map(|status| {
        let row = rows.remove(&status.id)?;
        Some(Running { row, status })
    });
    running.collect()
}

/// A log in which nothing was said is news only while its client runs. A log that was
/// copied or touched is new as a file; what counts is when its last line was written.
fn is_told(status: &StatusRow, now: Timestamp) -> bool {
    let is_recent = status.last_line.is_none_or(|last| now.duration_since(last.0) <= RECENTLY);
    status.live
        || is_recent && (status.profile.last_output.is_some() || status.last_prompt.is_some())
}
