//! What the strings before a string say about it: the name beside a value, the option
//! before an argument, the first line of a private key whose lines are strings.

use super::private_key;
use super::strings::Role;
use super::strings::Text;

/// Names of members that hold the name of something, and of those that hold its value.
const NAMES: &[&[u8]] =
    &[b"name", b"key", b"Name", b"Key", b"variable", b"env", b"field", b"header"];
const VALUES: &[&[u8]] = &[b"value", b"Value", b"default", b"val", b"content"];

/// What was read of a line so far.
#[derive(Default)]
pub(super) struct Context {
    /// The string before, in the same list.
    previous: Option<(usize, Vec<u8>)>,
    /// The last name, and how deep it was.
    name: Option<(usize, Vec<u8>)>,
    /// How deep the lines of a private key are that is not at its end.
    key_depth: Option<usize>,
}

/// What a string is by what stands before it.
pub(super) enum Said {
    /// A line of a private key.
    KeyLine,
    /// The value of a thing with this name.
    ValueOf(Vec<u8>),
    /// Nothing is said.
    Nothing,
}

impl Context {
    /// Takes the next string of the line, and says what those before say about it.
    pub(super) fn next(&mut self, text: &Text<'_>, decoded: &[u8]) -> Said {
        /// A name or an option is short.
        const LONGEST: usize = 80;
        let Role::Value = text.role else { return Said::Nothing };
        let is_key_line = self.key_depth == Some(text.depth) && private_key::is_line(decoded);
        match private_key::armour(decoded) {
            Some(true) => self.key_depth = Some(text.depth),
            Some(false) => self.key_depth = None,
            None if !is_key_line => self.key_depth = None,
            None => {}
        }
        if is_key_line {
            return Said::KeyLine;
        }
        let is_short = decoded.len() <= LONGEST;
        if NAMES.contains(&text.key) && is_short {
            self.name = Some((text.depth, decoded.to_vec()));
        }
        let option = self.previous.take().filter(|(depth, _)| *depth == text.depth);
        if is_short && decoded.starts_with(b"-") {
            self.previous = Some((text.depth, decoded.to_vec()));
        }
        if VALUES.contains(&text.key)
            && let Some((depth, name)) = self.name.take()
            && depth == text.depth
        {
            return Said::ValueOf(name);
        }
        match option {
            Some((_, option)) => Said::ValueOf(option),
            None => Said::Nothing,
        }
    }
}
