//! All tests of this folder in one program.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod azurite;
mod edge;
mod fleet;
mod hub;
mod hub_attack;
#[allow(dead_code, reason = "of what makes secrets, only the public rules are wanted here")]
#[path = "../../recto-session/tests/samples.rs"]
mod samples;
mod secrets;
mod sending;
mod stores;

#[test]
fn every_file_of_this_folder_is_listed() {
    recto_testkit::assert_all_listed(env!("CARGO_MANIFEST_DIR"), include_str!("runner.rs"));
}
