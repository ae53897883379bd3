//! Secrets are found in a line or a text, and replaced.
//!
//! A secret becomes `[REDACTED:rule:hash8]`. The hash is that of the secret, so
//! that the same secret has the same placeholder everywhere. Nothing else of a line
//! changes: ids, hashes, signatures and pictures stay, and what is rewritten is the
//! bytes of the secret alone, so that the line stays JSON.
//!
//! A secret is often found by what stands before it (`API_KEY=…`) and stands
//! elsewhere alone. A [`Collector`] goes through everything first and remembers
//! what was found; the [`Redactor`] that it makes replaces it wherever it is.
//!
//! ```
//! use recto_session::redact::{Options, Outcome, Redactor};
//!
//! let redactor = Redactor::new(Options::default())?;
//! let token = format!("ghp_{}", "x9Kq2LmZ7vR4tW8yB3nH6cJ1fD5gS0aPuEoi");
//! let line = format!(r#"{{"type":"user","message":{{"content":"use {token}"}}}}"#);
//! let Outcome::Changed(change) = redactor.line(line.as_bytes()) else { panic!() };
//! assert!(change.bytes.starts_with(br#"{"type":"user","message":{"content":"use [REDACTED:github-pat:"#));
//! assert_eq!(change.findings[0].rule, "github-pat");
//! # Ok::<(), recto_session::redact::RedactError>(())
//! ```
//!
//! The hash is short and, without a salt, that of the secret and nothing else: who
//! guesses a weak password can see that the guess was right. With
//! [`Options::salt`] that takes the salt.

mod allow;
pub(crate) mod anonymize;
mod collector;
mod context;
mod cookie;
mod dotted;
mod hit;
mod literals;
mod named;
mod placeholder;
mod private_key;
mod report;
mod rules;
mod search;
pub(crate) mod strings;

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;
use recto_log::Patch;
use recto_log::json::Step;
use recto_log::json::Value;
use regex::bytes::Regex;
use sha2::Digest;
use sha2::Sha256;

pub use collector::Collector;
pub use report::Change;
pub use report::Finding;
pub use report::Level;
pub use report::Options;
pub use report::Outcome;
pub use report::Pattern;
pub use report::RedactError;
pub use report::Redacted;
pub use report::ThinkingChange;
pub use report::ThinkingPolicy;

use context::Context;
use context::Said;
use hit::Hit;
use hit::Rank;
use literals::Beside;
use literals::Literal;
use literals::Literals;
use strings::Role;
use strings::Text;

/// Finds and replaces secrets. It does not change, and can be shared by threads.
pub struct Redactor {
    rules: &'static rules::Rules,
    level: Level,
    patterns: Vec<(String, Regex)>,
    literals: Literals,
    salt: Vec<u8>,
    thinking: ThinkingPolicy,
}

impl Redactor {
    /// Makes ready to look for secrets.
    pub fn new(options: Options) -> Result<Redactor, RedactError> {
        let rules = rules::rules(options.level).map_err(RedactError::Rules)?;
        let mut patterns = Vec::new();
        for Pattern { name, regex } in options.patterns {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            if name.is_empty() || !name.bytes().all(is_plain) {
                return Err(RedactError::Name(name));
            }
            // Characters of any script, unlike in the public rules.
            let compiled = Regex::new(&regex)
                .map_err(|error| RedactError::Pattern(name.clone(), error.to_string()))?;
            patterns.push((name, compiled));
        }
        let mut literals = Vec::new();
        for path in options.paths {
            literals.extend(path_literals(&path)?);
        }
        for name in options.names {
            if name.len() < 2 {
                return Err(RedactError::TooShort(name));
            }
            let (text, rule) = (name.into_bytes(), Cow::Borrowed("name"));
            literals.push(Literal { text, rule, beside: Beside::NoWord, same_as: None });
        }
        let literals = Literals::new(literals)?;
        let level = options.level;
        Ok(Redactor {
            rules,
            level,
            patterns,
            literals,
            salt: options.salt,
            thinking: options.thinking,
        })
    }

    /// How much is taken for a secret.
    pub fn level(&self) -> Level {
        self.level
    }

    /// Makes ready to go through everything once before anything is replaced.
    pub fn collector(self) -> Collector {
        Collector::new(self)
    }

    /// Replaces the secrets of a line. A line that is no JSON is taken as text.
    pub fn line(&self, line: &[u8]) -> Outcome {
        if !self.may_change(line) {
            return Outcome::Unchanged;
        }
        let (mark, line) = strings::split_mark(line);
        let mut outcome = self.line_without_mark(line);
        if let Outcome::Changed(change) = &mut outcome {
            change.bytes.splice(..0, mark.iter().copied());
        }
        outcome
    }

