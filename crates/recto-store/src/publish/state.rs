//! Versions of a file: by what the system says of it, and by its content.

use std::fmt::Write as _;
use std::fs::File;
use std::fs::Metadata;
use std::io;
use std::io::Read;
use std::io::Write;
use std::path::Path;

use fs_err as fs;
use jiff::Timestamp;
use sha2::Digest as _;
use sha2::Sha256;

use crate::StoreError;
use crate::open_file;
use crate::place::error::PlaceError;
use crate::place::platform;
use crate::place::platform::timestamp;
use crate::place::writers::FileNumber;

/// Tells one version of a file from the next without reading it: a write
/// changes the size or the time, a replacement the number of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileIdentity {
    number: FileNumber,
    /// Its size.
    pub bytes: u64,
    /// When it was written last.
    pub modified: Timestamp,
}

impl FileIdentity {
    /// Of the file at a path, which must be a regular file and no link.
    pub fn of(path: &Path) -> Result<FileIdentity, StoreError> {
        let metadata = fs::symlink_metadata(path)?;
        if !metadata.is_file() {
            return Err(PlaceError::NotAFile { path: path.to_owned() }.into());
        }
        Ok(FileIdentity::from_metadata(&metadata))
    }

    /// Of an open file.
    pub fn of_file(file: &File) -> io::Result<FileIdentity> {
        file.metadata().map(|metadata| FileIdentity::from_metadata(&metadata))
    }

    /// The file system, and the number of the file in it.
    pub(crate) fn number(&self) -> FileNumber {
        self.number
    }

    fn from_metadata(metadata: &Metadata) -> FileIdentity {
        FileIdentity {
            number: platform::file_number(metadata),
            bytes: metadata.len(),
            modified: timestamp(metadata.modified()),
        }
    }
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// A file.
    File(FileVersion),
    /// A directory. What is in it has changes of its own.
    Directory {
        /// Who may do what with it.
        mode: Option<u32>,
    },
}

/// A version of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileVersion {
    /// The hash of its content, in hexadecimal.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
    /// When it was written last.
    pub modified: Timestamp,
    /// Who may do what with it, where the system has such bits.
    pub mode: Option<u32>,
}

impl State {
    /// The version of a file, if it is one.
    pub fn file(&self) -> Option<&FileVersion> {
        match self {
            State::File(state) => Some(state),
            State::Directory { .. } => None,
        }
    }
}

/// Whether the path is in the state, by content. Times and modes do not count.
pub(crate) fn is_in(path: &Path, state: Option<&State>) -> Result<bool, StoreError> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(state.is_none()),
        Err(error) => return Err(error.into()),
    };
    match state {
        None => Ok(false),
        Some(State::Directory { .. }) => Ok(metadata.is_dir()),
        Some(State::File(file)) => Ok(metadata.is_file()
            && metadata.len() == file.bytes
            && hash_file(path)? == file.sha256),
    }
}

/// The hash of a file's content.
pub(crate) fn hash_file(path: &Path) -> Result<String, StoreError> {
    hash_reader(open_file(path)?).map(|(hash, _)| hash)
}

/// The hash of the first bytes of a file.
pub(crate) fn hash_beginning(path: &Path, bytes: u64) -> Result<String, StoreError> {
    hash_reader(open_file(path)?.take(bytes)).map(|(hash, _)| hash)
}

/// The hash and the length of what a reader gives.
pub(crate) fn hash_reader(mut reader: impl Read) -> Result<(String, u64), StoreError> {
    let mut sink = HashingWriter::new(io::sink());
    io::copy(&mut reader, &mut sink)?;
    let (_, hash, bytes) = sink.finish();
    Ok((hash, bytes))
}

/// Hashes and counts what is written through it.
pub(crate) struct HashingWriter<W> {
    inner: W,
    hash: Sha256,
    bytes: u64,
}

impl<W: Write> HashingWriter<W> {
    pub(crate) fn new(inner: W) -> HashingWriter<W> {
        HashingWriter { inner, hash: Sha256::new(), bytes: 0 }
    }

    pub(crate) fn finish(self) -> (W, String, u64) {
        let mut text = String::with_capacity(64);
        for byte in self.hash.finalize() {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        (self.inner, text, self.bytes)
    }
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(piece)?;
        self.hash.update(&piece[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
