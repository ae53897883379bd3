//! What a store has of a machine, copied here to be read like any archive.

use std::collections::HashSet;
use std::path::Path;

use futures_util::StreamExt as _;
use futures_util::stream;
use recto_log::SessionId;
use recto_store::follow::FileKind;
use recto_store::keep::Archive;
use recto_store::keep::FileKey;
use recto_store::keep::MachineId;
use recto_store::keep::SegmentKey;
use recto_store::keep::session_of;
use tempfile::TempDir;

use crate::contents::About;
use crate::contents::Contents;
use crate::error::CollectError;
use crate::fleet::machines_of;
use crate::store::Store;

/// How many objects are fetched at the same time.
const AT_ONCE: usize = 8;

/// Which files are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wanted {
    /// All of them.
    All,
    /// Those of sessions whose ids begin like this, in lower case.
    Sessions(Vec<String>),
    /// Those of the sessions of a project, by its folder.
    Project(String),
}

/// A copy of what a store has of a machine. It goes when it is dropped.
#[derive(Debug)]
pub struct Mirror {
    directory: TempDir,
    machine: MachineId,
    /// What could not be read in the store.
    pub damaged: Vec<String>,
}

impl Mirror {
    /// Copies what is wanted into a new directory below a folder.
    pub fn fetch(
        store: &Store,
        machine: MachineId,
        wanted: &Wanted,
        below: &Path,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Mirror, CollectError> {
        recto_store::make_directory(below)?;
        let directory = tempfile::Builder::new().prefix("mirror-").tempdir_in(below)?;
        let archive = Archive::create(directory.path().join("archive"), machine)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let copying = copy(store, machine, wanted, &archive, progress);
        let damaged = runtime.block_on(copying)?;
        Ok(Mirror { directory, machine, damaged })
    }

    /// The copy.
    pub fn archive(&self) -> Result<Archive, CollectError> {
        Ok(Archive::open(self.directory.path().join("archive"), self.machine)?)
    }
}

async fn copy(
    store: &Store,
    machine: MachineId,
    wanted: &Wanted,
    archive: &Archive,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Vec<String>, CollectError> {
    let contents = Contents::list(store, machine).await?;
    if contents.files.is_empty() {
        let known = machines_of(store).await?.iter().map(ToString::to_string).collect();
        let (url, machine) = (store.url().to_owned(), machine.to_string());
        return Err(CollectError::NoMachine { url, machine, known });
    }
    let (chosen, damaged): (HashSet<FileKey>, _) = match wanted {
        Wanted::All => (contents.files.keys().copied().collect(), Vec::new()),
        _ => {
            let (about, damaged) = contents.about(store, machine).await?;
            (chosen(&about, wanted), damaged)
        }
    };
    let keys: Vec<SegmentKey> = contents
        .files
        .iter()
        .filter(|(file, _)| chosen.contains(file))
        .flat_map(|(file, parts)| {
            let key = move |part: &recto_store::keep::Part| SegmentKey {
                machine,
                file: *file,
                part: part.clone(),
            };
            parts.iter().map(key)
        })
        .collect();
    let all = keys.len() as u64;
    let mut fetching = stream::iter(keys)
        .map(|key| async move {
            let file = store.fetch(&key.to_string()).await?;
            Ok::<_, CollectError>((key, file))
        })
        .buffer_unordered(AT_ONCE);
    let mut done = 0;
    while let Some(fetched) = fetching.next().await {
        let (key, mut file) = fetched?;
        archive.mirror(&key, &mut file)?;
        done += 1;
        progress(done, all);
    }
    Ok(damaged)
}

fn chosen(about: &[About], wanted: &Wanted) -> HashSet<FileKey> {
    let is_in = |path: &str, project: &str| {
        path.strip_prefix("projects/").and_then(|rest| rest.split('/').next()) == Some(project)
    };
    let sessions: HashSet<SessionId> = about
        .iter()
        .filter_map(|one| {
            let session = session_of(one.kind, &one.path)?;
            let is_wanted = match wanted {
                Wanted::All => true,
                Wanted::Sessions(beginnings) => {
                    let id = session.to_string();
                    beginnings.iter().any(|beginning| id.starts_with(beginning.as_str()))
                }
                Wanted::Project(project) => {
                    one.kind == FileKind::MainLog && is_in(&one.path, project)
                }
            };
            is_wanted.then_some(session)
        })
        .collect();
    let is_chosen = |one: &&About| match session_of(one.kind, &one.path) {
        Some(session) => sessions.contains(&session),
        // Logs of subagents beside the main log name their session inside.
        None => one.kind == FileKind::AgentLog,
    };
    about.iter().filter(is_chosen).map(|one| one.file).collect()
}
