//! Tools: what a model can have done.
//!
//! A tool knows nothing of the surface. A call goes through it in this order:
//!
//! ```text
//! ToolCall ─► prepare: is there such a tool, is the input right, the tool's own checks
//!                │ Err: the outcome, and nothing else happens
//!                ▼
//!            Prepared ─► hooks and permission, which are not this room's
//!                │
//!                ▼
//!            run ─► ToolOutcome: content, is_error, structured, notes
//! ```
//!
//! Tools of one message run as `schedule` says. What they share is in `Session`; what they
//! need of the loop they ask by `HostRequest`.

mod agent;
mod ask_user_question;
mod background;
mod bash;
mod context;
mod edit;
mod escapes;
mod glob;
mod grep;
mod host;
mod ids;
mod image_file;
mod issue;
mod mcp;
mod message;
mod news;
mod notebook_edit;
mod offer;
mod older;
mod outcome;
mod overflow;
mod patch;
mod path;
mod plan_mode;
mod process;
mod read;
mod resource;
mod schedule;
mod schema;
mod session;
mod skill;
mod task_list;
mod task_stop;
mod text_file;
mod todo_write;
mod tool_search;
mod web_fetch;
mod web_search;
mod worktree;
mod write;

use serde_json::Value;
use serde_json::json;
use tokio_util::sync::CancellationToken;

pub use agent::AgentCall;
pub use agent::AgentDone;
pub use agent::AgentReport;
pub use agent::AgentRequest;
pub use agent::built_in as built_in_agents;
pub use background::Notice;
pub use host::Host;
pub use host::HostRequest;
pub use ids::Ids;
pub use ids::SessionName;
pub use message::Mail;
pub(crate) use news::new_run;
pub use offer::AgentType;
pub use offer::Deferred;
pub use offer::McpTool;
pub use offer::Offer;
pub use offer::Shelf;
pub use offer::Skill;
pub use offer::plain_name;
pub use outcome::Content;
pub use outcome::Denial;
pub use outcome::Note;
pub use outcome::ToolCall;
pub use outcome::ToolOutcome;
pub(crate) use overflow::keep_beside;
pub use schedule::Job;
pub use schedule::run_all;
pub use session::IsHidden;
pub use session::Places;
pub use session::Session;
pub use session::TokenCount;
pub use session::estimated_tokens;
pub use skill::Plugin;
pub use skill::agents_in;
pub use skill::agents_of;
pub use skill::filled_skill;
pub(crate) use skill::front_matter;
pub(crate) use skill::markdown_in;
pub use skill::plugins_in;
pub use skill::skills_in;
pub use tool_search::loaded as loaded_tools;
pub use web_fetch::Web;
pub use web_search::server_tool as web_search_tool;
pub use worktree::Worktree;
pub(crate) use worktree::settle as settle_worktree;

use context::Call;
use schema::Schema;

/// The field of an input that was no JSON, which has what it was.
pub(crate) const UNPARSED: &str = "__unparsedToolInput";

/// The tools of this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Tool {
    Agent,
    AskUserQuestion,
    Bash,
    BashOutput,
    Edit,
    EnterPlanMode,
    EnterWorktree,
    ExitPlanMode,
    ExitWorktree,
    Glob,
    Grep,
    ListAgents,
    ListMcpResources,
    Ls,
    MultiEdit,
    NotebookEdit,
    Read,
    ReadMcpResource,
    SendMessage,
    Skill,
    TaskCreate,
    TaskGet,
    TaskList,
    TaskOutput,
    TaskStop,
    TaskUpdate,
    TodoWrite,
    ToolSearch,
    WebFetch,
    WebSearch,
    Write,
}

