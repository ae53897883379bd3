//! `recto files PATH`: which sessions used a file.

use std::collections::BTreeSet;

use recto_log::json::ObjectWriter;
use recto_session::FileAction;
use recto_store::Choice;
use recto_store::Home;
use recto_store::Inventory;
use recto_store::Selector;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::file_path;
use crate::select::file_path::WantedFile;
use crate::select::target;
use crate::sweep::Place;
use crate::sweep::Swept;
use crate::sweep::sweep;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::clock;
use crate::terminal::text::count;
use crate::terminal::text::one_line;
use crate::terminal::text::path_from_home;

/// What one turn did to one file.
struct Use {
    path: String,
    actions: BTreeSet<FileAction>,
    added: u64,
    removed: u64,
    prompt: String,
}

impl Use {
    fn is_change(&self) -> bool {
        self.actions.iter().any(|action| *action != FileAction::Read)
    }

    /// What was done; reading is not told where it led to a change.
    fn action(&self) -> &'static str {
        let order = [FileAction::Created, FileAction::Written, FileAction::Edited];
        let strongest = order.into_iter().find(|action| self.actions.contains(action));
        strongest.unwrap_or(FileAction::Read).name()
    }
}

/// Whether the user means a file and not a session.
pub(crate) fn is_path(
    home: &Home,
    inventory: &Inventory,
    environment: &Environment,
    text: &str,
) -> bool {
    if ["latest", "current", "-"].contains(&text) {
        return false;
    }
    let path = environment.working_directory.as_ref().map(|base| base.join(text));
    let is_file = path.is_some_and(|path| file_path::is_file(&path));
    let has_separator = text.contains(std::path::is_separator);
    // The path of a log means the log.
    if !(has_separator || is_file) || (is_file && text.ends_with(".jsonl")) {
        return false;
    }
    matches!(home.choose(inventory, &Selector::parse(text)), Choice::File(_) | Choice::NotFound(_))
}

pub(crate) fn list_uses(
    home: &Home,
    inventory: &Inventory,
    environment: &Environment,
    output: &mut Output,
    (text, only_changes): (&str, bool),
) -> Result<Outcome, CommandError> {
    let wanted = WantedFile::anywhere(text, environment.working_directory.as_deref());
    target::tell_skipped(inventory, output);
    let logs = home.logs_with(inventory, wanted.word());
    let mut uses = by_turn(sweep(&logs, output, |swept| uses_in(swept, &wanted)));
    uses.retain(|(_, one)| !only_changes || one.is_change());
    uses.reverse();
    if output.json {
        for (place, one) in &uses {
            output.json_line(json(place, one))?;
        }
    } else if uses.is_empty() {
        output.remark("no session used this file");
    } else {
        write_table(&uses, environment, output)?;
    }
    Ok(if uses.is_empty() { Outcome::Found } else { Outcome::Done })
}

fn uses_in(swept: &Swept<'_>, wanted: &WantedFile) -> Vec<(Place, Use)> {
    let session = swept.session();
    let touches = session.facts().files.iter();
    let touches = touches.filter(|touch| wanted.fits(session.name(touch.path)));
    touches
        .map(|touch| {
            let one = Use {
                path: session.name(touch.path).to_owned(),
                actions: BTreeSet::from([touch.action]),
                added: touch.added,
                removed: touch.removed,
                prompt: swept.prompt(touch.node),
            };
            (swept.place(touch.node), one)
        })
        .collect()
}

/// Puts uses of the same file in the same turn together; the last one says when.
fn by_turn(uses: Vec<(Place, Use)>) -> Vec<(Place, Use)> {
    let mut together: Vec<(Place, Use)> = Vec::new();
    for (place, one) in uses {
        let is_same = |(other, known): &&mut (Place, Use)| {
            other.turn == place.turn && other.log.path == place.log.path && known.path == one.path
        };
        // Turns of two sessions can be woven into each other, but not many.
        match together.iter_mut().rev().take(64).find(is_same) {
            Some((known_place, known)) => {
                known_place.time = place.time;
                known.actions.extend(one.actions);
                known.added += one.added;
                known.removed += one.removed;
            }
            None => together.push((place, one)),
        }
    }
    together.sort_by_key(|(place, _)| place.time);
    together
}

fn json(place: &Place, one: &Use) -> ObjectWriter {
    ObjectWriter::new()
        .string_or_null("session", place.session().as_deref())
        .string_or_null("agent", place.agent())
        .number("turn", u64::from(place.turn))
        .string_or_null("time", place.rfc3339().as_deref())
        .string("path", &one.path)
        .string("action", one.action())
        .number("lines_added", one.added)
        .number("lines_removed", one.removed)
        .string("prompt", &one.prompt)
}

fn write_table(
    uses: &[(Place, Use)],
    environment: &Environment,
    output: &mut Output,
) -> Result<(), CommandError> {
    if uses.len() > 30 {
        output.page();
    }
    let mut table = Table::new(&[
        Column::Left,
        Column::Left,
        Column::Left,
        Column::Left,
        Column::Right,
        Column::Right,
        Column::Flexible,
        Column::Flexible,
    ]);
    for (place, one) in uses {
        let lines = |sign: &str, number: u64| {
            if number == 0 { String::new() } else { format!("{sign}{}", count(number)) }
        };
        table.row([
            place.time.map(clock).unwrap_or_default(),
            one_line(&place.short_name()),
            format!("turn {}", place.turn),
            one.action().to_owned(),
            lines("+", one.added),
            lines("-", one.removed),
            one_line(&path_from_home(&one.path, environment.user_home.as_deref())),
            one_line(&one.prompt),
        ]);
    }
    for ((_, one), cells) in uses.iter().zip(table.layout(output.width)) {
        let look = if one.is_change() { Look::Plain } else { Look::Faint };
        output.line(&output.paint(look, cells.join("  ").trim_end()))?;
    }
    Ok(())
}
