//! Words, lines and pairs, as the motions and text objects of vi know them.

use std::ops::Range;

use super::editor::Editor;

fn class(c: char, is_big: bool) -> u8 {
    match c {
        c if c.is_whitespace() => 0,
        _ if is_big => 1,
        c if c.is_alphanumeric() || c == '_' => 1,
        _ => 2,
    }
}

impl Editor {
    /// Moves the cursor.
    pub(super) fn travel(&mut self, key: char, count: usize, argument: Option<char>) {
        let times = 0..count;
        match key {
            '0' => self.cursor = self.line_start(),
            '^' => self.cursor = self.first_of_line(),
            '$' => self.cursor = self.line_end(),
            'h' => self.cursor = self.left(count),
            'l' | ' ' => self.cursor = self.right(count).min(self.line_end()),
            'g' => self.cursor = self.start_of_line(count),
            'G' => {
                let last = self.text().matches('\n').count() + 1;
                self.cursor = self.start_of_line(if count == 0 { last } else { count });
            }
            'k' => times.for_each(|_| self.cursor = self.line_above().unwrap_or(self.cursor)),
            'j' => times.for_each(|_| self.cursor = self.line_below().unwrap_or(self.cursor)),
            'w' | 'W' => times.for_each(|_| self.cursor = self.next_word(key == 'W')),
            'b' | 'B' => times.for_each(|_| self.cursor = self.previous_word(key == 'B')),
            'e' | 'E' => times.for_each(|_| self.cursor = self.word_end(key == 'E')),
            'f' | 'F' | 't' | 'T' => {
                let Some(wanted) = argument else { return };
                if let Some(vi) = &mut self.vi {
                    vi.found = Some((key, wanted));
                }
                self.find(key, wanted, count);
            }
            ';' | ',' => {
                let found = self.vi.as_ref().and_then(|vi| vi.found);
                let Some((how, wanted)) = found else { return };
                let how = match (key, how.is_ascii_lowercase()) {
                    (';', _) => how,
                    (_, true) => how.to_ascii_uppercase(),
                    (_, false) => how.to_ascii_lowercase(),
                };
                self.find(how, wanted, count);
            }
            _ => {}
        }
    }

    /// Goes to a character of the line, or to the one before it.
    fn find(&mut self, how: char, wanted: char, count: usize) {
        let (start, end) = (self.line_start(), self.line_end());
        let is_till = how.eq_ignore_ascii_case(&'t');
        let is_forward = how.is_ascii_lowercase();
        let mut at = self.cursor;
        for _ in 0..count {
            let next = match is_forward {
                true => {
                    // From just before a match, `t` goes to the next one.
                    let mut from = self.after_of(at);
                    if is_till && self.text()[from.min(end)..end].starts_with(wanted) {
                        from = self.after_of(from);
                    }
                    self.text()[from.min(end)..end].find(wanted).map(|found| from + found)
                }
                false => {
                    let mut before = &self.text()[start..at];
                    if is_till && before.ends_with(wanted) {
                        before = &before[..before.len() - wanted.len_utf8()];
                    }
                    before.rfind(wanted).map(|found| start + found)
                }
            };
            let Some(found) = next else { return };
            at = match (is_till, is_forward) {
                (false, _) => found,
                (true, true) => self.before_of(found),
                (true, false) => self.after_of(found),
            };
        }
        self.cursor = at;
    }

    fn before_of(&self, at: usize) -> usize {
        self.text()[..at].char_indices().next_back().map_or(0, |(at, _)| at)
    }

    pub(super) fn after_of(&self, at: usize) -> usize {
        self.text()[at..].chars().next().map_or(at, |c| at + c.len_utf8())
    }

    /// So many characters to the left, on this line.
    pub(super) fn left(&self, count: usize) -> usize {
        let line = &self.text()[self.line_start()..self.cursor];
        let at = line.char_indices().rev().take(count).last();
        at.map_or(self.cursor, |(at, _)| self.line_start() + at)
    }

    /// So many characters to the right, at most to the end of the text.
    pub(super) fn right(&self, count: usize) -> usize {
        let rest = &self.text()[self.cursor..];
        rest.char_indices().nth(count).map_or(self.text().len(), |(at, _)| self.cursor + at)
    }

    pub(super) fn first_of_line(&self) -> usize {
        let start = self.line_start();
        let line = &self.text()[start..self.line_end()];
        start + line.len() - line.trim_start().len()
    }

    fn start_of_line(&self, number: usize) -> usize {
        let ends = self.text().match_indices('\n').map(|(at, _)| at + 1);
        std::iter::once(0).chain(ends).take(number.max(1)).last().unwrap_or_default()
    }

    fn next_word(&self, is_big: bool) -> usize {
        let rest = &self.text()[self.cursor..];
        let Some(first) = rest.chars().next() else { return self.cursor };
        let here = class(first, is_big);
        let behind = rest.trim_start_matches(|c| here != 0 && class(c, is_big) == here);
        self.text().len() - behind.trim_start().len()
    }

    fn previous_word(&self, is_big: bool) -> usize {
        let before = self.text()[..self.cursor].trim_end();
        let Some(last) = before.chars().next_back() else { return 0 };
        let here = class(last, is_big);
        before.trim_end_matches(|c| class(c, is_big) == here).len()
    }

