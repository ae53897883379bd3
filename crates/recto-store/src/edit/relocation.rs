//! Moving sessions to the project of another directory: same ids, other place.

use std::collections::BTreeMap;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use fs_err as fs;
use rayon::prelude::*;
use recto_log::LineReader;
use recto_log::ProjectKey;
use recto_log::decode;
use recto_log::project_key_candidates;
use recto_session::edit::Comparison;
use recto_session::edit::Draft;
use recto_session::edit::Rewrite;
use recto_session::edit::compare;

use crate::Digest;
use crate::Home;
use crate::Inventory;
use crate::OpenedLog;
use crate::Project;
use crate::SessionFile;
use crate::StoreError;
use crate::edit::copy::copy_file;
use crate::edit::copy::make_parents;
use crate::edit::draft_text::write_draft;
use crate::edit::draft_text::written;
use crate::edit::session_edit::refuse_damage;
use crate::edit::session_edit::refuse_losses;
use crate::edit::session_parts::collect;
use crate::log::log_file::is_subagents_folder;
use crate::open_file;
use crate::publish::FileIdentity;
use crate::publish::PublishError;
use crate::publish::Transaction;

/// Sessions that are to be moved, and everything that moves with them.
#[derive(Debug, Default)]
pub struct Relocation {
    /// The sessions, newest first.
    pub sessions: Vec<MovedSession>,
    /// What the client keeps for the projects.
    pub memory: Vec<MovedFile>,
    /// Memory that stays, because other sessions of its project do.
    pub kept_memory: Vec<PathBuf>,
    /// Directories that are empty then, inner ones first.
    directories: Vec<PathBuf>,
}

/// A session that is to be moved.
#[derive(Debug)]
pub struct MovedSession {
    /// The session as it is now.
    pub session: SessionFile,
    /// The directory that it was started in; none if its log does not say.
    pub old_directory: Option<String>,
    /// The directory that it shall belong to.
    pub directory: String,
    /// How many lines of its log name the old directory.
    pub changed_lines: usize,
    /// Its log first, then the files of its folder and the logs of subagents.
    pub files: Vec<MovedFile>,
    pub(crate) rewrite: Rewrite,
}

/// A file that is to be moved.
#[derive(Debug, Clone)]
pub struct MovedFile {
    /// Where it is.
    pub from: PathBuf,
    /// Where it goes.
    pub to: PathBuf,
    identity: FileIdentity,
    is_log: bool,
    origin: Origin,
}

/// What becomes of a file that was moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It goes.
    Goes,
    /// It stays: what is moved is a copy.
    Stays,
}

impl MovedFile {
    pub(crate) fn plan(
        from: PathBuf,
        to: PathBuf,
        is_log: bool,
        origin: Origin,
    ) -> Result<MovedFile, StoreError> {
        // A file that is there is somebody's.
        if from != to && fs::symlink_metadata(&to).is_ok() {
            return Err(PublishError::Exists { path: to }.into());
        }
        let identity = FileIdentity::of(&from)?;
        Ok(MovedFile { from, to, identity, is_log, origin })
    }

    pub(crate) fn stage(
        &self,
        transaction: &mut Transaction<'_>,
        rewrite: &Rewrite,
    ) -> Result<Option<(OpenedLog, OpenedLog)>, StoreError> {
        if !self.is_log {
            if self.from != self.to {
                make_parents(transaction, &self.to)?;
                let modified = self.identity.modified;
                transaction.create_at(&self.to, modified, |out| copy_file(&self.from, out))?;
                self.leave(transaction)?;
            }
            return Ok(None);
        }
        let opened = OpenedLog::read(&self.from)?;
        let draft = Draft::new(&opened.manuscript);
        let write = |out: &mut dyn std::io::Write| write_draft(&opened, &draft, rewrite, out);
        let staged = if self.from == self.to {
            transaction.replace(&self.to, &self.identity, write)?
        } else {
            make_parents(transaction, &self.to)?;
            transaction.create_at(&self.to, self.identity.modified, write)?
        };
        opened.check()?;
        let result = OpenedLog::read(staged.path())?;
        refuse_damage(&opened, &result)?;
        if self.from != self.to {
            self.leave(transaction)?;
        }
        Ok(Some((opened, result)))
    }

