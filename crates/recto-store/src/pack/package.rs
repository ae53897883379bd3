//! Writing an archive.

use std::collections::BTreeSet;
use std::io;
use std::io::Read;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use jiff::Timestamp;
use recto_log::ProjectKey;
use recto_log::SessionId;
use recto_session::edit::LineFilter;
use recto_session::edit::Rewrite;

use super::LARGEST_MANIFEST;
use super::MANIFEST;
use super::Manifest;
use super::PackedFile;
use super::PackedSession;
use super::Role;
use crate::Digest;
use crate::Home;
use crate::Inventory;
use crate::SessionFile;
use crate::StoreError;
use crate::edit::copy::write_filtered;
use crate::edit::relocation::Named;
use crate::open_file;
use crate::pack::error::PackError;
use crate::place::open::open_sized;
use crate::place::secret_name::can_be_secret;
use crate::publish::FileIdentity;
use crate::publish::HashingWriter;
use crate::publish::hash_reader;

/// How hard to compress: a good part of what is possible, at the speed of a disk.
const LEVEL: i32 = 9;

/// What becomes of a session that cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    /// Nothing is packed.
    Fail,
    /// The others are packed.
    Skip,
}

/// What becomes of the content of files on their way into an archive.
#[derive(Debug, Clone)]
pub enum Content {
    /// It stays as it is, to the byte.
    AsItIs,
    /// Every line goes through a filter. Versions of files are left out, because they are
    /// any bytes.
    Filtered(LineFilter),
}

impl Content {
    fn rewrite(&self) -> Option<Rewrite> {
        match self {
            Content::AsItIs => None,
            Content::Filtered(filter) => Some(Rewrite::none().with_filter(filter.clone())),
        }
    }

    /// A text of a log as it may be said.
    fn text(&self, text: String) -> String {
        match self {
            Content::AsItIs => text,
            Content::Filtered(filter) => match filter.apply(text.as_bytes()) {
                Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                None => text,
            },
        }
    }
}

/// How many memory files the projects of sessions have. They belong to no session.
pub fn memory_files(sessions: &[SessionFile]) -> u64 {
    let folder = |session: &SessionFile| Some(session.path.parent()?.join("memory"));
    let folders: BTreeSet<PathBuf> = sessions.iter().filter_map(folder).collect();
    let files = |folder: &PathBuf| fs_err::read_dir(folder).map_or(0, |files| files.count() as u64);
    folders.iter().map(files).sum()
}

/// Sessions that are to be packed.
#[derive(Debug)]
pub struct Package {
    /// What the archive will say.
    pub manifest: Manifest,
    /// Files that are not packed, because they can hold a secret.
    pub left_out: Vec<PathBuf>,
    /// Why sessions were skipped, and single files of others.
    pub skipped: Vec<StoreError>,
    content: Content,
    /// The files, in the order of the manifest.
    sources: Vec<PathBuf>,
}

impl Package {
    /// Looks for all that belongs to the sessions, and hashes it. A log that
    /// grows meanwhile is packed as it was.
    pub fn plan(
        home: &Home,
        inventory: &Inventory,
        sessions: &[SessionFile],
        (unreadable, content): (Unreadable, Content),
        created: Timestamp,
    ) -> Result<Package, StoreError> {
        let manifest =
            Manifest { recto: env!("CARGO_PKG_VERSION").to_owned(), created, sessions: Vec::new() };
        let (left_out, skipped, sources) = (Vec::new(), Vec::new(), Vec::new());
        let mut package = Package { manifest, left_out, skipped, content, sources };
        for session in sessions {
            let is_known = |packed: &PackedSession| packed.id == session.id;
            if package.manifest.sessions.iter().any(is_known) {
                let why = "another packed session has the same id";
                let error = PackError::CannotPack { path: session.path.clone(), why };
                match unreadable {
                    Unreadable::Fail => return Err(error.into()),
                    Unreadable::Skip => package.skipped.push(error.into()),
                }
                continue;
            }
            let (sources, left_out) = (package.sources.len(), package.left_out.len());
            let skipped = package.skipped.len();
            match (package.add(home, inventory, session), unreadable) {
                (Ok(()), _) => {}
                (Err(error), Unreadable::Fail) => return Err(error),
                (Err(error), Unreadable::Skip) => {
                    package.sources.truncate(sources);
                    package.left_out.truncate(left_out);
                    package.skipped.truncate(skipped);
                    package.skipped.push(error);
                }
            }
        }
        Ok(package)
    }

