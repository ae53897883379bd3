//! What needs all of a log: what it cost, whether it can be resumed, and what
//! fills its context.

use axum::extract::Path;
use axum::extract::State;
use maud::Markup;
use maud::html;
use recto_session::context_fill::ContextFill;
use recto_session::context_fill::Filler;
use recto_session::context_fill::context_fill;
use recto_session::health::ProblemClass;
use recto_session::request::Generation;
use recto_session::request::reach;
use recto_session::usage::Dimension;
use recto_session::usage::Selection;

use crate::answer::Failure;
use crate::answer::Page;
use crate::context::Context;
use crate::pages::format::count;
use crate::pages::format::money;
use crate::pages::format::plural;
use crate::pages::format::short;
use crate::pages::text::one_line;
use crate::pages::text::shown;
use crate::parameters::Parameters;
use recto_view::HealthRow;
use recto_view::Reading;
use recto_view::SessionName;
use recto_view::UsageReport;

/// `/session/ID/facts`
pub(super) async fn facts(
    State(context): State<Context>,
    Path(session): Path<String>,
    parameters: Parameters,
) -> Result<Page, Failure> {
    let missing = || Failure::not_found("no session has this id");
    let id: SessionName = session.parse().map_err(|_| missing())?;
    parameters.finish()?;
    context
        .work(move |context| {
            let reading = context.library.read_any(id, None)?;
            let health = context.library.health(id)?;
            let fill = fill(&reading);
            let selection = Selection { session: Some(id.id.to_string()), ..Selection::default() };
            let usage = context.library.usage(&[Dimension::Model], selection);
            Ok(Page(html! {
                div.facts-row {
                    (cost(id, &usage, &counted_elsewhere(context, &reading, id, &usage)))
                    (health_markup(id, &health))
                }
                (context_bar(&fill))
            }))
        })
        .await
}

/// What is in the context at the end of what the newest clients go on from.
fn fill(reading: &Reading) -> ContextFill {
    let session = reading.session();
    let newest = reading.turns().next_back().and_then(|turn| turn.nodes.last().copied());
    let Some(leaf) = reach(session, Generation::latest()).leaf.or(newest) else {
        return ContextFill::default();
    };
    context_fill(session, &reading.turns, leaf, None, &reading.loaded)
}

/// Messages of the session that count for others.
struct Elsewhere {
    messages: u64,
    /// The sessions that they are shared with: id and title.
    sessions: Vec<(String, Option<String>)>,
}

/// A fork begins with a copy of another session's messages. Each message counts once, for
/// the session that had it first.
fn counted_elsewhere(
    context: &Context,
    reading: &Reading,
    id: SessionName,
    usage: &UsageReport,
) -> Elsewhere {
    let own = reading.session().facts().messages.iter().filter(|one| !one.is_synthetic).count();
    let messages = (own as u64).saturating_sub(usage.total.messages);
    if messages == 0 {
        return Elsewhere { messages, sessions: Vec::new() };
    }
    let inventory = context.library.inventory();
    let all = context.library.count_usage(&[], Selection::default(), &|_, _| {});
    let others = all.ledger.sessions_sharing(&id.id.to_string()).into_iter().map(|other| {
        let title = other.parse().ok().and_then(|id| context.library.title_of(&inventory, id));
        (other.to_owned(), title)
    });
    Elsewhere { messages, sessions: others.take(MOST_OTHERS).collect() }
}

/// How many sessions are named that count messages of this one.
const MOST_OTHERS: usize = 3;

fn cost(id: SessionName, usage: &UsageReport, elsewhere: &Elsewhere) -> Markup {
    let total = &usage.total;
    let read = total.tokens.cache_read_input_tokens;
    let input = total.tokens.input_tokens + read + total.tokens.cache_creation_input_tokens;
    let hit = (input > 0).then(|| read as f64 * 100.0 / input as f64);
    html! {
        div.fact {
            a.fact-value href=(format!("/usage?session={}&period=all", id.id)) title="How this is computed" {
                (money(total.known_cost_usd))
                @if total.unpriced_messages > 0 { "+" }
            }
            span.faint {
                "cost"
                @if let Some(hit) = hit { " · " (format!("{hit:.0}")) " % from cache" }
                @if total.unpriced_messages > 0 { " · " (plural(total.unpriced_messages, "message")) " without a price" }
                @if !elsewhere.sessions.is_empty() {
                    " · " (plural(elsewhere.messages, "message")) " copied from and counted in "
                    @for (at, (id, title)) in elsewhere.sessions.iter().enumerate() {
                        @if at > 0 { ", " }
                        a href=(format!("/session/{id}")) { bdi { (one_line(title.as_deref().unwrap_or(id), 60)) } }
                    }
                }
            }
        }
    }
}

