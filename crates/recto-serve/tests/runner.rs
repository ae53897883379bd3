//! All tests of the crate that need a server.

mod first;
mod support;
