//! Why the server could not be started.

use std::io;
use std::net::SocketAddr;

use recto_store::StoreError;
use recto_view::hint;
use thiserror::Error;

/// Why the server could not be started. The text is for people;
/// [`ServeError::hint`] says what to do.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The address cannot be had.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// Others could reach the server, and no token of the user's own was given.
    #[error("{address} is reachable from other machines and needs a token file")]
    NoToken {
        /// The address that was asked for.
        address: SocketAddr,
    },
    /// The token is too easy to guess.
    #[error("the token has {length} characters; it needs 32 to 512 without white space")]
    WeakToken {
        /// How long it is.
        length: usize,
    },
    /// Something of the store's.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system refused something else.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl ServeError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            ServeError::Listen { source, .. }
                if source.kind() == io::ErrorKind::AddrNotAvailable =>
            {
                Some(
                    "this machine has no such address; `ip address` or `ifconfig` lists its addresses",
                )
            }
            ServeError::Listen { address, .. } if address.ip().is_loopback() => {
                Some("use another --port, or 0 for any free one")
            }
            ServeError::Listen { .. } => Some("choose another port with --listen ADDRESS:PORT"),
            ServeError::NoToken { .. } => Some("use --token-file FILE with your own token"),
            ServeError::WeakToken { .. } => Some("create one with `openssl rand -hex 32`"),
            ServeError::Store(error) => hint(error),
            ServeError::Io(_) => None,
        }
    }

    /// A stable name, for machines.
    pub fn kind(&self) -> &'static str {
        match self {
            ServeError::Listen { .. } => "cannot-listen",
            ServeError::NoToken { .. } => "no-token",
            ServeError::WeakToken { .. } => "weak-token",
            ServeError::Store(error) => error.kind(),
            ServeError::Io(_) => "io",
        }
    }
}
