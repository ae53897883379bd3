//! Completion: `/command` at the start of a prompt, `@file` anywhere in it.

use crossterm::event::KeyCode;
use crossterm::event::KeyEvent;
use serde_json::Value;
use serde_json::json;
use unicode_width::UnicodeWidthStr as _;

use super::commands::COMMANDS;
use super::state::Console;
use super::state::Effect;
use crate::terminal::output::Look;
use crate::terminal::text::Span;
use crate::terminal::text::fit;
use crate::terminal::text::one_line;

/// How many are offered at once.
const MOST: usize = 6;

/// What could be meant.
#[derive(Debug)]
pub(super) struct Completion {
    /// The part of the text that is replaced.
    range: std::ops::Range<usize>,
    /// Words and what they are.
    words: Vec<(String, String)>,
    marked: usize,
}

impl Completion {
    pub(super) fn lines(&self, width: usize) -> Vec<Vec<Span>> {
        let mut lines = Vec::new();
        let first = self.marked.saturating_sub(MOST - 1);
        let shown: Vec<_> = self.words.iter().enumerate().skip(first).take(MOST).collect();
        let wide = |word: &str| one_line(word.trim_end()).width();
        let names = shown.iter().map(|(_, (word, _))| wide(word)).max().unwrap_or_default();
        for (at, (word, about)) in shown {
            let look = if at == self.marked { Look::User } else { Look::Plain };
            let mut line = vec![(
                format!("  {}", fit(&one_line(word.trim_end()), width.saturating_sub(4))),
                look,
            )];
            let room = width.saturating_sub(names + 6);
            if !about.is_empty() && room > 8 {
                let gap = " ".repeat(names.saturating_sub(wide(word)) + 2);
                line.push((format!("{gap}{}", fit(&one_line(about), room)), Look::Faint));
            }
            lines.push(line);
        }
        lines
    }
}

/// The word at the cursor that begins with a mark, and where it begins.
fn word_at(text: &str, cursor: usize, mark: char) -> Option<(usize, &str)> {
    let before = text.get(..cursor)?;
    let start = before
        .rfind(char::is_whitespace)
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let word = before[start..].strip_prefix(mark)?;
    Some((start, word))
}

impl Console {
    /// Keys that belong to a list of words, if one is open.
    pub(super) fn complete_key(&mut self, key: KeyEvent) -> Option<Vec<Effect>> {
        let completion = self.completion.as_mut()?;
        let last = completion.words.len().saturating_sub(1);
        match key.code {
            KeyCode::Up => completion.marked = completion.marked.saturating_sub(1),
            KeyCode::Down => completion.marked = (completion.marked + 1).min(last),
            KeyCode::Esc => self.completion = None,
            KeyCode::Tab => self.accept(),
            KeyCode::Enter => {
                let (word, _) = completion.words.get(completion.marked)?;
                let typed = &self.editor.text()[completion.range.clone()];
                // A command that is there already is sent.
                if word.trim_end() == typed {
                    self.completion = None;
                    return None;
                }
                let is_command = word.starts_with('/');
                self.accept();
                if is_command {
                    self.completion = None;
                    return None;
                }
            }
            _ => return None,
        }
        Some(Vec::new())
    }

    fn accept(&mut self) {
        let Some(completion) = self.completion.take() else { return };
        if let Some((word, _)) = completion.words.get(completion.marked) {
            self.editor.replace(completion.range, word);
        }
    }

    /// Looks what could be meant by the word at the cursor.
    pub(super) fn look_for_completion(&mut self) -> Vec<Effect> {
        self.completion = None;
        let (text, cursor) = (self.editor.text(), self.editor.cursor());
        if let Some((0, word)) = word_at(text, cursor, '/') {
            let own =
                COMMANDS.iter().map(|(name, about)| (format!("/{name} "), (*about).to_owned()));
            let skills = self.skills.iter().flatten();
            let skills = skills.map(|(name, about)| (format!("/{name} "), about.clone()));
            let wanted = format!("/{word}");
            let words: Vec<(String, String)> =
                own.chain(skills).filter(|(name, _)| name.starts_with(&wanted)).collect();
            if !words.is_empty() {
                self.completion = Some(Completion { range: 0..cursor, words, marked: 0 });
            }
            return Vec::new();
        }
        let Some((_, word)) = word_at(text, cursor, '@') else { return Vec::new() };
        let body = json!({"subtype": "file_suggestions", "query": word});
        self.request("files", body).into_iter().collect()
    }

    /// Files that the session found.
    pub(super) fn offer_files(&mut self, answer: &Value) {
        let (text, cursor) = (self.editor.text(), self.editor.cursor());
        let Some((start, _)) = word_at(text, cursor, '@') else { return };
        let found = answer["suggestions"].as_array().into_iter().flatten();
        let words: Vec<(String, String)> = found
            .filter_map(|one| Some((format!("@{} ", one["path"].as_str()?), String::new())))
            .collect();
        if !words.is_empty() {
            self.completion = Some(Completion { range: start..cursor, words, marked: 0 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_at_the_cursor_is_found_by_its_mark() {
        assert_eq!(word_at("see @src/ma", 11, '@'), Some((4, "src/ma")));
        assert_eq!(word_at("see @src/ma now", 15, '@'), None);
        assert_eq!(word_at("/mo", 3, '/'), Some((0, "mo")));
        assert_eq!(word_at("é\u{a0}@x", "é\u{a0}@x".len(), '@'), Some((4, "x")));
    }
}
