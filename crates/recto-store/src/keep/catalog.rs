//! What an archive holds, file by file.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

use jiff::Timestamp;
use recto_log::SessionId;
use recto_log::json::Value;

use crate::follow::FileKind;
use crate::keep::KeepError;
use crate::keep::archive::Archive;
use crate::keep::kept_file::first_line;
use crate::keep::key::FileKey;
use crate::keep::key::LifeId;
use crate::keep::key::Part;
use crate::keep::key::Range64;
use crate::keep::life::Lives;
use crate::keep::segment::SegmentHeader;
use crate::keep::segment::header_of;
use crate::read_small;

/// Everything that an archive has of one home.
#[derive(Debug, Default)]
pub struct Catalog {
    /// The files, by path.
    pub files: Vec<KeptFile>,
    /// Segments whose headers cannot be read.
    pub damaged: Vec<KeepError>,
}

/// A file in an archive.
#[derive(Debug)]
pub struct KeptFile {
    /// Which file it is.
    pub key: FileKey,
    /// Its path below the home, with `/`, as it was last.
    pub path: String,
    /// What it is.
    pub kind: FileKind,
    /// The session that it belongs to.
    pub session: Option<SessionId>,
    /// How large it is, as far as it is kept.
    pub bytes: u64,
    /// When it was written last.
    pub modified: Timestamp,
    /// When it was kept last.
    pub captured: Timestamp,
    /// Since when it is known to be deleted.
    pub gone: Option<Timestamp>,
    pub(super) lives: Lives,
    /// The life that it was in last; none if it is kept in versions, or never had a line.
    pub(super) life: Option<LifeId>,
    /// The end of that life without a line end, if it has one.
    pub(super) torn: Option<Part>,
}

/// A session in an archive.
#[derive(Debug)]
pub struct KeptSession<'a> {
    /// The session.
    pub id: SessionId,
    /// Its log.
    pub log: &'a KeptFile,
    /// Everything else that belongs to it.
    pub files: Vec<&'a KeptFile>,
}

impl Catalog {
    /// Reads the names and one header of each file.
    pub fn read(archive: &Archive) -> Result<Catalog, KeepError> {
        let mut catalog = Catalog::default();
        for key in archive.files()? {
            let lives = Lives::of(archive.parts(key)?);
            match KeptFile::read(archive, key, lives) {
                Ok(Some(file)) => catalog.files.push(file),
                Ok(None) => {}
                Err(error) => catalog.damaged.push(error),
            }
        }
        catalog.files.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(catalog)
    }

    /// The sessions whose logs are kept, by id. A session that two projects have is one session:
    /// the log that was kept last, and beside it the other one.
    pub fn sessions(&self) -> Vec<KeptSession<'_>> {
        let mut logs: Vec<&KeptFile> =
            self.files.iter().filter(|file| file.kind == FileKind::MainLog).collect();
        logs.sort_by_key(|log| (log.gone.is_some(), std::cmp::Reverse(log.captured)));
        let mut sessions: BTreeMap<SessionId, KeptSession<'_>> = BTreeMap::new();
        for log in logs {
            let Some(id) = log.session else { continue };
            match sessions.entry(id) {
                Entry::Vacant(free) => {
                    free.insert(KeptSession { id, log, files: Vec::new() });
                }
                Entry::Occupied(mut first) => first.get_mut().files.push(log),
            }
        }
        for file in self.files.iter().filter(|file| file.kind != FileKind::MainLog) {
            if let Some(session) = file.session.and_then(|id| sessions.get_mut(&id)) {
                session.files.push(file);
            }
        }
        sessions.into_values().collect()
    }
}

