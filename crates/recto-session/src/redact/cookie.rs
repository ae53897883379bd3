//! Cookies in headers and commands: the values of all that could be a session.

use std::ops::Range;

use super::placeholder::entropy;
use super::placeholder::is_placeholder;

/// Attributes and preferences, which are no sessions.
const OPEN: &[&[u8]] = &[
    b"path",
    b"domain",
    b"expires",
    b"max-age",
    b"samesite",
    b"theme",
    b"lang",
    b"locale",
    b"priority",
    b"_ga",
    b"_gid",
    b"version",
];

/// Calls `each` with the values of the cookies after the keyword.
pub(super) fn each_value(text: &[u8], keyword: &Range<usize>, mut each: impl FnMut(Range<usize>)) {
    const MOST: usize = 8 * 1024;
    let Some(mut at) = start(text, keyword) else { return };
    let end = text.len().min(at + MOST);
    while let Some((name, value)) = pair(&text[..end], at) {
        let key = text[name].to_ascii_lowercase();
        if !OPEN.contains(&key.as_slice()) && is_session(&text[value.clone()]) {
            each(value.clone());
        }
        let rest = &text[value.end..end];
        let gap = rest.iter().take_while(|byte| matches!(byte, b';' | b' ')).count();
        if gap == 0 {
            return;
        }
        // An attribute without a value, such as `Secure`.
        let word = rest[gap..].iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let is_flag = matches!(rest.get(gap + word), Some(b';'));
        let flag = if is_flag { word + 1 } else { 0 };
        let more = rest[gap + flag..].iter().take_while(|byte| **byte == b' ').count();
        at = value.end + gap + flag + more;
    }
}

/// Where the first cookie begins, if the keyword is the name of a header or an option.
fn start(text: &[u8], keyword: &Range<usize>) -> Option<usize> {
    const MOST: usize = 12;
    let is_option = text[keyword.clone()].starts_with(b"-");
    if is_option && keyword.start.checked_sub(1).is_none_or(|at| text[at] != b' ') {
        return None;
    }
    let mut at = keyword.end;
    let mut has_operator = is_option;
    while at < text.len() && at - keyword.end < MOST {
        match text[at] {
            b':' | b'=' => has_operator = true,
            b' ' | b'"' | b'\'' | b'\\' | b']' | b',' => {}
            _ => break,
        }
        at += 1;
    }
    let is_flag = text[..keyword.start].ends_with(b"--");
    (has_operator || is_flag).then_some(at)
}

/// The name and the value of the cookie at a place.
fn pair(text: &[u8], at: usize) -> Option<(Range<usize>, Range<usize>)> {
    const LONGEST: usize = 80;
    let rest = text.get(at..)?;
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_-.%".contains(byte);
    let name = rest.iter().take(LONGEST).take_while(is_name).count();
    if name == 0 || rest.get(name) != Some(&b'=') {
        return None;
    }
    let is_value = |byte: &&u8| **byte > b' ' && !b";\"'\\,<>`".contains(byte);
    let length = rest[name + 1..].iter().take_while(is_value).count();
    let start = at + name + 1;
    Some((at..at + name, start..start + length))
}

fn is_session(value: &[u8]) -> bool {
    let has = |test: fn(&u8) -> bool| value.iter().any(test);
    value.len() >= 12
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && !is_placeholder(value)
        && entropy(value) > 2.5
}
