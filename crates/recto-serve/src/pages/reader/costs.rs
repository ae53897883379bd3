//! Why a session costs what it costs: a strip above its turns, and the turns, tools and
//! subagents that cost most.

use axum::extract::Path;
use axum::extract::State;
use maud::Markup;
use maud::html;

use crate::answer::Failure;
use crate::answer::Page;
use crate::context::Context;
use crate::pages::format::count;
use crate::pages::format::money;
use crate::pages::format::plural;
use crate::pages::format::short;
use crate::pages::layout::Nav;
use crate::pages::sessions::title;
use crate::pages::text::one_line;
use crate::pages::text::shown;
use crate::parameters::Parameters;
use recto_view::CACHE_MISS_RULE;
use recto_view::SessionCosts;
use recto_view::SessionName;

/// How many turns, tools and subagents are listed.
const TOP: usize = 10;

/// The size of the strip, in units of the drawing.
const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 40.0;

fn session_id(session: &str) -> Result<SessionName, Failure> {
    session.parse().map_err(|_| Failure::not_found("no session has this id"))
}

/// `/session/ID/costs`: the strip, for the page of the session.
pub(super) async fn costs(
    State(context): State<Context>,
    Path(session): Path<String>,
    parameters: Parameters,
) -> Result<Page, Failure> {
    let id = session_id(&session)?;
    parameters.finish()?;
    context
        .work(move |context| {
            let costs = context.library.session_costs(id)?;
            Ok(Page(html! {
                (strip(&costs))
                details.cost-top {
                    summary { "Where the money went" }
                    (tables(id, &costs))
                }
            }))
        })
        .await
}

/// `/session/ID/cost`: the same as a page of its own.
pub(super) async fn page(
    State(context): State<Context>,
    Path(session): Path<String>,
    parameters: Parameters,
) -> Result<Page, Failure> {
    let id = session_id(&session)?;
    parameters.finish()?;
    context
        .work(move |context| {
            let costs = context.library.session_costs(id)?;
            let name = title(&context.library.session_row(&context.library.find(id)?.file));
            let body = html! {
                header.page-head {
                    p.crumbs { a href=(format!("/session/{id}")) { bdi { (one_line(&name, 120)) } } }
                    h1 { "What this session cost" }
                }
                div.panel.costs { (strip(&costs)) }
                (tables(id, &costs))
                p { a href=(format!("/usage/explain?session={}&period=all&sort=amount", id.id)) { "Every message, most expensive first" } }
            };
            let title = format!("Cost · {}", one_line(&name, 60));
            Ok(crate::pages::layout::page(&title, Nav::Sessions, &body))
        })
        .await
}

/// A bar for each turn, the sum as a line, and a mark where the cache was missed. A few
/// paths, however many turns there are.
fn strip(costs: &SessionCosts) -> Markup {
    let turns = &costs.turns;
    let total = costs.total.known_cost_usd;
    let dearest = turns.iter().map(|turn| turn.cost_usd).fold(0.0, f64::max);
    if turns.is_empty() || dearest <= 0.0 {
        return html! {
            p.faint { "No turn of this session has a known cost" @if costs.total.unpriced_messages > 0 { ": " (plural(costs.total.unpriced_messages, "message")) " without a price" } "." }
        };
    }
    let step = WIDTH / turns.len() as f64;
    let (mut bars, mut line, mut marks) = (String::new(), String::new(), String::new());
    let mut misses = 0;
    for (at, turn) in turns.iter().enumerate() {
        let (left, right) = (at as f64 * step, (at as f64 + 0.85) * step);
        if turn.cost_usd > 0.0 {
            let top = HEIGHT - (turn.cost_usd / dearest * (HEIGHT - 4.0)).max(0.6);
            bars += &format!("M{left:.2} {HEIGHT}V{top:.2}H{right:.2}V{HEIGHT}Z");
        }
        let sum = HEIGHT - turn.cumulative_usd / total.max(turn.cumulative_usd) * (HEIGHT - 4.0);
        line += &format!("{}{:.2} {sum:.2}", if at == 0 { "M" } else { "L" }, left + step / 2.0);
        if turn.cache_misses > 0 {
            misses += turn.cache_misses;
            marks += &format!("M{:.2} 0l2.5 4h-5Z", left + step / 2.0);
        }
    }
    html! {
        figure.cost-strip {
            figcaption {
                strong { (money(total)) @if costs.total.unpriced_messages > 0 { "+" } }
                span.faint { "in " (plural(turns.len() as u64, "turn")) ", the most expensive " (money(dearest)) }
                @if misses > 0 {
                    span.warn title=(CACHE_MISS_RULE) { "▾ " (misses) @if misses == 1 { " cache miss" } @else { " cache misses" } }
                }
                span #cost-here .faint {}
            }
            svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" role="img"
                aria-label=(format!("Cost of {}, {} in total; the table below lists the most expensive", plural(turns.len() as u64, "turn"), money(total))) {
                path.cost-bars d=(bars) {}
                path.cost-sum d=(line) {}
                @if !marks.is_empty() { path.cost-misses d=(marks) {} }
            }
        }
    }
}

fn tables(id: SessionName, costs: &SessionCosts) -> Markup {
    let turns = costs.top_turns(TOP);
    html! {
        div.cost-tables {
            section {
                h2 { "Top turns" }
                table.table {
                    thead { tr { th { "Turn" } th { "Prompt" } th.number { "Cost" } th.number { "Subagents" } th.number { "Context" } th.number { "Cache misses" } } }
                    tbody {
                        @for turn in &turns {
                            tr {
                                td { a href=(format!("/session/{id}?from={0}#turn-{0}", turn.turn)) data-goto=(turn.turn) { (turn.turn) } }
                                td { bdi { (one_line(&turn.prompt, 90)) } }
                                td.number { (money(turn.cost_usd)) }
                                td.number { @if turn.agents_cost_usd > 0.0 { (money(turn.agents_cost_usd)) } }
                                td.number { (short(turn.context_tokens)) }
                                td.number { @if turn.cache_misses > 0 { (turn.cache_misses) } }
                            }
                        }
                    }
                }
                p.faint { (CACHE_MISS_RULE) }
            }
            @if !costs.tools.is_empty() {
                section {
                    h2 { "Top tools" }
                    table.table {
                        thead { tr { th { "Tools called" } th.number { "Messages" } th.number { "Cost" } } }
                        tbody {
                            @for tool in costs.tools.iter().take(TOP) {
                                tr { td { bdi { (shown(&tool.tool)) } } td.number { (count(tool.messages)) } td.number { (money(tool.cost_usd)) } }
                            }
                        }
                    }
                }
            }
            @if !costs.agents.is_empty() {
                section {
                    h2 { "Top subagents" }
                    table.table {
                        thead { tr { th { "Subagent" } th.number { "Turn" } th.number { "Messages" } th.number { "Cost" } } }
                        tbody {
                            @for agent in costs.agents.iter().take(TOP) {
                                tr {
                                    td { a href=(format!("/session/{id}/agent/{}", recto_view::encoded(&agent.agent))) { bdi { (shown(&agent.agent)) } } }
                                    td.number { @if agent.turn > 0 { (agent.turn) } }
                                    td.number { (count(agent.messages)) }
                                    td.number { (money(agent.cost_usd)) }
                                }
                            }
                        }
                    }
                }
            }
            p { a href=(format!("/usage/explain?session={}&period=all&sort=amount", id.id)) { "How these amounts are computed" } }
        }
    }
}