impl Tool {
    /// All of them.
    pub const ALL: [Tool; 31] = [
        Tool::Agent,
        Tool::AskUserQuestion,
        Tool::Bash,
        Tool::BashOutput,
        Tool::Edit,
        Tool::EnterPlanMode,
        Tool::EnterWorktree,
        Tool::ExitPlanMode,
        Tool::ExitWorktree,
        Tool::Glob,
        Tool::Grep,
        Tool::ListAgents,
        Tool::ListMcpResources,
        Tool::Ls,
        Tool::MultiEdit,
        Tool::NotebookEdit,
        Tool::Read,
        Tool::ReadMcpResource,
        Tool::SendMessage,
        Tool::Skill,
        Tool::TaskCreate,
        Tool::TaskGet,
        Tool::TaskList,
        Tool::TaskOutput,
        Tool::TaskStop,
        Tool::TaskUpdate,
        Tool::TodoWrite,
        Tool::ToolSearch,
        Tool::WebFetch,
        Tool::WebSearch,
        Tool::Write,
    ];

    /// The name under which models call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Tool::Agent => "Agent",
            Tool::AskUserQuestion => "AskUserQuestion",
            Tool::Bash => "Bash",
            Tool::BashOutput => "BashOutput",
            Tool::Edit => "Edit",
            Tool::EnterPlanMode => "EnterPlanMode",
            Tool::EnterWorktree => "EnterWorktree",
            Tool::ExitPlanMode => "ExitPlanMode",
            Tool::ExitWorktree => "ExitWorktree",
            Tool::Glob => "Glob",
            Tool::Grep => "Grep",
            Tool::ListAgents => "ListAgents",
            Tool::ListMcpResources => "ListMcpResourcesTool",
            Tool::Ls => "LS",
            Tool::MultiEdit => "MultiEdit",
            Tool::NotebookEdit => "NotebookEdit",
            Tool::Read => "Read",
            Tool::ReadMcpResource => "ReadMcpResourceTool",
            Tool::SendMessage => "SendMessage",
            Tool::Skill => "Skill",
            Tool::TaskCreate => "TaskCreate",
            Tool::TaskGet => "TaskGet",
            Tool::TaskList => "TaskList",
            Tool::TaskOutput => "TaskOutput",
            Tool::TaskStop => "TaskStop",
            Tool::TaskUpdate => "TaskUpdate",
            Tool::TodoWrite => "TodoWrite",
            Tool::ToolSearch => "ToolSearch",
            Tool::WebFetch => "WebFetch",
            Tool::WebSearch => "WebSearch",
            Tool::Write => "Write",
        }
    }

    /// The tool of a name, or of one that it had before.
    #[must_use]
    pub fn named(name: &str) -> Option<Tool> {
        match name {
            "Task" => Some(Tool::Agent),
            "KillBash" | "KillShell" => Some(Tool::TaskStop),
            _ => Tool::ALL.into_iter().find(|tool| tool.name() == name),
        }
    }

    /// Whether somebody must be there to answer.
    #[must_use]
    pub fn asks(self) -> bool {
        matches!(self, Tool::AskUserQuestion | Tool::EnterPlanMode | Tool::ExitPlanMode)
    }

    /// Whether today's models are not offered it.
    #[must_use]
    pub fn is_older(self) -> bool {
        matches!(self, Tool::BashOutput | Tool::Ls | Tool::MultiEdit | Tool::TaskOutput)
    }

    fn about(self) -> &'static str {
        match self {
            Tool::Agent => agent::ABOUT,
            Tool::AskUserQuestion => ask_user_question::ABOUT,
            Tool::Bash => bash::ABOUT,
            Tool::BashOutput => older::BASH_OUTPUT_ABOUT,
            Tool::Edit => edit::ABOUT,
            Tool::EnterPlanMode => plan_mode::ENTER_ABOUT,
            Tool::EnterWorktree => worktree::ENTER_ABOUT,
            Tool::ExitPlanMode => plan_mode::EXIT_ABOUT,
            Tool::ExitWorktree => worktree::EXIT_ABOUT,
            Tool::Glob => glob::ABOUT,
            Tool::Grep => grep::ABOUT,
            Tool::ListAgents => message::LIST_ABOUT,
            Tool::ListMcpResources => resource::LIST_ABOUT,
            Tool::Ls => older::LS_ABOUT,
            Tool::MultiEdit => older::MULTI_EDIT_ABOUT,
            Tool::NotebookEdit => notebook_edit::ABOUT,
            Tool::Read => read::ABOUT,
            Tool::ReadMcpResource => resource::READ_ABOUT,
            Tool::SendMessage => message::SEND_ABOUT,
            Tool::Skill => skill::ABOUT,
            Tool::TaskCreate => task_list::CREATE_ABOUT,
            Tool::TaskGet => task_list::GET_ABOUT,
            Tool::TaskList => task_list::LIST_ABOUT,
            Tool::TaskOutput => older::TASK_OUTPUT_ABOUT,
            Tool::TaskStop => task_stop::ABOUT,
            Tool::TaskUpdate => task_list::UPDATE_ABOUT,
            Tool::TodoWrite => todo_write::ABOUT,
            Tool::ToolSearch => tool_search::ABOUT,
            Tool::WebFetch => web_fetch::ABOUT,
            Tool::WebSearch => web_search::ABOUT,
            Tool::Write => write::ABOUT,
        }
    }

    fn schema(self) -> &'static Schema {
        match self {
            Tool::Agent => &agent::SCHEMA,
            Tool::AskUserQuestion => &ask_user_question::SCHEMA,
            Tool::Bash => &bash::SCHEMA,
            Tool::BashOutput => &older::BASH_OUTPUT,
            Tool::Edit => &edit::SCHEMA,
            Tool::EnterPlanMode => &plan_mode::ENTER,
            Tool::EnterWorktree => &worktree::ENTER,
            Tool::ExitPlanMode => &plan_mode::EXIT,
            Tool::ExitWorktree => &worktree::EXIT,
            Tool::Glob => &glob::SCHEMA,
            Tool::Grep => &grep::SCHEMA,
            Tool::ListAgents => &message::LIST,
            Tool::ListMcpResources => &resource::LIST,
            Tool::Ls => &older::LS,
            Tool::MultiEdit => &older::MULTI_EDIT,
            Tool::NotebookEdit => &notebook_edit::SCHEMA,
            Tool::Read => &read::SCHEMA,
            Tool::ReadMcpResource => &resource::READ,
            Tool::SendMessage => &message::SEND,
            Tool::Skill => &skill::SCHEMA,
            Tool::TaskCreate => &task_list::CREATE,
            Tool::TaskGet => &task_list::GET,
            Tool::TaskList => &task_list::LIST,
            Tool::TaskOutput => &older::TASK_OUTPUT,
            Tool::TaskStop => &task_stop::SCHEMA,
            Tool::TaskUpdate => &task_list::UPDATE,
            Tool::TodoWrite => &todo_write::SCHEMA,
            Tool::ToolSearch => &tool_search::SCHEMA,
            Tool::WebFetch => &web_fetch::SCHEMA,
            Tool::WebSearch => &web_search::SCHEMA,
            Tool::Write => &write::SCHEMA,
        }
    }

    /// What the model is told: name, description, input schema.
    #[must_use]
    pub fn declaration(self) -> Value {
        json!({
            "name": self.name(),
            "description": self.about(),
            "input_schema": self.schema().json_schema(),
        })
    }

    /// Whether calls of it change nothing, and so may overlap. For `Bash` the command
    /// decides, which the permission room reads.
    #[must_use]
    pub fn is_read_only(self) -> bool {
        matches!(
            self,
            Tool::Agent
                | Tool::BashOutput
                | Tool::Glob
                | Tool::Grep
                | Tool::ListAgents
                | Tool::ListMcpResources
                | Tool::Ls
                | Tool::Read
                | Tool::ReadMcpResource
                | Tool::TaskGet
                | Tool::TaskList
                | Tool::TaskOutput
                | Tool::ToolSearch
                | Tool::WebFetch
                | Tool::WebSearch
        )
    }

    /// The tool's own checks, which need no permission.
    fn check(self, call: &Call<'_>) -> Result<(), ToolOutcome> {
        match self {
            Tool::Edit => edit::check(call),
            Tool::EnterWorktree => worktree::check_enter(call),
            Tool::ExitPlanMode => plan_mode::check_exit(call),
            Tool::ExitWorktree => worktree::check_exit(call),
            Tool::AskUserQuestion => ask_user_question::check(call),
            Tool::Bash => bash::check(call),
            Tool::Glob => glob::check(call),
            Tool::Grep => grep::check(call),
            Tool::NotebookEdit => notebook_edit::check(call),
            Tool::Read => read::check(call),
            Tool::SendMessage => message::check(call),
            Tool::Skill => skill::check(call),
            Tool::TaskOutput => older::check_task_output(call),
            Tool::TaskStop => task_stop::check(call),
            Tool::WebSearch => web_search::check(call),
            Tool::Write => write::check(call),
            _ => Ok(()),
        }
    }

    async fn run(self, call: &Call<'_>) -> ToolOutcome {
        match self {
            Tool::Agent => agent::run(call).await,
            Tool::AskUserQuestion => ask_user_question::run(call),
            Tool::Bash => bash::run(call).await,
            Tool::BashOutput => older::bash_output(call),
            Tool::Edit => edit::run(call),
            Tool::EnterPlanMode => plan_mode::enter(call),
            Tool::EnterWorktree => worktree::enter(call).await,
            Tool::ExitPlanMode => plan_mode::exit(call),
            Tool::ExitWorktree => worktree::exit(call).await,
            Tool::Glob => glob::run(call).await,
            Tool::Grep => grep::run(call).await,
            Tool::ListAgents => message::list(call),
            Tool::ListMcpResources => resource::list(call).await,
            Tool::Ls => older::ls(call),
            Tool::MultiEdit => older::multi_edit(call),
            Tool::NotebookEdit => notebook_edit::run(call),
            Tool::Read => read::run(call).await,
            Tool::ReadMcpResource => resource::read(call).await,
            Tool::SendMessage => message::send(call).await,
            Tool::Skill => skill::run(call),
            Tool::TaskCreate => task_list::create(call),
            Tool::TaskGet => task_list::get(call),
            Tool::TaskList => task_list::list(call),
            Tool::TaskOutput => older::task_output(call).await,
            Tool::TaskStop => task_stop::run(call).await,
            Tool::TaskUpdate => task_list::update(call),
            Tool::TodoWrite => todo_write::run(call),
            Tool::ToolSearch => tool_search::run(call),
            Tool::WebFetch => web_fetch::run(call).await,
            Tool::WebSearch => web_search::run(call).await,
            Tool::Write => write::run(call),
        }
    }
}

