//! The tool calls of a log.

use std::collections::BTreeMap;

use recto_session::Item;
use recto_session::NodeId;
use recto_session::ToolCall;
use recto_store::Home;
use recto_store::OverflowFiles;
use recto_store::OverflowWanted;
use serde::Serialize;

use crate::Moment;
use crate::Reading;

/// The state of a call whose result is not a failure.
const OK: &str = "ok";

/// How a call ended.
fn state(call: &ToolCall) -> &'static str {
    match (call.call, call.result, call.is_error) {
        (None, _, _) => "no call",
        (_, None, _) => "no result",
        (_, _, true) => "failed",
        _ => OK,
    }
}

/// A call of a tool.
#[derive(Debug, Serialize)]
pub struct ToolCallRow {
    /// The id of the call.
    pub id: String,
    /// The tool; none without a call.
    pub name: Option<String>,
    /// `ok`, `failed`, `no result` or `no call`.
    pub state: &'static str,
    /// Its turn; 0 if it belongs to none.
    pub turn: u32,
    /// The line of the call.
    pub call_uuid: Option<String>,
    /// The line of the result.
    pub result_uuid: Option<String>,
    /// When it was called.
    pub called: Option<Moment>,
    /// When its result was written.
    pub ended: Option<Moment>,
    /// The time between the two.
    pub duration_ms: Option<u64>,
    /// The file with the whole result, where it was too long for the log.
    pub overflow: Option<OverflowRow>,
    /// The argument that says most.
    pub about: String,
    /// The number of the call's line, or else of the result's.
    #[serde(skip)]
    pub line: u64,
}

impl ToolCallRow {
    /// Whether the call has a result that is not a failure.
    pub fn is_ok(&self) -> bool {
        self.state == OK
    }
}

/// The file with the whole result of a call.
#[derive(Debug, Serialize)]
pub struct OverflowRow {
    /// Its name, without its directory.
    pub name: String,
    /// The file, if it can be read.
    pub path: Option<String>,
    /// The size of the file; if it is gone, what the log says.
    pub bytes: Option<u64>,
    /// Its text, where it was read.
    pub text: Option<String>,
}

/// All calls of a tool, added up.
#[derive(Debug, Default, Serialize)]
pub struct ToolRow {
    /// The tool.
    pub name: String,
    /// Its calls.
    pub calls: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those without a result.
    pub without_result: u64,
    /// The time of all of them.
    pub duration_ms: u64,
}

/// Which calls are wanted; by default all.
#[derive(Debug, Clone, Copy, Default)]
pub struct CallQuery<'a> {
    /// Only those that failed or lack their call or result.
    pub only_failed: bool,
    /// Only those of this tool.
    pub tool: Option<&'a str>,
}

fn wanted<'a>(
    reading: &'a Reading,
    query: CallQuery<'a>,
) -> impl Iterator<Item = &'a ToolCall> + use<'a> {
    let tool = |call: &ToolCall| call.name.map_or("", |name| reading.session().name(name));
    reading.session().facts().calls.iter().filter(move |call| {
        (!query.only_failed || state(call) != OK)
            && query.tool.is_none_or(|name| tool(call) == name)
    })
}

/// The calls of a log, in its order.
pub fn call_rows(home: &Home, reading: &Reading, query: CallQuery<'_>) -> Vec<ToolCallRow> {
    let files = OverflowFiles::new(home, &reading.log.path);
    wanted(reading, query).map(|call| call_row(reading, &files, call)).collect()
}

fn call_row(reading: &Reading, files: &OverflowFiles<'_>, call: &ToolCall) -> ToolCallRow {
    let session = reading.session();
    let uuid = |id: NodeId| session.node(id).uuid().to_string();
    let place = call.call.or(call.result);
    ToolCallRow {
        id: session.name(call.id).to_owned(),
        name: reading.name(call.name),
        state: state(call),
        turn: place.map_or(0, |id| reading.turn_number(id)),
        call_uuid: call.call.map(uuid),
        result_uuid: call.result.map(uuid),
        called: call.called().map(Moment),
        ended: call.ended().map(Moment),
        duration_ms: milliseconds(call),
        overflow: overflow_row(reading, files, call),
        about: reading.call_about(call),
        line: place.map_or(1, |id| session.node(id).line),
    }
}

pub(crate) fn milliseconds(call: &ToolCall) -> Option<u64> {
    call.milliseconds().and_then(|span| u64::try_from(span).ok())
}

fn overflow_row(
    reading: &Reading,
    files: &OverflowFiles<'_>,
    call: &ToolCall,
) -> Option<OverflowRow> {
    if !call.has_overflow {
        return None;
    }
    let mut result = reading.result(call)?;
    files.complete(&mut result, OverflowWanted::Nothing);
    let Item::Result { overflow: Some(overflow), .. } = result else { return None };
    Some(OverflowRow::from(&overflow))
}

/// The tools of a log, most calls first.
pub fn tool_rows(reading: &Reading, query: CallQuery<'_>) -> Vec<ToolRow> {
    let mut tools: BTreeMap<&str, ToolRow> = BTreeMap::new();
    for call in wanted(reading, query) {
        let name = call.name.map_or("(no call)", |name| reading.session().name(name));
        let tool = tools.entry(name).or_default();
        tool.calls += 1;
        tool.failed += u64::from(call.is_error);
        tool.without_result += u64::from(call.result.is_none());
        tool.duration_ms += milliseconds(call).unwrap_or(0);
    }
    let named = |(name, tool): (&str, ToolRow)| ToolRow { name: name.to_owned(), ..tool };
    let mut rows: Vec<ToolRow> = tools.into_iter().map(named).collect();
    // The sort is stable: tools with as many calls stay in the order of their names.
    rows.sort_by_key(|tool| std::cmp::Reverse(tool.calls));
    rows
}
