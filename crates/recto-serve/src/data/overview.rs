//! The home at a glance.

use serde::Serialize;

use crate::context::Context;

/// The home at a glance.
#[derive(Debug, Serialize)]
pub(crate) struct Overview {
    /// The version of recto.
    pub(crate) version: &'static str,
    /// How many logs of sessions there are.
    pub(crate) sessions: usize,
    /// How many projects there are.
    pub(crate) projects: usize,
    /// How many bytes the logs of sessions have.
    pub(crate) bytes: u64,
}

/// Looks at names and sizes only.
pub(crate) fn overview(context: &Context) -> Overview {
    let inventory = context.home.inventory();
    Overview {
        version: env!("CARGO_PKG_VERSION"),
        sessions: inventory.sessions.len(),
        projects: inventory.projects.len(),
        bytes: inventory.sessions.iter().map(|session| session.bytes).sum(),
    }
}
