//! Tools: how often, how long, how often in vain; and the calls that failed.

use axum::extract::State;
use jiff::tz::TimeZone;
use maud::Markup;
use maud::html;

use super::ROWS;
use super::bars::cell_bar;
use super::empty;
use super::explain::page_number;
use super::link::Link;
use super::paging;
use super::period_choice;
use super::progress;
use super::session_address;
use super::text::clock;
use super::text::count;
use super::text::duration;
use super::text::one_line;
use super::text::percent;
use super::text::plural;
use crate::answer::Failure;
use crate::answer::Page;
use crate::context::Context;
use crate::pages::card::card;
use crate::pages::layout::Nav;
use crate::pages::layout::page;
use crate::pages::text::shown;
use crate::parameters::Parameters;
use recto_view::ToolTotal;
use recto_view::figures::Choice;
use recto_view::figures::FailedCall;
use recto_view::figures::Looked;
use recto_view::figures::Period;
use recto_view::figures::Progress;
use recto_view::figures::Totals;

/// What is asked.
struct Asked {
    period: Period,
    tool: Option<String>,
    page: usize,
}

impl Asked {
    fn link(&self) -> Link {
        period_link("/tools", &self.period).with_some("tool", self.tool.as_deref())
    }
}

/// The address of a page about a period.
pub(crate) fn period_link(path: &str, period: &Period) -> Link {
    let link = Link::new(path);
    match period.choice {
        Choice::Custom => link
            .with_some("from", period.from.map(|day| day.to_string()).as_deref())
            .with_some("to", period.to.map(|day| day.to_string()).as_deref()),
        choice => link.with_some("period", choice.name()),
    }
}

pub(crate) async fn tools(
    State(context): State<Context>,
    mut parameters: Parameters,
) -> Result<Page, Failure> {
    let period = parameters.period(Choice::All, &context.library)?;
    let (tool, page_at) = (parameters.text("tool"), page_number(&mut parameters)?);
    parameters.finish()?;
    let span = (period.since(context.library.zone()), period.until(context.library.zone()));
    let (totals, progress) = context
        .work(move |context| {
            let surveyed = context.library.survey();
            Ok((context.library.totals(&surveyed, span, None), surveyed.progress))
        })
        .await?;
    let asked = Asked { period, tool, page: page_at };
    Ok(page("Tools", Nav::Tools, &body(&asked, &totals, progress, context.library.zone())))
}

fn body(asked: &Asked, totals: &Totals, at: Progress, zone: &TimeZone) -> Markup {
    let tools = &totals.statistics.tools;
    let calls: u64 = tools.iter().map(|tool| tool.calls).sum();
    let failed: u64 = tools.iter().map(|tool| tool.failed).sum();
    let open: u64 = tools.iter().map(|tool| tool.open).sum();
    let time: u64 = tools.iter().map(|tool| tool.total_ms).sum();
    let link = asked.link();
    html! {
        header.page-head {
            h1 { "Tools" }
            (period_choice(&asked.period, &link))
            p { "Calls of all sessions and subagents written in the period. A call that is in several logs counts once." }
        }
        (progress(at))
        @if tools.is_empty() {
            div.panel { (empty("No calls", "No log of this period has a call of a tool.")) }
        } @else {
            dl.cards {
                (card("Calls", &count(calls), &plural(tools.len() as u64, "tool")))
                (card("Failed", &count(failed), &share(failed, calls)))
                (card("Without result", &count(open), &share(open, calls)))
                (card("Time in tools", &duration(time), "of all calls together"))
            }
            (table(tools, &link))
            (failures(asked, totals, &link, zone))
        }
    }
}

fn share(part: u64, all: u64) -> String {
    if all == 0 { String::new() } else { percent(part as f64 * 100.0 / all as f64) + " of calls" }
}

