//! What looks like a secret and is none: names of variables, examples, paths, ids
//! and hashes.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use aho_corasick::MatchKind;
use regex::bytes::Regex;

use super::placeholder::entropy;
use super::placeholder::is_placeholder;
use super::rules::Rule;
use super::rules::compile;

const STOP_WORDS: &str = include_str!("../../data/stop-words.txt");

/// Texts that are no secret by any rule: constants, one letter again and again,
/// variables of shells and templates, format marks, paths, and words of examples.
const NO_SECRET: &str = r"(?i:^true|false|null$)|^(?i:a+|b+|c+|d+|e+|f+|g+|h+|i+|j+|k+|l+|m+|n+|o+|p+|q+|r+|s+|t+|u+|v+|w+|x+|y+|z+|\*+|\.+)$|^\$(?:\d+|\{\d+\})$|^\$(?:[A-Z_]+|[a-z_]+)$|^\$\{(?:[A-Z_]+|[a-z_]+)\}$|^\{\{[ \t]*[\w ().|]+[ \t]*\}\}$|^\$\{\{.*\}\}$|^%(?:[A-Z_]+|[a-z_]+)%$|^%[+\-# 0]?[bcdeEfFgGoOpqstTUvxX]$|^\{\d{0,2}\}$|^@(?:[A-Z_]+|[a-z_]+)@$|^/Users/(?i)[a-z0-9]+/[\w ./-]+$|^/(?:bin|etc|home|opt|tmp|usr|var)/[\w ./-]+$|(?i:abcdefghijklmnopqrstuvwxyz|example|placeholder|your[_-]|changeme|dummy|x{6}|\*{4}|\[redacted:)";

/// The same for single rules.
const NO_SECRET_OF: &[(&str, &str)] = &[
    (
        "curl-auth-user",
        r#"[^:]+:(?:change(?:it|me)|pass(?:word)?|pwd|test|token|\*+|x+)|['"]?<[^>]+>['"]?:['"]?<[^>]+>|<[^:]+:[^>]+>['"]?|[^:]+:\[[^\]]+\]|[^:]+:\{[^}]*\}|['"]?[^:]+['"]?:['"]?\$(?:\d|\w+|\{(?:\d|\w+)\})['"]?|\$\([^)]+\):\$\([^)]+\)|['"]?\$?\{\{[^}]+\}\}['"]?:['"]?\$?\{\{[^}]+\}\}['"]?"#,
    ),
    ("gcp-api-key", r"AIzaSyabcdefghijklmnopqrstuvwxyz1234567"),
    (
        "kubernetes-secret-yaml",
        r#"[\w.-]+:(?:[ \t]*(?:\||>[-+]?)\s+)?[ \t]*(?:\{\{[ \t\w"|$:=,.-]+\}\}|""|'')"#,
    ),
    ("nuget-config-password", r"^%\S.*%$"),
    ("vault-service-token", r"s\.[A-Za-z]{24}"),
    (super::rules::GENERIC, r"^[a-zA-Z_.-]+$"),
    ("hashicorp-tf-password", r"^[^0-9]+$|^[^a-zA-Z]+$"),
    ("authorization-header", r"^[A-Za-z._~+/-]+$"),
    ("authorization-header", r"^[A-Za-z]?[a-z/]+$"),
    ("url-token", r"^[a-z_.-]+$|^[A-Z_.-]+$"),
    ("sk-api-key", r"^sk[-_][a-z]+(?:[-_][a-z]*[0-9]{0,2})*$"),
    ("unknown-token", r"^[^A-Z]*$|^[^0-9]*$"),
    ("login-pair", r"^[^0-9]*$"),
    ("prose-password", r"^[^0-9]*$|^[0-9.,:]*$"),
    (
        "url-password",
        r"^(?i)(?:pass(?:word|wd)?|secret|postgres|mysql|admin|root|user|test|token)[0-9]{0,3}$|^[$<{%\[(*]",
    ),
];

