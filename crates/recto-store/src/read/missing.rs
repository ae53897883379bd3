//! Lines that a session misses and another file has.
//!
//! Old clients wrote answers of a helper's log into the chain of the session, and
//! forks and crashes left lines in other logs of the project.

use std::collections::HashMap;
use std::collections::HashSet;
use std::path::Path;

use recto_log::EntryUuid;
use recto_log::LineReader;
use recto_log::decode;
use recto_log::uuids_in;
use recto_session::Parent;
use recto_session::Session;
use recto_session::edit::repair::FoundLine;

use crate::Home;
use crate::Inventory;
use crate::SessionFile;
use crate::StoreError;
use crate::open_file;

/// So many lines are followed from one missing line to the next.
const MOST_ROUNDS: usize = 64;

impl Home {
    /// Looks for the parents that a session misses, and for theirs, in the logs
    /// of its subagents and then in the other sessions of its project.
    pub fn find_missing_lines(
        &self,
        inventory: &Inventory,
        file: &SessionFile,
        session: &Session,
    ) -> HashMap<EntryUuid, FoundLine> {
        let missing = session.nodes().filter_map(|node| match node.parent {
            Parent::Missing(missing) => session.missing_uuid(missing).cloned(),
            Parent::Node(_) | Parent::Root => None,
        });
        let mut wanted: HashSet<EntryUuid> = missing.collect();
        let agents = self.agents_of(inventory, file).into_iter();
        let others = inventory.sessions_in(&file.project).filter(|other| other.id != file.id);
        let places: Vec<_> =
            agents.map(|agent| agent.path).chain(others.map(|other| other.path.clone())).collect();
        let mut found = HashMap::new();
        for _ in 0..MOST_ROUNDS {
            wanted.retain(|uuid| !found.contains_key(uuid) && session.find(uuid).is_none());
            if wanted.is_empty() {
                break;
            }
            let before = found.len();
            let mut parents = Vec::new();
            for path in &places {
                // A log that cannot be read has nothing to give.
                let _ = search(path, &wanted, &mut found, &mut parents);
            }
            if found.len() == before {
                break;
            }
            wanted.extend(parents);
        }
        found
    }
}

fn search(
    path: &Path,
    wanted: &HashSet<EntryUuid>,
    found: &mut HashMap<EntryUuid, FoundLine>,
    parents: &mut Vec<EntryUuid>,
) -> Result<(), StoreError> {
    let mut lines = LineReader::new(open_file(path)?);
    while let Some(line) = lines.next_line()? {
        let may_fit = line.length == line.bytes.len() as u64
            && uuids_in(line.bytes).any(|(_, bits)| wanted.contains(&EntryUuid::from_bits(bits)));
        if !may_fit {
            continue;
        }
        let (entry, _) = decode(line);
        let Some(uuid) = entry.uuid().filter(|uuid| wanted.contains(uuid)) else { continue };
        if !entry.kind().in_chain() || found.contains_key(&uuid) {
            continue;
        }
        parents.extend(entry.parent_uuid());
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let place = format!("{}, line {}", name.unwrap_or_default(), line.number);
        found.insert(uuid, FoundLine { bytes: line.bytes.to_vec(), place });
    }
    Ok(())
}
