//! Names in an archive.
//!
//! ```text
//! raw/v1/machine=M/file=F/gen=G/00000000000000000000-00000000000000004096.jsonl.zst   lines
//! raw/v1/machine=M/file=F/gen=G/00000000000000004096-00000000000000004100-0a1b2c3d.part.zst
//! raw/v1/machine=M/file=F/whole/00000001794788487090-0a1b2c3d4e5f6071.zst              a version
//! raw/v1/machine=M/file=F/gone/00000001794788487090.json                               a tombstone
//! raw/v1/machine=M/file=F/moved/00000001794788487090.json                              a new path
//! ```
//!
//! In a store of many machines, `forgotten/v1/machine=M/file=F.json` notes that a file must not come
//! back.
//!
//! `F` names a file by what it is, not by where it is: the log of a session keeps its key when
//! the client moves it to the directory of another project. If two projects have the same session
//! at once, the second file has a key of its own, by its path.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::path::PathBuf;
use std::str::FromStr;

use crate::GenerationId;
use crate::follow::FileKind;
use crate::keep::machine::MachineId;
use crate::keep::machine::MachineSecret;

/// The directory of this version of the form.
pub(super) const ROOT: &str = "raw/v1";

/// Where it is noted which files must not come back.
pub const FORGOTTEN: &str = "forgotten/v1";

/// Notes about the files of a machine begin like this.
pub fn forgotten_prefix(machine: MachineId) -> String {
    format!("{FORGOTTEN}/machine={machine}")
}

/// The file that such a note names.
pub fn forgotten_file(key: &str) -> Option<FileKey> {
    let name = key.rsplit('/').next()?;
    name.strip_prefix("file=")?.strip_suffix(".json")?.parse().ok()
}

/// Which file of a home it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileKey([u8; 16]);

impl FileKey {
    /// The key of a file, by its kind and its path below the home, with `/`.
    pub fn of(kind: FileKind, below: &str) -> FileKey {
        FileKey::of_identity(&identity(kind, below))
    }

    /// The key of a file whose usual key another file has: the log of a session that is in two
    /// projects at once.
    pub fn of_copy(below: &str) -> FileKey {
        FileKey::of_identity(&format!("copy/{below}"))
    }

    fn of_identity(identity: &str) -> FileKey {
        let mut key = [0; 16];
        key.copy_from_slice(&blake3::hash(identity.as_bytes()).as_bytes()[..16]);
        FileKey(key)
    }

    /// Whether a file keeps its key in another project, so that two files can have the same.
    pub(super) fn is_shared(kind: FileKind, below: &str) -> bool {
        identity_in_session(kind, below).is_some()
    }

    pub(super) fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<FileKey> {
        bytes.try_into().ok().map(FileKey)
    }
}

/// What makes a file the same file wherever it is: files of a session by the session, because
/// its project can change; all others by their path.
fn identity(kind: FileKind, below: &str) -> String {
    match identity_in_session(kind, below) {
        Some(in_project) => format!("session/{in_project}"),
        None => format!("path/{below}"),
    }
}

/// The path of a file of a session below its project.
fn identity_in_session(kind: FileKind, below: &str) -> Option<&str> {
    let rest = below.strip_prefix("projects/").filter(|_| kind.is_of_session())?;
    let (_, in_project) = rest.split_once('/')?;
    // Logs of subagents beside the main log have short names that two projects can share.
    (!in_project.starts_with("agent-")).then_some(in_project)
}

impl fmt::Display for FileKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(formatter, &self.0)
    }
}

impl fmt::Debug for FileKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "FileKey({self})")
    }
}

impl FromStr for FileKey {
    type Err = ();

    fn from_str(text: &str) -> Result<FileKey, ()> {
        hex::<16>(text).map(FileKey).ok_or(())
    }
}

/// Which life of a file it is: the generation, by content, and a number that tells lives apart
/// that begin with the same line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LifeId {
    /// By the first line; none while no line was whole.
    pub generation: Option<GenerationId>,
    /// 0 for the first life that begins like this.
    pub number: u32,
}

impl fmt::Display for LifeId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.generation {
            Some(generation) => write!(formatter, "{generation}")?,
            None => formatter.write_str("torn")?,
        }
        match self.number {
            0 => Ok(()),
            number => write!(formatter, ".{number}"),
        }
    }
}

impl FromStr for LifeId {
    type Err = ();

    fn from_str(text: &str) -> Result<LifeId, ()> {
        let (generation, number) = match text.split_once('.') {
            Some((generation, number)) => (generation, number.parse().map_err(drop)?),
            None => (text, 0),
        };
        let generation = match generation {
            "torn" => None,
            generation => Some(GenerationId::from_bytes(hex(generation).ok_or(())?)),
        };
        let life = LifeId { generation, number };
        // One life has one spelling, or it could be kept twice.
        (life.to_string() == text).then_some(life).ok_or(())
    }
}

