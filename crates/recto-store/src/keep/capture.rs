//! One file into the archive.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use recto_log::json::ObjectWriter;

use crate::Advance;
use crate::Cursor;
use crate::FileState;
use crate::GenerationId;
use crate::Home;
use crate::ReadLimits;
use crate::StoreError;
use crate::follow::FileKind;
use crate::follow::HomeFile;
use crate::keep::KeepError;
use crate::keep::archive::Archive;
use crate::keep::archive::Put;
use crate::keep::catalog::KeptFile;
use crate::keep::key::FileKey;
use crate::keep::key::LifeId;
use crate::keep::key::Part;
use crate::keep::key::Range64;
use crate::keep::life::Lives;
use crate::keep::segment::LEVEL;
use crate::keep::segment::SegmentHeader;
use crate::keep::segment::header_of;
use crate::keep::segment::milliseconds;
use crate::log::chain::BLOCK;
use crate::place::open::open_known;
use crate::place::platform::read_up_to;

/// How many plain bytes a segment holds at most, unless one line is longer.
const LARGEST: u64 = 64 * 1024 * 1024;
/// How much of a long line, of a torn end or of a whole file is read at once.
const WINDOW: u64 = 256 * 1024;
/// How often a file that changes while it is read is tried again.
const TRIES: usize = 3;

/// How far a file that grows was kept, and under which key.
pub(super) type Known = (FileKey, (LifeId, Cursor));

/// What is remembered of a file between two looks at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Remembered {
    /// What the file was.
    pub(super) state: FileState,
    /// Whether all of it is kept: a torn end may still become a line.
    pub(super) is_settled: bool,
    /// Of a file that grows: which life it is in, and how far it is kept.
    pub(super) lines: Option<(LifeId, Cursor)>,
}

/// What was added to the archive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Captured {
    /// Plain bytes that the archive did not have.
    pub bytes: u64,
    /// Segments and versions.
    pub segments: u64,
    /// Lives that began: the file was rewritten.
    pub lives: u64,
    /// Names that something else had in the archive. The file was kept under another one.
    pub conflicts: u64,
    /// Files whose session another project has as well. They are kept beside the other's.
    pub copies: u64,
}

impl Captured {
    pub(super) fn add(&mut self, other: Captured) {
        self.bytes += other.bytes;
        self.segments += other.segments;
        self.lives += other.lives;
        self.conflicts += other.conflicts;
        self.copies += other.copies;
    }
}

/// Puts files into an archive.
pub(super) struct Capture<'a> {
    pub(super) home: &'a Home,
    pub(super) archive: &'a Archive,
    /// How long a torn end is left alone.
    pub(super) torn_after: Duration,
    pub(super) clock: fn() -> Timestamp,
}

/// A file that is looked at.
struct Source<'a> {
    file: &'a File,
    path: &'a Path,
    below: &'a str,
    kind: FileKind,
    key: FileKey,
    /// When it is read.
    moment: Timestamp,
}

/// What reading the lines of a file came to.
enum Copying {
    Done,
    /// The file is no longer what it was, or the archive has something else.
    Again,
}

