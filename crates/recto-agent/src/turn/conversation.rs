//! A conversation with a model: of the session itself, or of a subagent.

mod task;

use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

use recto_log::EntryUuid;
use recto_store::append::AppendError;
use serde_json::Value;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::call::Calling;
use super::call::Finished;
use super::call::result_block;
use super::call::result_meta;
use super::event::Speaker;
use super::event::TurnEvent;
use super::event::UserSaid;
use super::output_schema::OutputSchema;
use super::prompt::budget;
use super::prompt::thinks_by_itself;
use super::prompt::usual_tokens;
use super::sentence;
use super::shared::HookScene;
use super::shared::Shared;
use super::shared::lock;
use super::totals::ModelTotals;
use super::transcript::ResultLine;
use super::transcript::Transcript;
use crate::api::CacheTime;
use crate::api::set_marks;
use crate::hook;
use crate::tool;
use crate::tool::AgentCall;
use crate::tool::Denial;
use crate::tool::Mail;
use crate::tool::Note;
use crate::tool::Notice;
use crate::tool::Tool;
use crate::tool::ToolCall;
use crate::tool::ToolOutcome;
use crate::tool::loaded_tools;
use crate::wire::Block;
use crate::wire::Json;
use crate::wire::Request;

/// How far a turn may go.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Limits {
    pub(super) max_turns: Option<u64>,
    pub(super) budget: Option<f64>,
}

/// What is known of the turn that runs.
#[derive(Debug)]
pub(super) struct TurnState {
    pub(super) began: Instant,
    /// Lines in place of the user since the prompt.
    pub(super) user_lines: u64,
    pub(super) requests: u64,
    /// The last text of the model.
    pub(super) text: String,
    pub(super) stop_reason: Option<String>,
    pub(super) usage: ModelTotals,
    pub(super) last_usage: Option<Json>,
    pub(super) api: Duration,
    pub(super) first_event: Option<Duration>,
    pub(super) structured_output: Option<Value>,
    pub(super) calls: Vec<AgentCall>,
    /// How many calls were begun.
    pub(super) begun: u64,
    /// The prompts of the turn that have names of the host.
    pub(super) prompts: Vec<String>,
    /// Those that no line has answered yet.
    pub(super) unanswered: Vec<String>,
    pub(super) first_usage: Option<ModelTotals>,
    /// Steps in a row in which the model said nothing to the user.
    pub(super) silent: u64,
}

impl TurnState {
    fn new() -> TurnState {
        TurnState {
            began: Instant::now(),
            user_lines: 0,
            requests: 0,
            text: String::new(),
            stop_reason: None,
            usage: ModelTotals::default(),
            last_usage: None,
            api: Duration::ZERO,
            first_event: None,
            structured_output: None,
            calls: Vec::new(),
            begun: 0,
            prompts: Vec::new(),
            unanswered: Vec::new(),
            first_usage: None,
            silent: 0,
        }
    }
}

/// A conversation.
#[derive(Debug)]
pub(super) struct Conversation {
    pub(super) shared: Arc<Shared>,
    pub(super) tools: Arc<tool::Session>,
    pub(super) transcript: Transcript,
    /// The subagent whose conversation it is.
    pub(super) speaker: Option<Speaker>,
    /// A model of its own.
    pub(super) own_model: Option<String>,
    pub(super) system: Vec<Block>,
    pub(super) declared: Vec<Json>,
    pub(super) schema: Option<Arc<OutputSchema>>,
    /// What hooks of a compaction said, for whoever asked for it.
    pub(super) compaction_told: Vec<String>,
    pub(super) limits: Limits,
    pub(super) turn: TurnState,
    /// Results go into the log alone: the turn is over but for them.
    pub(super) hides_results: bool,
    /// Results that came then.
    pub(super) withheld: Vec<(ToolCall, EntryUuid, ToolOutcome, Option<Value>)>,
    /// What others tell a subagent meanwhile.
    pub(super) mail: Mail,
    /// Calls that were put off, with their lines.
    pub(super) deferred: Vec<(ToolCall, EntryUuid)>,
    /// Background tasks that ended, of which the model does not know yet; the log does.
    pub(super) ended_tasks: Vec<Notice>,
}

pub(super) type Written<T> = Result<T, AppendError>;

