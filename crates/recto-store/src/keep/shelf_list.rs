//! What is known of the files of an archive, so that not all of it is read for each listing.
//!
//! It is a cache: a row is good as long as the folders of its file are as they were.

use std::collections::HashMap;
use std::path::Path;

use fs_err as fs;
use recto_log::Lines;
use recto_log::SessionId;
use recto_log::json::ObjectWriter;
use recto_log::json::Value;

use crate::follow::FileKind;
use crate::keep::KeepError;
use crate::keep::archive::Archive;
use crate::keep::catalog::KeptFile;
use crate::keep::key::FileKey;
use crate::keep::key::Hex;
use crate::keep::key::hex;
use crate::keep::life::Lives;
use crate::keep::restore::is_plain;
use crate::keep::segment::milliseconds;
use crate::log::file_state::FileState;
use crate::place::unfinished::Unfinished;

/// The name of the file.
const NAME: &str = "list.jsonl";

/// All files of an archive.
#[derive(Debug, Default)]
pub(super) struct ShelfList {
    /// What the folder of the machine was when all files were known.
    pub(super) version: Option<i64>,
    /// Which copies were made.
    pub(super) made: Option<[u8; 8]>,
    pub(super) entries: HashMap<FileKey, Entry>,
    /// Whether it must be written.
    pub(super) is_changed: bool,
}

/// A file of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) path: String,
    pub(super) kind: FileKind,
    /// The session, if the file is one that readers look for.
    pub(super) session: Option<SessionId>,
    pub(super) bytes: u64,
    /// In milliseconds since 1970.
    pub(super) modified: u64,
    /// A number that another content has not.
    pub(super) content: u32,
    /// What the folders of the file were.
    pub(super) version: Option<i64>,
}

impl Entry {
    pub(super) fn read(archive: &Archive, key: FileKey) -> Result<Option<Entry>, KeepError> {
        let version = archive.version_of(key);
        let Some(kept) = KeptFile::read(archive, key, Lives::of(archive.parts(key)?))? else {
            return Ok(None);
        };
        Ok(Some(Entry { version, ..Entry::of(&kept) }))
    }

    pub(super) fn of(kept: &KeptFile) -> Entry {
        let kind = kept.kind;
        let is_read = kind.is_of_session() && is_plain(&kept.path);
        let is_its_own = FileKind::of(Path::new(&kept.path)) == Some(kind);
        Entry {
            path: kept.path.clone(),
            kind,
            session: kept.session.filter(|_| is_read && is_its_own),
            bytes: kept.bytes,
            modified: milliseconds(kept.modified),
            content: kept.content(),
            version: None,
        }
    }

    /// The time of a copy, in nanoseconds: to the millisecond that of the file, and behind that
    /// what tells contents apart that are equal in size and time.
    pub(super) fn stamp(&self) -> i64 {
        let milliseconds = i64::try_from(self.modified).unwrap_or_default();
        milliseconds.saturating_mul(1_000_000).saturating_add(i64::from(self.content % 1_000_000))
    }

    fn to_json(&self, key: FileKey) -> Vec<u8> {
        let session = self.session.map(|session| session.to_string());
        let version = self.version.map(|version| version.to_string());
        ObjectWriter::new()
            .string("key", &key.to_string())
            .string("path", &self.path)
            .string("kind", self.kind.name())
            .string_or_null("session", session.as_deref())
            .number("bytes", self.bytes)
            .number("modified", self.modified)
            .number("content", u64::from(self.content))
            .string_or_null("version", version.as_deref())
            .finish()
    }

    fn parse(line: &Value<'_>) -> Option<(FileKey, Entry)> {
        let number = |name: &str| line.get(name)?.as_u64();
        let entry = Entry {
            path: line.str("path")?.into_owned(),
            kind: FileKind::of_name(&line.str("kind")?)?,
            session: line.str("session").and_then(|session| session.parse().ok()),
            bytes: number("bytes")?,
            modified: number("modified")?,
            content: u32::try_from(number("content")?).ok()?,
            version: line.str("version").and_then(|version| version.parse().ok()),
        };
        Some((line.str("key")?.parse().ok()?, entry))
    }
}

