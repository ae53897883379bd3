//! Kept files back into a home.

use std::collections::HashMap;
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::io::Read;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use fs_err as fs;
use jiff::Timestamp;

use crate::Home;
use crate::StoreError;
use crate::follow::FileKind;
use crate::keep::archive::Archive;
use crate::keep::catalog::KeptFile;
use crate::keep::kept_file::CheckedParts;
use crate::open_file;
use crate::publish::FileIdentity;
use crate::publish::Transaction;

/// How files are given back.
#[derive(Debug, Clone, Copy, Default)]
pub struct RestoreOptions {
    /// As they were at a time; else as they were last.
    pub at: Option<Timestamp>,
}

/// What becomes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is not in the home, and comes back.
    New,
    /// The home has the beginning of it, and gets the rest.
    Completed,
    /// The home has the same file.
    Same,
    /// The home has all of it and more, which stays.
    Longer,
    /// The home has another file, which stays.
    Differs,
    /// Nothing of it can be read, or did not exist at the time.
    Nothing,
    /// Its path cannot be one of its kind: somebody changed the archive.
    Refused,
}

impl Verdict {
    /// Whether the home changes.
    pub fn is_change(&self) -> bool {
        matches!(self, Verdict::New | Verdict::Completed)
    }

    /// A stable name, for machines.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::New => "new",
            Verdict::Completed => "completed",
            Verdict::Same => "same",
            Verdict::Longer => "longer",
            Verdict::Differs => "differs",
            Verdict::Nothing => "nothing",
            Verdict::Refused => "refused",
        }
    }
}

/// A file that is given back.
#[derive(Debug)]
pub struct RestoredFile {
    /// Where it goes.
    pub path: PathBuf,
    /// Its path below the home.
    pub below: String,
    /// What it is.
    pub kind: FileKind,
    /// How large it will be.
    pub bytes: u64,
    /// When it was written last, which it will seem to be.
    pub modified: Timestamp,
    /// What becomes of it.
    pub verdict: Verdict,
    /// What is missing of it.
    pub problems: Vec<String>,
    /// Where the archive knows it, below the home, if the home has its session in another project.
    pub archived_as: Option<String>,
}

/// Files that come back.
#[derive(Debug)]
pub struct Restoration<'a> {
    archive: &'a Archive,
    home: &'a Home,
    options: RestoreOptions,
    /// The files, and what becomes of each.
    pub files: Vec<RestoredFile>,
    sources: Vec<(&'a KeptFile, Option<CheckedParts>)>,
    /// The logs that come back, where the archive knows them.
    claimed: HashSet<&'a str>,
    /// Projects of the home.
    projects: Vec<String>,
    /// In which project the home has the log that the archive knows at a path.
    moved: HashMap<String, String>,
}

