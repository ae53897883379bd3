//! Vi keys of the editor: normal and insert mode, counts, motions, operators, text objects,
//! registers of one, undo and repeat.
//!
//! Owns: what keys mean in normal mode. Insert mode is the editor's own keys; `vi_text` knows
//! words, lines and pairs.

use std::ops::Range;

use crossterm::event::KeyCode;
use crossterm::event::KeyEvent;
use crossterm::event::KeyModifiers;

use super::editor::Editor;
use super::editor::Typed;

/// How many changes can be undone.
const MOST_UNDO: usize = 200;
/// The highest count, so that a long number costs nothing.
const MOST_COUNT: usize = 9_999;

/// The state of vi keys.
#[derive(Debug, Default)]
pub(super) struct Vi {
    pub(super) is_normal: bool,
    /// Keys of a command that is not whole yet.
    pending: Vec<KeyEvent>,
    /// The last search for a character: the key and the character.
    pub(super) found: Option<(char, char)>,
    /// Texts before changes, with the cursor.
    undo: Vec<(String, usize)>,
    redo: Vec<(String, usize)>,
    /// The keys of the last change, and of the change that goes on.
    last: Vec<KeyEvent>,
    recording: Option<Vec<KeyEvent>>,
    is_repeating: bool,
    /// Whether the cut text is whole lines.
    has_lines: bool,
}

/// A command of normal mode as far as it was typed.
enum Parsed {
    /// More keys are needed.
    Partial,
    Unknown,
    Whole {
        count: usize,
        verb: char,
        target: Option<Target>,
    },
}

/// What an operator works on, or where the cursor goes.
#[derive(Clone, Copy)]
enum Target {
    Motion {
        key: char,
        count: usize,
        argument: Option<char>,
    },
    /// `i` or `a` with the object.
    Object(char, char),
    /// The operator twice: whole lines.
    Lines(usize),
}

const OPERATORS: [char; 3] = ['d', 'c', 'y'];
const MOTIONS: &str = "hl0^$wbeWBEjkG;, ";
const SINGLE: &str = "xXDCsSYpP~JiaIAoOu.";

fn letter(key: KeyEvent) -> Option<char> {
    let is_plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    match key.code {
        KeyCode::Char(c) if is_plain => Some(c),
        KeyCode::Left | KeyCode::Backspace => Some('h'),
        KeyCode::Right => Some('l'),
        KeyCode::Up => Some('k'),
        KeyCode::Down => Some('j'),
        KeyCode::Home => Some('0'),
        KeyCode::End => Some('$'),
        KeyCode::Delete => Some('x'),
        _ => None,
    }
}

/// Reads a count, which does not begin with 0.
fn count_of(letters: &mut &[char]) -> Option<usize> {
    let digits = letters.iter().take_while(|c| c.is_ascii_digit()).count();
    if digits == 0 || letters[0] == '0' {
        return None;
    }
    let text: String = letters[..digits].iter().collect();
    *letters = &letters[digits..];
    Some(text.parse().unwrap_or(MOST_COUNT).min(MOST_COUNT))
}

fn parse_motion(letters: &[char], count: usize) -> Result<Target, Parsed> {
    let (first, argument) = (letters[0], letters.get(1).copied());
    match first {
        'f' | 'F' | 't' | 'T' => match argument {
            Some(_) => Ok(Target::Motion { key: first, count, argument }),
            None => Err(Parsed::Partial),
        },
        'g' => match argument {
            Some('g') => Ok(Target::Motion { key: 'g', count, argument: None }),
            Some(_) => Err(Parsed::Unknown),
            None => Err(Parsed::Partial),
        },
        key if MOTIONS.contains(key) => Ok(Target::Motion { key, count, argument: None }),
        _ => Err(Parsed::Unknown),
    }
}

