//! The home at a glance.

use serde::Serialize;

use crate::library::Library;

/// The home at a glance.
#[derive(Debug, Serialize)]
pub struct Overview {
    /// The version of recto.
    pub version: &'static str,
    /// How many logs of sessions there are.
    pub sessions: usize,
    /// How many projects there are.
    pub projects: usize,
    /// How many bytes the logs of sessions have.
    pub bytes: u64,
}

impl Library {
    /// Looks at names and sizes only.
    pub fn overview(&self) -> Overview {
        let inventory = self.home().inventory();
        Overview {
            version: env!("CARGO_PKG_VERSION"),
            sessions: inventory.sessions.len(),
            projects: inventory.projects.len(),
            bytes: inventory.sessions.iter().map(|session| session.bytes()).sum(),
        }
    }
}