    fn leave(&self, transaction: &mut Transaction<'_>) -> Result<(), StoreError> {
        match self.origin {
            Origin::Goes => transaction.remove(&self.from, &self.identity),
            Origin::Stays => Ok(()),
        }
    }
}

impl MovedSession {
    /// The log where it will be.
    pub fn log(&self) -> &Path {
        self.files.first().map_or(&self.session.path, |file| &file.to)
    }

    /// What the move would do to what clients send: nothing.
    pub fn preview(&self) -> Result<Comparison, StoreError> {
        let opened = OpenedLog::read(&self.session.path)?;
        let result = written(&opened, &Draft::new(&opened.manuscript), &self.rewrite)?;
        let comparison = compare(opened.session(), &result, &HashSet::new(), &self.rewrite);
        refuse_losses(&comparison)?;
        Ok(comparison)
    }

    /// Stages its files. Gives what clients send of it.
    pub(crate) fn stage(
        &self,
        transaction: &mut Transaction<'_>,
    ) -> Result<Option<Comparison>, StoreError> {
        let mut comparison = None;
        for file in &self.files {
            let logs = file.stage(transaction, &self.rewrite)?;
            if let Some((old, new)) = logs.filter(|_| file.from == self.session.path) {
                let (old, new) = (old.session(), new.session());
                let found = compare(old, new, &HashSet::new(), &self.rewrite);
                refuse_losses(&found)?;
                comparison = Some(found);
            }
        }
        Ok(comparison)
    }
}

impl Relocation {
    /// Stages everything. Gives for each session what clients send of it.
    pub fn stage(&self, transaction: &mut Transaction<'_>) -> Result<Vec<Comparison>, StoreError> {
        let mut comparisons = Vec::new();
        for moved in &self.sessions {
            comparisons.extend(moved.stage(transaction)?);
        }
        for file in &self.memory {
            file.stage(transaction, &Rewrite::none())?;
        }
        for directory in &self.directories {
            transaction.remove_directory(directory)?;
        }
        Ok(comparisons)
    }

    fn add_session(
        &mut self,
        home: &Home,
        inventory: &Inventory,
        session: &SessionFile,
        places: Places,
    ) -> Result<(), StoreError> {
        let Places { root, directory, rewrite, changed_lines } = places;
        let project = home.project(&ProjectKey::of_path(&directory));
        let old_project = session.path.parent().unwrap_or(Path::new("")).to_owned();
        let mut files = Vec::new();
        let parts = home.parts_of(inventory, session)?;
        for from in parts.files {
            // Lists, tasks and versions of files are kept by the session's id.
            let Ok(inside) = from.strip_prefix(&old_project) else { continue };
            let to = project.join(inside);
            let is_log = is_log_of_session(inside);
            files.push(MovedFile::plan(from, to, is_log, Origin::Goes)?);
        }
        if project != old_project {
            let folders = parts.directories.into_iter();
            self.directories.extend(folders.filter(|folder| folder.starts_with(&old_project)));
        }
        self.sessions.push(MovedSession {
            session: session.clone(),
            old_directory: root,
            directory,
            changed_lines,
            files,
            rewrite,
        });
        Ok(())
    }

