//! Times, amounts and names, as rows have them.

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

/// A model's name without what all of them share: `opus-4-5` for `claude-opus-4-5-20251101`.
pub fn short_model(model: &str) -> &str {
    let short = model.strip_prefix("claude-").unwrap_or(model);
    // A date at the end says nothing that the name does not.
    match short.rsplit_once('-') {
        Some((name, date)) if date.len() == 8 && date.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => short,
    }
}

/// A text, cut at a length in bytes, and whether it was.
pub fn cut(text: &str, most: usize) -> (String, bool) {
    if text.len() <= most {
        return (text.to_owned(), false);
    }
    (text[..text.floor_char_boundary(most)].to_owned(), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_named_without_what_all_share() {
        assert_eq!(short_model("claude-sonnet-4-5-20250929"), "sonnet-4-5");
        assert_eq!(short_model("claude-opus-5-5"), "opus-5-5");
        assert_eq!(short_model("other"), "other");
    }
}
