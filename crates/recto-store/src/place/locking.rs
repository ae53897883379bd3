//! Files that are locked while something is changed.

use std::fs::File;
use std::fs::TryLockError;
use std::io;
use std::path::Path;
use std::time::Duration;
use std::time::Instant;

use crate::place::platform;

/// Takes a lock, which is held as long as the file is open. Nothing if another
/// process has it for longer than one wants to wait.
pub fn lock_file(path: &Path, longest: Duration) -> io::Result<Option<File>> {
    let file = platform::append_private_file(path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) if start.elapsed() < longest => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}
