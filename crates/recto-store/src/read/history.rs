//! `history.jsonl`: the prompts that were typed, in all projects.

use std::fs::File;
use std::io;

use jiff::Timestamp;
use recto_log::LineReader;
use recto_log::json::Object;
use recto_log::json::Value;

use crate::Home;
use crate::StoreError;
use crate::open_file;

/// One prompt. Only interactive prompts and slash commands are in the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryEntry {
    /// The prompt as it was shown.
    pub display: String,
    /// When it was typed.
    pub time: Option<Timestamp>,
    /// The working directory.
    pub project: Option<String>,
    /// The session; old clients do not say it.
    pub session: Option<String>,
    /// Texts that were pasted into it.
    pub pasted: Vec<String>,
}

/// Reads the history, oldest first.
pub struct HistoryReader {
    lines: LineReader<File>,
}

impl Home {
    /// Opens the history. A home without one is an error of kind not found.
    pub fn read_history(&self) -> Result<HistoryReader, StoreError> {
        Ok(HistoryReader { lines: LineReader::new(open_file(&self.history())?) })
    }
}

impl HistoryReader {
    /// The next prompt; lines that are no prompt are passed over.
    pub fn next_entry(&mut self) -> io::Result<Option<HistoryEntry>> {
        while let Some(line) = self.lines.next_line()? {
            if let Some(entry) = parse(line.bytes) {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }
}

fn parse(line: &[u8]) -> Option<HistoryEntry> {
    let object = Object::parse(line).ok()?;
    let text = |name| object.str(name).map(|text| text.into_owned());
    let milliseconds = object.get("timestamp").and_then(Value::as_u64);
    let pasted = object.get("pastedContents").into_iter().flat_map(Value::members);
    Some(HistoryEntry {
        display: text("display")?,
        time: milliseconds
            .and_then(|time| Timestamp::from_millisecond(i64::try_from(time).ok()?).ok()),
        project: text("project"),
        session: text("sessionId"),
        pasted: pasted
            .filter_map(|paste| paste.value.str("content").map(|text| text.into_owned()))
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use fs_err as fs;

    use super::*;

    #[test]
    fn prompts_are_read_and_other_lines_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::open(directory.path()).unwrap();
        assert!(home.read_history().is_err());
        fs::write(
            home.history(),
            concat!(
                r#"{"display":"hi","pastedContents":{"1":{"id":1,"type":"text","content":"long"}},"timestamp":1794788356497,"project":"/w","sessionId":"s"}"#,
                "\nbroken\n{}\n",
                r#"{"display":"torn"}"#
            ),
        )
        .unwrap();
        let mut reader = home.read_history().unwrap();
        let first = reader.next_entry().unwrap().unwrap();
        assert_eq!((first.display.as_str(), first.pasted.len()), ("hi", 1));
        assert_eq!(first.time.unwrap().to_string(), "2026-11-16T00:19:16.497Z");
        assert_eq!(reader.next_entry().unwrap().unwrap().display, "torn");
        assert_eq!(reader.next_entry().unwrap(), None);
    }
}
