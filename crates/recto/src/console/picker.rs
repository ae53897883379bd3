//! A list to choose from: models, sessions, prompts to go back to, completions.

use crossterm::event::KeyCode;
use crossterm::event::KeyEvent;
use crossterm::event::KeyModifiers;

use crate::terminal::output::Look;
use crate::terminal::text::Span;
use crate::terminal::text::fit;
use crate::terminal::text::one_line;

/// How many rows are shown at once.
const ROWS: usize = 8;

/// What is chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Another model.
    Model,
    /// Another session.
    Resume,
    /// A prompt to go back to.
    Prompt,
    /// What goes back to it.
    Extent(usize),
    /// A prompt of the history.
    History,
}

/// A row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) value: String,
    pub(super) label: String,
    pub(super) detail: String,
}

impl Choice {
    pub(super) fn new(
        value: impl Into<String>,
        label: impl Into<String>,
        detail: impl Into<String>,
    ) -> Choice {
        Choice { value: value.into(), label: label.into(), detail: detail.into() }
    }
}

/// What a key came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Picked {
    Nothing,
    Left,
    Chosen(Choice),
}

/// A list, and which row is marked.
#[derive(Debug)]
pub(super) struct Picker {
    pub(super) purpose: Purpose,
    title: String,
    choices: Vec<Choice>,
    filter: String,
    marked: usize,
    /// Lines below the list, such as what a choice would change.
    pub(super) preview: Vec<Vec<Span>>,
    /// How far these are scrolled.
    scroll: usize,
}

impl Picker {
    pub(super) fn new(purpose: Purpose, title: &str, choices: Vec<Choice>) -> Picker {
        Picker {
            purpose,
            title: title.to_owned(),
            choices,
            filter: String::new(),
            marked: 0,
            preview: Vec::new(),
            scroll: 0,
        }
    }

    /// How many lines of the preview there is room for, on so many rows.
    fn preview_room(&self, rows: usize) -> usize {
        // The title and the help have a line each.
        rows.saturating_sub(2 + self.shown().len().clamp(1, ROWS)).max(1)
    }

    fn shown(&self) -> Vec<&Choice> {
        let filter = self.filter.to_lowercase();
        let has = |choice: &&Choice| {
            let text = format!("{} {}", choice.label, choice.detail).to_lowercase();
            filter.split_whitespace().all(|word| text.contains(word))
        };
        self.choices.iter().filter(has).collect()
    }

    /// Takes a key, on a screen with so many rows for the list and its preview.
    pub(super) fn key(&mut self, key: KeyEvent, rows: usize) -> Picked {
        let room = self.preview_room(rows);
        let most = self.preview.len().saturating_sub(room);
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let count = self.shown().len();
        match key.code {
            KeyCode::Esc => return Picked::Left,
            KeyCode::Char('c' | 'g') if control => return Picked::Left,
            KeyCode::Up => self.marked = self.marked.saturating_sub(1),
            KeyCode::Char('p') if control => self.marked = self.marked.saturating_sub(1),
            KeyCode::Down | KeyCode::Tab => self.marked += 1,
            KeyCode::Char('n') if control => self.marked += 1,
            KeyCode::PageUp if most > 0 => self.scroll = self.scroll.min(most).saturating_sub(room),
            KeyCode::PageDown if most > 0 => self.scroll = (self.scroll + room).min(most),
            KeyCode::PageUp => self.marked = self.marked.saturating_sub(ROWS),
            KeyCode::PageDown => self.marked += ROWS,
            KeyCode::Backspace => {
                self.filter.pop();
                self.marked = 0;
            }
            KeyCode::Enter => {
                let chosen = self.shown().get(self.marked).map(|choice| (*choice).clone());
                return chosen.map_or(Picked::Nothing, Picked::Chosen);
            }
            KeyCode::Char(c) if !control => {
                self.filter.push(c);
                self.marked = 0;
            }
            _ => {}
        }
        self.marked = self.marked.min(count.saturating_sub(1));
        Picked::Nothing
    }

    /// Takes a line, where keys are not read one by one: a number, or nothing to leave.
    pub(super) fn line(&mut self, text: &str) -> Picked {
        let number = text.trim().parse::<usize>().ok();
        let chosen = number.and_then(|number| self.choices.get(number.checked_sub(1)?));
        chosen.cloned().map_or(Picked::Left, Picked::Chosen)
    }

    /// All of the list with numbers, where keys are not read one by one.
    pub(super) fn numbered(&self) -> Vec<Vec<Span>> {
        let mut lines = vec![vec![(one_line(&self.title), Look::Strong)]];
        lines.extend(self.preview.iter().cloned());
        for (at, choice) in self.choices.iter().enumerate() {
            let about = match choice.detail.is_empty() {
                true => one_line(&choice.label),
                false => format!("{}, {}", one_line(&choice.label), one_line(&choice.detail)),
            };
            lines.push(vec![(format!("  {}. {about}", at + 1), Look::Plain)]);
        }
        let help = "type a number and Enter; Enter alone goes back";
        lines.push(vec![(help.to_owned(), Look::Faint)]);
        lines
    }

    /// The lines of the list, with as much of the preview as so many rows have room for.
    pub(super) fn lines(&self, width: usize, rows: usize) -> Vec<Vec<Span>> {
        let shown = self.shown();
        let preview_room = self.preview_room(rows);
        let mut lines = vec![vec![
            (self.title.clone(), Look::Strong),
            (format!("  {}", self.filter), Look::User),
        ]];
        let first = self.marked.saturating_sub(ROWS - 1);
        let rows: Vec<(usize, &&Choice)> =
            shown.iter().enumerate().skip(first).take(ROWS).collect();
        // Details are a column of their own; a long label leaves it a third of the line.
        let wide = |text: &str| unicode_width::UnicodeWidthStr::width(text);
        let details = rows.iter().map(|(_, choice)| wide(&one_line(&choice.detail))).max();
        let details = details.unwrap_or_default().min(width / 3);
        let most = width.saturating_sub(details + 6).max(8);
        let labels = rows.iter().map(|(_, choice)| wide(&one_line(&choice.label)).min(most)).max();
        let labels = labels.unwrap_or_default();
        for (at, choice) in rows {
            let (mark, look) =
                if at == self.marked { ("❯ ", Look::User) } else { ("  ", Look::Plain) };
            let mut row =
                vec![(mark.to_owned(), look), (fit(&one_line(&choice.label), most), look)];
            if !choice.detail.is_empty() {
                let gap = labels.saturating_sub(wide(&row[1].0)) + 2;
                let room = width.saturating_sub(labels + 5);
                let detail = fit(&one_line(&choice.detail), room);
                row.push((format!("{}{detail}", " ".repeat(gap)), Look::Faint));
            }
            lines.push(row);
        }
        if shown.is_empty() {
            lines.push(vec![("  nothing matches".to_owned(), Look::Faint)]);
        }
        let all = self.preview.len();
        let scroll = self.scroll.min(all.saturating_sub(preview_room));
        let end = all.min(scroll + preview_room);
        lines.extend(self.preview[scroll..end].iter().cloned());
        let place = match all > preview_room {
            true => format!("{}–{end} of {all} · PgUp PgDn · ", scroll + 1),
            false => String::new(),
        };
        let left = shown.len().saturating_sub(ROWS);
        let more = if left > 0 { format!("{left} more · ") } else { String::new() };
        let help = format!("{place}{more}type to filter · Enter to choose · Esc to go back");
        lines.push(vec![(fit(&help, width), Look::Faint)]);
        lines
    }
}
