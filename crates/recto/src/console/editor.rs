//! The editor: text of several lines with a cursor, what was cut last, history, and chips that
//! stand for long pastes and images.
//!
//! Owns: what keys do to text. Knows neither the screen nor the session.

use crossterm::event::KeyCode;
use crossterm::event::KeyEvent;
use crossterm::event::KeyModifiers;

use crate::terminal::text::count;

use super::vi::Vi;

/// A paste with more lines or characters becomes a chip.
const LONG_LINES: usize = 5;
const LONG_TEXT: usize = 800;
/// How many prompts history keeps.
const MOST_HISTORY: usize = 1000;

/// What a chip stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Chip {
    /// A text that was pasted.
    Text(String),
    /// An image file: its path.
    Image(String),
}

/// What a key came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Typed {
    /// The text or the cursor changed, or nothing did.
    Done,
    /// The text shall be sent.
    Send,
    /// The key means nothing here.
    Unknown,
}

/// A text that is being written.
#[derive(Debug, Default)]
pub(super) struct Editor {
    text: String,
    pub(super) cursor: usize,
    pub(super) killed: String,
    /// The state of vi keys, if they are on.
    pub(super) vi: Option<Vi>,
    chips: Vec<(String, Chip)>,
    history: Vec<String>,
    /// Where in the history the text is from, and what was typed before.
    place: Option<(usize, String)>,
}

impl Editor {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn cursor(&self) -> usize {
        self.cursor
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Puts another text in place, with the cursor at its end.
    pub(super) fn set(&mut self, text: &str) {
        text.clone_into(&mut self.text);
        self.cursor = self.text.len();
        self.place = None;
        self.vi_begin();
    }

    /// Replaces a part of the text; the cursor is behind it then.
    pub(super) fn replace(&mut self, range: std::ops::Range<usize>, with: &str) {
        let start = range.start;
        self.text.replace_range(range, with);
        self.cursor = start + with.len();
    }

    /// Prompts of earlier times, oldest first.
    pub(super) fn set_history(&mut self, history: Vec<String>) {
        self.history = history;
    }

    pub(super) fn history(&self) -> &[String] {
        &self.history
    }

    /// Takes the text out: as it is shown, with chips as their text, and the images of chips.
    pub(super) fn take(&mut self) -> (String, String, Vec<String>) {
        let shown = std::mem::take(&mut self.text);
        self.cursor = 0;
        self.place = None;
        self.vi_begin();
        let mut whole = shown.clone();
        let mut images = Vec::new();
        for (label, chip) in std::mem::take(&mut self.chips) {
            if !whole.contains(&label) {
                continue;
            }
            match chip {
                Chip::Text(text) => whole = whole.replace(&label, &text),
                Chip::Image(path) => images.push(path),
            }
        }
        if !shown.trim().is_empty() && self.history.last() != Some(&shown) {
            self.history.push(shown.clone());
            let most = self.history.len().saturating_sub(MOST_HISTORY);
            self.history.drain(..most);
        }
        (shown, whole, images)
    }

    /// Takes a paste: short text as text, long text and images as chips.
    pub(super) fn paste(&mut self, text: &str, is_image: impl Fn(&str) -> bool) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let path = text.trim().trim_matches(['\'', '"']);
        let path = match path.strip_prefix("file://") {
            Some(path) => unescaped(path),
            None => path.replace("\\ ", " "),
        };
        if !path.contains('\n') && is_image(&path) {
            let label = format!("[Image #{}]", self.chips.len() + 1);
            self.insert(&label);
            self.chips.push((label, Chip::Image(path)));
            return;
        }
        let lines = text.lines().count();
        if lines <= LONG_LINES && text.len() <= LONG_TEXT {
            self.insert(&text);
            return;
        }
        let number = self.chips.len() + 1;
        let label = match lines {
            0 | 1 => {
                let characters = count(text.chars().count() as u64);
                format!("[Pasted text #{number}, {characters} characters]")
            }
            lines => format!("[Pasted text #{number}, {} lines]", count(lines as u64)),
        };
        self.insert(&label);
        self.chips.push((label, Chip::Text(text)));
    }

    pub(super) fn insert(&mut self, text: &str) {
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
    }