    /// Moves the memory of projects that no session is left in, and lets their
    /// directories go.
    fn add_projects(&mut self, inventory: &Inventory) -> Result<(), StoreError> {
        let mut projects: BTreeMap<&str, (Arc<Project>, HashSet<PathBuf>)> = BTreeMap::new();
        for moved in &self.sessions {
            let to = moved.log().parent().unwrap_or(Path::new("")).to_owned();
            let project = &moved.session.project;
            let known = projects.entry(&project.key);
            known.or_insert_with(|| (Arc::clone(project), HashSet::new())).1.insert(to);
        }
        let projects: Vec<(Arc<Project>, HashSet<PathBuf>)> = projects.into_values().collect();
        for (project, goals) in projects {
            let all = inventory.sessions_in(&project).count();
            let moved = self.sessions.iter().filter(|moved| moved.session.project == project);
            let is_left = moved.count() == all;
            let memory = project.path.join("memory");
            let mut goals = goals.into_iter();
            match (goals.next(), goals.next()) {
                (Some(goal), None) if is_left && goal != project.path => {
                    self.add_memory(&memory, &goal)?;
                }
                (Some(goal), None) if goal == project.path => continue,
                _ if memory.is_dir() => self.kept_memory.push(memory),
                _ => {}
            }
        }
        Ok(())
    }

    fn add_memory(&mut self, memory: &Path, goal: &Path) -> Result<(), StoreError> {
        if !fs::symlink_metadata(memory).is_ok_and(|metadata| metadata.is_dir()) {
            return Ok(());
        }
        let mut parts = crate::SessionParts::default();
        collect(memory, &mut parts)?;
        let above = memory.parent().unwrap_or(memory);
        for from in parts.files {
            let Ok(inside) = from.strip_prefix(above) else { continue };
            let to = goal.join(inside);
            self.memory.push(MovedFile::plan(from, to, false, Origin::Goes)?);
        }
        self.directories.extend(parts.directories);
        Ok(())
    }

    /// Directories of projects in which nothing is left.
    fn add_empty_projects(&mut self) -> Result<(), StoreError> {
        let gone: HashSet<PathBuf> = self
            .sessions
            .iter()
            .flat_map(|moved| &moved.files)
            .chain(&self.memory)
            .filter(|file| file.from != file.to)
            .map(|file| file.from.clone())
            .chain(self.directories.iter().cloned())
            .collect();
        let projects: HashSet<PathBuf> =
            self.sessions.iter().map(|moved| moved.session.project.path.clone()).collect();
        for project in projects {
            let mut is_empty = fs::symlink_metadata(&project)?.is_dir();
            for entry in fs::read_dir(&project)? {
                is_empty &= gone.contains(&entry?.path());
            }
            if is_empty {
                self.directories.push(project);
            }
        }
        Ok(())
    }

    /// No two files may go to one place.
    fn refuse_clashes(&self) -> Result<(), StoreError> {
        let mut places = HashSet::new();
        for file in self.sessions.iter().flat_map(|moved| &moved.files).chain(&self.memory) {
            if !places.insert(&file.to) {
                return Err(PublishError::Exists { path: file.to.clone() }.into());
            }
        }
        Ok(())
    }
}

/// Where a session was and where it goes.
struct Places {
    root: Option<String>,
    directory: String,
    rewrite: Rewrite,
    changed_lines: usize,
}

impl Home {
    /// Plans the move of one session to a directory.
    pub fn plan_move(
        &self,
        inventory: &Inventory,
        session: &SessionFile,
        new: &str,
    ) -> Result<Relocation, StoreError> {
        let mut relocation = Relocation::default();
        let named = Named::read(&session.path)?;
        let root = named.root(&session.project.key);
        let rewrite = match &root {
            Some(old) => Rewrite::none().with_directory(old, new),
            None => Rewrite::none(),
        };
        let changed_lines = named.lines(&rewrite);
        let places = Places { root, directory: new.to_owned(), rewrite, changed_lines };
        relocation.add_session(self, inventory, session, places)?;
        relocation.add_empty_projects()?;
        relocation.refuse_clashes()?;
        Ok(relocation)
    }

