//! A place that fits a query, and its text.

use std::cmp::Ordering;
use std::fs::File;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use memchr::memchr;
use recto_log::AgentId;
use recto_log::DEFAULT_LINE_CAP;
use recto_log::RawLine;
use recto_log::SessionId;
use recto_log::decode;
use recto_session::QueuedPrompt;
use recto_session::search::Extractor;
use recto_session::search::TextRole;

use crate::open_file;
use crate::place::platform::read_at;
use crate::search::overflow_matches::MOST;
use crate::text_beginning;

/// A document that fits a query. There can be hundreds of thousands of them: what
/// those of one log have in common is shared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The log.
    pub path: Arc<Path>,
    /// The session that it belongs to, if that is known.
    pub session: Option<SessionId>,
    /// The subagent, if it is the log of one.
    pub agent: Option<AgentId>,
    /// The directory of the project.
    pub project: Arc<str>,
    /// The working directory of the log at first.
    pub cwd: Option<Arc<str>>,
    /// The line's number, from 1.
    pub line: u64,
    /// Where the line starts.
    pub offset: u64,
    /// Which document of the line it is, from 0.
    pub part: u32,
    /// What it is.
    pub role: TextRole,
    /// The tool, of inputs and results.
    pub tool: Option<Arc<str>>,
    /// Whether a call failed.
    pub is_error: bool,
    /// When the line was written, or the one before it that has a time.
    pub time: Option<Timestamp>,
    /// The number of the turn, in the order of the log.
    pub turn: u32,
    /// The file beside the log that has the text, if the log has only its beginning.
    pub overflow: Option<PathBuf>,
}

/// The text of a hit, read from the log. It is hostile.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HitText {
    /// The whole text.
    pub text: String,
    /// The id of the line.
    pub uuid: Option<String>,
    /// When the line was written, as it says itself.
    pub time: Option<Timestamp>,
}

impl Hit {
    /// Reads the text. Nothing if the log has changed meanwhile.
    pub fn read(&self) -> Option<HitText> {
        let file = open_file(&self.path).ok()?;
        let bytes = line_at(&file, self.offset)?;
        let line = RawLine { offset: self.offset, number: self.line, ..RawLine::alone(&bytes) };
        let found = self.text_in(line)?;
        match &self.overflow {
            Some(path) => Some(HitText { text: text_beginning(path, MOST).ok()?, ..found }),
            None => Some(found),
        }
    }

    /// The text of the hit in its line.
    fn text_in(&self, line: RawLine<'_>) -> Option<HitText> {
        let (entry, _) = decode(line);
        let mut text = QueuedPrompt::of(&entry).map(|prompt| prompt.text);
        let mut part = 0;
        Extractor::default().next(&entry, &mut |document| {
            if part == self.part {
                text = Some(document.text());
            }
            part += 1;
        });
        let uuid = entry.str("uuid").map(|uuid| uuid.into_owned());
        Some(HitText { text: text?, uuid, time: entry.timestamp() })
    }

    /// Newest first; of one time, by log and from its end.
    pub(crate) fn order(&self, other: &Hit) -> Ordering {
        let newest_first = other.time.cmp(&self.time);
        newest_first
            .then_with(|| self.path.cmp(&other.path))
            .then_with(|| (other.line, other.part).cmp(&(self.line, self.part)))
    }
}

/// The line that begins at a place, up to its end or that of the file.
fn line_at(file: &File, offset: u64) -> Option<Vec<u8>> {
    let (mut bytes, mut filled, mut step) = (Vec::new(), 0, 8 * 1024);
    loop {
        bytes.resize(filled + step, 0);
        let read = match read_at(file, &mut bytes[filled..], offset + filled as u64) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            other => other.ok()?,
        };
        if let Some(end) = memchr(b'\n', &bytes[filled..filled + read]) {
            bytes.truncate(filled + end);
            return Some(bytes);
        }
        filled += read;
        if read == 0 {
            bytes.truncate(filled);
            return Some(bytes);
        }
        if filled > DEFAULT_LINE_CAP {
            return None;
        }
        step = filled;
    }
}
