//! What a session and its subagents share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use recto_store::Home;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::ask::Asker;
use super::checkpoint::Checkpoints;
use super::control::Control;
use super::event::TurnEvent;
use super::progress::Noted;
use super::totals::Totals;
use super::transcript::LogStyle;
use crate::api::Client;
use crate::hook::Answer;
use crate::hook::Common;
use crate::hook::Event;
use crate::hook::Facts;
use crate::hook::Hooks;
use crate::hook::Label;
use crate::hook::Ran;
use crate::hook::Subject;
use crate::hook::Surroundings;
use crate::hook::keep_long_contexts;
use crate::hook::response_line;
use crate::hook::run_all;
use crate::hook::started_line;
use crate::permission::Permissions;
use crate::permission::Place;
use crate::tool::Offer;
use crate::tool::Places;
use crate::wire::Json;

/// Where events go. A surface that went away does not stop the session.
#[derive(Debug, Clone)]
pub(super) struct Events(pub(super) mpsc::Sender<TurnEvent>);

impl Events {
    pub(super) async fn send(&self, event: TurnEvent) {
        let _ = self.0.send(event).await;
    }
}

/// What a session and its subagents share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) home: Home,
    pub(super) client: Client,
    pub(super) places: Places,
    pub(super) offer: Offer,
    pub(super) hooks: Hooks,
    pub(super) permissions: Mutex<Permissions>,
    pub(super) place: Mutex<Place>,
    /// Variables for commands and hooks.
    pub(super) environment: BTreeMap<String, String>,
    pub(super) asker: Option<Asker>,
    /// Calls that run at the same time ask one after the other.
    pub(super) asking: tokio::sync::Mutex<()>,
    pub(super) events: Events,
    pub(super) control: Control,
    pub(super) totals: Mutex<Totals>,
    pub(super) checkpoints: Option<Mutex<Checkpoints>>,
    /// What subagents said and which hooks ran, for older logs.
    pub(super) noted: Mutex<Vec<Noted>>,
    /// Calls that were not allowed in this turn.
    pub(super) denials: Mutex<Vec<Value>>,
    pub(super) model: Mutex<String>,
    /// The prompt that is being worked on.
    pub(super) prompt_id: Mutex<String>,
    pub(super) fallback_model: Option<String>,
    pub(super) effort: Option<String>,
    pub(super) task_budget: Option<u64>,
    pub(super) thinking: Option<Json>,
    pub(super) max_tokens: Option<u64>,
    pub(super) betas: Vec<String>,
    pub(super) log: PathBuf,
    pub(super) keeps_log: bool,
    pub(super) style: LogStyle,
    pub(super) entrypoint: String,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change is one assignment, so what a thread that panicked left is whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Who runs hooks, and at which prompt.
#[derive(Debug, Clone, Default)]
pub(super) struct HookScene {
    pub(super) prompt_id: Option<String>,
    pub(super) agent: Option<(String, String)>,
    pub(super) cwd: String,
}

impl Shared {
    /// The place, with the directory that commands are in now.
    pub(super) fn place_in(&self, cwd: PathBuf) -> Place {
        let mut place = lock(&self.place).clone();
        place.cwd = cwd;
        place
    }

    pub(super) fn mode(&self) -> &'static str {
        lock(&self.permissions).mode.name()
    }

    pub(super) fn model(&self) -> String {
        lock(&self.model).clone()
    }

    /// Runs the hooks of an event, tells about them, and says what they want. Nothing if there
    /// are none.
    pub(super) async fn run_hooks(
        &self,
        facts: &Facts<'_>,
        scene: &HookScene,
        subject: Option<&str>,
        id: &str,
        cancel: &CancellationToken,
    ) -> Option<(Answer, Vec<Ran>)> {
        let event = facts.event();
        if !self.hooks.has(event) {
            return None;
        }
        let place = self.place_in(PathBuf::from(&scene.cwd));
        let subject = subject.or_else(|| facts.subject());
        let about = Subject { name: subject, input: facts.tool_input() };
        let hooks = self.hooks.matching(event, about, &place);
        if hooks.is_empty() {
            return None;
        }
        let common = Common {
            session_id: self.places.session.clone(),
            transcript_path: self.log.display().to_string(),
            cwd: scene.cwd.clone(),
            prompt_id: scene.prompt_id.clone(),
            permission_mode: self.mode().to_owned(),
            agent: scene.agent.clone(),
            effort: self.effort.clone().unwrap_or_else(|| "medium".to_owned()),
        };
        let label = Label { event, subject, id };
        let names: Vec<String> = hooks.iter().map(|_| uuid::Uuid::new_v4().to_string()).collect();
        for name in &names {
            self.tell_hook(event, started_line(label, name)).await;
        }
        let mut environment =
            vec![("CLAUDE_PROJECT_DIR".to_owned(), self.places.project.display().to_string())];
        environment.extend(self.environment.clone());
        let surroundings = Surroundings { cwd: PathBuf::from(&scene.cwd), environment };
        let input = facts.to_json(&common);
        let mut ran = run_all(&hooks, &input, &surroundings, cancel).await;
        for (ran, name) in ran.iter().zip(&names) {
            self.tell_hook(event, response_line(label, ran, name)).await;
        }
        if self.style == LogStyle::V2_1_29 {
            lock(&self.noted).extend(ran.iter().map(|ran| Noted::hook(label, ran)));
        }
        let run = uuid::Uuid::new_v4().simple().to_string();
        let run = run.get(..8).unwrap_or_default();
        keep_long_contexts(label, &mut ran, &self.places.results(), run);
        let answer = Answer::new(label, &ran);
        for line in &answer.stream {
            self.events.send(TurnEvent::System(line.clone())).await;
        }
        Some((answer, ran))
    }

    /// The start of a session is told always.
    async fn tell_hook(&self, event: Event, line: Value) {
        let event = match event {
            Event::SessionStart => TurnEvent::System(line),
            _ => TurnEvent::Hook(line),
        };
        self.events.send(event).await;
    }
}
