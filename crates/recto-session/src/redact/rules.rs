//! The public rules: what a secret of each kind looks like, and the words near
//! which one is looked for.
//!
//! The rules are data: `data/secret-rules.tsv` for both levels, `data/strict-rules.tsv`
//! for the strict one. The keywords of a level are one automaton; a pattern is compiled
//! when its keyword is first met.

use std::sync::LazyLock;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use aho_corasick::AhoCorasickKind;
use regex::bytes::Regex;
use regex::bytes::RegexBuilder;

use super::Level;

const TABLE: &str = include_str!("../../data/secret-rules.tsv");
const STRICT_TABLE: &str = include_str!("../../data/strict-rules.tsv");

/// What may stand between the name of a secret and the secret.
const ASSIGNMENT: &str =
    r#"(?:[ \t\w.-]{0,20})[\s'"\\]{0,3}(?:=|>|:{1,3}=|\|\||:|=>|\?=|,)[\x60'"\s=\\]{0,5}"#;
/// What ends a secret that a name is given to.
const ASSIGNMENT_END: &str = r#"(?:[\x60'"\s;\\]|$)"#;
/// The same where the form of the secret is strict, so that more may follow.
const STRICT_END: &str = r#"(?:[\x60'"\s;\\,)\]}<&|]|$)"#;

/// The rule for secrets of no known form.
pub(super) const GENERIC: &str = "generic-api-key";

/// How a rule's pattern lies to its keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleKind {
    /// The keyword is a name that something is given to.
    Assign,
    /// The keyword begins the secret, which nothing needs to end.
    Prefix,
    /// The keyword begins the secret, and more characters would make it another.
    Token,
    /// The match begins so many bytes before the keyword at most and ends so many
    /// after it.
    Near {
        /// Bytes before.
        before: usize,
        /// Bytes after.
        after: usize,
        /// Whether no character of a match is ever escaped in JSON, so that the pattern
        /// can be tried on a line before it is read.
        is_exact: bool,
    },
    /// The keyword is part of a secret's name, and code of ours finds the value.
    Named,
    /// The keyword is in the first or last line of a private key.
    PrivateKey,
    /// The keyword stands before cookies.
    Cookie,
}

pub(super) struct Rule {
    pub(super) name: &'static str,
    pub(super) kind: RuleKind,
    /// Secrets with no more bits than this for each byte are none.
    pub(super) entropy: f64,
    /// Whether no word may stand right before the match.
    pub(super) needs_boundary: bool,
    /// Whether the rule is for the strict level only.
    pub(super) is_strict: bool,
    pattern: String,
    regex: OnceLock<Option<Regex>>,
}

impl Rule {
    /// The pattern, compiled at its first use. All of them do compile, which
    /// `every_rule_compiles` holds.
    pub(super) fn regex(&self) -> Option<&Regex> {
        self.regex.get_or_init(|| compile(&self.pattern).ok()).as_ref()
    }

    pub(super) fn is_generic(&self) -> bool {
        self.name == GENERIC
    }
}

/// A pattern on bytes. Letters are those of ASCII, as the rules mean them.
pub(super) fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).unicode(false).size_limit(64 << 20).build()
}

pub(super) struct Rules {
    pub(super) rules: Vec<Rule>,
    /// All keywords, without regard to case.
    pub(super) keywords: AhoCorasick,
    /// The rules of each keyword.
    pub(super) of_keyword: Vec<Vec<usize>>,
}

/// The rules of a level, or why they cannot be used.
pub(super) fn rules(level: Level) -> Result<&'static Rules, String> {
    static PLAIN: LazyLock<Result<Rules, String>> = LazyLock::new(|| read(Level::Plain));
    static STRICT: LazyLock<Result<Rules, String>> = LazyLock::new(|| read(Level::Strict));
    let rules = match level {
        Level::Plain => &*PLAIN,
        Level::Strict => &*STRICT,
    };
    rules.as_ref().map_err(Clone::clone)
}