    /// Plans the move of all sessions of a directory and of those below it.
    pub fn plan_project_move(
        &self,
        inventory: &Inventory,
        old: &str,
        new: &str,
    ) -> Result<Relocation, StoreError> {
        let mut relocation = Relocation::default();
        let rewrite = Rewrite::none().with_directory(old, new);
        let keys: Vec<ProjectKey> = project_key_candidates(old);
        let is_own = |name: &str| keys.iter().any(|key| key.as_str() == name);
        let may_be = |session: &&SessionFile| {
            let cwd = Digest::read_listed(session).ok().and_then(|digest| digest.cwd);
            match cwd {
                Some(cwd) => rewrite.moved(&cwd).is_some(),
                None => is_own(&session.project.key),
            }
        };
        let sessions: Vec<&SessionFile> = inventory.sessions.par_iter().filter(may_be).collect();
        for session in sessions {
            let named = Named::read(&session.path)?;
            let name = session.project.key.as_str();
            // A log without lines that name a directory belongs to its project.
            let root = named.root(name).or_else(|| is_own(name).then(|| old.to_owned()));
            let Some(directory) = root.as_deref().and_then(|root| rewrite.moved(root)) else {
                continue;
            };
            let (rewrite, changed_lines) = (rewrite.clone(), named.lines(&rewrite));
            let places = Places { root, directory, rewrite, changed_lines };
            relocation.add_session(self, inventory, session, places)?;
        }
        relocation.add_projects(inventory)?;
        // What the client remembers may be all that is left of the project.
        for project in &inventory.projects {
            let goal = self.project(&ProjectKey::of_path(new));
            let has_sessions = inventory.sessions_in(project).next().is_some();
            if is_own(&project.key) && !has_sessions && goal != project.path {
                relocation.add_memory(&project.path.join("memory"), &goal)?;
            }
        }
        relocation.add_empty_projects()?;
        relocation.refuse_clashes()?;
        Ok(relocation)
    }
}

/// Whether lines of a file of a project name the working directory.
pub(crate) fn is_log_of_session(inside: &Path) -> bool {
    let is_log = inside.extension().is_some_and(|extension| extension == "jsonl");
    let folder = inside.parent().and_then(Path::file_name);
    is_log && folder.and_then(OsStr::to_str).is_none_or(is_subagents_folder)
}

/// The directories that the lines of a log name, with how many do.
#[derive(Debug, Default)]
pub(crate) struct Named(Vec<(String, usize)>);

impl Named {
    pub(crate) fn read(path: &Path) -> Result<Named, StoreError> {
        let mut named = Named::default();
        let mut lines = LineReader::new(open_file(path)?);
        while let Some(line) = lines.next_line()? {
            let entry = decode(line).0;
            let found = entry.cwd().or_else(|| entry.str("relocatedCwd"));
            let Some(directory) = found else { continue };
            match named.0.iter_mut().find(|(known, _)| *known == *directory) {
                Some((_, count)) => *count += 1,
                None => named.0.push((directory.into_owned(), 1)),
            }
        }
        Ok(named)
    }

    /// The directory that the session belongs to: the first one, itself or one
    /// above it, whose project the log is in; else the first one.
    pub(crate) fn root(&self, project: &str) -> Option<String> {
        let fits = |directory: &&str| {
            project_key_candidates(directory).iter().any(|key| key.as_str() == project)
        };
        let above = |directory: &str| {
            let all = Path::new(directory).ancestors().filter_map(Path::to_str);
            all.map(str::to_owned).collect::<Vec<_>>()
        };
        let mut all = self.0.iter().flat_map(|(directory, _)| above(directory));
        all.find(|directory| fits(&directory.as_str()))
            .or_else(|| self.0.first().map(|(directory, _)| directory.clone()))
    }

    /// How many lines name a directory that is moved.
    pub(crate) fn lines(&self, rewrite: &Rewrite) -> usize {
        let moved = self.0.iter().filter(|(directory, _)| rewrite.moved(directory).is_some());
        moved.map(|(_, count)| count).sum()
    }
}
