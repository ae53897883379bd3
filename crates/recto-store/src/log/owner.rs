//! Whose log the log of a subagent is that stands beside the main logs: only its lines
//! name the session.

use std::io::Read;
use std::path::Path;

use recto_log::LineReader;
use recto_log::SessionId;
use recto_log::decode;

use crate::open_file;

/// Whose log a loose agent log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LooseOwner {
    /// The session that its first lines name.
    Session(SessionId),
    /// Too little is written yet.
    NotYet,
    /// Its lines name none.
    Nobody,
}

/// The session that the first lines of a loose agent log name.
pub(crate) fn session_named_in(path: &Path) -> Option<SessionId> {
    match owner_of(path) {
        LooseOwner::Session(id) => Some(id),
        LooseOwner::NotYet | LooseOwner::Nobody => None,
    }
}

/// Whose log a loose agent log is, by its first lines.
pub(crate) fn owner_of(path: &Path) -> LooseOwner {
    const LINES: usize = 4;
    const MOST: u64 = 1024 * 1024;
    let Ok(file) = open_file(path) else { return LooseOwner::NotYet };
    let mut lines = LineReader::new(file.take(MOST));
    for _ in 0..LINES {
        let Ok(Some(line)) = lines.next_line() else { return LooseOwner::NotYet };
        let (is_whole, is_last) = (line.terminated, line.end() >= MOST);
        if let Some(id) = decode(line).0.session_id() {
            return id.parse().map_or(LooseOwner::Nobody, LooseOwner::Session);
        }
        if is_last {
            break;
        }
        if !is_whole {
            return LooseOwner::NotYet;
        }
    }
    LooseOwner::Nobody
}
