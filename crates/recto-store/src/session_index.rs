//! `sessions-index.json` of client 2.1.29: a hint that is often stale.

use recto_log::SessionId;
use recto_log::json::Value;

use crate::Project;
use crate::read_small;

/// What the index says of a session. Each part must be checked against the
/// log before it is believed; the path is not even read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexHint {
    /// The session.
    pub id: SessionId,
    /// When the log was written when the index was made, in milliseconds.
    pub file_mtime: Option<u64>,
    /// The first prompt, by the index.
    pub first_prompt: Option<String>,
    /// The working directory.
    pub project_path: Option<String>,
}

impl Project {
    /// Reads the index, if there is one that can be read.
    pub fn index_hints(&self) -> Vec<IndexHint> {
        if !self.has_index {
            return Vec::new();
        }
        let Ok(bytes) = read_small(&self.path.join("sessions-index.json")) else {
            return Vec::new();
        };
        let Ok(value) = Value::parse(&bytes) else { return Vec::new() };
        let entries = value.get("entries").into_iter().flat_map(Value::elements);
        entries
            .filter_map(|entry| {
                let text = |name| entry.str(name).map(|text| text.into_owned());
                Some(IndexHint {
                    id: entry.str("sessionId")?.parse().ok()?,
                    file_mtime: entry.get("fileMtime").and_then(Value::as_u64),
                    first_prompt: text("firstPrompt"),
                    project_path: text("projectPath"),
                })
            })
            .collect()
    }
}

impl IndexHint {
    /// Whether the log has not changed since the index was made.
    pub fn is_fresh(&self, modified: jiff::Timestamp) -> bool {
        self.file_mtime == u64::try_from(modified.as_millisecond()).ok()
    }
}

#[cfg(test)]
mod tests {
    use fs_err as fs;

    use super::*;

    #[test]
    fn a_broken_index_gives_no_hint() {
        let directory = tempfile::tempdir().unwrap();
        let project =
            Project { key: "-w".into(), path: directory.path().to_owned(), has_index: true };
        assert_eq!(project.index_hints(), []);
        let path = directory.path().join("sessions-index.json");
        fs::write(&path, "{\"entries\":[{\"sessionId\":\"../x\"},7").unwrap();
        assert_eq!(project.index_hints(), []);
        fs::write(
            &path,
            r#"{"entries":[{"sessionId":"../x"},{"sessionId":"3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718","fileMtime":1794788971905,"firstPrompt":"p"}]}"#,
        )
        .unwrap();
        let hints = project.index_hints();
        assert_eq!(hints.len(), 1);
        assert!(hints[0].is_fresh(jiff::Timestamp::from_millisecond(1794788971905).unwrap()));
        assert!(!hints[0].is_fresh(jiff::Timestamp::from_millisecond(1).unwrap()));
    }
}