impl Conversation {
    pub(super) fn new(
        shared: Arc<Shared>,
        tools: Arc<tool::Session>,
        transcript: Transcript,
        system: Vec<Block>,
    ) -> Conversation {
        let declared = declarations(&tools);
        Conversation {
            shared,
            tools,
            transcript,
            speaker: None,
            own_model: None,
            system,
            declared,
            schema: None,
            compaction_told: Vec::new(),
            limits: Limits::default(),
            turn: TurnState::new(),
            hides_results: false,
            withheld: Vec::new(),
            mail: Mail::default(),
            deferred: Vec::new(),
            ended_tasks: Vec::new(),
        }
    }

    /// A turn begins.
    pub(super) fn begin(&mut self) {
        self.turn = TurnState::new();
        self.hides_results = false;
    }

    pub(super) fn model(&self) -> String {
        self.own_model.clone().unwrap_or_else(|| self.shared.model())
    }

    /// Another model may have been chosen since the last request.
    pub(super) fn follow_model(&mut self) {
        let model = self.model();
        if self.transcript.history.model() != model {
            self.transcript.history.set_model(&model);
        }
    }

    pub(super) async fn tell(&self, event: TurnEvent) {
        self.shared.events.send(event).await;
        self.shared.tell_mirror().await;
    }

    pub(super) fn scene(&self) -> HookScene {
        let prompt_id = self.transcript.prompt_id();
        HookScene {
            prompt_id: (!prompt_id.is_empty()).then(|| prompt_id.to_owned()),
            agent: self
                .speaker
                .as_ref()
                .map(|speaker| (speaker.agent.clone(), speaker.kind.clone())),
            cwd: self.tools.cwd().display().to_string(),
        }
    }

    pub(super) fn calling(&self, cancel: &CancellationToken) -> Calling {
        Calling {
            shared: Arc::clone(&self.shared),
            tools: Arc::clone(&self.tools),
            scene: self.scene(),
            schema: self.schema.clone(),
            cancel: cancel.clone(),
        }
    }

    /// The next request.
    pub(super) fn request(&self) -> Request {
        let model = self.model();
        let shared = &self.shared;
        let most = shared.max_tokens.unwrap_or_else(|| usual_tokens(&model));
        let mut request = Request::new(model.clone(), most);
        request.system.clone_from(&self.system);
        request.tools.clone_from(&self.declared);
        for tool in loaded_tools(&self.tools) {
            if request
                .tools
                .iter()
                .all(|known| known.str("name").as_deref() != tool["name"].as_str())
            {
                request.tools.push(tool.into());
            }
        }
        if let Some(schema) = &self.schema {
            request.tools.push(schema.declaration().into());
        }
        request.messages = self.transcript.history.messages();
        request.thinking = match &*lock(&shared.thinking) {
            Some(thinking) if thinking.str("type").as_deref() == Some("disabled") => None,
            // Models that decide themselves are only told to think.
            _ if thinks_by_itself(&model) => Some(json!({"type": "adaptive"}).into()),
            Some(thinking) => budget(thinking, most),
            None => None,
        };
        let mut config = serde_json::Map::new();
        if let Some(effort) = &shared.effort {
            config.insert("effort".into(), effort.as_str().into());
            request.betas.push("effort-2025-11-24".to_owned());
        }
        if let Some(total) = shared.task_budget {
            config.insert("task_budget".into(), json!({"type": "tokens", "total": total}));
            request.betas.push("task-budgets-2026-03-13".to_owned());
        }
        if !config.is_empty() {
            request.set_field("output_config", Value::Object(config).into());
        }
        request.betas.extend(shared.betas.iter().cloned());
        set_marks(&mut request, CacheTime::Minutes);
        request
    }

    /// Writes what hooks want to have in the log.
    pub(super) fn write_hook_lines(&mut self, lines: &[hook::Line]) -> Written<()> {
        self.write_noted()?;
        for line in lines {
            let note = line.note.as_deref().map(|note| (note, "system"));
            self.transcript.attachment(&line.attachment, note)?;
        }
        Ok(())
    }

