//! An archive on the local disk.
//!
//! Everything in it is written under a temporary name, made durable, and then given a name that
//! must be free. Nothing is ever changed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use fs_err as fs;

use crate::keep::KeepError;
use crate::keep::key::FileKey;
use crate::keep::key::Part;
use crate::keep::key::ROOT;
use crate::keep::key::file_folder;
use crate::keep::key::forgotten_file;
use crate::keep::key::forgotten_prefix;
use crate::keep::machine::MachineId;
use crate::keep::segment::SegmentHeader;
use crate::keep::segment::SegmentWriter;
use crate::keep::segment::header_of;
use crate::place::folder::Folder;
use crate::place::locking::lock_file;
use crate::place::platform;
use crate::place::unfinished::Unfinished;

/// What says that a directory is an archive, and of which version.
const MARK: &str = "recto-archive";
const VERSION: &str = "1";
/// How long a collector waits for another one.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// An archive on the local disk, as seen from one home.
#[derive(Debug)]
pub struct Archive {
    root: PathBuf,
    machine: MachineId,
    /// Directories with names that are not durable yet.
    unsynced: Mutex<BTreeSet<PathBuf>>,
}

/// What became of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Put {
    /// It is in the archive now.
    New,
    /// It was there already.
    Same,
    /// Something else has its name.
    Other,
}

