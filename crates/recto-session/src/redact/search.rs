//! Where secrets are in a text.
//!
//! One pass finds keywords. What stands around a keyword is looked at by hand
//! first, because words such as `key` are everywhere; only a place that could hold
//! a secret is given to the pattern of a rule.

use std::borrow::Cow;
use std::ops::Range;

use super::allow::Candidate;
use super::allow::is_secret;
use super::cookie;
use super::dotted;
use super::hit::Hit;
use super::hit::Rank;
use super::named;
use super::private_key;
use super::rules::Rule;
use super::rules::RuleKind;
use super::rules::Rules;

/// The least characters of a secret after its keyword.
const LEAST_RUN: usize = 8;
/// The most bytes that a pattern is given.
const MOST_BYTES: usize = 64 * 1024;

/// Whether the text may hold a secret. `text` may be JSON: then an escape may stand
/// before and between what is looked for.
pub(super) fn may_hold_secret(rules: &Rules, text: &[u8]) -> bool {
    for keyword in rules.keywords.find_overlapping_iter(text) {
        for rule in &rules.of_keyword[keyword.pattern().as_usize()] {
            if is_possible(&rules.rules[*rule], text, &keyword.range()) {
                return true;
            }
        }
    }
    dotted::may_hold(text)
}

/// The secrets of a text, in order, none over another.
pub(super) fn secrets(rules: &Rules, text: &[u8]) -> Vec<Hit> {
    let mut hits = Vec::new();
    for keyword in rules.keywords.find_overlapping_iter(text) {
        for rule in &rules.of_keyword[keyword.pattern().as_usize()] {
            let rule = &rules.rules[*rule];
            if is_possible(rule, text, &keyword.range()) {
                find(rule, text, keyword.start(), keyword.end(), &mut hits);
            }
        }
    }
    dotted::find(text, &mut hits);
    apart(hits)
}

/// Of hits that overlap, one: of a rule for a known form rather than the generic
/// one, then the longest.
pub(super) fn apart(mut hits: Vec<Hit>) -> Vec<Hit> {
    if hits.len() > 1 {
        hits.sort_by(|one, other| {
            let rank = |hit: &Hit| (hit.rank, usize::MAX - hit.range.len(), hit.range.start);
            rank(one).cmp(&rank(other))
        });
        let mut kept: Vec<Hit> = Vec::new();
        // A text with very many secrets is rare; its hits are near each other in
        // no order, so all that are kept must be looked at.
        for hit in hits {
            let place = kept.partition_point(|other| other.range.start < hit.range.start);
            let free_before = place == 0 || kept[place - 1].range.end <= hit.range.start;
            let free_after = place == kept.len() || kept[place].range.start >= hit.range.end;
            if free_before && free_after {
                kept.insert(place, hit);
            }
        }
        return kept;
    }
    hits
}

/// Looks at the bytes around a keyword. A `true` may be wrong, a `false` is not.
fn is_possible(rule: &Rule, text: &[u8], keyword: &Range<usize>) -> bool {
    match rule.kind {
        RuleKind::Near { before, after, is_exact: true } => {
            let start = keyword.start.saturating_sub(before);
            let window = &text[start..text.len().min(keyword.end + after)];
            rule.regex().is_some_and(|regex| regex.is_match(window))
        }
        RuleKind::Near { .. } | RuleKind::PrivateKey | RuleKind::Cookie => true,
        RuleKind::Named => named::is_possible(text, keyword),
        RuleKind::Prefix | RuleKind::Token => {
            is_run(&text[keyword.end..])
                && (!rule.needs_boundary || is_boundary(text, keyword.start))
        }
        RuleKind::Assign => is_assignment(&text[keyword.end..]),
    }
}

/// Whether no word goes on at `at`. In JSON the letter before may be an escape.
fn is_boundary(text: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|before| text[before]) else { return true };
    let is_word = before.is_ascii_alphanumeric() || before == b'_';
    !is_word || (at >= 2 && text[at - 2] == b'\\')
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'_' | b'-' | b'+' | b'/' | b'=' | b'.' | b'~' | b'%' | b'|' | b':' | b'@'
        )
}

fn is_run(text: &[u8]) -> bool {
    // The prefix of a family of tokens may be followed by a mark of its own.
    text.len() >= LEAST_RUN && text[..LEAST_RUN].iter().all(|byte| is_token(*byte))
}

