//! What a machine says of itself in a store.

use jiff::Timestamp;
use recto_store::keep::Archive;
use recto_store::keep::MachineId;
use serde::Deserialize;
use serde::Serialize;

use crate::error::CollectError;
use crate::report::SendReport;
use crate::store::Store;

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

    /// What a machine says in a directory that it archives to: everything is there, as it is.
    fn of_archive(facts: &MachineFacts, machine: MachineId, files: u64, now: Timestamp) -> Beat {
        let report = SendReport { files, ..SendReport::default() };
        Beat::new(facts, machine, "raw", now, &report)
    }

    pub(crate) fn key(machine: MachineId) -> String {
        format!("{FOLDER}/machine={machine}.json")
    }

    pub(crate) fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

impl Store {
    /// Says who archives to this directory.
    pub fn note_archive(
        &self,
        archive: &Archive,
        facts: &MachineFacts,
        now: Timestamp,
    ) -> Result<(), CollectError> {
        let machine = archive.machine();
        let beat = Beat::of_archive(facts, machine, archive.files()?.len() as u64, now);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(self.put_over(&Beat::key(machine), beat.to_json().into()))
    }
}
