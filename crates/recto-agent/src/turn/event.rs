//! What happens in a session, as one stream for all surfaces.

use std::time::Duration;

use recto_session::usage::Money;
use serde_json::Value;

use crate::api::ApiError;
use crate::tool::Plugin;
use crate::wire::Json;
use crate::wire::StreamEvent;

use super::agent::AgentStats;
use super::totals::ModelTotals;

/// One thing that happened. Surfaces show of it what they want.
#[derive(Debug, Clone)]
pub enum TurnEvent {
    /// What the session does.
    State(State),
    /// A turn begins: what there is to work with.
    Began(Box<Began>),
    /// A request goes out.
    Requesting,
    /// An event of the answer, as the endpoint sent it. Void as soon as
    /// [`TurnEvent::Abandoned`] says so.
    Stream {
        /// The message that it belongs to.
        message: String,
        /// The event.
        event: StreamEvent,
        /// How long after the request it came.
        after: Duration,
    },
    /// The answer was cut: blocks from this one on will never be whole.
    Abandoned {
        /// The message.
        message: String,
        /// The first block that is void.
        from_block: u64,
        /// The block that was growing.
        open_block: Option<u64>,
        /// Whether the user interrupted.
        is_interrupted: bool,
        /// What the endpoint had counted.
        usage: ModelTotals,
    },
    /// The model thinks; tokens so far in this block, and since the last time.
    Thinking {
        /// So far.
        estimated: u64,
        /// Since the last time.
        added: u64,
    },
    /// The model said something: one block, or an error of the endpoint in its place. The line
    /// is in the log.
    Said(Box<Said>),
    /// A result, or a text of the client in place of the user. The line is in the log.
    User(Box<UserSaid>),
    /// A call was not allowed, and nobody could be asked.
    Denied(Box<DeniedCall>),
    /// A line about hooks, tasks, titles and the like, as a JSON stream shows it.
    System(Value),
    /// A line of the control protocol.
    Control(Value),
    /// A prompt is being worked on, or a command of the host was.
    Prompted {
        /// The uuid of its line.
        uuid: String,
        /// A text, or content blocks.
        content: Value,
        /// Whether it is the output of a command, which every host sees.
        is_output: bool,
        /// Whether it was worked on before, and is not again.
        is_known: bool,
    },
    /// The conversation starts over under another id: everything that follows is of that session.
    StartedOver {
        /// The id.
        session: String,
    },
    /// The host wants to see what subagents say.
    ForwardSubagents,
    /// The same for hooks, which most surfaces show on request only.
    Hook(Value),
    /// The endpoint failed and is asked again.
    Retry {
        /// Which attempt failed, from 1.
        attempt: u32,
        /// How many may follow the first.
        most: u32,
        /// How long until the next.
        wait: Duration,
        /// Why.
        error: ApiError,
    },
    /// Something was changed so that the endpoint accepts the request, or the log was repaired.
    Told(String),
    /// The turn is over.
    Ended(Box<Ended>),
}

/// What a session does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// A turn runs.
    Running,
    /// Somebody is asked.
    RequiresAction,
    /// Nothing.
    Idle,
}

impl State {
    /// The name in a JSON stream.
    pub fn name(self) -> &'static str {
        match self {
            State::Running => "running",
            State::RequiresAction => "requires_action",
            State::Idle => "idle",
        }
    }
}

/// What a turn has to work with.
#[derive(Debug, Clone)]
pub struct Began {
    /// The working directory.
    pub cwd: String,
    /// The tools, by the names that scripts know.
    pub tools: Vec<String>,
    /// The model.
    pub model: String,
    /// The permission mode.
    pub mode: &'static str,
    /// Servers of tools: `{name, status, source}`.
    pub servers: Vec<Value>,
    /// Kinds of subagents.
    pub agents: Vec<String>,
    /// Skills.
    pub skills: Vec<String>,
    /// Prompts of servers, by the names of their commands.
    pub prompts: Vec<String>,
    /// Further working directories.
    pub directories: Vec<String>,
    /// How the model shall speak.
    pub output_style: String,
    /// What others share.
    pub plugins: Vec<Plugin>,
}

/// Whose words a line has: those of the session itself, or of a subagent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Speaker {
    /// The call that started the subagent.
    pub tool_use: String,
    /// The subagent.
    pub agent: String,
    /// Its kind.
    pub kind: String,
    /// What it shall do, in a few words.
    pub description: String,
    /// Whether nobody waits for it.
    pub is_background: bool,
    /// The name of its run as a task.
    pub run: String,
    /// 1 for a subagent of the session itself.
    pub depth: u32,
}

impl Speaker {
    /// Whether what it says and calls is shown: of a subagent that another one waits for, only
    /// that it works is.
    pub fn is_shown(&self) -> bool {
        self.is_background || self.depth == 1
    }
}

/// A block of an answer.
#[derive(Debug, Clone)]
pub struct Said {
    /// The uuid of the line.
    pub uuid: String,
    /// The message with this block alone.
    pub message: Json,
    /// The subagent, if one said it.
    pub speaker: Option<Speaker>,
    /// The id by which the endpoint knows the request.
    pub request_id: Option<String>,
    /// Whether the user cut it short.
    pub is_aborted: bool,
    /// How long the model thought about it.
    pub thinking: Option<Duration>,
    /// The failure, where the endpoint failed.
    pub failure: Option<Failed>,
    /// The prompts that it answers, where the host named them.
    pub prompts: Vec<String>,
    /// The command that said it in the model's place.
    pub command: Option<LocalCommand>,
}