    fn line_without_mark(&self, line: &[u8]) -> Outcome {
        if Value::parse(line).is_err() {
            let (bytes, findings) = self.replaced(line, b"", self.hits(line));
            if findings.is_empty() {
                return Outcome::Unchanged;
            }
            return Outcome::Changed(Change { bytes, findings, thinking: ThinkingChange::None });
        }
        let mut bytes: Vec<u8> = Vec::new();
        let mut done = 0;
        let mut findings = Vec::new();
        let mut blocks: Vec<usize> = Vec::new();
        let mut context = Context::default();
        strings::each_string(line, |text| {
            let hits = self.hits_of(line, &text, &mut context);
            if hits.is_empty() {
                return;
            }
            let is_in_thinking = is_thinking(&text);
            let start = findings.len();
            if is_in_thinking {
                blocks.extend(text.block);
            }
            let inside = &line[text.inside.clone()];
            let decoded = strings::decoded(inside);
            let places: Vec<usize> =
                hits.iter().flat_map(|hit| [hit.range.start, hit.range.end]).collect();
            let raw = strings::raw_places(inside, &places);
            for (hit, raw) in hits.iter().zip(raw.chunks_exact(2)) {
                let finding = self.finding(&decoded[hit.range.clone()], hit, text.key);
                if !(is_in_thinking && self.thinking == ThinkingPolicy::Leave) {
                    bytes.extend_from_slice(&line[done..text.inside.start + raw[0]]);
                    bytes.extend_from_slice(finding.placeholder().as_bytes());
                    done = text.inside.start + raw[1];
                }
                findings.push(finding);
            }
            findings[start..].iter_mut().for_each(|found| found.is_in_thinking = is_in_thinking);
        });
        if findings.is_empty() {
            return Outcome::Unchanged;
        }
        bytes.extend_from_slice(&line[done..]);
        blocks.dedup();
        let (bytes, thinking) = self.without_thinking(bytes, &blocks);
        Outcome::Changed(Change { bytes, findings, thinking })
    }

    /// What would be found in a line, with nothing replaced.
    pub fn check(&self, line: &[u8]) -> Vec<Finding> {
        match self.line(line) {
            Outcome::Unchanged => Vec::new(),
            Outcome::Changed(change) => change.findings,
        }
    }

