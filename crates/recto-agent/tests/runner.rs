//! All tests of this folder in one program.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod agents;
mod bench;
mod caching;
mod compaction;
mod dialogues;
mod faults;
mod hosts;
#[cfg(unix)]
mod interrupts;
mod recorded;
mod resumes;
mod roads;
mod sdks;
mod settings;
#[cfg(unix)]
mod shell_fuzz;
mod streams;
mod strictness;
mod support;
mod tls;
mod tools;
mod turns;
