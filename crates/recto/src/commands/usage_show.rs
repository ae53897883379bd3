//! The rows of `recto usage`: a table, JSON, or comma-separated values.

use recto_session::usage::Dimension;
use recto_session::usage::Helpers;
use recto_session::usage::Report;
use recto_session::usage::Total;
use recto_session::usage::helpers;
use recto_view::UsageCount;
use recto_view::csv_lines;

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
    usage: &UsageCount,
    dimensions: &[Dimension],
    as_csv: bool,
    output: &mut Output,
) -> Result<Outcome, CommandError> {
    let report = usage.report(dimensions);
    if output.json {
        output.row(&usage.answer(dimensions))?;
    } else if as_csv {
        for line in csv_lines(dimensions, &report.rows, one_line) {
            output.line(&line)?;
        }
    } else {
        let helpers = helpers(&usage.ledger, &usage.selection);
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
        return output.line("no usage recorded");
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
    if let Some(helpers) = helpers.filter(|helpers| helpers.tokens.all() > 0) {
        if let Some(first) = keys.first_mut() {
            *first = "helpers".to_owned();
        }
        let numbers = [
            helpers.tokens.input,
            helpers.tokens.output,
            helpers.tokens.cache_creation,
            helpers.tokens.cache_read,
        ]
        .map(count);
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
    total.cost().map_or(u128::from(total.tokens.all()), |cost| cost.pico())
}

fn cells(keys: Vec<String>, total: &Total, bar: String) -> Vec<String> {
    let numbers = [
        total.messages,
        total.tokens.input,
        total.tokens.output,
        total.tokens.cache_creation,
        total.tokens.cache_read,
    ]
    .map(count);
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
    if total.most_output == total.tokens.output {
        return Ok(());
    }
    output.line("")?;
    output.line(&format!(
        "Output is {} to about {} tokens: clients 2.0.50 to 2.1.29 log too few.",
        count(total.tokens.output),
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
    if helpers.tokens.all() > 0 {
        let tokens = plural(helpers.tokens.all(), "token");
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