fn read(level: Level) -> Result<Rules, String> {
    let strict = match level {
        Level::Plain => "",
        Level::Strict => STRICT_TABLE,
    };
    let mut rules = Vec::new();
    let mut words: Vec<&str> = Vec::new();
    let mut of_keyword: Vec<Vec<usize>> = Vec::new();
    let tables = TABLE.lines().map(|row| (row, false));
    for (row, is_strict) in tables.chain(strict.lines().map(|row| (row, true))) {
        let columns: Vec<&'static str> = row.split('\t').collect();
        let [name, kind, entropy, keywords, patterns @ ..] = columns.as_slice() else {
            return Err(format!("a rule has too few columns: {row}"));
        };
        for keyword in keywords.split(',') {
            let at = words.iter().position(|word| *word == keyword).unwrap_or_else(|| {
                words.push(keyword);
                of_keyword.push(Vec::new());
                words.len() - 1
            });
            of_keyword[at].push(rules.len());
        }
        let mut rule = rule(name, kind, entropy, patterns).ok_or(format!("no such rule: {row}"))?;
        rule.is_strict = is_strict;
        rules.push(rule);
    }
    let keywords = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .kind(Some(AhoCorasickKind::DFA))
        .build(&words)
        .map_err(|error| error.to_string())?;
    Ok(Rules { rules, keywords, of_keyword })
}

fn rule(name: &'static str, kind: &str, entropy: &str, patterns: &[&str]) -> Option<Rule> {
    let kind = match kind.split(' ').collect::<Vec<_>>().as_slice() {
        ["assign"] => RuleKind::Assign,
        ["prefix"] => RuleKind::Prefix,
        ["token"] => RuleKind::Token,
        ["named"] => RuleKind::Named,
        ["pem"] => RuleKind::PrivateKey,
        ["cookie"] => RuleKind::Cookie,
        [near @ ("near" | "at"), before, after] => RuleKind::Near {
            before: before.parse().ok()?,
            after: after.parse().ok()?,
            is_exact: *near == "at",
        },
        _ => return None,
    };
    let (first, secret) = (patterns.first()?, patterns.get(1));
    let pattern = match (kind, secret) {
        (RuleKind::Assign, Some(secret)) => {
            let end = if name == GENERIC { ASSIGNMENT_END } else { STRICT_END };
            format!(r"\A(?i)(?:{first}){ASSIGNMENT}(?P<secret>{secret}){end}")
        }
        (RuleKind::Prefix | RuleKind::Token | RuleKind::Near { before: 0, .. }, None) => {
            format!(r"\A(?:{first})")
        }
        (RuleKind::Near { .. }, None) => (*first).to_owned(),
        (RuleKind::Named | RuleKind::PrivateKey | RuleKind::Cookie, None) => String::new(),
        _ => return None,
    };
    let needs_boundary = first.starts_with(r"\b") || first.starts_with(r"(?i)\b");
    let entropy = entropy.parse().ok()?;
    let is_strict = false;
    Some(Rule { name, kind, entropy, needs_boundary, is_strict, pattern, regex: OnceLock::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_compiles() {
        let strict = rules(Level::Strict).unwrap();
        assert!(strict.rules.len() > rules(Level::Plain).unwrap().rules.len());
        for rule in &strict.rules {
            let result = compile(&rule.pattern);
            assert!(result.is_ok(), "{}: {}", rule.name, result.unwrap_err());
            assert!(rule.regex().is_some());
        }
    }

    #[test]
    fn keywords_are_found_in_any_case_and_inside_each_other() {
        let rules = rules(Level::Plain).unwrap();
        let found: Vec<&str> = rules
            .keywords
            .find_overlapping_iter("RapidAPI-key")
            .flat_map(|hit| &rules.of_keyword[hit.pattern().as_usize()])
            .map(|rule| rules.rules[*rule].name)
            .collect();
        assert!(found.contains(&"rapidapi-access-token"), "{found:?}");
        assert!(found.contains(&GENERIC), "{found:?}");
    }
}
