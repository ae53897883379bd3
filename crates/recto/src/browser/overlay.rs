//! What lies over a screen for a moment: help, and questions with a few answers.

use std::sync::Arc;

use crossterm::event::KeyCode;
use crossterm::event::KeyEvent;
use crossterm::event::KeyModifiers;
use recto_session::export::Format;
use recto_view::ExportFormat;

use super::message::Clip;
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
        entries: Vec<Arc<Entry>>,
        /// What the clips were asked for with.
        ticket: u64,
        /// Texts of the turn on the screen.
        clips: Vec<Clip>,
        chosen: usize,
    },
    Export {
        entries: Vec<Arc<Entry>>,
        chosen: usize,
    },
    /// A new title is typed.
    Rename {
        entry: Arc<Entry>,
        typed: String,
    },
    /// Make a session that ends with this turn?
    Fork {
        entry: Arc<Entry>,
        turn: u32,
    },
    Remove {
        entries: Vec<Arc<Entry>>,
    },
    /// Undo this operation?
    Undo {
        operation: u64,
        command: String,
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

/// What can be copied of sessions and of a turn, by the letters.
pub(super) fn copies(entries: &[Arc<Entry>], clips: &[Clip], facts: &Facts) -> Vec<Clip> {
    let lines = |text: &dyn Fn(&Entry) -> String| {
        entries.iter().map(|entry| text(entry)).collect::<Vec<_>>().join("\n")
    };
    let has_agent = entries.iter().any(|entry| entry.log.is_agent());
    let names = match (entries.len(), has_agent) {
        (1, true) => ["id", "command to read it", "path of the log"],
        (1, false) => ["id", "resume command", "path of the log"],
        _ => ["ids", "resume commands", "paths of the logs"],
    };
    let [id, command, path] = names.map(str::to_owned);
    let path_of = |entry: &Entry| facts.here.directory.join(&entry.log.path).display().to_string();
    let mut copies = vec![
        Clip { letter: 'c', name: id, text: lines(&|entry| entry.id().to_owned()) },
        Clip { letter: 'r', name: command, text: lines(&|entry| command_of(entry, facts)) },
        Clip { letter: 'p', name: path, text: lines(&path_of) },
    ];
    copies.extend(clips.iter().cloned());
    copies
}

/// The command that goes on with a session.
fn command_of(entry: &Entry, facts: &Facts) -> String {
    let id = entry.id();
    match entry.log.is_agent() {
        // There is nothing to resume; to read it is next best.
        true => format!("recto show {id}"),
        false => {
            let home = facts.home_to_name.as_deref();
            resume_command(home, &facts.client, id, entry.directory.as_deref())
        }
    }
}

/// What a key does in a menu.
enum Choice {
    /// This one is taken.
    Take(usize),
    /// This one is chosen.
    Move(usize),
    Leave,
}

/// What a key says to a question.
enum Answer {
    Yes,
    No,
    /// Nothing: what lies below must not get it.
    Other,
}

fn asks(key: KeyEvent) -> Answer {
    match key.code {
        KeyCode::Char('y') if !key.modifiers.intersects(COMMAND) => Answer::Yes,
        KeyCode::Esc | KeyCode::Backspace | KeyCode::Char('q' | 'n') => Answer::No,
        _ => Answer::Other,
    }
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
                let top = top.min(super::view::help_overflow(self));
                self.overlay = Some(Overlay::Help { top });
            }
            Overlay::Copy { entries, ticket, clips, chosen } => {
                let copies = copies(&entries, &clips, &self.facts);
                let letters: Vec<char> = copies.iter().map(|copy| copy.letter).collect();
                match choice(key, chosen, &letters) {
                    Choice::Take(at) => copies.into_iter().nth(at).into_iter().for_each(|copy| {
                        let said = match copy.text.lines().count() {
                            0 | 1 => format!("copied: {}", one_line(&copy.text)),
                            lines => format!("copied {}, {lines} lines", copy.name),
                        };
                        self.notice = Some((said, Look::Good));
                        self.push(Effect::Copy(copy.text));
                    }),
                    Choice::Move(chosen) => {
                        self.overlay = Some(Overlay::Copy { entries, ticket, clips, chosen });
                    }
                    Choice::Leave => {}
                }
            }
            Overlay::Export { entries, chosen } => {
                match choice(key, chosen, &FORMATS.map(|format| format.0)) {
                    Choice::Take(at) => self.export(entries, FORMATS[at].2),
                    Choice::Move(chosen) => {
                        self.overlay = Some(Overlay::Export { entries, chosen });
                    }
                    Choice::Leave => {}
                }
            }
            Overlay::Rename { entry, typed } => self.type_title(key, entry, typed),
            Overlay::Fork { entry, turn } => match asks(key) {
                Answer::Yes => self.push(Effect::Errand(Errand::Fork { entry, turn })),
                Answer::No => {}
                Answer::Other => self.overlay = Some(Overlay::Fork { entry, turn }),
            },
            Overlay::Remove { entries } => match asks(key) {
                Answer::Yes => self.push(Effect::Errand(Errand::Remove { entries })),
                Answer::No => {}
                Answer::Other => self.overlay = Some(Overlay::Remove { entries }),
            },
            Overlay::Undo { operation, command } => match asks(key) {
                Answer::Yes => self.push(Effect::Errand(Errand::Undo { operation })),
                Answer::No => {}
                Answer::Other => self.overlay = Some(Overlay::Undo { operation, command }),
            },
            Overlay::Resume { entry } => match asks(key) {
                Answer::Yes => self.resume_now(&entry),
                Answer::No => {}
                Answer::Other if key.code == KeyCode::Char('p') => self.go_to_pane(&entry),
                Answer::Other => self.overlay = Some(Overlay::Resume { entry }),
            },
            Overlay::Restore { entry } => match asks(key) {
                Answer::Yes => {
                    self.notice = Some(("restoring the session".into(), Look::Faint));
                    self.push(Effect::Errand(Errand::Restore { entry }));
                }
                Answer::No => {}
                Answer::Other => self.overlay = Some(Overlay::Restore { entry }),
            },
        }
    }

    /// A title is typed; enter takes it.
    fn type_title(&mut self, key: KeyEvent, entry: Arc<Entry>, mut typed: String) {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => return,
            KeyCode::Enter if typed == entry.title => return,
            KeyCode::Enter => {
                let title = typed;
                return self.push(Effect::Errand(Errand::Rename { entry, title }));
            }
            KeyCode::Backspace => {
                typed.pop();
            }
            KeyCode::Char('u') if is_control => typed.clear(),
            KeyCode::Char('w') if is_control => {
                let kept = typed.trim_end().rfind(' ').map_or(0, |at| at + 1);
                typed.truncate(kept);
            }
            KeyCode::Char(c) if !key.modifiers.intersects(COMMAND) => typed.push(c),
            _ => {}
        }
        self.overlay = Some(Overlay::Rename { entry, typed });
    }

    fn export(&mut self, entries: Vec<Arc<Entry>>, format: ExportFormat) {
        self.exports += entries.len();
        let text = match entries.len() {
            1 => "writing the document".to_owned(),
            number => format!("writing {number} documents"),
        };
        self.notice = Some((text, Look::Faint));
        for entry in entries {
            self.push(Effect::Errand(Errand::Export { entry, format }));
        }
    }
}
