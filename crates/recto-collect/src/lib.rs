//! Many machines into one store, exactly once.
//!
//! Every machine keeps its own archive (`recto_store::keep`). This crate sends it to a store
//! beyond the machine: a bucket, a container, a directory of a server. Names are those of the
//! archive, machine first, and are written once: a retry, a second collector or a lost memory can
//! store nothing twice. What leaves the machine is the policy's to say.
//!
//! | file | owns |
//! |---|---|
//! | `store` | a store by its address: put once, list, read |
//! | `policy`, `content`, `filter` | what leaves the machine, line by line |
//! | `projects` | which project a kept file belongs to |
//! | `parcel` | segments as they are sent |
//! | `send`, `tell`, `report` | what is due of each file into the store, and what is said of it |
//! | `due` | when it is sent |
//! | `naming` | which life of a file in the store is which in the archive |
//! | `state` | what the store is known to have, in SQLite |
//! | `pace` | bandwidth, and waiting for a store that is away |
//! | `outlook` | what would go, and how far a store is |
//! | `contents` | what a store has of one machine |
//! | `verify` | reading it back |
//! | `mirror` | copying it here, to be read like any archive |
//! | `cloud`, `aws_files` | buckets and containers, and where their credentials are |
//! | `hub_client`, `hub_token` | a hub in front of a store, as a machine sees it |
//! | `hub` | the hub itself |
//! | `otlp` | usage, turns and tool calls for collectors of telemetry |
//! | `objects` | what else is kept in a store |
//! | `beat`, `fleet` | what machines say of themselves; all machines of a store |

#![warn(missing_docs)]

#[cfg(feature = "cloud")]
mod aws_files;
mod beat;
#[cfg(feature = "cloud")]
mod cloud;
mod content;
mod contents;
mod due;
mod error;
mod filter;
mod fleet;
#[cfg(feature = "hub")]
pub mod hub;
#[cfg(feature = "cloud")]
mod hub_client;
#[cfg(feature = "cloud")]
mod hub_token;
mod mirror;
#[cfg(any(feature = "cloud", feature = "hub"))]
mod moment;
mod naming;
mod objects;
#[cfg(feature = "cloud")]
mod otlp;
mod outlook;
mod pace;
mod parcel;
mod policy;
mod projects;
mod report;
mod send;
mod state;
mod store;
mod tell;
mod verify;

#[cfg(feature = "cloud")]
pub use aws_files::aws_settings;
pub use beat::Beat;
pub use beat::MachineFacts;
pub use content::Content;
pub use error::CollectError;
pub use fleet::Fleet;
pub use fleet::FleetMachine;
pub use fleet::Forget;
pub use fleet::Forgotten;
#[cfg(feature = "cloud")]
pub use hub_token::HubToken;
pub use mirror::Mirror;
pub use mirror::Wanted;
pub use objects::Object;
#[cfg(feature = "cloud")]
pub use otlp::Otlp;
#[cfg(feature = "cloud")]
pub use otlp::OtlpReport;
pub use outlook::Outlook;
pub use outlook::StoreStatus;
pub use pace::backoff;
pub use policy::Policy;
pub use policy::Redaction;
pub use policy::Withheld;
pub use report::SendOptions;
pub use report::SendReport;
pub use send::Sender;
pub use store::AzureAccount;
pub use store::Store;
pub use verify::StoreVerify;
