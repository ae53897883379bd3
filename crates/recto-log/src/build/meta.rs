//! Lines beside the chain: titles, the leaf, the queue, cost, requests, backups.

use std::borrow::Cow;

use jiff::Timestamp;

use crate::EntryUuid;
use crate::Generation;
use crate::Kind;
use crate::json::ArrayWriter;
use crate::json::ObjectWriter;
use crate::json::Value;

use super::CostLine;
use super::DeltaLine;
use super::Envelope;
use super::SnapshotLine;
use super::UserContent;

/// What happened to the queue of prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueStep {
    /// A prompt was put in.
    Enqueue,
    /// The next prompt was taken.
    Dequeue,
    /// A prompt was taken out of order.
    Remove,
    /// The queue was put back into the input line.
    PopAll,
}

impl QueueStep {
    /// The operation in the log.
    pub fn name(self) -> &'static str {
        match self {
            QueueStep::Enqueue => "enqueue",
            QueueStep::Dequeue => "dequeue",
            QueueStep::Remove => "remove",
            QueueStep::PopAll => "popAll",
        }
    }
}

/// A prompt that was put into, or taken from, the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueLine<'a> {
    /// What happened.
    pub step: QueueStep,
    /// When.
    pub time: Timestamp,
    /// The prompt.
    pub content: Option<UserContent<'a>>,
    /// Why it was taken out (2.1.325).
    pub reason: Option<Cow<'a, str>>,
    /// The line that the prompt became.
    pub command: Option<EntryUuid>,
    /// The id of its delivery.
    pub delivery: Option<Cow<'a, str>>,
}

impl<'a> QueueLine<'a> {
    /// A step of the queue, and the prompt where it is named.
    pub fn new(
        step: QueueStep,
        time: Timestamp,
        content: Option<UserContent<'a>>,
    ) -> QueueLine<'a> {
        QueueLine { step, time, content, reason: None, command: None, delivery: None }
    }
}

/// A request that was sent, as a difference to an earlier one (2.1.325).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiRequest<'a> {
    /// The id that assistant lines name.
    pub id: Cow<'a, str>,
    /// When it was sent.
    pub time: Timestamp,
    /// What asked, such as `repl_main_thread`.
    pub source: Cow<'a, str>,
    /// The system prompt and tools that were sent.
    pub shape_hash: Cow<'a, str>,
    /// The model and its settings.
    pub parameters: Value<'a>,
    /// The request that this one goes on from.
    pub base: Option<Cow<'a, str>>,
    /// How many messages of the base are kept.
    pub keep: u64,
    /// The hashes of the messages after those: an array.
    pub tail: Value<'a>,
    /// What the cache was asked to keep: an array.
    pub cache_control: Value<'a>,
    /// A digest of the whole request.
    pub digest: Cow<'a, str>,
}

