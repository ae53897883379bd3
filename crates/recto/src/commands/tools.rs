//! `recto tools`: the tool calls of a session.

use clap::Args;
use clap::ValueEnum;
use recto_store::Home;
use recto_view::CallQuery;
use recto_view::ToolCallRow;
use recto_view::ToolRow;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::reading::Reading;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::count;
use crate::terminal::text::duration;
use crate::terminal::text::one_line;

/// List a session's tool calls
///
/// Each call with its turn, duration (from the times in the log) and main argument. Marks
/// calls without a result, and results without a call.
///
/// Examples:
///   recto tools latest --failed
///   recto tools latest --by name
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ToolsArgs {
    /// The session
    #[arg(default_value = "latest")]
    session: String,
    /// Only calls that failed or have no result
    #[arg(long)]
    failed: bool,
    /// Only calls of this tool
    #[arg(long, value_name = "TOOL")]
    name: Option<String>,
    /// Add up instead of listing
    #[arg(long, value_name = "WHAT")]
    by: Option<By>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// By the tool's name
    Name,
}

pub(crate) fn cmd_tools(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &ToolsArgs,
) -> Result<Outcome, CommandError> {
    let reading = Reading::open(home, environment, &args.session)?;
    let query = CallQuery { only_failed: args.failed, tool: args.name.as_deref() };
    let is_empty = match args.by {
        Some(By::Name) => write_sums(&recto_view::tool_rows(&reading, query), output)?,
        None => write_calls(&recto_view::call_rows(home, &reading, query), output)?,
    };
    Ok(if is_empty { Outcome::Found } else { Outcome::Done })
}

/// Lists calls, and says whether there are none.
fn write_calls(calls: &[ToolCallRow], output: &mut Output) -> Result<bool, CommandError> {
    if output.json {
        output.rows(calls)?;
        return Ok(calls.is_empty());
    }
    if calls.len() > 30 {
        output.page();
    }
    for (call, cells) in calls.iter().zip(table(calls).layout(output.width)) {
        output.line(output.paint(look(call), cells.join(output.gap()).trim_end()).as_str())?;
    }
    Ok(calls.is_empty())
}

/// What a call looks like.
pub(crate) fn look(call: &ToolCallRow) -> Look {
    if call.is_ok() { Look::Plain } else { Look::Bad }
}

/// The calls with turn, name, time, state and what they are about.
pub(crate) fn table(calls: &[ToolCallRow]) -> Table {
    let mut table =
        Table::new(&[Column::Right, Column::Left, Column::Right, Column::Left, Column::Flexible]);
    for call in calls {
        table.row([
            call.turn.to_string(),
            call.name.as_deref().map(one_line).unwrap_or_default(),
            call.duration_ms.map(duration).unwrap_or_default(),
            call.state.to_owned(),
            one_line(&call.about),
        ]);
    }
    table
}

/// Lists tools, and says whether there are none.
fn write_sums(tools: &[ToolRow], output: &mut Output) -> Result<bool, CommandError> {
    if output.json {
        output.rows(tools)?;
        return Ok(tools.is_empty());
    }
    let mut table = Table::new(&[Column::Left, Column::Right, Column::Right, Column::Right]);
    for tool in tools {
        let failed = match (tool.failed, tool.without_result) {
            (0, 0) => String::new(),
            (failed, 0) => format!("{} failed", count(failed)),
            (0, open) => format!("{} without result", count(open)),
            (failed, open) => format!("{} failed, {} without result", count(failed), count(open)),
        };
        table.row([one_line(&tool.name), count(tool.calls), duration(tool.duration_ms), failed]);
    }
    for cells in table.layout(output.width) {
        output.line(cells.join(output.gap()).trim_end())?;
    }
    Ok(tools.is_empty())
}
