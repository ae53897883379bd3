//! Everything that belongs to a session, for a copy of it.

use std::fs::File;
use std::io;
use std::io::Read;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use recto_log::SessionId;
use recto_session::edit::Draft;
use recto_session::edit::Rewrite;
use sha2::Digest as _;
use sha2::Sha256;

use crate::Home;
use crate::Inventory;
use crate::LogFile;
use crate::OpenedLog;
use crate::SessionFile;
use crate::StoreError;
use crate::edit::draft_text::write_draft;
use crate::open_file;
use crate::place::error::PlaceError;
use crate::publish::FileIdentity;
use crate::publish::Transaction;
use crate::read_small;

/// Whether the lines of a copy keep their uuids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uuids {
    /// As the client's own forks do.
    Keep,
    /// The copy shares no id with its source.
    New,
}

/// Which file to take where both sessions have one of the same name, and the
/// contents differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prefer {
    /// None: the edit is refused.
    Neither,
    /// That of the first session.
    First,
    /// That of the second session.
    Second,
}

/// What a copy of a session is made of, beside its log.
#[derive(Debug, Default)]
pub(crate) struct SessionCopy {
    /// Logs and notes of subagents, whose ids are replaced, with where they go.
    logs: Vec<(PathBuf, PathBuf)>,
    /// Files that are copied as they are.
    files: Vec<(PathBuf, PathBuf)>,
    /// Subagents that get another id, because their logs stand beside those of
    /// all sessions of the project.
    agents: Vec<(String, String)>,
}

impl SessionCopy {
    /// Looks for what belongs to a session of a home, and says where the copies
    /// go in another home, or the same.
    pub(crate) fn plan(
        (home, goal): (&Home, &Home),
        inventory: &Inventory,
        session: &SessionFile,
        new: SessionId,
        project: &Path,
    ) -> Result<SessionCopy, StoreError> {
        let mut copy = SessionCopy::default();
        let parts = home.parts_of(inventory, session)?;
        let (old_name, new_name) = (session.id.to_string(), new.to_string());
        let folder = session.folder();
        let new_folder = project.join(&new_name);
        for agent in home.agents_of(inventory, session) {
            if !agent.path.starts_with(&folder) {
                copy.add_loose_agent(agent, new, project);
            }
        }
        for path in parts.files {
            if path == session.path || copy.logs.iter().any(|(from, _)| *from == path) {
                continue;
            }
            let to = if let Ok(inside) = path.strip_prefix(&folder) {
                new_folder.join(inside)
            } else {
                // Lists, tasks and old versions of files have the id in their path.
                let inside = path.strip_prefix(home.root()).ok().and_then(Path::to_str);
                let Some(inside) = inside else { return Err(PlaceError::NotAFile { path }.into()) };
                goal.root().join(inside.replace(&old_name, &new_name))
            };
            // The title is given anew.
            if path.ends_with("custom-title.json") {
                continue;
            }
            let extension = path.extension().and_then(|name| name.to_str());
            match extension {
                Some("jsonl" | "json") => copy.logs.push((path, to)),
                _ => copy.files.push((path, to)),
            }
        }
        Ok(copy)
    }

    fn add_loose_agent(&mut self, log: LogFile, new: SessionId, project: &Path) {
        let Some(agent) = log.agent else { return };
        let old = agent.to_string();
        let name = derived_name(&old, new);
        let to = project.join(format!("agent-{name}.jsonl"));
        self.logs.push((log.path, to));
        self.agents.push((old, name));
    }

    /// Adds what the copy needs to the ids that are replaced.
    pub(crate) fn rewrite(
        &self,
        mut rewrite: Rewrite,
        uuids: Uuids,
    ) -> Result<Rewrite, StoreError> {
        for (old, new) in &self.agents {
            rewrite = rewrite.with_agent(old, new);
        }
        if uuids == Uuids::New {
            for (path, _) in self.logs.iter().filter(|(path, _)| is_log(path)) {
                rewrite = rewrite.with_new_uuids(&OpenedLog::read(path)?.manuscript);
            }
        }
        Ok(rewrite)
    }

    /// How many files there are.
    pub(crate) fn len(&self) -> usize {
        self.logs.len() + self.files.len()
    }

    /// Stages the copies.
    pub(crate) fn stage(
        &self,
        transaction: &mut Transaction<'_>,
        rewrite: &Rewrite,
    ) -> Result<(), StoreError> {
        for (from, to) in self.logs.iter().chain(&self.files) {
            make_parents(transaction, to)?;
            transaction.create(to, |out| SessionCopy::write(from, rewrite, out))?;
        }
        Ok(())
    }

