//! Sessions while they work: the board, the stream of events, and notifications.
//!
//! | part | owns |
//! |---|---|
//! | `source` | when to look again, and what is found then |
//! | `transition` | changes of status, numbered, and which of them lasted |
//! | `notify`, `webhook` | telling somebody: bell, desktop, a command, an address |
//! | `board`, `board_view` | the screen: keys in, lines out, from the state alone |
//!
//! This file runs them.

mod board;
mod board_view;
pub(crate) mod home_watch;
mod notify;
mod source;
pub(crate) mod status_view;
mod transition;
mod webhook;

#[cfg(test)]
mod board_tests;

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use crossterm::event;
use crossterm::event::Event as TerminalEvent;
use recto_log::SessionId;
use recto_session::status::StatusKind;
use recto_store::Home;

use self::board::Board;
use self::board::Effect;
use self::board::Facts;
use self::board::Input;
pub(crate) use self::notify::Notice;
use self::notify::Notifier;
use self::source::Sight;
pub(crate) use self::source::Source;
use self::transition::Event;
use self::transition::Lasting;
use self::transition::Transitions;
pub(crate) use self::transition::end;
use crate::browser;
use crate::browser::Opening;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;
use crate::terminal::screen;
use crate::terminal::screen::Screen;
use crate::terminal::screen::signals::Signals;
use crate::terminal::screen::signals::stop;
use crate::terminal::text::path_from_home;
use crate::terminal::tmux;

/// How long the board waits for a key before it looks for news.
const KEYS: Duration = Duration::from_millis(100);
/// How long the stream of events waits before it looks whether something lasted.
const NEWS: Duration = Duration::from_millis(500);

/// What is watched, and who is told.
pub(crate) struct Watching<'a> {
    pub(crate) home: &'a Home,
    pub(crate) environment: &'a Environment,
    pub(crate) notices: Vec<Notice>,
    pub(crate) on: Vec<StatusKind>,
    pub(crate) shows_ended: bool,
}

/// News on their way to whoever is told.
struct Telling {
    transitions: Transitions,
    lasting: Lasting,
    notifier: Option<Notifier>,
}

impl Telling {
    fn new(watching: &Watching<'_>) -> Result<Telling, CommandError> {
        let notices = watching.notices.clone();
        let notifier = if notices.is_empty() { None } else { Some(Notifier::start(notices)?) };
        let lasting = Lasting::new(watching.on.clone());
        Ok(Telling { transitions: Transitions::default(), lasting, notifier })
    }

    /// The changes since the last time. Those that lasted are told.
    fn take(&mut self, sight: &Sight, now: jiff::Timestamp) -> Vec<Event> {
        let events = self.transitions.see(sight, now);
        self.lasting.take(&events, now);
        events
    }

    /// Tells what has lasted; gives what went wrong with earlier ones.
    fn tell(&mut self, now: jiff::Timestamp) -> Vec<String> {
        let due = self.lasting.due(now);
        let Some(notifier) = &self.notifier else { return Vec::new() };
        if notifier.wants_bell() && !due.is_empty() {
            Output::bell();
        }
        let mut failures = notifier.failures();
        let missed = due.iter().filter(|event| !notifier.tell(event)).count();
        if missed > 0 {
            failures.push(format!("dropped {missed} events: a notifier is too slow"));
        }
        failures
    }
}

impl Watching<'_> {
    /// Writes a JSON line for every change, until the output is closed.
    pub(crate) fn events(&self, output: &mut Output) -> Result<Outcome, CommandError> {
        let news = self.start()?;
        let mut telling = Telling::new(self)?;
        while !output.is_closed() {
            match news.recv_timeout(NEWS) {
                Ok(sight) => {
                    let sight = sight?;
                    for event in telling.take(&sight, self.environment.now()) {
                        output.row(&event.row())?;
                    }
                    output.flush()?;
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(CommandError::user("internal", "the watcher has stopped")
                        .with_hint("this is a bug in recto; the logs are unchanged"));
                }
            }
            for failure in telling.tell(self.environment.now()) {
                output.remark(&failure);
            }
        }
        Ok(Outcome::Done)
    }

    /// Shows the board until it is left.
    pub(crate) fn board(&self, has_colour: bool) -> Result<Outcome, CommandError> {
        let user_home = self.environment.user_home.clone();
        let root = self.home.root().to_string_lossy();
        let facts = Facts {
            home: path_from_home(&root, user_home.as_deref()),
            environment: self.environment.clone(),
            has_colour,
        };
        let signals = Signals::watch()?;
        let telling = Telling::new(self)?;
        let news = self.start()?;
        let screen = Screen::take()?;
        let mut board = Board::new(facts, screen.size()?, self.environment.now());
        board.shows_ended = self.shows_ended;
        let mut running = Running { screen, board, telling, news, signals };
        let ended = running.run(self.home, self.environment);
        drop(running.screen);
        ended?;
        running.signals.obey()?;
        Ok(Outcome::Done)
    }

    /// Looks at the home on a thread of its own, for as long as somebody listens.
    fn start(&self) -> Result<Receiver<Result<Sight, CommandError>>, CommandError> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let (home, environment) = (self.home.clone(), self.environment.clone());
        thread::Builder::new().name("watch".into()).spawn(move || {
            let mut source = match Source::new(home) {
                Ok(source) => source,
                Err(error) => return drop(sender.send(Err(error.into()))),
            };
            loop {
                let sight = source.look(environment.now());
                if sender.send(Ok(sight)).is_err() {
                    return;
                }
                source.wait(environment.now(), None);
            }
        })?;
        Ok(receiver)
    }
}