/// Whether a name goes on, then something is given to it that could be a secret.
fn is_assignment(text: &[u8]) -> bool {
    /// What is left of a name, quotes and white space, all of them escaped.
    const MOST_NAME: usize = 48;
    /// Operators, quotes and white space, all of them escaped.
    const MOST_BETWEEN: usize = 24;
    let mut at = 0;
    loop {
        match text.get(at) {
            Some(b'=' | b'>' | b':' | b'|' | b'?' | b',') => break,
            Some(b'_' | b'-' | b'.' | b' ' | b'\t' | b'\n' | b'\r' | b'\x0b' | b'\x0c') => {}
            Some(b'\'' | b'"' | b'\\') => {}
            Some(byte) if byte.is_ascii_alphanumeric() => {}
            _ => return false,
        }
        at += 1;
        if at > MOST_NAME {
            return false;
        }
    }
    let end = at + MOST_BETWEEN;
    while at <= end {
        match text.get(at) {
            // With the letter of the escape, which is part of no secret.
            Some(b'\\') => at += 2,
            Some(b'=' | b'>' | b':' | b'|' | b'?' | b',' | b'`' | b'\'' | b'"') => at += 1,
            Some(b' ' | b'\t' | b'\n' | b'\r' | b'\x0b' | b'\x0c') => at += 1,
            _ => break,
        }
    }
    // In text that is no JSON the letter after a backslash may begin the secret.
    text.get(at..).is_some_and(is_run)
}

/// A place that fits the pattern of a rule.
struct Found {
    keyword: usize,
    secret: Range<usize>,
    match_end: usize,
}

/// Searches with the pattern of a rule.
fn find(rule: &Rule, text: &[u8], keyword: usize, keyword_end: usize, hits: &mut Vec<Hit>) {
    match rule.kind {
        RuleKind::Named => return named::find(text, &(keyword..keyword_end), hits),
        RuleKind::PrivateKey => {
            let found = private_key::find(text, &(keyword..keyword_end));
            hits.extend(found.map(|range| of_form(rule, range)));
            return;
        }
        RuleKind::Cookie => {
            return cookie::each_value(text, &(keyword..keyword_end), |range| {
                hits.push(of_form(rule, range));
            });
        }
        RuleKind::Assign | RuleKind::Prefix | RuleKind::Token | RuleKind::Near { .. } => {}
    }
    let Some(regex) = rule.regex() else { return };
    let (start, end) = match rule.kind {
        RuleKind::Near { before, after, .. } => {
            (keyword.saturating_sub(before), text.len().min(keyword_end + after))
        }
        _ => (keyword, text.len().min(keyword + MOST_BYTES)),
    };
    // A pattern that begins with its keyword is tied to the start of what it is
    // given; others need to see what stands before.
    let is_tied = !matches!(rule.kind, RuleKind::Near { before, .. } if before > 0);
    let (base, mut at) = if is_tied { (start, 0) } else { (0, start) };
    let hay = &text[base..end];
    while let Some(groups) = regex.captures_at(hay, at) {
        let Some(whole) = groups.get(0) else { return };
        let secret = groups.name("secret").unwrap_or_else(|| {
            let filled = groups.iter().skip(1).flatten().find(|group| !group.is_empty());
            filled.unwrap_or(whole)
        });
        let range = base + secret.start()..base + secret.end();
        let found = Found { keyword, secret: range, match_end: base + whole.end() };
        if ends_well(rule, text, found.secret.end) && is_wanted(rule, text, &found) {
            hits.push(of_form(rule, found.secret));
        }
        if is_tied || whole.is_empty() {
            return;
        }
        at = whole.end();
    }
}

fn of_form(rule: &Rule, range: Range<usize>) -> Hit {
    let rank = if rule.is_generic() { Rank::Generic } else { Rank::Form };
    Hit { range, rule: Cow::Borrowed(rule.name), rank }
}

/// Whether no more characters follow a token of a known length.
fn ends_well(rule: &Rule, text: &[u8], end: usize) -> bool {
    let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    rule.kind != RuleKind::Token || !text.get(end).is_some_and(goes_on)
}

fn is_wanted(rule: &Rule, text: &[u8], found: &Found) -> bool {
    const MOST_NAME: usize = 50;
    const MOST_LINE: usize = 400;
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_.-".contains(byte);
    let name = text[..found.keyword].iter().rev().take(MOST_NAME).take_while(is_name).count();
    let Range { start, end } = found.secret;
    let is_same_line = |byte: &&u8| **byte != b'\n';
    let before = text[..start].iter().rev().take(MOST_LINE).take_while(is_same_line).count();
    let after = text[end..].iter().take(MOST_LINE).take_while(is_same_line).count();
    let matched = (found.keyword - name).min(start)..found.match_end.max(end);
    is_secret(
        rule,
        &Candidate {
            secret: &text[start..end],
            matched: &text[matched],
            line: &text[start - before..end + after],
            before: &text[start - before..start],
        },
    )
}