    pub(super) fn key(&mut self, key: KeyEvent) -> Typed {
        if let Some(typed) = self.vi_key(key) {
            return typed;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let shift = key.modifiers.contains(KeyModifiers::SHIFT);
        match key.code {
            KeyCode::Enter if alt || shift || control => self.insert("\n"),
            KeyCode::Char('j') if control => self.insert("\n"),
            KeyCode::Enter if self.text[..self.cursor].ends_with('\\') => {
                self.erase(self.cursor - 1..self.cursor);
                self.insert("\n");
            }
            KeyCode::Enter => return Typed::Send,
            KeyCode::Char('a') if control => self.cursor = self.line_start(),
            KeyCode::Char('e') if control => self.cursor = self.line_end(),
            KeyCode::Home => self.cursor = self.line_start(),
            KeyCode::End => self.cursor = self.line_end(),
            KeyCode::Char('b') if control => self.cursor = self.before(),
            KeyCode::Char('f') if control => self.cursor = self.after(),
            KeyCode::Left if control || alt => self.cursor = self.word_before(),
            KeyCode::Right if control || alt => self.cursor = self.word_after(),
            KeyCode::Char('b') if alt => self.cursor = self.word_before(),
            KeyCode::Char('f') if alt => self.cursor = self.word_after(),
            KeyCode::Left => self.cursor = self.before(),
            KeyCode::Right => self.cursor = self.after(),
            KeyCode::Up => self.up(),
            KeyCode::Down => self.down(),
            KeyCode::Char('p') if control => self.up(),
            KeyCode::Char('n') if control => self.down(),
            KeyCode::Char('k') if control => self.kill(self.cursor..self.kill_end()),
            KeyCode::Char('u') if control => self.kill(self.line_start()..self.cursor),
            KeyCode::Char('w') if control => self.kill(self.word_before()..self.cursor),
            KeyCode::Backspace if alt => self.kill(self.word_before()..self.cursor),
            KeyCode::Char('d') if alt => self.kill(self.cursor..self.word_after()),
            KeyCode::Char('y') if control => {
                let killed = self.killed.clone();
                self.insert(&killed);
            }
            KeyCode::Char('d') if control => self.erase(self.cursor..self.after()),
            KeyCode::Delete => self.erase(self.cursor..self.after()),
            KeyCode::Backspace => self.backspace(),
            KeyCode::Char('h') if control => self.backspace(),
            KeyCode::Char(c) if !control && !alt => {
                let mut bytes = [0; 4];
                self.insert(c.encode_utf8(&mut bytes));
            }
            _ => return Typed::Unknown,
        }
        Typed::Done
    }

    /// Erases a character, or the chip before the cursor.
    fn backspace(&mut self) {
        let before = &self.text[..self.cursor];
        let chip = self.chips.iter().map(|(label, _)| label).find(|label| before.ends_with(*label));
        let start = match chip {
            Some(label) => self.cursor - label.len(),
            None => self.before(),
        };
        self.erase(start..self.cursor);
    }

    pub(super) fn erase(&mut self, range: std::ops::Range<usize>) {
        self.text.replace_range(range.clone(), "");
        self.cursor = range.start;
    }

    fn kill(&mut self, range: std::ops::Range<usize>) {
        if range.is_empty() {
            return;
        }
        self.text[range.clone()].clone_into(&mut self.killed);
        self.erase(range);
    }

    pub(super) fn before(&self) -> usize {
        self.text[..self.cursor].char_indices().next_back().map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        self.text[self.cursor..].chars().next().map_or(self.cursor, |c| self.cursor + c.len_utf8())
    }

    pub(super) fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    pub(super) fn line_end(&self) -> usize {
        self.text[self.cursor..].find('\n').map_or(self.text.len(), |at| self.cursor + at)
    }

    /// At the end of a line, the line end itself is cut.
    fn kill_end(&self) -> usize {
        let end = self.line_end();
        if end == self.cursor { self.after() } else { end }
    }

    fn word_before(&self) -> usize {
        let before = self.text[..self.cursor].trim_end_matches(|c: char| !c.is_alphanumeric());
        before.trim_end_matches(char::is_alphanumeric).len()
    }

    fn word_after(&self) -> usize {
        let rest = &self.text[self.cursor..];
        let word = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        let end = word.trim_start_matches(char::is_alphanumeric);
        self.text.len() - end.len()
    }

    /// A line up, or an older prompt.
    pub(super) fn up(&mut self) {
        if let Some(above) = self.line_above() {
            self.cursor = above;
            return;
        }
        let place = match &self.place {
            Some((0, _)) => return,
            Some((place, _)) => place - 1,
            None if self.history.is_empty() => return,
            None => self.history.len() - 1,
        };
        let draft = self.place.take().map_or_else(|| self.text.clone(), |(_, draft)| draft);
        self.text = self.history[place].clone();
        self.cursor = self.text.len();
        self.place = Some((place, draft));
    }

    /// A line down, or a newer prompt.
    pub(super) fn down(&mut self) {
        if let Some(below) = self.line_below() {
            self.cursor = below;
            return;
        }
        let Some((place, draft)) = self.place.take() else { return };
        match self.history.get(place + 1) {
            Some(newer) => {
                self.text = newer.clone();
                self.place = Some((place + 1, draft));
            }
            None => self.text = draft,
        }
        self.cursor = self.text.len();
    }

    /// The same column of the line above.
    pub(super) fn line_above(&self) -> Option<usize> {
        let start = self.line_start();
        let column = self.text[start..self.cursor].chars().count();
        let above = self.text[..start.checked_sub(1)?].rfind('\n').map_or(0, |at| at + 1);
        Some(self.at_column(above, column))
    }

    /// The same column of the line below.
    pub(super) fn line_below(&self) -> Option<usize> {
        let end = self.line_end();
        let column = self.text[self.line_start()..self.cursor].chars().count();
        (end < self.text.len()).then(|| self.at_column(end + 1, column))
    }

    fn at_column(&self, start: usize, column: usize) -> usize {
        let line = self.text[start..].split('\n').next().unwrap_or_default();
        start + line.char_indices().nth(column).map_or(line.len(), |(at, _)| at)
    }
}

/// A path of an address: `%20` is a space.
fn unescaped(path: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let [first, after @ ..] = rest {
        let code = after.get(..2).filter(|_| *first == b'%');
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        let byte = code.and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(editor: &mut Editor, keys: &str) {
        for c in keys.chars() {
            editor.key(KeyEvent::from(KeyCode::Char(c)));
        }
    }

    fn control(editor: &mut Editor, c: char) {
        editor.key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL));
    }

