//! `recto files PATH`: which sessions used a file.

use recto_session::usage::PriceTable;
use recto_store::Choice;
use recto_store::Home;
use recto_store::Inventory;
use recto_store::Selector;
use recto_view::FileHistory;
use recto_view::FileUseRow;

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
use crate::terminal::text::count;
use crate::terminal::text::one_line;
use crate::terminal::text::path_from_home;

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
    // A log that was written on Windows names its files with the other one.
    let has_separator = text.contains(['/', '\\']);
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
    let wanted = file_path::anywhere(text, environment.working_directory.as_deref());
    target::tell_skipped(inventory, output);
    let progress = Progress::new("reading", output);
    let library = environment.library(home, PriceTable::default());
    let FileHistory { mut uses, skipped } =
        library.file_history(&wanted, &|done, all| progress.tell(done, all));
    progress.done();
    skipped.iter().for_each(|why| output.remark(&format!("skipped: {why}")));
    uses.retain(|one| !only_changes || one.is_change());
    if output.json {
        output.rows(&uses)?;
    } else if uses.is_empty() {
        output.remark("no session used this file");
    } else {
        write_table(&uses, environment, output)?;
    }
    Ok(if uses.is_empty() { Outcome::Found } else { Outcome::Done })
}

fn write_table(
    uses: &[FileUseRow],
    environment: &Environment,
    output: &mut Output,
) -> Result<(), CommandError> {
    if uses.len() > 30 {
        output.page();
    }
    let mut table = Table::new(&[
        Column::Detail,
        Column::Left,
        Column::Detail,
        Column::Detail,
        Column::DetailRight,
        Column::DetailRight,
        Column::Path,
        Column::Flexible,
    ]);
    for one in uses {
        let lines = |sign: &str, number: u64| {
            if number == 0 { String::new() } else { format!("{sign}{}", count(number)) }
        };
        table.row([
            one.place.time.map(|time| clock(time.0)).unwrap_or_default(),
            one.place.name.as_deref().map(one_line).unwrap_or_default(),
            format!("turn {}", one.place.turn),
            one.action.to_owned(),
            lines("+", one.lines_added),
            lines("-", one.lines_removed),
            one_line(&path_from_home(&one.path, environment.user_home.as_deref())),
            one_line(&one.prompt),
        ]);
    }
    for (one, cells) in uses.iter().zip(table.layout(output.width)) {
        let look = if one.is_change() { Look::Plain } else { Look::Faint };
        output.line(&output.paint(look, cells.join(output.gap()).trim_end()))?;
    }
    Ok(())
}