/// Names that hold one of the words and no secret.
const NO_SECRET_NAME: &str = r"(?i)(?:access(?:ibility|or)|access[_.-]?id|random[_.-]?access|api[_.-]?(?:id|name|version)|rapid|capital|[a-z0-9-]*?api[a-z0-9-]*?:jar:|author|X-MS-Exchange-Organization-Auth|Authentication-Results|(?:credentials?[_.-]?id|withCredentials)|(?:bucket|cache|foreign|hot|idx|natural|primary|pub(?:lic)?|schema|sequence)[_.-]?key|(?:turkey)|key(?:note)|key[_.-]?(?:alias|board|code|frame|id|length|mesh|name|pair|press(?:ed)?|ring|selector|signature|size|stone|storetype|word|up|down|left|right)|key[_.-]?vault[_.-]?(?:id|name)|keyVaultToStoreSecrets|key(?:store|tab)[_.-]?(?:file|path)|issuerkeyhash|(?-i:[DdMm]onkey|[DM]ONKEY)|keying|(?:secret)[_.-]?(?:length|name|size)|UserSecretsId|(?:csrf)[_.-]?token|(?:io\.jsonwebtoken[ \t]?:[ \t]?[\w-]+)|(?:api|credentials|token)[_.-]?(?:endpoint|ur[il])|public[_.-]?token|(?:key|token)[_.-]?file|(?-i:(?:[A-Z_]+=\n[A-Z_]+=|[a-z_]+=\n[a-z_]+=)(?:\n|\z))|(?-i:(?:[A-Z.]+=\n[A-Z.]+=|[a-z.]+=\n[a-z.]+=)(?:\n|\z)))";

/// Lines that hold names of secrets and no secret.
const NO_SECRET_LINE: &str = r#"--mount=type=secret,|(?i:cache[ _-]?key)|import[ \t]+\{[ \t\w,]+\}[ \t]+from[ \t]+['"][^'"]+['"]"#;

/// Names that only a secret is given to. Under any other name an id or a hash is
/// just that.
const STRONG_NAME: &str = r"(?i)secret|passw|credential|creds|private|api[_.-]?(?:key|token)|(?:auth|access|session|bearer|refresh|service|bot)[_.-]?(?:key|token)";

/// Ids and hashes of the client, of version control and of package managers.
const ID: &str = r"^(?:[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128})$";
/// The same with a mark that says so, which is no secret under any name.
const MARKED_ID: &str =
    r"^(?:toolu_|srvtoolu_|msg_|req_|agent-|h1:|md5[-:]|sha(?:1|256|384|512)[-:])[\w+/=-]+$";

struct Patterns {
    no_secret: Regex,
    no_secret_of: Vec<(&'static str, Regex)>,
    no_secret_name: Regex,
    no_secret_line: Regex,
    strong_name: Regex,
    id: Regex,
    marked_id: Regex,
    stop_words: AhoCorasick,
}

static PATTERNS: LazyLock<Option<Patterns>> = LazyLock::new(|| read().ok());

fn read() -> Result<Patterns, Box<dyn std::error::Error>> {
    let of = |(name, pattern): &(&'static str, &str)| Ok((*name, compile(pattern)?));
    Ok(Patterns {
        no_secret: compile(NO_SECRET)?,
        no_secret_of: NO_SECRET_OF.iter().map(of).collect::<Result<_, regex::Error>>()?,
        no_secret_name: compile(NO_SECRET_NAME)?,
        no_secret_line: compile(NO_SECRET_LINE)?,
        strong_name: compile(STRONG_NAME)?,
        id: compile(ID)?,
        marked_id: compile(MARKED_ID)?,
        stop_words: AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::LeftmostLongest)
            .build(STOP_WORDS.lines())?,
    })
}

/// A place that fits a rule's pattern.
pub(super) struct Candidate<'a> {
    pub(super) secret: &'a [u8],
    /// From the name that it is given to up to the end of the match.
    pub(super) matched: &'a [u8],
    /// The line around it, cut where it is long.
    pub(super) line: &'a [u8],
    /// What stands right before the secret.
    pub(super) before: &'a [u8],
}

