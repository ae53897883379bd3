//! `recto tools`: the tool calls of a session.

use std::collections::BTreeMap;

use clap::Args;
use clap::ValueEnum;
use recto_log::json::ObjectWriter;
use recto_session::Item;
use recto_session::ToolCall;
use recto_session::export::overflow_json;
use recto_store::Home;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::reading::Reading;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::overflow::OverflowFiles;
use crate::terminal::overflow::Wanted;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::count;
use crate::terminal::text::duration;
use crate::terminal::text::one_line;

/// List the tool calls of a session
///
/// Each call is shown with its turn, how long it took by the times of its
/// lines, and what it was about. Calls without a result, and results without a
/// call, are marked.
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

/// How a call ended.
fn state(call: &ToolCall) -> &'static str {
    match (call.call, call.result, call.is_error) {
        (None, _, _) => "no call",
        (_, None, _) => "no result",
        (_, _, true) => "failed",
        _ => "ok",
    }
}

pub(crate) fn cmd_tools(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &ToolsArgs,
) -> Result<Outcome, CommandError> {
    let reading = Reading::open(home, environment, &args.session)?;
    let calls: Vec<&ToolCall> = reading
        .session()
        .facts()
        .calls
        .iter()
        .filter(|call| !args.failed || state(call) != "ok")
        .filter(|call| args.name.as_deref().is_none_or(|name| reading.name(call.name) == name))
        .collect();
    match args.by {
        Some(By::Name) => by_name(&reading, &calls, output)?,
        None => list(home, &reading, &calls, output)?,
    }
    Ok(if calls.is_empty() { Outcome::Found } else { Outcome::Done })
}

fn list(
    home: &Home,
    reading: &Reading,
    calls: &[&ToolCall],
    output: &mut Output,
) -> Result<(), CommandError> {
    if output.json {
        for call in calls {
            output.json_line(json(home, reading, call))?;
        }
        return Ok(());
    }
    if calls.len() > 30 {
        output.page();
    }
    for (call, cells) in calls.iter().zip(table(reading, calls).layout(output.width)) {
        output.line(output.paint(look(call), cells.join("  ").trim_end()).as_str())?;
    }
    Ok(())
}

/// What a call looks like.
pub(crate) fn look(call: &ToolCall) -> Look {
    if state(call) == "ok" { Look::Plain } else { Look::Bad }
}

/// The calls with turn, name, time, state and what they are about.
pub(crate) fn table(reading: &Reading, calls: &[&ToolCall]) -> Table {
    let mut table =
        Table::new(&[Column::Right, Column::Left, Column::Right, Column::Left, Column::Flexible]);
    for call in calls {
        let turn = call.call.or(call.result).map_or(0, |id| reading.turn_number(id));
        let milliseconds = call.milliseconds().and_then(|span| u64::try_from(span).ok());
        table.row([
            turn.to_string(),
            one_line(reading.name(call.name)),
            milliseconds.map(duration).unwrap_or_default(),
            state(call).to_owned(),
            one_line(&reading.call_about(call)),
        ]);
    }
    table
}

/// What all calls of a tool add up to.
#[derive(Default)]
struct Sum {
    calls: u64,
    failed: u64,
    open: u64,
    milliseconds: u64,
}

fn by_name(
    reading: &Reading,
    calls: &[&ToolCall],
    output: &mut Output,
) -> Result<(), CommandError> {
    let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
    for call in calls {
        let name = if call.name.is_none() { "(no call)" } else { reading.name(call.name) };
        let sum = sums.entry(name).or_default();
        sum.calls += 1;
        sum.failed += u64::from(call.is_error);
        sum.open += u64::from(call.result.is_none());
        sum.milliseconds +=
            call.milliseconds().and_then(|span| u64::try_from(span).ok()).unwrap_or(0);
    }
    let mut rows: Vec<(&str, Sum)> = sums.into_iter().collect();
    rows.sort_by(|a, b| b.1.calls.cmp(&a.1.calls).then_with(|| a.0.cmp(b.0)));
    let mut table = Table::new(&[Column::Left, Column::Right, Column::Right, Column::Right]);
    for (name, sum) in &rows {
        if output.json {
            output.json_line(
                ObjectWriter::new()
                    .string("name", name)
                    .number("calls", sum.calls)
                    .number("failed", sum.failed)
                    .number("without_result", sum.open)
                    .number("duration_ms", sum.milliseconds),
            )?;
            continue;
        }
        let failed = match (sum.failed, sum.open) {
            (0, 0) => String::new(),
            (failed, 0) => format!("{} failed", count(failed)),
            (0, open) => format!("{} without result", count(open)),
            (failed, open) => format!("{} failed, {} without result", count(failed), count(open)),
        };
        table.row([one_line(name), count(sum.calls), duration(sum.milliseconds), failed]);
    }
    for cells in table.layout(output.width) {
        output.line(cells.join("  ").trim_end())?;
    }
    Ok(())
}

fn json(home: &Home, reading: &Reading, call: &ToolCall) -> ObjectWriter {
    let node = |id: Option<recto_session::NodeId>| id.map(|id| reading.session().node(id));
    let uuid = |id| node(id).map(|node| node.uuid.to_string());
    let time = |time: Option<jiff::Timestamp>| time.map(|time| format!("{time:.3}"));
    let turn = call.call.or(call.result).map_or(0, |id| reading.turn_number(id));
    let object = ObjectWriter::new()
        .string("id", reading.name(Some(call.id)))
        .string_or_null("name", call.name.map(|name| reading.session().name(name)))
        .string("state", state(call))
        .number("turn", u64::from(turn))
        .string_or_null("call_uuid", uuid(call.call).as_deref())
        .string_or_null("result_uuid", uuid(call.result).as_deref())
        .string_or_null("called", time(call.called()).as_deref())
        .string_or_null("ended", time(call.ended()).as_deref());
    let milliseconds = call.milliseconds().and_then(|span| u64::try_from(span).ok());
    let object = match milliseconds {
        Some(span) => object.number("duration_ms", span),
        None => object.json("duration_ms", b"null"),
    };
    let mut result = reading.result(call).filter(|_| call.has_overflow);
    if let Some(result) = &mut result {
        OverflowFiles::new(home, &reading.target.path).complete(result, Wanted::Nothing);
    }
    let object = match result {
        Some(Item::Result { overflow: Some(overflow), .. }) => {
            object.json("overflow", &overflow_json(&overflow).finish())
        }
        _ => object.json("overflow", b"null"),
    };
    object.string("about", &reading.call_about(call))
}
