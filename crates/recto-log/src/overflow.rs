//! Results of tools that were too long for the log.
//!
//! The client keeps the whole output in a file (2.1.29 and later) and gives the
//! model the beginning, in a text that says where the rest is.

use crate::Entry;
use crate::json::Value;

/// The path of the file that holds the whole output, by the text of a result.
///
/// The path is what the log says and leads anywhere: only its last part is of
/// use to find the file.
pub fn overflow_path(text: &str) -> Option<&str> {
    let rest = text.trim_start().strip_prefix("<persisted-output>")?;
    // What follows is the tool's own output, which may say anything.
    let head = rest.trim_start().lines().next()?;
    let (_, path) = head.split_once("saved to: ")?;
    Some(path.trim()).filter(|path| !path.is_empty())
}

impl Entry<'_> {
    /// The size of the whole output, where the line says it (2.1.100 and later).
    pub fn overflow_bytes(&self) -> Option<u64> {
        self.get("toolUseResult")?.get("persistedOutputSize").and_then(Value::as_u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_long_result_names_its_file() {
        let text = "<persisted-output>\nOutput too large (77KB). Full output saved to: /h/s/tool-results/b1.txt\n\nPreview (first 2KB):\n1\n2";
        assert_eq!(overflow_path(text), Some("/h/s/tool-results/b1.txt"));
        for other in [
            "",
            "1\n2",
            "saved to: /x",
            "<persisted-output>",
            "<persisted-output>\nOutput too large. Full output saved to: \n",
            "<persisted-output>\nOutput\nsaved to: /etc/passwd",
        ] {
            assert_eq!(overflow_path(other), None, "{other:?}");
        }
    }
}
