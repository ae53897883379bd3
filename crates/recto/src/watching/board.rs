//! The board's state: what is shown, and what keys do. No input and output.

use std::ops::Range;

use crossterm::event::KeyCode;
use crossterm::event::KeyEvent;
use crossterm::event::KeyEventKind;
use crossterm::event::KeyModifiers;
use jiff::Timestamp;
use recto_log::SessionId;
use recto_session::status::StatusKind;
use recto_store::SessionStatus;

use crate::environment::Environment;

/// Lines of details about one session.
pub(super) const DETAILS: u16 = 9;
/// A screen must be this high to have room for them.
const HIGH_ENOUGH: u16 = 18;

/// What does not change while the board is open.
pub(super) struct Facts {
    pub(super) home: String,
    pub(super) environment: Environment,
    pub(super) has_colour: bool,
}

/// All keys of the board.
pub(super) const HELP: [(&str, &str); 9] = [
    ("↑ ↓ k j", "select a session (also PgUp, PgDn, Home, End)"),
    ("enter", "read it; q comes back to the board"),
    ("p", "go to its tmux pane"),
    ("a", "show or hide sessions that ended"),
    ("?", "this help"),
    ("q esc", "quit"),
    ("^c", "quit"),
    ("^z", "suspend recto"),
    ("^l", "redraw the screen"),
];

/// Something that happened.
pub(super) enum Input {
    Key(KeyEvent),
    Resize(u16, u16),
    Tick(Timestamp),
    Found(Vec<SessionStatus>),
    /// Somebody could not be told.
    Failure(String),
}

/// Something to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    Quit,
    Redraw,
    Suspend,
    /// Read a session.
    Open(SessionId),
    /// Go to the tmux pane of a process.
    Pane(u32),
}

pub(super) struct Board {
    pub(super) facts: Facts,
    pub(super) size: (u16, u16),
    pub(super) now: Timestamp,
    /// Those who wait for somebody first.
    sessions: Vec<SessionStatus>,
    /// Whether sessions that ended are shown too.
    pub(super) shows_ended: bool,
    /// The session that details are shown of; it stays the same when the order changes.
    selected: Option<SessionId>,
    /// The place of the first row on the screen.
    first: usize,
    pub(super) failure: Option<String>,
    pub(super) has_looked: bool,
    /// Whether the keys are shown over the board.
    pub(super) shows_help: bool,
}

impl Board {
    pub(super) fn new(facts: Facts, size: (u16, u16), now: Timestamp) -> Board {
        Board {
            facts,
            size,
            now,
            sessions: Vec::new(),
            shows_ended: false,
            selected: None,
            first: 0,
            failure: None,
            has_looked: false,
            shows_help: false,
        }
    }

    /// The sessions on the board, in order.
    pub(super) fn shown(&self) -> Vec<&SessionStatus> {
        let is_shown = |one: &&SessionStatus| {
            self.shows_ended || one.is_live() || one.status.kind != StatusKind::Ended
        };
        self.sessions.iter().filter(is_shown).collect()
    }

    /// How many sessions have a status.
    pub(super) fn count(&self, kind: StatusKind) -> usize {
        self.sessions.iter().filter(|one| one.status.kind == kind).count()
    }

    /// The place of the session that details are shown of.
    pub(super) fn selected(&self) -> usize {
        let shown = self.shown();
        shown.iter().position(|one| Some(one.id) == self.selected).unwrap_or(0)
    }

    /// Whether one session is explained below the rows.
    pub(super) fn has_details(&self) -> bool {
        self.size.1 >= HIGH_ENOUGH && !self.shown().is_empty()
    }

    /// How many rows there is room for, between the first line and the last.
    pub(super) fn room(&self) -> usize {
        let details = if self.has_details() { DETAILS } else { 0 };
        usize::from(self.size.1.saturating_sub(2 + details))
    }

