//! The log of a session or of a subagent, line by line, and the conversation that it holds.

mod attach;
mod compaction;
mod repair;

use std::path::Path;
use std::path::PathBuf;

use jiff::Timestamp;
use recto_log::EntryUuid;
use recto_log::MessageId;
use recto_log::RequestId;
use recto_log::build::AnswerLine;
use recto_log::build::AnswerMessage;
use recto_log::build::Envelope;
use recto_log::build::MetaLine;
use recto_log::build::Position;
use recto_log::build::SyntheticLine;
use recto_log::build::SystemLine;
use recto_log::build::TurnPosition;
use recto_log::build::UserContent;
use recto_log::build::UserLine;
use recto_store::append::AppendError;
use recto_store::append::LogWriter;
use serde_json::Value;

use super::event::Failed;
use super::history::History;
use super::mirror::Mirror;
use super::sentence::shown_text;
use crate::wire::Block;
use crate::wire::Json;

pub(super) use compaction::CompactFacts;
pub(super) use compaction::Kept;

/// Which client's way of writing a log is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogStyle {
    /// That of 2.1.325: attachments, and lines beside the chain that say where to go on.
    #[default]
    Newest,
    /// That of 2.1.29: progress lines, no attachments.
    V2_1_29,
}

/// What a prompt says about itself.
#[derive(Debug, Clone, Default)]
pub(super) struct PromptFacts {
    pub(super) uuid: Option<EntryUuid>,
    pub(super) mode: &'static str,
    /// `origin` of a turn that no prompt started.
    pub(super) origin: Option<Value>,
    pub(super) source: &'static str,
    pub(super) turn_origin: &'static str,
    pub(super) skips_attachments: bool,
    /// Whether a program made it up.
    pub(super) is_meta: bool,
}

/// One block of an answer for the log.
#[derive(Debug)]
pub(super) struct AnswerBlock<'a> {
    /// The message as the endpoint began it, or as it ended.
    pub(super) message: &'a Json,
    pub(super) block: &'a Block,
    pub(super) index: u64,
    pub(super) request_id: Option<&'a str>,
    pub(super) requested_model: &'a str,
    pub(super) agent_kind: Option<&'a str>,
    pub(super) is_aborted: bool,
    pub(super) thinking_milliseconds: Option<u64>,
    /// Known before the line is written, because others name it.
    pub(super) uuid: EntryUuid,
}

/// A result for the log.
#[derive(Debug)]
pub(super) struct ResultLine<'a> {
    pub(super) blocks: &'a Value,
    pub(super) structured: &'a Value,
    pub(super) denial: Option<String>,
    pub(super) sandboxed: Option<bool>,
    pub(super) assistant: &'a EntryUuid,
    pub(super) decision: Option<&'a Value>,
}

/// A new uuid for a line.
pub(super) fn new_uuid() -> EntryUuid {
    EntryUuid::from_bits(uuid::Uuid::new_v4().as_u128())
}

/// A log and its conversation.
#[derive(Debug)]
pub(super) struct Transcript {
    envelope: Envelope,
    /// What the file gets, where that is another generation than the conversation's.
    old: Option<Envelope>,
    /// None where nothing is kept.
    /// The name of the session in words.
    slug: String,
    writer: Option<LogWriter>,
    pub(super) history: History,
    last: Option<EntryUuid>,
    prompt_id: String,
    prompt_text: String,
    turns: u64,
    tools_used: Vec<String>,
    /// How many lines of the chain there are.
    pub(super) lines: u64,
    /// Where lines are told, and under which name.
    mirror: Option<(Mirror, PathBuf)>,
    /// The last line of the chain.
    newest: Vec<u8>,
    /// The last prompt, and the last text of the model: name and line.
    prompt_line: Option<(EntryUuid, Vec<u8>)>,
    answer_line: Option<(EntryUuid, Vec<u8>)>,
    /// The last answer with calls, and what followed it.
    step_lines: Vec<(EntryUuid, Vec<u8>)>,
    /// Which message these begin with.
    step_message: String,
    /// Tokens that compactions took out.
    dropped: u64,
}

type Written<T> = Result<T, AppendError>;

