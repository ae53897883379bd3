//! The bytes of a kept file, now or at a time.

use std::fs::File;
use std::io;
use std::io::Seek as _;
use std::io::SeekFrom;
use std::io::Write;
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use jiff::Timestamp;
use rayon::prelude::*;
use recto_log::Lines;
use recto_log::decode;

use crate::keep::KeepError;
use crate::keep::archive::Archive;
use crate::keep::catalog::KeptFile;
use crate::keep::key::LifeId;
use crate::keep::key::Part;
use crate::keep::key::Range64;
use crate::keep::segment::SegmentHeader;
use crate::keep::segment::SegmentReader;
use crate::keep::segment::header_of;
use crate::keep::segment::milliseconds;

/// What could not be given back of a file.
#[derive(Debug, Default)]
pub struct Missing {
    /// Segments that are damaged, and gaps.
    pub problems: Vec<KeepError>,
}

/// Larger segments are decompressed and compared on one thread and written on another.
const LARGE: u64 = 4 * 1024 * 1024;
/// How many pieces of a large segment wait to be written.
const WAITING: usize = 8;

/// How many segments are read at once: each takes its window of 8 MiB.
const AT_ONCE: usize = 4;

/// The segments of a file as it is or as it was at a time, each compared with its digest.
#[derive(Debug)]
pub(super) struct CheckedParts {
    at: Option<Timestamp>,
    parts: Vec<(Part, Result<SegmentHeader, KeepError>)>,
    gaps: Vec<KeepError>,
}

impl CheckedParts {
    /// How many bytes the sound segments hold.
    pub(super) fn bytes(&self) -> u64 {
        self.parts.iter().flat_map(|(_, header)| header).map(SegmentHeader::content_bytes).sum()
    }

    /// What is damaged or missing in the first so many parts.
    pub(super) fn problems(&self, parts: usize) -> impl Iterator<Item = &KeepError> {
        let damaged = self.parts.iter().take(parts).filter_map(|(_, header)| header.as_ref().err());
        self.gaps.iter().chain(damaged)
    }

    /// How many parts there are, sound or not.
    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }
}

impl KeptFile {
    /// Writes the bytes of the file, as it is or as it was at a time. What is damaged or missing
    /// is named, and the rest is given. Gives the time of the version.
    pub fn write_to(
        &self,
        archive: &Archive,
        at: Option<Timestamp>,
        out: &mut dyn Write,
    ) -> Result<(Timestamp, Missing), KeepError> {
        let checked = self.check(archive, at)?;
        let (modified, reached) = self.write_checked(archive, &checked, out)?;
        let damaged = checked.parts.into_iter().take(reached).filter_map(|(_, it)| it.err());
        Ok((modified, Missing { problems: checked.gaps.into_iter().chain(damaged).collect() }))
    }

    /// Compares every segment with its digest, before anything is handed out.
    pub(super) fn check(
        &self,
        archive: &Archive,
        at: Option<Timestamp>,
    ) -> Result<CheckedParts, KeepError> {
        let mut missing = Missing::default();
        let mut parts = Vec::new();
        for some in self.parts(archive, at, &mut missing)?.chunks(AT_ONCE) {
            parts.par_extend(some.par_iter().with_max_len(1).map(|part| {
                let path = archive.path_of(self.key, part);
                let reader = SegmentReader::open(&path);
                (part.clone(), reader.and_then(|reader| reader.read_all(&path, |_| Ok(()))))
            }));
        }
        Ok(CheckedParts { at, parts, gaps: missing.problems })
    }

    /// Writes the bytes of the sound segments. Gives the time of the version, and how many parts
    /// it took: those of a later time are not wanted, whatever is wrong with them.
    pub(super) fn write_checked(
        &self,
        archive: &Archive,
        checked: &CheckedParts,
        out: &mut dyn Write,
    ) -> Result<(Timestamp, usize), KeepError> {
        let mut modified = self.modified;
        let mut cutter = Cutter { at: checked.at, is_over: false, line: Vec::new() };
        let mut reached = 0;
        for (part, header) in &checked.parts {
            if cutter.is_over {
                break;
            }
            reached += 1;
            let Ok(header) = header else { continue };
            let path = archive.path_of(self.key, part);
            let grows = !matches!(part, Part::Version { .. });
            let reader = SegmentReader::open(&path)?;
            let take = |piece: &[u8]| match grows {
                true => cutter.take(piece, out),
                false => out.write_all(piece),
            };
            match header.content_bytes() > LARGE {
                true => read_ahead(reader, &path, take)?,
                false => drop(reader.read_all(&path, take)?),
            }
            modified = header.modified;
        }
        cutter.finish(out).map_err(KeepError::of(archive.root()))?;
        Ok((modified, reached))
    }

    /// Writes the bytes of the file as it is into a new file. A segment that turns out to be
    /// damaged is taken back and named.
    pub(super) fn copy_into(
        &self,
        archive: &Archive,
        file: &mut File,
    ) -> Result<Missing, KeepError> {
        let mut missing = Missing::default();
        let mut end = 0;
        for part in self.parts(archive, None, &mut missing)? {
            let path = archive.path_of(self.key, &part);
            let mut written = Ok(());
            let read = SegmentReader::open(&path).and_then(|reader| {
                reader.read_all(&path, |piece| {
                    written = file.write_all(piece);
                    // What is wrong with the copy is not wrong with the segment.
                    written.as_ref().map_or_else(|error| Err(error.kind().into()), |()| Ok(()))
                })
            });
            written.map_err(KeepError::of(&path))?;
            match read {
                Ok(header) => end += header.content_bytes(),
                Err(problem) => {
                    missing.problems.push(problem);
                    file.set_len(end).map_err(KeepError::of(&path))?;
                    file.seek(SeekFrom::Start(end)).map_err(KeepError::of(&path))?;
                }
            }
        }
        Ok(missing)
    }

