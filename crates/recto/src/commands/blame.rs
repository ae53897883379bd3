//! `recto blame`: which session and turn wrote the lines of a file.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::Args;
use recto_session::Blame;
use recto_session::FileAction;
use recto_session::FileChange;
use recto_store::Home;
use recto_store::read_chosen;
use recto_view::Moment;
use recto_view::Place;
use recto_view::Reading;
use recto_view::Sweep;
use recto_view::WantedFile;
use recto_view::sweep;
use serde::Serialize;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::file_path;
use crate::select::target;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::output::Progress;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::clock;
use crate::terminal::text::fit;
use crate::terminal::text::one_line;
use crate::terminal::text::safe;

/// Show which session wrote each line
///
/// For the current content of a file, with session and turn. recto tracks what the file tools
/// of all sessions and subagents wrote, through later edits; a line from elsewhere (an editor,
/// a shell command, a deleted log) is `unknown`. A subagent's turn is a turn in its log.
///
/// Examples:
///   recto blame src/main.rs
///   recto blame src/main.rs:120
///   recto blame src/main.rs:120-140 --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct BlameArgs {
    /// The file, and optionally the lines
    #[arg(value_name = "PATH[:LINE[-LINE]]")]
    path: String,
}

pub(crate) fn cmd_blame(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &BlameArgs,
) -> Result<Outcome, CommandError> {
    let (name, range) = split(&args.path, environment);
    let path = absolute(name, environment);
    file_path::require(&path)
        .map_err(|error| error.with_hint("`recto files PATH` also finds deleted files"))?;
    let bytes = read_chosen(&path)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    let range = check_range(range, lines.len())?;
    let wanted = file_path::exact(name, environment.working_directory.as_deref());
    let inventory = home.inventory();
    target::tell_skipped(&inventory, output);
    let logs = home.logs_with(&inventory, wanted.word());
    let progress = Progress::new("reading", output);
    let Sweep { answers: changes, skipped } =
        sweep(&logs, &|done, all| progress.tell(done, all), |log| changes_in(log, &wanted));
    progress.done();
    skipped.iter().for_each(|why| output.remark(&format!("skipped: {why}")));
    let mut blame = Blame::default();
    for (number, (_, change)) in changes.iter().enumerate() {
        blame.apply(number, change);
    }
    let writers = blame.writers(&text);
    let rows: Vec<Row<'_>> = range
        .map(|number| {
            let writer = writers.get(number - 1).copied().flatten();
            let place = writer.and_then(|writer| changes.get(writer)).map(|(place, _)| place);
            Row::new(number, lines[number - 1], place)
        })
        .collect();
    if output.json {
        output.rows(&rows)?;
    } else {
        write_table(&rows, output)?;
        if changes.is_empty() {
            output.remark("no session wrote this file");
        }
    }
    let is_known = rows.iter().any(|row| row.place.is_some());
    Ok(if is_known { Outcome::Done } else { Outcome::Found })
}

/// A line of the file.
#[derive(Serialize)]
struct Row<'a> {
    line: usize,
    session: Option<&'a str>,
    agent: Option<&'a str>,
    turn: Option<u32>,
    time: Option<Moment>,
    text: &'a str,
    #[serde(skip)]
    place: Option<&'a Place>,
}

impl<'a> Row<'a> {
    fn new(line: usize, text: &'a str, place: Option<&'a Place>) -> Row<'a> {
        Row {
            line,
            session: place.and_then(|place| place.session.as_deref()),
            agent: place.and_then(|place| place.agent.as_deref()),
            turn: place.map(|place| place.turn),
            time: place.and_then(|place| place.time),
            text,
            place,
        }
    }
}

fn absolute(name: &str, environment: &Environment) -> PathBuf {
    environment.working_directory.as_ref().map_or_else(|| name.into(), |base| base.join(name))
}

/// The path and the lines. A file whose name ends like a number of lines is
/// meant as it is.
fn split<'a>(text: &'a str, environment: &Environment) -> (&'a str, Option<RangeInclusive<usize>>) {
    let Some((name, lines)) = text.rsplit_once(':') else { return (text, None) };
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    match (first.parse(), last.parse()) {
        (Ok(first), Ok(last)) if !file_path::exists(&absolute(text, environment)) => {
            (name, Some(first..=last))
        }
        _ => (text, None),
    }
}

fn check_range(
    range: Option<RangeInclusive<usize>>,
    length: usize,
) -> Result<RangeInclusive<usize>, CommandError> {
    let Some(range) = range else { return Ok(1..=length) };
    let (first, last) = (*range.start(), *range.end());
    if first == 0 || first > last || first > length {
        let message = format!("the file has no lines {first} to {last}");
        return Err(CommandError::user("bad-lines", message)
            .with_hint(format!("lines are counted from 1; the file has {length}")));
    }
    Ok(first..=last.min(length))
}

fn changes_in(log: &Reading, wanted: &WantedFile) -> Vec<(Place, FileChange)> {
    let session = log.session();
    let touches = session.facts().files.iter().filter(|touch| touch.action != FileAction::Read);
    touches
        .filter(|touch| wanted.fits(session.name(touch.path)))
        .filter_map(|touch| {
            let change = log.loaded.with_entry(touch.node, FileChange::of).flatten()?;
            Some((log.place(touch.node), change))
        })
        .collect()
}

fn write_table(rows: &[Row<'_>], output: &mut Output) -> Result<(), CommandError> {
    if rows.len() > 30 {
        output.page();
    }
    let mut table = Table::new(&[Column::Left, Column::Left, Column::Left, Column::Right]);
    for row in rows {
        let place = row.place;
        table.row([
            place.map_or("unknown".to_owned(), |place| {
                one_line(place.name.as_deref().unwrap_or_default())
            }),
            place.map(|place| format!("turn {}", place.turn)).unwrap_or_default(),
            row.time.map(|time| clock(time.0)).unwrap_or_default(),
            row.line.to_string(),
        ]);
    }
    // The text is no column: a file has wide lines, and its tabs count.
    for (row, cells) in rows.iter().zip(table.aligned(None)) {
        // Columns that are empty in all rows are not there.
        let (number, start) = cells.split_last().map_or(("", &[][..]), |(last, rest)| (last, rest));
        let start = start.join(" ");
        let text = one_line_of_file(row.text);
        let width = output.width.map_or(usize::MAX, |width| {
            width.saturating_sub(start.chars().count() + number.chars().count() + 6).max(10)
        });
        let look = if row.place.is_some() { Look::Plain } else { Look::Faint };
        let start = output.paint(look, &start);
        output.line(format!("{start} | {number} | {}", fit(&text, width)).trim_end())?;
    }
    Ok(())
}

/// A line of a file, made safe, with the space at its start.
fn one_line_of_file(text: &str) -> String {
    safe(&text.replace('\t', "    ")).replace(['\n', '\r'], " ")
}