    /// Writes the copy of a file.
    pub(crate) fn write(
        from: &Path,
        rewrite: &Rewrite,
        out: &mut dyn Write,
    ) -> Result<(), StoreError> {
        match from.extension().and_then(|name| name.to_str()) {
            Some("jsonl") => {
                let opened = OpenedLog::read(from)?;
                write_draft(&opened, &Draft::new(&opened.manuscript), rewrite, out)
            }
            Some("json") => Ok(out.write_all(&rewrite.apply(read_small(from)?))?),
            _ => copy_text(from, rewrite, out),
        }
    }

    /// Takes in the parts of another session. Where two go to one place, `choose`
    /// says which one does.
    pub(crate) fn join(
        &mut self,
        other: SessionCopy,
        choose: impl Fn(&Path, &Path) -> Result<Prefer, StoreError>,
    ) -> Result<(), StoreError> {
        for (kept, added) in [(&mut self.logs, other.logs), (&mut self.files, other.files)] {
            for (from, to) in added {
                let Some(clash) = kept.iter_mut().find(|(_, known)| *known == to) else {
                    kept.push((from, to));
                    continue;
                };
                match choose(&clash.0, &from)? {
                    Prefer::Second => clash.0 = from,
                    Prefer::First | Prefer::Neither => {}
                }
            }
        }
        self.agents.extend(other.agents);
        Ok(())
    }

    /// Leaves out what is below a directory.
    pub(crate) fn leave_out(&mut self, directory: &Path) {
        self.logs.retain(|(from, _)| !from.starts_with(directory));
        self.files.retain(|(from, _)| !from.starts_with(directory));
    }
}

/// Lets a file go through a filter in place, if that changes it.
pub(crate) fn stage_filtered(
    transaction: &mut Transaction<'_>,
    path: &Path,
    rewrite: &Rewrite,
) -> Result<(), StoreError> {
    let identity = FileIdentity::of(path)?;
    let mut changed = Changed { file: open_file(path)?, is_changed: false };
    write_filtered(path, rewrite, &mut changed)?;
    if changed.is_changed {
        transaction.replace(path, &identity, |out| write_filtered(path, rewrite, out))?;
    }
    Ok(())
}

/// Writes a file as a filter makes it.
pub(crate) fn write_filtered(
    path: &Path,
    rewrite: &Rewrite,
    out: &mut dyn Write,
) -> Result<(), StoreError> {
    if is_log(path) {
        let opened = OpenedLog::read(path)?;
        return write_draft(&opened, &Draft::new(&opened.manuscript), rewrite, out);
    }
    copy_text(path, rewrite, out)
}

/// Compares what is written with what is there.
struct Changed {
    file: File,
    is_changed: bool,
}

impl Write for Changed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut there = vec![0; bytes.len()];
        self.is_changed |= self.file.read_exact(&mut there).is_err() || there != bytes;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Copies a text through the filter of lines, in pieces that end with a line: what
/// spans lines, such as a private key, is seen as a whole if the file is small.
fn copy_text(from: &Path, rewrite: &Rewrite, out: &mut dyn Write) -> Result<(), StoreError> {
    const PIECE: usize = 4 * 1024 * 1024;
    let Some(filter) = rewrite.filter() else {
        io::copy(&mut open_file(from)?, out)?;
        return Ok(());
    };
    let mut file = open_file(from)?;
    let mut piece = Vec::new();
    loop {
        let read = (&mut file).take((PIECE - piece.len().min(PIECE / 2)) as u64);
        let count = { read }.read_to_end(&mut piece)?;
        let end = if count == 0 {
            piece.len()
        } else {
            memchr::memrchr(b'\n', &piece).map_or(piece.len(), |at| at + 1)
        };
        let text = &piece[..end];
        out.write_all(filter.apply(text).as_deref().unwrap_or(text))?;
        piece.drain(..end);
        if count == 0 {
            return Ok(());
        }
    }
}

/// Copies a file as it is.
pub(crate) fn copy_file(from: &Path, out: &mut dyn Write) -> Result<(), StoreError> {
    std::io::copy(&mut open_file(from)?, out)?;
    Ok(())
}

fn is_log(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

/// Makes the directories above a file, the outer ones first.
pub(crate) fn make_parents(
    transaction: &mut Transaction<'_>,
    path: &Path,
) -> Result<(), StoreError> {
    let missing: Vec<&Path> =
        path.ancestors().skip(1).take_while(|directory| !directory.is_dir()).collect();
    for directory in missing.into_iter().rev() {
        transaction.create_directory(directory)?;
    }
    Ok(())
}

/// A name of the same length that follows from the old one.
fn derived_name(old: &str, session: SessionId) -> String {
    let mut name = String::new();
    let mut hash = Sha256::new();
    hash.update(session.bits().to_be_bytes());
    hash.update(old.as_bytes());
    let mut bytes = hash.finalize();
    while name.len() < old.len() {
        for byte in &bytes {
            name.push_str(&format!("{byte:02x}"));
        }
        bytes = Sha256::digest(bytes);
    }
    name.truncate(old.len());
    name
}
