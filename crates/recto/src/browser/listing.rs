//! What is in the home, looked at again and again.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use recto_store::Inventory;
use recto_view::Library;
use recto_view::ListedLog;

use super::message::Entry;
use super::message::Listing;
use super::message::Live;
use super::state::shown_path;
use crate::commands::ls::mark;
use crate::commands::ls::title;
use crate::terminal::text::one_line;
use crate::terminal::text::short_model;

/// How many sessions are listed before the others have been looked at.
const FIRST: usize = 200;

/// The home as it was seen last. Only logs that changed since are opened again.
pub(super) struct Watch {
    library: Library,
    is_first: bool,
    /// What was told last.
    told: Vec<(String, u64, Timestamp, Option<Live>)>,
    skipped: Vec<String>,
}

impl Watch {
    pub(super) fn new(library: Library) -> Watch {
        Watch { library, is_first: true, told: Vec::new(), skipped: Vec::new() }
    }

    /// Looks at the logs of a home, and tells what it holds if that has changed.
    pub(super) fn look(
        &mut self,
        inventory: &Inventory,
        user_home: Option<&PathBuf>,
        tell: &mut dyn FnMut(Listing),
    ) {
        let entries = |limit| {
            let wanted = recto_view::Listing { limit, ..recto_view::Listing::default() };
            let listed = self.library.listed(&wanted, inventory);
            listed.iter().map(|log| Arc::new(entry_of(log, user_home))).collect::<Vec<_>>()
        };
        if self.is_first && inventory.sessions.len() > FIRST {
            let entries = entries(Some(FIRST));
            tell(Listing { entries, is_whole: false, skipped: Vec::new() });
        }
        let entries = entries(None);
        let told: Vec<_> = entries
            .iter()
            .map(|entry| (entry.id().to_owned(), entry.bytes, entry.modified, entry.live))
            .collect();
        let skipped: Vec<String> =
            inventory.skipped.iter().map(|skipped| one_line(&skipped.to_string())).collect();
        if self.is_first || told != self.told || skipped != self.skipped {
            self.is_first = false;
            self.told = told;
            self.skipped.clone_from(&skipped);
            tell(Listing { entries, is_whole: true, skipped });
        }
    }
}

fn entry_of(row: &ListedLog, user_home: Option<&PathBuf>) -> Entry {
    let digest = &row.digest;
    let branch = digest.branch.as_deref().filter(|branch| *branch != "HEAD");
    let (mark, look) = mark(row);
    let directory = digest.cwd.as_ref().map(PathBuf::from);
    Entry {
        title: title(row),
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
        id: row.session.id.to_string(),
        log: (*row.session).clone(),
    }
}
