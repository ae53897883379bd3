//! A session from its start to its end: prompts, turns, and tasks that wake it.

mod start;

pub(super) use self::start::Start;
use self::start::from_notification;
use std::time::Duration;

use jiff::Timestamp;
use recto_log::EntryUuid;
use recto_log::build::MetaLine;
use recto_log::build::QueueLine;
use recto_log::build::QueueStep;
use recto_log::build::SystemLine;
use recto_log::build::UserContent;
use recto_store::append::Activity;
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
use super::hosted::Desk;
use super::hosted::DeskFacts;
use super::hosted::lifecycle;
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
    pub(super) started: Timestamp,
    has_begun: bool,
    turns: u64,
    last_failed: bool,
    is_told_running: bool,
    /// What is told before the next prompt or notice.
    before_prompt: Vec<String>,
    /// Notices that the log has and the model does not know.
    unheard: Vec<String>,
    /// What a server says for a command that is one of its prompts.
    pub(super) server_prompt: Option<String>,
    /// A prompt names a command that is not there.
    pub(super) unknown_command: Option<String>,
    /// What the command of the prompt may do without asking.
    pub(super) command_allows: Option<Vec<String>>,
    /// Whether the model knows of the world, and of the day.
    pub(super) knows_world: bool,
    pub(super) knows_day: bool,
    /// The message about a prompt that a hook stopped, which is logged and not sent.
    pub(super) stopped_prompt: Option<(String, Value)>,
    /// Lines about the whole session, which a log begins and ends with.
    pub(super) heading: Vec<MetaLine<'static>>,
    /// Lines of hooks that belong behind the prompt.
    pub(super) prompt_lines: Vec<Line>,
}

impl Runner {
    pub(super) fn new(conversation: Conversation, resumed: Resumed, setup: Setup) -> Runner {
        Runner {
            conversation,
            resumed,
            setup,
            started: Timestamp::now(),
            has_begun: false,
            turns: 0,
            last_failed: false,
            is_told_running: false,
            before_prompt: Vec::new(),
            unheard: Vec::new(),
            server_prompt: None,
            unknown_command: None,
            command_allows: None,
            knows_world: false,
            knows_day: false,
            stopped_prompt: None,
            heading: Vec::new(),
            prompt_lines: Vec::new(),
        }
    }

    /// Who takes what the host says. Only a hosted session has one.
    pub fn desk(&self, facts: DeskFacts) -> Option<Desk> {
        let shared = &self.conversation.shared;
        let link = shared.link.clone()?;
        let (shared, tools) =
            (std::sync::Arc::clone(shared), std::sync::Arc::clone(&self.conversation.tools));
        Some(Desk::new(shared, tools, link, facts))
    }

