//! The form of a segment.
//!
//! ```text
//! 52 2A 4D 18   a zstd frame that decompressors skip
//! LL LL LL LL   its length, little endian
//! 01            the version of the header
//! {"path":…}    the header: one JSON object, filled up with spaces
//! 28 B5 2F FD   a zstd frame: the bytes
//! ```
//!
//! `zstd -d` gives the bytes back; nothing else is needed to read an archive.

use std::fs::File;
use std::io;
use std::io::BufReader;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;
use std::io::Write;
use std::path::Path;

use jiff::Timestamp;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_log::json::Value;
use sha2::Digest as _;
use sha2::Sha256;
use zstd::stream::raw::CParameter;

use crate::follow::FileKind;
use crate::keep::KeepError;
use crate::keep::key::Hex;
use crate::keep::key::hex;
use crate::place::platform;

/// The first bytes of a frame that decompressors skip.
const MAGIC: [u8; 4] = [0x52, 0x2a, 0x4d, 0x18];
/// The version of the header of a segment with the bytes of its source.
const VERSION: u8 = 1;
/// The version of the header of a segment with other bytes than its source. Programs that take
/// the range for the length cannot read it.
const FILTERED_VERSION: u8 = 2;
/// The longest header that is read.
const LONGEST_HEADER: u32 = 1024 * 1024;
/// How hard the bytes are compressed as they come.
pub(super) const LEVEL: u8 = 6;
/// How hard they are compressed when nobody waits for it.
pub(super) const TIGHT_LEVEL: u8 = 12;
/// How far back repetitions are looked for in large segments: 8 MiB. Logs repeat their own
/// results, and every decompressor accepts this window by default.
const WINDOW_LOG: u32 = 23;
/// Up to this size a segment is compressed at once, which spares small files large tables.
const SMALL: usize = 1024 * 1024;

/// What a segment says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentHeader {
    /// The file, below the home, with `/`.
    pub path: String,
    /// What the file is.
    pub kind: FileKind,
    /// The first byte of the range.
    pub start: u64,
    /// Behind its last byte.
    pub end: u64,
    /// The hash of the plain bytes.
    pub sha256: [u8; 32],
    /// When the file was written last, as it was read.
    pub modified: Timestamp,
    /// When the bytes were read.
    pub captured: Timestamp,
    /// What was done with the bytes on their way: `raw`, nothing.
    pub policy: String,
    /// How hard the bytes are compressed.
    pub level: u8,
    /// Of a merged segment: up to where the file was captured at which time, in milliseconds.
    pub marks: Vec<(u64, u64)>,
    /// How many bytes it contains, if a policy changed them. The range is that of the source.
    pub length: Option<u64>,
}

impl SegmentHeader {
    /// How hard bytes are compressed as they come.
    pub const USUAL_LEVEL: u8 = LEVEL;

    /// Reads the header at the beginning of a segment, of which more than that need not be there.
    pub fn read(mut beginning: &[u8], name: &str) -> Result<SegmentHeader, KeepError> {
        read_header(&mut beginning, Path::new(name))
    }

    /// How many plain bytes the segment contains.
    pub fn content_bytes(&self) -> u64 {
        self.length.unwrap_or(self.end - self.start)
    }

    fn version(&self) -> u8 {
        if self.length.is_some() { FILTERED_VERSION } else { VERSION }
    }

    fn to_json(&self) -> Vec<u8> {
        let object = ObjectWriter::new()
            .string("path", &self.path)
            .string("kind", self.kind.name())
            .number("start", self.start)
            .number("end", self.end)
            .id("sha256", &Hex(&self.sha256))
            .number("modified", milliseconds(self.modified))
            .number("captured", milliseconds(self.captured))
            .string("policy", &self.policy);
        let object = match self.level {
            LEVEL => object,
            level => object.number("level", u64::from(level)),
        };
        let object = object.number_if_any("length", self.length);
        if self.marks.is_empty() {
            return object.finish();
        }
        let marks = self.marks.iter().fold(ArrayWriter::new(), |marks, (end, time)| {
            marks.json(format!("[{end},{time}]").as_bytes())
        });
        object.json("marks", &marks.finish()).finish()
    }

