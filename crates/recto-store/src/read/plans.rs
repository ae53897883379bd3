//! Plans, as logs and the files beside them tell them.

use recto_log::Entry;
use recto_log::ToolResult;
use recto_log::json::Value;
use recto_session::NodeId;
use recto_session::ToolCall;
use recto_session::with_call;

use crate::Loaded;
use crate::PlanFile;
use crate::read_small;

/// The tool by which the model shows a plan.
pub const PLAN_TOOL: &str = "ExitPlanMode";

/// A plan in a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedPlan {
    /// The line with the call.
    pub call: NodeId,
    /// Whether the user agreed; unknown without an answer. A call that failed
    /// counts as refused, because the log does not tell by whom in all clients.
    pub agreed: Option<bool>,
    /// The file that keeps it, as the log names it.
    pub file: Option<String>,
    /// Its text; empty where the client leaves it to the file.
    pub text: String,
}

/// The plans of a log, in its order.
pub fn logged_plans(loaded: &Loaded) -> Vec<LoggedPlan> {
    let session = &loaded.session;
    let calls = session.facts().calls.iter();
    let is_plan = |call: &&ToolCall| call.name.is_some_and(|name| session.name(name) == PLAN_TOOL);
    calls.filter(is_plan).filter_map(|call| plan_of(loaded, call)).collect()
}

fn plan_of(loaded: &Loaded, call: &ToolCall) -> Option<LoggedPlan> {
    let line = call.call?;
    let own =
        |value: Option<Value<'_>>| value.and_then(Value::as_str).map(|text| text.into_owned());
    let asked = loaded.with_entry(line, |entry| {
        with_call(entry, loaded.session.name(call.id), |input| {
            (own(input.get("plan")), own(input.get("planFilePath")))
        })
    });
    let (asked, asked_file) = asked.flatten().unwrap_or_default();
    let answer = |entry: &Entry<'_>| match entry.tool_result(Some(PLAN_TOOL)) {
        Some(ToolResult::Plan { plan, path }) => (own(plan), own(path)),
        _ => (None, None),
    };
    let answer = call.result.and_then(|result| loaded.with_entry(result, answer));
    let (agreed, agreed_file) = answer.unwrap_or_default();
    Some(LoggedPlan {
        call: line,
        agreed: call.result.map(|_| !call.is_error),
        file: agreed_file.or(asked_file),
        // The user can change a plan before agreeing: the answer has what holds.
        text: agreed.or(asked).unwrap_or_default(),
    })
}

/// The file of the home that a path in a log means. The home may have been
/// moved since, so that only the name counts.
pub fn plan_file_named<'a>(files: &'a [PlanFile], named: &str) -> Option<&'a PlanFile> {
    let name = named.rsplit(['/', '\\']).next()?;
    files.iter().find(|file| file.path.file_name().is_some_and(|known| known == name))
}

impl PlanFile {
    /// Its text; empty if it cannot be read.
    pub fn text(&self) -> String {
        let bytes = read_small(&self.path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
