//! What a session is started with.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;

use recto_log::ProjectKey;
use recto_log::SessionId;
use recto_log::build::Envelope;
use recto_session::usage::PriceTable;
use recto_store::Home;
use recto_store::append::LogWriter;
use recto_store::append::SyncPolicy;
use tokio::sync::mpsc;

use super::agent::Above;
use super::ask::Asker;
use super::checkpoint::Checkpoints;
use super::control::Control;
use super::conversation::Conversation;
use super::conversation::Limits;
use super::event::TurnEvent;
use super::history::History;
use super::host;
use super::hosted::serve_host;
use super::hosted::serve_tool;
use super::mirror::Mirror;
use super::output_schema::OutputSchema;
use super::prompt;
use super::prompt::model_named;
use super::resume::Resumed;
use super::runner::Runner;
use super::shared::Events;
use super::shared::Shared;
use super::shared::lock;
use super::slug::slug;
use super::totals::Totals;
use super::transcript::LogStyle;
use super::transcript::Transcript;
use super::transcript::version;
use crate::api::Client;
use crate::control::HostLink;
use crate::hook::Hooks;
use crate::mcp::ServerConfig;
use crate::mcp::Servers;
use crate::memory::OutputStyle;
use crate::permission::CommandLine;
use crate::permission::Mode;
use crate::permission::Permissions;
use crate::permission::Place;
use crate::settings::Settings;
use crate::settings::Wanted;
use crate::tool;
use crate::tool::AgentType;
use crate::tool::Host;
use crate::tool::Ids;
use crate::tool::Offer;
use crate::tool::Places;
use crate::tool::Plugin;
use crate::tool::Shelf;
use crate::tool::Tool;
use crate::tool::agents_in;
use crate::tool::built_in_agents;
use crate::tool::plugins_in;
use crate::tool::skills_in;
use crate::wire::Block;
use crate::wire::Json;

/// Everything that a session is started with.
#[derive(Debug)]
pub struct Setup {
    /// The client's home.
    pub home: Home,
    /// The user's home directory.
    pub user_home: PathBuf,
    /// Where the session works.
    pub project: PathBuf,
    /// For output of background tasks.
    pub temporary: PathBuf,
    /// The user's shell.
    pub shell: PathBuf,
    /// The endpoint.
    pub client: Client,
    /// Settings of all layers.
    pub settings: Settings,
    /// Which files of settings and instructions are read.
    pub wanted: Wanted,
    /// Instructions of the administrator.
    pub managed_instructions: PathBuf,
    /// Rules and mode of the command line.
    pub permissions: CommandLine,
    /// Further working directories.
    pub directories: Vec<PathBuf>,
    /// The tools to offer; the usual ones if `None`.
    pub tools: Option<Vec<String>>,
    /// The model.
    pub model: Option<String>,
    /// The model to use when the first one is overloaded.
    pub fallback_model: Option<String>,
    /// The id of the session.
    pub session: SessionId,
    /// The log to go on with, if it is not where a new one would be.
    pub log: Option<PathBuf>,
    /// What was said before.
    pub resumed: Option<Resumed>,
    /// Lines that a copy of another session begins with.
    pub copied: Vec<Vec<u8>>,
    /// Whether a log is written.
    pub keeps_log: bool,
    /// Whose way of writing a log is followed.
    pub style: LogStyle,
    /// Whether files are copied before they change.
    pub keeps_files: bool,
    /// How it was started, as lines of the log say.
    pub entrypoint: String,
    /// Replace recto's system prompt.
    pub system_prompt: Option<String>,
    /// What is added to the system prompt.
    pub append_system_prompt: Option<String>,
    /// The most requests of a turn.
    pub max_turns: Option<u64>,
    /// The most money, in dollars.
    pub budget: Option<f64>,
    /// The shape of the output.
    pub schema: Option<OutputSchema>,
    /// The tokens that the model may plan with.
    pub task_budget: Option<u64>,
    /// How hard the model shall think.
    pub effort: Option<String>,
    /// `thinking` of requests, where the user says.
    pub thinking: Option<Json>,
    /// The most tokens of an answer.
    pub max_tokens: Option<u64>,
    /// Betas to name.
    pub betas: Vec<String>,
    /// Who answers questions.
    pub asker: Option<Asker>,
    /// Prices of the user.
    pub prices: Option<PriceTable>,
    /// Whether questions can be asked, so that tools exist that ask.
    pub is_attended: bool,
    /// What others bring along: a host, servers, kinds of subagents.
    pub with: With,
}

