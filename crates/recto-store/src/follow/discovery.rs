//! Which directories hold logs, and which logs they hold, by the rules of the inventory.

use std::collections::BTreeMap;
use std::collections::HashSet;
use std::ops::Bound;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use recto_log::SessionId;

use super::Change;
use super::FollowScope;
use super::FollowStart;
use super::FollowedFile;
use super::tree::Tree;
use crate::Cursor;
use crate::log::cursor::identity;
use crate::log::file_state::FileState;
use crate::log::file_state::Stamp;
use crate::log::log_file::LogName;
use crate::log::log_file::is_subagents_folder;
use crate::log::owner::LooseOwner;
use crate::log::owner::owner_of;
use crate::place::open::open_known;
use crate::read::live::is_pid_file;

/// What a directory is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The home itself.
    Root,
    /// The directory of all projects.
    Projects,
    /// The directory of one.
    Project,
    /// The folder of a session.
    Folder(SessionId),
    /// The logs of its subagents.
    Subagents(SessionId),
    /// The announcements of running clients.
    Announcements,
    /// Files of other kinds.
    Others,
}

/// A directory that is looked into.
#[derive(Debug, Clone, Copy)]
pub(super) struct Directory {
    pub(super) place: Place,
    /// What it was when it was listed last.
    state: FileState,
}

/// A log of a subagent that is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loose {
    /// Its lines do not tell its session yet.
    NotYet,
    /// It belongs to a session that is not followed, or to none.
    Other,
}

/// Whether logs are found for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finding {
    First(FollowStart),
    Later,
}

impl Tree {
    /// Finds everything that is there.
    pub(super) fn discover(&mut self, finding: Finding) {
        let root = self.home.root().to_owned();
        self.add_directory(&root, Place::Root, finding);
        if finding != Finding::Later {
            // What is announced already is no news.
            self.look_at_announcements();
            self.changes.retain(|change| *change != Change::Announcements);
        }
    }

    /// Something happened at these paths. Those that are gone come first, so that what
    /// has a new path is not taken for a second one.
    pub(super) fn look_at_paths(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        let (mut there, mut gone): (Vec<PathBuf>, Vec<PathBuf>) = paths
            .into_iter()
            .map(|path| self.as_named(path))
            .partition(|path| self.home.look_at(path).is_some());
        gone.sort();
        there.sort();
        for path in gone.into_iter().chain(there) {
            self.look_at_path(&path);
        }
    }

    /// A path as it is named here: some systems tell paths without their links.
    fn as_named(&self, path: PathBuf) -> PathBuf {
        if path.starts_with(self.home.root()) {
            return path;
        }
        match path.strip_prefix(self.home.real_root()) {
            Ok(below) => self.home.root().join(below),
            Err(_) => path,
        }
    }

    /// Something happened at a path.
    pub(super) fn look_at_path(&mut self, path: &Path) {
        if self.files.contains_key(path) {
            self.check_file(path);
        } else if self.others.contains_key(path) {
            self.check_other(path);
        } else if self.directories.contains_key(path) {
            // It may be another directory of the same name, which nobody watches.
            self.watches.remove(path);
            self.watches.add(path);
            self.list(path, Finding::Later);
        } else if let Some(parent) = path.parent().and_then(|parent| self.directories.get(parent)) {
            let place = parent.place;
            if place == Place::Announcements {
                return self.look_at_announcements();
            }
            let Some(metadata) = self.home.look_at(path) else { return };
            self.find(path, place, metadata.is_dir(), Finding::Later);
        }
    }

    /// Looks whether a directory has other entries.
    pub(super) fn check_directory(&mut self, path: &Path) {
        let Some(directory) = self.directories.get(path) else { return };
        let Some(metadata) = self.home.look_at(path).filter(std::fs::Metadata::is_dir) else {
            return self.lose_directory(path);
        };
        if FileState::now(&metadata) != directory.state || !directory.state.is_certain() {
            let before = directory.state.stamp;
            let now = Stamp::of(&metadata);
            if (before.device, before.number) != (now.device, now.number) {
                self.watches.remove(path);
                self.watches.add(path);
            }
            self.list(path, Finding::Later);
        }
    }

    /// Makes the directory of a file be listed when it is looked at next.
    pub(super) fn expire_parent(&mut self, path: &Path) {
        if let Some(parent) = path.parent()
            && let Some(directory) = self.directories.get_mut(parent)
        {
            directory.state.stamp.changed = 0;
        }
    }

