//! Files that were backed up before an edit.

use std::borrow::Cow;

use jiff::Timestamp;

use crate::EntryUuid;
use crate::json::ObjectWriter;
use crate::json::Value;

/// The facts of a `file-history-snapshot` line: all files of a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotLine<'a> {
    /// The line that the snapshot belongs to.
    pub message: EntryUuid,
    /// The line whose snapshot this is, which is another one for an update.
    pub snapshot_message: EntryUuid,
    /// Path to backup: an object.
    pub files: Value<'a>,
    /// When it was made.
    pub time: Timestamp,
    /// Whether an earlier snapshot was changed.
    pub is_update: bool,
}

impl SnapshotLine<'_> {
    pub(super) fn write(&self, line: ObjectWriter) -> ObjectWriter {
        let snapshot = ObjectWriter::new()
            .id("messageId", &self.snapshot_message)
            .value("trackedFileBackups", self.files)
            .time("timestamp", self.time);
        line.id("messageId", &self.message)
            .json("snapshot", &snapshot.finish())
            .boolean("isSnapshotUpdate", self.is_update)
    }
}

/// The facts of a `file-history-delta` line: one more file (2.1.325).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeltaLine<'a> {
    /// The line that the backup belongs to.
    pub message: EntryUuid,
    /// The line whose snapshot it adds to.
    pub snapshot_message: EntryUuid,
    /// The file.
    pub path: Cow<'a, str>,
    /// The backup.
    pub backup: Value<'a>,
    /// When it was made.
    pub time: Timestamp,
}

impl DeltaLine<'_> {
    pub(super) fn write(&self, line: ObjectWriter) -> ObjectWriter {
        line.id("messageId", &self.message)
            .id("snapshotMessageId", &self.snapshot_message)
            .string("trackingPath", &self.path)
            .value("backup", self.backup)
            .time("timestamp", self.time)
    }
}
