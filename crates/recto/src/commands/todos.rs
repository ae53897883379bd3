//! `recto todos`: the list of things to do.

use clap::Args;
use jiff::Timestamp;
use recto_log::Entry;
use recto_log::json::ObjectWriter;
use recto_session::NodeId;
use recto_session::TODO_TOOLS;
use recto_session::Todo;
use recto_session::TodoChange;
use recto_session::TodoList;
use recto_session::ToolCall;
use recto_store::Home;

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
use recto_session::with_call;

/// List the things to do that the model noted in a session
///
/// The list as it was at the end, from `TodoWrite` and the task tools; calls
/// that failed are left out. With --history each change, with its turn and time.
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

/// A change with where it stands.
struct Placed {
    turn: u32,
    time: Option<Timestamp>,
    change: TodoChange,
}

pub(crate) fn cmd_todos(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &TodosArgs,
) -> Result<Outcome, CommandError> {
    let reading = Reading::open(home, environment, &args.session)?;
    let (list, changes) = follow(&reading);
    let is_empty = if args.history { changes.is_empty() } else { list.todos().is_empty() };
    match (output.json, args.history) {
        (true, true) => {
            for placed in &changes {
                output.json_line(change_json(placed))?;
            }
        }
        (true, false) => {
            for todo in list.todos() {
                output.json_line(todo_json(todo))?;
            }
        }
        (false, _) if is_empty => output.remark("there is nothing to do in the log"),
        (false, true) => write_changes(&changes, output)?,
        (false, false) => write_list(list.todos(), output)?,
    }
    Ok(if is_empty { Outcome::Found } else { Outcome::Done })
}

/// The list at the end, and all changes in the order of the results.
fn follow(reading: &Reading) -> (TodoList, Vec<Placed>) {
    let session = reading.session();
    let is_kept = |call: &&ToolCall| {
        !call.is_error && call.name.is_some_and(|name| TODO_TOOLS.contains(&session.name(name)))
    };
    let calls = session.facts().calls.iter().filter(is_kept);
    // Parallel calls change the list when they are answered.
    let mut calls: Vec<(NodeId, &ToolCall)> =
        calls.filter_map(|call| Some((call.result?, call))).collect();
    calls.sort_by_key(|(result, _)| session.node(*result).line);
    let mut list = TodoList::default();
    let mut changes = Vec::new();
    for (result, call) in calls {
        let changed = take(reading, &mut list, call, result);
        changes.extend(changed.into_iter().map(|change| Placed {
            turn: reading.turn_number(result),
            time: session.node(result).time(),
            change,
        }));
    }
    (list, changes)
}

fn take(
    reading: &Reading,
    list: &mut TodoList,
    call: &ToolCall,
    result: NodeId,
) -> Vec<TodoChange> {
    let tool = reading.name(call.name);
    let id = reading.session().name(call.id);
    let take = |called: &Entry<'_>| {
        reading.loaded.with_entry(result, |answered| {
            let kept = answered.get("toolUseResult");
            with_call(called, id, |input| list.take(tool, Some(input), kept))
        })
    };
    let taken = call.call.and_then(|line| reading.loaded.with_entry(line, take));
    taken.flatten().flatten().unwrap_or_default()
}

fn todo_json(todo: &Todo) -> ObjectWriter {
    ObjectWriter::new()
        .string_or_null("id", todo.id.as_deref())
        .string("status", &todo.status)
        .string("text", &todo.text)
}

fn change_json(placed: &Placed) -> ObjectWriter {
    let time = placed.time.map(|time| format!("{time:.3}"));
    todo_json(&placed.change.todo)
        .string_or_null("before", placed.change.before.as_deref())
        .boolean("removed", placed.change.is_removed)
        .number("turn", u64::from(placed.turn))
        .string_or_null("time", time.as_deref())
}

/// What is to be done, with the number of a task.
fn about(todo: &Todo) -> String {
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

fn write_list(todos: &[Todo], output: &mut Output) -> Result<(), CommandError> {
    if todos.len() > 30 {
        output.page();
    }
    let mut table = Table::new(&[Column::Left, Column::Flexible]);
    for todo in todos {
        table.row([words(&todo.status), about(todo)]);
    }
    for (todo, cells) in todos.iter().zip(table.layout(output.width)) {
        output.line(&output.paint(look(&todo.status), cells.join("  ").trim_end()))?;
    }
    Ok(())
}

fn write_changes(changes: &[Placed], output: &mut Output) -> Result<(), CommandError> {
    if changes.len() > 30 {
        output.page();
    }
    let mut table = Table::new(&[Column::Left, Column::Left, Column::Left, Column::Flexible]);
    for Placed { turn, time, change } in changes {
        let status = if change.is_removed { "removed".into() } else { words(&change.todo.status) };
        table.row([
            time.map(clock).unwrap_or_default(),
            format!("turn {turn}"),
            status,
            about(&change.todo),
        ]);
    }
    for (placed, cells) in changes.iter().zip(table.layout(output.width)) {
        let look = look(&placed.change.todo.status);
        output.line(&output.paint(look, cells.join("  ").trim_end()))?;
    }
    Ok(())
}
