//! The rows of `recto usage`: a table, JSON, or comma-separated values.

use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_session::usage::Dimension;
use recto_session::usage::Doubts;
use recto_session::usage::Helpers;
use recto_session::usage::Report;
use recto_session::usage::Row;
use recto_session::usage::Total;
use recto_session::usage::csv_cell;
use recto_session::usage::helpers;

use super::prices::money;
use super::prices::texts;
use super::usage::Figures;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::bar;
use crate::terminal::text::count;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// How wide a full bar is.
const BAR: usize = 12;

pub(super) fn show(
    figures: &Figures,
    dimensions: &[Dimension],
    as_csv: bool,
    output: &mut Output,
) -> Result<Outcome, CommandError> {
    let report = figures.report(dimensions);
    let helpers = helpers(&figures.ledger, &figures.selection);
    if output.json {
        json(&report, dimensions, helpers.as_ref(), figures, output)?;
    } else if as_csv {
        csv(&report, dimensions, output)?;
    } else {
        table(&report, dimensions, helpers.as_ref(), output)?;
    }
    Ok(if report.rows.is_empty() { Outcome::Found } else { Outcome::Done })
}

/// A number of messages as the subject of `has` or `is`.
pub(super) fn which(number: u64) -> String {
    if number == 1 { "1 message".into() } else { format!("each of {} messages", count(number)) }
}

fn table(
    report: &Report,
    dimensions: &[Dimension],
    helpers: Option<&Helpers>,
    output: &mut Output,
) -> Result<(), CommandError> {
    if report.rows.is_empty() {
        return output.line("No message counts.");
    }
    if report.rows.len() > 30 {
        output.page();
    }
    let keys = dimensions.iter().map(|_| Column::Left);
    let columns: Vec<Column> = keys.chain([Column::Right; 6]).chain([Column::Left]).collect();
    let mut table = Table::new(&columns);
    let heads = ["messages", "input", "output", "cache write", "cache read", "cost", ""];
    let names = dimensions.iter().map(|dimension| dimension.name().to_owned());
    table.cells(names.chain(heads.map(str::to_owned)).collect());
    let most = report.rows.iter().map(|row| size(&row.total)).max().unwrap_or(0);
    for row in &report.rows {
        let keys = row.keys.iter().map(|key| one_line(key)).collect();
        let bar = if output.is_terminal { bar(size(&row.total), most, BAR) } else { String::new() };
        table.cells(cells(keys, &row.total, bar));
    }
    let mut keys = vec![String::new(); dimensions.len()];
    if let Some(first) = keys.first_mut() {
        *first = "total".to_owned();
    }
    table.cells(cells(keys.clone(), &report.total, String::new()));
    if let Some(helpers) = helpers.filter(|helpers| helpers.tokens() > 0) {
        if let Some(first) = keys.first_mut() {
            *first = "helpers".to_owned();
        }
        let numbers =
            [helpers.input, helpers.output, helpers.cache_creation, helpers.cache_read].map(count);
        let numbers = [vec!["-".to_owned()], numbers.to_vec(), vec![String::new(); 2]].concat();
        table.cells(keys.into_iter().chain(numbers).collect());
    }
    let lines = table.layout(output.width);
    let total_at = report.rows.len() + 1;
    for (at, cells) in lines.iter().enumerate() {
        let look = match at {
            0 => Look::Faint,
            at if at == total_at => Look::Strong,
            _ => Look::Plain,
        };
        let line = output.paint(look, cells.join("  ").trim_end());
        output.line(&line)?;
    }
    open_block(report, output)?;
    bounds(&report.total, output)?;
    reconciled(helpers, output)
}

/// By what bars are drawn: money, or tokens where that is not known.
fn size(total: &Total) -> u128 {
    total.cost().map_or(u128::from(total.tokens()), |cost| cost.pico())
}

fn cells(keys: Vec<String>, total: &Total, bar: String) -> Vec<String> {
    let numbers =
        [total.messages, total.input, total.output, total.writes(), total.cache_read].map(count);
    let cost = match total.cost() {
        Some(cost) => format!("${}", cost.rounded(4)),
        None if total.known_cost.pico() > 0 => format!("> ${}", total.known_cost.rounded(4)),
        None => "unknown".to_owned(),
    };
    keys.into_iter().chain(numbers).chain([cost, bar]).collect()
}

fn open_block(report: &Report, output: &mut Output) -> Result<(), CommandError> {
    let open = report.rows.iter().find_map(|row| Some((row.block?, row.projection?)));
    let Some((_, open)) = open else { return Ok(()) };
    let cost = |amount: Option<recto_session::usage::Money>| {
        amount.map_or_else(|| "unknown cost".to_owned(), |amount| format!("${}", amount.rounded(2)))
    };
    output.line("")?;
    output.line(&format!(
        "The window is open for {}: {} tokens a minute, {} an hour; at this rate {} tokens and {} at its end.",
        plural(open.minutes_left, "more minute"),
        count(open.tokens_per_minute),
        cost(open.cost_per_hour),
        count(open.tokens),
        cost(open.cost),
    ))
}

fn bounds(total: &Total, output: &mut Output) -> Result<(), CommandError> {
    if total.most_output == total.output {
        return Ok(());
    }
    output.line("")?;
    output.line(&format!(
        "Output is {} to about {} tokens: clients 2.0.50 to 2.1.29 log too few.",
        count(total.output),
        count(total.most_output)
    ))
}

