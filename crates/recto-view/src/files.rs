//! The files that a session read or changed.

use recto_session::FileUse;
use recto_session::file_uses;
use serde::Serialize;

use crate::Reading;

/// A file that a session read or changed.
#[derive(Debug, Serialize)]
pub struct FileRow {
    /// The file.
    pub path: String,
    /// What became of it: `read`, `created`, …
    pub action: &'static str,
    /// How often it was read.
    pub reads: u64,
    /// How often it was changed.
    pub edits: u64,
    /// Lines added.
    pub lines_added: u64,
    /// Lines removed.
    pub lines_removed: u64,
    /// The turns that used it.
    pub turns: Vec<u32>,
}

/// The files of a session: those that were changed first, the most changed first.
pub fn files(reading: &Reading) -> Vec<FileRow> {
    let mut rows: Vec<(&str, FileUse)> = file_uses(reading.session()).into_iter().collect();
    rows.sort_by(|a, b| {
        let changed = |file: &FileUse| (file.edits.min(1), file.added + file.removed);
        changed(&b.1).cmp(&changed(&a.1)).then(a.0.cmp(b.0))
    });
    let view = |(path, file): (&str, FileUse)| {
        let mut turns: Vec<u32> =
            file.touches.iter().map(|touch| reading.turn_number(touch.node)).collect();
        turns.dedup();
        FileRow {
            path: path.to_owned(),
            action: file.fate().name(),
            reads: file.reads,
            edits: file.edits,
            lines_added: file.added,
            lines_removed: file.removed,
            turns,
        }
    };
    rows.into_iter().map(view).collect()
}
