//! `recto undo`: take an operation back. Shared with `recto redo`.

use clap::Args;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_store::Home;
use recto_store::publish::Change;
use recto_store::publish::Changed;
use recto_store::publish::Direction;
use recto_store::publish::OperationId;
use recto_store::publish::Reversal;

use crate::commands::undo_files::undo_files;
use crate::edit::journal;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;
use crate::terminal::text::one_line;

/// Undo an operation (default: the last)
///
/// Restores every file byte for byte, with its time. If another program has changed a file
/// since (you resumed the session, for example), recto does nothing; --force backs up the
/// current version and undoes the operation anyway.
///
/// With --files, undoes what the last turn of a session did to files, from the snapshots
/// in Claude Code's file history, whichever program wrote the log. Only files inside the session's
/// directory change; `recto redo --files` brings them back.
///
/// Examples:
///   recto undo
///   recto undo --dry-run
///   recto undo --files latest
///   recto undo 3
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct UndoArgs {
    /// The operation, by its number in `recto log` [default: the last one]
    #[arg(value_name = "OPERATION")]
    operation: Option<OperationId>,
    /// Set back the files of a session's last turn [default: the latest session]
    #[arg(long, value_name = "SESSION", num_args = 0..=1, default_missing_value = "latest", conflicts_with = "operation")]
    files: Option<String>,
    /// Undo even if files have changed since, and back up their current versions
    #[arg(long)]
    force: bool,
    /// Show what would change, without changing anything
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn cmd_undo(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &UndoArgs,
) -> Result<Outcome, CommandError> {
    if let Some(session) = &args.files {
        return undo_files(home, environment, output, session, args.dry_run);
    }
    let order = Order {
        which: args.operation,
        direction: Direction::Undo,
        changed: if args.force { Changed::Keep } else { Changed::Refuse },
        is_dry: args.dry_run,
    };
    reverse(home, environment, output, &order)
}

/// What to take back or do again.
pub(crate) struct Order {
    pub(crate) which: Option<OperationId>,
    pub(crate) direction: Direction,
    pub(crate) changed: Changed,
    pub(crate) is_dry: bool,
}

/// Undoes or redoes, and says so.
pub(crate) fn reverse(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    order: &Order,
) -> Result<Outcome, CommandError> {
    let mut journal = journal::open_journal(home, environment, output)?;
    let (operation, mut differing) = journal.look(home, order.which, order.direction)?;
    if order.changed == Changed::Refuse && !differing.is_empty() {
        return Err(recto_store::StoreError::from(differing.swap_remove(0)).into());
    }
    let reversal = if order.is_dry {
        Reversal { operation, kept: Vec::new() }
    } else {
        let which = Some(operation.id);
        match order.direction {
            Direction::Undo => journal.undo(home, which, order.changed)?,
            Direction::Redo => journal.redo(home, which)?,
        }
    };
    let operation = &reversal.operation;
    // As they are done now.
    let turn = |change: &Change| match order.direction {
        Direction::Undo => Change {
            path: change.path.clone(),
            before: change.after.clone(),
            after: change.before.clone(),
        },
        Direction::Redo => change.clone(),
    };
    let mut changes: Vec<Change> = operation.changes.iter().map(turn).collect();
    if order.direction == Direction::Undo {
        changes.reverse();
    }
    if output.json {
        let mut kept = ArrayWriter::new();
        for (path, backup) in &reversal.kept {
            let object = ObjectWriter::new()
                .string("path", &path.to_string_lossy())
                .string("backup", &backup.to_string_lossy());
            kept = kept.json(&object.finish());
        }
        let object = ObjectWriter::new()
            .number("operation", operation.id.number())
            .string("name", &operation.name)
            .string("status", operation.status.name())
            .boolean("dry_run", order.is_dry)
            .json("changes", &journal::changes_json(&changes)?)
            .json("kept", &kept.finish());
        output.json_line(object)?;
        return Ok(Outcome::Done);
    }
    let verb = match (order.direction, order.is_dry) {
        (Direction::Undo, false) => "undid",
        (Direction::Undo, true) => "would undo",
        (Direction::Redo, false) => "redid",
        (Direction::Redo, true) => "would redo",
    };
    let line = journal::command_line(operation);
    output.line(&format!("{verb} operation {}: {line}", operation.id))?;
    journal::write_changes(home, &changes, output)?;
    for (path, backup) in &reversal.kept {
        let path = one_line(&home.relative(path).to_string_lossy());
        let backup = one_line(&backup.to_string_lossy());
        output.line(&format!("{path} had changed since; backed up that version in {backup}"))?;
    }
    Ok(Outcome::Done)
}