    fn add(
        &mut self,
        home: &Home,
        inventory: &Inventory,
        session: &SessionFile,
    ) -> Result<(), StoreError> {
        let id = session.id;
        let key = session.project.key.as_str();
        let directory = Named::read(&session.path)?.root(key);
        // A directory under `projects/` that no client made has another name.
        let is_key = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let project = match &directory {
            Some(directory) if key.is_empty() || !key.bytes().all(is_key) => {
                ProjectKey::of_path(directory).to_string()
            }
            _ => key.to_owned(),
        };
        let mut files = Vec::new();
        for path in home.parts_of(inventory, session)?.files {
            let Some((role, name)) = role_of(home, session, &path) else {
                self.skip(session, path)?;
                continue;
            };
            if name.ends_with(".lock") {
                continue;
            }
            let is_filtered = matches!(self.content, Content::Filtered(_));
            if can_be_secret(&path) || (is_filtered && role == Role::FileVersion) {
                self.left_out.push(path);
                continue;
            }
            if !role.allows(id, &name) {
                self.skip(session, path)?;
                continue;
            }
            let (file, bytes) = open_sized(&path)?;
            let modified = FileIdentity::of_file(&file)?.modified;
            let (sha256, bytes) = match self.content.rewrite() {
                None => hash_reader(file.take(bytes))?,
                Some(rewrite) => {
                    let mut hash = HashingWriter::new(io::sink());
                    write_filtered(&path, &rewrite, &mut hash)?;
                    let (_, sha256, bytes) = hash.finish();
                    (sha256, bytes)
                }
            };
            let entry = entry_name(id, role, &name, self.sources.len());
            files.push(PackedFile { role, name, path: entry, bytes, sha256, modified });
            self.sources.push(path);
        }
        let title = Digest::read(&session.path, false)?.title;
        let title = title.map(|(title, _)| self.content.text(title));
        self.manifest.sessions.push(PackedSession { id, title, directory, project, files });
        Ok(())
    }

    /// Goes without a file whose name other systems cannot have. Without the log there is nothing
    /// to pack.
    fn skip(&mut self, session: &SessionFile, path: PathBuf) -> Result<(), PackError> {
        let is_log = path == session.path;
        let why = "its name is not valid text, or not portable";
        let error = PackError::CannotPack { path, why };
        match is_log {
            true => Err(error),
            false => {
                self.skipped.push(error.into());
                Ok(())
            }
        }
    }

    /// Writes the archive.
    pub fn write(&self, out: impl Write) -> Result<(), StoreError> {
        let manifest = self.manifest.write();
        if manifest.len() as u64 > LARGEST_MANIFEST {
            let path = self.sources.first().cloned().unwrap_or_default();
            return Err(PackError::CannotPack { path, why: "there are too many files" }.into());
        }
        let mut encoder = zstd::stream::write::Encoder::new(out, LEVEL)?;
        encoder.include_checksum(true)?;
        let mut builder = tar::Builder::new(encoder);
        let header = header(MANIFEST, manifest.len() as u64, self.manifest.created)?;
        builder.append(&header, manifest.as_slice())?;
        let files = self.manifest.sessions.iter().flat_map(|session| &session.files);
        let rewrite = self.content.rewrite();
        for (file, source) in files.zip(&self.sources) {
            match &rewrite {
                None => append(&mut builder, file, source, open_file(source)?)?,
                Some(rewrite) => append_filtered(&mut builder, file, source, rewrite)?,
            }
        }
        builder.into_inner()?.finish()?.flush()?;
        Ok(())
    }
}

