//! The browser: sessions and transcripts on the whole terminal.
//!
//! | part | owns |
//! |---|---|
//! | `state`, `list`, `list_keys`, `row`, `scope`, `fitting`, `preview`, `reader`, `find`, `table_page`, `actions`, `overlay`, `mouse`, `incoming` | what is shown and what keys do; no input and output |
//! | `view`, `layout`, `keys` | the screen, from the state alone |
//! | `worker`, `jobs`, `listing`, `search` | files, on threads of their own |
//! | `message`, `document` | what they say to each other |
//!
//! This file runs them: what happened goes into the state, what comes out of it is
//! done. Nothing here waits for a file.

mod actions;
mod document;
mod find;
mod fitting;
mod incoming;
mod jobs;
mod keys;
mod layout;
mod list;
mod list_keys;
mod listing;
mod message;
mod mouse;
mod overlay;
mod preview;
mod reader;
mod row;
mod scope;
mod search;
mod state;
mod table_page;
mod view;
mod worker;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event;
use crossterm::event::Event;
use crossterm::event::MouseEventKind;
use recto_log::SessionId;
use recto_store::Home;

use self::message::Effect;
use self::message::Input;
use self::message::Resume;
use self::scope::Here;
use self::state::Browser;
use self::state::Facts;
use self::state::shown_path;
use self::worker::Place;
use self::worker::Workers;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::file_path::is_directory;
use crate::select::file_path::repository_of;
use crate::select::file_path::without_links;
use crate::select::target::home_to_name;
use crate::terminal::screen;
use crate::terminal::screen::Screen;
use crate::terminal::screen::signals::Signals;
use crate::terminal::screen::signals::stop;
use crate::terminal::tmux;

/// How long to wait for a key while something is on its way from the workers.
const SHORT: Duration = Duration::from_millis(15);
/// How long otherwise: news of running sessions may come that late.
const LONG: Duration = Duration::from_millis(200);

/// What the browser is opened with.
pub(crate) struct Opening<'a> {
    pub(crate) home: &'a Home,
    pub(crate) environment: &'a Environment,
    pub(crate) has_colour: bool,
    /// What is typed already.
    pub(crate) filter: String,
    /// The session to read at first; who leaves it leaves the browser.
    pub(crate) session: Option<SessionId>,
    pub(crate) signals: Signals,
}

/// Opens the browser, and comes back when it is left.
pub(crate) fn browse(opening: Opening<'_>) -> Result<Outcome, CommandError> {
    let Opening { home, environment, has_colour, filter, session, signals } = opening;
    let place = Place {
        home: Arc::new(home.clone()),
        user_home: environment.user_home.clone(),
        working_directory: environment.working_directory.clone(),
        environment: Arc::new(environment.clone()),
    };
    let client = environment.client.clone().unwrap_or_else(|| "claude".into());
    let facts = Facts {
        home: shown_path(home.root(), environment.user_home.as_ref()),
        here: here(environment),
        first: session.map(|session| session.to_string()),
        in_tmux: environment.in_tmux,
        keymap: environment.keymap.clone(),
        home_to_name: home_to_name(home, environment),
        client: client.clone(),
        has_colour,
    };
    let workers = Workers::start(&place)?;
    let client = Client {
        program: client.into(),
        home: facts.home_to_name.clone(),
        root: home.root().to_owned(),
        is_recto: environment.resumes_itself,
    };
    let screen = Screen::take()?;
    let browser = Browser::new(facts, screen.size()?, environment.now(), filter);
    let mut session = Running { screen, browser, workers, signals, client };
    let ended = session.run(environment);
    // The terminal is given back first, because writing may take a while.
    drop(session.screen);
    if ended.is_ok() && !session.signals.came() {
        session.workers.finish();
    }
    ended?;
    session.signals.obey()?;
    Ok(Outcome::Done)
}

/// Where the browser was started, as clients name directories: without links.
fn here(environment: &Environment) -> Here {
    let directory = environment.working_directory.clone().unwrap_or_default();
    let directory = without_links(&directory).unwrap_or(directory);
    let project = repository_of(&directory);
    Here { directory, project }
}

/// The real client.
struct Client {
    program: OsString,
    /// The home, where it is not the one that the client would use by itself.
    home: Option<PathBuf>,
    /// The home in any case.
    root: PathBuf,
    /// Whether recto resumes sessions itself.
    is_recto: bool,
}

impl Client {
    /// Goes on with a session. The client gets the terminal.
    fn resume(&self, resume: &Resume, screen: &mut Screen) -> io::Result<Result<(), String>> {
        if !is_directory(&resume.directory) {
            let directory = resume.directory.display();
            return Ok(Err(format!("the directory {directory} no longer exists")));
        }
        screen.lend(|| self.run(resume))
    }

