//! The console: a conversation on the terminal, in the terminal's own scrollback.
//!
//! ```text
//! keys, events, questions ─► Console::handle ─► effects ─► Doing (session, files, programs)
//!                                  │
//!                  lines for good ─┴─ the live area ─► Painter ─► the terminal
//! ```
//!
//! | part | owns |
//! |---|---|
//! | `state`, `editor`, `vi`, `vi_text`, `complete`, `question`, `picker`, `calls`, `commands`, `choosing`, `sending`, `live` | what is shown and what keys do; no input and output |
//! | `blocks`, `view`, `paint` | lines for the scrollback, the live area, bytes for the terminal |
//! | `message` | what they say to each other |
//! | `host`, `doing`, `going_back` | the session on its thread; files and programs |

mod blocks;
mod calls;
mod choosing;
mod commands;
mod complete;
mod doing;
mod editor;
mod going_back;
mod host;
mod live;
mod message;
mod paint;
mod picker;
mod question;
mod sending;
mod state;
mod vi;
mod vi_text;
mod view;

use std::io;
use std::io::BufRead as _;
use std::io::IsTerminal as _;
use std::sync::mpsc;
use std::time::Duration;
use std::time::Instant;

use crossterm::event;
use crossterm::event::Event;
use recto_store::Home;

use self::doing::Doing;
use self::doing::Left;
use self::paint::Painter;
use self::state::Console;
use self::state::Effect;
use self::state::Facts;
use self::state::Input;
use self::state::Opened;
use crate::commands::run::RunOptions;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::running::Refused;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::screen;
use crate::terminal::screen::Inline;
use crate::terminal::screen::signals::Signals;
use crate::terminal::screen::signals::stop;

/// How long to wait for a key while the session works, and otherwise.
const SHORT: Duration = Duration::from_millis(20);
const LONG: Duration = Duration::from_millis(100);
/// A turn that takes longer rings when it is done.
const LONG_TURN: u64 = 10 * state::TICKS;

/// Opens the console, and comes back when it is left.
pub(crate) fn open(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    options: &RunOptions,
) -> Result<Outcome, Refused> {
    let has_terminal = io::stdin().is_terminal() && output.is_terminal;
    let is_dumb = environment.dumb_terminal && has_terminal;
    let is_plain = options.plain || environment.plain || is_dumb;
    if !has_terminal && !is_plain {
        let message = "a conversation needs a terminal";
        let error = CommandError::user("no-terminal", message);
        let hint = "use -p for one prompt: recto run -p 'Why does the test fail?'";
        return Err(Refused::Command(error.with_hint(hint)));
    }
    let (doing, opened) = Doing::start(home, environment, options.clone())?;
    let facts = Facts {
        directory: environment
            .working_directory
            .as_ref()
            .map(|path| path.display().to_string())
            .unwrap_or_default(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        sandbox: crate::running::sandbox_line(environment, options),
        may_bypass: options.dangerously_skip_permissions
            || options.allow_dangerously_skip_permissions,
        is_plain,
        shows_typing: is_plain && io::stdin().is_terminal(),
        is_image: Some(recto_agent::memory::notes::is_image),
    };
    let size = crossterm::terminal::size().unwrap_or((80, 24));
    let mut console = Console::new(facts, size);
    console.editor.set_history(doing.history());
    console.editor.set_vi(environment.has_vi_keys);
    let has_colour = output.has_colour();
    let prompt = options.prompt.clone();
    if is_plain {
        let width = output.width.unwrap_or(100);
        console.handle(Input::Resize(u16::try_from(width).unwrap_or(100), 24));
        return plain(console, doing, opened, prompt, output);
    }
    let painter = Painter::new(has_colour);
    let signals = Signals::watch()?;
    let terminal = Inline::take()?;
    let mut running =
        Running { terminal, painter, console, doing, signals, home, environment, has_colour };
    let ended = running.run(opened, prompt);
    let last = match running.signals.came() {
        true => running.painter.clear(running.console.width),
        false => "\r\n".to_owned(),
    };
    // A terminal that is gone takes nothing any more.
    let _ = running.terminal.write(&last);
    let session = running.console.session.clone();
    drop(running.terminal);
    running.doing.host.stop();
    ended?;
    if running.home.inventory().sessions.iter().any(|known| known.id.to_string() == session) {
        output.remark(&format!("continue with: recto run --resume {session}"));
    }
    running.signals.obey()?;
    Ok(Outcome::Done)
}

struct Running<'a> {
    terminal: Inline,
    painter: Painter,
    console: Console,
    doing: Doing<'a>,
    signals: Signals,
    home: &'a Home,
    environment: &'a Environment,
    has_colour: bool,
}

