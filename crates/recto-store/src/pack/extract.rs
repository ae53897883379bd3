//! Reading an archive into a folder, with every check. Nobody vouches for an
//! archive: its manifest is data, and so is everything else.

use std::io;
use std::io::BufRead as _;
use std::io::BufReader;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;
use std::time::SystemTime;

use fs_err as fs;

use super::LARGEST_MANIFEST;
use super::MANIFEST;
use super::Manifest;
use super::PackedFile;
use crate::Home;
use crate::StoreError;
use crate::pack::error::PackError;
use crate::place::open::open_sized;
use crate::place::platform;
use crate::publish::HashingWriter;

/// Archives that unpack to less than this are never bombs.
const ALWAYS_FINE: u64 = 64 * 1024 * 1024;
/// How many times its own size an archive may unpack to. Logs are a twentieth.
const LARGEST_RATIO: u64 = 2000;
/// The largest window that a reader has to keep, as a power of two.
const WINDOW: u32 = 27;
/// Zeros that programs put after the last entry.
const LARGEST_PADDING: u64 = 64 * 1024;

/// What every file that zstd compressed begins with.
const COMPRESSED: [u8; 4] = zstd::zstd_safe::MAGICNUMBER.to_le_bytes();

type Decoder = zstd::stream::read::Decoder<'static, BufReader<std::fs::File>>;

/// What an archive says it holds.
pub fn read_manifest(path: &Path) -> Result<Manifest, StoreError> {
    let mut archive = open_archive(path)?.0;
    let bad = |why: String| bad(path, why);
    let mut entries = archive.entries().map_err(|error| bad(error.to_string()))?.raw(true);
    take_manifest(&mut entries).map_err(bad)
}

/// An archive that was read into a folder, which looks like a home then. The
/// folder goes when this does.
#[derive(Debug)]
pub struct Extracted {
    /// What the archive said.
    pub manifest: Manifest,
    /// The folder.
    pub(super) home: Home,
    _folder: Folder,
}

/// A folder that goes when it is not needed any more.
#[derive(Debug)]
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed now is removed before the next archive is read.
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Extracted {
    /// Reads an archive into a folder, which is emptied first. Fails if anything
    /// is not exactly as the manifest says.
    pub fn read(path: &Path, folder: &Path) -> Result<Extracted, StoreError> {
        match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        platform::make_private_directory(folder)?;
        let folder = Folder(folder.to_owned());
        let (mut archive, compressed) = open_archive(path)?;
        let bad = |why: String| bad(path, why);
        let manifest = {
            let entries = archive.entries().map_err(|error| bad(error.to_string()))?;
            let mut entries = entries.raw(true);
            let manifest = take_manifest(&mut entries).map_err(bad)?;
            let all = manifest.bytes();
            if all > ALWAYS_FINE && all / LARGEST_RATIO > compressed {
                return Err(bad(format!("it would unpack to {all} bytes")));
            }
            for session in &manifest.sessions {
                for file in &session.files {
                    let entry = entries
                        .next()
                        .ok_or_else(|| bad(format!("`{}` is missing", file.path)))?
                        .map_err(|error| bad(error.to_string()))?;
                    check_entry(&entry, &file.path, Some(file.bytes)).map_err(bad)?;
                    write_file(entry, file, &folder.0.join(session.place(file)))?.map_err(bad)?;
                }
            }
            if entries.next().is_some() {
                return Err(bad("it contains more than its manifest names".to_owned()));
            }
            manifest
        };
        check_end(archive.into_inner()).map_err(bad)?;
        let home = Home::open(&folder.0)?;
        Ok(Extracted { manifest, home, _folder: folder })
    }
}

fn bad(path: &Path, why: String) -> StoreError {
    PackError::BadArchive { path: path.to_owned(), why }.into()
}

/// Opens an archive, and says how large it is.
fn open_archive(path: &Path) -> Result<(tar::Archive<Decoder>, u64), StoreError> {
    let (file, bytes) = open_sized(path)?;
    let mut file = BufReader::new(file);
    let begins_with = file.fill_buf()?;
    if begins_with.is_empty() {
        return Err(bad(path, "the file is empty".to_owned()));
    }
    if !begins_with.starts_with(&COMPRESSED) {
        return Err(bad(path, "it does not begin as the archives of `recto pack` do".to_owned()));
    }
    let mut decoder = Decoder::with_buffer(file)?;
    decoder.window_log_max(WINDOW)?;
    Ok((tar::Archive::new(decoder.single_frame()), bytes))
}

/// Reads the first entry. Entries are taken as they are: names of other entries,
/// links and extensions of the format are no part of an archive of sessions.
fn take_manifest<R: Read>(entries: &mut tar::Entries<'_, R>) -> Result<Manifest, String> {
    let entry = entries.next().ok_or("it is empty")?.map_err(|error| error.to_string())?;
    let bytes = check_entry(&entry, MANIFEST, None)?;
    if bytes > LARGEST_MANIFEST {
        return Err("its manifest is too large".to_owned());
    }
    let mut content = Vec::new();
    entry.take(bytes).read_to_end(&mut content).map_err(|error| error.to_string())?;
    Manifest::read(&content)
}

/// Whether an entry is the file that is expected. Gives its size.
fn check_entry<R: Read>(
    entry: &tar::Entry<'_, R>,
    path: &str,
    bytes: Option<u64>,
) -> Result<u64, String> {
    let header = entry.header();
    let found = header.path_bytes();
    if *found != *path.as_bytes() {
        let found = String::from_utf8_lossy(&found).into_owned();
        return Err(format!("`{found}` is where `{path}` should be"));
    }
    if !header.entry_type().is_file() {
        return Err(format!("`{path}` is not a file"));
    }
    let size = header.entry_size().map_err(|error| error.to_string())?;
    match bytes {
        Some(bytes) if bytes != size => Err(format!("`{path}` has the wrong size")),
        _ => Ok(size),
    }
}

/// Writes a file that must be new, and compares its hash. An error of the system
/// is not the archive's fault.
fn write_file(
    entry: impl Read,
    file: &PackedFile,
    place: &Path,
) -> Result<Result<(), String>, StoreError> {
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut out = HashingWriter::new(platform::create_private_file(place)?);
    let mut reader = entry.take(file.bytes);
    let mut piece = vec![0; 64 * 1024];
    loop {
        match reader.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => io::Write::write_all(&mut out, &piece[..read])?,
            Err(error) => return Ok(Err(error.to_string())),
        }
    }
    let (out, sha256, bytes) = out.finish();
    out.set_modified(SystemTime::from(file.modified))?;
    if (bytes, sha256.as_str()) == (file.bytes, file.sha256.as_str()) {
        Ok(Ok(()))
    } else {
        Ok(Err(format!("`{}` has the wrong content", file.path)))
    }
}

/// Nothing may follow the last entry.
fn check_end(mut decoder: Decoder) -> Result<(), String> {
    let mut rest = Vec::new();
    let more = Read::by_ref(&mut decoder).take(LARGEST_PADDING).read_to_end(&mut rest);
    more.map_err(|error| error.to_string())?;
    let is_ended = |decoder: &mut Decoder| decoder.read(&mut [0]).is_ok_and(|read| read == 0);
    if rest.iter().any(|byte| *byte != 0) || !is_ended(&mut decoder) {
        return Err("something follows its last file".to_owned());
    }
    let mut reader = decoder.finish();
    match reader.read(&mut [0]) {
        Ok(0) => Ok(()),
        Ok(_) => Err("something follows its end".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
