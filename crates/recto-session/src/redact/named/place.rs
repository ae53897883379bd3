//! Where the value of a name is: after `=`, in the next argument, in the next cell.

use std::ops::Range;

use super::Name;
use super::literal::Ends;
use super::literal::after_opening;
use super::literal::after_spaces;
use super::literal::bare;
use super::literal::value_at;
use super::name::Class;
use super::value::How;

/// What closes a name: quotes, perhaps escaped, brackets, and marks of Markdown.
fn after_closers(text: &[u8], mut at: usize) -> (usize, bool) {
    const MOST: usize = 8;
    let (start, mut has_quote) = (at, false);
    while at - start < MOST {
        match text.get(at) {
            Some(b'"' | b'\'' | b'`') => has_quote = true,
            Some(b'\\')
                if text.get(at + 1).is_some_and(|next| matches!(next, b'"' | b'\'' | b'\\')) => {}
            Some(b']' | b'*') => {}
            _ => break,
        }
        at += 1;
    }
    (at, has_quote)
}

/// Whether a value may follow a name. `text` may be JSON.
pub(super) fn may_follow(text: &[u8], name: &Name) -> bool {
    const NEAR: usize = 48;
    let (after, has_quote) = after_closers(text, name.range.end);
    let at = after_spaces(text, after);
    match text.get(at) {
        Some(b'=' | b':' | b'?' | b'|' | b',' | b'(' | b'>' | b'<') => {
            // Counts and states are everywhere: `"token": 12`, `"password": null`.
            let rest = text[at + 1..].trim_ascii_start();
            !rest.starts_with(b"null") && !rest.starts_with(b"true") && !rest.starts_with(b"false")
        }
        Some(b'"' | b'\'' | b'`' | b'\\' | b'\n' | b'\r') => true,
        None => false,
        Some(_) if at > after => {
            let rest = &text[at..text.len().min(at + NEAR)];
            let word = rest.iter().take_while(|byte| !byte.is_ascii_whitespace()).count();
            let is_said =
                rest.starts_with(b"is ") || rest.starts_with(b"was ") || rest.starts_with(b"or ");
            name.is_flag
                || name.is_upper
                || has_quote
                || is_said
                || rest[..word].iter().any(u8::is_ascii_digit)
                || rest[..word].iter().filter(|byte| byte.is_ascii_uppercase()).count() > 1
                || rest.starts_with(b"-")
                || rest.starts_with(b"value")
        }
        Some(_) => has_quote,
    }
}

/// Calls `each` with places where the value may be, until one is the value.
pub(super) fn each_value(
    text: &[u8],
    name: &Name,
    mut each: impl FnMut(Range<usize>, How, bool) -> bool,
) {
    let before = name.range.start.checked_sub(1).map_or(b' ', |at| text[at]);
    let (after, has_quote) = after_closers(text, name.range.end);
    let at = after_spaces(text, after);
    let rest = &text[at.min(text.len())..];
    let is_tight = at == name.range.end;
    let mut quoted = |start: usize, how: How| match value_at(text, start, Ends::Plain) {
        Some((range, true)) => each(range, how, true),
        _ => false,
    };
    match rest {
        [b'=', b'=' | b'~', ..] | [b'!', b'=', ..] | [b'|', b'|', ..] | [b'?', b'?' | b':', ..] => {
            let operator = rest.iter().take_while(|byte| b"=!|?:~".contains(byte)).count();
            quoted(at + operator, How::Loose);
        }
        [b'o', b'r', b' ', ..] if at > after => {
            quoted(at + 3, How::Loose);
        }
        [b'?', b'=', ..] | [b':', b'=', ..] | [b'=', b'>', ..] => {
            assigned(text, name, at + 2, How::Loose, &mut each);
        }
        // LDIF, where the value is in base64.
        [b':', b':', b' ', ..] => assigned(text, name, at + 2, How::Loose, &mut each),
        [b':', b':', ..] => {}
        // The default of a variable of the shell.
        [b':', b'-', ..] if before == b'{' => {
            if let Some((range, is_quoted)) = value_at(text, at + 2, Ends::Plain) {
                each(range, How::Tight, is_quoted);
            }
        }
        [b'=', next, ..] => {
            let is_query = matches!(before, b'?' | b'&' | b'#');
            let how = match is_tight && !next.is_ascii_whitespace() {
                true if is_query => How::Query,
                true if name.is_flag => How::Command,
                true => How::Tight,
                false => How::Loose,
            };
            assigned(text, name, at + 1, how, &mut each);
        }
        [b':', ..] => assigned(text, name, at + 1, How::Loose, &mut each),
        [b'|', ..] => cell(text, at + 1, &mut each),
        [b',', ..] if has_quote => {
            let next = after_white(text, at + 1);
            if !quoted(next, How::Beside) {
                sibling(text, at, &mut each);
            }
        }
        [b',', ..] | [b'\n', ..] | [b'\r', ..] if !has_quote => {
            sibling(text, at, &mut each);
            if name.class == Class::Password {
                columns(text, name, &mut each);
            }
        }
        [b'(', ..] => {
            quoted(at + 1, How::Beside);
        }
        [b'>', ..] if before == b'<' || before == b'/' => element(text, at + 1, &mut each),
        [b'<', b'/', ..] => element_pair(text, at, &mut each),
        _ if at > after => spaced(text, name, at, &mut each),
        _ if has_quote => {
            sibling(text, at, &mut each);
        }
        _ => {}
    }
}

