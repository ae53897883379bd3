//! The tables of a store, made of what real collectors sent.
//!
//! | module | what it holds the tables to |
//! |---|---|
//! | `team` | machines that send to a store: the tool of the others |
//! | `building` | every line once, whoever builds, and the same answers as the home |
//! | `changing` | optimize, erase, vacuum, rebuild |
//! | `trouble` | damage, newer versions, stores that cannot be used |

// Clippy takes the helpers of a test binary for ordinary code.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod building;
mod changing;
mod team;
mod trouble;

#[test]
fn every_file_is_listed_here() {
    recto_testkit::assert_all_listed(env!("CARGO_MANIFEST_DIR"), include_str!("runner.rs"));
}
