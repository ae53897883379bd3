//! Which key a file of a home has in an archive.
//!
//! A file of a session keeps its key when it moves to another project. But a project can be copied,
//! and then two files would have one key, and one of them would be taken for a rewritten form of
//! the other. So the second one has a key of its own, by its path, from the first time that it is
//! seen: as long as the first one is where it was, or if it does not continue what the first one
//! was.

use std::fs::File;
use std::io;

use fs_err as fs;

use crate::GenerationId;
use crate::Home;
use crate::follow::FileKind;
use crate::keep::KeepError;
use crate::keep::archive::Archive;
use crate::keep::catalog::KeptFile;
use crate::keep::key::FileKey;
use crate::keep::key::Part;
use crate::keep::life::Lives;
use crate::keep::life::digest_of;
use crate::keep::segment::header_of;
use crate::log::chain::BLOCK;
use crate::place::platform::read_up_to;

impl Archive {
    /// The key under which an archive has the file of a path.
    pub fn key_at(&self, kind: FileKind, below: &str) -> Result<FileKey, KeepError> {
        let usual = FileKey::of(kind, below);
        if !FileKey::is_shared(kind, below) {
            return Ok(usual);
        }
        let copy = FileKey::of_copy(below);
        Ok(if self.parts(copy)?.is_empty() { usual } else { copy })
    }

    /// The key under which a file of a home is kept from now on.
    pub(super) fn key_for(
        &self,
        home: &Home,
        file: &File,
        kind: FileKind,
        below: &str,
    ) -> Result<FileKey, KeepError> {
        let usual = FileKey::of(kind, below);
        let known = self.key_at(kind, below)?;
        if known != usual || !FileKey::is_shared(kind, below) {
            return Ok(known);
        }
        let lives = Lives::of(self.parts(usual)?);
        let Some(first) = KeptFile::read(self, usual, lives)? else { return Ok(usual) };
        let is_its_own =
            first.path == below || is_gone(home, &first.path) && continues(self, &first, file)?;
        Ok(if is_its_own { usual } else { FileKey::of_copy(below) })
    }
}

/// Whether a home has no such file. A directory that cannot be read may have it.
fn is_gone(home: &Home, below: &str) -> bool {
    match fs::symlink_metadata(home.root().join(below)) {
        Ok(_) => false,
        Err(error) => {
            matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        }
    }
}

/// Whether a file may be what another one has become that is no longer there. A log begins with
/// all that it was; files that are rewritten whole cannot say.
fn continues(archive: &Archive, first: &KeptFile, file: &File) -> Result<bool, KeepError> {
    if !first.kind.grows() {
        return Ok(true);
    }
    let failed = KeepError::of(archive.root());
    let head = read_up_to(file, 0, BLOCK).map_err(&failed)?;
    // Nothing is lost if the beginning of nothing takes its place.
    if head.is_empty() {
        return Ok(true);
    }
    if let Some(generation) = GenerationId::of(&head)
        && first.lives.continued_by(archive, first.key, file, generation)?.is_some()
    {
        return Ok(true);
    }
    for part in &first.lives.torn {
        let Part::Torn { life, range, .. } = part else { continue };
        if life.generation.is_none() {
            let kept = header_of(&archive.path_of(first.key, part))?.sha256;
            if digest_of(file, *range).map_err(&failed)? == Some(kept) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
