//! Following logs while clients write them.
//!
//! A [`Follower`] hands out what is added to the logs of a home, or of one session
//! with its subagents: whole lines only, each once, none left out. It is told by the
//! system what has changed, and looks by itself as well: all the time where the system
//! tells nothing, now and then where it does.
//!
//! Each log has a [`Cursor`]. As long as the bytes before its offset are what
//! they were, the log has only grown. If they are not, or the file is another one, the log is
//! read again from its beginning: [`Change::Restarted`]. The cursor says which changes it
//! cannot see.
//!
//! Memory is bounded: [`Follower::next`] gives at most [`ReadLimits::batch`] bytes of
//! lines, or one line that is longer. Of a line over [`ReadLimits::line`] the start and the range are given ([`Change::LongLine`]), so that who wants all of it can read it in
//! parts.
//!
//! Files of other kinds ([`FollowOptions::also`]) are told when they come, change or go
//! ([`Change::File`]), without what is in them.
//!
//! Every [`Batch`] knows where its log is read up to. Work on batches can end in any order:
//! [`Checkpoint::acknowledge`] moves on as soon as nothing is missing before.

mod checkpoint;
mod discovery;
mod error;
mod follower;
mod home_file;
mod log_follower;
mod others;
mod schedule;
mod tree;
mod watches;

#[cfg(test)]
mod follow_tests;
#[cfg(test)]
mod model_tests;

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use recto_log::AgentId;
use recto_log::SessionId;

use crate::Cursor;
use crate::GenerationId;
use crate::ReadLimits;

pub use checkpoint::Checkpoint;
pub use error::FollowError;
pub use follower::Follower;
pub use home_file::FileKind;
pub use home_file::HomeFile;
pub use log_follower::LogChange;
pub use log_follower::LogFollower;
pub use watches::Waker;
pub use watches::Watching;

/// What to follow, and from where on.
#[derive(Debug, Clone)]
pub struct FollowOptions {
    /// Which logs.
    pub scope: FollowScope,
    /// Where to begin in logs that are there already. Those that come later are read
    /// from their beginning.
    pub start: FollowStart,
    /// How much is handed out at once.
    pub limits: ReadLimits,
    /// Whether the system is asked to tell what changes.
    pub notice: FollowNotice,
    /// Which files to tell about besides logs and announcements, in the scope
    /// [`FollowScope::Home`].
    pub also: Vec<FileKind>,
}

impl Default for FollowOptions {
    fn default() -> FollowOptions {
        FollowOptions {
            scope: FollowScope::Home,
            start: FollowStart::End,
            limits: ReadLimits::default(),
            notice: FollowNotice::Events,
            also: Vec::new(),
        }
    }
}

/// Which logs are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowScope {
    /// All of the home.
    Home,
    /// Those of one session: its main log and its subagents.
    Session(SessionId),
}

impl FollowScope {
    fn holds(self, session: SessionId) -> bool {
        match self {
            FollowScope::Home => true,
            FollowScope::Session(wanted) => wanted == session,
        }
    }
}

/// Where to begin in logs that are there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowStart {
    /// After their last whole line. They are not announced by [`Change::Appeared`];
    /// [`Follower::files`] names them.
    End,
    /// At their first line.
    Beginning,
}

/// How changes are noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FollowNotice {
    /// The system tells them, where it can; what it does not tell is looked for.
    Events,
    /// All are looked for, as on file systems that tell nothing.
    Polling,
}

/// A log that is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowedFile {
    /// The file.
    pub path: PathBuf,
    /// The name of the project's directory.
    pub project: String,
    /// The session that it belongs to.
    pub session: SessionId,
    /// The subagent, if it is the log of one.
    pub agent: Option<AgentId>,
}

/// Lines of one log that are handed out together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The log.
    pub file: Arc<FollowedFile>,
    /// Which life of the log they belong to.
    pub generation: GenerationId,
    /// Where they are.
    pub range: Range<u64>,
    /// Where the log is read up to with them.
    pub cursor: Cursor,
    /// Counts lives of logs, as this follower has seen them.
    life: u64,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A log that was not there before. Its lines come from offset 0.
    Appeared(Arc<FollowedFile>),
    /// Lines were added.
    Lines {
        /// Where they are.
        batch: Box<Batch>,
        /// Whole lines, each with its `\n`.
        bytes: Vec<u8>,
    },
    /// A line was added that is longer than what is handed out whole.
    LongLine {
        /// Where it is, with its `\n`.
        batch: Box<Batch>,
        /// The first bytes of it.
        start: Vec<u8>,
    },
    /// The log was cut, rewritten or replaced. Its lines come again from offset 0.
    Restarted(Arc<FollowedFile>),
    /// The log has another path; what was read of it stays read.
    Moved {
        /// What it was.
        from: Arc<FollowedFile>,
        /// What it is.
        to: Arc<FollowedFile>,
    },
    /// The log is gone. Told a second after it went, because it may be on its way to
    /// another path.
    Removed(Arc<FollowedFile>),
    /// A file of another kind has come or changed. One that was there when the follower began at
    /// the end is not told; a follower that resumes tells all, because a checkpoint knows logs
    /// only.
    File(HomeFile),
    /// A file of another kind is gone.
    FileRemoved(HomeFile),
    /// Clients have announced themselves, changed their announcement, or left: files in
    /// `sessions/` have changed, or may have.
    Announcements,
}