    fn parse(json: &[u8]) -> Option<SegmentHeader> {
        let header = Value::parse(json.trim_ascii()).ok()?;
        let number = |name: &str| header.get(name)?.as_u64();
        let time =
            |name: &str| Timestamp::from_millisecond(i64::try_from(number(name)?).ok()?).ok();
        let mut marks = Vec::new();
        for mark in header.get("marks").into_iter().flat_map(Value::elements) {
            let mut fields = mark.elements();
            marks.push((fields.next()?.as_u64()?, fields.next()?.as_u64()?));
        }
        let header = SegmentHeader {
            path: header.str("path")?.into_owned(),
            kind: FileKind::of_name(&header.str("kind")?)?,
            start: number("start")?,
            end: number("end")?,
            sha256: hex(&header.str("sha256")?)?,
            modified: time("modified")?,
            captured: time("captured")?,
            policy: header.str("policy")?.into_owned(),
            level: number("level").and_then(|level| level.try_into().ok()).unwrap_or(LEVEL),
            marks,
            length: number("length"),
        };
        (header.start <= header.end).then_some(header)
    }
}

pub(super) fn milliseconds(time: Timestamp) -> u64 {
    u64::try_from(time.as_millisecond()).unwrap_or(0)
}

/// Writes a segment into a file: the bytes first, the header when they are known.
pub struct SegmentWriter {
    file: Output,
    /// Whether the range is that of the source, whatever is written.
    is_filtered: bool,
    header: SegmentHeader,
    header_bytes: usize,
    hash: Sha256,
    written: u64,
}

/// Small segments wait until they are whole.
enum Output {
    Waiting(File, Vec<u8>),
    Streaming(zstd::stream::write::Encoder<'static, File>),
}

impl SegmentWriter {
    /// Begins a segment whose `end` and `sha256` are not known yet.
    pub fn new(file: File, header: SegmentHeader) -> SegmentWriter {
        SegmentWriter::begin(file, header, /* is filtered */ false)
    }

    /// Begins a segment of a range of its source, with other bytes than the source has there.
    pub fn filtered(file: File, header: SegmentHeader) -> SegmentWriter {
        SegmentWriter::begin(file, header, /* is filtered */ true)
    }

    fn begin(file: File, header: SegmentHeader, is_filtered: bool) -> SegmentWriter {
        // Whatever the end will be, its digits find room.
        let length = is_filtered.then_some(u64::MAX);
        let header = SegmentHeader { length, ..header };
        let longest = SegmentHeader { end: u64::MAX, ..header.clone() };
        let header_bytes = longest.to_json().len();
        SegmentWriter {
            file: Output::Waiting(file, Vec::new()),
            is_filtered,
            header,
            header_bytes,
            hash: Sha256::new(),
            written: 0,
        }
    }

    /// How many plain bytes it holds.
    pub(super) fn len(&self) -> u64 {
        self.written
    }

    /// Adds plain bytes.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.written += bytes.len() as u64;
        if let Output::Waiting(file, waiting) = &mut self.file {
            waiting.extend_from_slice(bytes);
            if waiting.len() <= SMALL {
                return Ok(());
            }
            let waiting = std::mem::take(waiting);
            let mut file = file.try_clone()?;
            file.write_all(&self.placeholder())?;
            let mut encoder = encoder(file, self.header.level)?;
            encoder.write_all(&waiting)?;
            self.file = Output::Streaming(encoder);
            return Ok(());
        }
        match &mut self.file {
            Output::Streaming(encoder) => encoder.write_all(bytes),
            Output::Waiting(..) => Ok(()),
        }
    }

    fn placeholder(&self) -> Vec<u8> {
        frame(self.header.version(), &vec![b' '; self.header_bytes])
    }

    /// Ends the segment and makes it durable. Gives its header.
    pub(super) fn finish(self) -> io::Result<SegmentHeader> {
        let (header, file) = self.seal()?;
        file.sync_data()?;
        Ok(header)
    }

