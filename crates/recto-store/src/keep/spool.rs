//! An archive as the spool of other stores: what they are filled from, and what is mirrored from
//! them to be read here.

use std::fs::File;
use std::io;
use std::io::Read;
use std::io::Write;

use crate::keep::KeepError;
use crate::keep::archive::Archive;
use crate::keep::key::FileKey;
use crate::keep::key::LifeId;
use crate::keep::key::Part;
use crate::keep::key::Range64;
use crate::keep::key::SegmentKey;
use crate::keep::life::Lives;
use crate::keep::segment::SegmentHeader;
use crate::keep::segment::SegmentReader;
use crate::keep::segment::header_of;
use crate::keep::segment::milliseconds;
use crate::place::platform;
use crate::place::unfinished::Unfinished;
use crate::read_small;

/// What is known of lines that were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinesRead {
    /// The header of the last segment that they are from.
    pub last: SegmentHeader,
    /// Up to where the file was captured at which time, in milliseconds.
    pub marks: Vec<(u64, u64)>,
}

impl Archive {
    /// The header of a segment or version.
    pub fn part_header(&self, file: FileKey, part: &Part) -> Result<SegmentHeader, KeepError> {
        header_of(&self.path_of(file, part))
    }

    /// The segment or version itself, compressed as it is.
    pub fn part_file(&self, file: FileKey, part: &Part) -> Result<File, KeepError> {
        let path = self.path_of(file, part);
        platform::open_without_waiting(&path).map_err(KeepError::of(&path))
    }

    /// Hands out the plain bytes of a segment or version, in pieces, and compares their digest.
    pub fn read_part(
        &self,
        file: FileKey,
        part: &Part,
        take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<SegmentHeader, KeepError> {
        let path = self.path_of(file, part);
        SegmentReader::open(&path)?.read_all(&path, take)
    }

    /// What was noted about a file.
    pub fn event(&self, file: FileKey, part: &Part) -> Result<Vec<u8>, KeepError> {
        let path = self.path_of(file, part);
        read_small(&path).map_err(|error| KeepError::damaged(&path, error.to_string()))
    }

    /// Hands out a range of the lines of a life, in pieces. Every segment is compared with its
    /// digest; who takes the bytes must wait for the end to rely on them.
    pub fn read_lines(
        &self,
        file: FileKey,
        lives: &Lives,
        life: LifeId,
        wanted: Range64,
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<LinesRead, KeepError> {
        let mut at = wanted.start;
        let mut read: Option<LinesRead> = None;
        for range in lives.cover(life).0 {
            if range.end <= at || range.start >= wanted.end {
                continue;
            }
            // Merged segments can begin before what is wanted, and end behind it.
            let mut skip = at - range.start;
            let mut left = wanted.end - at;
            let header = self.read_part(file, &Part::Lines { life, range }, |piece| {
                let skipped = skip.min(piece.len() as u64);
                skip -= skipped;
                let piece = &piece[skipped as usize..];
                let taken = left.min(piece.len() as u64);
                left -= taken;
                take(&piece[..taken as usize])
            })?;
            at = range.end.min(wanted.end);
            let mut marks = read.map_or_else(Vec::new, |read| read.marks);
            match header.marks.is_empty() {
                true => marks.push((header.end, milliseconds(header.captured))),
                false => {
                    let is_wanted = |(end, _): &&(u64, u64)| *end > wanted.start;
                    marks.extend(header.marks.iter().filter(is_wanted));
                }
            }
            read = Some(LinesRead { last: header, marks });
        }
        match read {
            Some(read) if at == wanted.end => Ok(read),
            _ => Err(KeepError::Gap { file: file.to_string(), from: at, to: wanted.end }),
        }
    }

    /// Puts what another store has under a key into this archive, to be read from here. Another
    /// machine's names stay as they are; its archive is a mirror, and nothing in it is durable.
    pub fn mirror(&self, key: &SegmentKey, from: &mut dyn Read) -> Result<(), KeepError> {
        let folder = self.root().join("tmp");
        platform::make_private_directory(&folder).map_err(KeepError::of(&folder))?;
        let temporary = Unfinished::new(&folder, "");
        let failed = KeepError::of(temporary.path());
        let mut file = platform::create_private_file(temporary.path()).map_err(&failed)?;
        io::copy(from, &mut file).and_then(|_| file.flush()).map_err(&failed)?;
        self.adopt(temporary.path(), &self.path_of(key.file, &key.part))
    }
}
