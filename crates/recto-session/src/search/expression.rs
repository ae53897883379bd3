//! Regular expressions over the texts of logs, and what the raw bytes of a line
//! must hold for one to match.
//!
//! A text is decoded before it is compared. Most lines need not be: what a match
//! must hold is in their bytes as it is, unless it is written with an escape.

use std::fmt;

use aho_corasick::AhoCorasick;
use aho_corasick::MatchKind;
use memchr::memmem;
use regex::Regex;
use regex::RegexBuilder;
use regex_syntax::ParserBuilder;
use regex_syntax::hir::Class;
use regex_syntax::hir::Hir;
use regex_syntax::hir::HirKind;

/// How an expression is to be read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExpressionOptions {
    /// Letters match in both cases.
    pub ignores_case: bool,
    /// No character has a special meaning.
    pub is_literal: bool,
    /// Only whole words match.
    pub is_word: bool,
}

/// Why a pattern is no expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionError {
    /// What is wrong, on one line or several.
    pub message: String,
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ExpressionError {}

/// A regular expression for decoded texts. `^` and `$` are the ends of a line.
#[derive(Debug, Clone)]
pub struct Expression {
    regex: Regex,
    filter: Option<RawFilter>,
}

impl Expression {
    /// Reads a pattern.
    pub fn new(pattern: &str, options: ExpressionOptions) -> Result<Expression, ExpressionError> {
        let mut pattern = match options.is_literal {
            true => regex::escape(pattern),
            false => pattern.to_owned(),
        };
        if options.is_word {
            pattern = format!(r"\b(?:{pattern})\b");
        }
        let regex = RegexBuilder::new(&pattern)
            .multi_line(true)
            .case_insensitive(options.ignores_case)
            .build()
            .map_err(|error| ExpressionError { message: error.to_string() })?;
        let hir = ParserBuilder::new()
            .multi_line(true)
            .case_insensitive(options.ignores_case)
            .build()
            .parse(&pattern)
            .map_err(|error| ExpressionError { message: error.to_string() })?;
        Ok(Expression { regex, filter: required(&hir).and_then(RawFilter::new) })
    }

    /// For the decoded texts.
    pub fn regex(&self) -> &Regex {
        &self.regex
    }

    /// What the raw bytes must hold; nothing if that cannot be told.
    pub fn filter(&self) -> Option<&RawFilter> {
        self.filter.as_ref()
    }
}

/// What the raw bytes of a line must hold to have a match in its texts.
#[derive(Debug, Clone)]
pub struct RawFilter {
    pieces: Needles,
    /// The longest words of the pieces. The texts of commands are put together
    /// from words that stand apart in the log.
    words: Needles,
    /// All pieces are ASCII: only escapes of ASCII characters can hide them.
    is_ascii: bool,
    /// A piece may be of the words that are put around what a line says of a hook.
    is_of_hooks: bool,
    longest: usize,
}

/// What has been seen of a line or a file so far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seen {
    word: bool,
    command: bool,
}

impl RawFilter {
    fn new(literals: Vec<Literal>) -> Option<RawFilter> {
        let folds_case = literals.iter().any(|literal| literal.folds_case);
        let pieces: Option<Vec<&str>> =
            literals.iter().map(|literal| longest_piece(&literal.text)).collect();
        let pieces = pieces?;
        let words: Vec<&str> = pieces.iter().map(|piece| longest_word(piece)).collect();
        Some(RawFilter {
            is_ascii: pieces.iter().all(|piece| piece.is_ascii()),
            is_of_hooks: pieces.iter().any(|piece| may_be_of_hook(piece, folds_case)),
            longest: pieces.iter().map(|piece| piece.len()).max()?,
            words: Needles::new(&words, folds_case)?,
            pieces: Needles::new(&pieces, folds_case)?,
        })
    }

    /// Whether a text of these bytes may match. They may be a part of a file; what
    /// was seen before them is in `seen`, and parts overlap by [`RawFilter::overlap`].
    pub fn may_match(&self, bytes: &[u8], seen: &mut Seen) -> bool {
        if self.pieces.are_in(bytes) || has_escape(bytes, self.is_ascii) {
            return true;
        }
        if self.is_of_hooks && memmem::find(bytes, HOOK.as_bytes()).is_some() {
            return true;
        }
        seen.word = seen.word || self.words.are_in(bytes);
        // There are few commands, and fewer of them have the word.
        seen.command =
            seen.command || (seen.word && memmem::find(bytes, COMMAND.as_bytes()).is_some());
        seen.word && seen.command
    }

