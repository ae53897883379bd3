//! Secrets that are known by the name they are given to, in any language, file or
//! command: `PGPASSWORD=…`, `"clientSecret": "…"`, `--api-key …`, `| DB_PASS | … |`.
//!
//! | module | what |
//! |---|---|
//! | `name` | what a name says |
//! | `place` | where its value is |
//! | `literal` | where a value begins and ends |
//! | `value` | whether that value is a secret |
//!
//! A keyword in the text is the start: the name around it is read, then what follows.
//! Nothing is read twice, and no more than a few hundred bytes for each keyword.

mod literal;
mod name;
mod place;
mod value;

use std::borrow::Cow;
use std::ops::Range;

use super::hit::Hit;
use super::hit::Rank;
use name::Class;
use value::How;

/// How a value is given to a name.
#[derive(Debug, Clone, Copy)]
struct Given {
    class: Class,
    how: How,
    is_quoted: bool,
    /// Whether the name is written as variables of the environment are.
    is_upper: bool,
    /// Whether the name has `-` in it, which no variable of a program has.
    is_kebab: bool,
    /// What follows the value; a line's end at the end of the text.
    follows: u8,
}

impl Given {
    /// Whether nothing follows the value on its line.
    fn ends_line(&self) -> bool {
        matches!(self.follows, b'\n' | b'\r')
    }
}

/// A name of a secret in a text.
#[derive(Debug, Clone)]
struct Name {
    range: Range<usize>,
    class: Class,
    is_upper: bool,
    is_kebab: bool,
    is_flag: bool,
}

/// Whether a secret's name and something that could be its value are here. `text` may
/// be JSON. A `true` may be wrong.
pub(super) fn is_possible(text: &[u8], keyword: &Range<usize>) -> bool {
    name_at(text, keyword).is_some_and(|name| place::may_follow(text, &name))
}

/// Finds the value that is given to the name around a keyword.
pub(super) fn find(text: &[u8], keyword: &Range<usize>, hits: &mut Vec<Hit>) {
    let Some(name) = name_at(text, keyword) else { return };
    let name = &name;
    place::each_value(text, name, |range, how, is_quoted| {
        let follows = text.get(range.end).copied().unwrap_or(b'\n');
        let Name { class, is_upper, is_kebab, .. } = *name;
        let given = Given { class, how, is_quoted, is_upper, is_kebab, follows };
        let found = value::is_secret(&text[range.clone()], &given)
            && !(is_result(text, name) && !is_quoted && how == How::Loose);
        if found {
            let rule = Cow::Borrowed(name.class.rule());
            hits.push(Hit { range, rule, rank: Rank::Generic });
        }
        found
    });
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// The name that a keyword is in.
fn name_at(text: &[u8], keyword: &Range<usize>) -> Option<Name> {
    const MOST_BEFORE: usize = 48;
    const MOST_AFTER: usize = 32;
    if !text[keyword.start].is_ascii() {
        let (class, range) = (Class::Password, keyword.clone());
        return Some(Name { range, class, is_upper: false, is_kebab: false, is_flag: false });
    }
    let is_name = |byte: &&u8| is_name_byte(**byte);
    let before = text[..keyword.start].iter().rev().take(MOST_BEFORE).take_while(is_name).count();
    let after = text[keyword.end..].iter().take(MOST_AFTER).take_while(is_name).count();
    let (mut start, mut end) = (keyword.start - before, keyword.end + after);
    // The letter of an escape belongs to no name.
    if start > 0 && text[start - 1] == b'\\' && start < keyword.start {
        start += 1;
    }
    while end > keyword.end && text[end - 1] == b'-' {
        end -= 1;
    }
    let name = &text[start..end];
    let mut class = name::class_of(name)?;
    if class == Class::Query && name.eq_ignore_ascii_case(b"key") && is_secret_key(&text[..start]) {
        class = Class::Key;
    }
    let is_flag = name.starts_with(b"-");
    let is_kebab = is_flag || name.contains(&b'-');
    Some(Name { range: start..end, class, is_upper: name::is_upper(name), is_kebab, is_flag })
}

/// Whether a name is what tests say when they succeed, or a file of users.
fn is_result(text: &[u8], name: &Name) -> bool {
    let before = &text[..name.range.start];
    let is_word = |byte: &u8| !byte.is_ascii_whitespace();
    let is_path = before.ends_with(b"/") && before.len() > 1 && is_word(&before[before.len() - 2]);
    let name = &text[name.range.clone()];
    is_path || name == b"PASS" || name == b"Pass"
}

/// Whether the words before `key` say that it is a secret one: `API key`.
fn is_secret_key(before: &[u8]) -> bool {
    const OWNERS: &[&[u8]] = &[
        b"api ",
        b"secret ",
        b"access ",
        b"private ",
        b"encryption ",
        b"master ",
        b"license ",
        b"signing ",
    ];
    let end = &before[before.len().saturating_sub(12)..];
    let lower = end.to_ascii_lowercase();
    OWNERS.iter().any(|owner| lower.ends_with(owner))
}
