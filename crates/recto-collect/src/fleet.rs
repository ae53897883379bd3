//! All machines of a store: who they are, how far they are, and how they are forgotten.

use std::hash::BuildHasher as _;
use std::hash::RandomState;

use futures_util::StreamExt as _;
use futures_util::stream;
use jiff::Timestamp;
use recto_log::SessionId;
use recto_store::keep::FileKey;
use recto_store::keep::MachineId;
use recto_store::keep::SegmentKey;
use recto_store::keep::forgotten_prefix;
use recto_store::keep::session_of;

use crate::beat::Beat;
use crate::contents::Contents;
use crate::error::CollectError;
use crate::store::Store;
use crate::verify::StoreVerify;
use crate::verify::read_machine;

/// How many machines are listed at the same time.
const AT_ONCE: usize = 8;
/// Where it is noted who forgot what.
const AUDIT: &str = "audit/v1";

/// A machine of a fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetMachine {
    /// The machine.
    pub machine: MachineId,
    /// What it said last.
    pub beat: Option<Beat>,
    /// Its files in the store.
    pub files: u64,
    /// Its objects.
    pub objects: u64,
    /// Compressed bytes.
    pub stored_bytes: u64,
    /// Bytes of its growing files that are covered.
    pub bytes: u64,
    /// When its last object came, by the clock of the store.
    pub newest: Option<Timestamp>,
    /// Ranges that are missing between others.
    pub gaps: u64,
}

/// What is to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forget {
    /// All that a machine sent.
    Machine(MachineId),
    /// All that the machines of a user sent.
    User(String),
    /// A session, whichever machines sent it.
    Session(SessionId),
}

/// What was forgotten, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Machines with something of it.
    pub machines: Vec<MachineId>,
    /// Files.
    pub files: u64,
    /// Objects.
    pub objects: u64,
    /// Files whose headers cannot be read, so that nobody knows whose they are.
    pub unknown: Vec<String>,
    /// The record of it.
    pub record: Option<String>,
}

/// A store as that of a fleet.
#[derive(Debug, Clone)]
pub struct Fleet {
    store: Store,
}

impl Fleet {
    /// Of a store.
    pub fn new(store: Store) -> Fleet {
        Fleet { store }
    }

    /// All machines, those that were seen last first.
    pub fn machines(&self) -> Result<Vec<FleetMachine>, CollectError> {
        runtime()?.block_on(async {
            let machines = machines_of(&self.store).await?;
            let looked = stream::iter(machines).map(|one| self.look(one)).buffer_unordered(AT_ONCE);
            let mut machines = Vec::new();
            for machine in looked.collect::<Vec<_>>().await {
                machines.push(machine?);
            }
            // Some stores have empty folders, where everything was forgotten.
            machines.retain(|machine| machine.objects > 0);
            machines.sort_by_key(|one| (std::cmp::Reverse(one.newest), one.machine));
            Ok(machines)
        })
    }

    async fn look(&self, machine: MachineId) -> Result<FleetMachine, CollectError> {
        let contents = Contents::list(&self.store, machine).await?;
        Ok(FleetMachine {
            machine,
            beat: self.beat(machine).await?,
            files: contents.files.len() as u64,
            objects: contents.objects,
            stored_bytes: contents.bytes,
            bytes: contents.source_bytes(),
            newest: contents.newest,
            gaps: contents.gaps().len() as u64,
        })
    }

    async fn beat(&self, machine: MachineId) -> Result<Option<Beat>, CollectError> {
        let json = self.store.get(&Beat::key(machine)).await?;
        Ok(json.and_then(|json| serde_json::from_slice(&json).ok()))
    }

