//! The index: which words stand in which line of which log.
//!
//! It is a cache. It can be deleted at any time, and nothing is in it that is not
//! in the logs; texts are cut from the log by their place. One SQLite file for a
//! home holds the places of all documents, an FTS5 table of their tokens that
//! keeps no text, and for each log how far it was read. All of them are changed
//! in one transaction, so that who is killed leaves an index that is behind, but
//! never one that is wrong.
//!
//! Before each search the tree is looked at, and what has changed is folded in.
//! Whatever is wrong with the file, a search has an answer: from an index that is
//! rebuilt, or straight from the logs. Every page of the file has a sum that is checked
//! when it is read, so that damage is an error and never another answer.

mod apply;
mod compare;
mod database;
mod expression;
mod facts;
mod find;
mod hit;
mod ingest;
mod limits;
pub(crate) mod page_sums;
mod refresh;
mod rollups;
mod scan;
mod schema;
mod search;
mod verify;
mod write_ahead;

pub use super::error::IndexError;
pub use database::open_database;
pub use facts::LogFacts;
pub use find::Answer;
pub use find::Request;
pub use find::Sorting;
pub use hit::Hit;
pub use hit::HitText;
pub use limits::SearchFilter;
pub use limits::USUAL_HITS;
pub(crate) use rollups::Rollup;
pub(crate) use rollups::RollupKind;
pub(crate) use rollups::Rollups;
pub use schema::Index;
pub use verify::Difference;
pub use verify::Status;
pub use verify::Verified;

#[cfg(test)]
mod damage_tests;
#[cfg(test)]
mod index_tests;
#[cfg(test)]
#[cfg(unix)]
mod kill_tests;
#[cfg(test)]
mod trouble_tests;
