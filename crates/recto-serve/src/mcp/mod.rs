//! Past sessions for agents, over the Model Context Protocol.
//!
//! | part | owns |
//! |---|---|
//! | `server` | the protocol, by the official crate: which tools there are, who is called |
//! | `tools` | what each tool is called, is for, and takes |
//! | `arguments` | reading what a client sent, with care |
//! | `archive` | what all tools share: the home, the time, the redactor |
//! | `reply` | how much is said: sizes, cutting, pages |
//! | `search`, `sessions`, `transcript`, `usage`, `status`, `plans` | one tool each |
//!
//! Nothing is changed, nothing but the home is read, and no path is taken from a client.
//! Texts of logs are redacted before they are cut, so that no half of a secret is left.

mod archive;
mod arguments;
mod files;
mod plans;
mod reply;
mod search;
mod server;
mod sessions;
mod status;
mod tools;
mod transcript;
mod usage;

use recto_session::redact::Redactor;
use recto_view::Library;

pub use server::run_mcp;

/// What the tools work on.
pub struct McpOptions {
    /// Answers questions about the home.
    pub library: Library,
    /// Replaces secrets in everything that is said; `None` to say them.
    pub redactor: Option<Redactor>,
}
