//! A transcript that is being read: where one is in it, and what one looks for.

use std::sync::Arc;

use crossterm::event::KeyCode;
use crossterm::event::KeyEvent;
use crossterm::event::KeyModifiers;

use super::document::Document;
use super::document::PageLine;
use super::document::Progress;
use super::find::Find;
use super::message::Detail;
use super::message::Entry;
use super::message::FoundPlace;
use super::message::Keep;
use super::message::Part;
use super::message::ReadRequest;
use super::state::Ask;

/// Where to go as soon as it has been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    /// A line of the log, so many lines of the screen further down.
    Place {
        log_line: u64,
        offset: usize,
    },
    /// A line of the log where something was found.
    Hit {
        log_line: u64,
    },
    End,
}

/// A transcript on the screen.
#[derive(Debug, Clone)]
pub(super) struct Reader {
    pub(super) entry: Arc<Entry>,
    pub(super) part: Part,
    pub(super) detail: Detail,
    pub(super) keep: Keep,
    pub(super) ticket: u64,
    pub(super) document: Document,
    /// The first line on the screen.
    pub(super) top: usize,
    /// Whether the screen stays at the end when lines are added.
    pub(super) follows: bool,
    pub(super) find: Find,
    /// What must be seen, whatever else is shown.
    pub(super) place: Option<Arc<FoundPlace>>,
    /// What is being typed to look for.
    pub(super) typed: Option<String>,
    /// The turn that the screen was moved to. In a short document it cannot be at the
    /// top of the screen.
    pub(super) chosen_turn: Option<u32>,
    /// The match that the screen was moved to.
    pub(super) current_match: Option<usize>,
    /// Whether the lines are those from before; they stay until there are new ones.
    is_old: bool,
    width: usize,
    height: usize,
    anchor: Option<Anchor>,
    /// Where the screen was before something was looked for.
    before_find: usize,
}

impl Reader {
    pub(super) fn new(entry: Arc<Entry>, part: Part, keep: Keep) -> Reader {
        Reader {
            entry,
            part,
            detail: Detail::Brief,
            keep,
            ticket: 0,
            document: Document::default(),
            top: 0,
            follows: keep == Keep::End,
            find: Find::default(),
            place: None,
            typed: None,
            chosen_turn: None,
            current_match: None,
            is_old: false,
            width: 0,
            height: 0,
            anchor: None,
            before_find: 0,
        }
    }

    pub(super) fn at(mut self, anchor: Option<Anchor>) -> Reader {
        self.anchor = anchor;
        self
    }

    pub(super) fn finding(mut self, find: Find) -> Reader {
        self.find = find;
        self
    }

    /// Looks for something else in what is there.
    pub(super) fn find_again(&mut self, find: Find) {
        self.find = find;
        self.find.look_at(&self.document.lines);
    }

    /// Asks for the lines, from the start.
    pub(super) fn request(&mut self, ticket: u64) -> ReadRequest {
        self.ticket = ticket;
        self.is_old = true;
        self.document.progress = Progress::Reading;
        ReadRequest {
            ticket,
            log: self.entry.log.clone(),
            part: self.part,
            width: self.width,
            detail: self.detail,
            keep: self.keep,
            follow: self.entry.live.is_some() && self.part == Part::Conversation,
            place: self.place.clone(),
        }
    }

    /// Remembers the place, for a document that is read again.
    pub(super) fn keep_place(&mut self) {
        if self.follows || self.anchor.is_some() {
            return;
        }
        let Some(line) = self.document.lines.get(self.top) else { return };
        let log_line = line.log_line;
        let offset = self.top - self.document.line_of_log(log_line);
        self.anchor = Some(Anchor::Place { log_line, offset });
    }

    /// Takes the size of the place where it is shown. Gives whether the lines must be
    /// made again for it.
    pub(super) fn resize(&mut self, width: u16, height: u16) -> bool {
        let is_other = self.width != usize::from(width);
        if is_other {
            self.keep_place();
        }
        (self.width, self.height) = (width.into(), height.into());
        self.settle();
        is_other
    }

    /// Gives up the lines from before for those that come.
    fn drop_old(&mut self) {
        if std::mem::take(&mut self.is_old) {
            self.document = Document::default();
            self.find.forget();
            self.current_match = None;
        }
    }

    pub(super) fn add(&mut self, lines: Vec<PageLine>) {
        self.drop_old();
        self.document.add(lines);
        self.find.look_at(&self.document.lines);
        self.settle();
    }

    pub(super) fn begin_again(&mut self) {
        self.is_old = false;
        self.document = Document::default();
        self.find.forget();
        self.top = 0;
    }

    pub(super) fn finish(&mut self, progress: Progress) {
        self.drop_old();
        self.document.progress = progress;
        self.settle();
    }

