//! The list of sessions: what fits what is typed, and what is chosen.

use std::sync::Arc;

use crossterm::event::KeyCode;
use crossterm::event::KeyEvent;
use crossterm::event::KeyModifiers;
use nucleo_matcher::Config;
use nucleo_matcher::Matcher;

use super::find::Find;
use super::fitting::Fitter;
use super::message::Entry;
use super::message::Hit;
use super::message::Listing;
use super::message::SearchState;
use super::reader::Reader;
use super::row;
use super::row::Row;
use super::state::Ask;
use super::state::COMMAND;

/// What typing does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Letters narrow the list by title.
    Filter,
    /// Letters are looked for in the text of all sessions.
    Search,
}

/// Where keys go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Focus {
    List,
    Preview,
}

pub(super) struct List {
    pub(super) entries: Vec<Arc<Entry>>,
    pub(super) is_whole: bool,
    pub(super) skipped: Vec<String>,
    /// What the last search did not see.
    pub(super) unsearched: Vec<String>,
    pub(super) mode: Mode,
    pub(super) focus: Focus,
    pub(super) filter: String,
    pub(super) words: String,
    pub(super) hits: Vec<Hit>,
    pub(super) search: SearchState,
    /// What is wrong with the search.
    pub(super) trouble: String,
    pub(super) search_ticket: u64,
    pub(super) rows: Vec<Row>,
    pub(super) selected: usize,
    pub(super) top: usize,
    pub(super) preview: Option<Reader>,
    has_room_beside: bool,
    /// Whether the hits are those of the search before.
    has_old_hits: bool,
    height: usize,
    matcher: Matcher,
}

impl List {
    pub(super) fn new(filter: String) -> List {
        List {
            entries: Vec::new(),
            is_whole: false,
            skipped: Vec::new(),
            unsearched: Vec::new(),
            mode: Mode::Filter,
            focus: Focus::List,
            filter,
            words: String::new(),
            hits: Vec::new(),
            search: SearchState::Whole,
            trouble: String::new(),
            search_ticket: 0,
            rows: Vec::new(),
            selected: 0,
            top: 0,
            preview: None,
            has_room_beside: false,
            has_old_hits: false,
            height: 0,
            matcher: Matcher::new(Config::DEFAULT),
        }
    }

    pub(super) fn resize(&mut self, height: u16, has_room_beside: bool) {
        self.height = height.into();
        self.has_room_beside = has_room_beside;
        if !has_room_beside {
            self.focus = Focus::List;
        }
        self.select(self.selected);
    }

    pub(super) fn fill(&mut self, listing: Listing) {
        self.entries = listing.entries;
        self.is_whole = listing.is_whole;
        self.skipped = listing.skipped;
        self.make_rows();
    }

    pub(super) fn chosen(&self) -> Option<(&Arc<Entry>, Option<&Hit>)> {
        match self.rows.get(self.selected)? {
            Row::Heading { .. } => None,
            Row::Session { entry, .. } => Some((entry, None)),
            Row::Hit { entry, hit } => Some((entry, self.hits.get(*hit))),
        }
    }

    /// What is not in the list, or was not searched, and why.
    pub(super) fn left_out(&self) -> Vec<&str> {
        let unsearched = self.unsearched.iter().filter(|one| !self.skipped.contains(one));
        self.skipped.iter().chain(unsearched).map(String::as_str).collect()
    }

    /// What is marked of a search, and of a hit as it was found.
    pub(super) fn find(&self, hit: Option<&Hit>) -> Find {
        let mut words = super::search::words(&self.words);
        words.extend(hit.iter().flat_map(|hit| hit.place.words.iter().cloned()));
        Find::new(words)
    }

    /// Makes the rows again; what was chosen stays chosen, if it is still there.
    fn make_rows(&mut self) {
        let chosen = self.rows.get(self.selected).and_then(|row| row.key(&self.hits));
        self.rows = match (self.mode, self.filter.trim().is_empty()) {
            (Mode::Search, _) => row::of_hits(&self.entries, &self.hits),
            (Mode::Filter, true) => row::by_project(&self.entries),
            (Mode::Filter, false) => self.rows_that_fit(),
        };
        let place = chosen.and_then(|chosen| {
            self.rows.iter().position(|row| row.key(&self.hits).as_ref() == Some(&chosen))
        });
        self.select(place.unwrap_or(0));
    }

