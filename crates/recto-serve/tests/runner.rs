//! All tests of the crate that need a server.

mod answers;
mod events;
mod first;
mod guard;
mod hostile;
mod schema;
mod support;
mod traversal;