    /// Nothing could be read. What was read before is better than nothing.
    pub(super) fn fail(&mut self) {
        self.is_old = false;
        self.document.progress = Progress::Whole;
        self.settle();
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.document.progress == Progress::Reading
    }

    /// The turn that the screen is at.
    pub(super) fn turn(&self) -> Option<u32> {
        if self.chosen_turn.is_some() {
            return self.chosen_turn;
        }
        let is_shown = |line: &usize| (self.top..self.top + self.height).contains(line);
        if let Some(line) = self.current_match.filter(is_shown) {
            return self.document.turn_at(line);
        }
        let is_at_end = self.top > 0 && self.top == self.last_top();
        // A heading in the upper part of the screen is what one reads.
        let near = (self.height / 4).min(3);
        let at = self.top + if is_at_end { self.height } else { near };
        self.document.turn_at(at).or_else(|| self.document.turn_at(self.top))
    }

    fn last_top(&self) -> usize {
        self.document.lines.len().saturating_sub(self.height)
    }

    /// Goes where the anchor leads, and stays inside the document.
    fn settle(&mut self) {
        if self.is_old {
            return;
        }
        match self.anchor {
            Some(Anchor::Place { log_line, offset }) if self.document.reaches(log_line) => {
                self.anchor = None;
                self.top = self.document.line_of_log(log_line) + offset;
            }
            Some(Anchor::Hit { log_line }) if self.document.reaches(log_line) => {
                self.anchor = None;
                let start = self.document.line_of_log(log_line);
                let is_same = |line: &usize| {
                    self.document.lines.get(*line).is_some_and(|line| line.log_line == log_line)
                };
                let shown = self.find.matches.iter().copied().find(|line| *line >= start);
                let place = shown.filter(is_same).unwrap_or(start);
                self.current_match = Some(place);
                self.show(place);
            }
            Some(Anchor::End) => {
                self.anchor = None;
                self.follows = true;
            }
            _ => {}
        }
        if self.follows {
            self.top = self.last_top();
        } else if self.anchor.is_none() {
            self.top = self.top.min(self.last_top());
        }
    }

    /// Puts a line into the upper third of the screen.
    fn show(&mut self, line: usize) {
        self.follows = false;
        self.chosen_turn = None;
        self.top = line.saturating_sub(self.height / 3).min(self.last_top());
    }

    pub(super) fn scroll(&mut self, lines: isize) {
        self.anchor = None;
        self.top = self.top.saturating_add_signed(lines).min(self.last_top());
        self.follows = lines > 0 && self.top == self.last_top();
        self.chosen_turn = None;
    }

    fn go_to(&mut self, line: usize) {
        self.anchor = None;
        self.top = line.min(self.last_top());
        self.follows = false;
        self.chosen_turn = None;
    }

    /// Goes to the turn after the one on the screen, or to the one before it.
    fn go_to_turn(&mut self, forward: bool) {
        let known = self.chosen_turn.and_then(|turn| self.document.start_of(turn));
        let from = known.unwrap_or(self.top);
        let place = match forward {
            true => self.document.next_turn(from),
            false => self.document.turn_before(from),
        };
        match place {
            Some(line) => {
                self.go_to(line);
                self.chosen_turn = self.document.turn_at(line);
            }
            None if forward => self.scroll(isize::MAX),
            None => self.go_to(0),
        }
    }

    /// Goes to a line of the log.
    pub(super) fn go_to_log_line(&mut self, log_line: u64) {
        self.anchor = Some(Anchor::Hit { log_line });
        self.settle();
    }

    /// Goes to the next match, or to the one before. Gives what to say about it.
    fn next_match(&mut self, forward: bool) -> Option<String> {
        if self.find.is_empty() {
            return Some("no search yet; / finds text".into());
        }
        let matches = &self.find.matches;
        let (Some(first), Some(last)) = (matches.first(), matches.last()) else {
            return Some(self.missing().into());
        };
        let from = self.current_match.unwrap_or(self.top);
        let found = match forward {
            true => matches.iter().find(|line| **line > from).or(Some(first)),
            false => matches.iter().rev().find(|line| **line < from).or(Some(last)),
        };
        let line = *found?;
        let is_around = if forward { line <= from } else { line >= from };
        let number = matches.iter().position(|one| *one == line).map_or(0, |at| at + 1);
        let so_far = if self.is_waiting() { " so far" } else { "" };
        let said = format!("match {number} of {}{so_far}", matches.len());
        self.current_match = Some(line);
        self.show(line);
        Some(if is_around { format!("{said}, from the other end") } else { said })
    }