fn parse(letters: &[char]) -> Parsed {
    let mut rest = letters;
    let first = count_of(&mut rest);
    let count = first.unwrap_or(1);
    let Some(verb) = rest.first().copied() else { return Parsed::Partial };
    if OPERATORS.contains(&verb) {
        rest = &rest[1..];
        let second = count_of(&mut rest);
        let times = (count * second.unwrap_or(1)).min(MOST_COUNT);
        let target = match rest {
            [] => return Parsed::Partial,
            [twice, ..] if *twice == verb => Target::Lines(times),
            ['i' | 'a'] => return Parsed::Partial,
            [kind @ ('i' | 'a'), object, ..] => Target::Object(*kind, *object),
            _ => match parse_motion(rest, times) {
                Ok(target) => target,
                Err(parsed) => return parsed,
            },
        };
        return Parsed::Whole { count: times, verb, target: Some(target) };
    }
    if verb == 'r' {
        let Some(argument) = rest.get(1).copied() else { return Parsed::Partial };
        let target = Target::Motion { key: 'r', count, argument: Some(argument) };
        return Parsed::Whole { count, verb, target: Some(target) };
    }
    if SINGLE.contains(verb) {
        return Parsed::Whole { count, verb, target: None };
    }
    // `G` with a count is a line; without one, the last.
    let count = if verb == 'G' { first.unwrap_or(0) } else { count };
    match parse_motion(rest, count) {
        Ok(target) => Parsed::Whole { count, verb: 'm', target: Some(target) },
        Err(parsed) => parsed,
    }
}

impl Editor {
    /// Switches vi keys on or off; a text begins in insert mode.
    pub(super) fn set_vi(&mut self, is_on: bool) {
        self.vi = is_on.then(Vi::default);
    }