    /// Replaces the secrets of a text that is no line of a log.
    pub fn text<'a>(&self, text: &'a str) -> Redacted<'a> {
        let hits = self.hits(text.as_bytes());
        if hits.is_empty() {
            return Redacted { text: Cow::Borrowed(text), findings: Vec::new() };
        }
        let (bytes, findings) = self.replaced(text.as_bytes(), b"", hits);
        Redacted { text: Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()), findings }
    }

    /// Whether a line may hold anything to replace. A `true` may be wrong.
    fn may_change(&self, line: &[u8]) -> bool {
        // Such an escape can stand for a letter of a keyword, or hide where a word
        // begins. The client writes it for control characters.
        let is_oddly_spelled =
            || memmem::find(line, b"\\u00").is_some() || memmem::find(line, b"\\/").is_some();
        !self.patterns.is_empty()
            || self.literals.may_be_in(line)
            || search::may_hold_secret(self.rules, line)
            || is_oddly_spelled()
    }

    /// What is to be replaced in a string of a line.
    fn hits_of(&self, line: &[u8], text: &Text<'_>, context: &mut Context) -> Vec<Hit> {
        let inside = &line[text.inside.clone()];
        let decoded = strings::decoded(inside);
        let said = context.next(text, &decoded);
        if text.is_spared {
            return Vec::new();
        }
        if let Said::KeyLine = said {
            let start = decoded.len() - decoded.trim_ascii_start().len();
            let range = start..start + decoded.trim_ascii().len();
            return vec![Hit { range, rule: Cow::Borrowed("private-key"), rank: Rank::Form }];
        }
        let mut hits = self.hits(&decoded);
        if hits.is_empty() && text.role == Role::Value && text.depth > 1 {
            hits = self.hits_by_key(text.key, &decoded);
        }
        if let (true, Said::ValueOf(name), Level::Strict) = (hits.is_empty(), said, self.level) {
            hits = self.hits_by_key(&name, &decoded);
        }
        hits
    }

    /// What the key of a member says about its value: `"api_key": "…"`.
    fn hits_by_key(&self, key: &[u8], value: &[u8]) -> Vec<Hit> {
        const MOST: usize = 512;
        let is_one_word = !value.iter().any(u8::is_ascii_whitespace);
        if value.len() > MOST || !is_one_word || !self.rules.keywords.is_match(key) {
            return Vec::new();
        }
        let text = [key, b"=\"", value, b"\""].concat();
        let start = key.len() + 2;
        let end = start + value.len();
        let mut hits = search::secrets(self.rules, &text);
        hits.retain(|hit| hit.range.start >= start && hit.range.end <= end);
        for hit in &mut hits {
            hit.range = hit.range.start - start..hit.range.end - start;
        }
        hits
    }

    /// What is to be replaced in a text.
    fn hits(&self, text: &[u8]) -> Vec<Hit> {
        let mut hits = search::secrets(self.rules, text);
        let found = hits.len();
        for (range, literal) in self.literals.find(text) {
            hits.push(Hit { range, rule: literal.rule.clone(), rank: Rank::Known });
        }
        for (name, regex) in &self.patterns {
            for groups in regex.captures_iter(text) {
                let filled = groups.iter().skip(1).flatten().find(|group| !group.is_empty());
                let Some(secret) = filled.or(groups.get(0)).filter(|secret| !secret.is_empty())
                else {
                    continue;
                };
                let rule = Cow::Owned(name.clone());
                hits.push(Hit { range: secret.range(), rule, rank: Rank::Known });
            }
        }
        for hit in &mut hits {
            hit.range = whole_characters(text, &hit.range);
        }
        if hits.len() > found { search::apart(hits) } else { hits }
    }

    fn replaced(&self, text: &[u8], key: &[u8], hits: Vec<Hit>) -> (Vec<u8>, Vec<Finding>) {
        let mut bytes = Vec::with_capacity(text.len());
        let mut done = 0;
        let mut findings = Vec::with_capacity(hits.len());
        for hit in hits {
            let finding = self.finding(&text[hit.range.clone()], &hit, key);
            bytes.extend_from_slice(&text[done..hit.range.start]);
            bytes.extend_from_slice(finding.placeholder().as_bytes());
            done = hit.range.end;
            findings.push(finding);
        }
        bytes.extend_from_slice(&text[done..]);
        (bytes, findings)
    }

    fn finding(&self, secret: &[u8], hit: &Hit, key: &[u8]) -> Finding {
        let known = self.literals.get(secret);
        let hashed = known.and_then(|literal| literal.same_as.as_deref()).unwrap_or(secret);
        let rule = known.map_or(&hit.rule, |literal| &literal.rule);
        Finding {
            rule: rule.to_string(),
            hash: self.hash(hashed),
            key: String::from_utf8_lossy(key).into_owned(),
            length: secret.len(),
            is_in_thinking: false,
        }
    }

    fn hash(&self, secret: &[u8]) -> String {
        let mut digest = Sha256::new();
        // The lengths keep a salt and a secret apart.
        digest.update(b"recto redact 1\0");
        digest.update((self.salt.len() as u64).to_le_bytes());
        digest.update(&self.salt);
        digest.update(secret);
        digest.finalize()[..4].iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Removes blocks of thinking that held a secret, if they are not all there is.
    fn without_thinking(&self, bytes: Vec<u8>, blocks: &[usize]) -> (Vec<u8>, ThinkingChange) {
        if blocks.is_empty() {
            return (bytes, ThinkingChange::None);
        }
        match self.thinking {
            ThinkingPolicy::Leave => return (bytes, ThinkingChange::Left),
            ThinkingPolicy::Replace => return (bytes, ThinkingChange::Replaced),
            ThinkingPolicy::DropBlock => {}
        }
        let content =
            Value::parse(&bytes).ok().and_then(|line| line.get("message")?.get("content"));
        if content.is_none_or(|content| content.elements().count() <= blocks.len()) {
            return (bytes, ThinkingChange::RemoveLine);
        }
        let Ok(mut patch) = Patch::new(&bytes) else { return (bytes, ThinkingChange::RemoveLine) };
        for block in blocks.iter().rev() {
            let path = [Step::Key("message"), Step::Key("content"), Step::Index(*block)];
            if patch.remove(&path).is_err() {
                return (bytes, ThinkingChange::RemoveLine);
            }
        }
        (patch.finish(), ThinkingChange::Dropped(blocks.len()))
    }
}

/// A directory, and the name that the client makes of it for its own directories.
fn path_literals(path: &str) -> Result<Vec<Literal>, RedactError> {
    let path = path.trim_end_matches('/');
    if path.len() < 3 {
        return Err(RedactError::TooShort(path.to_owned()));
    }
    let dashed: String =
        path.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let literal = |text: &str| Literal {
        text: text.as_bytes().to_vec(),
        rule: Cow::Borrowed("path"),
        beside: Beside::NoWordAfter,
        same_as: Some(path.as_bytes().to_vec()),
    };
    Ok(vec![literal(path), literal(&dashed)])
}

/// The text of a thinking block of the line's message.
fn is_thinking(text: &Text<'_>) -> bool {
    text.block.is_some() && text.depth == 4 && text.key == b"thinking"
}

/// A range that cuts no character.
fn whole_characters(text: &[u8], range: &Range<usize>) -> Range<usize> {
    let is_inside = |at: usize| text.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let Range { mut start, mut end } = range.clone();
    while start > 0 && is_inside(start) {
        start -= 1;
    }
    while is_inside(end) {
        end += 1;
    }
    start..end
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
