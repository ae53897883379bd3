//! What is in the home, looked at again and again.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use recto_store::CacheDirectory;
use recto_store::Digest;
use recto_store::Digests;
use recto_store::Home;
use recto_store::Inventory;
use recto_store::SessionFile;

use super::message::Entry;
use super::message::Listing;
use super::message::Live;
use super::state::shown_path;
use crate::commands::ls::Row;
use crate::commands::ls::live_by_session;
use crate::select::target::Target;
use crate::terminal::text::one_line;
use crate::terminal::text::short_model;

/// How many sessions are listed before the others have been looked at.
const FIRST: usize = 200;

/// The home as it was seen last. Only logs that changed since are opened again.
#[derive(Default)]
pub(super) struct Watch {
    known: HashMap<PathBuf, Known>,
    /// Where an index can be.
    cache: Option<CacheDirectory>,
    /// What was told last.
    told: Vec<(String, u64, Timestamp, Option<Live>)>,
    skipped: Vec<String>,
}

struct Known {
    bytes: u64,
    modified: Timestamp,
    /// None for a log that may not be read.
    digest: Option<Arc<Digest>>,
}

impl Watch {
    pub(super) fn new(cache: Option<CacheDirectory>) -> Watch {
        Watch { cache, ..Watch::default() }
    }

    /// Looks at the logs of a home, and tells what it holds if that has changed.
    pub(super) fn look(
        &mut self,
        home: &Home,
        inventory: &Inventory,
        user_home: Option<&PathBuf>,
        tell: &mut dyn FnMut(Listing),
    ) {
        let live = live_by_session(home);
        let is_first = self.known.is_empty();
        let mut entries = Vec::new();
        let (first, rest) = inventory.sessions.split_at(inventory.sessions.len().min(FIRST));
        for piece in [first, rest] {
            self.learn(home, piece);
            for session in piece.iter().filter(|session| session.bytes() > 0) {
                let digest = self.known.get(&session.path).and_then(|known| known.digest.as_ref());
                let digest = digest.map(|digest| (**digest).clone());
                let row = Row::of_session(session.clone(), digest, live.get(&session.id).cloned());
                if row.is_shown(false) {
                    entries.push(Arc::new(entry_of(&row, user_home)));
                }
            }
            if is_first && !rest.is_empty() && entries.len() <= FIRST {
                let entries = entries.clone();
                tell(Listing { entries, is_whole: false, skipped: Vec::new() });
            }
        }
        let told: Vec<_> = entries
            .iter()
            .map(|entry| (entry.id().to_owned(), entry.bytes, entry.modified, entry.live))
            .collect();
        let skipped: Vec<String> =
            inventory.skipped.iter().map(|skipped| one_line(&skipped.to_string())).collect();
        if is_first || told != self.told || skipped != self.skipped {
            self.told = told;
            self.skipped.clone_from(&skipped);
            tell(Listing { entries, is_whole: true, skipped });
        }
        if self.known.len() > inventory.sessions.len() {
            let there: std::collections::HashSet<&PathBuf> =
                inventory.sessions.iter().map(|session| &session.path).collect();
            self.known.retain(|path, _| there.contains(path));
        }
    }

    /// Reads heads and tails of the logs that are new or have changed.
    fn learn(&mut self, home: &Home, sessions: &[SessionFile]) {
        let is_known = |session: &&SessionFile| {
            self.known.get(&session.path).is_some_and(|known| {
                (known.bytes, known.modified) == (session.bytes(), session.modified())
            })
        };
        let changed: Vec<&SessionFile> =
            sessions.iter().filter(|session| session.bytes() > 0 && !is_known(session)).collect();
        let mut digests = Digests::new(home, self.cache.as_ref());
        let read = digests.read(changed.iter().copied());
        digests.finish();
        self.known.extend(changed.into_iter().zip(read).map(|(session, digest)| {
            let digest = digest.map(Arc::new);
            let known = Known { bytes: session.bytes(), modified: session.modified(), digest };
            (session.path.clone(), known)
        }));
    }
}

fn entry_of(row: &Row, user_home: Option<&PathBuf>) -> Entry {
    let digest = &row.digest;
    let branch = digest.branch.as_deref().filter(|branch| *branch != "HEAD");
    let (mark, look) = row.mark();
    let directory = digest.cwd.as_ref().map(PathBuf::from);
    Entry {
        title: row.title(),
        project: match &directory {
            Some(directory) => shown_path(directory, user_home),
            None => "(no directory)".into(),
        },
        directory,
        branch: one_line(branch.unwrap_or("")),
        model: one_line(digest.model.as_deref().map_or("", short_model)),
        bytes: row.session.bytes(),
        modified: row.session.modified(),
        live: row.live.as_ref().map(|live| Live { mark, look, pid: live.pid }),
        target: Target {
            path: row.session.path.clone(),
            name: row.session.id.to_string(),
            session: Some(row.session.clone()),
            is_agent: false,
        },
    }
}