fn append(
    builder: &mut tar::Builder<impl Write>,
    file: &PackedFile,
    source: &Path,
    content: impl Read,
) -> Result<(), StoreError> {
    let header = header(&file.path, file.bytes, file.modified)?;
    // The content is hashed on its way, so that what is written is what was said.
    let hash = HashingWriter::new(io::sink());
    let mut reader = Hashed { inner: content.take(file.bytes), hash };
    builder.append(&header, &mut reader)?;
    let (_, sha256, bytes) = reader.hash.finish();
    if (sha256.as_str(), bytes) != (file.sha256.as_str(), file.bytes) {
        let why = "it was changed meanwhile";
        return Err(PackError::CannotPack { path: source.to_owned(), why }.into());
    }
    Ok(())
}

/// Appends a file as a filter makes it. The filter writes and the archive reads, so one
/// of them has a thread of its own.
fn append_filtered(
    builder: &mut tar::Builder<impl Write>,
    file: &PackedFile,
    source: &Path,
    rewrite: &Rewrite,
) -> Result<(), StoreError> {
    let (reader, mut writer) = io::pipe()?;
    std::thread::scope(|scope| {
        let filtered = scope.spawn(move || {
            let mut buffered = io::BufWriter::new(&mut writer);
            write_filtered(source, rewrite, &mut buffered)?;
            buffered.flush().map_err(StoreError::from)
        });
        let appended = append(builder, file, source, reader);
        match filtered.join() {
            Ok(Ok(())) => appended,
            // A file that grew is longer than what was announced: that is said below.
            Ok(Err(error)) => appended.and(Err(error)),
            Err(_) => Err(io::Error::other("the filter of an archive broke off").into()),
        }
    })
}

/// Hashes what is read through it.
struct Hashed<R> {
    inner: R,
    hash: HashingWriter<io::Sink>,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.hash.write_all(&buffer[..read])?;
        Ok(read)
    }
}

/// What a file of a session is, and what it is called.
fn role_of(home: &Home, session: &SessionFile, path: &Path) -> Option<(Role, String)> {
    let id = session.id.to_string();
    let folder = session.folder();
    let (role, inside) = if path == session.path {
        // The name is that of the session, however the file is found.
        return Some((Role::Log, format!("{id}.jsonl")));
    } else if let Ok(inside) = path.strip_prefix(&folder) {
        (Role::Folder, inside)
    } else if let Ok(inside) = path.strip_prefix(home.tasks().join(&id)) {
        (Role::Task, inside)
    } else if let Ok(inside) = path.strip_prefix(home.file_history().join(&id)) {
        (Role::FileVersion, inside)
    } else if let Ok(inside) = path.strip_prefix(home.todos()) {
        (Role::Todos, inside)
    } else {
        (Role::Agent, path.strip_prefix(session.path.parent()?).ok()?)
    };
    let parts: Option<Vec<&str>> = inside.iter().map(|part| part.to_str()).collect();
    Some((role, parts?.join("/")))
}

/// What the entry of a file is called: readable where the format has room.
fn entry_name(id: SessionId, role: Role, name: &str, number: usize) -> String {
    let readable = format!("{id}/{}/{name}", role.name());
    let fits = tar::Header::new_ustar().set_path(&readable).is_ok();
    if fits { readable } else { format!("{id}/{}/{number}", role.name()) }
}

fn header(path: &str, bytes: u64, modified: Timestamp) -> Result<tar::Header, StoreError> {
    let mut header = tar::Header::new_ustar();
    header.set_path(path)?;
    header.set_size(bytes);
    header.set_mode(0o600);
    header.set_mtime(u64::try_from(modified.as_second()).unwrap_or(0));
    header.set_entry_type(tar::EntryType::Regular);
    header.set_cksum();
    Ok(header)
}
