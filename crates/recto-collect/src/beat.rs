//! What a machine says of itself in a store.

use jiff::Timestamp;
use recto_store::keep::MachineId;
use serde::Deserialize;
use serde::Serialize;

use crate::report::SendReport;

/// Where machines say what they are.
pub(crate) const FOLDER: &str = "machines/v1";

/// Who a machine is, for people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MachineFacts {
    /// The user.
    pub user: Option<String>,
    /// What the machine is called.
    pub host: Option<String>,
    /// The version of the program.
    pub version: String,
}

/// What a machine said last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beat {
    /// The machine.
    pub machine: String,
    /// The user.
    pub user: Option<String>,
    /// What the machine is called.
    pub host: Option<String>,
    /// The version of the program.
    pub version: String,
    /// What leaves the machine, and how.
    pub policy: String,
    /// When it was said, by the clock of the machine.
    pub seen: String,
    /// Files in its archive.
    pub files: u64,
    /// Bytes that were not sent yet.
    pub waiting_bytes: u64,
    /// When the oldest of them were archived.
    pub waiting_since: Option<String>,
}

impl Beat {
    pub(crate) fn new(
        facts: &MachineFacts,
        machine: MachineId,
        policy: &str,
        now: Timestamp,
        report: &SendReport,
    ) -> Beat {
        Beat {
            machine: machine.to_string(),
            user: facts.user.clone(),
            host: facts.host.clone(),
            version: facts.version.clone(),
            policy: policy.to_owned(),
            seen: now.to_string(),
            files: report.files,
            waiting_bytes: report.waiting_bytes,
            waiting_since: report.waiting_since.map(|since| since.to_string()),
        }
    }

    pub(crate) fn key(machine: MachineId) -> String {
        format!("{FOLDER}/machine={machine}.json")
    }

    pub(crate) fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}
