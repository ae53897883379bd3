//! Texts that are replaced wherever they stand: directories, names of users, and
//! secrets that were found elsewhere.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use aho_corasick::AhoCorasick;
use aho_corasick::MatchKind;
use recto_log::json::write_string;

use super::RedactError;

/// What may stand beside a literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beside {
    /// Anything.
    Anything,
    /// No letter or digit after it, so that a directory is not taken for another
    /// whose name is longer.
    NoWordAfter,
    /// No letter or digit on either side.
    NoWord,
}

#[derive(Debug, Clone)]
pub(super) struct Literal {
    pub(super) text: Vec<u8>,
    pub(super) rule: Cow<'static, str>,
    pub(super) beside: Beside,
    /// What the placeholder is made from, if not the text itself.
    pub(super) same_as: Option<Vec<u8>>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Literals {
    all: Vec<Literal>,
    by_text: HashMap<Vec<u8>, usize>,
    automata: Option<Automata>,
}

#[derive(Debug, Clone)]
struct Automata {
    text: AhoCorasick,
    /// The same as they are spelled in JSON.
    json: AhoCorasick,
}

impl Literals {
    pub(super) fn new(all: Vec<Literal>) -> Result<Literals, RedactError> {
        if all.is_empty() {
            return Ok(Literals::default());
        }
        let build = |texts: &mut dyn Iterator<Item = Vec<u8>>| {
            AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostLongest)
                .build(texts)
                .map_err(|error| RedactError::TooMany(error.to_string()))
        };
        let text = build(&mut all.iter().map(|literal| literal.text.clone()))?;
        let json = build(&mut all.iter().map(|literal| in_json(&literal.text)))?;
        let by_text = all.iter().enumerate().map(|(at, literal)| (literal.text.clone(), at));
        let by_text = by_text.collect();
        Ok(Literals { all, by_text, automata: Some(Automata { text, json }) })
    }

    pub(super) fn all(&self) -> &[Literal] {
        &self.all
    }

    /// The literal with this text.
    pub(super) fn get(&self, text: &[u8]) -> Option<&Literal> {
        self.by_text.get(text).map(|at| &self.all[*at])
    }

    /// Whether JSON text may hold one of them.
    pub(super) fn may_be_in(&self, json: &[u8]) -> bool {
        self.automata.as_ref().is_some_and(|automata| automata.json.is_match(json))
    }

    /// Where they are in a text.
    pub(super) fn find<'a>(
        &'a self,
        text: &'a [u8],
    ) -> impl Iterator<Item = (Range<usize>, &'a Literal)> {
        let found = self.automata.iter().flat_map(move |automata| automata.text.find_iter(text));
        found
            .map(|found| (found.range(), &self.all[found.pattern().as_usize()]))
            .filter(move |(range, literal)| literal.beside.fits(text, range))
    }
}

impl Beside {
    fn fits(self, text: &[u8], range: &Range<usize>) -> bool {
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let after = text.get(range.end).is_some_and(is_word);
        let before = range.start.checked_sub(1).is_some_and(|at| is_word(&text[at]));
        match self {
            Beside::Anything => true,
            Beside::NoWordAfter => !after,
            Beside::NoWord => !after && !before,
        }
    }
}

fn in_json(text: &[u8]) -> Vec<u8> {
    let mut json = Vec::new();
    write_string(&mut json, &String::from_utf8_lossy(text));
    json[1..json.len() - 1].to_vec()
}