impl Transcript {
    pub(super) fn new(
        envelope: Envelope,
        writer: Option<LogWriter>,
        history: History,
        style: LogStyle,
        slug: &str,
    ) -> Transcript {
        let old = (style == LogStyle::V2_1_29).then(|| {
            let mut old = envelope.clone();
            old.generation = recto_log::Generation::V2_1_0;
            old.version = Some(version("2.1.29"));
            old.slug = Some(slug.to_owned());
            old
        });
        Transcript {
            envelope,
            old,
            slug: slug.to_owned(),
            writer,
            history,
            last: None,
            prompt_id: String::new(),
            prompt_text: String::new(),
            turns: 0,
            tools_used: Vec::new(),
            lines: 0,
            mirror: None,
            newest: Vec::new(),
            prompt_line: None,
            answer_line: None,
            step_lines: Vec::new(),
            step_message: String::new(),
            dropped: 0,
        }
    }

    /// Tells lines from now on.
    pub(super) fn mirror_to(&mut self, mirror: Option<Mirror>, log: &Path) {
        self.mirror = mirror.map(|mirror| (mirror, log.to_owned()));
    }

    /// Goes on after a line of the log.
    pub(super) fn go_on_from(&mut self, leaf: Option<EntryUuid>, turns: u64, lines: u64) {
        self.last = leaf;
        self.turns = turns;
        self.lines = lines;
    }

    /// The prompt that is being worked on.
    pub(super) fn prompt_id(&self) -> &str {
        &self.prompt_id
    }

    /// The prompt that lines of a subagent belong to.
    pub(super) fn set_prompt_id(&mut self, id: &str) {
        id.clone_into(&mut self.prompt_id);
    }

    pub(super) fn set_cwd(&mut self, cwd: &str, branch: Option<String>) {
        for envelope in std::iter::once(&mut self.envelope).chain(&mut self.old) {
            envelope.cwd = Some(cwd.to_owned());
            envelope.branch.clone_from(&branch);
        }
    }

    /// Appends a line as it is.
    pub(super) fn append(&mut self, line: &[u8]) -> Written<()> {
        if let Some((mirror, log)) = &self.mirror {
            mirror.note(log, line);
        }
        match &mut self.writer {
            Some(writer) => writer.append(line),
            None => Ok(()),
        }
    }

    /// A line of the chain, for the log and the conversation.
    fn chained(
        &mut self,
        position: Position,
        answer: Option<&str>,
        is_in_old_logs: bool,
        line: impl Fn(&Envelope, &Position) -> Vec<u8>,
    ) -> Written<EntryUuid> {
        let newest = line(&self.envelope, &position);
        match &self.old {
            Some(old) if is_in_old_logs => {
                let bytes = line(old, &position);
                self.append(&bytes)?;
            }
            Some(_) => {
                self.history.push(&newest, answer);
                return Ok(position.uuid);
            }
            None => self.append(&newest)?,
        }
        self.history.push(&newest, answer);
        if let Some(id) = answer.filter(|id| *id != self.step_message) {
            id.clone_into(&mut self.step_message);
            self.step_lines.clear();
        }
        if !self.step_message.is_empty() {
            self.step_lines.push((position.uuid.clone(), newest.clone()));
        }
        self.newest = newest;
        self.last = Some(position.uuid.clone());
        self.lines += 1;
        Ok(position.uuid)
    }

    fn next(&self) -> Position {
        self.next_as(new_uuid())
    }

    fn next_as(&self, uuid: EntryUuid) -> Position {
        let time = Timestamp::now();
        match &self.last {
            Some(last) => Position::after(last.clone(), uuid, time),
            None => Position::root(uuid, time),
        }
    }

    /// The line of the prompt that is worked on.
    pub(super) fn prompt_uuid(&self) -> EntryUuid {
        self.prompt_line.as_ref().map_or_else(new_uuid, |(uuid, _)| uuid.clone())
    }

    /// A new prompt id begins.
    pub(super) fn begin_prompt(&mut self) {
        self.prompt_id = uuid::Uuid::new_v4().to_string();
    }

