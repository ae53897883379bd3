//! Servers of tools: a client of the Model Context Protocol.
//!
//! ```text
//! --mcp-config, .mcp.json, initialize ─► ServerConfig ─► Servers ─► Connection ─► tools
//!                                                    process, HTTP, or the host itself
//! ```
//!
//! Written by hand, because servers of the host speak over the control link, message by message,
//! and because a result must reach the log as the server sent it, with fields that no type of
//! ours knows. OAuth is left out: a server that wants it is `needs-auth`.

mod config;
mod connection;
mod http;
mod process;
mod servers;

pub use config::ServerConfig;
pub use config::Transport;
pub use servers::Servers;