impl LifeId {
    /// The same life as stores beyond this machine name it: by a hash with a key that only this
    /// machine knows, because the hash of a line lets others try what the line says.
    pub fn sealed(self, secret: &MachineSecret) -> LifeId {
        let generation = self.generation.map(|generation| {
            GenerationId::from_bytes(secret.hash(b"life", &generation.to_bytes()))
        });
        LifeId { generation, ..self }
    }
}

/// What of a file it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Whole lines.
    Lines {
        /// Of which life.
        life: LifeId,
        /// Where they are.
        range: Range64,
    },
    /// The end of a file, without a line end.
    Torn {
        /// Of which life.
        life: LifeId,
        /// Where it is.
        range: Range64,
        /// The beginning of its hash: the end of a file can be torn in two ways.
        digest: [u8; 4],
    },
    /// A version of a file that is rewritten whole.
    Version {
        /// When it was written, in milliseconds since 1970.
        modified: u64,
        /// The beginning of its hash.
        digest: [u8; 8],
    },
    /// The file was deleted, as was seen at a time.
    Gone(u64),
    /// The file has another path, as was seen at a time.
    Moved(u64),
}

/// A range of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Range64 {
    /// Its first byte.
    pub start: u64,
    /// Behind its last byte.
    pub end: u64,
}

impl From<Range<u64>> for Range64 {
    fn from(range: Range<u64>) -> Range64 {
        Range64 { start: range.start, end: range.end }
    }
}

impl Part {
    /// The same part as stores beyond this machine name it. See [`LifeId::sealed`].
    pub fn sealed(&self, secret: &MachineSecret) -> Part {
        match self {
            Part::Lines { life, range } => Part::Lines { life: life.sealed(secret), range: *range },
            Part::Torn { life, range, digest } => Part::Torn {
                life: life.sealed(secret),
                range: *range,
                digest: secret.hash(b"part", digest),
            },
            Part::Version { modified, digest } => {
                Part::Version { modified: *modified, digest: secret.hash(b"version", digest) }
            }
            Part::Gone(time) => Part::Gone(*time),
            Part::Moved(time) => Part::Moved(*time),
        }
    }

    /// The name of the part in the folder of its file.
    pub fn name(&self) -> String {
        match self {
            Part::Lines { life, range: Range64 { start, end } } => {
                format!("gen={life}/{start:020}-{end:020}.jsonl.zst")
            }
            Part::Torn { life, range: Range64 { start, end }, digest } => {
                format!("gen={life}/{start:020}-{end:020}-{}.part.zst", Hex(digest))
            }
            Part::Version { modified, digest } => {
                format!("whole/{modified:020}-{}.zst", Hex(digest))
            }
            Part::Gone(time) => format!("gone/{time:020}.json"),
            Part::Moved(time) => format!("moved/{time:020}.json"),
        }
    }

    /// Reads a name; nothing if it is not one that [`Part::name`] writes.
    pub fn parse(name: &str) -> Option<Part> {
        let (folder, file) = name.split_once('/')?;
        let part = match folder {
            "whole" => {
                let (modified, digest) = file.strip_suffix(".zst")?.split_once('-')?;
                Part::Version { modified: number(modified)?, digest: hex(digest)? }
            }
            "gone" => Part::Gone(number(file.strip_suffix(".json")?)?),
            "moved" => Part::Moved(number(file.strip_suffix(".json")?)?),
            _ => Part::of_life(folder.strip_prefix("gen=")?.parse().ok()?, file)?,
        };
        (part.name() == name).then_some(part)
    }

    fn of_life(life: LifeId, file: &str) -> Option<Part> {
        let range = |start: &str, end: &str| {
            let range = Range64 { start: number(start)?, end: number(end)? };
            (range.start < range.end).then_some(range)
        };
        if let Some(stem) = file.strip_suffix(".jsonl.zst") {
            let (start, end) = stem.split_once('-')?;
            return Some(Part::Lines { life, range: range(start, end)? });
        }
        let mut fields = file.strip_suffix(".part.zst")?.split('-');
        let range = range(fields.next()?, fields.next()?)?;
        let digest = hex(fields.next()?)?;
        fields.next().is_none().then_some(Part::Torn { life, range, digest })
    }
}

/// The whole name of something in an archive.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SegmentKey {
    /// Which machine and home it is from.
    pub machine: MachineId,
    /// Which file.
    pub file: FileKey,
    /// Which part of it.
    pub part: Part,
}

impl SegmentKey {
    /// Everything from one machine and home begins like this.
    pub fn prefix(machine: MachineId) -> String {
        format!("{ROOT}/machine={machine}")
    }

    /// Everything of one file begins like this.
    pub fn file_prefix(machine: MachineId, file: FileKey) -> String {
        format!("{ROOT}/machine={machine}/file={file}")
    }

    /// Reads a name; nothing if it is not one that is written.
    pub fn parse(text: &str) -> Option<SegmentKey> {
        let rest = text.strip_prefix(ROOT)?.strip_prefix("/machine=")?;
        let (machine, rest) = rest.split_once('/')?;
        let (file, part) = rest.strip_prefix("file=")?.split_once('/')?;
        Some(SegmentKey {
            machine: machine.parse().ok()?,
            file: file.parse().ok()?,
            part: Part::parse(part)?,
        })
    }
}