    /// By how many bytes parts of a file must overlap for nothing to be missed.
    pub fn overlap(&self) -> usize {
        self.longest.max(COMMAND.len()).max("\\u0041".len())
    }
}

/// What stands before the name of a command.
const COMMAND: &str = "<command-name>";

/// What every line about a hook has in the name of its kind.
const HOOK: &str = "hook_";

/// What the text about a hook has that its line may not have: see `HookLine::text`.
const AROUND_HOOKS: [&str; 8] = [
    "hook ",
    " blocked: ",
    " failed: ",
    " added a text: ",
    " ran: ",
    "hook Stop blocked: ",
    "hook Stop added a text: ",
    "hook Stop ran: ",
];

/// Whether a piece can lie in such a text, or across its ends.
fn may_be_of_hook(piece: &str, folds_case: bool) -> bool {
    let fold = |text: &str| if folds_case { text.to_lowercase() } else { text.to_owned() };
    let piece = fold(piece);
    AROUND_HOOKS.map(fold).iter().any(|around| {
        let is_across = |cut| piece.starts_with(&around[cut..]) || piece.ends_with(&around[..cut]);
        around.contains(&piece)
            || piece.contains(around.as_str())
            || (1..around.len()).any(is_across)
    })
}

/// Whether characters are written as escapes, of those that can be in a piece.
fn has_escape(bytes: &[u8], is_ascii: bool) -> bool {
    if !is_ascii {
        return memmem::find(bytes, b"\\u").is_some();
    }
    // Controls are escaped in every log; they are in no piece.
    memmem::find_iter(bytes, b"\\u00")
        .any(|at| bytes.get(at + 4).is_some_and(|digit| (b'2'..=b'7').contains(digit)))
}

/// Strings, of which one must be there.
#[derive(Debug, Clone)]
enum Needles {
    One(Box<memmem::Finder<'static>>),
    Many(AhoCorasick),
}

impl Needles {
    fn new(needles: &[&str], folds_case: bool) -> Option<Needles> {
        if let [needle] = needles
            && !folds_case
        {
            return Some(Needles::One(Box::new(memmem::Finder::new(needle).into_owned())));
        }
        let found = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostFirst)
            .ascii_case_insensitive(folds_case)
            .build(needles);
        found.ok().map(Needles::Many)
    }

    fn are_in(&self, bytes: &[u8]) -> bool {
        match self {
            Needles::One(finder) => finder.find(bytes).is_some(),
            Needles::Many(automaton) => automaton.is_match(bytes),
        }
    }
}

/// A string that a match must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Literal {
    text: String,
    /// Its ASCII letters may be in the other case.
    folds_case: bool,
}

/// With more alternatives than this, looking for them costs as much as decoding.
const MOST_ALTERNATIVES: usize = 32;

