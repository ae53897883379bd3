//! `recto redo`: do again what was undone.

use clap::Args;
use recto_store::Home;
use recto_store::publish::Changed;
use recto_store::publish::Direction;
use recto_store::publish::OperationId;

use crate::commands::undo::Order;
use crate::commands::undo::reverse;
use crate::commands::undo_files::redo_files;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;

/// Redo an undone operation
///
/// Examples:
///   recto redo
///   recto redo 3 --dry-run
///   recto redo --files latest
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct RedoArgs {
    /// The operation, by its number in `recto log` [default: the one undone last]
    #[arg(value_name = "OPERATION")]
    operation: Option<OperationId>,
    /// Revert what `recto undo --files` or a rewind did to files
    #[arg(long, value_name = "SESSION", num_args = 0..=1, default_missing_value = "latest", conflicts_with_all = ["operation", "dry_run"])]
    files: Option<String>,
    /// Show what would change, without changing anything
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn cmd_redo(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &RedoArgs,
) -> Result<Outcome, CommandError> {
    if let Some(session) = &args.files {
        return redo_files(home, environment, output, session);
    }
    let order = Order {
        which: args.operation,
        direction: Direction::Redo,
        changed: Changed::Refuse,
        is_dry: args.dry_run,
    };
    reverse(home, environment, output, &order)
}
