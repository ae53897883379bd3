//! The recorded logs of `fixtures/corpus`.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

/// A file of JSON lines, and its bytes.
pub(crate) struct Log {
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

impl Log {
    /// Whether a client wrote the file as a session log and nobody damaged it.
    pub(crate) fn is_session(&self) -> bool {
        let has = |name: &str| self.path.components().any(|part| part.as_os_str() == name);
        has("projects") || has("snapshots")
    }
}

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// Every file of JSON lines in the corpus, in the order of paths.
pub(crate) fn logs() -> Vec<Log> {
    let logs = logs_below(&fixtures().join("corpus"));
    assert!(logs.len() > 300, "the corpus is not there: {} logs", logs.len());
    logs
}

/// Every file of JSON lines in a folder, in the order of paths.
pub(crate) fn logs_below(folder: &Path) -> Vec<Log> {
    let mut logs = Vec::new();
    collect(folder, &mut logs);
    logs.sort_by(|one, other| one.path.cmp(&other.path));
    logs
}

fn collect(folder: &Path, logs: &mut Vec<Log>) {
    for item in fs::read_dir(folder).unwrap() {
        let path = item.unwrap().path();
        if path.is_dir() {
            collect(&path, logs);
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            let bytes = fs::read(&path).unwrap();
            logs.push(Log { path, bytes });
        }
    }
}