/// What a call runs.
#[derive(Debug, Clone, PartialEq)]
enum Target {
    Own(Tool),
    Mcp(Box<McpTool>),
}

/// A call that may run, once hooks and permission agree.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    target: Target,
    name: String,
    /// What is said behind a result: that a parameter has another name.
    note: String,
    /// The call, with values of the right kinds in its input.
    pub call: ToolCall,
    /// Whether whoever answered the question wrote the input.
    is_answered: bool,
}

impl Prepared {
    /// The tool, unless it is one of an MCP server.
    #[must_use]
    pub fn tool(&self) -> Option<Tool> {
        match self.target {
            Target::Own(tool) => Some(tool),
            Target::Mcp(_) => None,
        }
    }

    /// The tool's name today, whatever the call named it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the call changes nothing. For `Bash` the command decides, which is not known
    /// here.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        match &self.target {
            Target::Own(tool) => tool.is_read_only(),
            Target::Mcp(tool) => tool.is_read_only,
        }
    }

    /// Runs the call.
    pub async fn run(&self, session: &Session, cancel: &CancellationToken) -> ToolOutcome {
        let is_answered = self.is_answered;
        let call =
            Call { id: &self.call.id, input: &self.call.input, session, cancel, is_answered };
        let mut outcome = match &self.target {
            Target::Own(tool) => tool.run(&call).await,
            Target::Mcp(tool) => mcp::run(&call, tool).await,
        };
        if let (Content::Text(text), false) = (&mut outcome.content, outcome.is_error) {
            text.push_str(&self.note);
        }
        outcome.never_empty(self.name())
    }
}

