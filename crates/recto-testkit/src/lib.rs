//! Test data for recto.
//!
//! | module | what it makes |
//! |---|---|
//! | [`generate`] | a home of any size, with exact knowledge of what is in it |
//! | [`SessionBuilder`] | one log, line by line, as a client of a given version writes it |
//! | [`FakeHome`] | a home in a temporary directory, to put logs and other files into |
//! | [`FakeS3`] | an object store that can be told to fail |
//! | [`SnapshotFilter`] | output in which the paths of this run are replaced |
//! | [`tree`](tree()), [`contents`] | what lies in a folder, to compare before and after |
//! | [`assert_all_listed`], [`tool`] | the files of a test binary, and programs that it runs |
//! | [`chromium`] | a browser that tests drive |
//! | [`fuzz`](mod@fuzz) | random input that can be had again |
//! | [`Jail`] | attempts to get out of the sandbox |
//! | [`recordings`] | what recorded clients did with the logs of a corpus |
//! | [`difference`] | how messages that were sent differ from rebuilt ones |
//!
//! What is here may panic: a test that cannot write its data has failed.

pub mod chromium;
mod compare;
mod corpus;
mod fake_home;
mod fake_s3;
pub mod fuzz;
pub mod generate;
#[cfg(target_os = "linux")]
mod jail;
mod session_builder;
mod snapshot_filter;
mod test_binary;
mod tree;

pub use compare::difference;
pub use corpus::Recording;
pub use corpus::recordings;
pub use fake_home::FakeHome;
pub use fake_s3::BUCKET;
pub use fake_s3::FakeS3;
#[cfg(target_os = "linux")]
pub use jail::Attack;
#[cfg(target_os = "linux")]
pub use jail::Jail;
#[cfg(target_os = "linux")]
pub use jail::NOBODY;
#[cfg(target_os = "linux")]
pub use jail::attacks;
pub use session_builder::Client;
pub use session_builder::SessionBuilder;
pub use snapshot_filter::SnapshotFilter;
pub use test_binary::assert_all_listed;
pub use test_binary::tool;
pub use tree::Tree;
pub use tree::contents;
pub use tree::tree;