/// What others bring along.
#[derive(Debug, Default)]
pub struct With {
    /// Whether a program speaks with the session over the control protocol.
    pub is_hosted: bool,
    /// Who answers questions: `stdio` for that program, or a tool of a server.
    pub permission_tool: Option<String>,
    /// Servers of tools.
    pub servers: Vec<ServerConfig>,
    /// Further kinds of subagents.
    pub agents: Vec<AgentType>,
    /// The kind that the session itself is of.
    pub agent: Option<String>,
    /// What the session is called.
    pub title: Option<String>,
    /// A window that is smaller than the model's, in tokens.
    pub own_window: Option<u64>,
    /// Whether lines of the log are told as events, too.
    pub mirrors: bool,
    /// Directories of plugins.
    pub plugins: Vec<PathBuf>,
    /// What commands are confined to.
    pub sandbox: Option<crate::sandbox::Shared>,
}

/// How many events wait for a slow surface.
const WAITING: usize = 256;

impl Setup {
    /// A session that is ready, how to steer it, and what happens in it. Must be called inside
    /// a tokio runtime.
    pub fn start(self) -> (Runner, Control, mpsc::Receiver<TurnEvent>) {
        let (sender, events) = mpsc::channel(WAITING);
        let control = Control::default();
        let runner = self.runner(Events(sender), control.clone());
        (runner, control, events)
    }

    fn runner(mut self, events: Events, control: Control) -> Runner {
        let key = ProjectKey::of_path(&self.project.to_string_lossy());
        let usual = self.home.project(&key).join(format!("{}.jsonl", self.session));
        let log = self.log.take().unwrap_or(usual);
        let project_key = log
            .parent()
            .and_then(|folder| folder.file_name())
            .map_or_else(|| key.as_str().to_owned(), |name| name.to_string_lossy().into_owned());
        let places = Places {
            home: self.user_home.clone(),
            config: self.home.root().to_owned(),
            project: self.project.clone(),
            project_key,
            session: self.session.to_string().into(),
            temporary: self.temporary.clone(),
            shell: self.shell.clone(),
        };
        let link = self.with.is_hosted.then(|| {
            let events = events.clone();
            HostLink::new(Arc::new(move |line| {
                let events = events.clone();
                Box::pin(async move { events.send(TurnEvent::Control(line)).await })
            }))
        });
        let mut resumed = self.resumed.take().unwrap_or_default();
        for plugin in self.plugins().iter().filter(|plugin| !plugin.unused.is_empty()) {
            let what = plugin.unused.join(" and ");
            resumed
                .told
                .push(format!("the plugin {} has {what}, which recto does not use", plugin.name));
        }
        let kind = self.become_kind(&mut resumed);
        resumed.runs_as = kind.as_ref().map(|kind| kind.name.clone());
        let kind_to_be = self.with.agent.take().filter(|_| kind.is_none());
        let model = self
            .model
            .clone()
            .or_else(|| self.settings.model().map(str::to_owned))
            .or_else(|| resumed.model.clone())
            .unwrap_or_default();
        let model = model_named(&model);
        let name = resumed.slug.clone().unwrap_or_else(slug);
        let mut place = self.place(&places);
        let is_attended = self.is_attended || self.with.permission_tool.as_deref() == Some("stdio");
        let plans = self.home.root().join("plans");
        let plan_file = is_attended.then(|| plans.join(format!("{}.md", slug())));
        place.writable.extend(plan_file.clone());
        let directories = place.additional.clone();
        let mut permissions = Permissions::new(&self.settings, &self.permissions);
        let mut offer = self.offer(&permissions, &model, &resumed);
        let asked = offer.skills.iter().filter(|skill| skill.needs_consent());
        permissions.ask_about_skills(asked.map(|skill| skill.name.clone()));
        if let Some(names) = kind.and_then(|kind| kind.tools) {
            offer.withhold_but(|tool| names.iter().any(|name| name == tool.name()));
        }
        let shelf = Shelf::from(offer);
        let asked = self.with.permission_tool.as_ref().map(|_| mpsc::channel(1));
        let (asker, questions) = match asked {
            Some((asker, questions)) => (Some(asker), Some(questions)),
            None => (self.asker.take(), None),
        };
        let mut totals = Totals::with_prices(self.prices.take());
        totals.models.clone_from(&resumed.spent);
        let checkpoints = (self.keeps_files && self.keeps_log).then(|| {
            let folder = self.home.file_history().join(self.session.to_string());
            Mutex::new(Checkpoints::new(folder, self.project.clone()))
        });
        let environment: BTreeMap<String, String> =
            self.settings.environment().into_iter().collect();
        let shared = Arc::new(Shared {
            home: self.home.clone(),
            client: self.client.clone(),
            places: places.clone(),
            offer: shelf.clone(),
            settings: self.settings.clone(),
            hooks: Hooks::new(&self.settings),
            link: link.clone(),
            callbacks: Mutex::default(),
            kind_to_be: Mutex::new(kind_to_be),
            changes: Mutex::default(),
            servers: Servers::new(
                std::mem::take(&mut self.with.servers),
                self.project.clone(),
                link.clone(),
            ),
            mirror: self.with.mirrors.then(Mirror::default),
            permission_tool: self.with.permission_tool.clone().filter(|tool| tool != "stdio"),
            permissions: Mutex::new(permissions),
            place: Mutex::new(place),
            environment: environment.clone(),
            asker,
            asking: tokio::sync::Mutex::new(()),
            asked: Mutex::default(),
            unanswered: Mutex::default(),
            presence: super::presence::Presence::default(),
            agents: Mutex::default(),
            events,
            control,
            totals: Mutex::new(totals),
            size: Mutex::default(),
            own_window: self.with.own_window,
            checkpoints,
            sandbox: self.with.sandbox.clone(),
            noted: Mutex::default(),
            unheard: Mutex::default(),
            denials: Mutex::default(),
            model: Mutex::new(model.clone()),
            prompt_id: Mutex::default(),
            fallback_model: self.fallback_model.as_deref().map(model_named),
            effort: self.effort.clone(),
            task_budget: self.task_budget,
            thinking: Mutex::new(self.thinking.clone()),
            max_tokens: self.max_tokens,
            betas: self.betas.clone(),
            wanted: self.wanted,
            managed_instructions: self.managed_instructions.clone(),
            log: Mutex::new(log.clone()),
            keeps_log: self.keeps_log,
            style: self.style,
            entrypoint: self.entrypoint.clone(),
            slug: name.clone(),
            output_style: self.output_style(),
            plugins: self.plugins(),
        });
        let (host, requests) = Host::channel();
        match (questions, link, self.with.permission_tool.clone()) {
            (Some(questions), Some(link), Some(tool)) if tool == "stdio" => {
                tokio::spawn(serve_host(link, questions));
            }
            (Some(questions), _, Some(tool)) => {
                tokio::spawn(serve_tool(Arc::clone(&shared), tool, questions));
            }
            _ => {}
        }
        let mut session = tool::Session::new(places, shelf, host, Ids::default());
        session.environment = environment;
        session.sandbox.clone_from(&self.with.sandbox);
        session.add_directories(directories);
        let is_planning = lock(&shared.permissions).mode == Mode::Plan;
        session.set_planning(is_planning, plan_file);
        let tools = Arc::new(session);
        let above = Above::default();
        tokio::spawn(host::serve(Arc::clone(&shared), Arc::clone(&tools), above, requests));
        let mut transcript = self.transcript(&log, &model, &mut resumed, &name);
        transcript.mirror_to(shared.mirror.clone(), &log);
        let mut conversation = Conversation::new(shared, tools, transcript, self.system(&model));
        conversation.schema = self.schema.take().map(Arc::new);
        conversation.limits = Limits { max_turns: self.max_turns, budget: self.budget };
        conversation.shared.servers.begin();
        Runner::new(conversation, resumed, self)
    }