    /// Ends the segment. Gives its header and the file.
    pub fn seal(mut self) -> io::Result<(SegmentHeader, File)> {
        match self.is_filtered {
            true => self.header.length = Some(self.written),
            false => self.header.end = self.header.start + self.written,
        }
        self.header.sha256 = self.hash.finalize().into();
        let mut json = self.header.to_json();
        json.resize(self.header_bytes, b' ');
        let (level, version) = (i32::from(self.header.level), self.header.version());
        let mut file = match self.file {
            Output::Waiting(mut file, waiting) => {
                file.write_all(&frame(version, &json))?;
                file.write_all(&zstd::bulk::compress(&waiting, level)?)?;
                file
            }
            Output::Streaming(encoder) => {
                let mut file = encoder.finish()?;
                file.seek(SeekFrom::Start(0))?;
                file.write_all(&frame(version, &json))?;
                file
            }
        };
        file.flush()?;
        Ok((self.header, file))
    }
}

fn encoder(file: File, level: u8) -> io::Result<zstd::stream::write::Encoder<'static, File>> {
    let mut encoder = zstd::stream::write::Encoder::new(file, i32::from(level))?;
    encoder.set_parameter(CParameter::WindowLog(WINDOW_LOG))?;
    encoder.set_parameter(CParameter::EnableLongDistanceMatching(true))?;
    Ok(encoder)
}

/// A frame that decompressors skip.
fn frame(version: u8, header: &[u8]) -> Vec<u8> {
    let length = header.len() as u32 + 1;
    [&MAGIC[..], &length.to_le_bytes(), &[version], header].concat()
}

/// A segment that is read.
pub struct SegmentReader {
    /// What it says of itself.
    pub header: SegmentHeader,
    bytes: zstd::stream::read::Decoder<'static, BufReader<File>>,
}

impl SegmentReader {
    pub(super) fn open(path: &Path) -> Result<SegmentReader, KeepError> {
        let file = platform::open_without_waiting(path).map_err(KeepError::of(path))?;
        SegmentReader::within(file, path, /* window */ 27)
    }

    /// Reads a segment of a stranger from the beginning of a file: a window that no writer of
    /// segments asks for is refused, because the memory for it would be the stranger's to choose.
    pub fn of_stranger(file: File, name: &str) -> Result<SegmentReader, KeepError> {
        SegmentReader::within(file, Path::new(name), WINDOW_LOG)
    }

    fn within(mut file: File, path: &Path, window_log: u32) -> Result<SegmentReader, KeepError> {
        let header = read_header(&mut file, path)?;
        let mut bytes = zstd::stream::read::Decoder::new(file).map_err(KeepError::of(path))?;
        bytes.window_log_max(window_log).map_err(KeepError::of(path))?;
        Ok(SegmentReader { header, bytes })
    }

    /// Hands out all bytes, in pieces, and compares them with the header.
    pub fn read_all(
        mut self,
        path: &Path,
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<SegmentHeader, KeepError> {
        let mut hash = Sha256::new();
        let mut length = 0;
        let expected = self.header.content_bytes();
        let mut buffer = vec![0; 256 * 1024];
        loop {
            let read = match self.bytes.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(KeepError::damaged(path, error.to_string())),
            };
            length += read as u64;
            if length > expected {
                return Err(KeepError::damaged(
                    path,
                    "it contains more bytes than its header says",
                ));
            }
            hash.update(&buffer[..read]);
            take(&buffer[..read]).map_err(KeepError::of(path))?;
        }
        if length != expected {
            return Err(KeepError::damaged(path, "it contains fewer bytes than its header says"));
        }
        let digest: [u8; 32] = hash.finalize().into();
        match digest == self.header.sha256 {
            true => Ok(self.header),
            false => Err(KeepError::damaged(path, "its bytes are not those of its digest")),
        }
    }
}

/// The header of a segment.
pub(super) fn header_of(path: &Path) -> Result<SegmentHeader, KeepError> {
    read_header(&mut platform::open_without_waiting(path).map_err(KeepError::of(path))?, path)
}