impl ShelfList {
    /// What cannot be read is not known.
    pub(super) fn read(shelf: &Path) -> ShelfList {
        ShelfList::parse(&fs::read(shelf.join(NAME)).unwrap_or_default()).unwrap_or_default()
    }

    fn parse(bytes: &[u8]) -> Option<ShelfList> {
        let mut lines = Lines::new(bytes);
        let head = Value::parse(lines.next()?.bytes).ok()?;
        let mut list = ShelfList {
            version: head.str("version").and_then(|version| version.parse().ok()),
            made: head.str("made").and_then(|made| hex(&made)),
            ..ShelfList::default()
        };
        for line in lines {
            let (key, entry) = Entry::parse(&Value::parse(line.bytes).ok()?)?;
            list.entries.insert(key, entry);
        }
        Some(list)
    }

    /// Writes it down, with the copies that were made.
    pub(super) fn write(&self, shelf: &Path, made: [u8; 8]) -> std::io::Result<()> {
        let version = self.version.map(|version| version.to_string());
        let made = Hex(&made).to_string();
        let mut bytes = ObjectWriter::new()
            .string_or_null("version", version.as_deref())
            .string("made", &made)
            .finish();
        bytes.push(b'\n');
        for (key, entry) in &self.entries {
            bytes.extend(entry.to_json(*key));
            bytes.push(b'\n');
        }
        let new = Unfinished::new(shelf, &format!("{NAME}."));
        fs::write(new.path(), bytes)?;
        fs::rename(new.path(), shelf.join(NAME))
    }
}

/// When something in a folder changed; nothing if that may have been in this moment.
pub(super) fn folder_version(folder: &Path) -> Option<i64> {
    let state = FileState::now(&fs::metadata(folder).ok()?);
    state.is_certain().then_some(state.stamp.changed)
}

impl Archive {
    /// When something was added to what the archive has of a file, or taken from it.
    pub(super) fn version_of(&self, key: FileKey) -> Option<i64> {
        let folder = self.folder(key);
        let mut version = folder_version(&folder)?;
        for entry in fs::read_dir(&folder).ok()?.flatten() {
            version = version.max(folder_version(&entry.path())?);
        }
        Some(version)
    }
}

impl KeptFile {
    /// A number that differs when the archive has other bytes for the file.
    fn content(&self) -> u32 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.bytes.to_le_bytes());
        if let Some(life) = self.life {
            hasher.update(life.to_string().as_bytes());
        }
        if let Some(last) = self.torn.as_ref().or(self.lives.versions.last()) {
            hasher.update(last.name().as_bytes());
        }
        let mut number = [0; 4];
        number.copy_from_slice(&hasher.finalize().as_bytes()[..4]);
        u32::from_le_bytes(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_damage_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let entry = Entry {
            path: "projects/-w/a\"\n.jsonl".into(),
            kind: FileKind::MainLog,
            session: "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718".parse().ok(),
            bytes: 7,
            modified: milliseconds(jiff::Timestamp::now()),
            content: 9,
            version: Some(-3),
        };
        let key = FileKey::of(FileKind::MainLog, "projects/-w/a.jsonl");
        let list = ShelfList {
            version: Some(1),
            made: Some([7; 8]),
            entries: HashMap::from([(key, entry)]),
            is_changed: true,
        };
        list.write(folder.path(), [7; 8]).unwrap();
        let read = ShelfList::read(folder.path());
        assert_eq!((read.version, read.made), (list.version, list.made));
        assert_eq!(read.entries, list.entries);
        let path = folder.path().join(NAME);
        let mut bytes = fs::read(&path).unwrap();
        bytes.truncate(bytes.len() - 9);
        fs::write(&path, bytes).unwrap();
        assert_eq!(ShelfList::read(folder.path()).entries.len(), 0);
    }
}
