//! All tests of the crate that need a server.

mod answers;
mod chromium;
mod events;
mod figures;
mod first;
mod guard;
mod hostile;
mod hostile_pages;
mod pages;
mod schema;
mod support;
mod traversal;
