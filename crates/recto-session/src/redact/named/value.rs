//! Whether what is given to a secret's name is a secret: not a variable, a call, a type,
//! a path, a label or an example.

use super::Given;
use super::name::Class;
use crate::redact::allow;
use crate::redact::placeholder::entropy;
use crate::redact::placeholder::is_placeholder;

/// What a value is given by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// `NAME=value`, without a space.
    Tight,
    /// `name = value` or `name: value`.
    Loose,
    /// `--name value`, `ENV NAME value`: a command, where there are no variables without a sign.
    Command,
    /// In the query of an address or a form.
    Query,
    /// `name is value`, `name('value')`, `name, 'value'`: more must speak for it.
    Beside,
}

/// Words that names of things, and not secrets, are made of.
const NAME_WORDS: &[&str] = &[
    "password",
    "passwd",
    "token",
    "secret",
    "credential",
    "apikey",
    "api_key",
    "api-key",
    "user",
    "field",
    "input",
    "label",
    "config",
    "header",
    "handler",
    "request",
    "response",
    "param",
    "value",
    "string",
    "service",
    "cert",
];

/// Whether `value` is a secret under the name it is given to.
pub(super) fn is_secret(value: &[u8], given: &Given) -> bool {
    const MOST: usize = 2048;
    let least = if given.class == Class::Password { 4 } else { 8 };
    if value.len() < least || value.len() > MOST || is_placeholder(value) {
        return false;
    }
    let shape = Shape::of(value);
    if shape.spaces > 0 || shape.letters + shape.digits == 0 || is_measure(value, &shape) {
        return false;
    }
    let is_environment = given.how == How::Tight && given.is_upper && shape.digits > 0;
    if !given.is_quoted && ((is_code(value, &shape) && !is_environment) || has_other_quotes(value))
    {
        return false;
    }
    match given.class {
        Class::Password => is_password(value, &shape, given),
        Class::Secret => {
            is_random(value, &shape, given)
                || (shape.is_mixed()
                    && is_plain_literal(given)
                    && !is_named_thing(value, &shape)
                    && given.how != How::Beside)
        }
        Class::Token | Class::Key | Class::Header => is_random(value, &shape, given),
        Class::Query => given.how == How::Query && is_random(value, &shape, given),
        Class::SomeKey => {
            value.len() >= 16 && is_random(value, &shape, given) && !allow::is_id(value)
        }
    }
}

/// Where a text is the value itself, and can hardly be code.
fn is_plain_literal(given: &Given) -> bool {
    let is_command = matches!(given.how, How::Command | How::Query);
    let is_name = given.is_upper || given.is_kebab;
    given.is_quoted || is_command || (given.how == How::Tight && is_name)
}

fn is_password(value: &[u8], shape: &Shape, given: &Given) -> bool {
    let is_literal = is_plain_literal(given) || (given.how == How::Loose && given.is_upper);
    if shape.is_mixed() {
        // `password2` is a variable, and the weakest password.
        let is_variable = !is_literal
            && (is_named_thing(value, shape)
                || (is_counted_word(value, shape) && may_be_code(value, given)));
        let is_name = given.is_quoted
            && shape.separators > 0
            && shape.signs == 0
            && is_named_thing(value, shape);
        let is_beside = given.how != How::Beside || (shape.digits > 0 && value.len() >= 6);
        return !is_variable && !is_name && is_beside;
    }
    if shape.digits == value.len() {
        return value.len() >= 6 && (is_literal || given.ends_line());
    }
    if given.how == How::Beside {
        return shape.is_random_letters(value);
    }
    if shape.other > 0 || is_named_thing(value, shape) {
        return false;
    }
    if shape.is_random_letters(value) && (is_literal || given.how == How::Tight) {
        return true;
    }
    // A word. A label begins with a capital, and a type or a state is a known word.
    let is_strict = given.is_upper || matches!(given.how, How::Command | How::Query);
    let is_letters = shape.letters == value.len() && value.len() >= 6;
    let is_known = if is_strict { allow::is_stop_word(value) } else { allow::is_word(value) };
    let is_label = value[0].is_ascii_uppercase() && shape.upper == 1;
    let is_word = is_letters && !is_known && (!is_label || is_strict) && !is_camel(value, given);
    let is_phrase =
        shape.separators > 0 && value.len() >= 10 && given.is_upper && given.how == How::Tight;
    let is_line = given.how == How::Tight && given.ends_line();
    (is_literal || is_line) && (is_word || is_phrase)
}

/// Whether a bare word could be a variable of a program, by what stands around it.
fn may_be_code(value: &[u8], given: &Given) -> bool {
    let is_variable = value.first().is_some_and(|first| !first.is_ascii_uppercase());
    let is_followed = match given.follows {
        b',' | b')' | b'(' => true,
        b';' => given.how != How::Tight,
        _ => false,
    };
    value.len() < 8 || (is_variable && is_followed)
}

/// `userPass`: a name of a variable, where no quotes are around it.
fn is_camel(value: &[u8], given: &Given) -> bool {
    let is_code = matches!(given.how, How::Tight | How::Loose | How::Beside);
    is_code && !given.is_quoted && !given.is_upper && value.iter().any(u8::is_ascii_uppercase)
}

