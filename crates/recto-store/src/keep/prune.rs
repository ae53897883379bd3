//! Dropping what is no longer wanted, and merging small segments.

use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use fs_err as fs;
use jiff::Timestamp;
use rayon::prelude::*;

use crate::Home;
use crate::StoreError;
use crate::keep::KeepError;
use crate::keep::archive::Archive;
use crate::keep::archive::NewSegment;
use crate::keep::archive::Put;
use crate::keep::catalog::Catalog;
use crate::keep::catalog::KeptFile;
use crate::keep::key::FileKey;
use crate::keep::key::LifeId;
use crate::keep::key::Part;
use crate::keep::key::Range64;
use crate::keep::life::Lives;
use crate::keep::segment::SegmentHeader;
use crate::keep::segment::SegmentReader;
use crate::keep::segment::TIGHT_LEVEL;
use crate::keep::segment::header_of;
use crate::keep::segment::milliseconds;

/// A merged segment holds at most this many plain bytes.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Which files are dropped: those that every criterion names.
#[derive(Debug, Clone, Default)]
pub struct PruneChoice {
    /// Files that were not written since.
    pub before: Option<Timestamp>,
    /// Files of a project directory.
    pub project: Option<String>,
    /// The oldest files, until the archive is not larger than this.
    pub keep_bytes: Option<u64>,
}

/// What pruning drops.
#[derive(Debug, Default)]
pub struct PruneReport<'a> {
    /// The files, and the bytes that each takes on the disk.
    pub files: Vec<(&'a KeptFile, u64)>,
    /// Those of them that the home does not have: the archive has the only copy.
    pub only_copies: usize,
}

/// What merging did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MergeReport {
    /// Segments that were merged.
    pub merged: u64,
    /// Segments that they became.
    pub into: u64,
    /// Segments that were compressed harder.
    pub tightened: u64,
    /// Bytes on the disk before, of what was merged or compressed harder.
    pub before: u64,
    /// Bytes on the disk after.
    pub after: u64,
}

impl MergeReport {
    fn and(self, other: MergeReport) -> MergeReport {
        MergeReport {
            merged: self.merged + other.merged,
            into: self.into + other.into,
            tightened: self.tightened + other.tightened,
            before: self.before + other.before,
            after: self.after + other.after,
        }
    }
}

impl<'a> PruneReport<'a> {
    /// Says what would be dropped.
    pub fn plan(
        archive: &Archive,
        home: &Home,
        catalog: &'a Catalog,
        choice: &PruneChoice,
    ) -> Result<PruneReport<'a>, StoreError> {
        let mut all = Vec::new();
        for file in &catalog.files {
            all.push((file, stored(archive, file.key)?));
        }
        let mut total: u64 = all.iter().map(|(_, bytes)| bytes).sum();
        all.sort_by_key(|(file, _)| file.modified);
        let mut report = PruneReport::default();
        for (file, bytes) in all {
            let is_old = choice.before.is_none_or(|before| file.modified < before);
            let is_of_project = choice
                .project
                .as_ref()
                .is_none_or(|project| file.project() == Some(project.as_str()));
            let is_too_much = choice.keep_bytes.is_none_or(|keep| total > keep);
            if is_old && is_of_project && is_too_much {
                total = total.saturating_sub(bytes);
                let is_at_home = fs::symlink_metadata(home.root().join(&file.path)).is_ok();
                report.only_copies += usize::from(!is_at_home);
                report.files.push((file, bytes));
            }
        }
        Ok(report)
    }

    /// Drops the files. They cannot come back.
    pub fn drop_files(&self, archive: &Archive) -> Result<(), StoreError> {
        let _lock = archive.lock()?;
        for (file, _) in &self.files {
            let folder = archive.folder(file.key);
            // A folder that vanished meanwhile is what was asked for.
            match fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(KeepError::of(&folder)(error).into());
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }
}

/// How many bytes a file takes in the archive.
fn stored(archive: &Archive, key: FileKey) -> Result<u64, KeepError> {
    Ok(archive.parts(key)?.iter().map(|part| size(&archive.path_of(key, part))).sum())
}