    #[test]
    fn keys_move_cut_and_put_back() {
        let mut editor = Editor::default();
        typed(&mut editor, "one two three");
        control(&mut editor, 'w');
        assert_eq!(editor.text(), "one two ");
        control(&mut editor, 'a');
        control(&mut editor, 'y');
        assert_eq!(editor.text(), "threeone two ");
        control(&mut editor, 'k');
        assert_eq!(editor.text(), "three");
        editor.key(KeyEvent::new(KeyCode::Char('b'), KeyModifiers::ALT));
        assert_eq!(editor.cursor(), 0);
        editor.key(KeyEvent::from(KeyCode::Backspace));
        assert_eq!(editor.text(), "three");
    }

    #[test]
    fn lines_are_walked_before_history_is() {
        let mut editor = Editor::default();
        editor.set_history(vec!["old".into(), "newer".into()]);
        typed(&mut editor, "ab");
        control(&mut editor, 'j');
        typed(&mut editor, "cd");
        editor.key(KeyEvent::from(KeyCode::Up));
        assert_eq!((editor.text(), editor.cursor()), ("ab\ncd", 2));
        editor.key(KeyEvent::from(KeyCode::Up));
        assert_eq!(editor.text(), "newer");
        editor.key(KeyEvent::from(KeyCode::Up));
        editor.key(KeyEvent::from(KeyCode::Up));
        assert_eq!(editor.text(), "old");
        editor.key(KeyEvent::from(KeyCode::Down));
        editor.key(KeyEvent::from(KeyCode::Down));
        assert_eq!(editor.text(), "ab\ncd");
    }

    #[test]
    fn a_long_paste_is_a_chip_that_is_erased_and_sent_whole() {
        let mut editor = Editor::default();
        typed(&mut editor, "see ");
        let long = "x\r\n".repeat(300_000);
        editor.paste(&long, |_| false);
        assert_eq!(editor.text(), "see [Pasted text #1, 300,000 lines]");
        editor.key(KeyEvent::from(KeyCode::Backspace));
        assert_eq!(editor.text(), "see ");
        editor.paste(&long, |_| false);
        let (shown, whole, images) = editor.take();
        assert!(shown.len() < 50 && whole.len() > 600_000 && images.is_empty());
        assert!(!whole.contains('\r'));
    }

    #[test]
    fn a_pasted_path_of_an_image_is_a_chip() {
        let mut editor = Editor::default();
        editor.paste("'/tmp/a b.png'\n", |path| path == "/tmp/a b.png");
        assert_eq!(editor.text(), "[Image #1]");
        assert_eq!(editor.take().2, ["/tmp/a b.png"]);
        for (pasted, path) in [
            ("file:///tmp/a%20b.png", "/tmp/a b.png"),
            ("file:///tmp/%C3%A9%2.png", "/tmp/é%2.png"),
            ("/tmp/a\\ b.png ", "/tmp/a b.png"),
            ("/tmp/100%20.png", "/tmp/100%20.png"),
        ] {
            editor.paste(pasted, |known| known == path);
            assert_eq!(editor.take().2, [path], "{pasted}");
        }
    }

    #[test]
    fn a_backslash_before_enter_is_a_line_end() {
        let mut editor = Editor::default();
        typed(&mut editor, "a\\");
        assert_eq!(editor.key(KeyEvent::from(KeyCode::Enter)), Typed::Done);
        typed(&mut editor, "b");
        assert_eq!(editor.key(KeyEvent::from(KeyCode::Enter)), Typed::Send);
        assert_eq!(editor.take().0, "a\nb");
    }
}
