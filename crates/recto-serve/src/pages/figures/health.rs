//! The health of all sessions: what a resume would bring back, what is wrong, and
//! what mends it.

use axum::extract::State;
use maud::Markup;
use maud::html;
use recto_log::Severity;
use recto_session::health::Health;
use recto_session::health::HealthProblem;
use recto_session::health::ProblemClass;
use recto_session::health::ReachSummary;
use recto_session::request::Outcome;

use super::ROWS;
use super::empty;
use super::explain::page_number;
use super::link::Link;
use super::paging;
use super::progress;
use super::session_link;
use super::text::count;
use super::text::one_line;
use super::text::percent;
use super::text::plural;
use crate::answer::Failure;
use crate::answer::Page;
use crate::context::Context;
use crate::pages::card::card;
use crate::pages::layout::Nav;
use crate::pages::layout::page;
use crate::parameters::Parameters;
use recto_view::client_name;
use recto_view::figures::Looked;
use recto_view::figures::Progress;

/// How many problems of one session are listed.
const MOST_LISTED: usize = 20;

/// Which sessions are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    Sick,
    All,
}

/// A session with what to call it.
struct Patient {
    looked: std::sync::Arc<Looked>,
    title: Option<String>,
}

/// All that the page says.
struct Ward {
    /// Those to show now.
    patients: Vec<Patient>,
    /// How many there are to show in all.
    fitting: usize,
    sessions: usize,
    sick: usize,
    unreadable: usize,
    damaged_lines: u64,
    lost: u64,
    lines: u64,
    progress: Progress,
}

pub(crate) async fn health(
    State(context): State<Context>,
    mut parameters: Parameters,
) -> Result<Page, Failure> {
    let shown = match parameters.text("show").as_deref() {
        None | Some("problems") => Shown::Sick,
        Some("all") => Shown::All,
        Some(_) => {
            let message = "`show` is `problems` or `all`";
            return Err(Failure::bad_request("bad-parameter", message));
        }
    };
    let number = page_number(&mut parameters)?;
    parameters.finish()?;
    let ward = context.work(move |context| Ok(ward(context, shown, number))).await?;
    Ok(page("Health", Nav::Health, &body(&ward, shown, number)))
}

fn ward(context: &Context, shown: Shown, number: usize) -> Ward {
    let surveyed = context.library.survey();
    let logs = &surveyed.logs;
    let is_session = |looked: &&std::sync::Arc<Looked>| {
        looked.log.agent.is_none() && (looked.health.is_some() || is_sick(looked))
    };
    // Subagents have no reach of their own, but lines of theirs can be lost too.
    let fits = |looked: &&std::sync::Arc<Looked>| match shown {
        Shown::Sick => is_sick(looked),
        Shown::All => is_session(looked) || is_sick(looked),
    };
    let mut fitting: Vec<&std::sync::Arc<Looked>> = logs.iter().filter(fits).collect();
    fitting.sort_by_key(|looked| std::cmp::Reverse(damage(looked)));
    let sick = logs.iter().filter(|looked| is_sick(looked)).count();
    let patient = |looked: &&std::sync::Arc<Looked>| Patient {
        looked: std::sync::Arc::clone(looked),
        title: looked.log.session.and_then(|id| context.library.title_of(&surveyed.inventory, id)),
    };
    Ward {
        fitting: fitting.len(),
        patients: fitting.iter().skip((number - 1) * ROWS).take(ROWS).map(patient).collect(),
        sessions: logs.iter().filter(is_session).count(),
        sick,
        unreadable: logs.iter().filter(|looked| looked.trouble.is_some()).count(),
        damaged_lines: logs.iter().map(|looked| looked.damaged.len() as u64).sum(),
        lost: logs.iter().map(|looked| lost(looked)).sum(),
        lines: logs.iter().map(|looked| looked.lines).sum(),
        progress: surveyed.progress,
    }
}

/// How many lines the newest clients would lose.
fn lost(looked: &Looked) -> u64 {
    looked.health.as_ref().map_or(0, |health| health.latest.lost.lines)
}

