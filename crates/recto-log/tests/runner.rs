//! The tests of this crate that go through its public surface.
//!
//! | module | what it holds the crate to |
//! |---|---|
//! | `round_trip` | every recorded log comes back byte for byte, and nothing in it is unknown |
//! | `building` | every recorded line is built again from its facts, byte for byte |
//! | `generated` | every count of a generated home is the generator's |
//! | `million` | a million generated lines: same bytes, same answer as `serde_json` |
//! | `mutation` | recorded lines with random damage: no view panics or hangs |
//! | `conformance` | the JSON cases of `fixtures/json` |
//! | `patching` | a change touches one value and nothing else |
//! | `project_keys` | names of project directories as clients make them |
//! | `bombs` | lines of a gigabyte, nesting a million deep, millions of blocks |
//!
//! The other modules are their tools. Two environment variables steer the
//! random tests: `RECTO_FUZZ_ITERATIONS` is how many damaged lines `mutation`
//! tries, `RECTO_FUZZ_SEED` starts all of them somewhere else. A failure names
//! the seed to repeat it with. `RECTO_CORPUS` names another corpus for `building`.

// Clippy takes the helpers of a test binary for ordinary code.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod bombs;
mod building;
mod conformance;
mod corpus;
mod generated;
mod line_maker;
mod million;
mod mutation;
mod patching;
mod project_keys;
mod random;
mod reference;
mod round_trip;
mod views;

/// A file that is not listed above would be left out without a word.
#[test]
fn every_file_of_this_folder_is_part_of_the_binary() {
    recto_testkit::assert_all_listed(env!("CARGO_MANIFEST_DIR"), include_str!("runner.rs"));
}
