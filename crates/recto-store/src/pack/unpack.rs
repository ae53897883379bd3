//! From the folder that an archive was read into to a home.

use std::path::Path;
use std::path::PathBuf;

use fs_err as fs;
use recto_log::ProjectKey;
use recto_log::SessionId;
use recto_session::edit::Comparison;
use recto_session::edit::Draft;
use recto_session::edit::Rewrite;

use super::Extracted;
use super::PackedSession;
use crate::Edit;
use crate::Home;
use crate::Inventory;
use crate::MovedFile;
use crate::MovedSession;
use crate::NewSession;
use crate::OpenedLog;
use crate::SessionFile;
use crate::StoreError;
use crate::Uuids;
use crate::edit::relocation::Named;
use crate::edit::relocation::Origin;
use crate::edit::relocation::is_log_of_session;
use crate::new_session_id;
use crate::pack::error::PackError;
use crate::place::error::PlaceError;
use crate::publish::PublishError;
use crate::publish::Transaction;
use crate::publish::hash_file;

/// Whether sessions keep their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ids {
    /// As they are in the archive.
    Keep,
    /// As copies that share no id with what was packed.
    New,
}

/// What becomes of a session of an archive.
#[derive(Debug)]
pub enum Arrival {
    /// All of it is in the home already.
    AlreadyThere,
    /// It gets its place.
    AsItIs(Box<MovedSession>),
    /// It becomes a copy.
    Copy(NewSession),
}

/// A session of an archive, with where it goes.
#[derive(Debug)]
pub struct UnpackedSession {
    /// Its id in the archive.
    pub id: SessionId,
    /// Its title.
    pub title: Option<String>,
    /// The directory that it will belong to.
    pub directory: Option<String>,
    /// What becomes of it.
    pub arrival: Arrival,
    /// Its log in the home.
    pub log: PathBuf,
    /// The files beside its log.
    pub files: usize,
    source: SessionFile,
}

impl Extracted {
    /// Says where each session goes: to its project, or to that of a directory.
    /// Refuses what would replace something.
    pub fn plan(
        &self,
        home: &Home,
        to: Option<&str>,
        ids: Ids,
    ) -> Result<Vec<UnpackedSession>, StoreError> {
        let (inside, there) = (self.home.inventory(), home.inventory());
        let base = self.common_directory();
        let mut planned = Vec::new();
        for packed in &self.manifest.sessions {
            let found = inside.sessions.iter().find(|session| session.id == packed.id);
            let Some(source) = found else {
                let path = self.home.root().join(packed.project.clone());
                return Err(PlaceError::NotAFile { path }.into());
            };
            let named = Named::read(&source.path)?;
            let root = named.root(&packed.project);
            let moved = match (to, root) {
                (Some(to), Some(root)) => {
                    let old = base.clone().unwrap_or(root.clone());
                    let rewrite = Rewrite::none().with_directory(&old, to);
                    let new = rewrite.moved(&root).unwrap_or_else(|| to.to_owned());
                    Some((old, to.to_owned(), new))
                }
                (Some(to), None) => Some((String::new(), to.to_owned(), to.to_owned())),
                (None, _) => None,
            };
            let project = match &moved {
                Some((.., new)) => home.project(&ProjectKey::of_path(new)),
                None => home.projects().join(&packed.project),
            };
            let directory = match &moved {
                Some((.., new)) => Some(new.clone()),
                None => packed.directory.clone(),
            };
            let moved = moved.filter(|(old, ..)| !old.is_empty()).map(|(old, to, _)| (old, to));
            let goal = Goal { home, project, directory, moved, changed: &named };
            planned.push(match ids {
                Ids::Keep => self.as_it_is(&there, packed, source, goal)?,
                Ids::New => copy(packed, source, goal),
            });
        }
        Ok(planned)
    }

    /// The directory that all sessions are in or below, if one of them is in it.
    fn common_directory(&self) -> Option<String> {
        let directories = || self.manifest.sessions.iter().map(|packed| packed.directory.as_ref());
        let shortest = directories().flatten().min_by_key(|directory| directory.len())?;
        let is_in = |directory: Option<&String>| {
            directory.is_none_or(|directory| Path::new(directory).starts_with(shortest))
        };
        directories().all(is_in).then(|| shortest.clone())
    }