/// Kept as long as a collector works.
#[derive(Debug)]
pub(super) struct CollectorLock(#[expect(dead_code, reason = "held, not read")] File);

impl Archive {
    /// Opens an archive, or makes one.
    pub fn create(root: impl Into<PathBuf>, machine: MachineId) -> Result<Archive, KeepError> {
        let root = root.into();
        Archive::prepare(&root).map_err(KeepError::of(&root))?;
        Archive::open(root, machine)
    }

    fn prepare(root: &Path) -> io::Result<()> {
        if let Some(above) = root.parent() {
            fs::create_dir_all(above)?;
        }
        platform::make_private_directory(root)?;
        let mark = root.join(MARK);
        if let Err(error) = fs::metadata(&mark) {
            if error.kind() != io::ErrorKind::NotFound {
                return Err(error);
            }
            let new = Unfinished::new(root, &format!("{MARK}."));
            fs::write(new.path(), format!("{VERSION}\n"))?;
            fs::rename(new.path(), &mark)?;
            platform::sync_directory(root)?;
        }
        Ok(())
    }

    /// Opens an archive that exists.
    pub fn open(root: impl Into<PathBuf>, machine: MachineId) -> Result<Archive, KeepError> {
        let root = root.into();
        let metadata = match fs::metadata(&root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(KeepError::NoArchive { path: root });
            }
            metadata => metadata.map_err(KeepError::of(&root))?,
        };
        if platform::is_of_another_user(&metadata) {
            return Err(KeepError::Foreign { path: root });
        }
        match fs::read_to_string(root.join(MARK)) {
            Ok(version) if version.trim() == VERSION => {}
            Ok(version) => {
                let version = version.trim().chars().take(20).collect();
                return Err(KeepError::Newer { path: root, version });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(KeepError::NoArchive { path: root });
            }
            Err(error) => return Err(KeepError::of(&root)(error)),
        }
        let unsynced = Mutex::default();
        Ok(Archive { root, machine, unsynced })
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// From which machine and home it is seen.
    pub fn machine(&self) -> MachineId {
        self.machine
    }

    /// Waits for other collectors, removes what killed ones left behind, and keeps others away.
    pub(super) fn lock(&self) -> Result<CollectorLock, KeepError> {
        let path = self.root.join("lock");
        let lock = lock_file(&path, LONGEST_WAIT).map_err(KeepError::of(&path))?;
        let lock = lock.ok_or_else(|| KeepError::Busy { path: self.root.clone() })?;
        let folder = self.root.join("tmp");
        platform::make_private_directory(&folder).map_err(KeepError::of(&folder))?;
        for entry in fs::read_dir(&folder).map_err(KeepError::of(&folder))?.flatten() {
            let _ = fs::remove_file(entry.path());
        }
        Ok(CollectorLock(lock))
    }

    /// The folder of a file.
    pub(super) fn folder(&self, file: FileKey) -> PathBuf {
        self.root.join(file_folder(&self.machine, file))
    }

    /// Where a part of a file is.
    pub(super) fn path_of(&self, file: FileKey, part: &Part) -> PathBuf {
        self.folder(file).join(part.name())
    }

    /// All parts of a file, in order.
    pub fn parts(&self, file: FileKey) -> Result<Vec<Part>, KeepError> {
        let folder = self.folder(file);
        let mut parts = Vec::new();
        for (name, path) in names(&folder)? {
            for (inside, _) in names(&path)? {
                parts.extend(Part::parse(&format!("{name}/{inside}")));
            }
        }
        parts.sort();
        Ok(parts)
    }

    /// The folder of everything from this machine and home.
    pub(super) fn machine_folder(&self) -> PathBuf {
        self.root.join(ROOT).join(format!("machine={}", self.machine))
    }

    /// All files of this machine.
    pub fn files(&self) -> Result<Vec<FileKey>, KeepError> {
        let names = names(&self.machine_folder())?;
        let key = |name: &str| name.strip_prefix("file=")?.parse().ok();
        let mut files: Vec<FileKey> = names.iter().filter_map(|(name, _)| key(name)).collect();
        files.sort();
        Ok(files)
    }

    /// Files that must not come back, because somebody erased them here.
    pub(super) fn forgotten(&self) -> Result<BTreeSet<FileKey>, KeepError> {
        let names = names(&self.root.join(forgotten_prefix(self.machine)))?;
        Ok(names.iter().filter_map(|(name, _)| forgotten_file(name)).collect())
    }

    /// All machines with something in the archive.
    pub fn machines(&self) -> Result<Vec<MachineId>, KeepError> {
        let names = names(&self.root.join(ROOT))?;
        let id = |name: &str| name.strip_prefix("machine=")?.parse().ok();
        Ok(names.iter().filter_map(|(name, _)| id(name)).collect())
    }

    /// Begins a segment.
    pub(super) fn begin(&self, header: SegmentHeader) -> Result<NewSegment, KeepError> {
        let temporary = Unfinished::new(&self.root.join("tmp"), "");
        let file = platform::create_private_file(temporary.path());
        let file = file.map_err(KeepError::of(temporary.path()))?;
        Ok(NewSegment { temporary, writer: SegmentWriter::new(file, header) })
    }

    /// Writes down that something happened to a file.
    pub(super) fn put_event(
        &self,
        file: FileKey,
        part: &Part,
        json: &[u8],
    ) -> Result<(), KeepError> {
        let temporary = Unfinished::new(&self.root.join("tmp"), "");
        let failed = KeepError::of(temporary.path());
        let mut out = platform::create_private_file(temporary.path()).map_err(&failed)?;
        io::Write::write_all(&mut out, json).and_then(|()| out.sync_data()).map_err(&failed)?;
        match self.publish(temporary.path(), &self.path_of(file, part)) {
            // The same moment says the same.
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(KeepError::of(&self.path_of(file, part))(error)),
        }
    }

    /// Gives a file its name, unless there is one with that name.
    pub(super) fn adopt(&self, temporary: &Path, path: &Path) -> Result<(), KeepError> {
        match self.publish(temporary, path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                Err(KeepError::of(path)(error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Gives a durable file its name, which must be free.
    fn publish(&self, temporary: &Path, path: &Path) -> io::Result<()> {
        self.rename(temporary, path, Folder::rename_new)
    }

    /// Gives a durable file the name of another one.
    fn replace(&self, temporary: &Path, path: &Path) -> io::Result<()> {
        self.rename(temporary, path, Folder::rename_over)
    }

    fn rename(
        &self,
        temporary: &Path,
        path: &Path,
        rename: fn(&Folder, &OsStr, &Folder, &OsStr) -> io::Result<()>,
    ) -> io::Result<()> {
        let parts = |path: &'_ Path| {
            let name = path.file_name().map(OsStr::to_owned);
            path.parent().map(Path::to_owned).zip(name)
        };
        let (Some((folder, name)), Some((goal, new_name))) = (parts(temporary), parts(path)) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        self.make_folders(&goal)?;
        let folder = Folder::beneath(&self.root, &folder)?;
        rename(&folder, &name, &Folder::beneath(&self.root, &goal)?, &new_name)
    }

    fn make_folders(&self, folder: &Path) -> io::Result<()> {
        let below = folder.strip_prefix(&self.root).unwrap_or(folder);
        let mut path = self.root.clone();
        let mut unsynced = self.unsynced.lock().unwrap_or_else(PoisonError::into_inner);
        for part in below.components() {
            let above = path.clone();
            path.push(part);
            if !path.is_dir() {
                platform::make_private_directory(&path)?;
                unsynced.insert(above);
            }
        }
        unsynced.insert(path);
        Ok(())
    }

    /// Makes all names durable that were given since the last time.
    pub(super) fn sync(&self) -> Result<(), KeepError> {
        let mut unsynced = self.unsynced.lock().unwrap_or_else(PoisonError::into_inner);
        for folder in std::mem::take(&mut *unsynced) {
            match platform::sync_directory(&folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(KeepError::of(&folder)(error));
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }
}

/// A segment that is being written. Dropped, it leaves nothing behind.
pub(super) struct NewSegment {
    temporary: Unfinished,
    writer: SegmentWriter,
}

impl NewSegment {
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), KeepError> {
        self.writer.write(bytes).map_err(KeepError::of(self.temporary.path()))
    }

    pub(super) fn len(&self) -> u64 {
        self.writer.len()
    }

    /// Ends it and puts it in the place of a segment that holds the same bytes. Whether it is
    /// there: a segment with other bytes, or of the same size, stays.
    pub(super) fn put_over(self, archive: &Archive, path: &Path) -> Result<bool, KeepError> {
        let NewSegment { temporary, writer } = self;
        let failed = KeepError::of(temporary.path());
        let header = writer.finish().map_err(&failed)?;
        let size = |path: &Path| fs::metadata(path).map(|one| one.len());
        let is_smaller = size(temporary.path()).map_err(&failed)? < size(path).map_err(&failed)?;
        if !is_smaller || header_of(path)?.sha256 != header.sha256 {
            return Ok(false);
        }
        archive.replace(temporary.path(), path).map_err(KeepError::of(path))?;
        Ok(true)
    }

    /// Ends it and puts it into the archive, under the name that fits what was written.
    pub(super) fn put(
        self,
        archive: &Archive,
        file: FileKey,
        name: impl FnOnce(&SegmentHeader) -> Part,
    ) -> Result<(Put, SegmentHeader), KeepError> {
        self.put_unless(archive, file, name, |_| false)
    }

    /// The same, unless the archive has it under another name.
    pub(super) fn put_unless(
        self,
        archive: &Archive,
        file: FileKey,
        name: impl FnOnce(&SegmentHeader) -> Part,
        is_known: impl FnOnce(&SegmentHeader) -> bool,
    ) -> Result<(Put, SegmentHeader), KeepError> {
        let NewSegment { temporary, writer } = self;
        let header = writer.finish().map_err(KeepError::of(temporary.path()))?;
        if is_known(&header) {
            return Ok((Put::Same, header));
        }
        let path = archive.path_of(file, &name(&header));
        match archive.publish(temporary.path(), &path) {
            Ok(()) => Ok((Put::New, header)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let there = header_of(&path)?;
                let same = there.sha256 == header.sha256;
                Ok((if same { Put::Same } else { Put::Other }, header))
            }
            Err(error) => Err(KeepError::of(&path)(error)),
        }
    }
}

/// The names in a folder, none if it does not exist.
fn names(folder: &Path) -> Result<Vec<(String, PathBuf)>, KeepError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            return Ok(Vec::new());
        }
        Err(error) => return Err(KeepError::of(folder)(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(KeepError::of(folder))?;
        if let Ok(name) = entry.file_name().into_string() {
            names.push((name, entry.path()));
        }
    }
    Ok(names)
}