fn reconciled(helpers: Option<&Helpers>, output: &mut Output) -> Result<(), CommandError> {
    let Some(helpers) = helpers else { return Ok(()) };
    let mut text = format!(
        "Of {} with the client's own count, {} agree with it.",
        plural(helpers.sessions, "session"),
        count(helpers.agreeing)
    );
    if helpers.tokens() > 0 {
        let tokens = plural(helpers.tokens(), "token");
        text += &format!(
            " {tokens} only it has: helpers, such as those that write titles, and tries that failed."
        );
    }
    if helpers.uncounted > 0 {
        let tokens = plural(helpers.uncounted, "token");
        text += &format!(
            " {tokens} it does not have: answers that were broken off, or came after its last count."
        );
    }
    output.line("")?;
    output.line(&text)
}

fn json(
    report: &Report,
    dimensions: &[Dimension],
    helpers: Option<&Helpers>,
    figures: &Figures,
    output: &mut Output,
) -> Result<(), CommandError> {
    let rows = report
        .rows
        .iter()
        .fold(ArrayWriter::new(), |rows, row| rows.json(&row_json(row, dimensions).finish()));
    let total = total_json(ObjectWriter::new(), &report.total).finish();
    let helpers = helpers.map_or_else(|| b"null".to_vec(), helpers_json);
    let object = ObjectWriter::new()
        .json("rows", &rows.finish())
        .json("total", &total)
        .json("helpers", &helpers)
        .json("notes", &notes_json(&report.doubts, figures))
        .json("prices", &texts(&figures.prices.sources));
    output.json_line(object)
}

fn row_json(row: &Row, dimensions: &[Dimension]) -> ObjectWriter {
    let keys = dimensions.iter().zip(&row.keys);
    let object = keys
        .fold(ObjectWriter::new(), |object, (dimension, key)| object.string(dimension.name(), key));
    let object = total_json(object, &row.total);
    let Some(block) = row.block else { return object };
    let object = object
        .string("start", &block.start.to_string())
        .string("end", &block.end.to_string())
        .boolean("active", row.projection.is_some());
    let Some(open) = row.projection else { return object.json("projection", b"null") };
    let projection = ObjectWriter::new()
        .number("tokens_per_minute", open.tokens_per_minute)
        .json("cost_usd_per_hour", money(open.cost_per_hour).as_bytes())
        .number("tokens", open.tokens)
        .json("cost_usd", money(open.cost).as_bytes())
        .number("minutes_left", open.minutes_left);
    object.json("projection", &projection.finish())
}

pub(super) fn total_json(object: ObjectWriter, total: &Total) -> ObjectWriter {
    object
        .number("messages", total.messages)
        .number("input_tokens", total.input)
        .number("output_tokens", total.output)
        .number("cache_creation_input_tokens", total.writes())
        .number("cache_read_input_tokens", total.cache_read)
        .json("cost_usd", money(total.cost()).as_bytes())
        .json("known_cost_usd", money(Some(total.known_cost)).as_bytes())
        .number("unpriced_messages", total.unpriced)
        .number("cache_creation_5m_tokens", total.write_5m)
        .number("cache_creation_1h_tokens", total.write_1h)
        .number("web_searches", total.web_searches)
        .number("output_tokens_at_most", total.most_output)
        .number("under_reported_messages", total.under_reported)
}

fn helpers_json(helpers: &Helpers) -> Vec<u8> {
    ObjectWriter::new()
        .number("sessions", helpers.sessions)
        .number("agreeing", helpers.agreeing)
        .number("input_tokens", helpers.input)
        .number("output_tokens", helpers.output)
        .number("cache_creation_input_tokens", helpers.cache_creation)
        .number("cache_read_input_tokens", helpers.cache_read)
        .number("uncounted_tokens", helpers.uncounted)
        .json("client_cost_usd", money(Some(helpers.client_cost)).as_bytes())
        .finish()
}

fn notes_json(doubts: &Doubts, figures: &Figures) -> Vec<u8> {
    let ledger = &figures.ledger;
    ObjectWriter::new()
        .json("unknown_models", &texts(&doubts.unknown_models))
        .number("unknown_way", doubts.unknown_way)
        .number("bad_counts", doubts.bad_count)
        .number("no_id", doubts.no_id)
        .number("tiers_differ", doubts.tiers_differ)
        .number("no_time", doubts.no_time)
        .number("in_the_future", doubts.in_the_future)
        .number("long_lines", ledger.long_lines)
        .number("clock_jumps", ledger.clock_jumps)
        .number("copies", ledger.copies)
        .finish()
}

fn csv(report: &Report, dimensions: &[Dimension], output: &mut Output) -> Result<(), CommandError> {
    const NUMBERS: [&str; 6] = [
        "messages",
        "input_tokens",
        "output_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
        "cost_usd",
    ];
    let names: Vec<&str> = dimensions.iter().map(|dimension| dimension.name()).collect();
    output.line(&[names, NUMBERS.to_vec()].concat().join(","))?;
    for row in &report.rows {
        let total = &row.total;
        let keys = row.keys.iter().map(|key| csv_text(key));
        let numbers = [total.messages, total.input, total.output, total.writes(), total.cache_read];
        let numbers = numbers.iter().map(u64::to_string);
        let cost = total.cost().map_or_else(String::new, |cost| cost.to_string());
        let cells: Vec<String> = keys.chain(numbers).chain([cost]).collect();
        output.line(&cells.join(","))?;
    }
    Ok(())
}

/// A text as a cell.
fn csv_text(text: &str) -> String {
    csv_cell(one_line(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_a_table_are_texts_for_every_reader() {
        let cells = ["main", "a,b", "say \"x\"", "=1+1", "a\u{1b}[2Jb"].map(csv_text);
        assert_eq!(cells[..4], ["main", "\"a,b\"", "\"say \"\"x\"\"\"", "'=1+1"]);
        assert!(!cells[4].contains('\u{1b}'));
    }
}