/// A command of the client that ran in place of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalCommand {
    /// Its name.
    pub name: String,
    /// What it was given.
    pub arguments: String,
    /// Whether it failed.
    pub is_error: bool,
    /// Whether it needs a screen, which is not there.
    pub is_unavailable: bool,
}

/// What is seldom known of a failure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FailedMore {
    /// The request.
    pub request: Option<String>,
    /// The message that the model refused with.
    pub refused: Option<String>,
    /// What cut the answer.
    pub cut: Option<&'static str>,
}

/// How the endpoint failed, in the words of a JSON stream.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failed {
    /// Such as `server_error`.
    pub error: &'static str,
    /// The HTTP status.
    pub status: Option<u16>,
    /// The API's own name of the error.
    pub kind: Option<String>,
    /// What of the connection failed, where that is told apart.
    pub cause: Option<&'static str>,
    /// What more is known.
    pub more: Option<Box<FailedMore>>,
}

/// A line in place of the user.
#[derive(Debug, Clone)]
pub struct UserSaid {
    /// The uuid of the line.
    pub uuid: String,
    /// The content blocks.
    pub content: Value,
    /// The subagent whose result it is.
    pub speaker: Option<Speaker>,
    /// `toolUseResult` of the line.
    pub tool_use_result: Option<Value>,
    /// `tool_result_meta`: who decided about the call.
    pub meta: Option<Value>,
    /// Whether the client made it up for the model.
    pub is_synthetic: bool,
    /// The message that the endpoint stopped, if the text is about that.
    pub refused: Option<String>,
    /// `isReplay`, for lines that say whether they are one.
    pub replay: Option<bool>,
}

/// A call that was not allowed.
#[derive(Debug, Clone)]
pub struct DeniedCall {
    /// The tool.
    pub tool: String,
    /// The call.
    pub id: String,
    /// `decision_reason_type`.
    pub reason_type: Option<&'static str>,
    /// `decision_reason`.
    pub reason: Option<String>,
    /// What the model reads.
    pub message: String,
    /// The subagent, if one called.
    pub agent: Option<String>,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// The model is done.
    Completed,
    /// A hook ended it.
    HookStopped,
    /// A hook of `Stop` wants no more.
    StopHookPrevented,
    /// A hook wants the call to be made later: id, name, input.
    Deferred(String, String, String),
    /// A hook refused the prompt; the text says so.
    PromptBlocked(String),
    /// Nothing was asked: a prompt for later, or a command and its name.
    Local(Option<String>),
    /// The endpoint failed; the text says how.
    ApiError(String, Failed),
    /// The conversation is too long for the model.
    PromptTooLong(String, Failed),
    /// So many turns were allowed.
    MaxTurns(u64),
    /// The money is spent.
    Budget(f64),
    /// The model never gave the output that was asked for.
    NoStructuredOutput,
    /// The user interrupted while the model spoke.
    InterruptedText,
    /// The user interrupted while tools ran.
    InterruptedTools,
    /// The log cannot be written.
    LogFailed(String),
}

/// A turn that is over.
#[derive(Debug, Clone)]
pub struct Ended {
    /// How.
    pub end: End,
    /// The last text of the model.
    pub text: String,
    /// Why the model stopped last.
    pub stop_reason: Option<String>,
    /// The steps, as scripts count them.
    pub num_turns: u64,
    /// The output that was asked for.
    pub structured_output: Option<Value>,
    /// The calls that were not allowed: `{tool_name, tool_use_id, tool_input}`.
    pub denials: Vec<Value>,
    /// What started the turn, if it was no prompt.
    pub origin: Option<Value>,
    /// The prompts that were worked on, where the host named them.
    pub prompts: Vec<String>,
    /// Tokens of the first request.
    pub first_usage: Option<ModelTotals>,
    /// How long it took.
    pub duration: Duration,
    /// How long the endpoint took of that.
    pub api: Duration,
    /// From the start to the first block of an answer.
    pub first_event: Option<Duration>,
    /// The cost of the process so far.
    pub cost: Money,
    /// Tokens of this turn, summed.
    pub usage: ModelTotals,
    /// By model, of the process.
    pub models: Vec<(String, ModelTotals)>,
    /// By model, since the last turn ended.
    pub models_since: Vec<(String, ModelTotals)>,
    /// How many turns ended before.
    pub index: u64,
    /// How many prompts wait.
    pub queued: u64,
    /// Subagents of the process.
    pub agents: AgentStats,
    /// How often the process met a refusal of the model.
    pub refusals: u64,
}

impl Ended {
    /// Whether scripts should take it for a failure.
    pub fn is_error(&self) -> bool {
        !matches!(
            self.end,
            End::Completed
                | End::HookStopped
                | End::StopHookPrevented
                | End::Deferred(..)
                | End::PromptBlocked(_)
                | End::Local(_)
        )
    }
}
