//! A team's store: machines and how far behind they are, cost, failing tools, waiting time.

use axum::extract::State;
use jiff::SignedDuration;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::Markup;
use maud::html;

use super::empty;
use super::team_answers::cost_chart;
use super::team_answers::distinct;
use super::team_answers::money;
use super::team_answers::panel;
use super::team_answers::sum;
use super::text::count;
use super::text::duration;
use super::text::one_line;
use super::text::percent;
use super::text::plural;
use crate::answer::Failure;
use crate::answer::Page;
use crate::context::Context;
use crate::pages::card::card;
use crate::pages::format::age_tag;
use crate::pages::format::size;
use crate::pages::format::time_tag;
use crate::pages::layout::Nav;
use crate::pages::layout::page;
use crate::pages::text::shown;
use crate::parameters::Parameters;
use crate::team::TeamAnswer;
use crate::team::TeamMachine;
use crate::team::TeamRows;
use crate::team::TeamSeen;
use crate::team::TeamState;
use recto_view::Moment;

/// A machine that did not report for so long is behind.
const SILENT: SignedDuration = SignedDuration::from_hours(48);

/// The questions of the page, in its order, and what it calls them.
const TITLES: [(&str, &str); 5] = [
    ("cost-by-user", "Cost by user and week"),
    ("cost-by-project", "Cost by project"),
    ("cost-by-week", "Cost by week"),
    ("tool-failures", "Tool failures"),
    ("waiting", "Time sessions waited for people"),
];

pub(crate) async fn team(
    State(context): State<Context>,
    parameters: Parameters,
) -> Result<Page, Failure> {
    parameters.finish()?;
    let state = context.team().await?;
    let body = match &state.seen {
        None if state.reading.is_some() => loading(&state),
        None => return Err(Failure::team(&state)),
        Some(seen) => body(seen, &state, context.library.now(), context.library.zone()),
    };
    Ok(page("Team", Nav::Team, &body))
}

/// The page comes again by itself until the tables are loaded.
fn loading(state: &TeamState) -> Markup {
    let (done, all) = state.reading.unwrap_or_default();
    html! {
        meta http-equiv="refresh" content="2";
        header.page-head { h1 { "Team" } }
        div.notice role="status" {
            progress max=(all.max(1)) value=(done) {}
            span { "Loading the store's tables" @if all > 0 { ": " (size(done)) " of " (size(all)) } "." }
        }
    }
}

fn body(seen: &TeamSeen, state: &TeamState, now: Timestamp, zone: &TimeZone) -> Markup {
    let rows = &*seen.rows;
    let answer = |name: &str| rows.answers.iter().find(|answer| answer.question == name);
    html! {
        header.page-head {
            h1 { "Team" }
            p {
                "All machines that send to " code { (one_line(&rows.store)) } ". Loaded " (time_tag(now, zone, seen.at))
                @match rows.built_to {
                    Some(Moment(built)) => { "; the tables contain what was archived up to " (time_tag(now, zone, built)) "." }
                    None => { "; the tables are empty: run " code { "recto lake build" } "." }
                }
            }
        }
        @if let Some(trouble) = &state.trouble {
            div.notice role="status" {
                span { "Could not load newer figures: " (shown(&trouble.message)) "." }
            }
        }
        @if !rows.skipped.is_empty() {
            div.notice role="status" {
                span { (plural(rows.skipped.len() as u64, "file")) " could not be read: " (one_line(&rows.skipped.join("; "))) }
            }
        }
        (cards(rows, now, &answer))
        @if let Some(chart) = answer("cost-by-user").and_then(cost_chart) { (chart) }
        (machines(&rows.machines, now, zone))
        @for (name, title) in TITLES {
            @if let Some(answer) = answer(name) { (panel(answer, title)) }
        }
    }
}

