//! Escape sequences of terminals in texts of logs: where one ends, and which are colours.
//!
//! Programs colour what they print, and logs contain it. A surface either draws the colours
//! or drops them; no sequence may reach a terminal.

use anstyle_parse::state::State;
use anstyle_parse::state::state_change;

/// The character with which a sequence begins.
pub const ESCAPE: char = '\u{1b}';

/// An escape sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sequence<'a> {
    /// The sequence, with its escape character.
    pub text: &'a str,
    /// The codes between `[` and `m`, if the sequence sets colours and weights.
    pub colours: Option<&'a str>,
}

/// The sequence at the start of a text, which begins with [`ESCAPE`].
///
/// A sequence without an end goes as far as it can be one: up to the end of the line, or to
/// a character that none contains.
///
/// ```
/// use recto_session::ansi::sequence;
///
/// assert_eq!(sequence("\u{1b}[1;31mred").colours, Some("1;31"));
/// assert_eq!(sequence("\u{1b}]8;;http://a\u{1b}\\link").text, "\u{1b}]8;;http://a\u{1b}\\");
/// ```
pub fn sequence(text: &str) -> Sequence<'_> {
    let text = &text[..length(text)];
    let codes = text.strip_prefix("\u{1b}[").and_then(|rest| rest.strip_suffix('m'));
    let is_code = |byte: u8| byte.is_ascii_digit() || matches!(byte, b';' | b':');
    Sequence { text, colours: codes.filter(|codes| codes.bytes().all(is_code)) }
}

fn length(text: &str) -> usize {
    let mut state = State::Ground;
    // The escape character that may end a string, such as a title or a link.
    let mut ending = None;
    for (at, byte) in text.bytes().enumerate() {
        match (ending, byte) {
            (_, b'\n') => return at,
            (Some(_), b'\\') => return at + 1,
            // The string ends without its sign, and the next sequence begins.
            (Some(escape), _) => return escape,
            (None, 0x1b) if is_string(state) => {
                ending = Some(at);
                continue;
            }
            (None, 0x1b) if at > 0 => return at,
            (None, 0x80..) if !is_string(state) => return at,
            (None, _) => {}
        }
        match state_change(state, byte).0 {
            State::Anywhere => {}
            State::Ground => return at + 1,
            next => state = next,
        }
    }
    text.len()
}

/// Whether a sequence has got to a text that goes on until somebody ends it.
fn is_string(state: State) -> bool {
    matches!(
        state,
        State::OscString | State::DcsPassthrough | State::DcsIgnore | State::SosPmApcString
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> (&str, &str) {
        let length = sequence(text).text.len();
        text.split_at(length)
    }

    #[test]
    fn sequences_end_where_terminals_say() {
        for (text, rest) in [
            ("\u{1b}[31mred", "red"),
            ("\u{1b}[2Jx", "x"),
            ("\u{1b}[?25lx", "x"),
            ("\u{1b}(Bx", "x"),
            ("\u{1b}7x", "x"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("\u{1b}]8;;http://a/\u{e9}\u{1b}\\x", "x"),
            ("\u{1b}P1$r0m\u{1b}\\x", "x"),
            ("\u{1b}_secret\u{1b}\\x", "x"),
        ] {
            assert_eq!(split(text).1, rest, "{text:?}");
        }
    }

    #[test]
    fn torn_sequences_take_no_other_text_with_them() {
        for (text, rest) in [
            ("\u{1b}", ""),
            ("\u{1b}[3", ""),
            ("\u{1b}\u{e9}", "\u{e9}"),
            ("\u{1b}[31\u{e9}", "\u{e9}"),
            ("\u{1b}[31\u{1b}[0m", "\u{1b}[0m"),
            ("\u{1b}]0;title\nx", "\nx"),
            ("\u{1b}]0;title\u{1b}[31mx", "\u{1b}[31mx"),
            ("\u{1b}[31\nx", "\nx"),
        ] {
            assert_eq!(split(text).1, rest, "{text:?}");
        }
    }

    #[test]
    fn only_codes_of_colours_are_colours() {
        let colours = |text| sequence(text).colours;
        assert_eq!(colours("\u{1b}[m"), Some(""));
        assert_eq!(colours("\u{1b}[38:2::1:2:3mx"), Some("38:2::1:2:3"));
        assert_eq!(colours("\u{1b}[>4;2m"), None);
        assert_eq!(colours("\u{1b}[31H"), None);
        assert_eq!(colours("\u{1b}[3"), None);
        assert_eq!(colours("\u{1b}]m"), None);
    }
}
