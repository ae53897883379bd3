//! A table over the whole screen: the tool calls or the subagents of a session.

use std::sync::Arc;

use crossterm::event::KeyCode;
use crossterm::event::KeyEvent;

use super::message::Entry;
use super::message::LeadsTo;
use super::message::TableRow;
use super::state::Ask;

/// What a table is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Subject {
    Tools,
    Agents,
}

impl Subject {
    pub(super) fn heading(self) -> &'static str {
        match self {
            Subject::Tools => "Tool calls",
            Subject::Agents => "Subagents",
        }
    }

    pub(super) fn nothing(self) -> &'static str {
        match self {
            Subject::Tools => "no tool calls in this session",
            Subject::Agents => "no subagents in this session",
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct TablePage {
    pub(super) subject: Subject,
    pub(super) entry: Arc<Entry>,
    pub(super) ticket: u64,
    /// None as long as they are being gathered.
    pub(super) rows: Option<Vec<TableRow>>,
    /// Why they could not be gathered.
    pub(super) trouble: Option<String>,
    pub(super) selected: usize,
    pub(super) top: usize,
    /// The width that the rows are for.
    width: Option<u16>,
    height: usize,
}

impl TablePage {
    pub(super) fn new(subject: Subject, entry: Arc<Entry>) -> TablePage {
        TablePage {
            subject,
            entry,
            ticket: 0,
            rows: None,
            trouble: None,
            selected: 0,
            top: 0,
            width: None,
            height: 0,
        }
    }

    /// Takes the size of the screen. Gives whether the rows must be made for it; the old
    /// ones stay until then.
    pub(super) fn resize(&mut self, width: u16, height: u16) -> bool {
        self.height = height.into();
        self.select(self.selected);
        self.width.replace(width) != Some(width)
    }

    pub(super) fn fill(&mut self, rows: Vec<TableRow>) {
        self.rows = Some(rows);
        self.trouble = None;
        self.select(self.selected);
    }

    pub(super) fn fail(&mut self, message: String) {
        self.trouble = Some(message);
        self.rows.get_or_insert_default();
    }

    fn count(&self) -> usize {
        self.rows.as_ref().map_or(0, Vec::len)
    }

    fn select(&mut self, row: usize) {
        self.selected = row.min(self.count().saturating_sub(1));
        let lowest = (self.selected + 1).saturating_sub(self.height.max(1));
        self.top = self.top.clamp(lowest, self.selected);
    }

    pub(super) fn move_by(&mut self, rows: isize) {
        self.select(self.selected.saturating_add_signed(rows));
    }

    /// A click on a row of the screen: chooses it, or opens the chosen one.
    pub(super) fn click(&mut self, row: usize) -> Ask {
        let at = self.top + row;
        if at >= self.count() {
            return Ask::Nothing;
        }
        if at == self.selected {
            return self.open();
        }
        self.select(at);
        Ask::Nothing
    }

    fn chosen(&self) -> Option<&LeadsTo> {
        Some(&self.rows.as_ref()?.get(self.selected)?.leads_to)
    }

    fn open(&self) -> Ask {
        self.chosen().map_or(Ask::Nothing, |leads_to| Ask::Follow(leads_to.clone()))
    }

    /// The log that is meant: that of the row, or the one that the table is of.
    fn meant(&self) -> &Arc<Entry> {
        match self.chosen() {
            Some(LeadsTo::Log(entry)) => entry,
            Some(LeadsTo::Line(_)) | None => &self.entry,
        }
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> Ask {
        let page = self.height.max(1) as isize;
        match key.code {
            KeyCode::Esc | KeyCode::Char('q') | KeyCode::Backspace => return Ask::Back,
            KeyCode::Enter | KeyCode::Right => return self.open(),
            KeyCode::Down | KeyCode::Char('j') => self.move_by(1),
            KeyCode::Up | KeyCode::Char('k') => self.move_by(-1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.move_by(page),
            KeyCode::PageUp | KeyCode::Char('b') => self.move_by(-page),
            KeyCode::Home | KeyCode::Char('g') => self.select(0),
            KeyCode::End | KeyCode::Char('G') => self.select(usize::MAX),
            // The key that opened a table closes it.
            KeyCode::Char('t') if self.subject == Subject::Tools => return Ask::Back,
            KeyCode::Char('a') if self.subject == Subject::Agents => return Ask::Back,
            KeyCode::Char('c') => return Ask::Copy(vec![self.meant().clone()], None),
            code => return Ask::of_command(code, &self.entry),
        }
        Ask::Nothing
    }
}
