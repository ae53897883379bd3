//! `recto files`: files that a session read and changed. See `file_uses` for
//! the sessions that used one file.

use clap::Args;
use recto_store::Home;
use recto_view::FileRow;

use crate::commands::file_uses;
use crate::commands::undo_files::show_diff;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::reading::Reading;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::count;
use crate::terminal::text::one_line;
use crate::terminal::text::path_from_home;

/// List a session's files, or a file's sessions
///
/// With SESSION: its files. With PATH: every session and turn that read or changed this file,
/// newest first. A relative path such as `src/main.rs` matches every file whose path ends with
/// it; `./` before it means this one only.
///
/// Uses the structured results of the file tools, so it misses changes made by shell commands.
/// Counts lines added and removed from the patches in the log.
///
/// With --diff: what the session did to the tree, as a diff between the file snapshots in
/// Claude Code's file history and the files now, whichever program wrote the log.
///
/// Examples:
///   recto files latest
///   recto files latest --diff
///   recto files latest --changed --json
///   recto files src/main.rs
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct FilesArgs {
    /// The session, or a file
    #[arg(default_value = "latest", value_name = "SESSION|PATH")]
    session: String,
    /// Only files that were changed; only turns that changed the file
    #[arg(long)]
    changed: bool,
    /// Show what the session did to files, as a diff
    #[arg(long, conflicts_with = "changed")]
    diff: bool,
}

pub(crate) fn cmd_files(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &FilesArgs,
) -> Result<Outcome, CommandError> {
    if args.diff {
        return show_diff(home, environment, output, &args.session);
    }
    let inventory = home.inventory();
    if file_uses::is_path(home, &inventory, environment, &args.session) {
        let question = (args.session.as_str(), args.changed);
        return file_uses::list_uses(home, &inventory, environment, output, question);
    }
    let reading = Reading::open(home, environment, &args.session).map_err(|error| {
        let is_name = error.kind() == "not-found" && args.session.contains('.');
        let hint =
            "for a file that does not exist here, give more of its path, such as `src/main.rs`";
        if is_name { error.with_hint(hint) } else { error }
    })?;
    let mut rows = recto_view::files(&reading);
    rows.retain(|file| !args.changed || file.edits > 0);
    if output.json {
        output.rows(&rows)?;
    } else {
        write_table(&rows, environment, output)?;
    }
    Ok(if rows.is_empty() { Outcome::Found } else { Outcome::Done })
}

fn write_table(
    rows: &[FileRow],
    environment: &Environment,
    output: &mut Output,
) -> Result<(), CommandError> {
    if rows.len() > 30 {
        output.page();
    }
    let mut table =
        Table::new(&[Column::Left, Column::Right, Column::Right, Column::Path, Column::Spare]);
    for file in rows {
        let lines = |sign: &str, number: u64| {
            if number == 0 { String::new() } else { format!("{sign}{}", count(number)) }
        };
        let more = if file.turns.len() > 8 { ", …" } else { "" };
        let turns: Vec<String> = file.turns.iter().take(8).map(u32::to_string).collect();
        table.row([
            file.action.to_owned(),
            lines("+", file.lines_added),
            lines("-", file.lines_removed),
            one_line(&path_from_home(&file.path, environment.user_home.as_deref())),
            format!("turn {}{more}", turns.join(", ")),
        ]);
    }
    for (file, cells) in rows.iter().zip(table.layout(output.width)) {
        let look = if file.edits > 0 { Look::Plain } else { Look::Faint };
        output.line(&output.paint(look, cells.join(output.gap()).trim_end()))?;
    }
    Ok(())
}