fn cards<'a>(
    rows: &TeamRows,
    now: Timestamp,
    answer: &dyn Fn(&str) -> Option<&'a TeamAnswer>,
) -> Markup {
    let machines = rows.machines.len() as u64;
    let silent = rows.machines.iter().filter(|machine| is_silent(machine, now)).count() as u64;
    let waiting: u64 = rows.machines.iter().filter_map(|machine| machine.waiting_bytes).sum();
    let oldest = rows.machines.iter().filter_map(|machine| machine.waiting_since).min();
    let oldest = oldest.map_or_else(
        || "everything is in the store".to_owned(),
        |Moment(since)| {
            format!("the oldest for {}", duration(milliseconds(now.duration_since(since))))
        },
    );
    let cost = sum(answer("cost-by-week"), "cost_micros_sum");
    let projects = distinct(answer("cost-by-project"), "project_name");
    let users = distinct(answer("cost-by-user"), "user_name");
    let calls = sum(answer("tool-failures"), "call_count");
    let failed = sum(answer("tool-failures"), "failed_count");
    let share = if calls == 0 { 0.0 } else { failed as f64 * 100.0 / calls as f64 };
    let waited = sum(answer("waiting"), "waited_ms_sum");
    let waits = sum(answer("waiting"), "wait_count");
    html! {
        dl.cards {
            (card("Cost", &money(cost.into()), "of all sessions in the tables"))
            (card("Projects", &count(projects), &plural(users, "user")))
            (card("Machines", &count(machines), &format!("{} silent for two days", count(silent))))
            (card("Not sent yet", &size(waiting), &oldest))
            (card("Failed tool calls", &count(failed), &format!("{} of calls", percent(share))))
            (card("Waited for people", &duration(waited), &plural(waits, "prompt")))
        }
    }
}

fn is_silent(machine: &TeamMachine, now: Timestamp) -> bool {
    machine.seen.is_none_or(|Moment(seen)| now.duration_since(seen) > SILENT)
}

fn milliseconds(span: SignedDuration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(0)
}

fn machines(machines: &[TeamMachine], now: Timestamp, zone: &TimeZone) -> Markup {
    let word = |word: Option<&String>| {
        html! {
            @match word { Some(word) => bdi { (one_line(word)) }, None => span.faint { "–" } }
        }
    };
    html! {
        section.panel aria-labelledby="team-machines" {
            div.panel-head { h2 #team-machines { "Machines" } span.faint { (count(machines.len() as u64)) } }
            @if machines.is_empty() {
                (empty("No machines", "No machine has sent anything to this store yet."))
            } @else {
                div.table-scroll {
                    table.table {
                        thead { tr {
                            th { "User" } th { "Host" } th.hide-narrow { "Machine" } th { "Seen" } th.number { "Not sent" } th.hide-narrow { "Since" }
                            th.number.hide-narrow { "Files" } th.number { "In the store" } th.number { "Gaps" } th.hide-narrow { "Version" }
                        } }
                        tbody {
                            @for machine in machines {
                                tr {
                                    td.cut { (word(machine.user.as_ref())) }
                                    td.cut { (word(machine.host.as_ref())) }
                                    td.hide-narrow { code { (one_line(&machine.machine)) } }
                                    td {
                                        span.bad[is_silent(machine, now)] {
                                            @match machine.seen { Some(Moment(seen)) => (age_tag(now, zone, seen)), None => "never" }
                                        }
                                    }
                                    td.number { @match machine.waiting_bytes { Some(bytes) => (size(bytes)), None => span.faint { "–" } } }
                                    td.hide-narrow { @match machine.waiting_since { Some(Moment(since)) => (age_tag(now, zone, since)), None => span.faint { "–" } } }
                                    td.number.hide-narrow { (count(machine.files)) }
                                    td.number { (size(machine.stored_bytes)) }
                                    td.number { span.bad[machine.gaps > 0].faint[machine.gaps == 0] { (count(machine.gaps)) } }
                                    td.hide-narrow.cut { (word(machine.version.as_ref())) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