fn read_header(file: &mut impl Read, path: &Path) -> Result<SegmentHeader, KeepError> {
    let mut start = [0; 9];
    file.read_exact(&mut start).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => KeepError::damaged(path, "it has no header"),
        _ => KeepError::of(path)(error),
    })?;
    let length = u32::from_le_bytes([start[4], start[5], start[6], start[7]]);
    if start[..4] != MAGIC || !(1..=LONGEST_HEADER).contains(&length) {
        return Err(KeepError::damaged(path, "it has no header"));
    }
    if !matches!(start[8], VERSION | FILTERED_VERSION) {
        let version = start[8].to_string();
        return Err(KeepError::Newer { path: path.to_owned(), version });
    }
    let mut json = vec![0; length as usize - 1];
    file.read_exact(&mut json).map_err(|_| KeepError::damaged(path, "its header is cut"))?;
    SegmentHeader::parse(&json)
        .filter(|header| header.version() == start[8])
        .ok_or_else(|| KeepError::damaged(path, "its header is invalid"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(start: u64) -> SegmentHeader {
        SegmentHeader {
            path: "projects/-w/a\"b.jsonl".to_owned(),
            kind: FileKind::MainLog,
            start,
            end: 0,
            sha256: [0; 32],
            modified: Timestamp::from_millisecond(1_794_788_487_090).unwrap(),
            captured: Timestamp::from_millisecond(1_794_788_487_999).unwrap(),
            policy: "raw".to_owned(),
            level: TIGHT_LEVEL,
            marks: vec![(10, 1_794_788_487_000)],
            length: None,
        }
    }

    fn written(bytes: &[u8], piece: usize) -> (tempfile::NamedTempFile, SegmentHeader) {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut writer = SegmentWriter::new(file.reopen().unwrap(), header(7));
        for piece in bytes.chunks(piece) {
            writer.write(piece).unwrap();
        }
        assert_eq!(writer.len(), bytes.len() as u64);
        let header = writer.finish().unwrap();
        (file, header)
    }

    fn read(path: &Path) -> Result<(SegmentHeader, Vec<u8>), KeepError> {
        let mut bytes = Vec::new();
        let header = SegmentReader::open(path)?.read_all(path, |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })?;
        Ok((header, bytes))
    }

    #[test]
    fn what_is_written_is_read_however_large_it_is() {
        let long: Vec<u8> = (0..3 * SMALL).map(|at| (at * at / 7) as u8).collect();
        for bytes in [&b"{}\n"[..], &long] {
            let (file, header) = written(bytes, 100_000);
            assert_eq!((header.start, header.end), (7, 7 + bytes.len() as u64));
            let read = read(file.path()).unwrap();
            assert_eq!(read.0, header);
            assert!(read.1 == bytes);
            // A decompressor that knows nothing of the header gives the same.
            let plain = zstd::stream::decode_all(file.reopen().unwrap()).unwrap();
            assert!(plain == bytes);
        }
    }

    #[test]
    fn damage_is_never_taken_for_content() {
        let (file, _) = written(b"{\"type\":\"user\"}\n{\"type\":\"assistant\"}\n", 10);
        let whole = std::fs::read(file.path()).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            std::fs::write(file.path(), &damaged).unwrap();
            if let Ok((header, bytes)) = read(file.path()) {
                // Only what describes the bytes can change without being noticed.
                assert_eq!(bytes, b"{\"type\":\"user\"}\n{\"type\":\"assistant\"}\n", "{at}");
                assert_eq!(header.end - header.start, bytes.len() as u64, "{at}");
            }
            std::fs::write(file.path(), &whole[..at]).unwrap();
            assert!(read(file.path()).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn a_filtered_segment_has_the_range_of_its_source_and_its_own_length() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let whole = SegmentHeader { end: 1007, policy: "redact".to_owned(), ..header(7) };
        let mut writer = SegmentWriter::filtered(file.reopen().unwrap(), whole);
        writer.write(b"{}\n").unwrap();
        let (header, _) = writer.seal().unwrap();
        assert_eq!((header.start, header.end, header.content_bytes()), (7, 1007, 3));
        let bytes = std::fs::read(file.path()).unwrap();
        assert_eq!(bytes[8], FILTERED_VERSION);
        assert_eq!(SegmentHeader::read(&bytes, "x").unwrap(), header);
        assert_eq!(read(file.path()).unwrap(), (header, b"{}\n".to_vec()));
    }

    #[test]
    fn a_newer_segment_is_named_as_such() {
        let (file, _) = written(b"x\n", 10);
        let mut bytes = std::fs::read(file.path()).unwrap();
        bytes[8] = 3;
        std::fs::write(file.path(), bytes).unwrap();
        assert!(
            matches!(read(file.path()), Err(KeepError::Newer { version, .. }) if version == "3")
        );
    }
}