/// The facts of a line beside the chain.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum MetaLine<'a> {
    /// A title that a model gave (up to 2.1.99).
    Summary {
        /// The title.
        title: Cow<'a, str>,
        /// The last line of the session that it names.
        leaf: EntryUuid,
    },
    /// A title that the user gave. An empty one takes the title back.
    CustomTitle(Cow<'a, str>),
    /// A title that a model gave (from 2.1.200).
    AiTitle(Cow<'a, str>),
    /// The title again, as the name under which clients from 2.1.200 run it.
    AgentName(Cow<'a, str>),
    /// The kind of agent that the session is run as.
    AgentSetting(Cow<'a, str>),
    /// The leaf from which clients from 2.1.200 resume.
    LastPrompt {
        /// What the user said last.
        prompt: Option<Cow<'a, str>>,
        /// The leaf.
        leaf: EntryUuid,
        /// Whether the user chose the leaf, by rewinding.
        is_explicit: bool,
    },
    /// The mode of the terminal.
    Mode(Cow<'a, str>),
    /// The permission mode.
    PermissionMode(Cow<'a, str>),
    /// The names of the tools that were used.
    ToolsUsed(Vec<Cow<'a, str>>),
    /// A latch of the client whose meaning is not known.
    AtisLatch(Cow<'a, str>),
    /// What the session has cost so far.
    CostState(CostLine<'a>),
    /// A prompt was put into, or taken from, the queue.
    QueueOperation(QueueLine<'a>),
    /// Which files were backed up before an edit.
    FileHistorySnapshot(SnapshotLine<'a>),
    /// One more file that was backed up.
    FileHistoryDelta(DeltaLine<'a>),
    /// A request that was sent to the API.
    ApiRequest(ApiRequest<'a>),
    /// The system prompt and tools of requests.
    ApiRequestShape {
        /// The hash that requests name.
        hash: Cow<'a, str>,
        /// When it was first sent.
        time: Timestamp,
        /// The system prompt and tools.
        shape: Value<'a>,
    },
    /// A message of a request that no other line gives.
    ApiRequestBlob {
        /// The hash that requests name.
        hash: Cow<'a, str>,
        /// The message.
        message: Value<'a>,
    },
    /// A pull request made in the session.
    PrLink {
        /// Its number.
        number: u64,
        /// Its address.
        url: Cow<'a, str>,
        /// Its repository.
        repository: Cow<'a, str>,
        /// When it was made.
        time: Timestamp,
    },
    /// The session went on in another directory.
    Relocated {
        /// The directory.
        cwd: Cow<'a, str>,
    },
    /// The worktree that the session works in.
    WorktreeState(Value<'a>),
}

impl<'a> MetaLine<'a> {
    /// The leaf to resume from, which the client chose.
    pub fn last_prompt(prompt: impl Into<Cow<'a, str>>, leaf: EntryUuid) -> MetaLine<'a> {
        MetaLine::LastPrompt { prompt: Some(prompt.into()), leaf, is_explicit: false }
    }

    /// The kind of the line.
    pub fn kind(&self) -> Kind {
        match self {
            MetaLine::Summary { .. } => Kind::Summary,
            MetaLine::CustomTitle(_) => Kind::CustomTitle,
            MetaLine::AiTitle(_) => Kind::AiTitle,
            MetaLine::AgentName(_) => Kind::AgentName,
            MetaLine::AgentSetting(_) => Kind::AgentSetting,
            MetaLine::LastPrompt { .. } => Kind::LastPrompt,
            MetaLine::Mode(_) => Kind::Mode,
            MetaLine::PermissionMode(_) => Kind::PermissionMode,
            MetaLine::ToolsUsed(_) => Kind::ToolsUsed,
            MetaLine::AtisLatch(_) => Kind::AtisLatch,
            MetaLine::CostState(_) => Kind::CostState,
            MetaLine::QueueOperation(_) => Kind::QueueOperation,
            MetaLine::FileHistorySnapshot(_) => Kind::FileHistorySnapshot,
            MetaLine::FileHistoryDelta(_) => Kind::FileHistoryDelta,
            MetaLine::ApiRequest(_) => Kind::ApiRequest,
            MetaLine::ApiRequestShape { .. } => Kind::ApiRequestShape,
            MetaLine::ApiRequestBlob { .. } => Kind::ApiRequestBlob,
            MetaLine::PrLink { .. } => Kind::PrLink,
            MetaLine::Relocated { .. } => Kind::Relocated,
            MetaLine::WorktreeState(_) => Kind::WorktreeState,
        }
    }
}

impl Envelope {
    /// A line beside the chain, without a line end.
    pub fn meta(&self, meta: &MetaLine<'_>) -> Vec<u8> {
        let line = ObjectWriter::new().string("type", meta.kind().name());
        match meta {
            MetaLine::Summary { title, leaf } => line.string("summary", title).id("leafUuid", leaf),
            MetaLine::CustomTitle(title) => self.session(line.string("customTitle", title)),
            MetaLine::AiTitle(title) => self.session(line.string("aiTitle", title)),
            MetaLine::AgentName(name) => self.session(line.string("agentName", name)),
            MetaLine::AgentSetting(kind) => self.session(line.string("agentSetting", kind)),
            MetaLine::Mode(mode) => self.session(line.string("mode", mode)),
            MetaLine::PermissionMode(mode) => self.session(line.string("permissionMode", mode)),
            MetaLine::AtisLatch(latch) => self.session(line.string("atis", latch)),
            MetaLine::WorktreeState(state) => self.session(line.value("worktreeSession", *state)),
            MetaLine::Relocated { cwd } => self.session(line).string("relocatedCwd", cwd),
            MetaLine::ToolsUsed(tools) => {
                self.session(line.json("tools", &ArrayWriter::new().strings(tools).finish()))
            }
            MetaLine::LastPrompt { prompt, leaf, is_explicit } => self.session(
                line.string_if_any("lastPrompt", prompt.as_deref())
                    .id("leafUuid", leaf)
                    .true_if("explicit", *is_explicit),
            ),
            MetaLine::CostState(cost) => cost.write(self.session(line)),
            MetaLine::PrLink { number, url, repository, time } => self
                .session(line)
                .number("prNumber", *number)
                .string("prUrl", url)
                .string("prRepository", repository)
                .time("timestamp", *time),
            MetaLine::QueueOperation(queue) => self.queue_operation(line, queue),
            MetaLine::FileHistorySnapshot(snapshot) => snapshot.write(line),
            MetaLine::FileHistoryDelta(delta) => delta.write(line),
            MetaLine::ApiRequest(request) => self.request(self.agent(line), request),
            MetaLine::ApiRequestShape { hash, time, shape } => self
                .agent(line)
                .string("shapeHash", hash)
                .time("timestamp", *time)
                .string_if_any("version", self.version.as_deref())
                .value("shape", *shape),
            MetaLine::ApiRequestBlob { hash, message } => {
                self.agent(line).string("hash", hash).value("message", *message)
            }
        }
        .finish()
    }

    fn session(&self, line: ObjectWriter) -> ObjectWriter {
        line.id_if_any("sessionId", self.session.as_ref())
    }

    /// Requests of subagents are in the log of the subagent.
    fn agent(&self, line: ObjectWriter) -> ObjectWriter {
        self.session(line).id_if_any("agentId", self.agent.as_ref())
    }

    fn queue_operation(&self, line: ObjectWriter, queue: &QueueLine<'_>) -> ObjectWriter {
        let line = line.string("operation", queue.step.name()).time("timestamp", queue.time);
        let content = |line: ObjectWriter| match &queue.content {
            Some(content) => content.write(line),
            None => line,
        };
        let line = if self.generation < Generation::V2_1_0 {
            self.session(content(line))
        } else {
            content(self.session(line))
        };
        line.string_if_any("reason", queue.reason.as_deref())
            .id_if_any("commandUuid", queue.command.as_ref())
            .string_if_any("deliveryId", queue.delivery.as_deref())
    }

    fn request(&self, line: ObjectWriter, request: &ApiRequest<'_>) -> ObjectWriter {
        line.string("id", &request.id)
            .time("timestamp", request.time)
            .string_if_any("version", self.version.as_deref())
            .string("querySource", &request.source)
            .string("shapeHash", &request.shape_hash)
            .value("params", request.parameters)
            .string_if_any("base", request.base.as_deref())
            .number("keep", request.keep)
            .value("tail", request.tail)
            .value("cacheControl", request.cache_control)
            .string("requestDigest", &request.digest)
    }
}
