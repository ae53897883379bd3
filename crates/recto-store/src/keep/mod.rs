//! Keeping: every byte that matters under a home, in immutable segments.
//!
//! A **segment** is a compressed range of one life of one file, on line boundaries. Its key says
//! exactly which range of which life it holds, and it is written once, under a name that must be
//! free: so writing it twice is harmless, and a collector that is killed anywhere loses nothing
//! and doubles nothing. The archive is the truth. What the collector remembers
//! (`state`) saves work only, and is found again by listing the archive.
//!
//! Two kinds of files are kept in two ways. Files that grow (logs, the history) are kept as
//! segments of lines; files that are rewritten whole (titles, to-dos, plans, …) as versions. A
//! file that is deleted leaves a tombstone, a log that is moved to another project an event.
//!
//! | file | owns |
//! |---|---|
//! | `key` | names in an archive |
//! | `segment` | the form of a segment: a header, then a zstd frame |
//! | `spool` | an archive as what other stores are filled from, and are mirrored into |
//! | `archive` | an archive on the local disk: put once, list, read |
//! | `same_key` | which key a file has if two projects have one session |
//! | `life` | which life of a file an archive has, and how far |
//! | `capture` | one file into the archive |
//! | `collector` | all files of a home, what is remembered between two runs |
//! | `state` | that memory, in SQLite |
//! | `catalog` | what an archive holds, file by file |
//! | `kept_file` | the bytes of a kept file, now or at a time |
//! | `restore` | back into a home, undoable |
//! | `shelf`, `shelf_list` | sessions that only the archive has, as files to list and open |
//! | `copies` | the content of those files, on demand |
//! | `watch` | collecting as soon as something is written |
//! | `status` | what is safe, and what is not yet |
//! | `verify`, `prune` | reading everything back; dropping and merging |

mod archive;
mod capture;
mod catalog;
mod collector;
mod copies;
mod error;
mod kept_file;
mod key;
mod life;
mod machine;
mod prune;
mod restore;
mod same_key;
mod segment;
mod shelf;
mod shelf_list;
mod spool;
mod state;
mod status;
mod verify;
mod watch;

#[cfg(test)]
mod copy_tests;
#[cfg(test)]
mod keep_tests;
#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod recorded_tests;
#[cfg(test)]
mod shelf_tests;
#[cfg(test)]
mod spool_tests;
#[cfg(test)]
mod trouble_tests;
#[cfg(test)]
mod version_tests;

pub use archive::Archive;
pub use capture::Captured;
pub use catalog::Catalog;
pub use catalog::KeptFile;
pub use catalog::KeptSession;
pub use catalog::session_of;
pub use collector::CollectOptions;
pub use collector::CollectProgress;
pub use collector::CollectReport;
pub use collector::Collector;
pub use collector::Trouble;
pub use error::KeepError;
pub use kept_file::Missing;
pub use key::FORGOTTEN;
pub use key::FileKey;
pub use key::LifeId;
pub use key::Part;
pub use key::Range64;
pub use key::SegmentKey;
pub use key::forgotten_file;
pub use key::forgotten_prefix;
pub use life::Lives;
pub use machine::MachineId;
pub use machine::MachineSecret;
pub use prune::MergeReport;
pub use prune::PruneChoice;
pub use prune::PruneReport;
pub use prune::merge;
pub use restore::Restoration;
pub use restore::RestoreOptions;
pub use restore::RestoredFile;
pub use restore::Verdict;
pub use segment::SegmentHeader;
pub use segment::SegmentReader;
pub use segment::SegmentWriter;
pub use spool::LinesRead;
pub use status::CollectStatus;
pub use verify::VerifyReport;
pub use watch::KeepWatch;