/// Makes larger segments of small ones, and compresses harder what came in a hurry. The small ones
/// go when the large one is durable. `progress` is told how many files of how many are done.
pub fn merge(
    archive: &Archive,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<MergeReport, StoreError> {
    let _lock = archive.lock()?;
    let files = archive.files()?;
    let done = AtomicU64::new(0);
    let of_file = |key: &FileKey| {
        let mut report = MergeReport::default();
        let lives = Lives::of(archive.parts(*key)?);
        for life in lives.ids() {
            merge_life(archive, *key, life, &lives, &mut report)?;
        }
        progress(done.fetch_add(1, Ordering::Relaxed) + 1, files.len() as u64);
        Ok(report)
    };
    let reports: Vec<MergeReport> =
        files.par_iter().with_max_len(1).map(of_file).collect::<Result<_, StoreError>>()?;
    archive.sync()?;
    Ok(reports.into_iter().fold(MergeReport::default(), MergeReport::and))
}

fn merge_life(
    archive: &Archive,
    key: FileKey,
    life: LifeId,
    lives: &Lives,
    report: &mut MergeReport,
) -> Result<(), StoreError> {
    let (cover, _) = lives.cover(life);
    let mut group: Vec<Range64> = Vec::new();
    let mut groups = Vec::new();
    for range in cover {
        let bytes: u64 = group.iter().map(|one| one.end - one.start).sum();
        // Overlapping segments are left as they are: nothing is cut.
        let follows = group.last().is_none_or(|last| last.end == range.start);
        if !group.is_empty() && (!follows || bytes + (range.end - range.start) > LARGEST) {
            groups.push(std::mem::take(&mut group));
        }
        group.push(range);
    }
    groups.push(group);
    for group in groups {
        match &group[..] {
            [] => {}
            [range] => tighten(archive, key, &Part::Lines { life, range: *range }, report)?,
            _ => merge_group(archive, key, life, &group, report)?,
        }
    }
    Ok(())
}

/// Compresses a segment harder, unless it is.
fn tighten(
    archive: &Archive,
    key: FileKey,
    part: &Part,
    report: &mut MergeReport,
) -> Result<(), StoreError> {
    let path = archive.path_of(key, part);
    let header = match header_of(&path) {
        Ok(header) if header.level < TIGHT_LEVEL && header.length.is_none() => header,
        // What is damaged stays as it is, for whoever can still mend it.
        Ok(_) | Err(KeepError::Damaged { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let before = size(&path);
    let new = SegmentHeader { end: header.start, level: TIGHT_LEVEL, ..header };
    let Some(new) = copied(archive, new, std::slice::from_ref(&path))? else { return Ok(()) };
    if new.put_over(archive, &path)? {
        report.tightened += 1;
        report.before += before;
        report.after += size(&path);
    }
    Ok(())
}

/// A new segment with the bytes of others; none if one of them is damaged.
fn copied(
    archive: &Archive,
    header: SegmentHeader,
    paths: &[PathBuf],
) -> Result<Option<NewSegment>, StoreError> {
    let mut new = archive.begin(header)?;
    for path in paths {
        let mut failed = None;
        let read = SegmentReader::open(path)?.read_all(path, |piece| {
            new.write(piece).map_err(|error| {
                failed = Some(error);
                std::io::ErrorKind::Other.into()
            })
        });
        match (failed, read) {
            (Some(error), _) => return Err(error.into()),
            (None, Err(KeepError::Damaged { .. })) => return Ok(None),
            (None, read) => drop(read?),
        }
    }
    Ok(Some(new))
}

fn size(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |one| one.len())
}

fn merge_group(
    archive: &Archive,
    key: FileKey,
    life: LifeId,
    group: &[Range64],
    report: &mut MergeReport,
) -> Result<(), StoreError> {
    let part = |range: &Range64| Part::Lines { life, range: *range };
    let paths: Vec<_> = group.iter().map(|range| archive.path_of(key, &part(range))).collect();
    let mut marks = Vec::new();
    let mut last: Option<SegmentHeader> = None;
    for path in &paths {
        let header = header_of(path)?;
        // Where a policy changed the bytes, places in them are not those of the file.
        if header.length.is_some() {
            return Ok(());
        }
        marks.extend_from_slice(&header.marks);
        if header.marks.is_empty() {
            marks.push((header.end, milliseconds(header.captured)));
        }
        last = Some(header);
    }
    let (Some(first), Some(last)) = (group.first(), last) else { return Ok(()) };
    let header =
        SegmentHeader { start: first.start, end: first.start, marks, level: TIGHT_LEVEL, ..last };
    let Some(merged) = copied(archive, header, &paths)? else { return Ok(()) };
    let name = |header: &SegmentHeader| part(&Range64 { start: header.start, end: header.end });
    let (put, header) = merged.put(archive, key, name)?;
    if put == Put::Other {
        return Ok(());
    }
    archive.sync()?;
    report.before += paths.iter().map(|path| size(path)).sum::<u64>();
    let whole = Range64 { start: header.start, end: header.end };
    report.after += size(&archive.path_of(key, &part(&whole)));
    report.merged += group.len() as u64;
    report.into += 1;
    for path in &paths {
        fs::remove_file(path)?;
    }
    Ok(())
}
