//! What the state wants done, with files, the session and other programs.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;
use std::sync::mpsc;
use std::thread;

use recto_agent::memory::notes;
use recto_agent::turn::DeskFacts;
use recto_agent::turn::Prompt;
use recto_agent::turn::Question;
use recto_agent::turn::Reply;
use recto_log::EntryUuid;
use recto_log::ProjectKey;
use recto_store::Digest;
use recto_store::Home;
use recto_store::SessionFile;
use serde_json::Value;
use serde_json::json;
use tokio::sync::oneshot;

use super::calls::MOST_CALLS;
use super::host::Host;
use super::host::Order;
use super::host::Told;
use super::picker::Choice;
use super::question::Asked;
use super::question::file_of;
use super::question::rules_of;
use super::state::Effect;
use super::state::Input;
use super::state::Opened;
use crate::commands::run::RunOptions;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::running::COMPATIBLE;
use crate::running::Refused;
use crate::running::prepare;
use crate::select::target;
use crate::terminal::output::Look;
use crate::terminal::text::age;
use crate::terminal::text::fit;
use crate::terminal::text::one_line;

/// How many sessions are offered.
const MOST_SESSIONS: usize = 50;
/// How much output of a command of the user is kept.
const MOST_OUTPUT: usize = 30_000;

/// What does things for the console.
pub(super) struct Doing<'a> {
    pub(super) home: &'a Home,
    pub(super) environment: &'a Environment,
    options: RunOptions,
    pub(super) host: Host,
    pub(super) session: String,
    pub(super) project: PathBuf,
    questions: HashMap<String, oneshot::Sender<Reply>>,
    later: (mpsc::Sender<Input>, mpsc::Receiver<Input>),
}

/// What remains for whoever has the terminal.
pub(super) enum Left {
    Done,
    Terminal(Effect),
}

impl<'a> Doing<'a> {
    pub(super) fn start(
        home: &'a Home,
        environment: &'a Environment,
        options: RunOptions,
    ) -> Result<(Doing<'a>, Opened), Refused> {
        let project = environment.working_directory.clone().unwrap_or_else(|| PathBuf::from("/"));
        let is_resumed = options.goes_on || options.resume.is_some();
        let (host, mut opened) = open(home, environment, &options)?;
        let session = opened.id.clone();
        let questions = HashMap::new();
        let later = mpsc::channel();
        let doing = Doing { home, environment, options, host, session, project, questions, later };
        if is_resumed {
            opened.remark = Some(doing.resumed());
        }
        Ok((doing, opened))
    }

    /// Which session was resumed; nothing else on the screen says so.
    fn resumed(&self) -> String {
        let digest = self.file().and_then(|file| Digest::read(&file.path, false).ok());
        let title = digest.and_then(|digest| digest.title).map(|(title, _)| one_line(&title));
        let title = title.map(|title| format!(" “{}”", fit(&title, 60))).unwrap_or_default();
        format!("resumed{title}; Ctrl-O shows the conversation so far")
    }

    /// Prompts of earlier times.
    pub(super) fn history(&self) -> Vec<String> {
        notes::prompts(&self.home.root().join("history.jsonl"), &self.project)
    }

    pub(super) fn branch(&self) -> Option<String> {
        notes::branch(&self.project)
    }

    /// What came in since the last time; whether the session is over.
    pub(super) fn incoming(&mut self) -> (Vec<Input>, Option<Result<(), String>>) {
        let mut inputs: Vec<Input> = self.later.1.try_iter().collect();
        let mut over = None;
        while let Ok(told) = self.host.told.try_recv() {
            match told {
                Told::Event(event) => {
                    if let recto_agent::turn::TurnEvent::StartedOver { session } = &*event {
                        self.session.clone_from(session);
                    }
                    let has_ended = matches!(*event, recto_agent::turn::TurnEvent::Ended(_));
                    inputs.push(Input::Event(event));
                    if has_ended {
                        inputs.push(Input::Branch(self.branch()));
                    }
                }
                Told::Asked(question) => inputs.push(self.asked(*question)),
                Told::Over(end) => over = Some(end.map(|_| ())),
            }
        }
        (inputs, over)
    }