/// Whether a text is random enough for a token or a key.
fn is_random(value: &[u8], shape: &Shape, given: &Given) -> bool {
    let least = match (given.how, given.is_quoted, given.class) {
        (How::Beside, ..) => 12,
        (_, _, Class::Secret) => 8,
        (How::Tight | How::Command | How::Query, ..) => 8,
        (How::Loose, true, _) => 10,
        (How::Loose, false, _) => 12,
    };
    if value.len() < least || allow::is_marked_id(value) {
        return false;
    }
    if shape.digits == 0 {
        let is_type = given.how == How::Loose && !given.is_quoted && !given.is_upper;
        return !is_type && shape.is_random_letters(value);
    }
    if shape.letters == 0 {
        return shape.digits >= 16 && shape.separators == 0 && given.class == Class::Secret;
    }
    // Of short ones, a word with a number after it is a name.
    let is_counted = value.len() < 24
        && is_counted_word(value, shape)
        && (!is_plain_literal(given) || value.len() < 10 || allow::is_word(value))
        && !(given.class == Class::Secret && given.ends_line() && value.len() >= 12);
    if is_named_thing(value, shape) || is_counted {
        return false;
    }
    let least = if value.len() < 16 { 2.5 } else { 2.9 };
    entropy(value) > least && !(value.len() < 40 && allow::is_wordy_name(value))
}

/// What a text is made of.
#[derive(Debug, Default)]
struct Shape {
    digits: usize,
    letters: usize,
    upper: usize,
    /// `_`, `-`, `.`, `/`, `:`, `=`, `+`: signs that names and encoded bytes have.
    separators: usize,
    /// Other signs of ASCII.
    signs: usize,
    spaces: usize,
    /// Bytes of other scripts.
    other: usize,
}

impl Shape {
    fn of(value: &[u8]) -> Shape {
        let mut shape = Shape::default();
        for byte in value {
            match byte {
                b'0'..=b'9' => shape.digits += 1,
                b'a'..=b'z' => shape.letters += 1,
                b'A'..=b'Z' => {
                    shape.letters += 1;
                    shape.upper += 1;
                }
                b'_' | b'-' | b'.' | b'/' | b':' | b'=' | b'+' => shape.separators += 1,
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => shape.spaces += 1,
                0x21..=0x7e => shape.signs += 1,
                0x80.. => shape.other += 1,
                _ => shape.spaces += 1,
            }
        }
        shape
    }

    /// Letters, and digits or signs that no name has.
    fn is_mixed(&self) -> bool {
        self.letters > 0 && (self.digits > 0 || self.signs > 0)
    }

    /// Capitals anywhere, as no name has them.
    fn is_random_letters(&self, value: &[u8]) -> bool {
        let lower = self.letters - self.upper;
        value.len() >= 12
            && self.upper * 10 >= value.len() * 3
            && lower * 10 >= value.len() * 3
            && entropy(value) > 3.0
            && !allow::has_long_word(value)
    }
}

/// A word with a number after it: `handler2`.
fn is_counted_word(value: &[u8], shape: &Shape) -> bool {
    let digits = value.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && digits <= 2 && digits == shape.digits && shape.signs == 0
}

/// Whether a text is the name of something that belongs to secrets.
fn is_named_thing(value: &[u8], shape: &Shape) -> bool {
    const LONGEST: usize = 48;
    if value.len() > LONGEST || shape.signs > 0 || shape.digits > 3 {
        return false;
    }
    let lower = value.to_ascii_lowercase();
    NAME_WORDS.iter().any(|word| memchr::memmem::find(&lower, word.as_bytes()).is_some())
}

/// A number with a unit, a version, a date.
fn is_measure(value: &[u8], shape: &Shape) -> bool {
    let digits = value
        .iter()
        .take_while(|byte| {
            byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b':' | b',' | b'/')
        })
        .count();
    let is_date = digits >= 8 && shape.separators >= 2 && shape.letters <= 2;
    let is_unit = digits > 0
        && value.len() - digits <= 3
        && shape.digits <= 6
        && shape.signs <= 1
        && shape.letters == value.len() - digits;
    let is_hex = value.starts_with(b"0x") && value.len() <= 18;
    let is_version = value.starts_with(b"v") && shape.digits + shape.separators + 1 == value.len();
    is_date
        || (is_unit && shape.letters > 0)
        || (shape.letters == 0 && shape.separators > 0)
        || is_version
        || is_hex
}

/// Calls, members, operators, types.
fn is_code(value: &[u8], shape: &Shape) -> bool {
    let has = |bytes: &[u8]| memchr::memmem::find(value, bytes).is_some();
    if value.iter().any(|byte| matches!(byte, b'(' | b'[' | b'{'))
        || has(b"::")
        || has(b"->")
        || has(b"=>")
        || has(b"?.")
    {
        return true;
    }
    // `user.password`, `a.b.c`: words with points between, all of letters.
    let parts = || value.split(|byte| *byte == b'.');
    let is_word = |part: &[u8]| {
        !part.is_empty()
            && part.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
            && part.first().is_some_and(|first| !first.is_ascii_digit())
    };
    let is_members = shape.separators > 0
        && shape.signs == 0
        && shape.digits <= 3
        && parts().count() > 1
        && parts().all(is_word);
    is_members || value.ends_with(b"?") && shape.digits == 0
}

fn has_other_quotes(value: &[u8]) -> bool {
    value.iter().any(|byte| matches!(byte, b'"' | b'\'' | b'`'))
}
