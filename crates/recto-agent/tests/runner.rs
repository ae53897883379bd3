//! All tests of this folder in one program.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod caching;
mod faults;
mod recorded;
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
