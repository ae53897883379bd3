//! A session from its start to its end: prompts, turns, and tasks that wake it.

use std::time::Duration;

use jiff::Timestamp;
use recto_log::EntryUuid;
use recto_log::build::MetaLine;
use recto_log::build::QueueLine;
use recto_log::build::QueueStep;
use recto_log::build::SystemLine;
use recto_log::build::UserContent;
use recto_store::append::Activity;
use recto_store::append::Announcement;
use recto_store::append::ClientState;
use serde_json::Value;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::control::Prompt;
use super::conversation::Conversation;
use super::conversation::Written;
use super::event::End;
use super::event::Ended;
use super::event::State;
use super::event::TurnEvent;
use super::resume::Resumed;
use super::setup::Setup;
use super::shared::lock;
use super::transcript::PromptFacts;
use super::transcript::version;
use crate::hook::Facts;
use crate::hook::Line;
use crate::hook::session_end_failures;
use crate::wire::Json;

/// How long a session that nobody speaks to waits for its tasks.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// How a session ended.
#[derive(Debug, Clone, Default)]
pub struct RunEnd {
    /// Whether the last turn failed.
    pub is_error: bool,
    /// What hooks complained about at the end.
    pub complaints: Vec<String>,
}

/// A session.
#[derive(Debug)]
pub struct Runner {
    pub(super) conversation: Conversation,
    pub(super) resumed: Resumed,
    pub(super) setup: Setup,
    announcement: Option<Announcement>,
    started: Timestamp,
    has_begun: bool,
    turns: u64,
    last_failed: bool,
    /// Lines of hooks that belong behind the prompt.
    pub(super) prompt_lines: Vec<Line>,
}

/// What starts a turn.
#[derive(Debug)]
enum Start {
    Prompt(Prompt),
    /// Background tasks ended.
    Notice(String),
}

impl Start {
    fn content(&self) -> Value {
        match self {
            Start::Prompt(prompt) => prompt.content.clone(),
            // The words before it are for results; here the line says what it is.
            Start::Notice(text) => {
                let at = text.find("<task-notification>").unwrap_or_default();
                Value::String(text.get(at..).unwrap_or_default().to_owned())
            }
        }
    }

    fn uuid(&self) -> Option<EntryUuid> {
        match self {
            Start::Prompt(prompt) => prompt.uuid.clone(),
            Start::Notice(_) => None,
        }
    }

    fn log_origin(&self) -> Option<Value> {
        match self {
            Start::Prompt(_) => None,
            Start::Notice(_) => {
                Some(json!({"kind": "task-notification", "producer": "session-task"}))
            }
        }
    }

    /// What the result says about it.
    fn origin(&self) -> Option<Value> {
        match self {
            Start::Prompt(prompt) => prompt.origin.clone(),
            Start::Notice(_) => self.log_origin(),
        }
    }

    fn source(&self) -> &'static str {
        match self {
            Start::Prompt(_) => "sdk",
            Start::Notice(_) => "system",
        }
    }

    fn turn_origin(&self) -> &'static str {
        match self {
            Start::Prompt(_) => "sdk",
            Start::Notice(_) => "task_notification",
        }
    }
}

impl Runner {
    pub(super) fn new(conversation: Conversation, resumed: Resumed, setup: Setup) -> Runner {
        Runner {
            conversation,
            resumed,
            setup,
            announcement: None,
            started: Timestamp::now(),
            has_begun: false,
            turns: 0,
            last_failed: false,
            prompt_lines: Vec::new(),
        }
    }

    /// Works until no more prompts come and nothing runs any more.
    pub async fn run(mut self) -> RunEnd {
        self.announce();
        let shared = std::sync::Arc::clone(&self.conversation.shared);
        let tools = std::sync::Arc::clone(&self.conversation.tools);
        let mut is_broken = false;
        while !is_broken && !shared.control.is_stopped() {
            if let Some(prompt) = shared.control.take() {
                is_broken = self.turn(Start::Prompt(prompt)).await;
                continue;
            }
            let notices = tools.take_notices();
            if !notices.is_empty() {
                is_broken = self.turn(Start::Notice(notices.join("\n\n"))).await;
                continue;
            }
            if shared.control.is_closed() && !tools.is_busy() {
                break;
            }
            tokio::select! {
                () = shared.control.changed() => {}
                () = tools.task_ended() => {}
                () = tokio::time::sleep(LONGEST_WAIT), if shared.control.is_closed() => break,
            }
        }
        self.finish().await
    }

    fn announce(&mut self) {
        if !self.setup.keeps_log {
            return;
        }
        let state = self.state(Activity::Idle);
        // A session works without it; others just do not see it.
        self.announcement = Announcement::new(&self.setup.home, &state).ok();
    }

    fn state(&self, activity: Activity) -> ClientState {
        ClientState {
            session: self.setup.session,
            cwd: self.setup.project.display().to_string(),
            version: version("2.1.325"),
            kind: "sdk".to_owned(),
            entrypoint: self.setup.entrypoint.clone(),
            started: self.started,
            activity,
            since: Timestamp::now(),
        }
    }

    fn is_now(&mut self, activity: Activity) {
        let state = self.state(activity);
        if let Some(announcement) = &mut self.announcement {
            let _ = announcement.update(&state);
        }
    }