/// What a person sees first.
fn greet(console: &mut Console) {
    let directory = console.facts.directory.clone();
    let version = console.facts.version.clone();
    console.say(Look::Strong, &format!("recto {version} · {directory}"));
    let sandbox = console.facts.sandbox.clone();
    console.say(Look::Faint, &sandbox);
    if console.facts.is_plain {
        let text = "plain lines, nothing is redrawn: answer questions with a number; /exit leaves";
        console.say(Look::Faint, text);
    }
    console.print(vec![Vec::new()]);
}

impl Running<'_> {
    fn run(&mut self, opened: Opened, prompt: Option<String>) -> Result<(), CommandError> {
        greet(&mut self.console);
        self.take(Input::Opened(opened))?;
        self.take(Input::Branch(self.doing.branch()))?;
        if let Some(prompt) = prompt {
            self.take(Input::Line(prompt))?;
        }
        let began = Instant::now();
        let mut is_dirty = true;
        loop {
            if self.signals.came() {
                return Ok(());
            }
            if let Some(panic) = screen::worker_panic() {
                return Err(CommandError::user("internal", panic)
                    .with_hint("this is a bug in recto; the log has everything up to here"));
            }
            let (inputs, over) = self.doing.incoming();
            for input in inputs {
                is_dirty = true;
                if self.take(input)? {
                    return Ok(());
                }
            }
            if let Some(over) = over {
                self.draw()?;
                return over.map_err(|why| CommandError::user("run-failed", why));
            }
            let ticks = u64::try_from(began.elapsed().as_millis() / 100).unwrap_or_default();
            while self.console.tick < ticks {
                self.console.handle(Input::Tick);
                is_dirty |= self.console.is_moving();
            }
            if std::mem::take(&mut is_dirty) {
                self.draw()?;
            }
            let wait = if self.console.is_moving() { SHORT } else { LONG };
            if !event::poll(wait)? {
                continue;
            }
            // All that was typed meanwhile is taken before the screen is drawn.
            while event::poll(Duration::ZERO)? {
                let input = match event::read()? {
                    Event::Key(key) => Input::Key(key),
                    Event::Paste(text) => Input::Paste(text),
                    Event::Resize(width, height) => Input::Resize(width, height),
                    Event::Mouse(_) | Event::FocusGained | Event::FocusLost => continue,
                };
                is_dirty = true;
                if self.take(input)? {
                    return Ok(());
                }
            }
        }
    }

    fn draw(&mut self) -> Result<(), CommandError> {
        let printed = self.console.take_out();
        let area = view::area(&self.console);
        let bytes = self.painter.draw(&printed, &area, self.console.width);
        Ok(self.terminal.write(&bytes)?)
    }

    /// Does what follows from something that happened. Gives whether to end.
    fn take(&mut self, input: Input) -> Result<bool, CommandError> {
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            if let Input::Shell(command, output, _) = &input {
                self.doing.note_shell(command, output);
            }
            for effect in self.console.handle(input) {
                let (left, more) = self.doing.take(effect);
                inputs.extend(more.into_iter().rev());
                if let Left::Terminal(effect) = left
                    && self.on_terminal(effect)?
                {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn on_terminal(&mut self, effect: Effect) -> Result<bool, CommandError> {
        match effect {
            Effect::Quit => {
                let clear = self.painter.clear(self.console.width);
                self.terminal.write(&clear)?;
                return Ok(true);
            }
            Effect::Bell => {
                let took = self.console.tick.saturating_sub(self.console.live.since);
                if self.console.overlay.is_some() || took > LONG_TURN {
                    self.terminal.write("\u{7}")?;
                }
            }
            Effect::Redraw => {
                self.painter.forget();
                self.terminal.write("\u{1b}[2J\u{1b}[H")?;
            }
            Effect::Suspend => {
                let clear = self.painter.clear(self.console.width);
                self.terminal.write(&clear)?;
                self.terminal.lend(stop)??;
                let (width, height) = self.terminal.size();
                self.console.handle(Input::Resize(width, height));
            }
            Effect::Transcript => self.transcript()?,
            _ => {}
        }
        Ok(false)
    }

    /// The conversation in the browser, which has the terminal meanwhile.
    fn transcript(&mut self) -> Result<(), CommandError> {
        let Ok(session) = self.console.session.parse() else { return Ok(()) };
        let known = self.home.inventory().sessions.iter().any(|known| known.id == session);
        if !known {
            self.console.hint = Some("the conversation is still empty".to_owned());
            return Ok(());
        }
        let opening = crate::browser::Opening {
            home: self.home,
            environment: self.environment,
            has_colour: self.has_colour,
            filter: String::new(),
            session: Some(session),
            signals: self.signals.clone(),
        };
        let clear = self.painter.clear(self.console.width);
        self.terminal.write(&clear)?;
        let read = self.terminal.lend(|| crate::browser::browse(opening))?;
        if let Err(error) = read {
            self.console.say(Look::Warning, &error.to_string());
        }
        Ok(())
    }
}

/// Lines in, lines out: for screen readers and terminals that cannot be drawn on.
fn plain(
    mut console: Console,
    mut doing: Doing<'_>,
    opened: Opened,
    prompt: Option<String>,
    output: &mut Output,
) -> Result<Outcome, Refused> {
    let painter = Painter::new(false);
    greet(&mut console);
    console.handle(Input::Opened(opened));
    let (sender, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let mut waiting: Vec<Input> = prompt.map(Input::Line).into_iter().collect();
    let mut is_closed = false;
    loop {
        while let Some(input) = waiting.pop() {
            if let Input::Shell(command, output, _) = &input {
                doing.note_shell(command, output);
            }
            for effect in console.handle(input) {
                let (left, more) = doing.take(effect);
                waiting.extend(more.into_iter().rev());
                if matches!(left, Left::Terminal(Effect::Quit)) {
                    is_closed = true;
                }
            }
        }
        // There is no status line to show it in.
        if let Some(hint) = console.hint.take() {
            console.say(Look::Faint, &hint);
        }
        for line in console.take_out() {
            output.line(painter.plain_line(&line).trim_end())?;
        }
        output.flush()?;
        if is_closed && !console.live.is_busy {
            break;
        }
        let (inputs, over) = doing.incoming();
        waiting.extend(inputs.into_iter().rev());
        if over.is_some() {
            break;
        }
        // A line that comes while a turn runs waits for its end, unless it answers a question.
        if waiting.is_empty() && (!console.live.is_busy || console.overlay.is_some()) {
            match lines.try_recv() {
                Ok(line) => waiting.push(Input::Line(line)),
                Err(mpsc::TryRecvError::Disconnected) if console.overlay.is_some() => {
                    doing.take(Effect::Interrupt);
                    is_closed = true;
                }
                Err(mpsc::TryRecvError::Disconnected) => is_closed = true,
                Err(mpsc::TryRecvError::Empty) => {}
            }
        }
        if waiting.is_empty() {
            std::thread::sleep(SHORT);
        }
    }
    doing.host.stop();
    Ok(Outcome::Done)
}

#[cfg(test)]
mod console_tests;
#[cfg(test)]
mod everyday_tests;
#[cfg(test)]
mod screens_tests;
#[cfg(test)]
mod vi_tests;