type Each<'a> = &'a mut dyn FnMut(Range<usize>, How, bool) -> bool;

/// After an operator: the value, or a type and then the value.
fn assigned(text: &[u8], name: &Name, at: usize, how: How, each: Each<'_>) {
    let ends = if how == How::Query { Ends::Query } else { Ends::Plain };
    let at_operator = at;
    let at = after_white_of_value(text, at);
    if name.class == Class::Header {
        return header(text, at, each);
    }
    let at = after_block_mark(text, at);
    let Some((range, is_quoted)) = value_at(text, at, ends) else {
        return;
    };
    let is_colon = at_operator.checked_sub(1).is_some_and(|before| text[before] == b':');
    let value = if is_quoted || !is_colon { None } else { typed(text, range.start) };
    if value.is_none() && (each(range.clone(), how, is_quoted) || is_quoted) {
        return;
    }
    if let Some(start) = value.or_else(|| wrapped(text, range.start))
        && let Some((range, true)) = value_at(text, start, Ends::Plain)
    {
        each(range, how, true);
    }
}

/// Past the mark of YAML for a text of lines of its own.
fn after_block_mark(text: &[u8], at: usize) -> usize {
    let rest = &text[at.min(text.len())..];
    let mark = match rest {
        [b'|' | b'>', b'-' | b'+', b'\n', ..] => 3,
        [b'|' | b'>', b'\n', ..] => 2,
        [b'\\', b'\n', ..] => 2,
        _ => return at,
    };
    after_white(text, at + mark)
}

/// `name: Type = "…"`: where the value begins.
fn typed(text: &[u8], at: usize) -> Option<usize> {
    const MOST: usize = 48;
    let rest = text.get(at..text.len().min(at + MOST))?;
    let is_type = |byte: &u8| byte.is_ascii_alphanumeric() || b"_<>&' [],?:*.|".contains(byte);
    let equals = rest.iter().position(|byte| *byte == b'=')?;
    let follows = rest.get(equals + 1)?;
    (rest[..equals].iter().all(is_type) && !b"=>".contains(follows)).then_some(at + equals + 1)
}

/// `name = String::from("…")`: where the value begins.
fn wrapped(text: &[u8], at: usize) -> Option<usize> {
    const MOST: usize = 40;
    const WRAPPERS: &[&[u8]] = &[
        b"from",
        b"String",
        b"bytes",
        b"Some",
        b"b64decode",
        b"new",
        b"Secret",
        b"SecretStr",
        b"SecretString",
        b"Password",
        b"ConvertTo-SecureString",
        b"fromString",
        b"Ok",
        b"atob",
        b"btoa",
        b"Buffer",
        b"quote",
        b"sensitive",
        b"base64decode",
        b"Bearer",
    ];
    let rest = text.get(at..text.len().min(at + MOST))?;
    let open = rest.iter().position(|byte| *byte == b'(')?;
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let length = rest[..open].iter().rev().take_while(is_name).count();
    WRAPPERS.contains(&&rest[open - length..open]).then_some(at + open + 1)
}

/// `Authorization: Bearer …`, with or without the scheme.
fn header(text: &[u8], at: usize, each: Each<'_>) {
    const LONGEST_SCHEME: usize = 20;
    let at = after_opening(text, at).0;
    let rest = &text[at.min(text.len())..];
    let is_word = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let word = rest.iter().take(LONGEST_SCHEME).take_while(is_word).count();
    let start = if rest.get(word) == Some(&b' ') { after_spaces(text, at + word) } else { at };
    if let Some(range) = bare(text, start, Ends::Plain) {
        each(range, How::Loose, false);
    }
}