    /// The prompt of a turn.
    pub(super) fn prompt(&mut self, content: &Value, facts: &PromptFacts) -> Written<EntryUuid> {
        self.turns += 1;
        let json = Json::from(content);
        if facts.origin.is_none() {
            self.prompt_text = shown_text(content);
        }
        let origin = facts.origin.as_ref().map(Json::from);
        let content = match content.as_str() {
            Some(text) => UserContent::Text(text.into()),
            None => UserContent::Json(json.value()),
        };
        let mut line = UserLine::new(content);
        let prompt = self.prompt_id.clone();
        line.prompt = Some(prompt.into());
        line.permission_mode = Some(facts.mode.into());
        line.origin = origin.as_ref().map(Json::value);
        line.prompt_source = Some(facts.source.into());
        line.turn_origin = Some(facts.turn_origin.into());
        line.turn_position = Some(TurnPosition { prompt: 0, turn: self.turns });
        line.queue_skips_attachments = facts.skips_attachments;
        line.is_meta = facts.is_meta;
        let position = self.next_as(facts.uuid.clone().unwrap_or_else(new_uuid));
        let uuid = self.chained(position, None, true, |envelope, position| {
            envelope.user(position, &for_generation(&line, envelope))
        })?;
        self.prompt_line = Some((uuid.clone(), self.newest.clone()));
        Ok(uuid)
    }

    /// The prompt of a subagent.
    pub(super) fn task(&mut self, text: &str) -> Written<EntryUuid> {
        let mut line = UserLine::text(text);
        let prompt = self.prompt_id.clone();
        line.prompt = Some(prompt.into());
        let position = self.next();
        self.chained(position, None, true, |envelope, position| {
            envelope.user(position, &for_generation(&line, envelope))
        })
    }

    /// Text of the client for the model, in place of the user.
    pub(super) fn companion(
        &mut self,
        text: &str,
        is_companion: bool,
        refused: Option<&str>,
    ) -> Written<EntryUuid> {
        let mut line = UserLine::meta(text);
        let prompt = self.prompt_id.clone();
        line.prompt = Some(prompt.into());
        line.is_turn_companion = is_companion;
        line.refused_message = refused.map(MessageId::new);
        let position = self.next();
        self.chained(position, None, true, |envelope, position| {
            envelope.user(position, &for_generation(&line, envelope))
        })
    }

    /// That the user interrupted, as blocks in place of the user.
    pub(super) fn interruption(&mut self, blocks: &Value) -> Written<EntryUuid> {
        let json = Json::from(blocks);
        let mut line = UserLine::new(UserContent::Json(json.value()));
        let prompt = self.prompt_id.clone();
        line.prompt = Some(prompt.into());
        let position = self.next();
        self.chained(position, None, true, |envelope, position| {
            envelope.user(position, &for_generation(&line, envelope))
        })
    }

    /// The result of a call. It follows the call, whatever was written since.
    pub(super) fn result(&mut self, result: &ResultLine<'_>) -> Written<EntryUuid> {
        let blocks = Json::from(result.blocks);
        let structured = Json::from(result.structured);
        let decision = result.decision.map(Json::from);
        let keeps = !result.structured.is_null();
        let mut line = UserLine::tool_result(blocks.value(), keeps.then(|| structured.value()));
        let prompt = self.prompt_id.clone();
        line.prompt = Some(prompt.into());
        line.tool_denial = result.denial.as_deref().map(Into::into);
        line.is_sandboxed = result.sandboxed;
        line.source_assistant = Some(result.assistant.clone());
        line.permission_decision = decision.as_ref().map(Json::value);
        let position = Position::after(result.assistant.clone(), new_uuid(), Timestamp::now());
        self.chained(position, None, true, |envelope, position| {
            envelope.user(position, &for_generation(&line, envelope))
        })
    }

