//! `recto usage --explain`: from lines to amounts, message by message.

use jiff::tz::TimeZone;
use recto_session::usage::Unpriced;
use recto_view::ExplainedMessage;
use recto_view::UsageCount;

use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::count;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

pub(super) fn explain(
    usage: &UsageCount,
    zone: &TimeZone,
    output: &mut Output,
) -> Result<Outcome, CommandError> {
    let explanation = usage.explain(0, usize::MAX);
    let total = &explanation.total;
    let outcome = if total.messages == 0 { Outcome::Found } else { Outcome::Done };
    if output.json {
        explanation.messages().try_for_each(|message| output.row(&message))?;
        return Ok(outcome);
    }
    output.page();
    for message in explanation.messages() {
        print(&message, zone, output)?;
    }
    let cost = match total.cost() {
        Some(cost) => format!("${cost}"),
        None => format!("${} and what has no price", total.known_cost),
    };
    let messages = plural(total.messages, "message");
    output.line(&output.paint(Look::Strong, &format!("total of {messages}: {cost}")))?;
    Ok(outcome)
}

fn print(
    message: &ExplainedMessage,
    zone: &TimeZone,
    output: &mut Output,
) -> Result<(), CommandError> {
    let id = message.id.as_deref().unwrap_or("message without an id");
    let time = message.time.map_or_else(
        || "at an unknown time".to_owned(),
        |time| zone.to_datetime(time.0).strftime("%Y-%m-%d %H:%M:%S").to_string(),
    );
    let model = one_line(message.model.as_deref().unwrap_or("unknown model"));
    let head = format!("{}  {time}  {model}", one_line(id));
    output.line(&output.paint(Look::Strong, &head))?;
    for line in &message.lines {
        let (place, tokens) = (one_line(&line.place()), &line.tokens);
        let mark = if line.counted { "+" } else { " " };
        output.line(&format!(
            "  {mark} {place}  input {}, output {}, cache write {}, cache read {}  ({})",
            count(tokens.input_tokens),
            count(tokens.output_tokens),
            count(tokens.cache_creation_input_tokens),
            count(tokens.cache_read_input_tokens),
            line.rule
        ))?;
    }
    print_amount(message, output)?;
    output.line("")
}

fn print_amount(message: &ExplainedMessage, output: &mut Output) -> Result<(), CommandError> {
    let amount = match &message.amount {
        Ok(amount) => amount,
        Err(Unpriced::Model) => {
            return output.line("  no price for this model: cost unknown");
        }
        Err(Unpriced::Way) => {
            return output.line("  sent in a way that has no price: cost unknown");
        }
    };
    if let Some(price) = &message.price {
        let long = if price.long_context { ", long context" } else { "" };
        let (name, place) = (one_line(&price.name()), one_line(&price.place()));
        output.line(&format!("  price: {name}{long} ({place})"))?;
    }
    for part in &amount.parts {
        let sum = part.price.times(part.number);
        let number = count(part.number);
        output.line(&format!("    {}: {number} × ${} = ${sum}", part.name, part.price))?;
    }
    if amount.factor != 1000 {
        let factor = amount.factor;
        output.line(&format!("    tokens × {}.{:03}", factor / 1000, factor % 1000))?;
    }
    output.line(&format!("  = ${}", amount.total))
}