fn table(tools: &[ToolTotal], link: &Link) -> Markup {
    let most = tools.iter().map(|tool| tool.calls).max().unwrap_or(0);
    let longest = tools.iter().map(|tool| tool.total_ms).max().unwrap_or(0);
    let rate = |tool: &ToolTotal| tool.failed_percent.unwrap_or(0.0);
    html! {
        section.panel aria-labelledby="by-calls" {
            div.panel-head { h2 #by-calls { "By calls" } }
            div.table-scroll {
                table.table {
                    thead {
                        tr {
                            th { "Tool" } th.number { "Calls" } th.hide-narrow { span.unseen { "Share of calls" } }
                            th.number { "Failed" } th.number { "Rate" } th.number.hide-narrow { "No result" }
                            th.number.hide-narrow { "Median" } th.number { "Time" } th.hide-narrow { span.unseen { "Share of time" } }
                        }
                    }
                    tbody {
                        @for tool in tools {
                            tr {
                                td.tool-name { a href=(Link::new("/search").with("q", &format!("tool:{}", tool.name))) { bdi { (one_line(&tool.name)) } } }
                                td.number { (count(tool.calls)) }
                                td.bar-cell.hide-narrow { (cell_bar(tool.calls.into(), most.into(), 0)) }
                                td.number {
                                    @if tool.failed > 0 { a href=(format!("{}#failures", link.with("tool", &tool.name))) { (count(tool.failed)) } } @else { span.faint { "0" } }
                                }
                                td.number { span.bad[rate(tool) >= 10.0].faint[tool.failed == 0] { (percent(rate(tool))) } }
                                td.number.hide-narrow { span.faint[tool.open == 0] { (count(tool.open)) } }
                                td.number.hide-narrow { (tool.median_ms.map_or_else(|| "–".to_owned(), duration)) }
                                td.number { (duration(tool.total_ms)) }
                                td.bar-cell.hide-narrow { (cell_bar(tool.total_ms.into(), longest.into(), 2)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn failures(asked: &Asked, totals: &Totals, link: &Link, zone: &TimeZone) -> Markup {
    let fits = |call: &FailedCall| asked.tool.as_deref().is_none_or(|tool| call.tool == tool);
    let all: Vec<&(std::sync::Arc<Looked>, FailedCall)> =
        totals.failed.iter().filter(|(_, call)| fits(call)).collect();
    let from = (asked.page - 1) * ROWS;
    html! {
        section.panel #failures aria-labelledby="failures-title" {
            div.panel-head {
                h2 #failures-title { "Calls that failed" }
                @if let Some(tool) = &asked.tool {
                    span.tag.info { (one_line(tool)) }
                    a.button.quiet.small href=(format!("{}#failures", link.without(&["tool"]))) { "All tools" }
                }
                span.faint { "the last 100 of each log, newest first" }
            }
            @if all.is_empty() { (empty("No failures", "No failed calls.")) }
            ol.hits {
                @for (looked, call) in all.iter().skip(from).take(ROWS) { (failure(looked, call, zone)) }
            }
            div.panel-foot { (paging(&link.at("/tools"), asked.page, all.len(), "failures")) }
        }
    }
}

fn failure(looked: &Looked, call: &FailedCall, zone: &TimeZone) -> Markup {
    let session = looked.log.session.map(|session| session.to_string());
    let agent = looked.log.agent.as_ref().map(|agent| agent.as_str());
    let inside = html! {
        div.hit-head {
            span.tag.bad { (one_line(&call.tool)) }
            @if call.turn > 0 { span.faint.number { "turn " (call.turn) } }
            @if let Some(agent) = agent { span.tag.violet { "agent " (one_line(agent)) } }
            @if let Some(time) = call.time { time.faint datetime=(time) { (clock(time, zone)) } }
            code.cut { bdi { (one_line(&call.about)) } }
        }
        p.snippet.error { bdi { (shown(&call.error)) } }
    };
    html! {
        li {
            @match &session {
                Some(id) => a.hit href=(session_address(id, agent, call.turn)) { (inside) },
                None => div.hit { (inside) },
            }
        }
    }
}