    /// One block of an answer.
    pub(super) fn answer(&mut self, answer: &AnswerBlock<'_>) -> Written<()> {
        let value = answer.message.value();
        let id = answer.message.str("id").unwrap_or_default();
        let usage = answer.message.get("usage").unwrap_or_else(|| Json::from(Value::Null));
        let stop_reason = answer.message.str("stop_reason");
        let message = AnswerMessage {
            id: MessageId::new(&id),
            model: answer.message.str("model").unwrap_or_default(),
            block: answer.block.json().value(),
            stop_reason,
            stop_sequence: answer.message.str("stop_sequence"),
            usage: usage.value(),
            context_management: None,
            stop_details: value.get("stop_details"),
        };
        let mut line = AnswerLine::new(message);
        line.request = answer.request_id.map(RequestId::new);
        line.is_aborted = answer.is_aborted;
        let mut newest = line.clone();
        newest.thinking_milliseconds = answer.thinking_milliseconds;
        newest.block_index = Some(answer.index);
        newest.requested_model = Some(answer.requested_model.into());
        newest.agent_kind = answer.agent_kind.map(Into::into);
        newest.made_by = Some("model".into());
        let position = self.next_as(answer.uuid.clone());
        self.chained(position, Some(&id), true, |envelope, position| {
            let line = if is_newest(envelope) { &newest } else { &line };
            envelope.answer(position, line)
        })?;
        let is_text = answer.block.kind() == "text";
        self.answer_line = is_text
            .then(|| (answer.uuid.clone(), self.newest.clone()))
            .filter(|_| !answer.is_aborted);
        if let recto_log::Block::ToolUse { .. } = answer.block.view() {
            let name = answer.block.view().name().unwrap_or_default().into_owned();
            self.used(name)?;
        }
        Ok(())
    }

    /// Notes the tools that were used, once each.
    fn used(&mut self, name: String) -> Written<()> {
        if self.tools_used.contains(&name) || self.envelope.agent.is_some() {
            return Ok(());
        }
        self.tools_used.push(name);
        let tools = self.tools_used.iter().map(|name| name.clone().into()).collect();
        self.meta(&MetaLine::ToolsUsed(tools))
    }

    /// An answer that the client makes up.
    pub(super) fn synthetic(
        &mut self,
        id: &str,
        text: &str,
        failed: Option<(&Failed, Option<&str>)>,
    ) -> Written<EntryUuid> {
        let mut line = SyntheticLine::new(MessageId::new(id), text.to_owned());
        line.made_by = Some("other".into());
        if let Some((failed, request)) = failed {
            line.is_api_error = true;
            line.error = Some(failed.error.into());
            line.status = failed.status.map(u64::from);
            line.error_type = failed.kind.clone().map(Into::into);
            line.request = request.map(RequestId::new);
            line.made_by = Some("model".into());
        }
        let position = self.next();
        self.chained(position, Some(id), true, |envelope, position| {
            envelope.synthetic(position, &line)
        })
    }

    /// An event of the client itself.
    pub(super) fn system(&mut self, line: &SystemLine<'_>) -> Written<EntryUuid> {
        let position = self.next();
        self.chained(position, None, true, |envelope, position| envelope.system(position, line))
    }

    /// A line beside the chain. Older logs have few kinds of them.
    pub(super) fn meta(&mut self, line: &MetaLine<'_>) -> Written<()> {
        let bytes = match &self.old {
            Some(old) => match line {
                MetaLine::QueueOperation(_)
                | MetaLine::FileHistorySnapshot(_)
                | MetaLine::Summary { .. } => old.meta(line),
                _ => return Ok(()),
            },
            None => self.envelope.meta(line),
        };
        self.append(&bytes)
    }

    /// Where to go on from. Written often, because any line may be the last.
    pub(super) fn last_prompt(&mut self) -> Written<()> {
        let Some(leaf) = self.last.clone() else { return Ok(()) };
        let prompt = self.prompt_text.clone();
        self.meta(&MetaLine::LastPrompt {
            prompt: (!prompt.is_empty()).then(|| prompt.into()),
            leaf,
            is_explicit: false,
        })
    }

    /// Whether progress lines are written.
    pub(super) fn has_progress(&self) -> bool {
        self.old.is_some()
    }
}

fn is_newest(envelope: &Envelope) -> bool {
    envelope.generation >= recto_log::Generation::V2_1_100
}

/// The facts that a generation writes.
fn for_generation<'a>(line: &UserLine<'a>, envelope: &Envelope) -> UserLine<'a> {
    if is_newest(envelope) {
        return line.clone();
    }
    let mut old = UserLine::new(line.content.clone());
    old.is_meta = line.is_meta;
    old.is_compact_summary = line.is_compact_summary;
    old.tool_use_result = line.tool_use_result;
    old.permission_mode.clone_from(&line.permission_mode);
    old.source_assistant.clone_from(&line.source_assistant);
    old
}

/// The version that lines have: the client whose format they follow, and who wrote them.
pub(super) fn version(format: &str) -> String {
    format!("{format}+recto.{}", env!("CARGO_PKG_VERSION"))
}