/// Problems by which something is lost, without those that the lines tell themselves.
fn damages(health: &Health) -> impl Iterator<Item = &HealthProblem> {
    health.problems.iter().filter(|problem| {
        problem.severity == Severity::Damage && problem.class != ProblemClass::DamagedLine
    })
}

fn is_sick(looked: &Looked) -> bool {
    let is_sick = looked.health.as_ref().is_some_and(|health| !health.is_sound());
    is_sick || !looked.damaged.is_empty() || looked.trouble.is_some()
}

/// How much is lost, to compare sessions by.
fn damage(looked: &Looked) -> (bool, u64) {
    (looked.trouble.is_some(), lost(looked) + looked.damaged.len() as u64)
}

fn body(ward: &Ward, shown: Shown, number: usize) -> Markup {
    let link = match shown {
        Shown::Sick => Link::new("/health"),
        Shown::All => Link::new("/health").with("show", "all"),
    };
    html! {
        header.page-head {
            h1 { "Health" }
            nav.choice aria-label="Which sessions" {
                a href="/health" aria-current=[(shown == Shown::Sick).then_some("true")] { "With problems" }
                a href="/health?show=all" aria-current=[(shown == Shown::All).then_some("true")] { "All" }
            }
            p {
                "How much of each session Claude Code would restore on resume, as a percentage of the messages it does not skip on purpose. "
                "This page changes nothing: copy a command and run it in a terminal."
            }
        }
        (progress(ward.progress))
        dl.cards {
            (card("Sessions", &count(ward.sessions as u64), &plural(ward.lines, "line")))
            (card("With problems", &count(ward.sick as u64), if ward.sick == 0 { "all is well" } else { "sessions and subagents" }))
            (card("Lost on resume", &count(ward.lost), "messages, in the newest clients"))
            (card("Damaged lines", &count(ward.damaged_lines), "not JSON objects"))
            @if ward.unreadable > 0 { (card("Unreadable", &count(ward.unreadable as u64), "logs")) }
        }
        @if ward.sick > 0 {
            div.panel {
                div.panel-body {
                    dl.commands {
                        (command("See what can be repaired in all sessions", "recto repair --all"))
                        (command("Repair all sessions, with backups", "recto repair --all --in-place"))
                        (command("Undo the last change", "recto undo"))
                    }
                }
            }
        }
        @if ward.patients.is_empty() {
            div.panel {
                @if ward.sessions == 0 && ward.progress.is_over() { (empty("No sessions", "This home has no session logs.")) }
                @else if ward.progress.is_over() { (empty("All is well", "No session has lost anything, and no line is damaged.")) }
                @else { (empty("Nothing so far", "recto is reading the logs.")) }
            }
        } @else {
            @for patient in &ward.patients { (one(patient)) }
            (paging(&link, number, ward.fitting, "logs"))
        }
    }
}

fn one(patient: &Patient) -> Markup {
    let looked = &patient.looked;
    let id = looked.log.session.map(|session| session.to_string());
    let agent = looked.log.agent.as_ref().map(|agent| agent.as_str());
    html! {
        article.panel.patient {
            div.panel-head {
                h2.cut { (session_link(id.as_deref(), agent, 0, patient.title.as_deref())) }
                @if let Some(agent) = agent { span.tag.violet { "agent " (one_line(agent)) } }
                span.faint.mono { (id.as_deref().unwrap_or_default().chars().take(8).collect::<String>()) }
                span.faint.number { (plural(looked.lines, "line")) }
                @if let Some(health) = &looked.health { (reaches(health)) }
            }
            @if let Some(health) = looked.health.as_ref().filter(|_| is_sick(looked)) {
                div.panel-body { p {
                    (count(health.latest.sent.lines)) " of " (plural(health.all.lines, "message")) " would be sent"
                    @if health.lost_prompts > 0 { "; " (plural(health.lost_prompts, "prompt")) " cannot be reached" }
                    @if !health.lost_turns.is_empty() { "; " (plural(health.lost_turns.len() as u64, "turn")) " lost in whole or in part" }
                } }
            }
            @if let Some(trouble) = &looked.trouble { div.panel-body { p.bad { (one_line(trouble)) } } }
            @if is_sick(looked) && looked.trouble.is_none() { (problems(looked, id.as_deref(), agent)) }
        }
    }
}