    /// The folders that hold skills and kinds of subagents, those of the project first.
    fn folders(&self) -> Vec<PathBuf> {
        let claude = [self.project.join(".claude"), self.home.root().to_owned()];
        let wanted = [self.wanted.project, self.wanted.user];
        let folders = claude.into_iter().zip(wanted).filter(|(_, is_wanted)| *is_wanted);
        folders.map(|(folder, _)| folder).collect()
    }

    fn plugins(&self) -> Vec<Plugin> {
        plugins_in(&self.with.plugins)
    }

    fn output_style(&self) -> OutputStyle {
        let name = self.settings.value("outputStyle").and_then(|(name, _)| name.as_str());
        name.map_or_else(OutputStyle::default, |name| OutputStyle::named(name, &self.folders()))
    }

    /// All kinds of subagents; the first of a name counts.
    fn kinds(&self) -> Vec<AgentType> {
        let mut kinds = self.with.agents.clone();
        let shared = self.plugins().into_iter().flat_map(|plugin| plugin.agents());
        let found = agents_in(&self.folders()).into_iter().chain(shared);
        for kind in found.chain(built_in_agents()) {
            if kinds.iter().all(|known| known.name != kind.name) {
                kinds.push(kind);
            }
        }
        kinds
    }

    /// What is wrong with the kind that the session shall be of. A host names its agents later.
    pub fn unknown_agent(&self) -> Option<String> {
        let name = self.with.agent.as_ref().filter(|_| !self.with.is_hosted)?;
        let kinds = self.kinds();
        if kinds.iter().any(|kind| kind.name == *name) {
            return None;
        }
        let known: Vec<&str> = kinds.iter().map(|kind| kind.name.as_str()).collect();
        Some(format!("--agent '{name}' not found. Available agents: {}", known.join(", ")))
    }

