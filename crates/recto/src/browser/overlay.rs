//! What lies over a screen for a moment: help, and questions with a few answers.

use std::sync::Arc;

use crossterm::event::KeyCode;
use crossterm::event::KeyEvent;
use recto_session::export::Format;

use super::message::Effect;
use super::message::Entry;
use super::message::Errand;
use super::state::Browser;
use super::state::Facts;
use crate::output::Look;
use crate::text::one_line;
use recto_session::resume_command_in;

#[derive(Debug, Clone)]
pub(super) enum Overlay {
    Help {
        /// The first line that is shown.
        top: usize,
    },
    Copy {
        entry: Arc<Entry>,
    },
    Export {
        entry: Arc<Entry>,
    },
    /// The session runs: is it meant?
    Resume {
        entry: Arc<Entry>,
    },
}

/// The formats that can be chosen, by their letters.
pub(super) const FORMATS: [(char, &str, Format); 5] = [
    ('m', "Markdown", Format::Markdown),
    ('h', "HTML", Format::Html),
    ('x', "XML, compact, for a model", Format::Xml),
    ('j', "JSON", Format::Json),
    ('t', "plain text", Format::Text),
];

/// What can be copied of a session, by the letters.
pub(super) fn copies(entry: &Entry, facts: &Facts) -> [(char, &'static str, String); 3] {
    let id = entry.id();
    let command = match entry.target.is_agent {
        // There is nothing to resume; to read it is next best.
        true => format!("recto show {id}"),
        false => {
            let home = facts.home_to_name.as_deref();
            resume_command_in(home, &facts.client, id, entry.directory.as_deref())
        }
    };
    let path = entry.target.path.display().to_string();
    let command_name = if entry.target.is_agent { "command to read it" } else { "resume command" };
    [('c', "id", id.to_owned()), ('r', command_name, command), ('p', "path of the log", path)]
}

impl Browser {
    pub(super) fn overlay_key(&mut self, overlay: Overlay, key: KeyEvent) {
        let letter = match key.code {
            KeyCode::Char(c) => c,
            KeyCode::Enter => '\n',
            _ => ' ',
        };
        match overlay {
            Overlay::Help { top } => {
                let top = match key.code {
                    KeyCode::Down | KeyCode::Char('j') => top + 1,
                    KeyCode::Up | KeyCode::Char('k') => top.saturating_sub(1),
                    KeyCode::PageDown | KeyCode::Char(' ') => top + 10,
                    KeyCode::PageUp | KeyCode::Char('b') => top.saturating_sub(10),
                    _ => return,
                };
                let top = top.min(super::view::help_overflow(self.size));
                self.overlay = Some(Overlay::Help { top });
            }
            Overlay::Copy { entry } => {
                let copies = copies(&entry, &self.facts);
                let Some((_, _, text)) = copies.into_iter().find(|copy| copy.0 == letter) else {
                    return;
                };
                let said = format!("copied: {}", one_line(&text));
                self.notice = Some((said, Look::Good));
                self.push(Effect::Copy(text));
            }
            Overlay::Export { entry } => {
                // Enter takes the first.
                let letter = if letter == '\n' { FORMATS[0].0 } else { letter };
                let Some((_, _, format)) = FORMATS.into_iter().find(|format| format.0 == letter)
                else {
                    return;
                };
                self.exports += 1;
                self.notice = Some(("writing the document".into(), Look::Faint));
                self.push(Effect::Errand(Errand::Export { entry, format }));
            }
            Overlay::Resume { entry } => {
                if letter == 'y' {
                    self.resume_now(&entry);
                }
            }
        }
    }
}