/// Whether what fits a rule's pattern is a secret. Without the lists everything is.
pub(super) fn is_secret(rule: &Rule, candidate: &Candidate<'_>) -> bool {
    let secret = candidate.secret;
    if rule.entropy > 0.0 && entropy(secret) <= rule.entropy {
        return false;
    }
    let Some(patterns) = PATTERNS.as_ref() else { return true };
    if patterns.no_secret.is_match(secret) && !is_long_key(rule) {
        return false;
    }
    let of_rule = patterns.no_secret_of.iter().filter(|(name, _)| *name == rule.name);
    if of_rule.into_iter().any(|(_, pattern)| pattern.is_match(secret)) {
        return false;
    }
    if rule.is_strict && is_placeholder(secret) {
        return false;
    }
    if !rule.is_generic() {
        return true;
    }
    let is_id = patterns.marked_id.is_match(secret)
        || candidate.before.ends_with(b"h1:")
        || (patterns.id.is_match(secret) && !patterns.strong_name.is_match(candidate.matched));
    !is_id
        && !patterns.no_secret_name.is_match(candidate.matched)
        && !patterns.no_secret_line.is_match(candidate.line)
        && !is_wordy(&patterns.stop_words, secret)
}

/// Secrets of many lines hold any words by chance.
fn is_long_key(rule: &Rule) -> bool {
    matches!(
        rule.name,
        "private-key" | "1password-service-account-token" | "kubernetes-secret-yaml"
    )
}

/// Whether a text is made of words: one that is long, or short ones that are a good
/// part of it. A random text holds short words by chance.
fn is_wordy(stop_words: &AhoCorasick, secret: &[u8]) -> bool {
    let mut covered = 0;
    for word in stop_words.find_iter(secret) {
        if word.len() >= 6 {
            return true;
        }
        covered += word.len();
    }
    covered * 4 >= secret.len()
}

/// Whether a text is an id or a hash, with or without a mark.
pub(super) fn is_id(text: &[u8]) -> bool {
    PATTERNS.as_ref().is_some_and(|patterns| patterns.id.is_match(text)) || is_marked_id(text)
}

/// Whether a text says itself that it is an id or a hash.
pub(super) fn is_marked_id(text: &[u8]) -> bool {
    PATTERNS.as_ref().is_some_and(|patterns| patterns.marked_id.is_match(text))
}

/// Whether a text is an ordinary word, or made of such.
pub(super) fn is_word(text: &[u8]) -> bool {
    PATTERNS.as_ref().is_some_and(|patterns| is_wordy(&patterns.stop_words, text))
}

/// Whether a text is one of the words that no secret is.
pub(super) fn is_stop_word(text: &[u8]) -> bool {
    let is_whole = |word: &str| word.as_bytes().eq_ignore_ascii_case(text);
    STOP_WORDS.lines().any(is_whole)
}

/// Whether a long word is in a text.
pub(super) fn has_long_word(text: &[u8]) -> bool {
    const LONG: usize = 6;
    let Some(patterns) = PATTERNS.as_ref() else { return false };
    patterns.stop_words.find_iter(text).any(|word| word.len() >= LONG)
}

/// Whether a text is made of words with signs between them, as names are.
pub(super) fn is_wordy_name(text: &[u8]) -> bool {
    let is_sign = |byte: &u8| matches!(byte, b'-' | b'_' | b'.' | b'/' | b':');
    let parts = || text.split(is_sign).filter(|part| !part.is_empty());
    let is_plain = |part: &[u8]| {
        let digits = part.iter().filter(|byte| byte.is_ascii_digit()).count();
        digits == part.len()
            || (digits <= 2
                && part.iter().all(|byte| byte.is_ascii_alphanumeric())
                && !has_mixed_case(part))
    };
    parts().count() > 1 && parts().all(is_plain) && parts().any(|part| part.len() >= 4)
}

/// Whether capitals stand between small letters.
fn has_mixed_case(part: &[u8]) -> bool {
    let changes =
        part.windows(2).filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    changes.count() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_can_be_read() {
        assert!(read().is_ok(), "{:?}", read().err());
    }

    #[test]
    fn entropy_is_that_of_shannon() {
        assert_eq!(entropy(b"aaaa"), 0.0);
        assert_eq!(entropy(b"abab"), 1.0);
        assert_eq!(entropy(b"abcdefgh"), 3.0);
    }

    #[test]
    fn words_are_told_from_random_text() {
        let patterns = PATTERNS.as_ref().unwrap();
        assert!(is_wordy(&patterns.stop_words, b"my-database-name-7"));
        assert!(!is_wordy(&patterns.stop_words, b"q7Zk2mVx9Lp4Rt8Wn3Ys6Bd1Hf5Jg0Cu"));
    }
}