    fn asked(&mut self, question: Question) -> Input {
        let Question { tool, input, id, agent, text, suggestions, cwd, answer, .. } = question;
        let before = match tool.as_str() {
            "Write" => {
                let path = input["file_path"].as_str().unwrap_or_default();
                let bytes = recto_store::read_chosen(&cwd.join(path)).ok();
                bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            }
            _ => None,
        };
        self.questions.insert(id.clone(), answer);
        Input::Asked(Box::new(Asked { id, tool, input, text, suggestions, agent, before }))
    }

    /// Does what needs no terminal.
    pub(super) fn take(&mut self, effect: Effect) -> (Left, Vec<Input>) {
        let mut inputs = Vec::new();
        match effect {
            Effect::Prompt(content, uuid) => inputs.extend(self.prompt(content, &uuid)),
            Effect::Request(id, body) => {
                let line = json!({"type": "control_request", "request_id": id, "request": body});
                self.host.order(Order::Request(line));
            }
            Effect::Reply(id, reply) => {
                if let Some(answer) = self.questions.remove(&id) {
                    let _ = answer.send(*reply);
                }
            }
            Effect::Keep(update) => inputs.push(self.keep(&update)),
            Effect::Interrupt => self.host.order(Order::Interrupt),
            Effect::Shell(command) => self.shell(command),
            Effect::Remember(text) => inputs.push(self.remember(&text)),
            Effect::History(text) => {
                let file = self.home.root().join("history.jsonl");
                // Nobody loses anything but a line of history.
                let _ = notes::add_prompt(&file, &text, &self.project, &self.session);
            }
            Effect::ListSessions => inputs.push(Input::Sessions(self.sessions())),
            Effect::ListPrompts => inputs.push(self.prompts()),
            Effect::Rewind(prompt, extent) => inputs.extend(self.rewind(&prompt, extent)),
            Effect::UndoFiles => inputs.push(self.undo_files()),
            Effect::Open(text) => {
                let options = RunOptions { resume: Some(text), ..self.fresh() };
                inputs.extend(self.switch(
                    options,
                    None,
                    "resumed; Ctrl-O shows the conversation so far",
                ));
            }
            Effect::Fork => {
                let resume = Some(self.session.clone());
                let options = RunOptions { resume, fork_session: true, ..self.fresh() };
                inputs.extend(self.switch(
                    options,
                    None,
                    "this is a copy; the original session does not change",
                ));
            }
            Effect::AddDirectory(text) => inputs.extend(self.add_directory(&text)),
            Effect::Export(text) => inputs.push(self.export(&text)),
            effect @ (Effect::Transcript
            | Effect::Bell
            | Effect::Redraw
            | Effect::Suspend
            | Effect::Quit) => return (Left::Terminal(effect), inputs),
        }
        (Left::Done, inputs)
    }

    /// Options that name no session.
    pub(super) fn fresh(&self) -> RunOptions {
        RunOptions {
            resume: None,
            goes_on: false,
            fork_session: false,
            resume_session_at: None,
            session_id: None,
            prompt: None,
            ..self.options.clone()
        }
    }

    fn prompt(&mut self, content: Value, uuid: &str) -> Option<Input> {
        let mut failed = None;
        let content = match content.get("images").and_then(Value::as_array) {
            Some(images) => {
                let text = content["text"].as_str().unwrap_or_default();
                let paths: Vec<PathBuf> = images
                    .iter()
                    .filter_map(|path| Some(self.project.join(path.as_str()?)))
                    .collect();
                notes::with_images(text, &paths).unwrap_or_else(|error| {
                    let why = format!("sent without the image: {error}");
                    failed = Some(Input::Say(Look::Warning, why));
                    Value::String(text.to_owned())
                })
            }
            None => content,
        };
        let mut prompt = Prompt::text("");
        prompt.content = content;
        prompt.uuid = Some(EntryUuid::new(uuid));
        self.host.order(Order::Prompt(Box::new(prompt)));
        failed
    }

    /// Writes rules that the user granted for good.
    fn keep(&self, update: &Value) -> Input {
        let rules = rules_of(update);
        let Some(name) = file_of(update).filter(|_| !rules.is_empty()) else {
            return Input::Say(Look::Faint, "granted for this session".to_owned());
        };
        let file = match update["destination"] == "userSettings" {
            true => self.home.root().join(name),
            false => self.project.join(name),
        };
        let kept = self.backup("settings").and_then(|backup| {
            notes::keep_rules(&file, &rules, &backup).map_err(CommandError::from)
        });
        match kept {
            Ok(()) => {
                Input::Say(Look::Faint, format!("added {} to {}", rules.join(", "), file.display()))
            }
            Err(error) => Input::Say(Look::Warning, format!("cannot save the rule: {error}")),
        }
    }