fn reaches(health: &Health) -> Markup {
    html! {
        dl.reaches {
            @for reach in &health.reaches {
                @let (text, class) = reach_text(reach);
                div { dt { (client_name(reach.generation)) } dd class=(class) { (text) } }
            }
        }
    }
}

fn reach_text(reach: &ReachSummary) -> (String, &'static str) {
    match reach.outcome {
        Outcome::Refused { .. } => ("refused".to_owned(), "bad"),
        Outcome::Hangs { .. } => ("hangs".to_owned(), "bad"),
        Outcome::Resumed => {
            let kept = reach.percent_kept().0;
            let class = if kept >= 100.0 {
                "good"
            } else if kept >= 90.0 {
                "warn"
            } else {
                "bad"
            };
            (percent(kept), class)
        }
    }
}

fn problems(looked: &Looked, id: Option<&str>, agent: Option<&str>) -> Markup {
    let of_health: Vec<&HealthProblem> = looked.health.iter().flat_map(damages).collect();
    let listed = of_health.iter().take(MOST_LISTED);
    let more = of_health.len().saturating_sub(MOST_LISTED) as u64
        + looked.health.as_ref().map_or(0, |health| health.unlisted);
    html! {
        div.table-scroll {
            table.table {
                thead { tr { th { "Problem" } th.number { "Line" } th { "Effect" } } }
                tbody {
                    @if !looked.damaged.is_empty() {
                        tr {
                            td.nowrap { span.tag.bad { (ProblemClass::DamagedLine.name()) } }
                            td.number { (line_numbers(&looked.damaged)) }
                            td.wide-text { (plural(looked.damaged.len() as u64, "line")) " cannot be read: Claude Code skips it" }
                        }
                    }
                    @for problem in listed {
                        tr {
                            td.nowrap { span.tag.bad { (problem.class.name()) } }
                            td.number { (count(problem.line)) }
                            td.wide-text { bdi { (one_line(&problem.consequence)) } }
                        }
                    }
                    @if more > 0 { tr { td colspan="3" { span.faint { "and " (plural(more, "more problem")) } } } }
                }
            }
        }
        div.panel-foot { (mending(id, agent)) }
    }
}

/// The commands that look closer and mend.
fn mending(id: Option<&str>, agent: Option<&str>) -> Markup {
    // A session's id is hexadecimal and hyphens: it can be pasted as it is.
    html! {
        @match (id, agent) {
            (Some(id), None) => {
                dl.commands {
                    (command("See what can be repaired", &format!("recto repair {id} --dry-run")))
                    (command("Repair it, with a backup", &format!("recto repair {id} --in-place")))
                    (command("See every problem, line by line", &format!("recto check {id}")))
                }
            }
            (_, Some(agent)) => {
                dl.commands { (command("See every problem, line by line", &format!("recto check agent-{}", one_line(agent)))) }
                p { "Logs of subagents are not resumed, so there is nothing to repair." }
            }
            (None, None) => dl.commands { (command("See every problem, line by line", "recto check --all")) },
        }
    }
}

/// A command, to be typed or copied.
fn command(what: &str, text: &str) -> Markup {
    html! {
        div {
            dt { (what) }
            dd {
                code { (text) }
                button.button.small type="button" data-copy=(text) data-copied="Command copied" aria-label=(format!("Copy: {text}")) { "Copy" }
            }
        }
    }
}

fn line_numbers(lines: &[u64]) -> String {
    let shown: Vec<String> = lines.iter().take(3).map(|line| count(*line)).collect();
    let more = if lines.len() > 3 { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}
