//! `recto files`: files that a session read and changed.

use std::collections::BTreeMap;

use clap::Args;
use recto_log::json::ObjectWriter;
use recto_session::FileAction;
use recto_session::FileTouch;
use recto_store::Home;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::output::Look;
use crate::output::Output;
use crate::reading::Reading;
use crate::text::Column;
use crate::text::Table;
use crate::text::count;
use crate::text::one_line;
use crate::text::path_from_home;

/// List the files that a session read and changed
///
/// Taken from the structured results of the file tools, so a change made by a
/// shell command is not seen. Lines added and removed are counted from the
/// patches in the log.
///
/// Examples:
///   recto files latest
///   recto files latest --changed --json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct FilesArgs {
    /// The session
    #[arg(default_value = "latest")]
    session: String,
    /// Only files that were changed
    #[arg(long)]
    changed: bool,
}

/// All uses of one file.
#[derive(Default)]
struct Sum {
    reads: u64,
    edits: u64,
    is_new: bool,
    added: u64,
    removed: u64,
    turns: Vec<u32>,
}

impl Sum {
    fn add(&mut self, touch: &FileTouch, turn: u32) {
        match touch.action {
            FileAction::Read => self.reads += 1,
            FileAction::Created => {
                self.is_new = true;
                self.edits += 1;
            }
            FileAction::Written | FileAction::Edited => self.edits += 1,
        }
        self.added += touch.added;
        self.removed += touch.removed;
        if self.turns.last() != Some(&turn) {
            self.turns.push(turn);
        }
    }

    fn action(&self) -> &'static str {
        match (self.is_new, self.edits) {
            (true, _) => "created",
            (false, 0) => "read",
            (false, _) => "changed",
        }
    }
}

pub(crate) fn cmd_files(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &FilesArgs,
) -> Result<Outcome, CommandError> {
    let reading = Reading::open(home, environment, &args.session)?;
    let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
    for touch in &reading.session().facts().files {
        let sum = sums.entry(reading.session().name(touch.path)).or_default();
        sum.add(touch, reading.turn_number(touch.node));
    }
    let mut rows: Vec<(&str, Sum)> =
        sums.into_iter().filter(|(_, sum)| !args.changed || sum.edits > 0).collect();
    rows.sort_by(|a, b| {
        let changed = |sum: &Sum| sum.added + sum.removed;
        b.1.edits
            .min(1)
            .cmp(&a.1.edits.min(1))
            .then(changed(&b.1).cmp(&changed(&a.1)))
            .then(a.0.cmp(b.0))
    });
    if output.json {
        for (path, sum) in &rows {
            let turns: Vec<String> = sum.turns.iter().map(u32::to_string).collect();
            output.json_line(
                ObjectWriter::new()
                    .string("path", path)
                    .string("action", sum.action())
                    .number("reads", sum.reads)
                    .number("edits", sum.edits)
                    .number("lines_added", sum.added)
                    .number("lines_removed", sum.removed)
                    .json("turns", format!("[{}]", turns.join(",")).as_bytes()),
            )?;
        }
    } else {
        write_table(&rows, environment, output)?;
    }
    Ok(if rows.is_empty() { Outcome::Found } else { Outcome::Done })
}

fn write_table(
    rows: &[(&str, Sum)],
    environment: &Environment,
    output: &mut Output,
) -> Result<(), CommandError> {
    if rows.len() > 30 {
        output.page();
    }
    let mut table = Table::new(&[
        Column::Left,
        Column::Right,
        Column::Right,
        Column::Flexible,
        Column::Flexible,
    ]);
    for (path, sum) in rows {
        let lines = |sign: &str, number: u64| {
            if number == 0 { String::new() } else { format!("{sign}{}", count(number)) }
        };
        let turns: Vec<String> = sum.turns.iter().take(8).map(u32::to_string).collect();
        let more = if sum.turns.len() > 8 { ", …" } else { "" };
        table.row([
            sum.action().to_owned(),
            lines("+", sum.added),
            lines("-", sum.removed),
            one_line(&path_from_home(path, environment.user_home.as_deref())),
            format!("turn {}{more}", turns.join(", ")),
        ]);
    }
    for ((_, sum), cells) in rows.iter().zip(table.layout(output.width)) {
        let look = if sum.edits > 0 { Look::Plain } else { Look::Faint };
        output.line(&output.paint(look, cells.join("  ").trim_end()))?;
    }
    Ok(())
}