impl fmt::Display for SegmentKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SegmentKey { machine, file, part } = self;
        write!(formatter, "{ROOT}/machine={machine}/file={file}/{}", part.name())
    }
}

/// The folder of a file, below the root of an archive.
pub(super) fn file_folder(machine: &MachineId, file: FileKey) -> PathBuf {
    Path::new(ROOT).join(format!("machine={machine}")).join(format!("file={file}"))
}

/// Bytes in hexadecimal.
pub(super) struct Hex<'a>(pub(super) &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(formatter, self.0)
    }
}

fn write_hex(formatter: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
}

/// Reads lower-case hexadecimal digits.
pub(super) fn hex<const LENGTH: usize>(text: &str) -> Option<[u8; LENGTH]> {
    let digits = text.as_bytes();
    let is_hex = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    if digits.len() != 2 * LENGTH || !digits.iter().all(is_hex) {
        return None;
    }
    let mut bytes = [0; LENGTH];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let pair = std::str::from_utf8(pair).ok()?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(bytes)
}

/// Reads a number of twenty digits.
fn number(text: &str) -> Option<u64> {
    (text.len() == 20 && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn life(number: u32) -> LifeId {
        LifeId { generation: GenerationId::of(b"first\n"), number }
    }

    #[test]
    fn every_name_is_read_as_what_was_written() {
        let range = Range64 { start: 0, end: 4096 };
        let parts = [
            Part::Lines { life: life(0), range },
            Part::Lines { life: life(3), range },
            Part::Torn { life: life(0), range, digest: [1, 2, 3, 0xfe] },
            Part::Torn { life: LifeId { generation: None, number: 0 }, range, digest: [0; 4] },
            Part::Version { modified: 1_794_788_487_090, digest: [9; 8] },
            Part::Gone(0),
            Part::Moved(u64::MAX),
        ];
        for part in parts {
            assert_eq!(Part::parse(&part.name()), Some(part));
        }
    }

    #[test]
    fn names_beyond_this_machine_say_nothing_about_the_content() {
        let range = Range64 { start: 0, end: 4096 };
        let part = Part::Lines { life: life(2), range };
        let (one, other) = (MachineSecret::derived(b"one"), MachineSecret::derived(b"other"));
        let sealed = part.sealed(&one);
        assert_eq!(sealed, part.sealed(&one));
        assert_ne!(sealed, part);
        assert_ne!(sealed, part.sealed(&other));
        let Part::Lines { life: of, range: at } = &sealed else { panic!("{sealed:?}") };
        assert_eq!((of.number, *at), (2, range));
        let machine: MachineId = "0123456789abcdef".parse().unwrap();
        let file = FileKey::of(FileKind::History, "history.jsonl");
        let key = SegmentKey { machine, file, part: sealed };
        assert_eq!(SegmentKey::parse(&key.to_string()), Some(key.clone()));
        assert!(key.to_string().starts_with(&SegmentKey::file_prefix(machine, file)));
        assert_eq!(SegmentKey::parse(&format!("{key}x")), None);
        assert_eq!(SegmentKey::parse("raw/v1/machine=../file=x/gone/0.json"), None);
    }

    #[test]
    fn names_that_were_not_written_here_are_none() {
        let generation = GenerationId::of(b"first\n").unwrap();
        for name in [
            "".to_owned(),
            "gen=/x".to_owned(),
            format!("gen={generation}.0/{:020}-{:020}.jsonl.zst", 0, 1),
            format!("gen={generation}.01/{:020}-{:020}.jsonl.zst", 0, 1),
            format!("gen={generation}/{:020}-{:020}.jsonl.zst", 1, 1),
            format!("gen={generation}/{:020}-{:020}.jsonl", 0, 1),
            format!("gen={generation}/0-1.jsonl.zst"),
            format!("gen={generation}/../{:020}-{:020}.jsonl.zst", 0, 1),
            "whole/00000000000000000001-0A.zst".to_owned(),
            "gone/00000000000000000001.json.new".to_owned(),
        ] {
            assert_eq!(Part::parse(&name), None, "{name}");
        }
    }

    #[test]
    fn a_session_keeps_its_key_in_another_project_and_agents_beside_logs_do_not() {
        let id = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";
        let of = |kind, below: &str| FileKey::of(kind, below);
        let log = |project: &str| of(FileKind::MainLog, &format!("projects/{project}/{id}.jsonl"));
        assert_eq!(log("-a"), log("-b"));
        let agent = |project: &str| {
            of(FileKind::AgentLog, &format!("projects/{project}/{id}/subagents/agent-a1.jsonl"))
        };
        assert_eq!(agent("-a"), agent("-b"));
        let loose =
            |project: &str| of(FileKind::AgentLog, &format!("projects/{project}/agent-a1.jsonl"));
        assert_ne!(loose("-a"), loose("-b"));
        let memory =
            |project: &str| of(FileKind::Memory, &format!("projects/{project}/memory/MEMORY.md"));
        assert_ne!(memory("-a"), memory("-b"));
    }
}
