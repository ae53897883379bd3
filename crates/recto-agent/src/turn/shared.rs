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

use super::agent::AgentStats;
use super::ask::Asker;
use super::checkpoint::Checkpoints;
use super::control::Control;
use super::event::TurnEvent;
use super::hosted::Changes;
use super::mirror::Mirror;
use super::presence::Presence;
use super::progress::Noted;
use super::size::Size;
use super::totals::Totals;
use super::transcript::LogStyle;
use crate::api::Client;
use crate::control::HostLink;
use crate::hook::Answer;
use crate::hook::Callback;
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
use crate::mcp::Servers;
use crate::memory::OutputStyle;
use crate::permission::Permissions;
use crate::permission::Place;
use crate::settings::Settings;
use crate::settings::Wanted;
use crate::tool::Places;
use crate::tool::Plugin;
use crate::tool::Shelf;
use crate::tool::Tool;
use crate::tool::ToolCall;
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
    pub(super) offer: Shelf,
    /// Settings of all layers, for those who ask.
    pub(super) settings: Settings,
    pub(super) hooks: Hooks,
    /// The program that started the session, if one speaks with it.
    pub(super) link: Option<HostLink>,
    /// Hooks of that program.
    pub(super) callbacks: Mutex<Vec<Callback>>,
    /// The kind that the session shall be of, if the host has yet to say what that is.
    pub(super) kind_to_be: Mutex<Option<String>>,
    /// What is taken over when the next turn begins.
    pub(super) changes: Mutex<Changes>,
    /// Servers of tools.
    pub(super) servers: Servers,
    /// Lines of logs for a host that wants them.
    pub(super) mirror: Option<Mirror>,
    /// A tool that answers permission questions; models do not see it.
    pub(super) permission_tool: Option<String>,
    pub(super) permissions: Mutex<Permissions>,
    pub(super) place: Mutex<Place>,
    /// Variables for commands and hooks.
    pub(super) environment: BTreeMap<String, String>,
    pub(super) asker: Option<Asker>,
    /// Calls that run at the same time ask one after the other.
    pub(super) asking: tokio::sync::Mutex<()>,
    /// The call that somebody is being asked about.
    pub(super) asked: Mutex<Option<ToolCall>>,
    /// The call about which nobody answered, because the turn was cut short.
    pub(super) unanswered: Mutex<Option<String>>,
    /// What others see of this process.
    pub(super) presence: Presence,
    /// How many subagents there were.
    pub(super) agents: Mutex<AgentStats>,
    pub(super) events: Events,
    pub(super) control: Control,
    pub(super) totals: Mutex<Totals>,
    /// How large the conversation of the session is.
    pub(super) size: Mutex<Size>,
    /// A smaller window than the model's.
    pub(super) own_window: Option<u64>,
    pub(super) checkpoints: Option<Mutex<Checkpoints>>,
    /// What commands are confined to.
    pub(super) sandbox: Option<crate::sandbox::Shared>,
    /// What subagents said and which hooks ran, for older logs.
    pub(super) noted: Mutex<Vec<Noted>>,
    /// What the model shall know with what comes next, and what wakes nobody: a task that
    /// somebody else stopped.
    pub(super) unheard: Mutex<Vec<String>>,
    /// Calls that were not allowed in this turn.
    pub(super) denials: Mutex<Vec<Value>>,
    pub(super) model: Mutex<String>,
    /// The prompt that is being worked on.
    pub(super) prompt_id: Mutex<String>,
    pub(super) fallback_model: Option<String>,
    pub(super) effort: Option<String>,
    pub(super) task_budget: Option<u64>,
    pub(super) thinking: Mutex<Option<Json>>,
    pub(super) max_tokens: Option<u64>,
    pub(super) betas: Vec<String>,
    /// Which files of instructions are read, and where the administrator's are.
    pub(super) wanted: Wanted,
    pub(super) managed_instructions: PathBuf,
    /// The log of the session, which another one follows when the conversation starts over.
    pub(super) log: Mutex<PathBuf>,
    pub(super) keeps_log: bool,
    pub(super) style: LogStyle,
    pub(super) entrypoint: String,
    /// The name of the session in words.
    pub(super) slug: String,
    /// How the model shall speak.
    pub(super) output_style: OutputStyle,
    /// What others share, as the user named it.
    pub(super) plugins: Vec<Plugin>,
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

    /// Tells lines of logs that were written since the last time.
    pub(super) async fn tell_mirror(&self) {
        for frame in self.mirror.iter().flat_map(Mirror::take) {
            self.events.send(TurnEvent::System(frame)).await;
        }
    }

    /// Offers what servers have now. The model finds it by a search, where there is one.
    pub(super) fn offer_servers(&self) {
        let mut tools = self.servers.tools();
        tools.retain(|tool| {
            let name = tool.name();
            !lock(&self.permissions).is_removed(&name)
                && self.permission_tool.as_ref() != Some(&name)
        });
        let has_resources = self.servers.have_resources();
        self.offer.change(|offer| {
            let has_search = offer.tools.contains(&Tool::ToolSearch);
            offer.deferred.retain(|tool| !tool.name.starts_with("mcp__"));
            if has_search && self.client.endpoint().capabilities.server_tools {
                let deferred = |tool: &crate::tool::McpTool| crate::tool::Deferred {
                    name: tool.name(),
                    about: tool.about.clone(),
                };
                offer.deferred.extend(tools.iter().map(deferred));
            }
            offer.mcp = tools;
            for tool in [Tool::ListMcpResources, Tool::ReadMcpResource] {
                match has_resources && !offer.disabled.contains(tool.name()) {
                    true => offer.tools.insert(tool),
                    false => offer.tools.remove(&tool),
                };
            }
        });
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
        let subject = subject.or_else(|| facts.subject());
        let callbacks = self.callbacks_for(event, subject);
        if callbacks.is_empty() && !self.hooks.has(event) {
            return None;
        }
        let place = self.place_in(PathBuf::from(&scene.cwd));
        let about = Subject { name: subject, input: facts.tool_input() };
        let hooks = self.hooks.matching(event, about, &place);
        if hooks.is_empty() && callbacks.is_empty() {
            return None;
        }
        let common = Common {
            session_id: self.places.session.get(),
            transcript_path: lock(&self.log).display().to_string(),
            cwd: scene.cwd.clone(),
            prompt_id: scene.prompt_id.clone(),
            permission_mode: self.mode().to_owned(),
            agent: scene.agent.clone(),
            effort: self.effort.clone().unwrap_or_else(|| "medium".to_owned()),
        };
        let label = Label { event, subject, id };
        let names: Vec<String> = hooks.iter().map(|_| uuid::Uuid::new_v4().to_string()).collect();
        // Nobody listens any more when a session ends.
        let is_told = event != Event::SessionEnd;
        for name in names.iter().filter(|_| is_told) {
            self.tell_hook(event, started_line(label, name)).await;
        }
        let mut environment =
            vec![("CLAUDE_PROJECT_DIR".to_owned(), self.places.project.display().to_string())];
        environment.extend(self.environment.clone());
        let surroundings = Surroundings { cwd: PathBuf::from(&scene.cwd), environment };
        let input = facts.to_json(&common);
        let mut ran = run_all(&hooks, &input, &surroundings, cancel).await;
        for (ran, name) in ran.iter().zip(&names).filter(|_| is_told) {
            self.tell_hook(event, response_line(label, ran, name)).await;
        }
        ran.extend(self.run_callbacks(&callbacks, &input, id, cancel).await);
        if self.style == LogStyle::V2_1_29 {
            lock(&self.noted).extend(ran.iter().map(|ran| Noted::hook(label, ran)));
        }
        let run = uuid::Uuid::new_v4().simple().to_string();
        let run = run.get(..8).unwrap_or_default();
        keep_long_contexts(label, &mut ran, &self.places.results(), run);
        let answer = Answer::new(label, &ran);
        // At the end of a turn, the feedback for the model comes first.
        for line in answer.stream.iter().filter(|_| event != Event::Stop) {
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
