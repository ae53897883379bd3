//! All tests of this folder in one program.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod edge;
mod fleet;
mod secrets;
mod sending;
mod stores;

#[test]
fn every_file_of_this_folder_is_listed() {
    recto_testkit::assert_all_listed(env!("CARGO_MANIFEST_DIR"), include_str!("runner.rs"));
}
