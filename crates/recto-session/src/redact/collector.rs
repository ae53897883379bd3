//! The first pass: which secrets there are.

use std::borrow::Cow;
use std::collections::BTreeMap;

use recto_log::json::Value;

use super::RedactError;
use super::Redactor;
use super::context::Context;
use super::hit::Hit;
use super::literals::Beside;
use super::literals::Literal;
use super::literals::Literals;
use super::placeholder::entropy;
use super::rules;
use super::strings;

/// Remembers the secrets of everything that it is shown.
pub struct Collector {
    redactor: Redactor,
    known: BTreeMap<Vec<u8>, Cow<'static, str>>,
    bytes: usize,
    is_full: bool,
}

impl Collector {
    /// The most secrets that are remembered.
    pub(crate) const MOST_SECRETS: usize = 10_000;
    /// The most bytes of them.
    pub const MOST_BYTES: usize = 4 << 20;

    /// Begins with what the redactor knows.
    pub(super) fn new(redactor: Redactor) -> Collector {
        let literals = redactor.literals.all().iter();
        let known = literals.filter(|literal| literal.beside == Beside::Anything);
        let known: BTreeMap<_, _> =
            known.map(|literal| (literal.text.clone(), literal.rule.clone())).collect();
        let bytes = known.keys().map(Vec::len).sum();
        Collector { redactor, known, bytes, is_full: false }
    }

    /// Looks at a line of a log.
    pub fn line(&mut self, line: &[u8]) {
        if !self.redactor.may_change(line) {
            return;
        }
        let (_, line) = strings::split_mark(line);
        if Value::parse(line).is_err() {
            return self.remember(line);
        }
        let mut found: Vec<(Vec<u8>, Hit)> = Vec::new();
        let mut context = Context::default();
        strings::each_string(line, |text| {
            let decoded = strings::decoded(&line[text.inside.clone()]);
            for hit in self.redactor.hits_of(line, &text, &mut context) {
                found.push((decoded[hit.range.clone()].to_vec(), hit));
            }
        });
        for (secret, hit) in found {
            self.add(secret, hit);
        }
    }

    /// Looks at a text that is no line of a log.
    pub fn text(&mut self, text: &str) {
        self.remember(text.as_bytes());
    }

    /// Whether there were more secrets than are remembered. Those beyond are
    /// replaced where they are found, but not elsewhere.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// A redactor that knows what was seen.
    pub fn finish(self) -> Result<Redactor, RedactError> {
        let mut redactor = self.redactor;
        let mut all: Vec<Literal> = redactor.literals.all().to_vec();
        all.retain(|literal| literal.beside != Beside::Anything);
        all.extend(self.known.into_iter().map(|(text, rule)| Literal {
            text,
            rule,
            beside: Beside::Anything,
            same_as: None,
        }));
        redactor.literals = Literals::new(all)?;
        Ok(redactor)
    }

    fn remember(&mut self, text: &[u8]) {
        for hit in self.redactor.hits(text) {
            self.add(text[hit.range.clone()].to_vec(), hit);
        }
    }

    fn add(&mut self, secret: Vec<u8>, hit: Hit) {
        /// Shorter or simpler ones may be ordinary words elsewhere.
        const LEAST_LENGTH: usize = 10;
        const LEAST_ENTROPY: f64 = 3.0;
        // Directories and names are literals already.
        let is_literal = self.redactor.literals.get(&secret).is_some();
        if is_literal || secret.len() < LEAST_LENGTH || entropy(&secret) < LEAST_ENTROPY {
            return;
        }
        if let Some(rule) = self.known.get_mut(&secret) {
            // A rule for a known form says more.
            if rule == rules::GENERIC {
                *rule = hit.rule;
            }
            return;
        }
        let bytes = self.bytes + secret.len();
        if self.known.len() >= Collector::MOST_SECRETS || bytes > Collector::MOST_BYTES {
            self.is_full = true;
            return;
        }
        self.bytes = bytes;
        self.known.insert(secret, hit.rule);
    }
}
