//! Spans of time and texts of the log, shortened.

use jiff::Timestamp;

/// How long ago, in words: `14 s`, `3 min`, `2 h`, `5 days`.
pub(super) fn ago(time: Timestamp, now: Timestamp) -> String {
    match now.duration_since(time).as_secs().max(0) {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds @ 7200..172_800 => format!("{} h", seconds / 3600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// The beginning of a text, on one line: `most` characters with the mark of a cut.
pub fn beginning(text: &str, most: usize) -> String {
    let mut short = String::new();
    let mut length = 0;
    'words: for (at, word) in text.split_whitespace().enumerate() {
        for c in (at > 0).then_some(' ').into_iter().chain(word.chars()) {
            short.push(c);
            length += 1;
            // One more than fits shows that there is more; a text may have megabytes.
            if length > most {
                break 'words;
            }
        }
    }
    if length > most {
        short = short.chars().take(most.saturating_sub(1)).collect();
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_folded_and_cut_with_a_mark() {
        assert_eq!(beginning("  a\n\tb  c ", 20), "a b c");
        assert_eq!(beginning("abcdef ghi", 8), "abcdef …");
        assert_eq!(beginning("abcde fg", 8), "abcde fg");
        assert_eq!(beginning("abcdefghij", 5), "abcd…");
        assert_eq!(beginning(&"é".repeat(10_000), 500).chars().count(), 500);
        assert_eq!(beginning(&"x ".repeat(10_000), 500).chars().count(), 500);
        assert_eq!(beginning("", 5), "");
    }

    #[test]
    fn ages_have_one_unit_and_none_is_negative() {
        let now: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
        let ages = [-7, 0, 14, 119, 120, 7199, 7200, 180_000].map(|seconds| {
            ago(now.checked_sub(jiff::SignedDuration::from_secs(seconds)).unwrap(), now)
        });
        assert_eq!(ages, ["0 s", "0 s", "14 s", "119 s", "2 min", "119 min", "2 h", "2 days"]);
    }
}