    /// Works until no more prompts come and nothing runs any more.
    pub async fn run(mut self) -> RunEnd {
        self.announce();
        if self.conversation.shared.settings.is_on("disableAllHooks") {
            let line = json!({"type": "system", "subtype": "ui_invalidate", "event": "ui.render"});
            self.conversation.tell(TurnEvent::System(line)).await;
        }
        let shared = std::sync::Arc::clone(&self.conversation.shared);
        let tools = std::sync::Arc::clone(&self.conversation.tools);
        let mut is_broken = false;
        while !is_broken && !shared.control.is_stopped() {
            if let Some(prompt) = shared.control.take() {
                is_broken = self.turn(Start::Prompt(prompt)).await;
                continue;
            }
            let mut notices = std::mem::take(&mut self.conversation.ended_tasks);
            notices.extend(tools.take_notices());
            if !notices.is_empty() {
                let run = notices.last().map(|notice| notice.run.clone()).unwrap_or_default();
                self.before_prompt.extend(notices.iter().filter_map(|one| one.before.clone()));
                let texts: Vec<String> = notices.into_iter().map(|notice| notice.text).collect();
                is_broken = self.turn(Start::Notice(run, texts.join("\n\n"))).await;
                continue;
            }
            let _ = self.has_begun.then(|| self.write_title());
            let _ = self.write_unheard();
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
        self.conversation.shared.presence.begin(&self.setup.home, state);
    }

    fn state(&self, activity: Activity) -> ClientState {
        ClientState {
            session: self.setup.session,
            cwd: self.setup.project.display().to_string(),
            version: version("2.1.325"),
            kind: if self.setup.is_attended { "interactive" } else { "sdk" }.to_owned(),
            entrypoint: self.setup.entrypoint.clone(),
            started: self.started,
            activity,
            since: Timestamp::now(),
        }
    }

    /// Others see which session this process works on.
    pub(super) fn show_session(&mut self) {
        self.is_now(Activity::Busy);
    }

    fn is_now(&mut self, activity: Activity) {
        let state = self.state(activity);
        self.conversation.shared.presence.show(state);
    }

    /// One turn; whether the session cannot go on.
    async fn turn(&mut self, start: Start) -> bool {
        let cancel = self.conversation.shared.control.begin();
        if !std::mem::replace(&mut self.is_told_running, true) {
            self.conversation.tell(TurnEvent::State(State::Running)).await;
        }
        self.is_now(Activity::Busy);
        self.conversation.begin();
        let origin = start.origin();
        let named = start.uuid();
        if let Start::Prompt(prompt) = &start
            && let Some(uuid) = &named
        {
            if !prompt.is_told {
                self.conversation.tell(lifecycle(uuid, "queued")).await;
            }
            self.conversation.tell(lifecycle(uuid, "started")).await;
            let turn = &mut self.conversation.turn;
            turn.prompts.push(uuid.to_string());
            turn.unanswered.push(uuid.to_string());
        }
        let began = match self.local_command(&start) {
            Some(command) => self.run_command(command, &start, &cancel).await.map(Some),
            None => self.begin_turn(start, &cancel).await,
        };
        let end = match began {
            Ok(None) => self.conversation.work(&cancel).await,
            Ok(Some(end)) => end,
            Err(error) => End::LogFailed(error.to_string()),
        };
        let is_broken = matches!(end, End::LogFailed(_));
        let _ = self.close_turn();
        self.conversation.shared.control.end();
        lock(&self.conversation.shared.permissions).end_turn();
        self.conversation.own_model = None;
        self.end_turn(end, origin).await;
        for uuid in std::mem::take(&mut self.conversation.turn.prompts) {
            self.conversation.tell(lifecycle(&EntryUuid::new(&uuid), "completed")).await;
        }
        self.is_now(Activity::Idle);
        // A subagent that works keeps the session running.
        let control = &self.conversation.shared.control;
        if !self.conversation.tools.has_live_agents() && control.waiting() == 0 {
            self.is_told_running = false;
            self.conversation.tell(TurnEvent::State(State::Idle)).await;
        }
        is_broken
    }

    /// The lines with which every turn begins.
    pub(super) async fn open_turn(
        &mut self,
        start: &Start,
        cancel: &CancellationToken,
    ) -> Written<()> {
        self.conversation.log_withheld().await?;
        self.take_changes().await?;
        self.write_unheard()?;
        self.hear()?;
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        if is_first {
            self.begin_heading().await?;
        }
        let now = Timestamp::now();
        let content = start.content();
        let json = Json::from(&content);
        let queued = match content.as_str() {
            Some(text) => UserContent::Text(text.into()),
            None => UserContent::Json(json.value()),
        };
        // The log may know already that it waited.
        let is_known = matches!(start, Start::Prompt(prompt) if prompt.is_logged);
        let lines = [
            QueueLine::new(QueueStep::Enqueue, now, Some(queued)),
            QueueLine::new(QueueStep::Dequeue, now, None),
        ];
        for line in lines.into_iter().skip(usize::from(is_known)) {
            self.conversation.transcript.meta(&MetaLine::QueueOperation(line))?;
        }
        self.write_host_commands()?;
        if is_first {
            let source = match (self.setup.copied.is_empty(), self.resumed.leaf.is_some()) {
                (false, _) => "fork",
                (true, true) => "resume",
                (true, false) => "startup",
            };
            self.begin_log()?;
            self.write_repairs()?;
            self.session_start_hooks(source, cancel).await?;
        }
        Ok(())
    }

    /// Notes what the model shall hear later.
    fn write_unheard(&mut self) -> Written<()> {
        let notices = std::mem::take(&mut *lock(&self.conversation.shared.unheard));
        for notice in notices {
            let notice = from_notification(&notice).to_owned();
            let content = Some(UserContent::Text(notice.as_str().into()));
            let line = QueueLine::new(QueueStep::Enqueue, Timestamp::now(), content);
            self.conversation.transcript.meta(&MetaLine::QueueOperation(line))?;
            self.unheard.push(notice);
        }
        Ok(())
    }

    /// The model hears it with what comes next.
    fn hear(&mut self) -> Written<()> {
        for notice in std::mem::take(&mut self.unheard) {
            let line = QueueLine::new(QueueStep::Dequeue, Timestamp::now(), None);
            self.conversation.transcript.meta(&MetaLine::QueueOperation(line))?;
            self.before_prompt.push(notice);
        }
        Ok(())
    }

    /// Everything before the first request; an end if there will be none.
    async fn begin_turn(
        &mut self,
        start: Start,
        cancel: &CancellationToken,
    ) -> Written<Option<End>> {
        self.open_turn(&start, cancel).await?;
        let content = start.content();
        let text = match &content {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        self.conversation.give_up_deferred().await?;
        self.conversation.transcript.begin_prompt();
        if let Some(end) = self.prompt_hooks(&text, cancel).await? {
            return Ok(Some(end));
        }
        if let Some((name, arguments)) = super::command::command_of(&start)
            && let Some(end) = self.expansion_hooks(&name, &arguments, &text, cancel).await?
        {
            return Ok(Some(end));
        }
        let uuid = start.uuid().unwrap_or_else(super::transcript::new_uuid);
        self.write_snapshot(&uuid)?;
        let prompted = TurnEvent::Prompted {
            uuid: uuid.to_string(),
            content: content.clone(),
            is_output: false,
            is_known: false,
        };
        let facts = PromptFacts {
            uuid: Some(uuid),
            mode: self.conversation.shared.mode(),
            origin: start.log_origin(),
            source: start.source(),
            turn_origin: start.turn_origin(),
            is_meta: matches!(&start, Start::Prompt(prompt) if prompt.is_synthetic),
            skips_attachments: matches!(start, Start::Notice(..)),
        };
        for note in std::mem::take(&mut self.before_prompt) {
            let text = format!("<system-reminder>\n{note}\n</system-reminder>");
            self.conversation.transcript.companion(&text, true, None)?;
        }
        self.ask_for_prompt(&start).await;
        self.write_prompt(&start, &content, &facts)?;
        let prompt_id = self.conversation.transcript.prompt_id().to_owned();
        *lock(&self.conversation.shared.prompt_id) = prompt_id;
        let is_verbatim = matches!(&start, Start::Prompt(prompt) if prompt.is_verbatim);
        if matches!(start, Start::Prompt(_)) && !is_verbatim {
            self.conversation.attach_mentioned(&content, cancel).await?;
        }
        let is_new = self.resumed.leaf.is_none();
        if is_new && !std::mem::replace(&mut self.knows_world, true) {
            self.conversation.announce_world()?;
        }
        if let Some((text, outcome)) = self.stopped_prompt.take() {
            self.conversation.transcript.companion(&text, true, None)?;
            self.tell_began().await;
            self.refuse_prompt(&text, Some(outcome)).await?;
            return Ok(Some(End::PromptBlocked(text)));
        }
        let lines = std::mem::take(&mut self.prompt_lines);
        self.conversation.write_hook_lines(&lines)?;
        self.tell_unknown_command()?;
        if let Some(allowed) = self.command_allows.take() {
            let attachment = json!({"type": "command_permissions", "allowedTools": allowed});
            self.conversation.transcript.attachment(&attachment, None)?;
        }
        self.conversation.tell_budget()?;
        self.keep_images(&content)?;
        let asks = !matches!(start, Start::Prompt(Prompt { asks: false, .. }));
        if is_new && asks && !std::mem::replace(&mut self.knows_day, true) {
            let skipped = self.conversation.announce_day()?;
            self.resumed.told.extend(skipped);
        }
        self.tell_began().await;
        if matches!(start, Start::Prompt(_)) {
            self.conversation.tell(prompted).await;
        }
        for told in std::mem::take(&mut self.resumed.told) {
            self.conversation.tell(TurnEvent::Told(told)).await;
        }
        Ok(match start {
            Start::Prompt(Prompt { asks: false, .. }) => Some(End::Local(None)),
            Start::Prompt(_) | Start::Notice(..) => None,
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
                End::PromptBlocked(_) | End::Local(_) => 0,
                _ if turn.requests == 0 && !matches!(end, End::InterruptedText) => 0,
                _ => 1 + turn.user_lines,
            },
            structured_output: turn.structured_output.clone(),
            denials: std::mem::take(&mut *lock(&conversation.shared.denials)),
            origin,
            prompts: turn.prompts.clone(),
            first_usage: turn.first_usage,
            duration: turn.began.elapsed(),
            api: turn.api,
            first_event: turn.first_event,
            cost,
            usage: turn.usage,
            models,
            models_since,
            index: self.turns,
            // Prompts that wait are no turns of this session yet.
            queued: 0,
            agents: lock(&conversation.shared.agents).clone(),
            refusals: lock(&conversation.shared.totals).refusals,
            end,
        };
        self.turns += 1;
        self.last_failed = ended.is_error();
        if conversation.shared.control.is_terminated() {
            return;
        }
        conversation.tell(TurnEvent::Ended(Box::new(ended))).await;
    }

    /// The last lines of a log; what hooks complained about.
    pub(super) async fn end_log(&mut self, reason: &'static str) -> Vec<String> {
        let shared = std::sync::Arc::clone(&self.conversation.shared);
        let never = CancellationToken::new();
        let facts = Facts::SessionEnd { reason };
        let scene = self.conversation.scene();
        let id = uuid::Uuid::new_v4().to_string();
        let hooks = shared.run_hooks(&facts, &scene, None, &id, &never).await;
        // Nobody is left who could do something about a line that cannot be written.
        let _ = self.write_unheard().and_then(|()| self.hear());
        for line in std::mem::take(&mut self.heading) {
            let _ = self.conversation.transcript.meta(&line);
        }
        let totals = lock(&shared.totals);
        let line = MetaLine::CostState(totals.cost_line(self.started));
        let _ = self.conversation.transcript.meta(&line);
        hooks.map(|(_, ran)| session_end_failures(&ran)).unwrap_or_default()
    }

    async fn finish(mut self) -> RunEnd {
        let tools = std::sync::Arc::clone(&self.conversation.tools);
        tools.close().await;
        self.conversation.shared.servers.close();
        let complaints = match self.has_begun {
            true => self.end_log("other").await,
            false => Vec::new(),
        };
        self.conversation.shared.tell_mirror().await;
        self.conversation.shared.presence.end();
        RunEnd { is_error: self.last_failed, complaints }
    }
}
