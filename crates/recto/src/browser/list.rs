//! The list of sessions: what fits what is typed, and what is chosen.

use std::collections::BTreeSet;
use std::sync::Arc;

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
use super::scope::Here;
use super::scope::Order;
use super::scope::Scope;
use super::state::Ask;

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
    pub(super) scope: Scope,
    pub(super) order: Order,
    /// The sessions that a command is for, by their ids; none for the chosen one.
    pub(super) marked: BTreeSet<String>,
    here: Here,
    pub(super) has_room_beside: bool,
    /// Whether the hits are those of the search before.
    has_old_hits: bool,
    pub(super) height: usize,
    matcher: Matcher,
}

impl List {
    pub(super) fn new(filter: String, here: Here) -> List {
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
            scope: Scope::default(),
            order: Order::default(),
            marked: BTreeSet::new(),
            here,
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
        if self.is_whole {
            let ids: BTreeSet<&str> = self.entries.iter().map(|entry| entry.id()).collect();
            self.marked.retain(|id| ids.contains(id.as_str()));
        }
        self.make_rows();
    }

    /// The sessions of the scope, newest first.
    pub(super) fn in_scope(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.iter().filter(|entry| self.scope.has(entry, &self.here))
    }

    /// The sessions that a command is for: those that are marked, else the chosen one.
    pub(super) fn meant(&self) -> Vec<Arc<Entry>> {
        if self.marked.is_empty() {
            return self.chosen().map(|(entry, _)| entry.clone()).into_iter().collect();
        }
        let is_marked = |entry: &&Arc<Entry>| self.marked.contains(entry.id());
        self.entries.iter().filter(is_marked).cloned().collect()
    }

    /// Marks the chosen session or unmarks it, and goes to the next row.
    pub(super) fn mark(&mut self) -> Ask {
        let Some((entry, _)) = self.chosen() else { return Ask::Nothing };
        if entry.log.is_agent() {
            return Ask::Say("only sessions can be marked".into());
        }
        let id = entry.id().to_owned();
        if !self.marked.remove(&id) {
            self.marked.insert(id);
        }
        self.move_by(1);
        Ask::Preview
    }

    /// Lists other sessions, or the same ones in another order.
    pub(super) fn list_again(&mut self) -> Ask {
        self.top = 0;
        self.make_rows();
        Ask::Preview
    }

    /// Whether a row names its directory: no heading does.
    pub(super) fn names_directories(&self) -> bool {
        self.order != Order::Projects || !self.filter.trim().is_empty()
    }

    pub(super) fn chosen(&self) -> Option<(&Arc<Entry>, Option<&Hit>)> {
        match self.rows.get(self.selected)? {
            Row::Heading { .. } => None,
            Row::Session { entry, .. } => Some((entry, None)),
            Row::Hit { entry, hit } => Some((entry, self.hits.get(*hit))),
        }
    }

    /// How many hits are in sessions of the scope.
    pub(super) fn shown_hits(&self) -> usize {
        self.rows.iter().filter(|row| matches!(row, Row::Hit { .. })).count()
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
        let mut entries: Vec<Arc<Entry>> = self.in_scope().cloned().collect();
        self.order.sort(&mut entries);
        self.rows = match (self.mode, self.filter.trim().is_empty(), self.order) {
            (Mode::Search, ..) => row::of_hits(&entries, &self.hits),
            (Mode::Filter, false, _) => self.rows_that_fit(&entries),
            (Mode::Filter, true, Order::Projects) => {
                row::by_project(&entries, &self.here.directory)
            }
            (Mode::Filter, true, _) => row::in_order(&entries),
        };
        let place = chosen.and_then(|chosen| {
            self.rows.iter().position(|row| row.key(&self.hits).as_ref() == Some(&chosen))
        });
        self.select(place.unwrap_or(0));
    }

    /// Those that fit what was typed, the best first, or in the order that was asked for.
    fn rows_that_fit(&mut self, entries: &[Arc<Entry>]) -> Vec<Row> {
        let fitter = Fitter::new(&self.filter);
        let mut fitting: Vec<(u32, Row)> = Vec::new();
        for entry in entries {
            if let Some((score, places)) = fitter.fit(entry, &mut self.matcher) {
                let row = Row::Session { entry: entry.clone(), fitting: places };
                fitting.push((score, row));
            }
        }
        // The sort is stable: of those that fit equally well, the newest is first.
        if self.order == Order::Projects {
            fitting.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        }
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

    pub(super) fn typed(&mut self) -> &mut String {
        match self.mode {
            Mode::Filter => &mut self.filter,
            Mode::Search => &mut self.words,
        }
    }

    /// What follows from other letters in the input.
    pub(super) fn was_typed(&mut self) -> Ask {
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
        // It is made again, and its hits take the place of these.
        self.has_old_hits |= state == SearchState::Partial;
    }

    pub(super) fn fail_search(&mut self, trouble: String) {
        self.trouble = trouble;
        self.set_search(SearchState::Failed);
    }

    pub(super) fn leave_search(&mut self) -> Ask {
        self.mode = Mode::Filter;
        self.words.clear();
        self.was_typed();
        Ask::Search
    }

    pub(super) fn enter_search(&mut self) -> Ask {
        self.focus = Focus::List;
        self.mode = Mode::Search;
        self.was_typed()
    }

    /// Whether something is typed that no title fits.
    pub(super) fn fits_nothing(&self) -> bool {
        self.mode == Mode::Filter && self.rows.is_empty() && !self.filter.trim().is_empty()
    }

    /// Searches the text of all sessions for what is typed.
    pub(super) fn search_typed(&mut self) -> Ask {
        if self.mode == Mode::Search {
            return Ask::Nothing;
        }
        self.words.clone_from(&self.filter);
        self.enter_search()
    }
}
