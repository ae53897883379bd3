//! Writing an archive.

use std::io;
use std::io::Read;
use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use jiff::Timestamp;
use recto_log::ProjectKey;
use recto_log::SessionId;

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
use crate::edit::relocation::Named;
use crate::open_file;
use crate::pack::error::PackError;
use crate::place::open::can_be_secret;
use crate::place::open::open_sized;
use crate::publish::FileIdentity;
use crate::publish::HashingWriter;
use crate::publish::hash_reader;

/// How hard to compress: a good part of what is possible, at the speed of a disk.
const LEVEL: i32 = 9;

/// Sessions that are to be packed.
#[derive(Debug)]
pub struct Package {
    /// What the archive will say.
    pub manifest: Manifest,
    /// Files that are not packed, because they can hold a secret.
    pub left_out: Vec<PathBuf>,
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
        created: Timestamp,
    ) -> Result<Package, StoreError> {
        let manifest =
            Manifest { recto: env!("CARGO_PKG_VERSION").to_owned(), created, sessions: Vec::new() };
        let mut package = Package { manifest, left_out: Vec::new(), sources: Vec::new() };
        for session in sessions {
            let is_known = |packed: &PackedSession| packed.id == session.id;
            if package.manifest.sessions.iter().any(is_known) {
                let why = "another session that is packed has the same id";
                return Err(PackError::CannotPack { path: session.path.clone(), why }.into());
            }
            package.add(home, inventory, session)?;
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
                let why = "its name is no text, or can mean another place elsewhere";
                return Err(PackError::CannotPack { path, why }.into());
            };
            if name.ends_with(".lock") {
                continue;
            }
            if can_be_secret(&path) {
                self.left_out.push(path);
                continue;
            }
            if !role.allows(id, &name) {
                let why = "its name is no text, or can mean another place elsewhere";
                return Err(PackError::CannotPack { path, why }.into());
            }
            let (file, bytes) = open_sized(&path)?;
            let modified = FileIdentity::of_file(&file)?.modified;
            let (sha256, bytes) = hash_reader(file.take(bytes))?;
            let entry = entry_name(id, role, &name, self.sources.len());
            files.push(PackedFile { role, name, path: entry, bytes, sha256, modified });
            self.sources.push(path);
        }
        let title = Digest::read(&session.path, false)?.title.map(|(title, _)| title);
        self.manifest.sessions.push(PackedSession { id, title, directory, project, files });
        Ok(())
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
        for (file, source) in files.zip(&self.sources) {
            append(&mut builder, file, source)?;
        }
        builder.into_inner()?.finish()?.flush()?;
        Ok(())
    }
}

fn append(
    builder: &mut tar::Builder<impl Write>,
    file: &PackedFile,
    source: &Path,
) -> Result<(), StoreError> {
    let header = header(&file.path, file.bytes, file.modified)?;
    // The content is hashed on its way, so that what is written is what was said.
    let hash = HashingWriter::new(io::sink());
    let mut reader = Hashed { inner: open_file(source)?.take(file.bytes), hash };
    builder.append(&header, &mut reader)?;
    let (_, sha256, bytes) = reader.hash.finish();
    if (sha256.as_str(), bytes) != (file.sha256.as_str(), file.bytes) {
        let why = "it was changed meanwhile";
        return Err(PackError::CannotPack { path: source.to_owned(), why }.into());
    }
    Ok(())
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
