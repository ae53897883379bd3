//! The calls of this session as a list in which each opens in place: its input, and its whole
//! result.

use std::collections::VecDeque;

use crossterm::event::KeyCode;
use crossterm::event::KeyEvent;
use crossterm::event::KeyModifiers;
use serde_json::Value;

use super::blocks;
use super::blocks::Lines;
use super::question;
use crate::terminal::output::Look;
use crate::terminal::text::fit;

/// How many calls are kept; the transcript has all.
pub(super) const MOST_CALLS: usize = 100;
/// How much of an input or a result is kept.
const MOST_TEXT: usize = 200 << 10;

/// A call that ran or runs.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) id: String,
    name: String,
    about: String,
    input: Value,
    is_agents: bool,
    /// The result, and what the tool says of it beside the text.
    result: Option<(Value, Option<Value>)>,
}

/// Calls, oldest first.
#[derive(Debug, Default)]
pub(super) struct Calls(VecDeque<Call>);

impl Calls {
    pub(super) fn begin(&mut self, block: &Value, about: String, is_agents: bool) {
        let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
        self.0.push_back(Call {
            id: text("id"),
            name: text("name"),
            about,
            input: small(&block["input"]),
            is_agents,
            result: None,
        });
        if self.0.len() > MOST_CALLS {
            self.0.pop_front();
        }
    }

    pub(super) fn end(&mut self, id: &str, result: &Value, structured: Option<&Value>) {
        if let Some(call) = self.0.iter_mut().rev().find(|call| call.id == id) {
            call.result = Some((small(result), structured.map(small)));
        }
    }

    /// The newest call in full, where the list cannot be drawn.
    pub(super) fn last_in_full(&self, width: usize) -> Lines {
        let Some(call) = self.0.back() else { return Lines::new() };
        let mut lines = vec![call.row(width)];
        lines.extend(call.whole(width));
        lines
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A value without what is too long to keep.
fn small(value: &Value) -> Value {
    match value {
        Value::String(text) if text.len() > MOST_TEXT => {
            let cut = text.floor_char_boundary(MOST_TEXT);
            format!("{}\n… the transcript has the rest", &text[..cut]).into()
        }
        Value::Array(values) => values.iter().map(small).collect(),
        Value::Object(object) => {
            object.iter().map(|(name, value)| (name.clone(), small(value))).collect()
        }
        other => other.clone(),
    }
}

impl Call {
    fn row(&self, width: usize) -> Vec<(String, Look)> {
        let (mark, look) = match &self.result {
            None => ("○ ", Look::Tool),
            Some((result, _)) if result["is_error"] == true => ("⏺ ", Look::Bad),
            Some(_) => ("⏺ ", Look::Good),
        };
        let lead = if self.is_agents { format!("  {mark}") } else { mark.to_owned() };
        let mut row = vec![(lead, look)];
        row.extend(blocks::call_line(&self.name, &self.about, width.saturating_sub(6)));
        row
    }

    /// Input and result in full.
    fn whole(&self, width: usize) -> Lines {
        let mut lines = question::whole_call(&self.name, &self.input, "", width);
        match &self.result {
            None => lines.push(vec![("  still runs".to_owned(), Look::Faint)]),
            Some((result, structured)) => {
                lines.push(vec![("  ───".to_owned(), Look::Faint)]);
                lines.extend(blocks::result(result, structured.as_ref(), width, usize::MAX));
            }
        }
        lines
    }
}

/// The list on the screen.
#[derive(Debug)]
pub(super) struct CallList {
    marked: usize,
    /// How far the open call is scrolled, if one is open.
    open: Option<usize>,
}

impl CallList {
    /// The list with its newest call marked.
    pub(super) fn new(calls: &Calls) -> CallList {
        CallList { marked: calls.0.len().saturating_sub(1), open: None }
    }

    /// Takes a key, on a screen of some width and rows. Gives whether the list is left.
    pub(super) fn key(
        &mut self,
        key: KeyEvent,
        calls: &Calls,
        (width, rows): (usize, usize),
    ) -> bool {
        let page = rows.saturating_sub(3).max(1);
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let last = calls.0.len().saturating_sub(1);
        let (up, down) = match key.code {
            KeyCode::Up => (1, 0),
            KeyCode::Down => (0, 1),
            KeyCode::Char('p' | 'k') if control => (1, 0),
            KeyCode::Char('n' | 'j') if control => (0, 1),
            KeyCode::Char('k') => (1, 0),
            KeyCode::Char('j') => (0, 1),
            KeyCode::PageUp => (page, 0),
            KeyCode::PageDown => (0, page),
            KeyCode::Char(' ') if self.open.is_some() => (0, page),
            KeyCode::Enter | KeyCode::Right | KeyCode::Char(' ') => {
                self.open = match self.open {
                    Some(_) if key.code == KeyCode::Enter => None,
                    open => Some(open.unwrap_or(0)),
                };
                return false;
            }
            KeyCode::Left => {
                self.open = None;
                return false;
            }
            KeyCode::Char('c' | 'g' | 'x') if control => return true,
            KeyCode::Esc | KeyCode::Char('q') => return self.open.take().is_none(),
            _ => return false,
        };
        match &mut self.open {
            Some(scroll) => {
                let call = calls.0.get(self.marked.min(last));
                let lines = call.map_or(0, |call| call.whole(width.saturating_sub(2)).len());
                let most = lines.saturating_sub(page);
                *scroll = (*scroll + down).min(most).saturating_sub(up);
            }
            None => self.marked = (self.marked + down).saturating_sub(up).min(last),
        }
        false
    }

    /// The lines of the list, in as many rows as there is room for.
    pub(super) fn lines(&self, calls: &Calls, width: usize, rows: usize) -> Lines {
        let room = rows.saturating_sub(2).max(1);
        let mut lines = vec![vec![("Calls".to_owned(), Look::Strong)]];
        let marked = self.marked.min(calls.0.len().saturating_sub(1));
        let row = |at: usize, call: &Call| {
            let mark = if at == marked { "❯ " } else { "  " };
            let mut row = vec![(mark.to_owned(), Look::User)];
            row.extend(call.row(width.saturating_sub(2)));
            row
        };
        let help = match (self.open, calls.0.get(marked)) {
            (Some(scroll), Some(call)) => {
                lines.push(row(marked, call));
                let whole = call.whole(width.saturating_sub(2));
                let room = room.saturating_sub(1).max(1);
                let scroll = scroll.min(whole.len().saturating_sub(room));
                let end = (scroll + room).min(whole.len());
                let place = match whole.len() > room {
                    true => {
                        format!("{}–{} of {} · ↑ ↓ Space scroll · ", scroll + 1, end, whole.len())
                    }
                    false => String::new(),
                };
                lines.extend(whole.into_iter().skip(scroll).take(room));
                format!("{place}Enter to close · Esc to go back")
            }
            _ => {
                let first = (marked + 1).saturating_sub(room);
                let shown = calls.0.iter().enumerate().skip(first).take(room);
                lines.extend(shown.map(|(at, call)| row(at, call)));
                "Enter to open a call: its input and whole result · Esc to go back".to_owned()
            }
        };
        lines.push(vec![(fit(&help, width), Look::Faint)]);
        lines
    }
}