    fn word_end(&self, is_big: bool) -> usize {
        let rest = self.text()[self.after_of(self.cursor)..].trim_start();
        let start = self.text().len() - rest.len();
        let Some(first) = rest.chars().next() else { return self.cursor };
        let here = class(first, is_big);
        let behind = rest.trim_start_matches(|c| class(c, is_big) == here);
        self.before_of(start + rest.len() - behind.len())
    }

    /// The end of the word at the cursor, or of one of the words behind it.
    pub(super) fn end_of_words(&mut self, count: usize, is_big: bool) -> usize {
        let from = self.cursor;
        let rest = &self.text()[from..];
        let Some(first) = rest.chars().next() else { return from };
        let here = class(first, is_big);
        let behind = rest.trim_start_matches(|c| c != '\n' && class(c, is_big) == here);
        let mut end = self.text().len() - behind.len();
        for _ in 1..count {
            self.cursor = self.before_of(end.max(1));
            end = self.after_of(self.word_end(is_big));
        }
        self.cursor = from;
        end
    }

    /// In normal mode the cursor is on a character, not behind the last one.
    pub(super) fn stay_on_text(&mut self) {
        let is_normal = self.vi.as_ref().is_some_and(|vi| vi.is_normal);
        self.cursor = self.cursor.min(self.text().len());
        if is_normal && self.cursor == self.line_end() && self.cursor > self.line_start() {
            self.cursor = self.before_of(self.cursor);
        }
    }

    /// The text that `i` or `a` with a letter means.
    pub(super) fn object(&self, kind: char, object: char) -> Option<Range<usize>> {
        match object {
            'w' | 'W' => self.word_object(kind, object == 'W'),
            '"' | '\'' | '`' => self.quoted(kind, object),
            '(' | ')' | 'b' => self.bracketed(kind, '(', ')'),
            '[' | ']' => self.bracketed(kind, '[', ']'),
            '{' | '}' | 'B' => self.bracketed(kind, '{', '}'),
            '<' | '>' => self.bracketed(kind, '<', '>'),
            _ => None,
        }
    }

    fn word_object(&self, kind: char, is_big: bool) -> Option<Range<usize>> {
        let here = class(self.text()[self.cursor..].chars().next()?, is_big);
        let same = |c: char| class(c, is_big) == here && c != '\n';
        let start = self.text()[..self.cursor].trim_end_matches(same).len();
        let rest = &self.text()[self.cursor..];
        let mut end = self.text().len() - rest.trim_start_matches(same).len();
        if kind == 'a' {
            let blank = |c: char| c == ' ' || c == '\t';
            let rest = &self.text()[end..];
            let behind = self.text().len() - rest.trim_start_matches(blank).len();
            if behind == end {
                return Some(self.text()[..start].trim_end_matches(blank).len()..end);
            }
            end = behind;
        }
        Some(start..end)
    }

    fn quoted(&self, kind: char, quote: char) -> Option<Range<usize>> {
        let (start, end) = (self.line_start(), self.line_end());
        let line = &self.text()[start..end];
        let places: Vec<usize> = line.match_indices(quote).map(|(at, _)| start + at).collect();
        let pair = places.chunks_exact(2).find(|pair| self.cursor <= pair[1])?;
        Some(match kind {
            'i' => pair[0] + 1..pair[1],
            _ => pair[0]..pair[1] + 1,
        })
    }

    fn bracketed(&self, kind: char, open: char, close: char) -> Option<Range<usize>> {
        let mut depth = 0usize;
        let upto = self.after_of(self.cursor);
        let is_on_close = self.text()[self.cursor..].starts_with(close);
        let before = if is_on_close { self.cursor } else { upto };
        let start = self.text()[..before].char_indices().rev().find_map(|(at, c)| {
            depth += usize::from(c == close);
            (c == open).then_some(())?;
            match depth {
                0 => Some(at),
                _ => {
                    depth -= 1;
                    None
                }
            }
        })?;
        let mut depth = 0usize;
        let end = self.text()[start + 1..].char_indices().find_map(|(at, c)| {
            depth += usize::from(c == open);
            (c == close).then_some(())?;
            match depth {
                0 => Some(start + 1 + at),
                _ => {
                    depth -= 1;
                    None
                }
            }
        })?;
        Some(match kind {
            'i' => start + 1..end,
            _ => start..end + 1,
        })
    }

    pub(super) fn swap_case(&mut self, count: usize) {
        let range = self.cursor..self.right(count).min(self.line_end());
        let swapped = self.text()[range.clone()].chars().flat_map(|c| match c.is_uppercase() {
            true => c.to_lowercase().collect::<Vec<_>>(),
            false => c.to_uppercase().collect::<Vec<_>>(),
        });
        let swapped: String = swapped.collect();
        self.replace(range, &swapped);
    }

    pub(super) fn join(&mut self) {
        let end = self.line_end();
        if end == self.text().len() {
            return;
        }
        let indent = self.text()[end + 1..].chars().take_while(|c| *c == ' ' || *c == '\t');
        let indent = indent.count();
        self.replace(end..end + 1 + indent, " ");
        self.cursor = end;
    }

    pub(super) fn replace_with(&mut self, c: char, count: usize) {
        let range = self.cursor..self.right(count);
        let is_whole = self.text()[range.clone()].chars().count() == count;
        if !is_whole || range.end > self.line_end() {
            return;
        }
        self.replace(range, &c.to_string().repeat(count));
        self.cursor = self.before();
    }
}