    fn run(&self, resume: &Resume) -> Result<(), String> {
        let program = match self.is_recto {
            true => Environment::program().map_err(|error| error.to_string())?.into(),
            false => self.program.clone(),
        };
        let name = program.to_string_lossy().into_owned();
        let mut command = Command::new(program);
        if self.is_recto {
            command.arg("--home").arg(&self.root).arg("run");
        }
        command.args(["--resume", &resume.id]).current_dir(&resume.directory);
        command.envs(self.home.iter().map(|home| ("CLAUDE_CONFIG_DIR", home)));
        match command.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("{name} ended with {status}")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(format!("cannot find {name}; set RECTO_CLIENT to name another program"))
            }
            Err(error) => Err(format!("{name} could not be started: {error}")),
        }
    }
}

struct Running {
    screen: Screen,
    browser: Browser,
    workers: Workers,
    signals: Signals,
    client: Client,
}

impl Running {
    fn run(&mut self, environment: &Environment) -> Result<(), CommandError> {
        let mut is_dirty = true;
        let mut seconds = 0;
        let mut scene = self.browser.scene();
        loop {
            if self.signals.came() {
                return Ok(());
            }
            if let Some(panic) = screen::worker_panic() {
                return Err(CommandError::user("internal", panic)
                    .with_hint("this is a bug in recto; your logs are untouched"));
            }
            while let Ok(report) = self.workers.reports.try_recv() {
                is_dirty = true;
                if self.take(Input::Report(report))? {
                    return Ok(());
                }
            }
            let now = environment.now();
            // Ages change by the minute; a second is fine enough.
            if now.as_second() != seconds {
                seconds = now.as_second();
                is_dirty |= self.browser.now.as_second() / 60 != seconds / 60;
                self.browser.handle(Input::Tick(now));
            }
            if std::mem::take(&mut is_dirty) {
                let before = std::mem::replace(&mut scene, self.browser.scene());
                if self.screen.has_clusters() && scene != before {
                    self.screen.redraw()?;
                }
                self.screen.draw(|frame| view::draw(&self.browser, frame))?;
            }
            let wait = if self.browser.is_waiting() { SHORT } else { LONG };
            if !event::poll(wait)? {
                continue;
            }
            // All that was typed meanwhile is taken before the screen is drawn.
            while event::poll(Duration::ZERO)? {
                let input = match event::read()? {
                    Event::Key(key) => Input::Key(key),
                    // Where the mouse is does not matter.
                    Event::Mouse(mouse) if mouse.kind == MouseEventKind::Moved => continue,
                    Event::Mouse(mouse) => Input::Mouse(mouse),
                    Event::Paste(text) => Input::Paste(text),
                    Event::Resize(width, height) => Input::Resize(width, height),
                    Event::FocusGained | Event::FocusLost => continue,
                };
                is_dirty = true;
                if self.take(input)? {
                    return Ok(());
                }
            }
        }
    }

    /// Does what follows from something that happened. Gives whether to end.
    fn take(&mut self, input: Input) -> Result<bool, CommandError> {
        let mut effects = self.browser.handle(input);
        while !effects.is_empty() {
            let mut more = Vec::new();
            for effect in effects {
                match effect {
                    Effect::Read(request) => self.workers.read(*request),
                    Effect::Search(request) => self.workers.search(request),
                    Effect::Errand(errand) => self.workers.errand(errand),
                    Effect::Refresh => self.workers.look(),
                    Effect::Copy(text) => self.screen.copy(&text)?,
                    Effect::Redraw => self.screen.redraw()?,
                    Effect::Suspend => self.screen.lend(stop)??,
                    Effect::Resume(resume) => {
                        let ended = self.client.resume(&resume, &mut self.screen)?;
                        self.signals.forget_interrupt();
                        more.extend(self.browser.handle(Input::Returned(ended)));
                    }
                    Effect::Pane(pid) => {
                        if let Err(message) = tmux::go_to(pid) {
                            more.extend(self.browser.handle(Input::Failed(message)));
                        }
                    }
                    Effect::Quit => return Ok(true),
                }
            }
            effects = more;
        }
        Ok(false)
    }
}

#[cfg(test)]
mod browser_tests;
#[cfg(test)]
mod doing_tests;
#[cfg(test)]
mod finding_tests;
#[cfg(test)]
mod live_tests;
#[cfg(test)]
mod page_tests;
#[cfg(test)]
mod trial;
