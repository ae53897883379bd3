//! All tests of the crate that need a server.

// Clippy takes the helpers of a test binary for ordinary code.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod answers;
mod controls;
mod edits;
mod events;
mod figures;
mod first;
mod guard;
mod home;
mod hostile;
mod hostile_pages;
mod kept_open;
mod live_pages;
mod long_pages;
mod media;
mod namesakes;
mod pages;
mod parameters;
mod reader;
mod schema;
mod second_edition;
mod support;
mod team;
mod traversal;

/// A file that is not listed above would be left out without a word.
#[test]
fn every_file_of_this_folder_is_part_of_the_binary() {
    recto_testkit::assert_all_listed(env!("CARGO_MANIFEST_DIR"), include_str!("runner.rs"));
}