/// In the next cell of a table.
fn cell(text: &[u8], at: usize, each: Each<'_>) {
    if let Some((range, is_quoted)) = value_at(text, after_spaces(text, at), Ends::Plain) {
        each(range, How::Beside, is_quoted);
    }
}

/// After a space: flags, directives, `.netrc`, `password is …`, SQL.
fn spaced(text: &[u8], name: &Name, at: usize, each: Each<'_>) {
    // Lines can be very long; what matters is near.
    let near = &text[name.range.start.saturating_sub(80)..name.range.start];
    let line = near.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let rest = &text[at..];
    if name.is_flag {
        let at = after_block_mark(text, at);
        let rest = &text[at..];
        if rest.first() != Some(&b'-')
            && let Some((range, is_quoted)) = value_at(text, at, Ends::Plain)
        {
            each(range, How::Command, is_quoted);
        }
        return;
    }
    if name.class == Class::Header {
        return header(text, at, each);
    }
    for said in [&b"is "[..], b"was ", b"to ", b"is: ", b"ist "] {
        if rest.starts_with(said) {
            if let Some((range, is_quoted)) = value_at(text, at + said.len(), Ends::Prose) {
                each(range, How::Beside, is_quoted);
            }
            return;
        }
    }
    if sibling(text, at, each) {
        return;
    }
    let Some((range, is_quoted)) = value_at(text, at, Ends::Plain) else { return };
    let word_before =
        line.trim_ascii_end().rsplit(u8::is_ascii_whitespace).next().unwrap_or_default();
    const DIRECTIVES: &[&[u8]] = &[
        b"ENV", b"ARG", b"SetEnv", b"setenv", b"set", b"-gx", b"-x", b"-Ux", b"-xU", b"add",
        b"put", b"PassEnv", b"SET",
    ];
    let is_directive = DIRECTIVES.iter().any(|directive| word_before.ends_with(directive));
    let how = if is_directive && name.is_upper { How::Command } else { How::Beside };
    let is_compound = text[name.range.clone()].iter().any(|byte| b"_-".contains(byte));
    let is_netrc = line.trim_ascii().is_empty()
        || [&b"login "[..], b"machine ", b"user "].iter().any(|word| contains(line, word));
    if is_quoted || is_directive || is_compound || is_netrc || name.is_upper {
        let tried = each(range.clone(), how, is_quoted);
        // SQL has a word between: `PASSWORD N'…'`.
        if !tried && !is_quoted && name.class == Class::Password {
            columns(text, name, each);
        }
    } else if name.class == Class::Password {
        columns(text, name, each);
    }
}

/// The name is itself a value: `name="password" value="…"`, `- name: X` and `value: …`.
fn sibling(text: &[u8], at: usize, each: Each<'_>) -> bool {
    const NEAR: usize = 120;
    const WORDS: &[&[u8]] = &[b"value", b"Value", b"default", b"--body", b"VALUE", b"content"];
    let window = &text[at.min(text.len())..text.len().min(at + NEAR)];
    let stop = memchr::memchr(b'}', window).unwrap_or(window.len());
    let window = &window[..stop];
    let found = WORDS.iter().filter_map(|word| {
        let place = memchr::memmem::find(window, word)?;
        let is_start =
            place == 0 || !super::is_name_byte(window[place - 1]) || window[place - 1] == b'-';
        let end = place + word.len();
        let is_end = window.get(end).is_some_and(|byte| !super::is_name_byte(*byte));
        (is_start && is_end).then_some((place, end))
    });
    let Some((place, end)) = found.min() else { return false };
    // Another name between means that the value is not of this one.
    if [&b"name"[..], b"key\"", b"Name"].iter().any(|word| contains(&window[..place], word)) {
        return false;
    }
    let (after, _) = after_closers(text, at + end);
    let mut start = after_spaces(text, after);
    if matches!(text.get(start), Some(b'=' | b':' | b'>')) {
        start = after_spaces(text, start + 1);
    } else if start == after {
        return false;
    }
    let Some((range, is_quoted)) = value_at(text, start, Ends::Plain) else { return false };
    each(range, How::Command, is_quoted)
}

