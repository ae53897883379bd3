//! Copies of archived files: how they are told from files of the client's, and how one without
//! its content gets it.
//!
//! A file that only the archive has stands in the cache directory under its own name, with its
//! size and time, so that everything that lists or reads files finds it. It has no content until
//! somebody opens it; [`crate::open_file`] asks for it. This file owns the marks only. Who makes
//! copies and fills them, and knows what an archive is, is `keep`.

use std::collections::HashSet;
use std::fs::File;
use std::fs::Metadata;
use std::path::Path;
use std::path::PathBuf;
use std::sync::OnceLock;

use recto_log::SessionId;

use crate::StoreError;
use crate::place::error::PlaceError;
use crate::place::platform;

/// The mode of a copy without content. Nobody can read it by accident, and no client makes a log
/// that can be run but not read.
pub(crate) const EMPTY: u32 = 0o100;
/// The mode of a copy with its content.
pub(crate) const FILLED: u32 = 0o500;

/// The directory of copies, which has the form of a home.
#[derive(Debug)]
pub(crate) struct ArchivedTree {
    /// The archive.
    pub(crate) archive: PathBuf,
    /// The directory of the copies and what is known of them.
    pub(crate) shelf: PathBuf,
    /// Makes the copies of all sessions that the archive has, but for these. Says what it could
    /// not look at, or why there are no copies.
    pub(crate) refresh: fn(&ArchivedTree, &HashSet<SessionId>) -> Result<Vec<Problem>, Problem>,
}

/// What could not be looked at, and why.
pub(crate) type Problem = (PathBuf, String);

impl ArchivedTree {
    /// The directory with the form of a home.
    pub(crate) fn root(&self) -> PathBuf {
        self.shelf.join(TREE)
    }
}

/// The name of the directory with the form of a home.
pub(crate) const TREE: &str = "tree";

/// Whether a file is a copy, with or without its content.
pub(crate) fn is_copy(metadata: &Metadata) -> bool {
    matches!(platform::mode(metadata), Some(EMPTY | FILLED)) && metadata.is_file()
}

/// Whether a file is a copy without its content.
pub(crate) fn is_empty(metadata: &Metadata) -> bool {
    platform::mode(metadata) == Some(EMPTY) && metadata.is_file()
}

type Fill = fn(&Path) -> Result<File, StoreError>;

/// Who fills copies. A function and not a state: rooms above this one know archives.
static FILL: OnceLock<Fill> = OnceLock::new();

pub(crate) fn fill_with(fill: Fill) {
    // It is the same function whoever says it.
    let _ = FILL.set(fill);
}

/// Opens a copy that has no content yet.
pub(crate) fn filled(path: &Path) -> Result<File, StoreError> {
    match FILL.get() {
        Some(fill) => fill(path),
        None => Err(PlaceError::OnlyArchived { path: path.to_owned() }.into()),
    }
}
