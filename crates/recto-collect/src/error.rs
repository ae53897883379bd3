//! Why a store could not be filled or read.

use recto_store::StoreError;
use recto_store::keep::KeepError;
use thiserror::Error;

/// Why a store could not be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CollectError {
    /// The address of a store cannot be read.
    #[error("{url}: {reason}")]
    Address {
        /// The address.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A store refused, or could not be reached.
    #[error("{url}: {reason}")]
    Unreachable {
        /// The store.
        url: String,
        /// What it said.
        reason: String,
    },
    /// A store refused the credentials.
    #[error("{url}: access denied: {reason}")]
    Denied {
        /// The store.
        url: String,
        /// What it said.
        reason: String,
    },
    /// An object is not in the store.
    #[error("{url}: {reason}")]
    Absent {
        /// The store.
        url: String,
        /// What it said.
        reason: String,
    },
    /// A hub refused one segment, for a reason that stays.
    #[error("{url} refused {key}: {reason}")]
    Refused {
        /// The hub.
        url: String,
        /// The segment.
        key: String,
        /// What it said.
        reason: String,
    },
    /// A hub is written to and not read.
    #[error("{url} is a hub, and hubs are write-only")]
    WriteOnly {
        /// The hub.
        url: String,
    },
    /// This machine has no token for a hub.
    #[error("this machine has not joined {url}")]
    NotJoined {
        /// The hub.
        url: String,
    },
    /// A hub did not let this machine in.
    #[error("{url}: {reason}")]
    NotWelcome {
        /// The hub.
        url: String,
        /// What it said.
        reason: String,
        /// This machine, if the code has to be for it.
        machine: Option<String>,
    },
    /// The certificate of a hub cannot be used.
    #[error("{reason}")]
    Certificate {
        /// What is wrong with it.
        reason: String,
    },
    /// A collector of telemetry did not take what it was sent.
    #[error("{url}: {reason}")]
    Telemetry {
        /// The collector.
        url: String,
        /// What it said.
        reason: String,
    },
    /// The policy cannot be read.
    #[error("{path}: {reason}")]
    Policy {
        /// The file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No such machine is in the store.
    #[error("{url} has nothing from machine {machine}")]
    NoMachine {
        /// The store.
        url: String,
        /// The machine.
        machine: String,
        /// Those that it has something of.
        known: Vec<String>,
    },
    /// Another collector sends to the same store.
    #[error("another collector is sending to {url}")]
    Busy {
        /// The store.
        url: String,
    },
    /// What is remembered about a store cannot be used.
    #[error("{path}: {reason}")]
    State {
        /// The file.
        path: String,
        /// What SQLite said.
        reason: String,
    },
    /// The archive or the home could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system refused.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl CollectError {
    /// A stable name, for machines.
    pub fn kind(&self) -> &'static str {
        match self {
            CollectError::Address { .. } => "bad-store",
            CollectError::Unreachable { .. } => "store-unreachable",
            CollectError::Denied { .. } => "store-denied",
            CollectError::Absent { .. } => "store-absent",
            CollectError::Refused { .. } => "hub-refused",
            CollectError::WriteOnly { .. } => "hub-write-only",
            CollectError::NotJoined { .. } => "hub-not-joined",
            CollectError::NotWelcome { .. } => "hub-join",
            CollectError::Certificate { .. } => "bad-certificate",
            CollectError::Telemetry { .. } => "otlp",
            CollectError::Policy { .. } => "bad-policy",
            CollectError::NoMachine { .. } => "no-machine",
            CollectError::Busy { .. } => "store-busy",
            CollectError::State { .. } => "collect-state",
            CollectError::Store(error) => error.kind(),
            CollectError::Io(_) => "io",
        }
    }

    /// What to do.
    pub fn hint(&self) -> Option<String> {
        match self {
            CollectError::Address { .. } => Some(
                "use s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX, \
                 the https:// address of a hub, or a directory"
                    .to_owned(),
            ),
            CollectError::Unreachable { .. } => {
                Some("what is archived here stays; the next run sends it".to_owned())
            }
            CollectError::Denied { .. } => Some(
                "check the credentials: AWS_…, GOOGLE_… or AZURE_… variables, ~/.aws, \
                     or the token of the hub"
                    .to_owned(),
            ),
            CollectError::WriteOnly { .. } => {
                Some("name the store behind it, such as s3://BUCKET/PREFIX".to_owned())
            }
            CollectError::NotJoined { url } => Some(format!(
                "ask for a code (`recto hub invite`) and run `recto collect join {url} CODE`"
            )),
            CollectError::NotWelcome { machine: Some(machine), .. } => {
                Some(format!("ask for a code for it: `recto hub invite --machine {machine}`"))
            }
            CollectError::NotWelcome { machine: None, .. } => {
                Some("ask for a new code: `recto hub invite`".to_owned())
            }
            CollectError::Telemetry { .. } => {
                Some("what was not accepted is sent by the next run".to_owned())
            }
            CollectError::NoMachine { known, .. } => match known.as_slice() {
                [] => Some("the store is empty".to_owned()),
                known => Some(format!("choose one with --machine: {}", known.join(", "))),
            },
            CollectError::Policy { .. }
            | CollectError::Absent { .. }
            | CollectError::Refused { .. }
            | CollectError::Certificate { .. }
            | CollectError::Busy { .. }
            | CollectError::State { .. }
            | CollectError::Store(_)
            | CollectError::Io(_) => None,
        }
    }
}

impl From<KeepError> for CollectError {
    fn from(error: KeepError) -> CollectError {
        CollectError::Store(error.into())
    }
}
