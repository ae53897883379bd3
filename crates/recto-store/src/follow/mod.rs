//! Following logs while clients write them.
//!
//! A [`Follower`] hands out what is added to the logs of a home, or of one session
//! with its subagents: whole lines only, each once, none left out. It is told by the
//! system what has changed, and looks by itself as well: all the time where the system
//! tells nothing, now and then where it does.
//!
//! Where a log is read up to is told by a cursor: which file it is (its number in the
//! file system), its generation, the offset, and sums of the bytes before the offset.
//! As long as those bytes are what they were, the log has only grown. If they are not,
//! or the file is another one, the log begins anew: [`Change::Restarted`], with a
//! generation of its own. Generations are numbers that a follower, and those that resume
//! it, give out once, for whatever file.
//!
//! What is not seen: a change in place of a line that was handed out, if the file stays
//! the same one and neither the first nor the last 4 KB before the offset differ.
//!
//! Memory is bounded: [`Follower::next`] gives at most [`FollowOptions::batch`] bytes of
//! lines, or one line that is longer. Of a line over [`FollowOptions::longest_line`] only
//! the start is given ([`Change::LongLine`]), as `recto_log::LineReader` does it.

mod checkpoint;
mod cursor;
mod discovery;
mod follower;
mod log_follower;
mod schedule;
mod tree;
mod watches;

#[cfg(test)]
mod follow_tests;
#[cfg(test)]
mod model_tests;

use std::path::PathBuf;
use std::sync::Arc;

use recto_log::AgentId;
use recto_log::DEFAULT_LINE_CAP;
use recto_log::SessionId;

pub use checkpoint::Checkpoint;
pub use follower::Follower;
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
    /// How many bytes of lines are handed out at once.
    pub batch: usize,
    /// The longest line that is handed out whole.
    pub longest_line: usize,
    /// Whether the system is asked to tell what changes.
    pub notice: FollowNotice,
}

impl Default for FollowOptions {
    fn default() -> FollowOptions {
        FollowOptions {
            scope: FollowScope::Home,
            start: FollowStart::End,
            batch: 1024 * 1024,
            longest_line: DEFAULT_LINE_CAP,
            notice: FollowNotice::Events,
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

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A log that was not there before. Its lines come from offset 0.
    Appeared(Arc<FollowedFile>),
    /// Lines were added.
    Lines {
        /// The log.
        file: Arc<FollowedFile>,
        /// Which life of the log they belong to.
        generation: u64,
        /// Where the first of them begins.
        offset: u64,
        /// Whole lines, each with its `\n`.
        bytes: Vec<u8>,
    },
    /// A line was added that is longer than what is handed out whole.
    LongLine {
        /// The log.
        file: Arc<FollowedFile>,
        /// Which life of the log it belongs to.
        generation: u64,
        /// Where it begins.
        offset: u64,
        /// The first bytes of it.
        start: Vec<u8>,
        /// How long it is, without its `\n`.
        length: u64,
    },
    /// The log was cut, rewritten or replaced. Its lines come again from offset 0.
    Restarted {
        /// The log.
        file: Arc<FollowedFile>,
        /// Its life from now on.
        generation: u64,
    },
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
    /// Clients have announced themselves, changed their announcement, or left: files in
    /// `sessions/` have changed, or may have.
    Announcements,
}
