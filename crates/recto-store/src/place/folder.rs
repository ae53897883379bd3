//! A directory beneath a root, held open: its names are resolved from there, so
//! nobody can put a link in the way between a check and a change.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use crate::StoreError;
use crate::place::directory_calls;
use crate::place::directory_calls::DirectoryHandle;
use crate::place::directory_calls::Kind;
use crate::place::directory_calls::OpenFor;
use crate::place::directory_calls::PlaceAt;
use crate::place::error::PlaceError;
use crate::place::secret_name::can_be_secret;

/// A directory beneath a root. No link is followed on the way to it, nor to a
/// file in it.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    handle: DirectoryHandle,
}

impl Folder {
    /// Opens a directory that is the root or beneath it. The root itself may be
    /// reached through links; it is the one that the user named.
    pub(crate) fn beneath(root: &Path, path: &Path) -> io::Result<Folder> {
        step("open directory");
        let inside = path.strip_prefix(root).map_err(|_| io::ErrorKind::NotADirectory)?;
        let handle = directory_calls::open_beneath(root, inside).map_err(named(path))?;
        Ok(Folder { path: path.to_owned(), handle })
    }

    /// The path of a name in it, to be told.
    pub(crate) fn join(&self, name: &OsStr) -> PathBuf {
        self.path.join(name)
    }

    /// What is there under a name.
    pub(crate) fn kind(&self, name: &OsStr) -> io::Result<Option<Kind>> {
        step("stat");
        match directory_calls::kind_at(self.at(name)) {
            Ok(kind) => Ok(Some(kind)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.named(name, error)),
        }
    }

    /// Opens a regular file for reading. Nothing if there is none.
    pub(crate) fn open(&self, name: &OsStr) -> Result<Option<File>, StoreError> {
        let path = self.join(name);
        if can_be_secret(&path) {
            return Err(PlaceError::Secret { path }.into());
        }
        match self.kind(name)? {
            None => return Ok(None),
            Some(Kind::File) => {}
            Some(Kind::Directory | Kind::Other) => return Err(PlaceError::NotAFile { path }.into()),
        }
        step("open");
        match directory_calls::open_at(self.at(name), OpenFor::Reading) {
            Ok(file) => Ok(Some(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.named(name, error).into()),
        }
    }

    /// Opens a file that is there, to add to it.
    pub(crate) fn append(&self, name: &OsStr) -> io::Result<File> {
        step("open to append");
        directory_calls::open_at(self.at(name), OpenFor::Appending)
            .map_err(|error| self.named(name, error))
    }

    /// Makes a file that only its user may read, where there is none.
    pub(crate) fn create(&self, name: &OsStr) -> io::Result<File> {
        step("create");
        directory_calls::open_at(self.at(name), OpenFor::Creating)
            .map_err(|error| self.named(name, error))
    }

    /// Gives two files each other's name, in one step; `false` where the system
    /// cannot, and nothing has changed.
    pub(crate) fn exchange(&self, one: &OsStr, other: &OsStr) -> io::Result<bool> {
        step("exchange");
        #[cfg(test)]
        if steps::cannot_exchange() {
            return Ok(false);
        }
        directory_calls::exchange_at(&self.handle, one, other)
            .map_err(|error| self.named(other, error))
    }

    /// Gives a file a name in this directory or another one, where nothing has it yet.
    pub(crate) fn rename_new(&self, from: &OsStr, goal: &Folder, to: &OsStr) -> io::Result<()> {
        step("rename to a new name");
        directory_calls::rename_new_at(self.at(from), goal.at(to))
            .map_err(|error| goal.named(to, error))
    }

    /// Gives a file a name; what had it before loses it.
    pub(crate) fn rename_over(&self, from: &OsStr, goal: &Folder, to: &OsStr) -> io::Result<()> {
        step("rename");
        directory_calls::rename_at(self.at(from), goal.at(to))
            .map_err(|error| goal.named(to, error))
    }

    /// Gives a file a second name.
    pub(crate) fn link(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        step("link");
        directory_calls::link_at(self.at(from), self.at(to)).map_err(|error| self.named(to, error))
    }

    /// Removes a file; one that is not there is not an error.
    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        step("unlink");
        match directory_calls::remove_file_at(self.at(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            // Where nothing can be written, the system says so before it looks.
            Err(error)
                if error.kind() == io::ErrorKind::ReadOnlyFilesystem
                    && matches!(self.kind(name), Ok(None)) =>
            {
                Ok(())
            }
            removed => removed.map_err(|error| self.named(name, error)),
        }
    }

    /// Makes a directory that only its user may look into, unless something is there.
    pub(crate) fn make_directory(&self, name: &OsStr) -> io::Result<()> {
        step("mkdir");
        match directory_calls::make_directory_at(self.at(name)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made.map_err(|error| self.named(name, error)),
        }
    }

    /// Removes a directory if it is empty. One that is not, because another program
    /// has put something into it, stays.
    pub(crate) fn remove_directory(&self, name: &OsStr) -> io::Result<()> {
        step("rmdir");
        match directory_calls::remove_directory_at(self.at(name)) {
            Err(error) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty => Ok(()),
                _ => Err(self.named(name, error)),
            },
            Ok(()) => Ok(()),
        }
    }