/// Strings of which every match holds one.
fn required(hir: &Hir) -> Option<Vec<Literal>> {
    match hir.kind() {
        HirKind::Literal(_) | HirKind::Class(_) => {
            let mut run = Literal::default();
            extend(&mut run, hir).then(|| vec![run]).filter(|run| is_useful(run))
        }
        HirKind::Concat(parts) => required_in_sequence(parts),
        HirKind::Alternation(branches) => {
            let mut all = Vec::new();
            for branch in branches {
                all.extend(required(branch)?);
            }
            (all.len() <= MOST_ALTERNATIVES).then_some(all)
        }
        HirKind::Capture(capture) => required(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => required(&repetition.sub),
        HirKind::Repetition(_) | HirKind::Look(_) | HirKind::Empty => None,
    }
}

/// The best of what each part needs. Parts that are plain text make one string.
fn required_in_sequence(parts: &[Hir]) -> Option<Vec<Literal>> {
    let mut best: Option<Vec<Literal>> = None;
    let mut take = |candidate: Option<Vec<Literal>>| {
        let Some(candidate) = candidate.filter(|candidate| is_useful(candidate)) else { return };
        if best.as_ref().is_none_or(|best| worth(&candidate) > worth(best)) {
            best = Some(candidate);
        }
    };
    let mut run = Literal::default();
    for part in parts {
        if !extend(&mut run, part) {
            take(Some(vec![std::mem::take(&mut run)]));
            take(required(part));
        }
    }
    take(Some(vec![run]));
    best
}

/// Adds a part to a run of plain text, if it is plain text.
fn extend(run: &mut Literal, part: &Hir) -> bool {
    match part.kind() {
        HirKind::Literal(literal) => match std::str::from_utf8(&literal.0) {
            Ok(text) => {
                run.text.push_str(text);
                true
            }
            Err(_) => false,
        },
        HirKind::Class(Class::Unicode(class)) => {
            let mut all = class.iter().flat_map(|range| range.start()..=range.end());
            // A letter in both cases. Some letters have a third form, which is not ASCII.
            let (first, second) = (all.next(), all.next());
            match (first, second, all.next()) {
                (Some(upper), Some(lower), None)
                    if upper.is_ascii_uppercase() && upper.to_ascii_lowercase() == lower =>
                {
                    run.text.push(lower);
                    run.folds_case = true;
                    true
                }
                _ => false,
            }
        }
        HirKind::Look(_) => true,
        HirKind::Capture(capture) => extend(run, &capture.sub),
        _ => false,
    }
}

fn is_useful(literals: &[Literal]) -> bool {
    literals.iter().all(|literal| longest_piece(&literal.text).is_some())
}

/// The shortest piece counts, then how few there are.
fn worth(literals: &[Literal]) -> (usize, usize) {
    let pieces = literals.iter().filter_map(|literal| longest_piece(&literal.text));
    let shortest = pieces.map(str::len).min().unwrap_or(0);
    (shortest, MOST_ALTERNATIVES.saturating_sub(literals.len()))
}

/// The longest part that stands in the bytes of a log as it is: characters that
/// JSON escapes, or that are added when a text is shown, are not in it.
fn longest_piece(text: &str) -> Option<&str> {
    let is_changed = |c: char| {
        c.is_control() || matches!(c, '"' | '\\' | '/' | '!' | char::REPLACEMENT_CHARACTER)
    };
    // A single letter is in nearly every line.
    text.split(is_changed).max_by_key(|piece| piece.len()).filter(|piece| piece.len() > 1)
}

fn longest_word(piece: &str) -> &str {
    piece.split(' ').max_by_key(|word| word.len()).unwrap_or(piece)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use recto_log::RawLine;
    use recto_log::decode;

    use super::*;
    use crate::search::Extractor;

    fn read(pattern: &str, ignores_case: bool) -> Expression {
        let options = ExpressionOptions { ignores_case, ..ExpressionOptions::default() };
        Expression::new(pattern, options).unwrap()
    }

    /// What is looked for in the raw bytes.
    fn pieces(pattern: &str) -> Option<String> {
        let hir = ParserBuilder::new().multi_line(true).build().parse(pattern).unwrap();
        let literals = required(&hir)?;
        let pieces = literals.iter().map(|literal| {
            let piece = longest_piece(&literal.text).unwrap();
            if literal.folds_case { format!("{piece}~") } else { piece.to_owned() }
        });
        Some(pieces.collect::<Vec<_>>().join("|"))
    }

    #[test]
    fn what_a_match_must_hold_is_taken_from_the_pattern() {
        let cases = [
            ("needle", Some("needle")),
            (r"error\[E\d+\]: mismatched", Some("]: mismatched")),
            (r"^fn (main|start_up)\(", Some("main|start_up")),
            ("(?i)hEap", Some("heap~")),
            // The sign of the unit kelvin is a `k` too.
            ("(?i)token", Some("to~")),
            // The dot is any character here.
            ("src/main.rs", Some("main")),
            (r"src/main\.rs", Some("main.rs")),
            (r#"the "hidden" part"#, Some("hidden")),
            (r"(abc)+x", Some("abc")),
            (r"(abc)*xyz", Some("xyz")),
            (r"\bword\b", Some("word")),
            (r"a|bcd", None),
            (r"\d+", None),
            ("x", None),
            ("", None),
            ("縫い針", Some("縫い針")),
        ];
        for (pattern, expected) in cases {
            assert_eq!(pieces(pattern).as_deref(), expected, "{pattern}");
        }
    }

    #[test]
    fn bytes_are_passed_over_only_if_no_text_can_match() {
        let may = |pattern: &str, bytes: &str| {
            let expression = read(pattern, /* ignores_case */ false);
            expression.filter().unwrap().may_match(bytes.as_bytes(), &mut Seen::default())
        };
        assert!(may("needle", "a needle") && !may("needle", "a Needle"));
        assert!(may("(?i)neele", "a NEELE") && !may("(?i)neele", "a nele"));
        // An ASCII letter that is written as an escape.
        assert!(may("needle", r"n\u0065edle") && !may("needle", r"n\u001bedle \u00e9"));
        assert!(may("縫い針", r"\u7e2b\u3044\u91dd") && !may("縫い針", r"\n"));
        // Texts of commands are put together.
        assert!(may("review the", "<command-name>/review</command-name> <command-args>the"));
        assert!(!may("review the", "review of the"));
        // So are those of hooks.
        let hook = r#"{"subtype":"stop_hook_summary","hookErrors":["no tests"]}"#;
        for pattern in ["hook Stop blocked", "Stop", "k Stop b", "ed: no tests", "op blocked: no"] {
            assert!(may(pattern, hook), "{pattern}");
        }
        assert!(!may("Stopped", hook) && !may("hook Stop blocked", "a hook"));
    }

    #[test]
    fn options_change_what_matches() {
        let is_match = |pattern: &str, options: ExpressionOptions, text: &str| {
            Expression::new(pattern, options).unwrap().regex().is_match(text)
        };
        let plain = ExpressionOptions::default();
        assert!(is_match("^b.d$", plain, "a\nbed\nc") && !is_match("bed", plain, "BED"));
        assert!(is_match("bed", ExpressionOptions { ignores_case: true, ..plain }, "BED"));
        let literal = ExpressionOptions { is_literal: true, ..plain };
        assert!(is_match("a.b(", literal, "a.b(") && !is_match("a.b(", literal, "axb("));
        let word = ExpressionOptions { is_word: true, ..plain };
        assert!(is_match("a|bed", word, "a bed") && !is_match("e|bed", word, "bedding"));
        assert!(Expression::new("a(", plain).unwrap_err().message.contains("unclosed group"));
    }

    /// Texts that JSON can spell in several ways, and patterns with parts of them.
    fn spelled() -> impl Strategy<Value = (String, String, String)> {
        let text = proptest::collection::vec(
            prop::sample::select(vec![
                "ab", "K", "s", "é", "針", " ", "\n", "\t", "\"", "\\", "/", "!", "x1", "\u{1b}",
                "Error", "\u{2028}",
            ]),
            1..12,
        );
        (text, any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u64>()).prop_map(
            |(parts, from, length, escapes)| {
                let from = from.index(parts.len());
                let until = from + 1 + length.index(parts.len() - from);
                let wanted = parts[from..until].concat();
                let mut json = String::new();
                for (place, c) in parts.concat().chars().enumerate() {
                    let is_escaped = escapes >> (place % 64) & 1 == 1 && escapes % 3 == 0;
                    match c {
                        '"' | '\\' => json.extend(['\\', c]),
                        '/' if escapes % 5 == 0 => json.push_str("\\/"),
                        '\n' => json.push_str("\\n"),
                        c if is_escaped || c < ' ' => {
                            json.push_str(&format!("\\u{:04x}", u32::from(c)));
                        }
                        c => json.push(c),
                    }
                }
                (parts.concat(), wanted, json)
            },
        )
    }

    proptest! {
        #[test]
        fn no_match_is_lost_by_looking_at_raw_bytes((text, wanted, json) in spelled(), fold: bool) {
            let options = ExpressionOptions { ignores_case: fold, is_literal: true, is_word: false };
            let wanted = if fold { wanted.to_uppercase() } else { wanted };
            let expression = Expression::new(&wanted, options).unwrap();
            let line = format!(r#"{{"type":"user","message":{{"role":"user","content":"{json}"}}}}"#);
            let mut found = false;
            Extractor::default().next(&decode(RawLine::alone(line.as_bytes())).0, &mut |document| {
                found |= expression.regex().is_match(&document.text());
            });
            let is_there = expression.regex().is_match(&text);
            prop_assert!(!found || is_there);
            let may = expression.filter().is_none_or(|filter| {
                filter.may_match(line.as_bytes(), &mut Seen::default())
            });
            prop_assert!(may || !found, "{wanted:?} in {line}");
        }
    }
}