    /// Those that fit what was typed, the best first.
    fn rows_that_fit(&mut self) -> Vec<Row> {
        let fitter = Fitter::new(&self.filter);
        let mut fitting: Vec<(u32, Row)> = Vec::new();
        for entry in &self.entries {
            if let Some((score, places)) = fitter.fit(entry, &mut self.matcher) {
                let row = Row::Session { entry: entry.clone(), fitting: places };
                fitting.push((score, row));
            }
        }
        // The sort is stable: of those that fit equally well, the newest is first.
        fitting.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        fitting.into_iter().map(|(_, row)| row).collect()
    }

    /// Chooses a row, or the next one that can be chosen.
    pub(super) fn select(&mut self, row: usize) {
        let last = self.rows.len().saturating_sub(1);
        let is_heading = |at: &usize| matches!(self.rows.get(*at), Some(Row::Heading { .. }));
        let row = row.min(last);
        let next = (row..=last).find(|at| !is_heading(at));
        self.selected = next.or_else(|| (0..row).rev().find(|at| !is_heading(at))).unwrap_or(0);
        // The heading above the first row is part of it.
        let from = if self.selected == 1 { 0 } else { self.selected };
        let lowest = (self.selected + 1).saturating_sub(self.height.max(1));
        self.top = self.top.min(from).max(lowest);
    }

    pub(super) fn move_by(&mut self, rows: isize) {
        let before = self.selected;
        let mut at = self.selected.saturating_add_signed(rows);
        // Upwards, a heading leads to what stands above it.
        while rows < 0 && at > 0 && matches!(self.rows.get(at), Some(Row::Heading { .. })) {
            at -= 1;
        }
        self.select(at);
        if rows < 0 && self.selected > before {
            self.select(before);
        }
    }

    pub(super) fn scroll(&mut self, rows: isize) {
        let last = self.rows.len().saturating_sub(self.height);
        self.top = self.top.saturating_add_signed(rows).min(last);
    }

    /// A click on a row of the screen: chooses it, or opens the chosen one.
    pub(super) fn click(&mut self, row: usize) -> Ask {
        self.focus = Focus::List;
        let at = self.top + row;
        match self.rows.get(at) {
            None | Some(Row::Heading { .. }) => Ask::Nothing,
            Some(_) if at == self.selected => Ask::Open,
            Some(_) => {
                self.selected = at;
                Ask::Preview
            }
        }
    }

    fn typed(&mut self) -> &mut String {
        match self.mode {
            Mode::Filter => &mut self.filter,
            Mode::Search => &mut self.words,
        }
    }

    /// What follows from other letters in the input.
    fn was_typed(&mut self) -> Ask {
        self.top = 0;
        match self.mode {
            Mode::Filter => {
                self.rows.clear();
                self.make_rows();
                Ask::Preview
            }
            Mode::Search => {
                self.select(0);
                Ask::Search
            }
        }
    }

    pub(super) fn paste(&mut self, text: &str) -> Ask {
        self.focus = Focus::List;
        self.typed().push_str(text);
        self.was_typed()
    }

    /// Adds what was found. Gives whether it takes the place of older hits.
    pub(super) fn add_hits(&mut self, hits: Vec<Hit>) -> bool {
        let replaces = std::mem::take(&mut self.has_old_hits);
        if replaces {
            self.hits.clear();
        }
        self.hits.extend(hits);
        if self.mode == Mode::Search {
            self.make_rows();
        }
        replaces
    }

    /// Whether there is nothing to search for yet.
    pub(super) fn says_nothing(&self) -> bool {
        self.words.trim().trim_matches('"').is_empty()
    }

    /// A new search begins. The old hits stay until the first new ones come, so that
    /// the screen is not empty with every letter.
    pub(super) fn begin_search(&mut self, ticket: u64) {
        self.search_ticket = ticket;
        self.has_old_hits = true;
        self.search = SearchState::Running;
        if self.says_nothing() {
            self.set_search(SearchState::Whole);
        }
    }

    pub(super) fn set_search(&mut self, state: SearchState) {
        self.search = state;
        if !state.is_under_way() && self.has_old_hits {
            self.add_hits(Vec::new());
        }
    }

    pub(super) fn fail_search(&mut self, trouble: String) {
        self.trouble = trouble;
        self.set_search(SearchState::Failed);
    }

    fn leave_search(&mut self) -> Ask {
        self.mode = Mode::Filter;
        self.words.clear();
        self.was_typed();
        Ask::Search
    }

    fn enter_search(&mut self) -> Ask {
        self.focus = Focus::List;
        self.mode = Mode::Search;
        self.was_typed()
    }

    /// Whether something is typed that no title fits.
    pub(super) fn fits_nothing(&self) -> bool {
        self.mode == Mode::Filter && self.rows.is_empty() && !self.filter.trim().is_empty()
    }

