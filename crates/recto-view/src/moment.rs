//! Times and amounts, as JSON has them.

use jiff::Timestamp;
use recto_session::usage::Money;
use serde::Serialize;
use serde::Serializer;

/// A time: RFC 3339 with milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub Timestamp);

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{:.3}", self.0))
    }
}

/// Dollars as a number.
pub fn dollars(amount: Money) -> f64 {
    amount.to_string().parse().unwrap_or(f64::NAN)
}

/// A text, cut at a length in bytes, and whether it was.
pub fn cut(text: &str, most: usize) -> (String, bool) {
    if text.len() <= most {
        return (text.to_owned(), false);
    }
    (text[..text.floor_char_boundary(most)].to_owned(), true)
}