    /// The mode, if the keys are those of vi.
    pub(super) fn vi_mode(&self) -> Option<&'static str> {
        let vi = self.vi.as_ref()?;
        Some(if vi.is_normal { "NORMAL" } else { "INSERT" })
    }

    /// Whether Esc belongs to the editor: it ends insert mode or a command that is not whole.
    pub(super) fn wants_escape(&self) -> bool {
        let Some(vi) = &self.vi else { return false };
        match vi.is_normal {
            true => !vi.pending.is_empty(),
            false => !self.text().is_empty(),
        }
    }

    /// A new text begins in insert mode, with nothing to undo.
    pub(super) fn vi_begin(&mut self) {
        if let Some(vi) = &mut self.vi {
            let (last, found) = (std::mem::take(&mut vi.last), vi.found);
            *vi = Vi { last, found, has_lines: vi.has_lines, ..Vi::default() };
        }
    }

    /// Takes a key, if vi keys are on and mean something by it.
    pub(super) fn vi_key(&mut self, key: KeyEvent) -> Option<Typed> {
        let vi = self.vi.as_mut()?;
        if !vi.is_normal {
            return self.insert_key(key);
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => {
                vi.pending.clear();
                return Some(Typed::Done);
            }
            KeyCode::Enter => {
                vi.pending.clear();
                return Some(Typed::Send);
            }
            KeyCode::Char('r') if control => {
                self.vi_redo();
                return Some(Typed::Done);
            }
            _ => {}
        }
        letter(key)?;
        vi.pending.push(key);
        let letters: Vec<char> = vi.pending.iter().filter_map(|key| letter(*key)).collect();
        match parse(&letters) {
            Parsed::Partial => {}
            Parsed::Unknown => vi.pending.clear(),
            Parsed::Whole { count, verb, target } => {
                let keys = std::mem::take(&mut vi.pending);
                self.obey(count, verb, target, keys);
            }
        }
        Some(Typed::Done)
    }

    /// In insert mode only Esc is a key of vi; the others are noted for a repeat.
    fn insert_key(&mut self, key: KeyEvent) -> Option<Typed> {
        let vi = self.vi.as_mut()?;
        if key.code != KeyCode::Esc {
            if let Some(keys) = &mut vi.recording {
                keys.push(key);
            }
            return None;
        }
        vi.is_normal = true;
        if let Some(mut keys) = vi.recording.take() {
            keys.push(key);
            vi.last = keys;
        }
        if self.cursor > self.line_start() {
            self.cursor = self.before();
        }
        Some(Typed::Done)
    }

    fn obey(&mut self, count: usize, verb: char, target: Option<Target>, keys: Vec<KeyEvent>) {
        if verb == 'm' {
            let Some(Target::Motion { key, count, argument }) = target else { return };
            match key {
                // Beyond the first and the last line is the history.
                'k' => (0..count).for_each(|_| self.up()),
                'j' => (0..count).for_each(|_| self.down()),
                _ => self.travel(key, count, argument),
            }
            return self.stay_on_text();
        }
        match verb {
            'u' => return (0..count).for_each(|_| self.vi_undo()),
            '.' => return self.repeat(),
            'y' => return self.copy(target),
            'Y' => return self.copy(Some(Target::Lines(count))),
            _ => {}
        }
        self.remember();
        if let Some(vi) = &mut self.vi {
            vi.recording = Some(keys);
        }
        self.change_text(count, verb, target);
        let Some(vi) = &mut self.vi else { return };
        if vi.is_normal {
            vi.last = vi.recording.take().unwrap_or_default();
            self.stay_on_text();
        }
    }

    fn change_text(&mut self, count: usize, verb: char, target: Option<Target>) {
        let end = self.line_end();
        match verb {
            'd' | 'c' => {
                let Some((range, is_lines)) = target.and_then(|target| self.range(target, verb))
                else {
                    return;
                };
                self.cut(range, is_lines, verb == 'c');
            }
            'x' => self.cut(self.cursor..self.right(count).min(end), false, false),
            'X' => self.cut(self.left(count)..self.cursor, false, false),
            'D' => self.cut(self.cursor..end, false, false),
            'C' => self.cut(self.cursor..end, false, true),
            's' => self.cut(self.cursor..self.right(count).min(end), false, true),
            'S' => self.cut(self.line_start()..end, false, true),
            'p' | 'P' => (0..count).for_each(|_| self.put(verb == 'p')),
            '~' => self.swap_case(count),
            'J' => (0..count.max(2) - 1).for_each(|_| self.join()),
            'r' => {
                if let Some(Target::Motion { argument: Some(c), .. }) = target {
                    self.replace_with(c, count);
                }
            }
            'i' => self.begin_insert(self.cursor),
            'a' => self.begin_insert(self.right(1).min(end)),
            'I' => self.begin_insert(self.first_of_line()),
            'A' => self.begin_insert(end),
            'o' => {
                self.cursor = end;
                self.insert("\n");
                self.begin_insert(self.cursor);
            }
            'O' => {
                self.cursor = self.line_start();
                self.insert("\n");
                self.begin_insert(self.cursor - 1);
            }
            _ => {}
        }
    }

    fn begin_insert(&mut self, at: usize) {
        self.cursor = at;
        if let Some(vi) = &mut self.vi {
            vi.is_normal = false;
        }
    }

    fn cut(&mut self, range: Range<usize>, is_lines: bool, inserts: bool) {
        if !range.is_empty() {
            self.killed = self.text()[range.clone()].to_owned();
            if let Some(vi) = &mut self.vi {
                vi.has_lines = is_lines;
            }
            self.erase(range);
        }
        if is_lines && !inserts {
            self.cursor = self.first_of_line();
        }
        if inserts {
            self.begin_insert(self.cursor);
        }
    }

    fn copy(&mut self, target: Option<Target>) {
        let Some((range, is_lines)) = target.and_then(|target| self.range(target, 'y')) else {
            return;
        };
        self.killed = self.text()[range.clone()].to_owned();
        if let Some(vi) = &mut self.vi {
            vi.has_lines = is_lines;
        }
        if !is_lines {
            self.cursor = range.start;
        }
    }

    fn put(&mut self, is_after: bool) {
        let killed = self.killed.clone();
        if self.vi.as_ref().is_some_and(|vi| vi.has_lines) {
            let lines = killed.trim_matches('\n');
            match is_after {
                true => {
                    self.cursor = self.line_end();
                    let start = self.cursor + 1;
                    self.insert(&format!("\n{lines}"));
                    self.cursor = start;
                }
                false => {
                    self.cursor = self.line_start();
                    let start = self.cursor;
                    self.insert(&format!("{lines}\n"));
                    self.cursor = start;
                }
            }
            return;
        }
        if is_after {
            self.cursor = self.right(1).min(self.line_end());
        }
        self.insert(&killed);
        if !killed.is_empty() {
            self.cursor = self.before();
        }
    }

    /// The part of the text that an operator works on, and whether it is whole lines.
    fn range(&mut self, target: Target, verb: char) -> Option<(Range<usize>, bool)> {
        let from = self.cursor;
        match target {
            Target::Lines(count) => Some((self.lines(count, verb), true)),
            Target::Object(kind, object) => Some((self.object(kind, object)?, false)),
            Target::Motion { key, count, argument } => {
                // `cw` changes to the end of the word, not the space behind it.
                if verb == 'c' && "wW".contains(key) {
                    return Some((from..self.end_of_words(count, key == 'W'), false));
                }
                let was_empty = self.text().is_empty();
                self.travel(key, count, argument);
                let to = std::mem::replace(&mut self.cursor, from);
                if was_empty || (to == from && !"$e".contains(key)) {
                    return None;
                }
                if "jkGg".contains(key) {
                    let (first, last) = (from.min(to), from.max(to));
                    let lines = self.text()[first..last].matches('\n').count() + 1;
                    self.cursor = first;
                    let range = self.lines(lines, verb);
                    self.cursor = from;
                    return Some((range, true));
                }
                let is_inclusive = "eEft;,$".contains(key) && to >= from;
                let end = match is_inclusive {
                    true if key == '$' => self.line_end(),
                    true => self.after_of(to),
                    false => from.max(to),
                };
                // A word at the end of a line is cut without the line end.
                let end = match "wW".contains(key) && end > self.line_end() {
                    true => self.line_end().max(from),
                    false => end,
                };
                Some((from.min(to)..end, false))
            }
        }
    }

    /// Lines from that of the cursor on; to be changed without, to be cut with a line end.
    fn lines(&self, count: usize, verb: char) -> Range<usize> {
        let start = self.line_start();
        let mut end = start;
        for _ in 0..count {
            end = self.text()[end..].find('\n').map_or(self.text().len() + 1, |at| end + at + 1);
            if end > self.text().len() {
                break;
            }
        }
        let is_last = end > self.text().len();
        match (verb, is_last) {
            ('c', _) => start..end - 1,
            (_, false) => start..end,
            // The last line takes the line end before it along.
            ('d', true) => start.saturating_sub(1)..self.text().len(),
            (_, true) => start..self.text().len(),
        }
    }

    /// Keeps the text for an undo.
    fn remember(&mut self) {
        let now = (self.text().to_owned(), self.cursor);
        let Some(vi) = self.vi.as_mut().filter(|vi| !vi.is_repeating) else { return };
        vi.undo.push(now);
        let most = vi.undo.len().saturating_sub(MOST_UNDO);
        vi.undo.drain(..most);
        vi.redo.clear();
    }

    fn vi_undo(&mut self) {
        let now = (self.text().to_owned(), self.cursor);
        let Some(vi) = &mut self.vi else { return };
        // A command that changed nothing is passed over.
        while let Some(before) = vi.undo.pop() {
            if before.0 != now.0 {
                vi.redo.push(now);
                return self.back_to(before);
            }
        }
    }

    fn vi_redo(&mut self) {
        let now = (self.text().to_owned(), self.cursor);
        let Some(vi) = &mut self.vi else { return };
        if let Some(after) = vi.redo.pop() {
            vi.undo.push(now);
            self.back_to(after);
        }
    }

    fn back_to(&mut self, (text, cursor): (String, usize)) {
        self.replace(0..self.text().len(), &text);
        self.cursor = cursor;
        self.stay_on_text();
    }

    /// Types the last change again.
    fn repeat(&mut self) {
        let Some(vi) = self.vi.as_mut().filter(|vi| !vi.last.is_empty()) else { return };
        let keys = vi.last.clone();
        self.remember();
        if let Some(vi) = &mut self.vi {
            vi.is_repeating = true;
        }
        for key in &keys {
            self.key(*key);
        }
        if let Some(vi) = &mut self.vi {
            vi.is_repeating = false;
            vi.last = keys;
        }
    }
}