    /// Takes a result over: into the log, the conversation and the stream.
    pub(super) async fn take_result(&mut self, finished: &Finished) -> Written<()> {
        self.write_hook_lines(&finished.before)?;
        if let Some(copied) = &finished.copied {
            self.write_copied(&finished.line, copied)?;
        }
        self.write_result(
            &finished.call,
            &finished.line,
            &finished.outcome,
            finished.decision.as_ref(),
        )
        .await?;
        self.write_hook_lines(&finished.after)?;
        for note in &finished.outcome.notes {
            self.write_note(note).await?;
        }
        let (added, removed) = AgentCall::changed_lines(&finished.outcome);
        {
            let mut totals = lock(&self.shared.totals);
            totals.tools += finished.took;
            totals.lines.0 += added;
            totals.lines.1 += removed;
        }
        self.tools.note_used(&finished.call.name);
        let (name, input) = (&finished.call.name, &finished.call.input);
        self.turn.calls.push(AgentCall::of(name, input, &finished.outcome));
        if finished.structured_output.is_some() {
            self.turn.structured_output.clone_from(&finished.structured_output);
        }
        Ok(())
    }

    async fn write_result(
        &mut self,
        call: &ToolCall,
        line: &EntryUuid,
        outcome: &ToolOutcome,
        decision: Option<&Value>,
    ) -> Written<()> {
        if self.hides_results {
            // Whoever gave the money does not see it; the next prompt needs it.
            self.withheld.push((call.clone(), line.clone(), outcome.clone(), decision.cloned()));
            return Ok(());
        }
        self.log_result(call, line, outcome, decision, true).await
    }

    /// Results that came when the money was spent belong before the next prompt.
    pub(super) async fn log_withheld(&mut self) -> Written<()> {
        for (call, line, outcome, decision) in std::mem::take(&mut self.withheld) {
            self.log_result(&call, &line, &outcome, decision.as_ref(), false).await?;
        }
        Ok(())
    }

    async fn log_result(
        &mut self,
        call: &ToolCall,
        line: &EntryUuid,
        outcome: &ToolOutcome,
        decision: Option<&Value>,
        is_told: bool,
    ) -> Written<()> {
        let blocks = json!([result_block(&call.id, &call.name, outcome)]);
        let is_bash = matches!(Tool::named(&call.name), Some(Tool::Bash));
        let ran = is_bash && outcome.line.get("toolDenialKind").is_none() && decision.is_some();
        let denial = outcome.line.get("toolDenialKind").and_then(Value::as_str).map(str::to_owned);
        // The log of a subagent keeps no second copy.
        let structured = if self.speaker.is_some() { &Value::Null } else { &outcome.structured };
        let uuid = self.transcript.result(&ResultLine {
            blocks: &blocks,
            structured,
            denial,
            sandboxed: ran.then(|| self.tools.sandbox_of(&call.id).is_some()),
            assistant: line,
            decision,
        })?;
        self.note_for_parent("user", &json!({"role": "user", "content": blocks}));
        if !is_told {
            return Ok(());
        }
        self.turn.user_lines += 1;
        let said = UserSaid {
            uuid: uuid.to_string(),
            content: blocks,
            speaker: self.speaker.clone(),
            tool_use_result: self.speaker.is_none().then(|| outcome.structured.clone()),
            meta: result_meta(&call.id, outcome, decision),
            is_synthetic: false,
            refused: None,
            replay: None,
        };
        self.tell(TurnEvent::User(Box::new(said))).await;
        Ok(())
    }

    /// Something that the model shall know besides.
    pub(super) async fn write_note(&mut self, note: &Note) -> Written<()> {
        match note {
            Note::Attached(attachment, told) => {
                let told = told.as_ref().map(|(text, role)| (text.as_str(), *role));
                self.transcript.attachment(attachment, told)?;
            }
            Note::System(text) if text.starts_with("## Exited Plan Mode") => {
                let file = self.tools.plan_file();
                let attachment =
                    json!({"type": "plan_mode_exit", "planFilePath": file, "planExists": true});
                self.transcript.attachment(&attachment, Some((text, "system")))?;
            }
            Note::System(text) => {
                let attachment = json!({"type": "critical_system_reminder", "content": text});
                self.transcript.attachment(&attachment, Some((text, "system")))?;
            }
            Note::User(text) => self.say_for_user(text, None).await?,
        }
        Ok(())
    }

