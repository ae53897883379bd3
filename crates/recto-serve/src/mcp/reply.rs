//! How much is said. An agent pays for every word it reads.

use serde_json::Value;
use serde_json::json;

/// The most that one call answers with, in bytes.
pub(super) const MOST: usize = 64 * 1024;
/// What is kept free for totals and notes.
const RESERVE: usize = 4 * 1024;
/// How many notes are told.
const MOST_NOTES: usize = 8;

/// A part of a list.
pub(super) struct Page {
    /// How many items precede these.
    pub(super) offset: usize,
    /// How many there are.
    pub(super) total: usize,
    /// What the reader should know.
    pub(super) notes: Vec<String>,
    /// The sum of all items, where they are numbers.
    pub(super) sum: Option<Value>,
}

impl Page {
    /// As many items as there is room for, as one JSON document, which says how to go on.
    pub(super) fn finish(self, items: impl Iterator<Item = Value>) -> String {
        let mut taken = Vec::new();
        let mut size = 0;
        for item in items {
            size += item.to_string().len() + 1;
            if size > MOST - RESERVE && !taken.is_empty() {
                break;
            }
            taken.push(item);
        }
        let next = self.offset + taken.len();
        let next = (next < self.total && !taken.is_empty()).then_some(next);
        let notes: Vec<String> =
            self.notes.iter().take(MOST_NOTES).map(|note| cut(note, 300)).collect();
        let mut reply = json!({
            "total": self.total,
            "offset": self.offset,
            "items": taken,
            "next_offset": next,
            "next": next.map(|offset| json!({"offset": offset})),
        });
        if let Some(sum) = self.sum {
            reply["sum"] = sum;
        }
        if !notes.is_empty() {
            reply["notes"] = json!(notes);
        }
        reply.to_string()
    }
}

/// The beginning of a text, and how long it is if that is not all.
pub(super) fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most);
    format!("{}… (cut, {} bytes in total)", &text[..end], text.len())
}

/// The part of a text around a place.
pub(super) fn around(text: &str, place: usize, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    // A third before, because what follows says more.
    let from = text.floor_char_boundary(place.saturating_sub(most / 3).min(text.len() - most));
    let end = text.floor_char_boundary(from + most);
    let (before, after) =
        (if from > 0 { "…" } else { "" }, if end < text.len() { "…" } else { "" });
    format!("{before}{}{after}", &text[from..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_bounded_and_lead_to_the_next_one() {
        let items = || (0..1000).map(|number| json!({"number": number, "text": "x".repeat(500)}));
        let mut offset = 0;
        let mut seen = Vec::new();
        loop {
            let notes = vec!["n".repeat(1000); 100];
            let page = Page { offset, total: 1000, notes, sum: None };
            let text = page.finish(items().skip(offset));
            assert!(text.len() <= MOST, "{}", text.len());
            let reply: Value = serde_json::from_str(&text).unwrap();
            seen.extend(
                reply["items"].as_array().unwrap().iter().map(|item| item["number"].clone()),
            );
            match reply["next_offset"].as_u64() {
                Some(next) => offset = next as usize,
                None => break,
            }
        }
        let all: Vec<Value> = (0..1000).map(|number| json!(number)).collect();
        assert_eq!(seen, all);
    }

    #[test]
    fn texts_are_cut_between_characters() {
        let text = "é".repeat(100);
        for most in 0..200 {
            assert!(cut(&text, most).starts_with(&"é".repeat(most / 2)));
            for place in [0, 51, 199] {
                assert!(around(&text, place, most).len() <= most + 6);
            }
        }
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("abcd", 3), "abc… (cut, 4 bytes in total)");
        assert_eq!(around("0123456789", 9, 3), "…789");
    }
}
