//! Following one file that the user named, wherever it is.

use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::Instant;

use super::FollowNotice;
use super::watches::Waker;
use super::watches::Watches;
use super::watches::Watching;
use crate::Advance;
use crate::Cursor;
use crate::ReadLimits;
use crate::StoreError;
use crate::place::open::open_known;

/// How often the file is looked at where the system tells what changes, and where not.
const WATCHED: Duration = Duration::from_secs(1);
const UNWATCHED: Duration = Duration::from_millis(250);

/// Something that happened to a file that is followed alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogChange {
    /// Lines were added: where they begin, and whole lines, each with its `\n`.
    Lines(u64, Vec<u8>),
    /// A line was added that is longer than what is handed out whole.
    LongLine {
        /// Where it begins.
        offset: u64,
        /// The first bytes of it.
        start: Vec<u8>,
        /// How long it is, without its `\n`.
        length: u64,
    },
    /// The file was cut, rewritten or replaced. Its lines come again from offset 0.
    Restarted,
    /// The file is not there. It may come again, and begins anew then.
    Removed,
}

/// Follows one file from its beginning, by the rules of a [`super::Follower`].
#[derive(Debug)]
pub struct LogFollower {
    path: PathBuf,
    /// `None` while the file is not there.
    cursor: Option<Cursor>,
    watches: Watches,
    limits: ReadLimits,
}

impl LogFollower {
    /// Begins to follow a file, which must be there.
    pub fn new(path: &Path) -> Result<LogFollower, StoreError> {
        let mut watches = Watches::new(FollowNotice::Events);
        if let Some(parent) = path.parent() {
            // A bare name has an empty parent.
            let here = Path::new(".");
            watches.add(if parent.as_os_str().is_empty() { here } else { parent });
        }
        let metadata = crate::open_file(path)?.metadata()?;
        Ok(LogFollower {
            path: path.to_owned(),
            cursor: Some(Cursor::start(&metadata)),
            watches,
            limits: ReadLimits::default(),
        })
    }

    /// Waits until something has changed, and gives it; nothing if the time is over, or
    /// somebody woke the follower.
    pub fn next(&mut self, timeout: Duration) -> Vec<LogChange> {
        const LONGEST_WAIT: Duration = Duration::from_secs(24 * 3600);
        let deadline = Instant::now() + timeout.min(LONGEST_WAIT);
        loop {
            let inbox = self.watches.take();
            let changes = self.look();
            let now = Instant::now();
            if !changes.is_empty() || inbox.is_woken || inbox.is_stopped || now >= deadline {
                return changes;
            }
            let pause = match self.watches.watching() {
                Watching::Events => WATCHED,
                Watching::Partly | Watching::Polling => UNWATCHED,
            };
            self.watches.wait(deadline.min(now + pause));
        }
    }

    /// Wakes or stops the follower from elsewhere.
    pub fn waker(&self) -> Waker {
        self.watches.waker()
    }

    /// What is new in the file.
    fn look(&mut self) -> Vec<LogChange> {
        let opened = open_known(&self.path).and_then(|file| Ok((file.metadata()?, file)));
        let Some((metadata, file)) = opened.ok().filter(|(metadata, _)| metadata.is_file()) else {
            return self.cursor.take().map(|_| LogChange::Removed).into_iter().collect();
        };
        let mut changes = Vec::new();
        loop {
            // A file that comes back begins anew, as one that was replaced.
            let cursor = self.cursor.get_or_insert_with(|| {
                changes.push(LogChange::Restarted);
                Cursor::start(&metadata)
            });
            match cursor.advance(&file, self.limits) {
                Ok(Advance::Grown(growth)) => {
                    let offset = growth.range.start;
                    changes.push(match growth.is_long_line() {
                        true => LogChange::LongLine {
                            offset,
                            start: growth.bytes,
                            length: growth.range.end - offset - 1,
                        },
                        false => LogChange::Lines(offset, growth.bytes),
                    });
                }
                Ok(Advance::Differs) => {
                    self.cursor = None;
                    continue;
                }
                // What cannot be read now may be read later; a file that is gone is told.
                Ok(Advance::Nothing) | Err(_) => {}
            }
            return changes;
        }
    }
}