    /// A text of the client in place of the user, which the model answers.
    pub(super) async fn say_for_user(&mut self, text: &str, refused: Option<&str>) -> Written<()> {
        let is_companion = !text.starts_with("Stop hook feedback");
        let uuid = self.transcript.companion(text, is_companion, refused)?;
        self.turn.user_lines += 1;
        let said = UserSaid {
            uuid: uuid.to_string(),
            content: json!([{"type": "text", "text": text}]),
            speaker: self.speaker.clone(),
            tool_use_result: None,
            meta: None,
            is_synthetic: true,
            refused: refused.map(str::to_owned),
            replay: None,
        };
        self.tell(TurnEvent::User(Box::new(said))).await;
        Ok(())
    }

    /// Answers calls that the user cut off; about one of them the user may have been asked.
    pub(super) async fn reject(
        &mut self,
        calls: &[(ToolCall, EntryUuid)],
        asked: Option<&str>,
    ) -> Written<()> {
        for (call, line) in calls {
            let mut text = sentence::REJECTED.to_owned();
            if self.shared.control.was_interrupted_by_host() && asked != Some(call.id.as_str()) {
                text.push_str(sentence::STOPPED_RUNNING);
            }
            let mut outcome = ToolOutcome::denied(text, Denial::User);
            outcome.structured = Value::String(sentence::REJECTED_LOG.to_owned());
            self.write_result(call, line, &outcome, None).await?;
        }
        Ok(())
    }

    /// Answers calls that were put off: whoever goes on has decided otherwise.
    pub(super) async fn give_up_deferred(&mut self) -> Written<()> {
        for (call, line) in std::mem::take(&mut self.deferred) {
            let outcome = ToolOutcome::failed(sentence::CALL_LOST);
            self.write_result(&call, &line, &outcome, None).await?;
        }
        Ok(())
    }

    /// Says that the user interrupted.
    pub(super) async fn say_interrupted(&mut self, text: &str) -> Written<()> {
        if self.shared.control.is_terminated() {
            return Ok(());
        }
        let content = json!([{"type": "text", "text": text}]);
        let uuid = self.transcript.interruption(&content)?;
        self.turn.user_lines += 1;
        let said = UserSaid {
            uuid: uuid.to_string(),
            content,
            speaker: self.speaker.clone(),
            tool_use_result: None,
            meta: None,
            is_synthetic: false,
            refused: None,
            replay: None,
        };
        self.tell(TurnEvent::User(Box::new(said))).await;
        Ok(())
    }
}

/// What a call does, in a few words.
fn doing(call: &ToolCall) -> String {
    let text = |name: &str| call.input.get(name).and_then(Value::as_str).unwrap_or_default();
    let file = || {
        let path = std::path::Path::new(text("file_path"));
        path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    };
    match call.name.as_str() {
        "Read" => format!("Reading {}", file()),
        "Write" => format!("Writing {}", file()),
        "Edit" => format!("Editing {}", file()),
        "Bash" => match text("description") {
            "" => format!("Running {}", text("command")),
            about => format!("Running {about}"),
        },
        "Agent" => text("description").to_owned(),
        other => format!("Using {other}"),
    }
}

/// What the model is told of the tools.
pub(super) fn declarations(tools: &tool::Session) -> Vec<Json> {
    let offer = tools.offer.get();
    let is_useful = |tool: &Tool| match tool {
        Tool::ToolSearch => !offer.deferred.is_empty(),
        Tool::Skill => !offer.skills.is_empty(),
        Tool::EnterWorktree | Tool::ExitWorktree => {
            tools.places.project.ancestors().any(|folder| folder.join(".git").exists())
        }
        Tool::Agent | Tool::ListAgents | Tool::SendMessage => !offer.agents.is_empty(),
        _ => !tool.is_older(),
    };
    let own = offer.tools.iter().copied().filter(is_useful);
    let mut declared: Vec<Json> = own.map(|tool| tool.declaration().into()).collect();
    // Without a search, tools of servers must be there from the start.
    let is_deferred = |name: &str| offer.deferred.iter().any(|tool| tool.name == name);
    for tool in offer.mcp.iter().filter(|tool| !is_deferred(&tool.name())) {
        let declaration = json!({
            "name": tool.name(),
            "description": tool.about,
            "input_schema": tool.schema,
        });
        declared.push(declaration.into());
    }
    declared
}
