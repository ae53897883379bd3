//! What can go wrong with files.

use std::io;
use std::path::PathBuf;

use recto_log::SessionId;
use recto_session::edit::EditError;
use thiserror::Error;

use crate::publish::PublishError;
use crate::search::index::IndexTrouble;

/// Why something could not be read. The text is for people; [`StoreError::hint`]
/// says what to do.
#[derive(Debug, Error)]
pub enum StoreError {
    /// There is no home where one was looked for.
    #[error("there is no Claude Code home at {}", path.display())]
    NoHome {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The home is not a directory.
    #[error("{} is not a directory", path.display())]
    HomeIsNoDirectory {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// Nothing says where the home is.
    #[error("no home directory is known")]
    HomeUnknown,
    /// The real home was about to be used by a test.
    #[error("a test asked for a home without naming one")]
    HomeInTest,
    /// Nothing says where data of recto's own may be.
    #[error("no directory for data is known")]
    DataUnknown,
    /// Real data were about to be used by a test.
    #[error("a test asked for the data directory without naming one")]
    DataInTest,
    /// Nothing says where the index may be.
    #[error("no directory for caches is known")]
    CacheUnknown,
    /// A real cache was about to be used by a test.
    #[error("a test asked for the cache directory without naming one")]
    CacheInTest,
    /// The index cannot be used. The text says why.
    #[error("the index cannot be used: {why}")]
    Index {
        /// What the database said.
        why: String,
        /// What kind of trouble it is.
        trouble: IndexTrouble,
    },
    /// The file can hold a secret and is never opened.
    #[error("{} can hold a secret and is never opened", path.display())]
    Secret {
        /// The file.
        path: PathBuf,
    },
    /// The path is not a regular file.
    #[error("{} is not a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// Something else is where a directory should be.
    #[error("{} is not a directory", path.display())]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// The file is larger than such a file can be.
    #[error("{} has {bytes} bytes, more than is read of such a file", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// Something could not be changed, or not be taken back.
    #[error(transparent)]
    Publish(#[from] PublishError),
    /// An edit cannot be made.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// A client would lose more by an edit than was asked for.
    #[error("the edit was not made: {}", losses.join("; "))]
    WouldLose {
        /// What would be lost, in words.
        losses: Vec<String>,
    },
    /// An archive cannot be read, or holds what no archive of sessions holds.
    #[error("{} is no archive of sessions that can be unpacked: {why}", path.display())]
    BadArchive {
        /// The archive.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The checkpoint of a follower cannot be gone on from.
    #[error("the checkpoint cannot be used: {why}")]
    BadCheckpoint {
        /// What is wrong with it.
        why: &'static str,
    },
    /// Sessions cannot be packed.
    #[error("{} cannot be packed: {why}", path.display())]
    CannotPack {
        /// The file.
        path: PathBuf,
        /// Why.
        why: &'static str,
    },
    /// The home has a session of that id, and it is another one.
    #[error("the home has a session {session} already, and it is not the same: {}", path.display())]
    SessionExists {
        /// The session.
        session: SessionId,
        /// Its log, or the file that differs.
        path: PathBuf,
    },
    /// Two sessions have a file of one name, and the contents differ.
    #[error("{} and {} are not the same", first.display(), second.display())]
    PartsDiffer {
        /// That of the first session.
        first: PathBuf,
        /// That of the second session.
        second: PathBuf,
    },
    /// A title has more than one line, or characters that control something, or is too long.
    #[error("a title is one line of text, of at most 400 bytes")]
    BadTitle,
    /// A log with another title would not show that title.
    #[error("the log with the new title does not read back; nothing was changed")]
    TitleNotReadBack,
    /// The system refused. The error names the path.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl StoreError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            StoreError::NoHome { .. } => Some(
                "use --home DIR or CLAUDE_CONFIG_DIR to say where it is; `recto demo` shows a sample",
            ),
            StoreError::HomeIsNoDirectory { .. } => {
                Some("--home takes the directory that holds `projects/`")
            }
            StoreError::HomeUnknown => Some("set HOME, or use --home DIR"),
            StoreError::HomeInTest => {
                Some("set CLAUDE_CONFIG_DIR to a directory of the test's own")
            }
            StoreError::DataUnknown => {
                Some("set RECTO_DATA_DIR, XDG_DATA_HOME or HOME to an absolute path")
            }
            StoreError::DataInTest => Some("set RECTO_DATA_DIR to a directory of the test's own"),
            StoreError::CacheUnknown => {
                Some("set RECTO_CACHE_DIR, XDG_CACHE_HOME or HOME to an absolute path")
            }
            StoreError::CacheInTest => Some("set RECTO_CACHE_DIR to a directory of the test's own"),
            StoreError::Index { trouble, .. } => Some(match trouble {
                IndexTrouble::Damaged => "`recto index rebuild` makes it anew",
                IndexTrouble::Locked => "wait until the other process is done",
                IndexTrouble::Refused => {
                    "make room and the cache directory writable, or set RECTO_CACHE_DIR to another one"
                }
            }),
            StoreError::Publish(error) => error.hint(),
            StoreError::Edit(EditError::SourceChanged { .. }) => {
                Some("wait until the client is done with the session, and try again")
            }
            StoreError::WouldLose { .. } => {
                Some("`recto check` says what is wrong with the session, `recto repair` mends it")
            }
            StoreError::PartsDiffer { .. } => Some("--prefer says whose files to take"),
            StoreError::SessionExists { .. } => {
                Some("--new-ids unpacks the sessions as copies with ids of their own")
            }
            StoreError::Edit(_)
            | StoreError::BadArchive { .. }
            | StoreError::BadCheckpoint { .. }
            | StoreError::CannotPack { .. }
            | StoreError::BadTitle
            | StoreError::TitleNotReadBack
            | StoreError::Secret { .. }
            | StoreError::NotAFile { .. }
            | StoreError::NotADirectory { .. }
            | StoreError::TooLarge { .. } => None,
            StoreError::Io(error) => match error.kind() {
                io::ErrorKind::PermissionDenied => Some("check the permissions of the file"),
                _ => None,
            },
        }
    }

    /// A stable name, for machines.
    pub fn kind(&self) -> &'static str {
        match self {
            StoreError::NoHome { .. } => "no-home",
            StoreError::HomeIsNoDirectory { .. } => "home-is-no-directory",
            StoreError::HomeUnknown => "home-unknown",
            StoreError::HomeInTest => "home-in-test",
            StoreError::DataUnknown => "no-data-directory",
            StoreError::DataInTest => "data-in-test",
            StoreError::CacheUnknown => "no-cache-directory",
            StoreError::CacheInTest => "cache-in-test",
            StoreError::Index { .. } => "index",
            StoreError::Publish(error) => error.kind(),
            StoreError::Secret { .. } => "secret",
            StoreError::NotAFile { .. } => "not-a-file",
            StoreError::NotADirectory { .. } => "not-a-directory",
            StoreError::TooLarge { .. } => "too-large",
            StoreError::Edit(error) => error.kind(),
            StoreError::WouldLose { .. } => "would-lose",
            StoreError::BadArchive { .. } => "bad-archive",
            StoreError::BadCheckpoint { .. } => "bad-checkpoint",
            StoreError::CannotPack { .. } => "cannot-pack",
            StoreError::SessionExists { .. } => "session-exists",
            StoreError::PartsDiffer { .. } => "parts-differ",
            StoreError::BadTitle => "bad-title",
            StoreError::TitleNotReadBack => "not-read-back",
            StoreError::Io(_) => "io",
        }
    }
}
