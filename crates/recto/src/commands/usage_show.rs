//! The rows of `recto usage`: a table, JSON, or comma-separated values.

use std::collections::HashMap;
use std::collections::HashSet;

use rayon::prelude::*;
use recto_session::usage::Dimension;
use recto_session::usage::Helpers;
use recto_session::usage::Report;
use recto_session::usage::Total;
use recto_session::usage::helpers;
use recto_store::Digest;
use recto_store::Inventory;
use recto_view::UsageCount;
use recto_view::csv_lines;

use crate::commands::costs::cost_text;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::bar;
use crate::terminal::text::count;
use crate::terminal::text::money;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;
use crate::terminal::text::short_model;

/// How wide a full bar is.
const BAR: usize = 12;

pub(super) fn show(
    usage: &UsageCount,
    dimensions: &[Dimension],
    as_csv: bool,
    inventory: &Inventory,
    output: &mut Output,
) -> Result<Outcome, CommandError> {
    let report = usage.report(dimensions);
    if report.rows.is_empty() {
        output.remark(&no_usage(usage));
    }
    if output.json {
        output.row(&usage.answer(dimensions))?;
    } else if as_csv {
        for line in csv_lines(dimensions, &report.rows, one_line) {
            output.line(&line)?;
        }
    } else if !report.rows.is_empty() {
        let helpers = helpers(&usage.ledger, &usage.selection);
        let titles = match dimensions.contains(&Dimension::Session) {
            true => titles(&report, inventory),
            false => HashMap::new(),
        };
        table(&report, dimensions, helpers.as_ref(), &titles, output)?;
    }
    Ok(if report.rows.is_empty() { Outcome::Found } else { Outcome::Done })
}

/// Why there is nothing to show. The messages of a copy count once, for the original.
fn no_usage(usage: &UsageCount) -> String {
    let selection = &usage.selection;
    let (Some(session), None, None) = (&selection.session, selection.since, selection.until) else {
        return "no usage recorded".to_owned();
    };
    let others = usage.ledger.sessions_sharing(session).into_iter();
    let others: Vec<String> = others.map(|other| one_line(&fit_id(other))).collect();
    match others.as_slice() {
        [] => "no usage recorded".to_owned(),
        others => format!(
            "no separate usage: this session is a copy, and its messages are already counted in {}",
            others.join(", ")
        ),
    }
}

/// The titles of the sessions in a report.
fn titles(report: &Report, inventory: &Inventory) -> HashMap<String, String> {
    let wanted: HashSet<&str> =
        report.rows.iter().flat_map(|row| &row.keys).map(String::as_str).collect();
    let sessions = inventory.sessions.par_iter();
    let listed = sessions.map(|session| (session.id.to_string(), session));
    listed
        .filter(|(id, _)| wanted.contains(id.as_str()))
        .filter_map(|(id, session)| {
            let (title, _) = Digest::read(&session.path, false).ok()?.title?;
            Some((id, one_line(&title)))
        })
        .collect()
}

/// The first part of an id, which every command accepts.
fn fit_id(id: &str) -> String {
    id.chars().take(8).collect()
}

/// A number of messages, and what is odd about them. `what` begins with `has` or another verb.
pub(super) fn oddity(number: u64, what: &str) -> String {
    let (verb, rest) = what.split_once(' ').unwrap_or((what, ""));
    let verb = match (number, verb) {
        (1, verb) => verb,
        (_, "has") => "have",
        (_, "was") => "were",
        (_, "is") => "are",
        (_, "comes") => "come",
        (_, verb) => verb,
    };
    format!("{} {verb} {rest}", plural(number, "message"))
}

fn table(
    report: &Report,
    dimensions: &[Dimension],
    helpers: Option<&Helpers>,
    titles: &HashMap<String, String>,
    output: &mut Output,
) -> Result<(), CommandError> {
    if report.rows.len() > 30 {
        output.page();
    }
    let keys = dimensions.iter().flat_map(|dimension| match dimension {
        Dimension::Session => vec![Column::Left, Column::Flexible],
        Dimension::Project => vec![Column::Path],
        _ => vec![Column::Left],
    });
    // Where there is little room, the bars go first, then what the cache was given.
    let numbers = [
        Column::OptionalRight,
        Column::DetailRight,
        Column::DetailRight,
        Column::OptionalRight,
        Column::OptionalRight,
        Column::Right,
        Column::Optional,
    ];
    let columns: Vec<Column> = keys.chain(numbers).collect();
    let mut table = Table::new(&columns);
    let heads = ["messages", "input", "output", "cache write", "cache read", "cost", ""];
    let names = dimensions.iter().flat_map(|dimension| {
        let title = (*dimension == Dimension::Session).then(|| "title".to_owned());
        [dimension.name().to_owned()].into_iter().chain(title)
    });
    table.cells(names.chain(heads.map(str::to_owned)).collect());
    let most = report.rows.iter().map(|row| size(&row.total)).max().unwrap_or(0);
    for row in &report.rows {
        let keys = row.keys.iter().zip(dimensions).flat_map(|(key, dimension)| {
            let is_session = *dimension == Dimension::Session;
            let title = is_session.then(|| titles.get(key).cloned().unwrap_or_default());
            let id = is_session && output.width.is_some();
            let key = match dimension {
                Dimension::Session if id => fit_id(key),
                Dimension::Model if output.width.is_some() => short_model(key).to_owned(),
                _ => key.clone(),
            };
            [one_line(&key)].into_iter().chain(title)
        });
        let keys = keys.collect();
        let bar = if output.is_terminal { bar(size(&row.total), most, BAR) } else { String::new() };
        table.cells(cells(keys, &row.total, bar));
    }
    let mut keys = vec![String::new(); columns.len() - 7];
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
        let line = output.paint(look, cells.join(output.gap()).trim_end());
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
    keys.into_iter().chain(numbers).chain([cost_text(total), bar]).collect()
}

fn open_block(report: &Report, output: &mut Output) -> Result<(), CommandError> {
    let open = report.rows.iter().find_map(|row| Some((row.block?, row.projection?)));
    let Some((_, open)) = open else { return Ok(()) };
    let cost = |amount: Option<recto_session::usage::Money>| {
        amount.map_or_else(|| "unknown cost".to_owned(), money)
    };
    output.line("")?;
    output.line(&format!(
        "The window is open for another {}: {} tokens per minute, {} per hour; at this rate {} tokens and {} at its end.",
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
        "Of {} with Claude Code's own count, {} agree with it.",
        plural(helpers.sessions, "session"),
        count(helpers.agreeing)
    );
    if helpers.tokens.all() > 0 {
        let tokens = plural(helpers.tokens.all(), "token");
        text += &format!(
            " Only Claude Code counted {tokens}: by helpers, such as the title writer, and by failed attempts."
        );
    }
    if helpers.uncounted > 0 {
        let tokens = plural(helpers.uncounted, "token");
        text += &format!(
            " Claude Code did not count {tokens}: in answers that were cut off or came after its last count."
        );
    }
    output.line("")?;
    output.line(&text)
}