    /// Takes over prompt and model of the kind that the session is of.
    fn become_kind(&mut self, resumed: &mut Resumed) -> Option<AgentType> {
        let name = self.with.agent.clone()?;
        let Some(kind) = self.kinds().into_iter().find(|kind| kind.name == name) else {
            // A host names its agents later.
            if !self.with.is_hosted {
                resumed.told.push(format!("there is no agent {name}; continuing without it"));
            }
            return None;
        };
        // What the user says counts more.
        let is_unsaid = self.system_prompt.as_ref().is_none_or(String::is_empty);
        if let Some(prompt) = kind.prompt.as_ref().filter(|_| is_unsaid) {
            self.system_prompt = Some(prompt.clone());
        }
        self.model = self.model.take().or_else(|| kind.model.clone());
        Some(kind)
    }

    fn place(&self, places: &Places) -> Place {
        let mut place = Place::new(self.project.clone(), self.user_home.clone());
        place.claude = self.home.root().to_owned();
        place.additional.clone_from(&self.directories);
        for text in Permissions::additional_directories(&self.settings) {
            let path = place.absolute(&text);
            place.additional.push(path);
        }
        place.readable = vec![places.results(), places.tasks()];
        place
    }

    /// The tools of the session.
    fn offer(&self, permissions: &Permissions, model: &str, resumed: &Resumed) -> Offer {
        let is_attended = self.is_attended || self.with.permission_tool.as_deref() == Some("stdio");
        let mut offer = if is_attended { Offer::attended() } else { Offer::headless() };
        if recto_session::request::has_system_turns(model) {
            for tool in [Tool::TaskCreate, Tool::TaskGet, Tool::TaskList, Tool::TaskUpdate] {
                offer.disable(tool.name());
            }
        }
        // A session goes on with the tools that it knows, unless the user chose others.
        if self.tools.is_none() {
            let known = resumed.tools.iter().filter_map(|name| Tool::named(name));
            known.filter(|tool| !tool.asks()).for_each(|tool| offer.add(tool));
        }
        offer.skills = skills_in(&self.folders());
        offer.skills.extend(self.plugins().iter().flat_map(Plugin::skills));
        offer.agents = self.kinds();
        if let Some(names) = &self.tools {
            let is_wanted = |tool: &Tool| names.iter().any(|name| Tool::named(name) == Some(*tool));
            for tool in Tool::ALL.into_iter().filter(|tool| !tool.is_older()) {
                if is_wanted(&tool) {
                    offer.add(tool);
                } else {
                    offer.disable(tool.name());
                }
            }
        }
        for tool in Tool::ALL.into_iter().filter(|tool| permissions.is_removed(tool.name())) {
            offer.disable(tool.name());
            // Without a shell there must be another way to search.
            if tool == Tool::Bash && self.tools.is_none() {
                offer.add(Tool::Glob);
                offer.add(Tool::Grep);
            }
        }
        offer
    }

    pub(super) fn system(&self, model: &str) -> Vec<Block> {
        let mut text = match &self.system_prompt {
            Some(text) => text.clone(),
            None => format!("{}\n\nThe model is {model}.", prompt::SYSTEM),
        };
        if let Some(style) = self.output_style().instructions {
            text = format!("{text}\n\n{style}").trim().to_owned();
        }
        if let Some(more) = &self.append_system_prompt {
            text = format!("{text}\n\n{more}").trim().to_owned();
        }
        if text.trim().is_empty() { Vec::new() } else { vec![Block::text(&text)] }
    }

    fn transcript(
        &self,
        log: &std::path::Path,
        model: &str,
        resumed: &mut Resumed,
        name: &str,
    ) -> Transcript {
        let mut envelope = Envelope::new(recto_log::Generation::latest());
        envelope.session = Some(self.session);
        envelope.user_type = Some("external".to_owned());
        envelope.entrypoint = Some(self.entrypoint.clone());
        envelope.cwd = Some(self.project.display().to_string());
        envelope.version = Some(version("2.1.325"));
        let git = crate::memory::Git::find(&self.project);
        let branch = git.and_then(|git| git.branch).unwrap_or_else(|| "HEAD".to_owned());
        envelope.branch = Some(branch);
        let writer = self.keeps_log.then(|| LogWriter::new(&self.home, log, SyncPolicy::Never));
        let mut history = History::new(model, resumed.messages.clone());
        let capabilities = &self.client.endpoint().capabilities;
        // Signatures of one endpoint mean nothing to another.
        let checks = matches!(capabilities.name.as_str(), "anthropic" | "loopback" | "any");
        if !checks && history.drop_thinking() {
            let words = "omitted thinking: this endpoint cannot verify its signature";
            resumed.told.push(words.to_owned());
        }
        let mut transcript = Transcript::new(envelope, writer, history, self.style, name);
        transcript.go_on_from(resumed.leaf.clone(), resumed.turns, resumed.lines);
        transcript
    }
}
