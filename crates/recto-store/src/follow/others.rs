//! Files that are no logs: told when they come, change or go. What is in them is for whoever
//! is told to read.

use std::path::Path;

use super::Change;
use super::FileKind;
use super::FollowScope;
use super::FollowStart;
use super::HomeFile;
use super::discovery::Finding;
use super::home_file::is_wanted_directory;
use super::tree::Tree;
use crate::log::file_state::FileState;

impl Tree {
    /// The kind of a file, if it is one to tell about.
    pub(super) fn other_kind(&self, path: &Path) -> Option<FileKind> {
        if !self.tells_others() {
            return None;
        }
        let is_other = |kind: &FileKind| {
            !matches!(kind, FileKind::MainLog | FileKind::AgentLog | FileKind::Announcement)
        };
        let below = path.strip_prefix(self.home.root()).ok()?;
        FileKind::of(below).filter(is_other).filter(|kind| self.options.also.contains(kind))
    }

    fn tells_others(&self) -> bool {
        self.options.scope == FollowScope::Home && !self.options.also.is_empty()
    }

    /// Whether a directory can hold files to tell about.
    pub(super) fn holds_others(&self, path: &Path) -> bool {
        self.tells_others()
            && path
                .strip_prefix(self.home.root())
                .is_ok_and(|below| is_wanted_directory(below, &self.options.also))
    }

    /// Takes in a file that was found.
    pub(super) fn find_other(&mut self, path: &Path, finding: Finding) {
        let before = self.changes.len();
        self.check_other(path);
        if finding == Finding::First(FollowStart::End) {
            // What is there already is no news.
            self.changes.truncate(before);
        }
    }

    /// Looks whether a file that is no log has come, changed or gone.
    pub(super) fn check_other(&mut self, path: &Path) {
        let Some(kind) = self.other_kind(path) else { return };
        let Some(metadata) = self.home.look_at(path).filter(std::fs::Metadata::is_file) else {
            let gone = self.others.remove(path);
            self.changes.extend(gone.map(Change::FileRemoved));
            return;
        };
        let state = FileState::listed(&metadata);
        if self.others.get(path).is_some_and(|known| known.state == state) {
            return;
        }
        let file = HomeFile { path: path.to_owned(), kind, state };
        let known = HomeFile { state: state.before_reading(), ..file.clone() };
        self.others.insert(path.to_owned(), known);
        self.changes.push(Change::File(file));
    }
}
