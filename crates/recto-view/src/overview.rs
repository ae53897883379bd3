//! The home at a glance.

use recto_store::Inventory;
use serde::Serialize;

use crate::library::Library;

/// The home at a glance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Overview {
    /// The version of recto.
    pub version: &'static str,
    /// The directory.
    pub home: String,
    /// How many projects there are.
    pub projects: usize,
    /// How many logs of sessions there are that are not empty.
    pub sessions: usize,
    /// How many logs of sessions are empty.
    pub empty: usize,
    /// How many bytes the logs of sessions have.
    pub bytes: u64,
    /// How many clients run.
    pub live: usize,
}

impl Library {
    /// Looks at names, sizes and announcements only.
    pub fn overview(&self, inventory: &Inventory) -> Overview {
        let sessions = &inventory.sessions;
        let empty = sessions.iter().filter(|session| session.bytes() == 0).count();
        Overview {
            version: env!("CARGO_PKG_VERSION"),
            home: self.home().root().to_string_lossy().into_owned(),
            projects: inventory.projects.len(),
            sessions: sessions.len() - empty,
            empty,
            bytes: sessions.iter().map(|session| session.bytes()).sum(),
            live: self.clients().len(),
        }
    }
}
