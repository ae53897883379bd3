//! Private keys in the armour of PEM: whole, cut at either end, with numbers, marks of a
//! diff or quotes at the lines.

use std::ops::Range;

use memchr::memmem;

/// The least characters of base64 that are a key.
const LEAST: usize = 32;
/// The most bytes that are looked at on one side of a line of the armour.
const MOST: usize = 64 * 1024;

/// The key to whose first or last line the words `private key` at `keyword` belong.
pub(super) fn find(text: &[u8], keyword: &Range<usize>) -> Option<Range<usize>> {
    const LONGEST_LINE: usize = 120;
    const CLOSE: &[u8] = b"-----";
    let after =
        text[keyword.end..].strip_prefix(b" BLOCK").map_or(keyword.end, |_| keyword.end + 6);
    let after = after + text[after..].strip_prefix(CLOSE).map(|_| CLOSE.len())?;
    let from = keyword.start.saturating_sub(LONGEST_LINE);
    let line = &text[from..keyword.start];
    let begin = memmem::rfind(line, b"-----BEGIN").map(|at| from + at);
    let end = memmem::rfind(line, b"-----END").map(|at| from + at);
    match (begin, end) {
        (begin, Some(end)) if begin.is_none_or(|begin| begin < end) => {
            before_last_line(text, end).map(|start| start..after)
        }
        (Some(begin), _) => after_first_line(text, after).map(|end| begin..end),
        _ => None,
    }
}

/// Where the key ends whose first line ends at `start`.
fn after_first_line(text: &[u8], start: usize) -> Option<usize> {
    /// Words of the lines before the key itself, which say how it is encrypted.
    const MOST_HEAD: usize = 40;
    let rest = &text[start..text.len().min(start + MOST)];
    let (mut end, mut length) = (0, 0);
    for (place, word) in Pieces::new(rest).enumerate() {
        let piece = &rest[word.clone()];
        if piece.starts_with(b"-----END") {
            // With the rest of that line.
            let line =
                memmem::find(&rest[word.start + 8..], b"-----").map(|at| word.start + 8 + at + 5);
            return (length >= LEAST).then(|| start + line.unwrap_or(word.end));
        }
        let is_number = piece.len() <= 6 && piece.iter().all(u8::is_ascii_digit);
        if is_base64(piece) && (piece.len() >= 16 || length >= LEAST) {
            length += piece.len();
            end = word.end;
        } else if !is_number
            && !is_header(piece)
            && (length > 0 || piece.len() > 40 || place > MOST_HEAD)
        {
            break;
        }
    }
    (length >= LEAST).then_some(start + end)
}

/// Where the key begins whose last line begins at `end`.
fn before_last_line(text: &[u8], end: usize) -> Option<usize> {
    let from = end.saturating_sub(MOST);
    let before = &text[from..end];
    // With its first line it is found from there.
    let before = memmem::rfind(before, b"-----").map_or(before, |at| &before[at + 5..]);
    let from = end - before.len();
    let words: Vec<Range<usize>> = Pieces::new(before).collect();
    let (mut start, mut length) = (None, 0);
    for (place, word) in words.iter().rev().enumerate() {
        let piece = &before[word.clone()];
        let is_number = piece.len() <= 6 && piece.iter().all(u8::is_ascii_digit);
        if is_base64(piece) && (piece.len() >= 40 || (place == 0 && piece.len() >= 2)) {
            length += piece.len();
            start = Some(from + word.start);
        } else if !is_number {
            break;
        }
    }
    start.filter(|_| length >= LEAST)
}

fn is_base64(piece: &[u8]) -> bool {
    piece.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-".contains(byte))
}

/// `Proc-Type: 4,ENCRYPTED` and the like.
fn is_header(piece: &[u8]) -> bool {
    piece.ends_with(b":") || piece.contains(&b',') || piece.len() <= 2
}

/// The words of a text, divided by white space, quotes, escapes and arrows.
struct Pieces<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Pieces<'a> {
    fn new(text: &'a [u8]) -> Pieces<'a> {
        Pieces { text, at: 0 }
    }

    /// The length of what divides words at a place.
    fn gap(&self, at: usize) -> usize {
        match self.text.get(at) {
            Some(b'\\') => match self.text.get(at + 1) {
                Some(b'n' | b'r' | b't') => 2,
                _ => 1,
            },
            Some(
                b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'\'' | b'`' | b'|' | b'>' | b',' | b'.'
                | b'(' | b')',
            ) => 1,
            // An arrow, after the number of a line.
            Some(0xe2) if self.text[at..].starts_with("→".as_bytes()) => 3,
            _ => 0,
        }
    }
}

impl Iterator for Pieces<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        while let gap @ 1.. = self.gap(self.at) {
            self.at += gap;
        }
        let start = self.at;
        while self.at < self.text.len() && self.gap(self.at) == 0 {
            self.at += 1;
        }
        (self.at > start).then_some(start..self.at)
    }
}

/// Whether a string is a line of a key that other strings began: as a diff holds it.
pub(super) fn is_line(text: &[u8]) -> bool {
    let line = text.trim_ascii();
    let line =
        line.strip_prefix(b"-").or_else(|| line.strip_prefix(b"+")).unwrap_or(line).trim_ascii();
    line.len() >= 4 && is_base64(line)
}

/// What a string says about a key of many strings.
pub(super) fn armour(text: &[u8]) -> Option<bool> {
    let place = memmem::rfind(text, b"PRIVATE KEY")?;
    let line = &text[..place];
    let begin = memmem::rfind(line, b"-----BEGIN");
    let end = memmem::rfind(line, b"-----END");
    match (begin, end) {
        (begin, end) if begin > end => Some(true),
        (_, Some(_)) => Some(false),
        _ => None,
    }
}
