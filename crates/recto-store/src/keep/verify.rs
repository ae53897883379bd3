//! Reading an archive back, and comparing it with the home.

use std::path::Path;
use std::path::PathBuf;

use fs_err as fs;

use crate::Home;
use crate::StoreError;
use crate::follow::FileKind;
use crate::keep::KeepError;
use crate::keep::archive::Archive;
use crate::keep::collector::CollectProgress;
use crate::keep::collector::path_below;
use crate::keep::key::FileKey;
use crate::keep::key::Part;
use crate::keep::key::Range64;
use crate::keep::life::Lives;
use crate::keep::life::digest_of;
use crate::keep::segment::SegmentReader;
use crate::keep::segment::header_of;
use crate::open_file;

/// What verifying found.
#[derive(Debug, Default)]
pub struct VerifyReport {
    /// Segments and versions that were read.
    pub segments: u64,
    /// Their plain bytes.
    pub bytes: u64,
    /// Their bytes on the disk.
    pub stored: u64,
    /// What is damaged or missing.
    pub problems: Vec<KeepError>,
    /// Files of the home that were compared.
    pub sources: u64,
    /// Files whose end is not kept yet, and how many bytes of each.
    pub behind: Vec<(PathBuf, u64)>,
    /// Files that the archive does not have as they are.
    pub differing: Vec<PathBuf>,
}

impl VerifyReport {
    /// Whether everything is kept and whole.
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty() && self.behind.is_empty() && self.differing.is_empty()
    }

    /// Reads everything in an archive, and compares it with the files of a home.
    pub fn of(
        archive: &Archive,
        home: &Home,
        kinds: &[FileKind],
        progress: &mut dyn FnMut(CollectProgress),
    ) -> Result<VerifyReport, StoreError> {
        let mut report = VerifyReport::default();
        let keys = archive.files()?;
        let files = keys.len() as u64;
        for (done, key) in keys.into_iter().enumerate() {
            report.read_file(archive, key)?;
            progress(CollectProgress {
                done: done as u64 + 1,
                files,
                done_bytes: report.bytes,
                bytes: report.bytes,
            });
        }
        let (files, _) = home.files(kinds);
        for file in files {
            report.sources += 1;
            let Some(below) = path_below(home, &file.path) else {
                report.behind.push((file.path, file.state.size()));
                continue;
            };
            report.compare(archive, home, &file.path, file.kind, &below)?;
        }
        Ok(report)
    }

    fn read_file(&mut self, archive: &Archive, key: FileKey) -> Result<(), KeepError> {
        let parts = archive.parts(key)?;
        for part in &parts {
            if matches!(part, Part::Gone(_) | Part::Moved(_)) {
                continue;
            }
            let path = archive.path_of(key, part);
            self.segments += 1;
            self.stored += fs::metadata(&path).map_or(0, |metadata| metadata.len());
            let read = SegmentReader::open(&path).and_then(|one| one.read_all(&path, |_| Ok(())));
            match read {
                Ok(header) => {
                    self.bytes += header.content_bytes();
                    if !is_named(part, &header) {
                        let reason = "its name does not say what is in it";
                        self.problems.push(KeepError::damaged(&path, reason));
                    }
                }
                Err(problem) => self.problems.push(problem),
            }
        }
        let lives = Lives::of(parts);
        for life in lives.ids() {
            if let Some(next) = lives.behind_gap(life) {
                let (file, from) = (key.to_string(), lives.cover(life).1);
                self.problems.push(KeepError::Gap { file, from, to: next.start });
            }
        }
        Ok(())
    }

    fn compare(
        &mut self,
        archive: &Archive,
        home: &Home,
        path: &Path,
        kind: FileKind,
        below: &str,
    ) -> Result<(), StoreError> {
        // A file that has gone meanwhile is not compared.
        let Ok(file) = open_file(path) else { return Ok(()) };
        let size = file.metadata()?.len();
        let key = archive.key_for(home, &file, kind, below)?;
        let lives = Lives::of(archive.parts(key)?);
        if !kind.grows() {
            let digest = digest_of(&file, Range64 { start: 0, end: size })?;
            let newest = lives.versions.last().map(|part| archive.path_of(key, part));
            let kept = newest.and_then(|path| header_of(&path).ok()).map(|header| header.sha256);
            if kept.is_none() || kept != digest {
                self.behind.push((path.to_owned(), size));
            }
            return Ok(());
        }
        let head = crate::place::platform::read_up_to(&file, 0, crate::CHAIN_BLOCK)?;
        let Some(generation) = crate::GenerationId::of(&head) else {
            if size > 0 && lives.torn.is_empty() {
                self.behind.push((path.to_owned(), size));
            }
            return Ok(());
        };
        match lives.continued_by(archive, key, &file, generation)? {
            None if lives.ids().next().is_none() => self.behind.push((path.to_owned(), size)),
            None => self.differing.push(path.to_owned()),
            Some((life, end)) => {
                let kept = lives.torn_end(life).map_or(end, |torn| torn.end);
                if kept < size {
                    self.behind.push((path.to_owned(), size - kept));
                }
            }
        }
        Ok(())
    }
}

/// Whether the name of a part says what its header says.
fn is_named(part: &Part, header: &crate::keep::segment::SegmentHeader) -> bool {
    let range = Range64 { start: header.start, end: header.end };
    match part {
        Part::Lines { range: named, .. } => *named == range,
        Part::Torn { range: named, digest, .. } => {
            *named == range && header.sha256.starts_with(digest)
        }
        Part::Version { digest, .. } => header.sha256.starts_with(digest),
        Part::Gone(_) | Part::Moved(_) => true,
    }
}
