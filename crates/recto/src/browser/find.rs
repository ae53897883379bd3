//! What is looked for in a document, and where it is.
//!
//! Lines of the screen are broken where the screen ends, so a phrase may begin on one
//! and end on the next. It counts for the line that it begins on.

use std::collections::BTreeMap;
use std::ops::Range;

use super::document::PageLine;

/// What is looked for in the document.
#[derive(Debug, Clone, Default)]
pub(super) struct Find {
    /// In lower case.
    words: Vec<String>,
    /// The lines that hold one of them, or where one begins.
    pub(super) matches: Vec<usize>,
    /// Where matches are on lines that do not hold them whole.
    broken: BTreeMap<usize, Vec<Range<usize>>>,
    /// How many lines have been looked at.
    looked_at: usize,
    /// The end of the lines before, as far as a match could begin there.
    before: Vec<Letter>,
}

/// A character of a line, in lower case.
#[derive(Debug, Clone)]
struct Letter {
    line: usize,
    place: Range<usize>,
    c: char,
}

/// Stands between lines.
const BREAK: char = '\n';

fn lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

impl Find {
    pub(super) fn new(words: Vec<String>) -> Find {
        let mut words: Vec<String> = words.into_iter().map(|word| word.to_lowercase()).collect();
        words.retain(|word| !word.is_empty());
        words.sort();
        words.dedup();
        Find { words, ..Find::default() }
    }

    /// Where the words are in a text.
    pub(super) fn places(&self, text: &str) -> Vec<Range<usize>> {
        if self.words.is_empty() {
            return Vec::new();
        }
        let lower = text.to_lowercase();
        // Lower case may have another length; then places would not fit.
        if lower.len() != text.len() {
            return Vec::new();
        }
        let mut places: Vec<Range<usize>> = Vec::new();
        for word in &self.words {
            places.extend(lower.match_indices(word).map(|(at, word)| at..at + word.len()));
        }
        places
            .retain(|place| text.is_char_boundary(place.start) && text.is_char_boundary(place.end));
        places.sort_by_key(|place| place.start);
        places
    }

    /// Where the words are on a line of the document, or parts of them.
    pub(super) fn places_on(&self, line: usize, text: &str) -> Vec<Range<usize>> {
        let mut places = self.places(text);
        places.extend(self.broken.get(&line).into_iter().flatten().cloned());
        places
    }

    /// Looks at the lines that have come.
    pub(super) fn look_at(&mut self, lines: &[PageLine]) {
        if !self.words.is_empty() {
            for at in self.looked_at..lines.len() {
                self.look_at_line(at, lines);
            }
        }
        self.looked_at = lines.len();
    }

    fn look_at_line(&mut self, at: usize, lines: &[PageLine]) {
        let text = lines[at].text();
        let is_same = at.checked_sub(1).is_some_and(|at_before| {
            lines[at_before].log_line == lines[at].log_line && !text.trim().is_empty()
        });
        if !is_same {
            self.before.clear();
        }
        self.look_across(at, &text);
        let text = text.to_lowercase();
        if self.words.iter().any(|word| text.contains(word)) {
            self.add(at);
        }
    }

    /// Looks for what begins before a line and ends on it.
    fn look_across(&mut self, at: usize, text: &str) {
        let longest = self.words.iter().map(|word| word.chars().count()).max().unwrap_or(0);
        let start = text.len() - text.trim_start().len();
        let letters = text[start..].char_indices().map(|(from, c)| {
            let place = start + from..start + from + c.len_utf8();
            Letter { line: at, place, c: lower(c) }
        });
        let before = self.before.len();
        if before > 0 {
            self.before.push(Letter { line: at, place: 0..0, c: BREAK });
            self.before.extend(letters.clone().take(longest));
            let words = std::mem::take(&mut self.words);
            for word in &words {
                for from in 0..before {
                    let length = length_at(&self.before[from..], word);
                    if let Some(length) = length.filter(|length| from + length > before) {
                        self.add_broken(from..from + length);
                    }
                }
            }
            self.words = words;
            self.before.truncate(before + 1);
        }
        self.before.extend(letters);
        let most = 2 * longest;
        self.before.drain(..self.before.len().saturating_sub(most));
    }

    /// Adds a match that goes over the end of a line.
    fn add_broken(&mut self, found: Range<usize>) {
        let Some(first) = self.before.get(found.start).map(|letter| letter.line) else { return };
        for letter in self.before[found].iter().filter(|letter| letter.c != BREAK) {
            self.broken.entry(letter.line).or_default().push(letter.place.clone());
        }
        self.add(first);
    }

    fn add(&mut self, line: usize) {
        if let Err(place) = self.matches.binary_search(&line) {
            self.matches.insert(place, line);
        }
    }

    pub(super) fn forget(&mut self) {
        self.matches.clear();
        self.broken.clear();
        self.before.clear();
        self.looked_at = 0;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    pub(super) fn count(&self) -> usize {
        self.matches.len()
    }
}

/// How many letters a word takes at their start, if it is there. Where a line ends there
/// was a space, or a long word was broken.
fn length_at(letters: &[Letter], word: &str) -> Option<usize> {
    if letters.first()?.c == BREAK {
        return None;
    }
    let mut at = 0;
    let mut wanted = word.chars().map(lower).peekable();
    while let Some(c) = wanted.peek() {
        let letter = letters.get(at)?;
        at += 1;
        if letter.c == *c || (letter.c == BREAK && c.is_whitespace()) {
            wanted.next();
        } else if letter.c != BREAK {
            return None;
        }
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::output::Look;

    fn lines(texts: &[&str]) -> Vec<PageLine> {
        let line = |text: &&str| PageLine {
            spans: vec![((*text).to_owned(), Look::Plain)],
            log_line: 1,
            turn: 1,
        };
        texts.iter().map(line).collect()
    }

    fn found(word: &str, texts: &[&str]) -> Vec<usize> {
        let mut find = Find::new(vec![word.into()]);
        let lines = lines(texts);
        // Lines come in pieces.
        find.look_at(&lines[..1]);
        find.look_at(&lines);
        find.matches
    }

    #[test]
    fn a_phrase_is_found_where_it_begins() {
        let texts = ["  the first and", "  the Second", "", "  line of a lo", "  ngword"];
        assert_eq!(found("and the second", &texts), [0]);
        assert_eq!(found("longword", &texts), [3]);
        assert_eq!(found("first and the second", &texts), [0]);
        assert_eq!(found("second line", &texts), [0_usize; 0], "not over a blank line");
        assert_eq!(found("the", &texts), [0, 1]);
        assert_eq!(found("a b c d e", &["a b", "c d", "e"]), [0]);
        assert_eq!(found("and thesecond", &texts), [0_usize; 0]);
    }

    #[test]
    fn both_parts_of_a_broken_match_are_marked() {
        let mut find = Find::new(vec!["and the".into()]);
        find.look_at(&lines(&["  first and", "  the second"]));
        let marked = |line: usize, text: &str| -> String {
            find.places_on(line, text).into_iter().map(|place| text[place].to_owned()).collect()
        };
        assert_eq!(marked(0, "  first and"), "and");
        assert_eq!(marked(1, "  the second"), "the");
    }

    #[test]
    fn lines_of_other_texts_are_not_one() {
        let mut pair = lines(&["and", "the"]);
        pair[1].log_line = 2;
        let mut find = Find::new(vec!["and the".into()]);
        find.look_at(&pair);
        assert_eq!(find.count(), 0);
    }
}