    /// A file for what is replaced.
    fn backup(&self, name: &str) -> Result<PathBuf, CommandError> {
        let time = self.environment.now().as_millisecond();
        let folder = self.environment.data_directory()?.root().join("replaced");
        Ok(folder.join(format!("{name}-{time}.json")))
    }

    /// Runs a command of the user, who needs no permission.
    fn shell(&self, command: String) {
        let (shell, project) = (self.environment.run.shell.clone(), self.project.clone());
        let later = self.later.0.clone();
        let work = move || {
            let mut program = Command::new(shell);
            program.arg("-c").arg(&command).current_dir(project).stdin(Stdio::null());
            let (text, code) = match program.output() {
                Ok(output) => {
                    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
                    text.push_str(&String::from_utf8_lossy(&output.stderr));
                    (text, output.status.code().unwrap_or(1))
                }
                Err(error) => (error.to_string(), 127),
            };
            let _ = later.send(Input::Shell(command, text, code));
        };
        let _ = thread::Builder::new().name("shell".into()).spawn(work);
    }

    /// Tells the session what a command of the user printed.
    pub(super) fn note_shell(&self, command: &str, output: &str) {
        let cut = output.floor_char_boundary(MOST_OUTPUT.min(output.len()));
        let text = format!(
            "<bash-input>{command}</bash-input>\n<bash-stdout>{}</bash-stdout><bash-stderr></bash-stderr>",
            &output[..cut]
        );
        let mut prompt = Prompt::text(text);
        prompt.asks = false;
        prompt.is_verbatim = true;
        self.host.order(Order::Prompt(Box::new(prompt)));
    }

    /// Adds a line to the project's instructions; without one, says which files there are.
    fn remember(&self, text: &str) -> Input {
        let files = [
            self.project.join("CLAUDE.md"),
            self.project.join("CLAUDE.local.md"),
            self.home.root().join("CLAUDE.md"),
        ];
        if text.is_empty() {
            let lines = files.iter().map(|file| {
                let state = if crate::select::file_path::is_file(file) { "" } else { "  (none)" };
                format!("{}{state}", file.display())
            });
            let text = lines.collect::<Vec<_>>().join("\n");
            return Input::Say(
                Look::Plain,
                format!("{text}\n`# text` adds a line to the first file"),
            );
        }
        match notes::remember(&files[0], text) {
            Ok(()) => Input::Say(Look::Faint, format!("added to {}", files[0].display())),
            Err(error) => Input::Say(Look::Warning, format!("{}: {error}", files[0].display())),
        }
    }

    pub(super) fn file(&self) -> Option<SessionFile> {
        let sessions = self.home.inventory().sessions;
        sessions.into_iter().find(|session| session.id.to_string() == self.session)
    }

    fn sessions(&self) -> Vec<Choice> {
        let folder = self.home.project(&ProjectKey::of_path(&self.project.to_string_lossy()));
        let mut sessions = self.home.inventory().sessions;
        sessions.retain(|session| {
            session.path.parent() == Some(&folder) && session.id.to_string() != self.session
        });
        sessions.sort_by_key(|session| std::cmp::Reverse(session.modified()));
        let rows = sessions.iter().take(MOST_SESSIONS).filter_map(|session| {
            let digest = Digest::read(&session.path, false).ok()?;
            let title = digest.title.map(|(title, _)| title).or(digest.first_prompt)?;
            let time = digest.ended.map(|time| age(time, self.environment.now()));
            let id = session.id.to_string();
            let about = [time, digest.branch, id.get(..8).map(str::to_owned)];
            let about: Vec<String> = about.into_iter().flatten().collect();
            Some(Choice::new(id, title, about.join(" · ")))
        });
        rows.collect()
    }

    fn add_directory(&mut self, text: &str) -> Vec<Input> {
        let path = self.project.join(text);
        if !crate::select::file_path::is_directory(&path) {
            let text = format!("directory must exist: {}", path.display());
            return vec![Input::Say(Look::Warning, text)];
        }
        let path = crate::select::file_path::without_links(&path).unwrap_or(path);
        self.options.add_dir.push(path.clone());
        let (resume, session_id) = match self.file() {
            Some(_) => (Some(self.session.clone()), None),
            None => (None, Some(self.session.clone())),
        };
        let options = RunOptions { resume, session_id, ..self.fresh() };
        self.switch(options, None, &format!("added the working directory {}", path.display()))
    }

