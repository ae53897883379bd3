//! The HTTP client of the Messages API.
//!
//! Owns: connections, keys, retries, what an endpoint can do, where caches break. Does not own:
//! the text of messages ([`crate::wire`]), and when to ask (`turn`).
//!
//! An exchange is one request and all attempts to have it answered. Only
//! [`ApiEvent::Answer`] is an answer: everything before it is for those who watch, and is void
//! as soon as [`ApiEvent::Retry`] says so. Dropping an [`Exchange`] ends it at any byte.
//!
//! ```no_run
//! use recto_agent::api::{ApiEvent, Client, Credential, Endpoint};
//! use recto_agent::wire::{Block, Message, Request};
//!
//! # async fn ask() -> Result<(), Box<dyn std::error::Error>> {
//! let endpoint = Endpoint::new("http://127.0.0.1:7780", Credential::api_key("sk-test")?)?;
//! let client = Client::new(endpoint)?;
//! let mut request = Request::new("claude-opus-5-5", 1024);
//! request.messages.push(Message::user([Block::text("Hello")]));
//! let mut exchange = client.send(request);
//! while let Some(event) = exchange.next().await {
//!     if let ApiEvent::Answer(answer) = event? {
//!         println!("{}", answer.text_of_blocks());
//!     }
//! }
//! # Ok(())
//! # }
//! ```

mod adapt;
mod attempt;
mod caching;
mod capability;
mod client;
mod cost;
mod endpoint;
mod error;
mod exchange;
mod retry;

pub use adapt::Adaptation;
pub use adapt::adapt;
pub use caching::CacheTime;
pub use caching::set_marks;
pub use capability::Capabilities;
pub use capability::CapabilityError;
pub use capability::EndpointTable;
pub use client::Client;
pub use cost::cost_of;
pub use cost::estimate_tokens;
pub use endpoint::Credential;
pub use endpoint::Endpoint;
pub use endpoint::Proxy;
pub use endpoint::Timeouts;
pub use error::ApiError;
pub use error::Failure;
pub use error::Unreachable;
pub use exchange::ApiEvent;
pub use exchange::Exchange;
pub use retry::Retries;
