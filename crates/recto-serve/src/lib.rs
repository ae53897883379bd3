//! Sessions over HTTP: an API, events and pages.
//!
//! The server is for the person who started it. It listens on the loopback
//! interface, or on a socket that only its user may open, and answers nobody
//! who does not know the token of this start. [`guard`](self) is the only place
//! that decides who is answered; nothing that a client sends is ever a part of
//! a path. It reads files through `recto-store` only, and knows nothing about
//! how sessions are run.
//!
//! ```no_run
//! use recto_serve::{Listen, ServeOptions, Server};
//! use recto_session::usage::PriceTable;
//! use recto_store::{CacheDirectory, DataDirectory, Home};
//! use recto_view::{Library, LibraryOptions};
//!
//! let library = Library::new(LibraryOptions {
//!     home: Home::open("/home/dev/.claude")?,
//!     cache: Some(CacheDirectory::new("/home/dev/.cache/recto")),
//!     data: Some(DataDirectory::new("/home/dev/.local/share/recto")),
//!     prices: PriceTable::built_in()?,
//!     zone: None,
//!     now: None,
//! });
//! let options = ServeOptions::new(library, Listen::Loopback { port: None });
//! let server = Server::start(options)?;
//! println!("{}", server.login_url());
//! server.wait();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

mod answer;
mod api;
mod app;
mod asking;
mod assets;
mod connection;
mod context;
mod error;
mod events;
mod guard;
#[cfg(feature = "mcp")]
mod mcp;
mod pages;
mod parameters;
mod server;
mod team;

pub use error::ServeError;
pub use guard::Token;
#[cfg(feature = "mcp")]
pub use mcp::McpOptions;
#[cfg(feature = "mcp")]
pub use mcp::run_mcp;
pub use server::Listen;
pub use server::ServeOptions;
pub use server::Server;
pub use team::TeamAnswer;
pub use team::TeamMachine;
pub use team::TeamRows;
pub use team::TeamSource;
pub use team::TeamTrouble;
pub use team::TeamValue;
pub use team::TellRead;