    fn add_directory(&mut self, path: &Path, place: Place, finding: Finding) {
        self.watches.add(path);
        let state = FileState::default();
        self.directories.insert(path.to_owned(), Directory { place, state });
        self.list(path, finding);
    }

    /// Looks at the entries of a directory.
    fn list(&mut self, path: &Path, finding: Finding) {
        let Some(metadata) = self.home.look_at(path).filter(std::fs::Metadata::is_dir) else {
            return self.lose_directory(path);
        };
        let Some(directory) = self.directories.get_mut(path) else { return };
        directory.state = FileState::now(&metadata);
        let place = directory.place;
        if place == Place::Announcements {
            return self.look_at_announcements();
        }
        let mut skipped = Vec::new();
        let mut entries = self.home.list(path, &mut skipped);
        // Main logs come first: beside them, subagents of theirs are looked for.
        entries.sort_by(|a, b| {
            (a.name.starts_with("agent-"), &a.name).cmp(&(b.name.starts_with("agent-"), &b.name))
        });
        // What has gone makes room before what has come takes it: a directory that is
        // watched by its old name would be forgotten by its new one.
        let names: HashSet<&Path> = entries.iter().map(|entry| entry.path.as_path()).collect();
        self.lose_children(path, |child| !names.contains(child));
        for one in skipped.into_iter().filter(|one| is_wanted(place, &one.path)) {
            self.skipped.insert(one.path, one.reason);
        }
        for entry in &entries {
            self.find(&entry.path, place, entry.is_directory, finding);
        }
    }

    /// Takes in what is at a path, if it is something to follow.
    fn find(&mut self, path: &Path, place: Place, is_directory: bool, finding: Finding) {
        let Some(name) = path.file_name().map(|name| name.to_string_lossy()) else { return };
        let name = &*name;
        if is_directory {
            if let Some(place) = self.place_of(path, place, name)
                && !self.directories.contains_key(path)
            {
                self.add_directory(path, place, finding);
            }
            return;
        }
        if self.other_kind(path).is_some() {
            return self.find_other(path, finding);
        }
        if self.files.contains_key(path) {
            if self.is_missing(path) {
                self.mark(path);
            }
            return;
        }
        let (session, agent) = match (place, LogName::of(name)) {
            (Place::Project, Some(LogName::Main(id))) => (Some(id), None),
            (Place::Project, Some(LogName::Agent(agent))) => {
                let Some(session) = self.owner_of_loose(path) else { return };
                (Some(session), Some(agent))
            }
            (Place::Subagents(id), Some(LogName::Agent(agent))) => (Some(id), Some(agent)),
            _ => (None, None),
        };
        let Some(session) = session.filter(|session| self.options.scope.holds(*session)) else {
            return;
        };
        let Some(metadata) = self.home.look_at(path).filter(std::fs::Metadata::is_file) else {
            return;
        };
        let is_main = agent.is_none();
        let file =
            FollowedFile { path: path.to_owned(), project: self.project_of(path), session, agent };
        if finding == Finding::First(FollowStart::End) {
            self.begin_at_end(file);
        } else {
            self.admit(file, identity(&metadata));
        }
        if is_main && self.options.scope != FollowScope::Home {
            // Subagents may stand beside it that nobody looked at.
            self.expire_parent(path);
        }
    }

    /// What a directory in a directory is for.
    fn place_of(&self, path: &Path, place: Place, name: &str) -> Option<Place> {
        let known = match place {
            Place::Root if path == self.home.projects() => Some(Place::Projects),
            Place::Root if path == self.home.live_sessions() => Some(Place::Announcements),
            Place::Projects => Some(Place::Project),
            Place::Project => {
                let id = name.parse().ok().filter(|id| self.options.scope.holds(*id));
                id.map(Place::Folder)
            }
            Place::Folder(id) if is_subagents_folder(name) => Some(Place::Subagents(id)),
            Place::Root
            | Place::Folder(_)
            | Place::Subagents(_)
            | Place::Announcements
            | Place::Others => None,
        };
        known.or_else(|| self.holds_others(path).then_some(Place::Others))
    }

