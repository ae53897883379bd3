//! What happened to one file, across sessions.

use std::collections::BTreeSet;
use std::collections::HashMap;

use recto_session::BlockFact;
use recto_session::FileAction;
use recto_session::FileTouch;
use recto_session::NodeId;
use serde::Serialize;

use crate::Reading;
use crate::library::Library;
use crate::sweep::Place;
use crate::sweep::Tell;
use crate::sweep::sweep;
use crate::wanted_file::WantedFile;

/// What one turn did to one file.
#[derive(Debug, Clone, Serialize)]
pub struct FileUseRow {
    /// The turn, and when it used the file last.
    #[serde(flatten)]
    pub place: Place,
    /// The file, as the log names it.
    pub path: String,
    /// What was done in one word; reading is not told where it led to a change.
    pub action: &'static str,
    /// Lines added.
    pub lines_added: u64,
    /// Lines removed.
    pub lines_removed: u64,
    /// What began the turn.
    pub prompt: String,
    /// What the session is called.
    pub title: Option<String>,
    /// The tools that used the file.
    pub tools: BTreeSet<String>,
    /// What was done, as a value.
    #[serde(skip)]
    pub strongest: FileAction,
}

impl FileUseRow {
    /// Whether the turn changed the file.
    pub fn is_change(&self) -> bool {
        self.strongest != FileAction::Read
    }

    fn join(&mut self, other: FileUseRow) {
        self.place.time = other.place.time;
        self.strongest = stronger(self.strongest, other.strongest);
        self.action = self.strongest.name();
        self.tools.extend(other.tools);
        self.lines_added += other.lines_added;
        self.lines_removed += other.lines_removed;
    }
}

/// The action that says more: a file that was made and then edited was made.
fn stronger(a: FileAction, b: FileAction) -> FileAction {
    let order = [FileAction::Created, FileAction::Written, FileAction::Edited, FileAction::Read];
    order.into_iter().find(|action| [a, b].contains(action)).unwrap_or(a)
}

/// What happened to a file, newest first.
#[derive(Debug, Default)]
pub struct FileHistory {
    /// The turns that used it.
    pub uses: Vec<FileUseRow>,
    /// Why logs could not be read, one sentence each.
    pub skipped: Vec<String>,
}

impl FileHistory {
    /// The paths that match: several, if the end of a path was asked for.
    pub fn paths(&self) -> Vec<(&str, usize)> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for one in &self.uses {
            *counts.entry(&one.path).or_default() += 1;
        }
        let mut paths: Vec<(&str, usize)> = counts.into_iter().collect();
        paths.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        paths
    }
}

impl Library {
    /// Looks for a file in all logs. Its name is compared with what logs say, and never opened.
    pub fn file_history(&self, wanted: &WantedFile, tell: Tell<'_>) -> FileHistory {
        let inventory = self.inventory();
        let logs = self.home().logs_with(&inventory, wanted.word());
        let found = sweep(&logs, tell, |reading| uses_in(reading, wanted));
        let mut uses = by_turn(found.answers.into_iter().map(|(_, one)| one));
        uses.reverse();
        let mut titles: HashMap<String, Option<String>> = HashMap::new();
        for one in &mut uses {
            let Some(session) = &one.place.session else { continue };
            let title = titles.entry(session.clone()).or_insert_with(|| {
                session.parse().ok().and_then(|id| self.title_of(&inventory, id))
            });
            one.title.clone_from(title);
        }
        FileHistory { uses, skipped: found.skipped }
    }
}

fn uses_in(reading: &Reading, wanted: &WantedFile) -> Vec<(Place, FileUseRow)> {
    let session = reading.session();
    let touches = session.facts().files.iter();
    let touches = touches.filter(|touch| wanted.fits(session.name(touch.path)));
    touches.map(|touch| (reading.place(touch.node), use_of(reading, touch))).collect()
}

fn use_of(reading: &Reading, touch: &FileTouch) -> FileUseRow {
    FileUseRow {
        place: reading.place(touch.node),
        path: reading.session().name(touch.path).to_owned(),
        action: touch.action.name(),
        lines_added: touch.added,
        lines_removed: touch.removed,
        prompt: reading.turn(touch.node).map(|turn| reading.prompt(&turn)).unwrap_or_default(),
        title: None,
        tools: tool_of(reading, touch.node).into_iter().collect(),
        strongest: touch.action,
    }
}

/// The tool whose result a line is.
fn tool_of(reading: &Reading, line: NodeId) -> Option<String> {
    let session = reading.session();
    let call = session.node(line).blocks.iter().find_map(|block| match block {
        BlockFact::ToolResult { id, .. } => Some(*id),
        _ => None,
    })?;
    reading.name(session.facts().call(call)?.name)
}

/// Puts uses of the same file in the same turn together; the last one says when.
fn by_turn(uses: impl Iterator<Item = FileUseRow>) -> Vec<FileUseRow> {
    let mut together: Vec<FileUseRow> = Vec::new();
    for one in uses {
        let is_same = |known: &&mut FileUseRow| {
            known.place.is_same_turn(&one.place) && known.path == one.path
        };
        // Turns of two sessions can be woven into each other, but not many.
        match together.iter_mut().rev().take(64).find(is_same) {
            Some(known) => known.join(one),
            None => together.push(one),
        }
    }
    together.sort_by_key(|one| one.place.time);
    together
}