fn health_markup(id: SessionName, health: &HealthRow) -> Markup {
    let latest = health.reach.iter().find(|reach| reach.is_latest);
    let damaged = damaged(health);
    html! {
        @if let Some(reach) = latest {
            div.fact {
                span.fact-value .good[reach.outcome == "resumed" && reach.percent_kept >= 99.5]
                    .warn[reach.outcome == "resumed" && reach.percent_kept < 99.5] .bad[reach.outcome != "resumed"] {
                    @if reach.outcome == "resumed" { (percent(reach.percent_kept)) } @else { (reach.outcome) }
                }
                span.faint {
                    "restored on resume: " (reach.sent) " of " (plural(health.lines, "message"))
                    @if health.lost_prompts > 0 { " · " (plural(health.lost_prompts, "prompt")) " cannot be reached" }
                    @if reach.lost > 0 { " · " (plural(reach.lost, "line")) " lost" }
                }
            }
        }
        div.fact {
            @if damaged == 0 {
                span.fact-value.good { "sound" }
            } @else {
                a.fact-value.bad href=(format!("/health#{}", id.id)) { (damaged) " damaged" }
            }
            @if health.problems.is_empty() {
                span.faint { "no problems in the log" }
            } @else {
                details.menu.problems {
                    summary { (plural(health.problems.len() as u64 + health.more, "remark")) }
                    div.sheet {
                        ul.plain-list {
                            @for problem in health.problems.iter().take(40) {
                                li { span.tag .bad[problem.severity == "damage"] { (problem.class) } " " a href=(format!("/session/{id}?line={}", problem.line)) { "line " (problem.line) } ": " bdi { (shown(&problem.text)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// How much is damaged. Lines that cannot be read are problems too, and count once.
fn damaged(health: &HealthRow) -> usize {
    let others = health.problems.iter().filter(|problem| {
        problem.severity == "damage" && problem.class != ProblemClass::DamagedLine.name()
    });
    others.count() + health.damaged_lines
}

fn percent(percent: f64) -> String {
    // What is not all must not look like it.
    let shown = if percent < 100.0 { percent.min(99.9) } else { percent };
    if shown.fract() == 0.0 { format!("{shown:.0} %") } else { format!("{shown:.1} %") }
}

/// What fills the context, as one bar.
fn context_bar(fill: &ContextFill) -> Markup {
    let Some(last) = fill.turns.last() else { return html! {} };
    let estimated = last.estimated();
    let all = last.measured.unwrap_or(estimated).max(estimated).max(1);
    let mut start = 0.0;
    let mut parts = Vec::new();
    for (at, (filler, tokens)) in Filler::ALL.iter().zip(last.tokens).enumerate() {
        if tokens > 0 {
            let width = tokens as f64 * 1000.0 / all as f64;
            parts.push((at, filler.name(), tokens, start, width));
            start += width;
        }
    }
    let rest = all - estimated.min(all);
    html! {
        figure.context-fill {
            figcaption {
                span { "Context at turn " (last.turn) ": " strong { (short(last.measured.unwrap_or(estimated))) " tokens" } }
                @if last.measured.is_none() { span.faint { "estimated" } }
            }
            svg.context-bar viewBox="0 0 1000 10" preserveAspectRatio="none" role="img"
                aria-label=(format!("{} tokens by what they are; the list below has the numbers", count(all))) {
                rect.fill-rest width="1000" height="10" {}
                @for (at, name, tokens, start, width) in &parts {
                    rect class=(format!("fill-{at}")) x=(format!("{start:.2}")) width=(format!("{width:.2}")) height="10" {
                        title { (name) ": " (count(*tokens)) " tokens" }
                    }
                }
            }
            ul.legend {
                @for (at, name, tokens, _, _) in &parts {
                    li { span class=(format!("swatch fill-{at}")) {} (name) " " span.faint { (short(*tokens)) } }
                }
                @if rest > 0 {
                    li title="The system prompt, descriptions of tools, and what the estimate misses" { span.swatch.fill-rest {} "not in the log " span.faint { (short(rest)) } }
                }
            }
            @if !fill.parts.is_empty() {
                details.fold {
                    summary { span.fold-name { "Largest parts" } }
                    div.fold-body {
                        table.table {
                            thead { tr { th { "What" } th.number { "Count" } th.number { "Tokens, estimated" } } }
                            tbody {
                                @for part in fill.parts.iter().take(15) {
                                    tr {
                                        td { (part.filler.name()) @if !part.name.is_empty() { " " code { bdi { (shown(&part.name)) } } } }
                                        td.number { (count(part.count)) }
                                        td.number { (count(part.tokens)) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
