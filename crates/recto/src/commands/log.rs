//! `recto log`: what recto changed, and how to forget it.

use clap::Args;
use clap::Subcommand;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_store::Home;
use recto_store::publish::Operation;
use recto_store::publish::Prune;
use recto_store::publish::newest_operations;
use recto_view::OperationRow;

use crate::edit::journal;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::filter::most;
use crate::select::filter::parse_size;
use crate::select::filter::read_time;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::bytes;
use crate::terminal::text::clock;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// List recto's changes in this home, newest first
///
/// With each operation: its session, and the session's title at that time. Undo an operation
/// by its number. Backups are kept until `recto log prune` removes them.
///
/// Examples:
///   recto log
///   recto log --limit 5 --json
///   recto log prune --older-than 30d
#[derive(Debug, Args)]
#[command(verbatim_doc_comment, args_conflicts_with_subcommands = true)]
pub(crate) struct LogArgs {
    #[command(subcommand)]
    command: Option<LogCommand>,
    /// Limit the number of operations (0 = no limit)
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,
}

#[derive(Debug, Subcommand)]
enum LogCommand {
    Prune(PruneArgs),
}

/// Remove old operations of all homes, with their backups
///
/// What is forgotten can no longer be undone.
///
/// Examples:
///   recto log prune --older-than 30d
///   recto log prune --larger-than 1GB
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
struct PruneArgs {
    /// Forget what was done before then: a date, a time, or a span such as 30d
    #[arg(long, value_name = "WHEN", required_unless_present = "larger_than")]
    older_than: Option<String>,
    /// Forget the oldest until the backups take no more than this, such as 1GB
    #[arg(long, value_name = "SIZE", conflicts_with = "older_than")]
    larger_than: Option<String>,
}

pub(crate) fn cmd_log(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &LogArgs,
) -> Result<Outcome, CommandError> {
    if let Some(LogCommand::Prune(args)) = &args.command {
        return prune(home, environment, output, args);
    }
    let list = newest_operations(&environment.data_directory()?, home)?;
    for (_, reason) in &list.unreadable {
        output.remark(&format!("skipped: {reason}"));
    }
    let mut operations = list.operations;
    operations.truncate(most(args.limit));
    if output.json {
        let rows: Vec<OperationRow> = operations.iter().map(OperationRow::from).collect();
        output.rows(&rows)?;
    } else {
        write_table(&operations, output)?;
    }
    Ok(if operations.is_empty() { Outcome::Found } else { Outcome::Done })
}

fn write_table(operations: &[Operation], output: &mut Output) -> Result<(), CommandError> {
    if operations.is_empty() {
        output.remark("no operations recorded for this home");
        return Ok(());
    }
    let mut table = Table::new(&[
        Column::Right,
        Column::Detail,
        Column::Detail,
        Column::Left,
        Column::Flexible,
        Column::Flexible,
    ]);
    for operation in operations {
        let status =
            if operation.is_unfinished() { "interrupted" } else { operation.status.name() };
        table.row([
            operation.id.to_string(),
            clock(operation.time),
            status.to_owned(),
            session(operation),
            operation.title.as_deref().map(one_line).unwrap_or_default(),
            journal::command_line(operation),
        ]);
    }
    for (cells, operation) in table.layout(output.width).into_iter().zip(operations) {
        let look = if operation.is_unfinished() { Look::Warning } else { Look::Plain };
        output.line(output.paint(look, cells.join(output.gap()).trim_end()).as_str())?;
    }
    Ok(())
}

/// The session that an operation made or changed, or how many it changed.
fn session(operation: &Operation) -> String {
    let sessions = operation.sessions();
    let one = operation.result.or(operation.source).or(match sessions.len() {
        1 => sessions.first().copied(),
        _ => None,
    });
    match (one, sessions.len()) {
        (Some(one), _) => one.to_string().chars().take(8).collect(),
        (None, 0) => String::new(),
        (None, several) => plural(several as u64, "session"),
    }
}

fn prune(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &PruneArgs,
) -> Result<Outcome, CommandError> {
    let prune = match (&args.older_than, &args.larger_than) {
        (Some(text), _) => Prune::Before(read_time("--older-than", text, environment.now())?),
        (None, Some(text)) => Prune::ToBytes(parse_size(text).ok_or_else(|| {
            let message = format!("invalid value `{text}` for --larger-than");
            CommandError::user("bad-size", message).with_hint("use a size such as 500MB or 1GB")
        })?),
        // Clap asks for one of them.
        (None, None) => return Ok(Outcome::Done),
    };
    let mut journal = journal::open_journal(home, environment, output)?;
    let pruned = journal.prune(prune)?;
    if output.json {
        let mut operations = ArrayWriter::new();
        for id in &pruned.operations {
            operations = operations.json(id.to_string().as_bytes());
        }
        let object = ObjectWriter::new()
            .json("operations", &operations.finish())
            .number("remaining", pruned.remaining)
            .number("freed", pruned.freed)
            .number("left", pruned.left);
        output.json_line(object)?;
    } else {
        output.line(&format!(
            "removed {} and {} of backups; {} of backups left",
            plural(pruned.operations.len() as u64, "operation"),
            bytes(pruned.freed),
            bytes(pruned.left)
        ))?;
    }
    Ok(Outcome::Done)
}