    /// The parts to read, in order.
    fn parts(
        &self,
        archive: &Archive,
        at: Option<Timestamp>,
        missing: &mut Missing,
    ) -> Result<Vec<Part>, KeepError> {
        if let Some(newest) = self.lives.versions.last() {
            let at = at.map_or(u64::MAX, milliseconds);
            let is_early =
                |part: &&Part| matches!(part, Part::Version { modified, .. } if *modified <= at);
            let found = self.lives.versions.iter().rev().find(is_early);
            // A file that did not exist then has no version to give.
            return Ok(found.or((at == u64::MAX).then_some(newest)).cloned().into_iter().collect());
        }
        let Some(life) = self.life_at(archive, at)? else { return Ok(Vec::new()) };
        let (mut chosen, mut end) = self.lives.cover(life);
        // Behind a gap, what there is is given as well.
        while let Some(next) =
            self.lives.segments(life).iter().find(|range| range.start >= end && range.end > end)
        {
            if next.start > end {
                missing.problems.push(KeepError::Gap {
                    file: self.path.clone(),
                    from: end,
                    to: next.start,
                });
            }
            chosen.push(*next);
            end = next.end;
        }
        let lines = |range: Range64| Part::Lines { life, range };
        let mut parts: Vec<Part> = chosen.into_iter().map(lines).collect();
        parts.extend(self.torn.clone().filter(|_| self.life == Some(life)));
        Ok(parts)
    }

    /// The life that the file was in at a time: the last one of which something was kept by then,
    /// or else the first.
    fn life_at(
        &self,
        archive: &Archive,
        at: Option<Timestamp>,
    ) -> Result<Option<LifeId>, KeepError> {
        let Some(at) = at else { return Ok(self.life) };
        let mut lives = Vec::new();
        for life in self.lives.ids() {
            let first = self.lives.segments(life).first();
            if let Some(range) = first {
                let path = archive.path_of(self.key, &Part::Lines { life, range: *range });
                lives.push((header_of(&path)?.captured, life));
            }
        }
        lives.sort();
        let by_then = lives.iter().rev().find(|(captured, _)| *captured <= at);
        Ok(by_then.or(lives.first()).map(|(_, life)| *life))
    }
}

/// Reads all of a segment on another thread, and takes its pieces on this one.
fn read_ahead(
    reader: SegmentReader,
    path: &Path,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> Result<(), KeepError> {
    let (sender, pieces) = mpsc::sync_channel::<Vec<u8>>(WAITING);
    thread::scope(|scope| {
        let reading = scope.spawn(move || {
            let send = |piece: &[u8]| {
                // Who takes no more has failed and says why.
                sender.send(piece.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe.into())
            };
            reader.read_all(path, send)
        });
        let mut taken = Ok(());
        for piece in pieces {
            taken = take(&piece);
            if taken.is_err() {
                break;
            }
        }
        let read = reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        taken.map_err(KeepError::of(path))?;
        read.map(drop)
    })
}

/// Ends a log at the first line of a later time.
struct Cutter {
    at: Option<Timestamp>,
    is_over: bool,
    /// The beginning of a line that is not whole yet.
    line: Vec<u8>,
}

impl Cutter {
    fn take(&mut self, piece: &[u8], out: &mut dyn Write) -> io::Result<()> {
        let Some(at) = self.at else { return out.write_all(piece) };
        self.line.extend_from_slice(piece);
        let Some(end) = memchr::memrchr(b'\n', &self.line) else { return Ok(()) };
        let rest = self.line.split_off(end + 1);
        let whole = std::mem::replace(&mut self.line, rest);
        for line in Lines::new(&whole) {
            let is_later = decode(line).0.timestamp().is_some_and(|time| time > at);
            self.is_over |= is_later;
            if self.is_over {
                self.line.clear();
                return Ok(());
            }
            out.write_all(line.bytes)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }

    /// What is left is a torn end.
    fn finish(self, out: &mut dyn Write) -> io::Result<()> {
        match self.is_over {
            true => Ok(()),
            false => out.write_all(&self.line),
        }
    }
}

/// The first line of a log, as far as its first segment shows it.
pub(super) fn first_line(archive: &Archive, file: &KeptFile) -> Result<Vec<u8>, KeepError> {
    let Some(life) = file.life else { return Ok(Vec::new()) };
    let Some(range) = file.lives.segments(life).first().copied() else { return Ok(Vec::new()) };
    let path = archive.path_of(file.key, &Part::Lines { life, range });
    let mut line = Vec::new();
    let mut has_end = false;
    SegmentReader::open(&path)?.read_all(&path, |piece| {
        if !has_end && line.len() < 64 * 1024 {
            let end = memchr::memchr(b'\n', piece);
            has_end = end.is_some();
            line.extend_from_slice(&piece[..end.unwrap_or(piece.len())]);
        }
        Ok(())
    })?;
    Ok(line)
}