impl<'a> Restoration<'a> {
    /// Says what becomes of each file. Reads everything once, and changes nothing.
    pub fn plan(
        archive: &'a Archive,
        home: &'a Home,
        wanted: impl IntoIterator<Item = &'a KeptFile>,
        options: RestoreOptions,
    ) -> Result<Restoration<'a>, StoreError> {
        let wanted: Vec<&'a KeptFile> = wanted.into_iter().collect();
        let logs = wanted.iter().filter(|kept| kept.kind == FileKind::MainLog);
        let mut plan = Restoration {
            archive,
            home,
            options,
            files: Vec::new(),
            sources: Vec::new(),
            claimed: logs.map(|kept| kept.path.as_str()).collect(),
            projects: projects_of(home)?,
            moved: HashMap::new(),
        };
        for kept in wanted.iter().filter(|kept| kept.kind == FileKind::MainLog) {
            plan.find(kept)?;
        }
        for kept in wanted {
            let (file, checked) = plan.judge(kept, plan.place_of(kept))?;
            plan.files.push(file);
            plan.sources.push((kept, checked));
        }
        Ok(plan)
    }

    /// Whether anything comes back.
    pub fn is_change(&self) -> bool {
        self.files.iter().any(|file| file.verdict.is_change())
    }

    /// Looks for a log where the archive does not know it: it was moved, or a move was undone,
    /// since it was kept. It is the same log if one of the two begins with the other.
    fn find(&mut self, kept: &KeptFile) -> Result<(), StoreError> {
        let is_there = |below: &str| self.home.look_at(&self.home.root().join(below)).is_some();
        let Some((project, name)) = split(&kept.path).filter(|_| !is_there(&kept.path)) else {
            return Ok(());
        };
        for other in self.projects.iter().filter(|other| *other != project) {
            let below = format!("projects/{other}/{name}");
            if self.claimed.contains(below.as_str()) || !is_there(&below) {
                continue;
            }
            let (file, _) = self.judge(kept, below)?;
            if matches!(file.verdict, Verdict::Same | Verdict::Longer | Verdict::Completed) {
                let folder = kept.path.strip_suffix(".jsonl").unwrap_or(&kept.path);
                self.moved.insert(folder.to_owned(), other.clone());
                return Ok(());
            }
        }
        Ok(())
    }

    /// Where a file goes: where the archive knows it, or to where the home has its session.
    fn place_of(&self, kept: &KeptFile) -> String {
        let moved = split(&kept.path).and_then(|(project, rest)| {
            let session = rest.split('/').next()?;
            let session = session.strip_suffix(".jsonl").unwrap_or(session);
            let other = self.moved.get(&format!("projects/{project}/{session}"))?;
            Some(format!("projects/{other}/{rest}"))
        });
        moved.unwrap_or_else(|| kept.path.clone())
    }

    /// What becomes of a file at a place, and of what comes back, the parts that are sound.
    fn judge(
        &self,
        kept: &KeptFile,
        below: String,
    ) -> Result<(RestoredFile, Option<CheckedParts>), StoreError> {
        let path = self.home.root().join(&below);
        let mut file = RestoredFile {
            path,
            below,
            kind: kept.kind,
            bytes: 0,
            modified: self.modified(kept),
            verdict: Verdict::Refused,
            problems: Vec::new(),
            archived_as: None,
        };
        if file.below != kept.path {
            file.archived_as = Some(kept.path.clone());
        }
        if FileKind::of(Path::new(&file.below)) != Some(kept.kind) || !is_plain(&file.below) {
            return Ok((file, None));
        }
        let existing = match fs::symlink_metadata(&file.path) {
            Ok(metadata) if metadata.is_file() => Some(open_file(&file.path)?),
            Ok(_) => {
                file.verdict = Verdict::Differs;
                return Ok((file, None));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        let checked = kept.check(self.archive, self.options.at)?;
        let mut comparison = Comparison { existing, bytes: 0, differs: false, ended: false };
        let reached = match (&comparison.existing, self.options.at) {
            // Nothing to compare with, and nothing to cut: the bytes need no second reading.
            (None, None) => {
                comparison.bytes = checked.bytes();
                checked.len()
            }
            _ => kept.write_checked(self.archive, &checked, &mut comparison)?.1,
        };
        file.bytes = comparison.bytes;
        file.problems = checked.problems(reached).map(ToString::to_string).collect();
        file.verdict = comparison.verdict(!file.problems.is_empty())?;
        let checked = file.verdict.is_change().then_some(checked);
        Ok((file, checked))
    }

    /// Stages everything that comes back.
    pub fn stage(&self, transaction: &mut Transaction<'_>) -> Result<(), StoreError> {
        for (file, (kept, checked)) in self.files.iter().zip(&self.sources) {
            let Some(checked) = checked else { continue };
            let modified = file.modified;
            let write = |out: &mut dyn Write| {
                kept.write_checked(self.archive, checked, out)?;
                Ok(())
            };
            if file.verdict == Verdict::Completed {
                let expected = FileIdentity::of(&file.path)?;
                transaction.replace_at(&file.path, &expected, modified, write)?;
                continue;
            }
            self.make_folders(transaction, &file.path)?;
            transaction.create_at(&file.path, modified, write)?;
        }
        Ok(())
    }

    fn modified(&self, kept: &KeptFile) -> Timestamp {
        match self.options.at {
            Some(at) => kept.modified.min(at),
            None => kept.modified,
        }
    }

    fn make_folders(
        &self,
        transaction: &mut Transaction<'_>,
        path: &Path,
    ) -> Result<(), StoreError> {
        let Some(folder) = path.parent() else { return Ok(()) };
        let below = folder.strip_prefix(self.home.root()).unwrap_or(folder);
        let mut made = self.home.root().to_owned();
        for part in below.components() {
            made.push(part);
            if !made.is_dir() {
                transaction.create_directory(&made)?;
            }
        }
        Ok(())
    }
}

/// A path below `projects/`: the project, and what is in it.
fn split(below: &str) -> Option<(&str, &str)> {
    below.strip_prefix("projects/")?.split_once('/')
}

fn projects_of(home: &Home) -> Result<Vec<String>, StoreError> {
    let entries = match fs::read_dir(home.root().join("projects")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut projects = Vec::new();
    for entry in entries {
        projects.extend(entry?.file_name().into_string());
    }
    projects.sort();
    Ok(projects)
}

/// Whether a path leads to a place below the home and nowhere else, on this system. Windows takes
/// a backslash for a separator, and what is behind a colon for a stream or, before it, a drive.
pub(super) fn is_plain(below: &str) -> bool {
    below.split('/').all(|part| {
        !part.is_empty()
            && part != "."
            && part != ".."
            && !part.chars().any(|c| c.is_control() || cfg!(windows) && matches!(c, '\\' | ':'))
    })
}

/// Compares what is written with a file.
struct Comparison {
    existing: Option<File>,
    bytes: u64,
    differs: bool,
    /// The existing file ended before what is written.
    ended: bool,
}

impl Comparison {
    fn verdict(&mut self, is_damaged: bool) -> Result<Verdict, StoreError> {
        let Some(existing) = &mut self.existing else {
            return Ok(match (self.bytes, is_damaged) {
                (0, true) => Verdict::Nothing,
                _ => Verdict::New,
            });
        };
        if self.differs {
            return Ok(Verdict::Differs);
        }
        if self.ended {
            // A hole in what is kept must not replace what may be whole.
            return Ok(if is_damaged { Verdict::Differs } else { Verdict::Completed });
        }
        let mut one = [0];
        let has_more = existing.read(&mut one)? > 0;
        Ok(if has_more { Verdict::Longer } else { Verdict::Same })
    }
}

impl Write for Comparison {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.bytes += piece.len() as u64;
        let Some(existing) = self.existing.as_mut().filter(|_| !self.differs && !self.ended) else {
            return Ok(piece.len());
        };
        let mut there = Vec::with_capacity(piece.len());
        existing.take(piece.len() as u64).read_to_end(&mut there)?;
        self.ended = there.len() < piece.len();
        self.differs = there != piece[..there.len()];
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
