//! Where amounts are from: file and line, record, rule, row of prices, amount.

use axum::extract::State;
use jiff::tz::TimeZone;
use maud::Markup;
use maud::html;
use recto_session::usage::Total;
use recto_session::usage::Unpriced;

use super::ROWS;
use super::paging;
use super::session_link;
use super::text::count;
use super::text::one_line;
use super::text::plural;
use super::usage;
use crate::answer::Failure;
use crate::answer::Page;
use crate::context::Context;
use crate::pages::layout::Nav;
use crate::pages::layout::page;
use crate::parameters::Parameters;
use recto_view::ExplainOrder;
use recto_view::ExplainedMessage;
use recto_view::figures::UsageQuestion;

pub(crate) async fn explain(
    State(context): State<Context>,
    mut parameters: Parameters,
) -> Result<Page, Failure> {
    let question = usage::question(&context, &mut parameters)?;
    let number = page_number(&mut parameters)?;
    let order = match parameters.text("sort").as_deref() {
        None | Some("time") => ExplainOrder::Time,
        Some("amount") => ExplainOrder::Amount,
        Some(_) => {
            let failure = Failure::bad_request("bad-parameter", "invalid value for `sort`");
            return Err(failure.with_hint("time or amount"));
        }
    };
    parameters.finish()?;
    let asked = question.clone();
    let from = (number - 1) * ROWS;
    let found = context.answer(move |library| {
        let selection = asked.selection(library, &asked.period);
        let count = library.count_usage(&[], selection, &|_, _| {});
        let explanation = count.explain_by(order, from, ROWS);
        Ok((explanation.total, explanation.messages().collect::<Vec<_>>()))
    });
    let (total, messages) = found.await?;
    Ok(page(
        "Cost explained",
        Nav::Usage,
        &body(&question, (&total, &messages), (number, order), context.library.zone()),
    ))
}

/// Takes the number of a page of a list, from 1.
pub(crate) fn page_number(parameters: &mut Parameters) -> Result<usize, Failure> {
    let number = parameters.value::<usize>("page")?.unwrap_or(1);
    if number == 0 || number > 1_000_000 {
        return Err(Failure::bad_request("bad-parameter", "`page` counts from 1"));
    }
    Ok(number)
}

pub(crate) fn body(
    question: &UsageQuestion,
    (total, messages): (&Total, &[ExplainedMessage]),
    (number, order): (usize, ExplainOrder),
    zone: &TimeZone,
) -> Markup {
    let plain = usage::link("/usage/explain", question).without(&["by", "show"]);
    let by_amount = order == ExplainOrder::Amount;
    let link = if by_amount { plain.with("sort", "amount") } else { plain.clone() };
    let exact = match total.cost() {
        Some(cost) => format!("${cost}"),
        None => format!("${} and what has no price", total.known_cost),
    };
    html! {
        header.page-head {
            h1 { "Cost explained" }
            a.button href=(plain.at("/usage")) { "← Usage" }
            nav.choice aria-label="Order" {
                a href=(plain.with("sort", "time")) aria-current=[(!by_amount).then_some("true")] { "By time" }
                a href=(plain.with("sort", "amount")) aria-current=[by_amount.then_some("true")] { "By amount" }
            }
            p {
                (question.period.text())
                @for (name, value) in [("project", &question.project), ("model", &question.model), ("session", &question.session)] {
                    @if let Some(value) = value { " · " (name) " " bdi { (one_line(value)) } }
                }
            }
        }
        div.panel {
            div.panel-body {
                p.big { strong.number { (exact) } span.muted { " for " (plural(total.messages, "message")) } }
                p.muted {
                    "Each message below has its lines in the logs, the rule that chose one of them, the price, and the amount. "
                    code { "recto usage --explain" } " prints the same."
                }
            }
        }
        @if messages.is_empty() {
            div.panel { (super::empty("No messages", "No messages match these filters, or the page number is too high.")) }
        }
        @for message in messages { (one(message, zone)) }
        (paging(&link, number, usize::try_from(total.messages).unwrap_or(usize::MAX), "messages"))
    }
}

fn one(message: &ExplainedMessage, zone: &TimeZone) -> Markup {
    let time = message.time.map_or_else(
        || "at an unknown time".to_owned(),
        |time| zone.to_datetime(time.0).strftime("%Y-%m-%d %H:%M:%S").to_string(),
    );
    html! {
        article.panel.explained {
            div.panel-head {
                h2.mono { bdi { (message.id.as_deref().map_or_else(|| "message without an id".to_owned(), one_line)) } }
                span.faint.number { (time) }
                span.tag { (message.model.as_deref().map_or_else(|| "unknown model".to_owned(), one_line)) }
                @if let Some(agent) = &message.agent { span.tag.violet { "agent " (one_line(agent)) } }
                (session_link(message.session.as_deref(), message.agent.as_deref(), 0, None))
            }
            div.panel-body {
                div.table-scroll {
                    table.table.plain {
                        thead { tr { th { "Line" } th.number { "Input" } th.number { "Output" } th.number { "Cache write" } th.number { "Cache read" } th { "Rule" } } }
                        tbody {
                            @for line in &message.lines {
                                @let tokens = &line.tokens;
                                tr.counted[line.counted].uncounted[!line.counted] {
                                    td.mono { bdi { (one_line(&line.place())) } }
                                    td.number { (count(tokens.input_tokens)) }
                                    td.number { (count(tokens.output_tokens)) }
                                    td.number { (count(tokens.cache_creation_input_tokens)) }
                                    td.number { (count(tokens.cache_read_input_tokens)) }
                                    td { @if line.counted { span.tag.good { "counts" } " " } (line.rule) }
                                }
                            }
                        }
                    }
                }
                (amount(message))
            }
        }
    }
}

fn amount(message: &ExplainedMessage) -> Markup {
    match &message.amount {
        Err(Unpriced::Model) => {
            html! { p.warn { "No price is known for this model, so the cost is unknown." } }
        }
        Err(Unpriced::Way) => {
            html! { p.warn { "This kind of request has no known price, so the cost is unknown." } }
        }
        Ok(priced) => html! {
            table.table.plain.sum {
                @if let Some(price) = &message.price {
                    caption {
                        "Price: " strong { (one_line(&price.name())) } @if price.long_context { ", long context" }
                        span.faint { " (" (one_line(&price.place())) ")" }
                    }
                }
                tbody {
                    @for part in &priced.parts {
                        tr {
                            th scope="row" { (part.name) }
                            td.number { (count(part.number)) " × $" (part.price) }
                            td.number { "= $" (part.price.times(part.number)) }
                        }
                    }
                    @if priced.factor != 1000 {
                        tr { th scope="row" { "tokens" } td.number { "× " (priced.factor / 1000) "." (format!("{:03}", priced.factor % 1000)) } td {} }
                    }
                    tr.total { th scope="row" { "amount" } td {} td.number { "$" (priced.total) } }
                }
            }
        },
    }
}