    /// Sets who may do what with this directory.
    pub(crate) fn set_mode(&self, mode: u32) -> io::Result<()> {
        directory_calls::set_directory_mode(&self.handle, mode).map_err(named(&self.path))
    }

    /// Makes its names durable.
    pub(crate) fn sync(&self) -> io::Result<()> {
        step("sync directory");
        directory_calls::sync_handle(&self.handle).map_err(named(&self.path))
    }

    fn at<'a>(&'a self, name: &'a OsStr) -> PlaceAt<'a> {
        (&self.handle, &self.path, name)
    }

    fn named(&self, name: &OsStr, error: io::Error) -> io::Error {
        // It is the directory then, and a temporary name would say nothing to a person.
        let path = match error.kind() {
            io::ErrorKind::ReadOnlyFilesystem => self.path.clone(),
            _ => self.join(name),
        };
        named(&path)(error)
    }
}

/// The error of the system, with the path.
pub(crate) fn named(path: &Path) -> impl Fn(io::Error) -> io::Error {
    let path = path.to_owned();
    move |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// What is about to be asked of the system. Tests let other programs act here.
#[inline]
pub(crate) fn step(what: &'static str) {
    #[cfg(test)]
    steps::reached(what);
    #[cfg(not(test))]
    let _ = what;
}

#[cfg(test)]
pub(crate) mod steps {
    //! What tests do between two calls to the system.

    use std::cell::Cell;
    use std::cell::RefCell;

    type Hook = Box<dyn FnMut(&'static str)>;

    thread_local! {
        static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
        static CANNOT_EXCHANGE: Cell<bool> = const { Cell::new(false) };
    }

    /// Calls `hook` before every call that changes or reads a file of an operation.
    pub(crate) fn set(hook: impl FnMut(&'static str) + 'static) {
        HOOK.set(Some(Box::new(hook)));
    }

    pub(crate) fn clear() {
        HOOK.set(None);
    }

    /// Lets this thread do as if the file system could not exchange names.
    pub(crate) fn forbid_exchange(is_forbidden: bool) {
        CANNOT_EXCHANGE.set(is_forbidden);
    }

    pub(super) fn cannot_exchange() -> bool {
        CANNOT_EXCHANGE.get()
    }

    pub(crate) fn are_watched() -> bool {
        HOOK.with_borrow(Option::is_some)
    }

    pub(super) fn reached(what: &'static str) {
        // Taken out meanwhile: what a hook does is no step of the operation.
        if let Some(mut hook) = HOOK.take() {
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| hook(what)));
            HOOK.set(Some(hook));
            if let Err(panic) = result {
                std::panic::resume_unwind(panic);
            }
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use fs_err as fs;

    use super::*;

    #[test]
    fn no_link_leads_to_another_directory() {
        let place = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(place.path()).unwrap().join("home");
        fs::create_dir_all(root.join("a/b")).unwrap();
        let outside = place.path().join("outside");
        fs::create_dir(&outside).unwrap();
        symlink(&outside, root.join("a/link")).unwrap();
        symlink(root.join("a"), root.join("inside")).unwrap();
        Folder::beneath(&root, &root).unwrap();
        Folder::beneath(&root, &root.join("a/b")).unwrap();
        for path in ["a/link", "inside", "inside/b", "a/../..", "a/../../outside", "gone"] {
            assert!(Folder::beneath(&root, &root.join(path)).is_err(), "{path}");
        }
        assert!(Folder::beneath(&root, &outside).is_err());
    }

    #[test]
    fn a_walk_by_hand_refuses_what_the_system_refuses() {
        let place = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(place.path()).unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        symlink("/", root.join("a/link")).unwrap();
        let handle = directory_calls::open_beneath(&root, Path::new("")).unwrap();
        let walk = |inside: &str| directory_calls::walk_beneath(&handle, Path::new(inside));
        walk("").unwrap();
        walk("a/b").unwrap();
        for inside in ["a/link", "a/link/etc", "..", "a/../..", "/", "a/b/gone"] {
            assert!(walk(inside).is_err(), "{inside}");
        }
    }

    #[test]
    fn a_directory_that_is_held_stays_the_same_when_a_link_takes_its_name() {
        let place = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(place.path()).unwrap();
        fs::create_dir(root.join("a")).unwrap();
        fs::write(root.join("a/x"), "inside").unwrap();
        let outside = root.join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("x"), "outside").unwrap();
        let folder = Folder::beneath(&root, &root.join("a")).unwrap();
        fs::rename(root.join("a"), root.join("b")).unwrap();
        symlink(&outside, root.join("a")).unwrap();
        folder.remove(OsStr::new("x")).unwrap();
        assert!(outside.join("x").is_file());
        assert!(!root.join("b/x").exists());
    }
}
