//! What other crates do with directories that are not a home: stores, and what is remembered
//! about them. And what a machine is called there.

use std::io;
use std::path::Path;

use fs_err as fs;

use crate::StoreError;
use crate::place::platform;

/// Makes a directory that only its user may look into, and those above it.
pub fn make_directory(path: &Path) -> Result<(), StoreError> {
    if let Some(above) = path.parent() {
        fs::create_dir_all(above)?;
    }
    Ok(platform::make_private_directory(path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?)
}

/// Makes a file below a root durable, with the names that lead to it.
pub fn sync_below(root: &Path, below: &str) -> Result<(), StoreError> {
    let path = root.join(below);
    platform::open_without_waiting(&path)
        .and_then(|file| file.sync_all())
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    let mut folder = path.parent();
    while let Some(one) = folder.filter(|one| one.starts_with(root)) {
        platform::sync_directory(one)?;
        folder = one.parent();
    }
    Ok(())
}

/// Removes a database of our own that cannot be used, with the files beside it.
pub fn remove_database(path: &Path) {
    for ending in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        let _ = fs::remove_file(Path::new(&name));
    }
}

/// What this machine is called in its network.
#[cfg(unix)]
pub fn host_name() -> Option<String> {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    (!name.is_empty()).then_some(name)
}

/// What this machine is called in its network.
#[cfg(not(unix))]
pub fn host_name() -> Option<String> {
    None
}
