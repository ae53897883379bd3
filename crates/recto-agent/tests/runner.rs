//! All tests of this folder in one program.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod agents;
mod bench;
mod caching;
mod commands;
mod compaction;
mod dialogues;
mod ends;
mod faults;
mod hosts;
#[cfg(unix)]
mod interrupts;
mod messages;
mod recorded;
mod resumes;
mod roads;
mod sdks;
mod servers;
mod settings;
#[cfg(unix)]
mod shell_fuzz;
#[cfg(target_os = "linux")]
mod soak;
mod streams;
mod strictness;
mod support;
mod tls;
mod tools;
mod turns;
#[cfg(unix)]
mod worktrees;
