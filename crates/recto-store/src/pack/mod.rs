//! Archives of sessions: a tar of `manifest.json` and all files of the sessions,
//! compressed with zstd.
//!
//! The manifest comes first and says everything: each file with its role, its
//! size, its hash and its time. Where a file goes follows from its role, the id
//! of its session and a checked name, never from a path in the archive. What the
//! manifest does not name, or names otherwise, makes the whole archive refused
//! before anything is published.
//!
//! | file | owns |
//! |---|---|
//! | `manifest` | what an archive says of itself, and what may be said |
//! | `package` | writing one |
//! | `extract` | reading one into a folder, with every check |
//! | `unpack` | from the folder into a home |

pub(crate) mod error;
mod extract;
mod manifest;
mod package;
mod unpack;

#[cfg(test)]
mod archive_tests;
#[cfg(test)]
mod fuzz_tests;

pub use error::PackError;
pub use extract::Extracted;
pub use extract::read_manifest;
pub use manifest::Manifest;
pub use manifest::PackedFile;
pub use manifest::PackedSession;
pub use manifest::Role;
pub use package::Content;
pub use package::Package;
pub use package::Unreadable;
pub use package::memory_files;
pub use unpack::Arrival;
pub use unpack::Ids;
pub use unpack::UnpackedSession;

/// The name of the first entry.
const MANIFEST: &str = "manifest.json";
/// The largest manifest, which is read as a whole: about 200,000 files.
const LARGEST_MANIFEST: u64 = 64 * 1024 * 1024;
