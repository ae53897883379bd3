//! What lies over a screen for a moment: help, and questions with a few answers.

use std::sync::Arc;

use crossterm::event::KeyCode;
use crossterm::event::KeyEvent;
use recto_session::export::Format;
use recto_view::ExportFormat;

use super::message::Effect;
use super::message::Entry;
use super::message::Errand;
use super::state::Browser;
use super::state::COMMAND;
use super::state::Facts;
use crate::terminal::output::Look;
use crate::terminal::text::one_line;
use recto_view::resume_command;

#[derive(Debug, Clone)]
pub(super) enum Overlay {
    Help {
        /// The first line that is shown.
        top: usize,
    },
    Copy {
        entry: Arc<Entry>,
        chosen: usize,
    },
    Export {
        entry: Arc<Entry>,
        chosen: usize,
    },
    /// The session runs: is it meant?
    Resume {
        entry: Arc<Entry>,
    },
    /// Only the archive has the session: shall it come back?
    Restore {
        entry: Arc<Entry>,
    },
}

/// The formats that can be chosen, by their letters.
pub(super) const FORMATS: [(char, &str, ExportFormat); 5] = [
    ('m', "Markdown", ExportFormat::Document(Format::Markdown)),
    ('h', "HTML", ExportFormat::Document(Format::Html)),
    ('x', "XML, compact, for a model", ExportFormat::Document(Format::Xml)),
    ('j', "JSON", ExportFormat::Items),
    ('t', "plain text", ExportFormat::Document(Format::Text)),
];

/// What can be copied of a session, by the letters.
pub(super) fn copies(entry: &Entry, facts: &Facts) -> [(char, &'static str, String); 3] {
    let id = entry.id();
    let command = match entry.log.is_agent() {
        // There is nothing to resume; to read it is next best.
        true => format!("recto show {id}"),
        false => {
            let home = facts.home_to_name.as_deref();
            resume_command(home, &facts.client, id, entry.directory.as_deref())
        }
    };
    let path = facts.directory.join(&entry.log.path).display().to_string();
    let command_name = if entry.log.is_agent() { "command to read it" } else { "resume command" };
    [('c', "id", id.to_owned()), ('r', command_name, command), ('p', "path of the log", path)]
}

/// What a key does in a menu.
enum Choice {
    /// This one is taken.
    Take(usize),
    /// This one is chosen.
    Move(usize),
    Leave,
}

/// Letters take, arrows choose, and enter takes what is chosen. A key that means nothing
/// here does nothing: what lies below must not get it.
fn choice(key: KeyEvent, chosen: usize, letters: &[char]) -> Choice {
    if key.modifiers.intersects(COMMAND) {
        return Choice::Move(chosen);
    }
    let last = letters.len().saturating_sub(1);
    match key.code {
        KeyCode::Enter => Choice::Take(chosen),
        KeyCode::Down | KeyCode::Tab => Choice::Move((chosen + 1).min(last)),
        KeyCode::Up | KeyCode::BackTab => Choice::Move(chosen.saturating_sub(1)),
        KeyCode::Home => Choice::Move(0),
        KeyCode::End => Choice::Move(last),
        KeyCode::Char(letter) if letters.contains(&letter) => {
            Choice::Take(letters.iter().position(|one| *one == letter).unwrap_or(chosen))
        }
        KeyCode::Esc | KeyCode::Backspace | KeyCode::Char('q') => Choice::Leave,
        _ => Choice::Move(chosen),
    }
}

impl Browser {
    pub(super) fn overlay_key(&mut self, overlay: Overlay, key: KeyEvent) {
        match overlay {
            Overlay::Help { top } => {
                let top = match key.code {
                    KeyCode::Down | KeyCode::Char('j') => top + 1,
                    KeyCode::Up | KeyCode::Char('k') => top.saturating_sub(1),
                    KeyCode::PageDown | KeyCode::Char(' ') => top + 10,
                    KeyCode::PageUp | KeyCode::Char('b') => top.saturating_sub(10),
                    _ => return,
                };
                let overflow = super::view::help_overflow(self.size, &self.list.left_out());
                let top = top.min(overflow);
                self.overlay = Some(Overlay::Help { top });
            }
            Overlay::Copy { entry, chosen } => {
                let copies = copies(&entry, &self.facts);
                match choice(key, chosen, &copies.each_ref().map(|copy| copy.0)) {
                    Choice::Take(at) => copies.into_iter().nth(at).into_iter().for_each(|copy| {
                        let said = format!("copied: {}", one_line(&copy.2));
                        self.notice = Some((said, Look::Good));
                        self.push(Effect::Copy(copy.2));
                    }),
                    Choice::Move(chosen) => self.overlay = Some(Overlay::Copy { entry, chosen }),
                    Choice::Leave => {}
                }
            }
            Overlay::Export { entry, chosen } => {
                match choice(key, chosen, &FORMATS.map(|format| format.0)) {
                    Choice::Take(at) => self.export(entry, FORMATS[at].2),
                    Choice::Move(chosen) => self.overlay = Some(Overlay::Export { entry, chosen }),
                    Choice::Leave => {}
                }
            }
            Overlay::Resume { entry } => match key.code {
                KeyCode::Char('y') => self.resume_now(&entry),
                KeyCode::Esc | KeyCode::Backspace | KeyCode::Char('q' | 'n') => {}
                _ => self.overlay = Some(Overlay::Resume { entry }),
            },
            Overlay::Restore { entry } => match key.code {
                KeyCode::Char('y') => {
                    self.notice = Some(("restoring the session".into(), Look::Faint));
                    self.push(Effect::Errand(Errand::Restore { entry }));
                }
                KeyCode::Esc | KeyCode::Backspace | KeyCode::Char('q' | 'n') => {}
                _ => self.overlay = Some(Overlay::Restore { entry }),
            },
        }
    }

    fn export(&mut self, entry: Arc<Entry>, format: ExportFormat) {
        self.exports += 1;
        self.notice = Some(("writing the document".into(), Look::Faint));
        self.push(Effect::Errand(Errand::Export { entry, format }));
    }
}
