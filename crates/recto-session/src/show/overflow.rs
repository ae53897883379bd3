//! The whole output of a tool, where the log has only its beginning.

use std::borrow::Cow;

use recto_log::overflow_path;

use crate::Item;
use crate::with_marks;

/// A result whose whole text is in a file beside the log.
///
/// The log gives the name. The rest is known to whoever has looked for the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Overflow {
    /// The file's name, without its directory.
    pub name: String,
    /// The size of the whole output: the file's if it is there, else what the
    /// log says.
    pub bytes: Option<u64>,
    /// The file, if it is there.
    pub path: Option<String>,
    /// Its text, or the beginning of it, where somebody has read it.
    pub text: Option<String>,
    /// Whether something is in its place that is not read, such as a link.
    pub is_refused: bool,
}

impl Overflow {
    /// What the text of a result says of its file.
    pub fn of_text(text: &str, bytes: Option<u64>) -> Option<Overflow> {
        let path = overflow_path(text)?;
        let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
        Some(Overflow { name: name.to_owned(), bytes, path: None, text: None, is_refused: false })
    }

    /// Says that the whole output cannot be had, and why.
    pub fn remark(&self) -> String {
        match self.is_refused {
            true => format!("(the file with the full output was not read: {})", self.name),
            false => format!("(the file with the full output no longer exists: {})", self.name),
        }
    }
}

impl Item {
    /// The text of a result for a document: the whole output where it was read,
    /// and a remark where it is not all there. Empty for other items.
    pub fn result_text(&self) -> Cow<'_, str> {
        let Item::Result { text, overflow, .. } = self else { return Cow::Borrowed("") };
        let Some(overflow) = overflow else { return Cow::Borrowed(text) };
        let Some(whole) = &overflow.text else {
            return Cow::Owned(format!("{}\n{}", text.trim_end(), overflow.remark()));
        };
        match overflow.bytes {
            Some(bytes) if bytes > whole.len() as u64 => {
                let remark =
                    format!("(shortened; the full output has {} bytes)", with_marks(bytes));
                Cow::Owned(format!("{}\n{remark}", whole.trim_end()))
            }
            _ => Cow::Borrowed(whole),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "<persisted-output>\nOutput too large (9KB). Full output saved to: C:\\s\\b1.txt\n\n1\n";

    fn result(overflow: Option<Overflow>) -> Item {
        Item::Result {
            id: "t".into(),
            text: TEXT.into(),
            pictures: 0,
            is_error: false,
            diff: None,
            overflow,
        }
    }

    #[test]
    fn the_text_is_the_whole_output_or_says_why_not() {
        let known = Overflow::of_text(TEXT, Some(9000));
        let known = known.unwrap();
        assert_eq!((known.name.as_str(), known.bytes), ("b1.txt", Some(9000)));
        let gone = result(Some(known.clone())).result_text().into_owned();
        assert!(
            gone.ends_with("\n\n1\n(the file with the full output no longer exists: b1.txt)"),
            "{gone}"
        );
        let read = |text: &str, bytes| {
            let overflow =
                Overflow { text: Some(text.into()), bytes: Some(bytes), ..known.clone() };
            result(Some(overflow)).result_text().into_owned()
        };
        assert_eq!(read("1\n2\n", 4), "1\n2\n");
        assert_eq!(read("1\n2\n", 9000), "1\n2\n(shortened; the full output has 9,000 bytes)");
        assert_eq!(result(None).result_text(), TEXT);
    }
}