impl Capture<'_> {
    /// Keeps what is new in a file. `below` is its path below the home.
    pub(super) fn file(
        &self,
        file: &HomeFile,
        below: &str,
        known: Option<Known>,
    ) -> Result<(FileKey, Remembered, Captured), StoreError> {
        let open = open_known(&file.path)?;
        let (path, kind) = (&file.path, file.kind);
        let key = self.archive.key_for(self.home, &open, kind, below)?;
        // What is remembered of another file that was here says nothing.
        let known = known.filter(|(of, _)| *of == key).map(|(_, lines)| lines);
        let lives = Lives::of(self.archive.parts(key)?);
        let moment = lives.moment(self.archive, key, (self.clock)());
        let source = Source { file: &open, path, below, kind, key, moment };
        let (remembered, mut captured) = match kind.grows() {
            true => self.lines(&source, known)?,
            false => self.version(&source)?,
        };
        let is_new = captured.segments > 0 && lives.is_empty();
        captured.copies += u64::from(is_new && key != FileKey::of(kind, below));
        Ok((key, remembered, captured))
    }

    fn lines(
        &self,
        source: &Source<'_>,
        mut known: Option<(LifeId, Cursor)>,
    ) -> Result<(Remembered, Captured), KeepError> {
        let failed = KeepError::of(source.path);
        let mut captured = Captured::default();
        let mut state = FileState::default();
        for _ in 0..TRIES {
            state = FileState::now(&source.file.metadata().map_err(&failed)?);
            let lives = Lives::of(self.archive.parts(source.key)?);
            let Some((life, mut cursor)) = self.begin(source, &lives, known.take())? else {
                let life = LifeId { generation: None, number: 0 };
                let is_settled = self.torn(source, life, 0, state, &mut captured)?;
                // An empty file has nothing to keep, but it has a place.
                let is_kept = is_settled && state.size() > 0;
                let (life, end) = (is_kept.then_some(life), is_kept.then_some(state.size()));
                self.note_place(source, life, end)?;
                return Ok((Remembered { state, is_settled, lines: None }, captured));
            };
            captured.lives += u64::from(cursor.offset() == 0 && lives.ids().next().is_some());
            let copying = self.copy_lines(source, life, &mut cursor, state, &mut captured)?;
            if let Copying::Done = copying {
                let is_settled = self.torn(source, life, cursor.offset(), state, &mut captured)?;
                let end = state.size().max(cursor.offset());
                self.note_place(source, Some(life), is_settled.then_some(end))?;
                let lines = Some((life, cursor));
                return Ok((Remembered { state, is_settled, lines }, captured));
            }
        }
        // It changes faster than it is read. The next look begins with what is kept by now.
        Ok((Remembered { state, is_settled: false, lines: None }, captured))
    }

    /// Notes where a file is, in which life, and where it ends, if no segment says so: it was
    /// moved while nobody looked or before a collector was killed, is there again after it was
    /// gone, is in an earlier life again, as after an undo, or has another torn end than the one
    /// that was kept last. What a collector remembers never decides this: it may be too old.
    fn note_place(
        &self,
        source: &Source<'_>,
        life: Option<LifeId>,
        end: Option<u64>,
    ) -> Result<(), KeepError> {
        let lives = Lives::of(self.archive.parts(source.key)?);
        let Some(known) = KeptFile::read(self.archive, source.key, lives)? else { return Ok(()) };
        let is_in_life = life.is_none_or(|life| known.life == Some(life));
        let is_at_end = end.is_none_or(|end| known.bytes == end);
        if known.path == source.below && known.gone.is_none() && is_in_life && is_at_end {
            return Ok(());
        }
        let mut event = ObjectWriter::new().string("to", source.below);
        if let Some(life) = life.or(known.life) {
            event = event.id("life", &life);
        }
        if let Some(end) = end {
            event = event.number("end", end);
        }
        let time = known.lives.moment(self.archive, source.key, (self.clock)());
        self.archive.put_event(source.key, &Part::Moved(milliseconds(time)), &event.finish())
    }

    /// Which life the file is in, and how far the archive has it; none without a whole line.
    fn begin(
        &self,
        source: &Source<'_>,
        lives: &Lives,
        known: Option<(LifeId, Cursor)>,
    ) -> Result<Option<(LifeId, Cursor)>, KeepError> {
        let failed = KeepError::of(source.path);
        if let Some((life, cursor)) = known
            && lives.cover(life).1 == cursor.offset()
            && cursor.is_intact(source.file).map_err(&failed)?
        {
            return Ok(Some((life, cursor)));
        }
        let head = read_up_to(source.file, 0, BLOCK).map_err(&failed)?;
        let Some(generation) = GenerationId::of(&head) else { return Ok(None) };
        let continued = lives.continued_by(self.archive, source.key, source.file, generation)?;
        Ok(Some(match continued {
            Some((life, end)) => (life, Cursor::at(source.file, end).map_err(&failed)?),
            None => {
                let metadata = source.file.metadata().map_err(&failed)?;
                (lives.unused(generation), Cursor::start(&metadata))
            }
        }))
    }

    /// Puts all whole lines behind the cursor into segments.
    fn copy_lines(
        &self,
        source: &Source<'_>,
        life: LifeId,
        cursor: &mut Cursor,
        state: FileState,
        captured: &mut Captured,
    ) -> Result<Copying, KeepError> {
        loop {
            let start = cursor.offset();
            let mut segment = None;
            let mut moved = cursor.clone();
            let end = loop {
                let advance = moved.advance(source.file, ReadLimits::default());
                let growth = match advance.map_err(KeepError::of(source.path))? {
                    Advance::Grown(growth) if Some(growth.generation) == life.generation => growth,
                    Advance::Grown(_) | Advance::Differs => break Some(Copying::Again),
                    Advance::Nothing => break Some(Copying::Done),
                };
                let segment = match &mut segment {
                    Some(segment) => segment,
                    none => none.insert(self.archive.begin(header(source, start, state))?),
                };
                match growth.is_long_line() {
                    true => copy_range(source, growth.range.into(), |piece| segment.write(piece))?,
                    false => segment.write(&growth.bytes)?,
                }
                if segment.len() >= LARGEST {
                    break None;
                }
            };
            if let Some(segment) = segment {
                let part = |header: &SegmentHeader| Part::Lines {
                    life,
                    range: Range64 { start: header.start, end: header.end },
                };
                let (put, header) = segment.put(self.archive, source.key, part)?;
                match put {
                    Put::New => {
                        captured.segments += 1;
                        captured.bytes += header.end - header.start;
                    }
                    Put::Same => {}
                    Put::Other => {
                        captured.conflicts += 1;
                        return Ok(Copying::Again);
                    }
                }
            }
            *cursor = moved;
            if let Some(end) = end {
                return Ok(end);
            }
        }
    }

    /// Keeps the end of a file that has no line end, once it has been so for a while. Whether
    /// nothing is left to be kept.
    fn torn(
        &self,
        source: &Source<'_>,
        life: LifeId,
        offset: u64,
        state: FileState,
        captured: &mut Captured,
    ) -> Result<bool, KeepError> {
        if state.size() <= offset {
            return Ok(true);
        }
        let age = (self.clock)().duration_since(state.modified());
        if age.unsigned_abs() < self.torn_after {
            return Ok(false);
        }
        let mut segment = self.archive.begin(header(source, offset, state))?;
        let range = Range64 { start: offset, end: state.size() };
        copy_range(source, range, |piece| segment.write(piece))?;
        let part = |header: &SegmentHeader| {
            let range = Range64 { start: header.start, end: header.end };
            Part::Torn { life, range, digest: beginning(&header.sha256) }
        };
        let (put, header) = segment.put(self.archive, source.key, part)?;
        if put == Put::New {
            captured.segments += 1;
            captured.bytes += header.end - header.start;
        }
        Ok(true)
    }

    /// Keeps a version of a file that is rewritten whole.
    fn version(&self, source: &Source<'_>) -> Result<(Remembered, Captured), KeepError> {
        let failed = KeepError::of(source.path);
        let mut captured = Captured::default();
        let mut state = FileState::default();
        for _ in 0..TRIES {
            let before = source.file.metadata().map_err(&failed)?;
            state = FileState::now(&before);
            let mut segment = self.archive.begin(header(source, 0, state))?;
            let range = Range64 { start: 0, end: state.size() };
            copy_range(source, range, |piece| segment.write(piece))?;
            let after = source.file.metadata().map_err(&failed)?;
            if FileState::listed(&before) != FileState::listed(&after) {
                continue;
            }
            let lives = Lives::of(self.archive.parts(source.key)?);
            let modified = milliseconds(state.modified()).max(newest_version(&lives) + 1);
            let part = |header: &SegmentHeader| Part::Version {
                modified,
                digest: beginning(&header.sha256),
            };
            let (put, header) = segment.put_unless(self.archive, source.key, part, |header| {
                newest_digest(self.archive, source.key, &lives) == Some(header.sha256)
            })?;
            if put == Put::New {
                captured.segments += 1;
                captured.bytes += header.end;
            }
            self.note_place(source, /* life */ None, /* end */ None)?;
            return Ok((Remembered { state, is_settled: true, lines: None }, captured));
        }
        Ok((Remembered { state, is_settled: false, lines: None }, captured))
    }
}

