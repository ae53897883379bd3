//! `recto todos`: the list of things to do.

use clap::Args;
use recto_store::Home;
use recto_view::TodoChangeRow;
use recto_view::TodoRow;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::reading::Reading;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::clock;
use crate::terminal::text::one_line;

/// List a session's to-dos
///
/// The final list, from `TodoWrite` and the task tools; failed calls are skipped. With
/// --history, every change with its turn and time.
///
/// Examples:
///   recto todos latest
///   recto todos 3f2a1b4c --history
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct TodosArgs {
    /// The session
    #[arg(default_value = "latest")]
    session: String,
    /// Show each change of the list
    #[arg(long)]
    history: bool,
}

pub(crate) fn cmd_todos(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &TodosArgs,
) -> Result<Outcome, CommandError> {
    let reading = Reading::open(home, environment, &args.session)?;
    let (list, changes) = recto_view::todos(&reading);
    let is_empty = if args.history { changes.is_empty() } else { list.is_empty() };
    match (output.json, args.history) {
        (true, true) => output.rows(&changes)?,
        (true, false) => output.rows(&list)?,
        (false, _) if is_empty => output.remark("no to-dos in this session"),
        (false, true) => write_changes(&changes, output)?,
        (false, false) => write_list(&list, output)?,
    }
    Ok(if is_empty { Outcome::Found } else { Outcome::Done })
}

/// What is to be done, with the number of a task.
fn about(todo: &TodoRow) -> String {
    let id = todo.id.as_deref().map(|id| format!("#{id} ")).unwrap_or_default();
    one_line(&format!("{id}{}", todo.text))
}

fn look(status: &str) -> Look {
    match status {
        "completed" => Look::Faint,
        "in_progress" => Look::Strong,
        _ => Look::Plain,
    }
}

/// A status in words.
fn words(status: &str) -> String {
    one_line(&status.replace('_', " "))
}

fn write_list(todos: &[TodoRow], output: &mut Output) -> Result<(), CommandError> {
    if todos.len() > 30 {
        output.page();
    }
    let mut table = Table::new(&[Column::Left, Column::Flexible]);
    for todo in todos {
        table.row([words(&todo.status), about(todo)]);
    }
    for (todo, cells) in todos.iter().zip(table.layout(output.width)) {
        output.line(&output.paint(look(&todo.status), cells.join(output.gap()).trim_end()))?;
    }
    Ok(())
}

fn write_changes(changes: &[TodoChangeRow], output: &mut Output) -> Result<(), CommandError> {
    if changes.len() > 30 {
        output.page();
    }
    let mut table = Table::new(&[Column::Left, Column::Left, Column::Left, Column::Flexible]);
    for change in changes {
        let status = if change.removed { "removed".into() } else { words(&change.todo.status) };
        table.row([
            change.time.map(|time| clock(time.0)).unwrap_or_default(),
            format!("turn {}", change.turn),
            status,
            about(&change.todo),
        ]);
    }
    for (change, cells) in changes.iter().zip(table.layout(output.width)) {
        let look = look(&change.todo.status);
        output.line(&output.paint(look, cells.join(output.gap()).trim_end()))?;
    }
    Ok(())
}