struct Running {
    screen: Screen,
    board: Board,
    telling: Telling,
    news: Receiver<Result<Sight, CommandError>>,
    signals: Signals,
}

impl Running {
    fn run(&mut self, home: &Home, environment: &Environment) -> Result<(), CommandError> {
        let mut is_dirty = true;
        loop {
            if self.signals.came() {
                return Ok(());
            }
            if let Some(panic) = screen::worker_panic() {
                return Err(CommandError::user("internal", panic)
                    .with_hint("this is a bug in recto; the logs are unchanged"));
            }
            let now = environment.now();
            while let Ok(sight) = self.news.try_recv() {
                let sight = sight?;
                self.telling.take(&sight, now);
                self.board.handle(Input::Found(sight.found));
                is_dirty = true;
            }
            for failure in self.telling.tell(now) {
                self.board.handle(Input::Failure(failure));
                is_dirty = true;
            }
            // Ages are shown in seconds.
            if self.board.now.as_second() != now.as_second() {
                self.board.handle(Input::Tick(now));
                is_dirty = true;
            }
            if std::mem::take(&mut is_dirty) {
                self.screen.draw(|frame| board_view::draw(&self.board, frame))?;
            }
            if !event::poll(KEYS)? {
                continue;
            }
            is_dirty = true;
            let input = match event::read()? {
                TerminalEvent::Key(key) => Input::Key(key),
                TerminalEvent::Resize(width, height) => Input::Resize(width, height),
                _ => continue,
            };
            match self.board.handle(input) {
                Some(Effect::Quit) => return Ok(()),
                Some(Effect::Redraw) => self.screen.redraw()?,
                Some(Effect::Suspend) => self.screen.lend(stop)??,
                Some(Effect::Open(session)) => self.read(home, environment, session)?,
                Some(Effect::Pane(pid)) => {
                    if let Err(failure) = tmux::go_to(pid) {
                        self.board.handle(Input::Failure(failure));
                    }
                }
                None => {}
            }
        }
    }

    /// Lends the screen to the browser, which reads a session. Notifications go on meanwhile.
    fn read(
        &mut self,
        home: &Home,
        environment: &Environment,
        session: SessionId,
    ) -> Result<(), CommandError> {
        let Running { screen, board, telling, news, signals } = self;
        let opening = Opening {
            home,
            environment,
            has_colour: board.facts.has_colour,
            filter: String::new(),
            session: Some(session),
            signals: signals.clone(),
        };
        let is_over = AtomicBool::new(false);
        let (read, meanwhile) = screen.lend(|| {
            thread::scope(|scope| {
                let telling = scope.spawn(|| tell_meanwhile(telling, news, environment, &is_over));
                let read = browser::browse(opening);
                is_over.store(true, Ordering::Relaxed);
                (read, telling.join())
            })
        })?;
        let size = screen.size()?;
        board.handle(Input::Resize(size.0, size.1));
        // A panic of the other thread is noticed as that of any worker.
        for input in meanwhile.unwrap_or_else(|_| Ok(Vec::new()))? {
            board.handle(input);
        }
        read.map(drop)
    }
}

/// Tells what happens while somebody reads; gives what the board has missed.
fn tell_meanwhile(
    telling: &mut Telling,
    news: &mut Receiver<Result<Sight, CommandError>>,
    environment: &Environment,
    is_over: &AtomicBool,
) -> Result<Vec<Input>, CommandError> {
    let mut missed = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        match news.recv_timeout(KEYS) {
            Ok(sight) => {
                let sight = sight?;
                telling.take(&sight, environment.now());
                missed.retain(|input| !matches!(input, Input::Found(_)));
                missed.push(Input::Found(sight.found));
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            // The board notices it by itself.
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
        missed.extend(telling.tell(environment.now()).into_iter().map(Input::Failure));
    }
    Ok(missed)
}
