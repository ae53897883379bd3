//! The state of the browser: what a person does goes in, what is to be done comes out.
//!
//! Nothing in here reads a file, a clock or a terminal, so that every key can be
//! tested.

use std::path::PathBuf;
use std::sync::Arc;

use crossterm::event::KeyCode;
use crossterm::event::KeyEvent;
use crossterm::event::KeyEventKind;
use crossterm::event::KeyModifiers;
use jiff::Timestamp;

use super::layout;
use super::layout::ListLayout;
use super::layout::Share;
use super::list::Focus;
use super::list::List;
use super::list::Mode;
use super::message::Detail;
use super::message::Effect;
use super::message::Entry;
use super::message::Errand;
use super::message::Input;
use super::message::Keep;
use super::message::LeadsTo;
use super::message::Part;
use super::overlay::Overlay;
use super::reader::Anchor;
use super::reader::Reader;
use super::scope::Here;
use super::table_page::Subject;
use super::table_page::TablePage;
use crate::terminal::keymap::Keymap;
use crate::terminal::output::Look;
use crate::terminal::text::one_line;

/// Keys that make a letter a command.
pub(super) const COMMAND: KeyModifiers = KeyModifiers::CONTROL.union(KeyModifiers::ALT);

/// What a part of the browser wants from the whole.
#[derive(Debug)]
pub(super) enum Ask {
    Nothing,
    Say(String),
    Back,
    Help,
    /// Read what is chosen in the list.
    Open,
    /// Another session is chosen in the list.
    Preview,
    /// Other words are searched for.
    Search,
    /// Read again, with other parts of it shown.
    ShowOtherwise(Detail),
    Follow(LeadsTo),
    Changes(Arc<Entry>, u32),
    Tools(Arc<Entry>),
    Agents(Arc<Entry>),
    /// Copy something of these, or of a turn of the only one.
    Copy(Vec<Arc<Entry>>, Option<u32>),
    Export(Vec<Arc<Entry>>),
    Resume(Arc<Entry>),
    Rename(Arc<Entry>),
    /// Make a session of this one that ends with a turn.
    Fork(Arc<Entry>, u32),
    Remove(Vec<Arc<Entry>>),
    Undo,
    /// Go where the session runs.
    Pane(Arc<Entry>),
}

impl Ask {
    /// The letters that mean the same wherever letters are commands.
    pub(super) fn of_command(code: KeyCode, entry: &Arc<Entry>) -> Ask {
        match code {
            KeyCode::Char('t') => Ask::Tools(entry.clone()),
            KeyCode::Char('a') => Ask::Agents(entry.clone()),
            KeyCode::Char('c') => Ask::Copy(vec![entry.clone()], None),
            KeyCode::Char('e') => Ask::Export(vec![entry.clone()]),
            KeyCode::Char('r') => Ask::Resume(entry.clone()),
            KeyCode::Char('R') | KeyCode::F(2) => Ask::Rename(entry.clone()),
            KeyCode::Char('D') | KeyCode::Delete => Ask::Remove(vec![entry.clone()]),
            KeyCode::Char('U') => Ask::Undo,
            KeyCode::Char('p') => Ask::Pane(entry.clone()),
            KeyCode::Char('?') | KeyCode::F(1) => Ask::Help,
            _ => Ask::Nothing,
        }
    }
}

/// What lies over the list.
pub(super) enum Page {
    Reader(Box<Reader>),
    Table(TablePage),
}

/// What part of everything is on the screen: if it is the same, hardly anything is drawn.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Scene {
    page: u64,
    top: usize,
    rows: usize,
    preview: Option<(u64, usize)>,
}

/// What does not change while the browser runs.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    /// The home, as people write it.
    pub(super) home: String,
    /// Where the browser was started.
    pub(super) here: Here,
    /// The session to read at first; who leaves it leaves the browser.
    pub(super) first: Option<String>,
    pub(super) in_tmux: bool,
    pub(super) keymap: Keymap,
    /// The home, where the client would use another one by itself.
    pub(super) home_to_name: Option<PathBuf>,
    /// The program that resumes a session.
    pub(super) client: String,
    pub(super) has_colour: bool,
}