    fn as_it_is(
        &self,
        there: &Inventory,
        packed: &PackedSession,
        source: &SessionFile,
        goal: Goal<'_>,
    ) -> Result<UnpackedSession, StoreError> {
        let known = there.sessions.iter().find(|session| session.id == packed.id);
        let log = goal.project.join(format!("{}.jsonl", packed.id));
        if let Some(known) = known.filter(|known| known.path != log) {
            let path = known.path.clone();
            return Err(PackError::SessionExists { session: packed.id, path }.into());
        }
        let old_project = Path::new("projects").join(&packed.project);
        let mut files = Vec::new();
        for file in &packed.files {
            let inside = packed.place(file);
            let from = self.home.root().join(&inside);
            let in_project = inside.strip_prefix(&old_project);
            let to = match in_project {
                Ok(inside) => goal.project.join(inside),
                Err(_) => goal.home.root().join(&inside),
            };
            if fs::symlink_metadata(&to).is_ok() {
                if to.is_file() && hash_file(&to)? == file.sha256 {
                    continue;
                }
                return Err(match known {
                    Some(_) => PackError::SessionExists { session: packed.id, path: to }.into(),
                    None => PublishError::Exists { path: to }.into(),
                });
            }
            let is_log = in_project.is_ok_and(is_log_of_session);
            files.push(MovedFile::plan(from, to, is_log, Origin::Stays)?);
        }
        let rewrite = match &goal.moved {
            Some((old, new)) => Rewrite::none().with_directory(old, new),
            None => Rewrite::none(),
        };
        let arrival = if files.is_empty() {
            Arrival::AlreadyThere
        } else {
            Arrival::AsItIs(Box::new(MovedSession {
                session: source.clone(),
                old_directory: packed.directory.clone(),
                directory: goal.directory.clone().unwrap_or_default(),
                changed_lines: goal.changed.lines(&rewrite),
                files,
                rewrite,
            }))
        };
        Ok(UnpackedSession {
            id: packed.id,
            title: packed.title.clone(),
            directory: goal.directory,
            arrival,
            log,
            files: packed.files.len() - 1,
            source: source.clone(),
        })
    }

    /// What clients would send of a session of the archive.
    pub fn preview(
        &self,
        home: &Home,
        session: &UnpackedSession,
    ) -> Result<Comparison, StoreError> {
        match &session.arrival {
            Arrival::AsItIs(moved) => moved.preview(),
            Arrival::AlreadyThere | Arrival::Copy(_) => {
                let opened = OpenedLog::read(&session.source.path)?;
                self.edit(home, session, &opened)?.preview()
            }
        }
    }

    /// Stages the files of a session. Gives what clients will send of it.
    pub fn stage(
        &self,
        home: &Home,
        session: &UnpackedSession,
        transaction: &mut Transaction<'_>,
    ) -> Result<Comparison, StoreError> {
        match &session.arrival {
            Arrival::AlreadyThere => self.preview(home, session),
            Arrival::AsItIs(moved) => match moved.stage(transaction)? {
                Some(comparison) => Ok(comparison),
                // The log is there already, and only other files were missing.
                None => moved.preview(),
            },
            Arrival::Copy(_) => {
                let opened = OpenedLog::read(&session.source.path)?;
                self.edit(home, session, &opened)?.stage(transaction)
            }
        }
    }

    fn edit<'a>(
        &self,
        home: &Home,
        session: &UnpackedSession,
        opened: &'a OpenedLog,
    ) -> Result<Edit<'a>, StoreError> {
        let draft = Draft::new(&opened.manuscript);
        match &session.arrival {
            Arrival::Copy(new) => {
                let inventory = self.home.inventory();
                let homes = (&self.home, home);
                Edit::between_homes(homes, &inventory, &session.source, opened, draft, new.clone())
            }
            Arrival::AlreadyThere | Arrival::AsItIs(_) => {
                Ok(Edit::in_place(opened, draft, &session.source.path))
            }
        }
    }
}

/// Where a session goes.
struct Goal<'a> {
    home: &'a Home,
    project: PathBuf,
    directory: Option<String>,
    moved: Option<(String, String)>,
    changed: &'a Named,
}

fn copy(packed: &PackedSession, source: &SessionFile, goal: Goal<'_>) -> UnpackedSession {
    let id = new_session_id();
    let log = goal.project.join(format!("{id}.jsonl"));
    let new =
        NewSession { id, project: goal.project, title: None, uuids: Uuids::New, moved: goal.moved };
    UnpackedSession {
        id: packed.id,
        title: packed.title.clone(),
        directory: goal.directory,
        arrival: Arrival::Copy(new),
        log,
        files: packed.files.len() - 1,
        source: source.clone(),
    }
}