/// `<password>…</password>`.
fn element(text: &[u8], at: usize, each: Each<'_>) {
    const MOST: usize = 512;
    let rest = &text[at.min(text.len())..text.len().min(at + MOST)];
    let Some(end) = memchr::memchr(b'<', rest) else { return };
    let inside = rest[..end].trim_ascii();
    let start = at + end - rest[..end].trim_ascii_start().len();
    if rest.get(end + 1) == Some(&b'/') && !inside.is_empty() {
        each(start..start + inside.len(), How::Loose, true);
    }
}

/// `<key>password</key><string>…</string>`.
fn element_pair(text: &[u8], at: usize, each: Each<'_>) {
    const MOST: usize = 80;
    let rest = &text[at..text.len().min(at + MOST)];
    let Some(close) = memchr::memchr(b'>', rest) else { return };
    let next = after_white(text, at + close + 1);
    if text.get(next) != Some(&b'<') || text.get(next + 1) == Some(&b'/') {
        return;
    }
    let rest = &text[next..text.len().min(next + MOST)];
    if let Some(open) = memchr::memchr(b'>', rest) {
        element(text, next + open + 1, each);
    }
}

/// Under the name, in the lines of a table: at the same column, or in the same field.
fn columns(text: &[u8], name: &Name, each: Each<'_>) {
    const MOST_LINES: usize = 20;
    const MOST_LINE: usize = 400;
    let from = name.range.start.saturating_sub(MOST_LINE);
    let head_start = match memchr::memrchr(b'\n', &text[from..name.range.start]) {
        Some(at) => from + at + 1,
        None if from == 0 => 0,
        None => return,
    };
    let column = name.range.start - head_start;
    let after = &text[name.range.end..text.len().min(name.range.end + MOST_LINE)];
    let Some(head_end) = memchr::memchr(b'\n', after).map(|at| name.range.end + at) else {
        return;
    };
    let head = &text[head_start..head_end.min(head_start + MOST_LINE)];
    let is_separated = |sign: u8| {
        let own = &text[name.range.start.saturating_sub(1)..text.len().min(name.range.end + 1)];
        own.contains(&sign) && head.iter().filter(|byte| **byte == sign).count() > 0
    };
    let separator = [b',', b';', b'\t'].into_iter().find(|sign| is_separated(*sign));
    let is_column = column == 0
        || text[head_start..name.range.start].ends_with(b"  ")
        || text[head_start..name.range.start].ends_with(b"| ")
        || head.trim_ascii().len() > name.range.len()
            && column > 0
            && text[name.range.start - 1] == b' '
            && head.iter().all(|byte| super::is_name_byte(*byte) || *byte == b' ');
    if separator.is_none() && (!is_column || head.trim_ascii().len() == name.range.len()) {
        return;
    }
    let mut start = head_end + 1;
    for _ in 0..MOST_LINES {
        let Some(rest) = text.get(start..).filter(|rest| !rest.is_empty()) else { return };
        let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = &rest[..length];
        if line.trim_ascii().is_empty() || length > MOST_LINE {
            return;
        }
        let place = match separator {
            Some(sign) => {
                let index =
                    text[head_start..name.range.start].iter().filter(|byte| **byte == sign).count();
                let mut fields = line.split(|byte| *byte == sign);
                let skipped: usize = fields.by_ref().take(index).map(|field| field.len() + 1).sum();
                (skipped <= line.len()).then_some(skipped)
            }
            None => line.get(column).filter(|byte| !byte.is_ascii_whitespace()).and_then(|_| {
                let is_start = column == 0 || line[column - 1].is_ascii_whitespace();
                is_start.then_some(column)
            }),
        };
        if let Some((range, is_quoted)) =
            place.and_then(|place| value_at(text, start + place, Ends::Plain))
        {
            each(range, How::Beside, is_quoted);
        }
        start += length + 1;
    }
}

/// White space of any kind, and escapes that stand for it.
fn after_white(text: &[u8], mut at: usize) -> usize {
    const MOST: usize = 80;
    let end = text.len().min(at + MOST);
    while at < end {
        match (text[at], text.get(at + 1)) {
            (b' ' | b'\t' | b'\n' | b'\r', _) => at += 1,
            (b'\\', Some(b'n' | b'r' | b't')) => at += 2,
            _ => break,
        }
    }
    at
}

/// Spaces, and marks of Markdown and tables around a value.
fn after_white_of_value(text: &[u8], at: usize) -> usize {
    let at = after_spaces(text, at);
    let marks = text[at.min(text.len())..].iter().take(2).take_while(|byte| **byte == b'*').count();
    after_spaces(text, at + marks)
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(text, word).is_some()
}
