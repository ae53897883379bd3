//! What a file is at some moment: its size, its times, and which file it is.

use std::fs::Metadata;

use jiff::Timestamp;

use crate::place::archived_copy;
use crate::place::platform;
use crate::place::platform::timestamp;

/// What a file is at some moment: as long as nothing of it differs, it was not
/// written. The time and the size are not enough: edits of recto's keep the time, and
/// two titles can be of one length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FileState {
    pub(crate) size: u64,
    /// In nanoseconds since 1970.
    pub(crate) modified: i64,
    pub(crate) stamp: Stamp,
}

/// Which file it is, and when anything of it changed: what no program can set
/// back, unlike the time of writing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) device: u64,
    pub(crate) number: u64,
    /// In nanoseconds since 1970.
    pub(crate) changed: i64,
}

impl Stamp {
    pub(crate) fn of(metadata: &Metadata) -> Stamp {
        // A copy of an archived file never changes, but for where its content is.
        if archived_copy::is_copy(metadata) {
            return Stamp { device: 0, number: 0, changed: 1 };
        }
        let (device, number) = platform::file_number(metadata);
        Stamp { device, number, changed: platform::changed(metadata) }
    }
}

/// How long the clock of a file system may stand still, in nanoseconds.
const TICK: i64 = 50_000_000;

impl FileState {
    /// Of a file that was listed.
    pub(crate) fn listed(metadata: &Metadata) -> FileState {
        FileState {
            size: metadata.len(),
            modified: nanoseconds(timestamp(metadata.modified())),
            stamp: Stamp::of(metadata),
        }
    }

    /// Of a file that is open. What is written in this moment may look as if it
    /// had been written before, because clocks of files tick slowly; then it is
    /// not said when it changed.
    pub(crate) fn now(metadata: &Metadata) -> FileState {
        FileState::listed(metadata).before_reading()
    }

    /// Of a file that was listed and is read from now on. The rule is that of
    /// [`FileState::now`].
    pub(crate) fn before_reading(mut self) -> FileState {
        if nanoseconds(Timestamp::now()) - self.stamp.changed < TICK {
            self.stamp.changed = 0;
        }
        self
    }

    /// Whether a file that looks like this is this one for certain.
    pub(crate) fn is_certain(&self) -> bool {
        self.stamp.changed != 0
    }

    /// How large the file was.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// When the file was written last.
    pub fn modified(&self) -> Timestamp {
        Timestamp::from_nanosecond(i128::from(self.modified)).unwrap_or(Timestamp::UNIX_EPOCH)
    }
}

fn nanoseconds(time: Timestamp) -> i64 {
    i64::try_from(time.as_nanosecond()).unwrap_or(i64::MAX)
}