impl KeptFile {
    pub(super) fn read(
        archive: &Archive,
        key: FileKey,
        lives: Lives,
    ) -> Result<Option<KeptFile>, KeepError> {
        let Some((life, header)) = newest(archive, key, &lives)? else { return Ok(None) };
        let torn = match life {
            Some(life) => torn_end(archive, key, &lives, life)?,
            None => None,
        };
        let bytes = match (life, &torn) {
            (Some(_), Some((_, range))) => range.end,
            (Some(life), None) => {
                lives.segments(life).iter().map(|range| range.end).max().unwrap_or(0)
            }
            (None, _) => header.end,
        };
        let path = event_path(archive, key, &lives, &header).unwrap_or(header.path);
        let seen = lives.moved.last().copied().unwrap_or(0).max(milliseconds_of(header.captured));
        let gone = lives.gone.last().filter(|time| **time > seen);
        let mut file = KeptFile {
            key,
            session: session_of(header.kind, &path),
            path,
            kind: header.kind,
            bytes,
            modified: header.modified,
            captured: header.captured,
            gone: gone.and_then(|time| Timestamp::from_millisecond(*time as i64).ok()),
            lives,
            life,
            torn: torn.map(|(part, _)| part),
        };
        if file.kind == FileKind::AgentLog && file.session.is_none() {
            file.session = session_of_line(&first_line(archive, &file)?);
        }
        Ok(Some(file))
    }

    /// The project directory that it is in.
    pub fn project(&self) -> Option<&str> {
        self.path.strip_prefix("projects/")?.split('/').next()
    }

    /// How many parts the archive has of it.
    pub fn segments(&self) -> usize {
        let lines: usize = self.lives.ids().map(|life| self.lives.segments(life).len()).sum();
        lines + self.lives.torn.len() + self.lives.versions.len()
    }
}

/// The life that a file was in last, and the header of its last part.
fn newest(
    archive: &Archive,
    key: FileKey,
    lives: &Lives,
) -> Result<Option<(Option<LifeId>, SegmentHeader)>, KeepError> {
    let mut newest: Option<(Option<LifeId>, SegmentHeader)> = None;
    let mut damage = None;
    // What is damaged is named when it is read; what can be read says what the file is.
    let mut offer = |life: Option<LifeId>, part: &Part| match header_of(&archive.path_of(key, part))
    {
        Ok(header) => {
            if newest.as_ref().is_none_or(|(_, known)| known.captured <= header.captured) {
                newest = Some((life, header));
            }
            true
        }
        Err(error) => {
            damage = Some(error);
            false
        }
    };
    for life in lives.ids() {
        let mut ranges = lives.segments(life).to_vec();
        ranges.sort_by_key(|range| std::cmp::Reverse(range.end));
        ranges.into_iter().find(|range| offer(Some(life), &Part::Lines { life, range: *range }));
    }
    for part in &lives.torn {
        if let Part::Torn { life, .. } = part {
            offer(Some(*life), part);
        }
    }
    lives.versions.iter().rev().find(|version| offer(None, version));
    if let (None, Some(damage)) = (&newest, damage) {
        return Err(damage);
    }
    // A file can go back to an earlier life; nothing is written then but an event.
    if let Some((life, header)) = &mut newest
        && header.kind.grows()
        && let Some(event) = last_event(archive, key, lives, |event| event.life.is_some())
        && event.time > milliseconds_of(header.captured)
        && let Some(named) = event.life
        && let Some(part) = lives.last_part(named)
        && let Ok(last) = header_of(&archive.path_of(key, &part))
    {
        *life = Some(named);
        *header = last;
    }
    Ok(newest)
}

/// The end of a life without a line end: the one that was kept last, unless the file was seen
/// without it since.
fn torn_end(
    archive: &Archive,
    key: FileKey,
    lives: &Lives,
    life: LifeId,
) -> Result<Option<(Part, Range64)>, KeepError> {
    let (_, end) = lives.cover(life);
    let mut ends: Vec<(u64, &Part, Range64)> = Vec::new();
    for part in &lives.torn {
        let Part::Torn { life: of, range, .. } = part else { continue };
        if *of != life || range.start != end {
            continue;
        }
        // An end that cannot be read is no end.
        let Ok(header) = header_of(&archive.path_of(key, part)) else { continue };
        ends.push((milliseconds_of(header.captured), part, *range));
    }
    ends.sort_by_key(|(captured, ..)| *captured);
    let Some((captured, ..)) = ends.last() else { return Ok(None) };
    let is_said = |event: &Event| event.life.is_none_or(|of| of == life) && event.end.is_some();
    let said = last_event(archive, key, lives, is_said).filter(|event| event.time >= *captured);
    let is_wanted = |range: &Range64| match said.as_ref().and_then(|event| event.end) {
        Some(said) => said == range.end,
        None => true,
    };
    let newest = ends.iter().rev().find(|(_, _, range)| is_wanted(range));
    Ok(newest.map(|(_, part, range)| ((*part).clone(), *range)))
}

