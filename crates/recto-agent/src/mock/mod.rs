//! A strict server of the Messages API, for tests of this crate and of others.
//!
//! Owns: what is refused, what is answered, what goes wrong on command. It listens on loopback
//! only, and knows no key: any key is accepted, and none is written anywhere.
//!
//! ```
//! use recto_agent::mock::{Mock, MockOptions};
//!
//! let mock = Mock::start(MockOptions::default())?;
//! assert!(mock.base_url().starts_with("http://127.0.0.1:"));
//! # Ok::<(), recto_agent::mock::MockError>(())
//! ```

mod answer;
mod body;
mod cache;
mod connection;
mod fault;
mod personality;
mod response;
mod script;
mod server;
mod signature;
mod speak;
pub mod strict;
mod view;

pub use answer::Asked;
pub use answer::Listener;
pub use answer::MockEvent;
pub use fault::BadFault;
pub use fault::FAULTS;
pub use fault::Fault;
pub use personality::Personality;
pub(crate) use script::Reply;
pub use script::Script;
pub use script::ScriptError;
pub(crate) use script::json_of;
pub use server::Mock;
pub use server::MockError;
pub use server::MockOptions;