pub(super) struct Browser {
    pub(super) facts: Facts,
    pub(super) size: (u16, u16),
    pub(super) now: Timestamp,
    pub(super) list: List,
    pub(super) pages: Vec<Page>,
    pub(super) overlay: Option<Overlay>,
    pub(super) notice: Option<(String, Look)>,
    /// Documents that are being written.
    pub(super) exports: usize,
    tickets: u64,
    effects: Vec<Effect>,
}

impl Browser {
    pub(super) fn new(facts: Facts, size: (u16, u16), now: Timestamp, filter: String) -> Browser {
        let here = facts.here.clone();
        let mut browser = Browser {
            facts,
            size,
            now,
            list: List::new(filter, here),
            pages: Vec::new(),
            overlay: None,
            notice: None,
            exports: 0,
            tickets: 0,
            effects: Vec::new(),
        };
        browser.resize();
        browser
    }

    /// Takes what happened, and gives what is to be done.
    pub(super) fn handle(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Key(key) if key.kind != KeyEventKind::Release => self.key(key),
            Input::Key(_) => {}
            Input::Mouse(mouse) => self.mouse(mouse),
            Input::Paste(text) => self.paste(&one_line(&text)),
            Input::Resize(width, height) => {
                self.size = (width, height);
                self.resize();
            }
            Input::Tick(now) => self.now = now,
            Input::Failed(message) => self.notice = Some((one_line(&message), Look::Bad)),
            Input::Report(report) => self.report(report),
            Input::Returned(result) => {
                self.effects.push(Effect::Refresh);
                if let Err(message) = result {
                    self.notice = Some((one_line(&message), Look::Bad));
                }
            }
        }
        std::mem::take(&mut self.effects)
    }

    pub(super) fn list_layout(&self) -> ListLayout {
        let share = match self.list.mode {
            Mode::Filter => Share::Titles,
            Mode::Search => Share::Hits,
        };
        layout::list(self.size, share)
    }

    /// Whether something is on its way from the workers.
    pub(super) fn is_waiting(&self) -> bool {
        let page_waits = match self.pages.last() {
            Some(Page::Reader(reader)) => reader.is_waiting(),
            Some(Page::Table(table)) => table.rows.is_none(),
            None => self.list.preview.as_ref().is_some_and(Reader::is_waiting),
        };
        let searches = self.list.search.is_under_way();
        !self.list.is_whole || page_waits || searches || self.exports > 0
    }

    /// What part of everything is on the screen.
    pub(super) fn scene(&self) -> Scene {
        let preview = self.list.preview.as_ref().map(|preview| (preview.ticket, preview.top));
        let (page, top) = match self.pages.last() {
            Some(Page::Reader(reader)) => (reader.ticket, reader.top),
            Some(Page::Table(table)) => (table.ticket, table.top),
            None => (0, self.list.top),
        };
        Scene { page, top, rows: self.list.rows.len(), preview }
    }

    pub(super) fn ticket(&mut self) -> u64 {
        self.tickets += 1;
        self.tickets
    }

    fn key(&mut self, key: KeyEvent) {
        self.notice = None;
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            match key.code {
                KeyCode::Char('c') => return self.effects.push(Effect::Quit),
                KeyCode::Char('z') => return self.effects.push(Effect::Suspend),
                KeyCode::Char('l') => return self.effects.push(Effect::Redraw),
                _ => {}
            }
        }
        if let Some(overlay) = self.overlay.take() {
            return self.overlay_key(overlay, key);
        }
        let is_typed = self.is_typing() && !key.modifiers.intersects(COMMAND);
        let key = match is_typed && !self.facts.keymap.is_command(key) {
            true => key,
            false => self.facts.keymap.meant(key),
        };
        let ask = match self.pages.last_mut() {
            Some(Page::Reader(reader)) => reader.key(key),
            Some(Page::Table(table)) => table.key(key),
            None => self.list.key(key),
        };
        self.answer(ask);
    }

    /// Whether letters are text where one is.
    fn is_typing(&self) -> bool {
        match self.pages.last() {
            Some(Page::Reader(reader)) => reader.typed.is_some(),
            Some(Page::Table(_)) => false,
            None => self.list.focus == Focus::List,
        }
    }

    fn paste(&mut self, text: &str) {
        if let Some(Overlay::Rename { typed, .. }) = &mut self.overlay {
            typed.push_str(text);
        }
        if self.overlay.is_some() {
            return;
        }
        match self.pages.last_mut() {
            Some(Page::Reader(reader)) => reader.paste(text),
            Some(Page::Table(_)) => {}
            None => {
                let ask = self.list.paste(text);
                self.answer(ask);
            }
        }
    }

    pub(super) fn answer(&mut self, ask: Ask) {
        match ask {
            Ask::Nothing => {}
            Ask::Say(text) => self.notice = Some((text, Look::Warning)),
            Ask::Back => self.back(),
            Ask::Help => self.overlay = Some(Overlay::Help { top: 0 }),
            Ask::Open => self.open_chosen(),
            Ask::Preview => self.preview(),
            Ask::Search => self.search(),
            Ask::ShowOtherwise(detail) => {
                self.notice = Some((detail.name().into(), Look::Faint));
                self.read_again();
            }
            Ask::Follow(place) => self.follow(place),
            Ask::Changes(entry, turn) => {
                self.open(Reader::new(entry, Part::Changes(turn), Keep::All));
            }
            Ask::Tools(entry) => self.open_table(Subject::Tools, entry),
            Ask::Agents(entry) => self.open_table(Subject::Agents, entry),
            Ask::Copy(entries, turn) => self.copy(entries, turn),
            Ask::Export(entries) => self.overlay = Some(Overlay::Export { entries, chosen: 0 }),
            Ask::Resume(entry) => self.resume(entry),
            Ask::Rename(entry) => self.rename(entry),
            Ask::Fork(entry, turn) => self.fork(entry, turn),
            Ask::Remove(entries) => self.remove(entries),
            Ask::Undo => self.push(Effect::Errand(Errand::LastOperation)),
            Ask::Pane(entry) => self.go_to_pane(&entry),
        }
    }

    fn back(&mut self) {
        let was_first = self.pages.len() == 1 && self.facts.first.is_some();
        if self.pages.pop().is_none() || was_first {
            return self.effects.push(Effect::Quit);
        }
        // What lies below may have been left half read, or had another size.
        self.resize();
        let waits = match self.pages.last() {
            Some(Page::Reader(reader)) => reader.is_waiting(),
            Some(Page::Table(_)) => false,
            None => self
                .list
                .preview
                .as_ref()
                .is_some_and(|preview| preview.is_waiting() || preview.entry.live.is_some()),
        };
        if waits {
            self.read_again();
        }
        // What was chosen may be gone meanwhile.
        if self.pages.is_empty() {
            self.preview();
        }
    }

    /// Reads the document on the screen again, and comes back to the same place.
    pub(super) fn read_again(&mut self) {
        let ticket = self.ticket();
        let reader = match self.pages.last_mut() {
            Some(Page::Reader(reader)) => Some(&mut **reader),
            Some(Page::Table(_)) => None,
            None => self.list.preview.as_mut(),
        };
        if let Some(reader) = reader {
            reader.keep_place();
            self.effects.push(Effect::Read(Box::new(reader.request(ticket))));
        }
    }

    fn open_chosen(&mut self) {
        let Some((entry, hit)) = self.list.chosen() else { return };
        let mut reader = Reader::new(entry.clone(), Part::Conversation, Keep::All);
        if let Some(hit) = hit {
            reader.detail = hit.detail();
            reader.place = Some(hit.place.clone());
            reader = reader.at(Some(Anchor::Hit { log_line: hit.line }));
        } else if entry.live.is_some() {
            reader = reader.at(Some(Anchor::End));
        }
        if self.list.mode == Mode::Search {
            reader = reader.finding(self.list.find(hit));
        }
        self.open(reader);
    }

    pub(super) fn open(&mut self, reader: Reader) {
        self.pages.push(Page::Reader(Box::new(reader)));
        self.resize();
    }

    fn open_table(&mut self, subject: Subject, entry: Arc<Entry>) {
        if subject == Subject::Agents && entry.log.main().is_none() {
            self.notice = Some(("only a session has subagents".into(), Look::Warning));
            return;
        }
        // A table over a table of the same session replaces it.
        if let Some(Page::Table(_)) = self.pages.last() {
            self.pages.pop();
        }
        // Who came from such a table goes back to it, and to the row that was chosen.
        let below = self.pages.len().checked_sub(2).and_then(|at| self.pages.get(at));
        if let Some(Page::Table(table)) = below
            && table.subject == subject
            && table.entry.id() == entry.id()
        {
            return self.back();
        }
        self.pages.push(Page::Table(TablePage::new(subject, entry)));
        self.resize();
    }

    /// Has the rows of the table on the screen made, for its width.
    fn fill_table(&mut self) {
        let ticket = self.ticket();
        let width = usize::from(layout::page(self.size).body.width);
        let Some(Page::Table(table)) = self.pages.last_mut() else { return };
        table.ticket = ticket;
        let entry = table.entry.clone();
        self.effects.push(Effect::Errand(match table.subject {
            Subject::Tools => Errand::Tools { ticket, entry, width },
            Subject::Agents => Errand::Agents { ticket, entry, width },
        }));
    }

    /// Goes where a row of a table leads.
    fn follow(&mut self, place: LeadsTo) {
        let Some(Page::Table(table)) = self.pages.last() else { return };
        let entry = table.entry.clone();
        match place {
            LeadsTo::Log(entry) => {
                self.open(Reader::new(entry, Part::Conversation, Keep::All));
            }
            // The table stays below, so that one comes back to the row.
            LeadsTo::Line(log_line) => {
                let mut reader = Reader::new(entry, Part::Conversation, Keep::All);
                if let Some(Page::Reader(below)) = self.pages.iter().rev().nth(1) {
                    reader.detail = below.detail;
                }
                // Where only words are shown, there is no call to go to.
                if reader.detail == Detail::Words {
                    reader.detail = Detail::Brief;
                }
                self.open(reader.at(Some(Anchor::Hit { log_line })));
            }
        }
    }

    /// Tells every part how large it is; what is wrapped for another width is read again.
    pub(super) fn resize(&mut self) {
        let layout = self.list_layout();
        self.list.resize(layout.list.height, layout.preview.is_some());
        let page = layout::page(self.size);
        let must_read = match self.pages.last_mut() {
            Some(Page::Reader(reader)) => reader.resize(page.body.width, page.body.height),
            Some(Page::Table(table)) => {
                let must_fill = table.resize(page.body.width, page.body.height);
                if must_fill {
                    self.fill_table();
                }
                return;
            }
            None => self.list.preview.as_mut().is_some_and(|preview| {
                layout.preview.is_some_and(|(_, text)| preview.resize(text.width, text.height))
            }),
        };
        if must_read {
            self.read_again();
        }
    }

    pub(super) fn push(&mut self, effect: Effect) {
        self.effects.push(effect);
    }
}

/// A path for the screen.
pub(super) fn shown_path(path: &std::path::Path, user_home: Option<&PathBuf>) -> String {
    one_line(&crate::terminal::text::path_from_home(
        &path.to_string_lossy(),
        user_home.map(|p| p.as_path()),
    ))
}
