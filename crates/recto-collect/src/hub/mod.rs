//! A hub: takes segments from machines that have no credentials of the store.
//!
//! Every machine has a token that may write below the machine's own prefix and nothing else. What
//! a hub knows is in the store itself, so several of them can serve one store; beside it there is
//! one SQLite file with today's sums and the audit rows that are not in the store yet.
//!
//! | file | owns |
//! |---|---|
//! | `secret` | codes and tokens, and what is kept of them |
//! | `roster` | invitations and tokens in the store; joining, revoking |
//! | `gate` | whose token a request has |
//! | `limits` | how often and how much |
//! | `receive` | a body into a checked segment |
//! | `routes`, `answer` | requests in, answers out |
//! | `book` | today's sums and the audit log |
//! | `metrics` | counters for Prometheus |
//! | `connection`, `server` | listening, TLS, how many and how long |

mod answer;
mod book;
mod connection;
mod gate;
mod limits;
mod metrics;
mod receive;
mod roster;
mod routes;
mod secret;
mod server;

pub use limits::HubLimits;
pub use roster::Enrolled;
pub use roster::Invitation;
pub use roster::Invite;
pub use roster::Roster;
pub use server::Hub;
pub use server::HubOptions;
pub use server::Identity;
