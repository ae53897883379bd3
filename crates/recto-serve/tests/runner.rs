//! All tests of the crate that need a server.

// Clippy takes the helpers of a test binary for ordinary code.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod answers;
mod chromium;
mod edits;
mod events;
mod figures;
mod first;
mod guard;
mod home;
mod hostile;
mod hostile_pages;
mod live_pages;
mod pages;
mod parameters;
mod reader;
mod schema;
mod support;
mod traversal;

/// A file that is not listed above would be left out without a word.
#[test]
fn every_file_of_this_folder_is_part_of_the_binary() {
    recto_testkit::assert_all_listed(env!("CARGO_MANIFEST_DIR"), include_str!("runner.rs"));
}
