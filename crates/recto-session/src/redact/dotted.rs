//! Tokens without a prefix that are known by their points: bot tokens of Discord, keys of
//! Zhipu.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr_iter;

use super::hit::Hit;
use super::hit::Rank;

/// The part between the points of a bot token.
const MIDDLE: usize = 6;

/// Whether a text, which may be JSON, may hold such a token.
pub(super) fn may_hold(text: &[u8]) -> bool {
    memchr_iter(b'.', text).any(|at| token_at(text, at).is_some())
}

/// Appends what is found.
pub(super) fn find(text: &[u8], hits: &mut Vec<Hit>) {
    for at in memchr_iter(b'.', text) {
        if let Some((range, rule)) = token_at(text, at) {
            hits.push(Hit { range, rule: Cow::Borrowed(rule), rank: Rank::Form });
        }
    }
}

/// The token whose first point is at a place.
fn token_at(text: &[u8], at: usize) -> Option<(Range<usize>, &'static str)> {
    // One byte decides for nearly all points.
    if text.get(at + 1 + MIDDLE) == Some(&b'.') {
        return bot_token(text, at).map(|range| (range, "discord-bot-token"));
    }
    let is_end = text.get(at + 17).is_none_or(|byte| !byte.is_ascii_alphanumeric());
    let is_hex = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    if !is_end || at < 32 || !is_hex(&text[at - 1]) || !text[at - 32..at].iter().all(is_hex) {
        return None;
    }
    let after = text.get(at + 1..at + 17)?;
    let has = |test: fn(&u8) -> bool| after.iter().any(test);
    let is_token = after.iter().all(u8::is_ascii_alphanumeric)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase);
    is_token.then_some((at - 32..at + 17, "zhipu-api-key"))
}

fn bot_token(text: &[u8], at: usize) -> Option<Range<usize>> {
    const FIRST: Range<usize> = 23..29;
    const LAST: Range<usize> = 27..46;
    let is_token = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
    let first = text[..at].iter().rev().take(FIRST.end).take_while(is_token).count();
    let start = at - first;
    let last_start = at + 2 + MIDDLE;
    let last = text[last_start..].iter().take(LAST.end).take_while(is_token).count();
    let middle = &text[at + 1..at + 1 + MIDDLE];
    // The first part is the base64 of a number.
    let is_bot = FIRST.contains(&first)
        && LAST.contains(&last)
        && middle.iter().all(|byte| is_token(&byte))
        && matches!(text[start], b'M' | b'N' | b'O')
        && text[start..at].iter().any(u8::is_ascii_lowercase);
    is_bot.then_some(start..last_start + last)
}
