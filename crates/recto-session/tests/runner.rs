//! The tests of this crate that go through its public surface.
//!
//! | module | what it holds the crate to |
//! |---|---|
//! | `generated` | turns, tool pairs and messages are the generator's |
//! | `resume` | every recorded resume: the rebuilt request equals the one that was sent |
//! | `rules` | the rules that sessions of other people showed, one log each |
//! | `older` | older logs in newer clients, which no recording holds |
//! | `sdk` | the Agent SDK, a second reader, sees the same conversation |
//! | `hashes` | every message hash that a client noted is found again |
//! | `branches` | the branch that is told for a client ends at its leaf |
//! | `health` | recorded sessions are healthy, edited ones say what is wrong |
//! | `edit` | edits of recorded sessions are taken by every client as meant |
//! | `redact` | secrets of the public rules are found, and little else |
//! | `redact_set` | so are secrets as people write them, in a set that is older than the rules |
//! | `anonymous` | logs without content have the same shape |
//! | `plan_texts` | what these edits write, on small logs |
//! | `plans` | trimming, stripping and compressing lose nothing else, in every client |
//! | `fixes` | each fix of a repair does what it says |
//! | `repair` | damaged sessions are whole after a repair, healthy ones are let alone |
//! | `repair_many` | repairs of very many lines take a time in proportion to them |
//! | `merge` | sessions that were split are joined again |
//! | `status` | the status of recorded sessions is what the client said, and never flaps |
//! | `fuzz` | any text is a query or an error, and a price file or an error |
//! | `graphs` | random graphs of lines: no client's rules hang or panic |
//! | `grow` | a log that grows says the same as all of it at once |
//!
//! The other modules are their tools. `RECTO_CORPUS` names a second folder in
//! the shape of `fixtures/corpus`, which is then compared in the same way.

// Clippy takes the helpers of a test binary for ordinary code.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr)]

mod anonymous;
mod branches;
mod cases;
mod edit;
mod fixes;
mod fuzz;
mod generated;
mod graphs;
mod grow;
mod hashes;
mod health;
mod merge;
mod older;
mod plan_texts;
mod plans;
mod redact;
mod redact_set;
mod repair;
mod repair_many;
mod resume;
mod rules;
mod samples;
mod sdk;
mod status;

/// A file that is not listed above would be left out without a word.
#[test]
fn every_file_of_this_folder_is_part_of_the_binary() {
    recto_testkit::assert_all_listed(env!("CARGO_MANIFEST_DIR"), include_str!("runner.rs"));
}