    /// The session of a log beside the main logs, if it is followed.
    fn owner_of_loose(&mut self, path: &Path) -> Option<SessionId> {
        if self.loose.get(path) == Some(&Loose::Other) {
            return None;
        }
        if let FollowScope::Session(id) = self.options.scope {
            let main = path.with_file_name(format!("{id}.jsonl"));
            if !self.files.contains_key(&main) {
                return None;
            }
        }
        let loose = match owner_of(path) {
            LooseOwner::Session(id) if self.options.scope.holds(id) => {
                self.loose.remove(path);
                return Some(id);
            }
            LooseOwner::Session(_) => Loose::Other,
            LooseOwner::NotYet => Loose::NotYet,
            LooseOwner::Nobody => {
                self.skipped.insert(path.to_owned(), "names no session in its lines".into());
                Loose::Other
            }
        };
        self.loose.insert(path.to_owned(), loose);
        None
    }

    /// The name of the project's directory that a path is in.
    fn project_of(&self, path: &Path) -> String {
        let below = path.strip_prefix(self.home.projects()).ok();
        let first = below.and_then(|below| below.components().next());
        first.map_or_else(String::new, |name| name.as_os_str().to_string_lossy().into_owned())
    }

    /// Follows a log from the end of what is in it.
    fn begin_at_end(&mut self, file: FollowedFile) {
        let begun = open_known(&file.path).and_then(|open| Ok(Cursor::at_end(&open)?));
        match begun {
            Ok(cursor) => {
                let tail = self.new_tail(Arc::new(file), cursor);
                self.insert(tail);
            }
            Err(error) => {
                self.skipped.insert(file.path, error.to_string());
            }
        }
    }

    /// Looks whether announcements have come, changed or gone.
    pub(super) fn look_at_announcements(&mut self) {
        let directory = self.home.live_sessions();
        let mut found = BTreeMap::new();
        let mut is_news = false;
        for entry in self.home.list(&directory, &mut Vec::new()) {
            if entry.is_directory || !is_pid_file(&entry.name) {
                continue;
            }
            let Ok(metadata) = entry.metadata() else { continue };
            let listed = FileState::listed(&metadata);
            is_news |= self.announced.get(&entry.name) != Some(&listed);
            found.insert(entry.name, FileState::now(&metadata));
        }
        is_news |= self.announced.keys().any(|name| !found.contains_key(name));
        self.announced = found;
        if is_news && !self.changes.contains(&Change::Announcements) {
            self.changes.push(Change::Announcements);
        }
    }

    /// A directory is gone, with everything in it.
    fn lose_directory(&mut self, path: &Path) {
        self.lose_children(path, |_| true);
        self.directories.remove(path);
        self.watches.remove(path);
        if path == self.home.live_sessions() {
            self.look_at_announcements();
        }
    }

    /// Loses what was directly in a directory, as far as it is chosen.
    fn lose_children(&mut self, path: &Path, is_lost: impl Fn(&Path) -> bool) {
        let is_child = |child: &Path| child.parent() == Some(path) && is_lost(child);
        let files: Vec<PathBuf> =
            below(&self.files, path).filter(|child| is_child(child)).cloned().collect();
        for file in files {
            self.miss(&file);
        }
        let others: Vec<PathBuf> =
            below(&self.others, path).filter(|child| is_child(child)).cloned().collect();
        for file in others {
            self.check_other(&file);
        }
        let loose: Vec<PathBuf> =
            below(&self.loose, path).filter(|child| is_child(child)).cloned().collect();
        for file in loose {
            self.loose.remove(&file);
            self.skipped.remove(&file);
        }
        let directories: Vec<PathBuf> =
            below(&self.directories, path).filter(|child| is_child(child)).cloned().collect();
        for directory in directories {
            self.lose_directory(&directory);
        }
        let skipped: Vec<PathBuf> =
            below(&self.skipped, path).filter(|child| is_child(child)).cloned().collect();
        for file in skipped {
            self.skipped.remove(&file);
        }
    }
}

/// The paths below one. Paths are in the order of their parts, so that they stand together.
fn below<'a, T>(
    map: &'a BTreeMap<PathBuf, T>,
    path: &'a Path,
) -> impl Iterator<Item = &'a PathBuf> {
    let from = (Bound::Excluded(path), Bound::Unbounded);
    map.range::<Path, _>(from)
        .map(|(child, _)| child)
        .take_while(move |child| child.starts_with(path))
}

/// Whether something that was skipped would have been looked at.
fn is_wanted(place: Place, path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    match place {
        Place::Root | Place::Folder(_) | Place::Announcements | Place::Others => false,
        Place::Projects => true,
        Place::Project | Place::Subagents(_) => LogName::of(&name).is_some(),
    }
}