    fn export(&self, text: &str) -> Input {
        let name = match text {
            "" => format!("conversation-{}.md", self.session.get(..8).unwrap_or_default()),
            text => text.to_owned(),
        };
        let file = self.project.join(name);
        let run = || -> Result<String, CommandError> {
            let mut command = Command::new(Environment::program()?);
            command.arg("--home").arg(self.home.root()).args(["export", &self.session]);
            command.args(["--to", "md", "--output"]).arg(&file).stdin(Stdio::null());
            let output = command.output()?;
            match output.status.success() {
                true => Ok(format!("wrote {}", file.display())),
                false => {
                    let why = String::from_utf8_lossy(&output.stderr).into_owned();
                    Err(CommandError::user("run-failed", one_line(&why)))
                }
            }
        };
        match run() {
            Ok(text) => Input::Say(Look::Faint, text),
            Err(error) => Input::Say(Look::Warning, error.to_string()),
        }
    }

    /// Ends the session and opens another one, or this one elsewhere.
    pub(super) fn switch(
        &mut self,
        options: RunOptions,
        draft: Option<String>,
        remark: &str,
    ) -> Vec<Input> {
        self.host.stop();
        self.questions.clear();
        let here = RunOptions { resume: Some(self.session.clone()), ..self.fresh() };
        let (opened, warning) = match open(self.home, self.environment, &options) {
            Ok(opened) => (Ok(opened), None),
            // The session that was open is opened again.
            Err(refused) => {
                let why = told(&refused);
                let again = match self.file() {
                    Some(_) => open(self.home, self.environment, &here),
                    None => open(self.home, self.environment, &self.fresh()),
                };
                (again, Some(why))
            }
        };
        match opened {
            Ok((host, mut opened)) => {
                self.host = host;
                self.session.clone_from(&opened.id);
                if warning.is_none() {
                    opened.draft = draft;
                    opened.remark = Some(remark.to_owned());
                }
                let mut inputs = vec![Input::Opened(opened)];
                inputs.extend(warning.map(|why| Input::Say(Look::Warning, why)));
                inputs
            }
            Err(refused) => vec![Input::Say(Look::Bad, told(&refused))],
        }
    }
}

fn told(refused: &Refused) -> String {
    match refused {
        Refused::Usage(text) | Refused::Session(text) => text.clone(),
        Refused::Command(error) => error.to_string(),
    }
}

/// Starts a session.
fn open(
    home: &Home,
    environment: &Environment,
    options: &RunOptions,
) -> Result<(Host, Opened), Refused> {
    let mut options = options.clone();
    // A session is found as other commands find one.
    if let Some(text) = &options.resume
        && let Ok(log) = target::find(home, &home.inventory(), environment, text)
        && let Some(session) = log.main()
    {
        options.resume = Some(session.id.to_string());
    }
    let mut prepared = prepare(home, environment, &options)?;
    let Some(setup) = prepared.setup.take() else {
        return Err(Refused::Session("the session cannot be prepared".to_owned()));
    };
    let named = setup.model.clone().or_else(|| setup.settings.model().map(str::to_owned));
    let named = named.or_else(|| setup.resumed.as_ref().and_then(|resumed| resumed.model.clone()));
    let model = recto_agent::turn::model_named(&named.unwrap_or_default());
    let mode = setup.permissions.mode.map_or("default", |mode| mode.name());
    let facts = DeskFacts {
        version: COMPATIBLE.to_owned(),
        key_source: prepared.key_source,
        may_bypass: options.dangerously_skip_permissions
            || options.allow_dangerously_skip_permissions,
        may_rewind: true,
    };
    let resumed = setup.resumed.as_ref();
    let calls = resumed.map(|resumed| resumed.last_calls(MOST_CALLS)).unwrap_or_default();
    let host = Host::start(setup, facts)?;
    let opened = Opened {
        id: prepared.session.to_string(),
        model,
        mode: mode.to_owned(),
        draft: None,
        remark: None,
        calls: calls.iter().map(|block| block.json().to_serde()).collect(),
    };
    Ok((host, opened))
}