/// Looks a call up and checks it. Nothing happens yet.
///
/// # Errors
///
/// The outcome of a call that cannot run. It gets no hook and no question.
pub fn prepare(call: ToolCall, session: &Session) -> Result<Prepared, Box<ToolOutcome>> {
    prepare_from(call, session, &|tool, issues| match tool {
        Tool::AskUserQuestion => ask_user_question::wrong(tool.name(), issues),
        _ => issue::outcome(tool.name(), issues),
    })
}

/// The same for an input that whoever answered the question put in the place of the model's.
/// An empty one, or none at all, stands for the model's own.
///
/// # Errors
///
/// The outcome of a call that cannot run.
pub fn prepare_answered(
    prepared: Prepared,
    input: Value,
    session: &Session,
) -> Result<Prepared, Box<ToolOutcome>> {
    if input.is_null() || input.as_object().is_some_and(serde_json::Map::is_empty) {
        return Ok(prepared);
    }
    let mut call = ToolCall { input, ..prepared.call };
    // Unknown fields are left out.
    if let Target::Own(tool) = prepared.target
        && let Err(issues) = tool.schema().check(&call.input)
    {
        issues.iter().for_each(|issue| issue.leave_out(&mut call.input));
    }
    let prepared =
        prepare_from(call, session, &|tool, issues| issue::answered(tool.name(), issues))?;
    Ok(Prepared { is_answered: true, ..prepared })
}