    /// What to say when nothing was found: it may be in what is not shown.
    pub(super) fn missing(&self) -> &'static str {
        match (self.document.progress, self.part, self.detail) {
            (Progress::Reading, ..) => "not found so far",
            (Progress::Cut, ..) => "not found in the part shown; `recto show` prints all",
            (Progress::Whole, Part::Conversation, Detail::Brief) => {
                "not found in brief; x shows all"
            }
            (Progress::Whole, Part::Conversation, Detail::Words) => {
                "not found in text only; x shows more"
            }
            (Progress::Whole, ..) => "not found",
        }
    }

    /// Looks for what is being typed, from where one was.
    fn find_typed(&mut self, text: &str) {
        self.find = Find::new(vec![text.to_owned()]);
        self.find.look_at(&self.document.lines);
        self.top = self.before_find;
        self.current_match = None;
        let at = self.find.matches.iter().copied().find(|line| *line >= self.before_find);
        if let Some(line) = at.or(self.find.matches.first().copied()) {
            self.current_match = Some(line);
            self.show(line);
        }
    }

    fn type_key(&mut self, key: KeyEvent, mut text: String) -> Ask {
        match key.code {
            KeyCode::Esc => {
                self.find_typed("");
                return Ask::Nothing;
            }
            KeyCode::Enter => {
                let is_missing = !text.is_empty() && self.find.count() == 0;
                return if is_missing { Ask::Say(self.missing().into()) } else { Ask::Nothing };
            }
            KeyCode::Backspace if text.is_empty() => return Ask::Nothing,
            KeyCode::Backspace => {
                text.pop();
            }
            KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => text.clear(),
            KeyCode::Char(c) if !key.modifiers.intersects(super::state::COMMAND) => text.push(c),
            _ => {}
        }
        self.find_typed(&text);
        self.typed = Some(text);
        Ask::Nothing
    }

    /// Adds text that was pasted, where something is typed.
    pub(super) fn paste(&mut self, pasted: &str) {
        let Some(mut text) = self.typed.take() else { return };
        text.push_str(pasted);
        self.find_typed(&text);
        self.typed = Some(text);
    }

    /// The keys that move. Gives whether it was one.
    pub(super) fn move_key(&mut self, key: KeyEvent) -> bool {
        let page = self.height.saturating_sub(2).max(1) as isize;
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('d') if is_control => self.scroll(page / 2),
            KeyCode::Char('u') if is_control => self.scroll(-page / 2),
            KeyCode::Char('f') if is_control => self.scroll(page),
            KeyCode::Char('b') if is_control => self.scroll(-page),
            _ if key.modifiers.intersects(super::state::COMMAND) => return false,
            KeyCode::Down | KeyCode::Char('j') => self.scroll(1),
            KeyCode::Up | KeyCode::Char('k') => self.scroll(-1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.scroll(page),
            KeyCode::PageUp | KeyCode::Char('b') => self.scroll(-page),
            KeyCode::Home | KeyCode::Char('g') => self.go_to(0),
            KeyCode::End | KeyCode::Char('G') => {
                self.chosen_turn = None;
                self.anchor = Some(Anchor::End);
                self.settle();
            }
            KeyCode::Char(']' | 'l') | KeyCode::Right => self.go_to_turn(true),
            KeyCode::Char('[' | 'h') | KeyCode::Left => self.go_to_turn(false),
            _ => return false,
        }
        true
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> Ask {
        if let Some(text) = self.typed.take() {
            return self.type_key(key, text);
        }
        if self.move_key(key) {
            return Ask::Nothing;
        }
        match key.code {
            KeyCode::Esc | KeyCode::Char('q') | KeyCode::Backspace => Ask::Back,
            KeyCode::Char('/') => {
                self.typed = Some(String::new());
                self.before_find = self.top;
                Ask::Nothing
            }
            KeyCode::Char('n') => self.next_match(true).map_or(Ask::Nothing, Ask::Say),
            KeyCode::Char('N') => self.next_match(false).map_or(Ask::Nothing, Ask::Say),
            KeyCode::Char('x') if self.part == Part::Conversation => {
                self.keep_place();
                self.detail = self.detail.next();
                Ask::ShowOtherwise(self.detail)
            }
            KeyCode::Char('d') => match (self.part, self.turn()) {
                (Part::Conversation, Some(turn)) => Ask::Changes(self.entry.clone(), turn),
                (Part::Conversation, None) => Ask::Say("no turn here".into()),
                (Part::Changes(_), _) => Ask::Back,
            },
            KeyCode::Char('c') if self.part == Part::Conversation => {
                Ask::Copy(vec![self.entry.clone()], self.turn())
            }
            KeyCode::Char('F') => self.fork(),
            code => Ask::of_command(code, &self.entry),
        }
    }

    /// A new session that ends with the turn on the screen.
    pub(super) fn fork(&self) -> Ask {
        match (self.part, self.turn()) {
            (Part::Conversation, Some(turn)) => Ask::Fork(self.entry.clone(), turn),
            (Part::Changes(turn), _) => Ask::Fork(self.entry.clone(), turn),
            (Part::Conversation, None) => Ask::Say("no turn here".into()),
        }
    }
}