    /// Looks for holes in every file and life of one machine or of all, by names. With `read`,
    /// reads everything and compares digests too.
    pub fn verify(
        &self,
        machine: Option<MachineId>,
        read: bool,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<StoreVerify, CollectError> {
        runtime()?.block_on(async {
            let machines = match machine {
                Some(machine) => vec![machine],
                None => machines_of(&self.store).await?,
            };
            let mut report = StoreVerify::default();
            for machine in machines {
                let contents = Contents::list(&self.store, machine).await?;
                if read {
                    let all = &mut report;
                    read_machine(&self.store, machine, &contents, all, progress).await?;
                    continue;
                }
                report.files += contents.files.len() as u64;
                report.objects += contents.objects;
                report.stored_bytes += contents.bytes;
                report.bytes += contents.source_bytes();
                for (file, from, to) in contents.gaps() {
                    report.problems.push(format!(
                        "bytes {from} to {to} of {file} of machine {machine} are missing"
                    ));
                }
                let strange = contents.strange.iter();
                let told = strange.map(|name| format!("{name} is not a name of a segment"));
                report.problems.extend(told);
            }
            Ok(report)
        })
    }

    /// Says what would be forgotten; with `really`, forgets it: notes that it must not come back,
    /// removes the objects, and writes a record.
    pub fn forget(
        &self,
        what: &Forget,
        really: bool,
        by: &str,
        now: Timestamp,
    ) -> Result<Forgotten, CollectError> {
        runtime()?.block_on(self.forgetting(what, really, by, now))
    }

    async fn forgetting(
        &self,
        what: &Forget,
        really: bool,
        by: &str,
        now: Timestamp,
    ) -> Result<Forgotten, CollectError> {
        let mut forgotten = Forgotten::default();
        let machines = match what {
            Forget::Machine(machine) => vec![*machine],
            Forget::User(_) | Forget::Session(_) => machines_of(&self.store).await?,
        };
        for machine in machines {
            if let Forget::User(user) = what
                && self.beat(machine).await?.and_then(|beat| beat.user).as_ref() != Some(user)
            {
                continue;
            }
            let contents = Contents::list(&self.store, machine).await?;
            let files = self.files_of(what, machine, &contents, &mut forgotten).await?;
            if files.is_empty() {
                continue;
            }
            forgotten.machines.push(machine);
            for file in files {
                let parts = contents.files.get(&file).map_or(&[][..], Vec::as_slice);
                forgotten.files += 1;
                forgotten.objects += parts.len() as u64;
                if !really {
                    continue;
                }
                let mark = format!("{}/file={file}.json", forgotten_prefix(machine));
                self.store.put_over(&mark, b"{}".to_vec().into()).await?;
                for part in parts {
                    let key = SegmentKey { machine, file, part: part.clone() };
                    self.store.delete(&key.to_string()).await?;
                }
            }
            if really && !matches!(what, Forget::Session(_)) {
                self.store.delete(&Beat::key(machine)).await?;
            }
        }
        if really && !forgotten.machines.is_empty() {
            forgotten.record = Some(self.record(what, by, now, &forgotten).await?);
        }
        Ok(forgotten)
    }

    async fn files_of(
        &self,
        what: &Forget,
        machine: MachineId,
        contents: &Contents,
        forgotten: &mut Forgotten,
    ) -> Result<Vec<FileKey>, CollectError> {
        let Forget::Session(session) = what else {
            return Ok(contents.files.keys().copied().collect());
        };
        let (about, unknown) = contents.about(&self.store, machine).await?;
        forgotten.unknown.extend(unknown);
        let is_of = |one: &&crate::contents::About| {
            session_of(one.kind, &one.path).as_ref() == Some(session)
        };
        Ok(about.iter().filter(is_of).map(|one| one.file).collect())
    }

    async fn record(
        &self,
        what: &Forget,
        by: &str,
        now: Timestamp,
        forgotten: &Forgotten,
    ) -> Result<String, CollectError> {
        let (kind, name) = match what {
            Forget::Machine(machine) => ("machine", machine.to_string()),
            Forget::User(user) => ("user", user.clone()),
            Forget::Session(session) => ("session", session.to_string()),
        };
        let machines: Vec<String> = forgotten.machines.iter().map(ToString::to_string).collect();
        let json = serde_json::json!({
            "time": now.to_string(), "by": by, "forgot": { kind: name }, "machines": machines,
            "files": forgotten.files, "objects": forgotten.objects,
        });
        // Two that forget in the same moment have a record each.
        let random = RandomState::new().hash_one(by) as u32;
        let key = format!("{AUDIT}/{}-{random:08x}-forget-{kind}.json", now.as_millisecond());
        self.store.put_new(&key, json.to_string().into_bytes().into()).await?;
        Ok(key)
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, CollectError> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

/// All machines with something in a store.
pub(crate) async fn machines_of(store: &Store) -> Result<Vec<MachineId>, CollectError> {
    let folders = store.folders("raw/v1").await?;
    let machine = |name: &String| name.strip_prefix("machine=")?.parse().ok();
    Ok(folders.iter().filter_map(machine).collect())
}