    /// The places of the rows on the screen.
    pub(super) fn visible(&self) -> Range<usize> {
        self.first..(self.first + self.room()).min(self.shown().len())
    }

    /// Moves the rows no more than it takes to see the chosen one, and no empty lines.
    fn scroll(&mut self) {
        let (room, selected) = (self.room(), self.selected());
        let last = self.shown().len().saturating_sub(room);
        self.first = self.first.max((selected + 1).saturating_sub(room)).min(selected).min(last);
    }

    pub(super) fn handle(&mut self, input: Input) -> Option<Effect> {
        let effect = self.take(input);
        self.scroll();
        effect
    }

    fn take(&mut self, input: Input) -> Option<Effect> {
        match input {
            Input::Key(key) if key.kind != KeyEventKind::Release => return self.key(key),
            Input::Key(_) => {}
            Input::Resize(width, height) => self.size = (width, height),
            Input::Tick(now) => self.now = now,
            Input::Found(mut found) => {
                // Who has waited longest is first.
                found
                    .sort_by_key(|one| (one.status.kind, !one.is_live(), one.status.since, one.id));
                self.sessions = found;
                self.has_looked = true;
            }
            Input::Failure(failure) => self.failure = Some(failure),
        }
        None
    }

    fn key(&mut self, key: KeyEvent) -> Option<Effect> {
        let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
        let page = isize::try_from(self.room().saturating_sub(1).max(1)).unwrap_or(1);
        // It was seen, and what keys do is to be seen again.
        self.failure = None;
        let key = match has_control {
            true => key,
            false => self.facts.environment.keymap.meant(key),
        };
        // Any key puts the help away, and those that quit do that too.
        let showed_help = std::mem::take(&mut self.shows_help);
        match key.code {
            KeyCode::Char('c' | 'd') if has_control => return Some(Effect::Quit),
            KeyCode::Char('l') if has_control => return Some(Effect::Redraw),
            KeyCode::Char('z') if has_control => return Some(Effect::Suspend),
            _ if showed_help => {}
            KeyCode::Char('q') | KeyCode::Esc => return Some(Effect::Quit),
            KeyCode::Char('j') | KeyCode::Down => self.go(1),
            KeyCode::Char('k') | KeyCode::Up => self.go(-1),
            KeyCode::PageDown => self.go(page),
            KeyCode::PageUp => self.go(-page),
            KeyCode::Home | KeyCode::Char('g') => self.go(isize::MIN),
            KeyCode::End | KeyCode::Char('G') => self.go(isize::MAX),
            KeyCode::Char('a') => self.shows_ended = !self.shows_ended,
            KeyCode::Char('?') | KeyCode::F(1) => self.shows_help = true,
            KeyCode::Enter | KeyCode::Right => return self.open(),
            KeyCode::Char('p') => return self.go_to_pane(),
            _ => {}
        }
        None
    }

    fn chosen(&self) -> Option<&SessionStatus> {
        self.shown().get(self.selected()).copied()
    }

    fn open(&mut self) -> Option<Effect> {
        let one = self.chosen()?;
        if one.path.is_none() {
            self.failure = Some("the session has no log yet".into());
            return None;
        }
        Some(Effect::Open(one.id))
    }

    fn go_to_pane(&mut self) -> Option<Effect> {
        let live = self.chosen()?.announced.as_ref().filter(|announced| announced.alive);
        let Some(pid) = live.map(|live| live.pid) else {
            self.failure = Some("the session is not running".into());
            return None;
        };
        if !self.facts.environment.in_tmux {
            self.failure = Some("recto is not running in tmux".into());
            return None;
        }
        Some(Effect::Pane(pid))
    }

    fn go(&mut self, by: isize) {
        let last = self.shown().len().saturating_sub(1);
        let place = self.selected().saturating_add_signed(by).min(last);
        self.selected = self.shown().get(place).map(|one| one.id);
    }
}
