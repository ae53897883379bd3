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
mod reader;
mod schema;
mod support;
mod traversal;
