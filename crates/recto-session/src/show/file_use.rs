//! What a session did with each file, all uses together.
//!
//! One rule for every surface: a file that was changed is a changed file, even
//! if it was read as well, as it is before almost every edit. Only a file that
//! was read and never changed is a file that was read.

use std::collections::BTreeMap;

use crate::FileAction;
use crate::FileTouch;
use crate::NameId;
use crate::Session;

/// What a session did with a file, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileFate {
    /// It was made.
    Created,
    /// It was changed.
    Changed,
    /// It was read and not changed.
    Read,
}

impl FileFate {
    /// The name, for people and machines.
    pub fn name(self) -> &'static str {
        match self {
            FileFate::Created => "created",
            FileFate::Changed => "changed",
            FileFate::Read => "read",
        }
    }
}

/// All uses of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileUse {
    /// How often it was read.
    pub reads: u64,
    /// How often it was changed.
    pub edits: u64,
    /// Whether it was made.
    pub is_new: bool,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
    /// The uses themselves, in the order of the log.
    pub touches: Vec<FileTouch>,
}

impl FileUse {
    fn add(&mut self, touch: FileTouch) {
        match touch.action {
            FileAction::Read => self.reads += 1,
            FileAction::Created => {
                self.is_new = true;
                self.edits += 1;
            }
            FileAction::Written | FileAction::Edited => self.edits += 1,
        }
        self.added = self.added.saturating_add(touch.added);
        self.removed = self.removed.saturating_add(touch.removed);
        self.touches.push(touch);
    }

    /// What was done with it, in one word.
    pub fn fate(&self) -> FileFate {
        match (self.is_new, self.edits) {
            (true, _) => FileFate::Created,
            (false, 0) => FileFate::Read,
            (false, _) => FileFate::Changed,
        }
    }
}

/// The files of a session, by path.
pub fn file_uses(session: &Session) -> BTreeMap<&str, FileUse> {
    let mut uses: BTreeMap<NameId, FileUse> = BTreeMap::new();
    for touch in &session.facts().files {
        uses.entry(touch.path).or_default().add(*touch);
    }
    uses.into_iter().map(|(path, file)| (session.name(path), file)).collect()
}

#[cfg(test)]
mod tests {
    use recto_log::Lines;
    use recto_log::decode;

    use super::*;

    fn result(number: u32, detail: &str) -> String {
        format!(
            r#"{{"type":"user","uuid":"u{number}","message":{{"content":[{{"type":"tool_result","tool_use_id":"t{number}","content":"x"}}]}},"toolUseResult":{detail}}}"#
        )
    }

    #[test]
    fn a_file_that_was_changed_is_not_one_that_was_read() {
        let read = |path: &str| format!(r#"{{"type":"text","file":{{"filePath":"{path}"}}}}"#);
        let edit = |path: &str| {
            format!(
                r#"{{"filePath":"{path}","oldString":"x","newString":"y","structuredPatch":[{{"lines":["-x","+y","+z"]}}]}}"#
            )
        };
        let log = [
            result(1, &read("/both")),
            result(2, &read("/read")),
            result(3, &edit("/both")),
            result(4, &edit("/edited")),
            result(
                5,
                r#"{"type":"create","filePath":"/new","content":"a\nb","structuredPatch":[]}"#,
            ),
            result(6, &read("/new")),
        ]
        .join("\n");
        let mut session = Session::new();
        for line in Lines::new(log.as_bytes()) {
            session.push(&decode(line).0);
        }
        let shown: Vec<String> = file_uses(&session)
            .iter()
            .map(|(path, file)| {
                let FileUse { reads, edits, added, removed, .. } = file;
                format!("{path} {} {reads} {edits} +{added} -{removed}", file.fate().name())
            })
            .collect();
        assert_eq!(
            shown,
            [
                "/both changed 1 1 +2 -1",
                "/edited changed 0 1 +2 -1",
                "/new created 1 1 +2 -0",
                "/read read 1 0 +0 -0",
            ]
        );
    }
}