/// The time of the newest version. A later one has a later time, whatever the file says.
fn newest_version(lives: &Lives) -> u64 {
    match lives.versions.last() {
        Some(Part::Version { modified, .. }) => *modified,
        _ => 0,
    }
}

/// The digest of the newest version; none if it cannot be read, so that the file is kept again.
fn newest_digest(archive: &Archive, key: FileKey, lives: &Lives) -> Option<[u8; 32]> {
    let newest = lives.versions.last()?;
    header_of(&archive.path_of(key, newest)).ok().map(|header| header.sha256)
}

/// A header whose end is not known yet.
fn header(source: &Source<'_>, start: u64, state: FileState) -> SegmentHeader {
    SegmentHeader {
        path: source.below.to_owned(),
        kind: source.kind,
        start,
        end: start,
        sha256: [0; 32],
        modified: state.modified(),
        captured: source.moment,
        policy: "raw".to_owned(),
        level: LEVEL,
        marks: Vec::new(),
        length: None,
    }
}

/// Hands out a range of a file in pieces, as far as it exists.
fn copy_range(
    source: &Source<'_>,
    range: Range64,
    mut take: impl FnMut(&[u8]) -> Result<(), KeepError>,
) -> Result<(), KeepError> {
    let mut at = range.start;
    while at < range.end {
        let bytes = read_up_to(source.file, at, WINDOW.min(range.end - at))
            .map_err(KeepError::of(source.path))?;
        if bytes.is_empty() {
            break;
        }
        take(&bytes)?;
        at += bytes.len() as u64;
    }
    Ok(())
}

/// The first bytes of a digest.
fn beginning<const LENGTH: usize>(digest: &[u8; 32]) -> [u8; LENGTH] {
    std::array::from_fn(|at| digest[at])
}