    /// Searches the text of all sessions for what is typed.
    fn search_typed(&mut self) -> Ask {
        if self.mode == Mode::Search {
            return Ask::Nothing;
        }
        self.words.clone_from(&self.filter);
        self.enter_search()
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> Ask {
        match self.focus {
            Focus::List => self.list_key(key),
            Focus::Preview => self.preview_key(key),
        }
    }

    fn list_key(&mut self, key: KeyEvent) -> Ask {
        let page = self.height.saturating_sub(1).max(1) as isize;
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Down => self.move_by(1),
            KeyCode::Up => self.move_by(-1),
            KeyCode::Char('n' | 'j') if is_control => self.move_by(1),
            KeyCode::Char('p' | 'k') if is_control => self.move_by(-1),
            KeyCode::PageDown => self.move_by(page),
            KeyCode::PageUp => self.move_by(-page),
            KeyCode::Home => self.select(0),
            KeyCode::End => self.select(usize::MAX),
            KeyCode::Enter if self.fits_nothing() => return self.search_typed(),
            KeyCode::Char('f') if is_control => return self.search_typed(),
            KeyCode::Enter => return Ask::Open,
            // Where there is no room for a transcript beside the list, it gets the screen.
            KeyCode::Tab | KeyCode::Right if !self.has_room_beside => return Ask::Open,
            KeyCode::Tab | KeyCode::Right if self.chosen().is_some() => {
                self.focus = Focus::Preview;
                return Ask::Nothing;
            }
            KeyCode::Esc => return self.escape(),
            KeyCode::Backspace => {
                if self.typed().pop().is_none() {
                    return if self.mode == Mode::Search {
                        self.leave_search()
                    } else {
                        Ask::Nothing
                    };
                }
                return self.was_typed();
            }
            KeyCode::Char('u') if is_control => {
                self.typed().clear();
                return self.was_typed();
            }
            KeyCode::Char('w') if is_control => {
                let text = self.typed().trim_end();
                let kept = text.rfind(' ').map_or(0, |at| at + 1);
                self.typed().truncate(kept);
                return self.was_typed();
            }
            KeyCode::F(1) => return Ask::Help,
            KeyCode::Char(c) if key.modifiers.intersects(COMMAND) => return self.command(c),
            // Inside of what is typed it is a letter: branches and directories have it.
            KeyCode::Char('/') if self.mode == Mode::Filter && self.filter.is_empty() => {
                return self.enter_search();
            }
            KeyCode::Char('?') if self.mode == Mode::Filter => return Ask::Help,
            KeyCode::Char(c) => {
                self.typed().push(c);
                return self.was_typed();
            }
            _ => return Ask::Nothing,
        }
        Ask::Preview
    }

    /// A command that needs no other focus: letters with Ctrl or Alt.
    fn command(&mut self, letter: char) -> Ask {
        // Ctrl+C leaves, so that a copy has a key of its own.
        let letter = if letter == 'y' { 'c' } else { letter };
        let Some((entry, _)) = self.chosen() else { return Ask::Nothing };
        match letter {
            'd' => Ask::Nothing,
            letter => Ask::of_command(KeyCode::Char(letter), entry),
        }
    }

    fn escape(&mut self) -> Ask {
        if self.mode == Mode::Search {
            return self.leave_search();
        }
        if self.filter.is_empty() {
            return Ask::Back;
        }
        self.filter.clear();
        self.was_typed()
    }

    fn preview_key(&mut self, key: KeyEvent) -> Ask {
        let is_back = matches!(
            key.code,
            KeyCode::Tab
                | KeyCode::BackTab
                | KeyCode::Esc
                | KeyCode::Backspace
                | KeyCode::Left
                | KeyCode::Char('q' | 'h')
        );
        let Some(preview) = self.preview.as_mut().filter(|_| !is_back) else {
            self.focus = Focus::List;
            return Ask::Nothing;
        };
        match key.code {
            KeyCode::Enter | KeyCode::Right | KeyCode::Char('l') => return Ask::Open,
            KeyCode::Char('/') => return self.enter_search(),
            KeyCode::Char('n') if self.mode == Mode::Search => self.move_by(1),
            KeyCode::Char('N') if self.mode == Mode::Search => self.move_by(-1),
            KeyCode::Char('n' | 'N') => {
                return Ask::Say("nothing is searched for; / searches all sessions".into());
            }
            KeyCode::Char('d') => {
                let turn = preview.turn();
                let entry = preview.entry.clone();
                return turn.map_or(Ask::Nothing, |turn| Ask::Changes(entry, turn));
            }
            _ if preview.move_key(key) => return Ask::Nothing,
            code => return Ask::of_command(code, &preview.entry),
        }
        Ask::Preview
    }
}