    /// One turn; whether the session cannot go on.
    async fn turn(&mut self, start: Start) -> bool {
        let cancel = self.conversation.shared.control.begin();
        self.conversation.tell(TurnEvent::State(State::Running)).await;
        self.is_now(Activity::Busy);
        self.conversation.begin();
        let origin = start.origin();
        let end = match self.begin_turn(start, &cancel).await {
            Ok(None) => self.conversation.work(&cancel).await,
            Ok(Some(end)) => end,
            Err(error) => End::LogFailed(error.to_string()),
        };
        let is_broken = matches!(end, End::LogFailed(_));
        let _ = self.close_turn();
        self.conversation.shared.control.end();
        self.end_turn(end, origin).await;
        self.is_now(Activity::Idle);
        self.conversation.tell(TurnEvent::State(State::Idle)).await;
        is_broken
    }

    /// Everything before the first request; an end if there will be none.
    async fn begin_turn(
        &mut self,
        start: Start,
        cancel: &CancellationToken,
    ) -> Written<Option<End>> {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let now = Timestamp::now();
        let content = start.content();
        let text = match &content {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let json = Json::from(&content);
        let queued = match content.as_str() {
            Some(text) => UserContent::Text(text.into()),
            None => UserContent::Json(json.value()),
        };
        let transcript = &mut self.conversation.transcript;
        for line in [
            QueueLine::new(QueueStep::Enqueue, now, Some(queued)),
            QueueLine::new(QueueStep::Dequeue, now, None),
        ] {
            transcript.meta(&MetaLine::QueueOperation(line))?;
        }
        if is_first {
            self.begin_log()?;
            self.write_repairs()?;
            self.session_start_hooks(cancel).await?;
        }
        self.conversation.give_up_deferred().await?;
        if let Some(end) = self.prompt_hooks(&text, cancel).await? {
            self.tell_began().await;
            return Ok(Some(end));
        }
        let uuid = start.uuid().unwrap_or_else(super::transcript::new_uuid);
        self.write_snapshot(&uuid)?;
        let facts = PromptFacts {
            uuid: Some(uuid),
            mode: self.conversation.shared.mode(),
            origin: start.log_origin(),
            source: start.source(),
            turn_origin: start.turn_origin(),
            skips_attachments: matches!(start, Start::Notice(_)),
        };
        self.conversation.transcript.prompt(&content, &facts)?;
        let prompt_id = self.conversation.transcript.prompt_id().to_owned();
        *lock(&self.conversation.shared.prompt_id) = prompt_id;
        let lines = std::mem::take(&mut self.prompt_lines);
        self.conversation.write_hook_lines(&lines)?;
        if is_first && self.resumed.leaf.is_none() {
            self.announce_world()?;
        }
        self.tell_began().await;
        for told in std::mem::take(&mut self.resumed.told) {
            self.conversation.tell(TurnEvent::Told(told)).await;
        }
        Ok(match start {
            Start::Prompt(Prompt { asks: false, .. }) => Some(End::Completed),
            Start::Prompt(_) | Start::Notice(_) => None,
        })
    }

    /// The last lines of a turn. Older logs say how long it took.
    fn close_turn(&mut self) -> Written<()> {
        let conversation = &mut self.conversation;
        if conversation.has_progress() {
            conversation.write_noted()?;
            let messages = conversation.transcript.lines;
            let milliseconds = super::sentence::milliseconds(conversation.turn.began.elapsed());
            conversation.transcript.system(&SystemLine::TurnDuration { milliseconds, messages })?;
        }
        conversation.transcript.last_prompt()
    }

    pub(super) fn turns_so_far(&self) -> u64 {
        self.turns
    }

    async fn end_turn(&mut self, end: End, origin: Option<Value>) {
        let conversation = &self.conversation;
        let turn = &conversation.turn;
        let (cost, models, models_since) = {
            let mut totals = lock(&conversation.shared.totals);
            (totals.cost(), totals.models.clone(), totals.take_since())
        };
        let ended = Ended {
            text: turn.text.clone(),
            stop_reason: turn.stop_reason.clone(),
            num_turns: match end {
                End::PromptBlocked(_) => 0,
                _ if turn.requests == 0 && !matches!(end, End::InterruptedText) => 0,
                _ => 1 + turn.user_lines,
            },
            structured_output: turn.structured_output.clone(),
            denials: std::mem::take(&mut *lock(&conversation.shared.denials)),
            origin,
            duration: turn.began.elapsed(),
            api: turn.api,
            first_event: turn.first_event,
            cost,
            usage: turn.usage,
            models,
            models_since,
            index: self.turns,
            queued: conversation.shared.control.waiting(),
            end,
        };
        self.turns += 1;
        self.last_failed = ended.is_error();
        conversation.tell(TurnEvent::Ended(Box::new(ended))).await;
    }

    async fn finish(mut self) -> RunEnd {
        let tools = std::sync::Arc::clone(&self.conversation.tools);
        tools.close().await;
        let mut complaints = Vec::new();
        if self.has_begun {
            let shared = std::sync::Arc::clone(&self.conversation.shared);
            let never = CancellationToken::new();
            let facts = Facts::SessionEnd { reason: "other" };
            let scene = self.conversation.scene();
            let id = uuid::Uuid::new_v4().to_string();
            if let Some((_, ran)) = shared.run_hooks(&facts, &scene, None, &id, &never).await {
                complaints = session_end_failures(&ran);
            }
            let totals = lock(&shared.totals);
            let line = MetaLine::CostState(totals.cost_line(self.started));
            // Nobody is left who could do something about it.
            let _ = self.conversation.transcript.meta(&line);
        }
        if let Some(announcement) = self.announcement.take() {
            let _ = announcement.finish();
        }
        RunEnd { is_error: self.last_failed, complaints }
    }
}