/// What was noted about a file.
struct Event {
    time: u64,
    to: Option<String>,
    life: Option<LifeId>,
    /// Where the file ends: with a line, although a torn end was kept before, or with an earlier
    /// torn end.
    end: Option<u64>,
}

/// The last event that says something. Not every event says everything.
fn last_event(
    archive: &Archive,
    key: FileKey,
    lives: &Lives,
    says: impl Fn(&Event) -> bool,
) -> Option<Event> {
    let read = |time: &u64| {
        let json = read_small(&archive.path_of(key, &Part::Moved(*time))).ok()?;
        let event = Value::parse(json.trim_ascii()).ok()?;
        let life = event.str("life").and_then(|life| life.parse().ok());
        let end = event.get("end").and_then(Value::as_u64);
        let to = event.str("to").map(std::borrow::Cow::into_owned);
        Some(Event { time: *time, to, life, end })
    };
    lives.moved.iter().rev().filter_map(read).find(says)
}

/// The path that a file was moved to after it was kept last.
fn event_path(
    archive: &Archive,
    key: FileKey,
    lives: &Lives,
    header: &SegmentHeader,
) -> Option<String> {
    let event = last_event(archive, key, lives, |event| event.to.is_some())?;
    let to = event.to.filter(|_| event.time > milliseconds_of(header.captured))?;
    // An archive may be hostile: a path that has another kind is not taken.
    (FileKind::of(Path::new(&to)) == Some(header.kind)).then_some(to)
}

fn milliseconds_of(time: Timestamp) -> u64 {
    crate::keep::segment::milliseconds(time)
}

/// The session that a file belongs to, by its path.
pub fn session_of(kind: FileKind, path: &str) -> Option<SessionId> {
    let parts: Vec<&str> = path.split('/').collect();
    let name = match (kind, parts.as_slice()) {
        (FileKind::MainLog, [.., name]) => name.strip_suffix(".jsonl")?,
        (
            FileKind::AgentLog
            | FileKind::AgentMeta
            | FileKind::ToolResult
            | FileKind::SessionTitle,
            [_, _, session, ..],
        ) => session,
        (FileKind::Todo, [_, name]) => name.split_once("-agent-")?.0,
        (FileKind::Task | FileKind::FileHistory, [_, session, _]) => session,
        _ => return None,
    };
    name.parse().ok()
}

/// The session that a line names.
fn session_of_line(line: &[u8]) -> Option<SessionId> {
    Value::parse(line.trim_ascii()).ok()?.str("sessionId")?.parse().ok()
}

impl Lives {
    /// The part that a life ends with: its last lines, or without lines a torn end.
    fn last_part(&self, life: LifeId) -> Option<Part> {
        let lines = self.segments(life).iter().max_by_key(|range| range.end);
        let lines = lines.map(|range| Part::Lines { life, range: *range });
        let is_of_life = |part: &&Part| matches!(part, Part::Torn { life: of, .. } if *of == life);
        lines.or_else(|| self.torn.iter().rev().find(is_of_life).cloned())
    }

    /// The torn end of a life that goes on where its lines end, the longest one.
    pub(super) fn torn_end(&self, wanted: LifeId) -> Option<Range64> {
        let (_, end) = self.cover(wanted);
        let ranges = self.torn.iter().filter_map(|part| match part {
            Part::Torn { life, range, .. } if *life == wanted && range.start == end => Some(*range),
            _ => None,
        });
        ranges.max_by_key(|range| range.end)
    }
}
