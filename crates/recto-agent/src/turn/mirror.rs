//! Lines of logs for a host that keeps a copy of its own.

use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;

use serde_json::Value;
use serde_json::json;

use super::shared::lock;

/// A file, and lines of it.
type Frame = (PathBuf, Vec<Value>);

/// Lines that were written and not told yet, by file. Clones are the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Mirror(Arc<Mutex<Vec<Frame>>>);

impl Mirror {
    /// Notes a line that was appended to a log.
    pub(super) fn note(&self, log: &Path, line: &[u8]) {
        if let Ok(entry) = serde_json::from_slice::<Value>(line) {
            self.note_entry(log, entry);
        }
    }

    /// Notes what is beside a log, as an entry of it.
    pub(super) fn note_entry(&self, log: &Path, entry: Value) {
        let mut files = lock(&self.0);
        match files.last_mut() {
            Some((known, entries)) if known == log => entries.push(entry),
            _ => files.push((log.to_owned(), vec![entry])),
        }
    }

    /// What was not told yet, as lines of a stream.
    pub(super) fn take(&self) -> Vec<Value> {
        let files = std::mem::take(&mut *lock(&self.0));
        let frame = |(log, entries): (PathBuf, Vec<Value>)| json!({"type": "transcript_mirror", "filePath": log, "entries": entries});
        files.into_iter().map(frame).collect()
    }
}