fn prepare_from(
    call: ToolCall,
    session: &Session,
    wrong: &dyn Fn(Tool, &[issue::Issue]) -> ToolOutcome,
) -> Result<Prepared, Box<ToolOutcome>> {
    let offer = session.offer.get();
    let call = ToolCall { input: escapes::without_escapes(&call.input), ..call };
    if let Some(tool) = offer.mcp_tool(&call.name) {
        let (name, target) = (tool.name(), Target::Mcp(Box::new(tool.clone())));
        return Ok(Prepared { target, name, note: String::new(), call, is_answered: false });
    }
    let Some(tool) = offer.tool(&call.name) else {
        return Err(Box::new(offer.missing(&call.name)));
    };
    if let Some(raw) = call.input[UNPARSED]["raw"].as_str() {
        return Err(Box::new(issue::unparsed(tool.name(), raw)));
    }
    let (given, mut note) = match tool {
        Tool::Grep => grep::meant(&call.input),
        Tool::TaskCreate => (task_list::meant(&call.input), String::new()),
        _ => (call.input.clone(), String::new()),
    };
    let input = tool.schema().check(&given).map_err(|issues| {
        let outcome = wrong(tool, &issues);
        match session.has_deferred(tool.name()) {
            true => outcome.with_error_note(&tool_search::not_loaded(tool)),
            false => outcome,
        }
    })?;
    if tool == Tool::Write {
        note += &write::alias_note(&call.input).unwrap_or_default();
    }
    let call = ToolCall { input, ..call };
    let never = CancellationToken::new();
    let (input, is_answered) = (&call.input, false);
    let context = Call { id: &call.id, input, session, cancel: &never, is_answered };
    tool.check(&context)?;
    let (target, name) = (Target::Own(tool), tool.name().to_owned());
    Ok(Prepared { target, name, note, call, is_answered: false })
}
