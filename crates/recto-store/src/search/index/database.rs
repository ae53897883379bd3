//! Databases of other crates, as private and as checked as the index.

use std::path::Path;

use rusqlite::Connection;
use rusqlite::OpenFlags;

use super::page_sums;
use super::write_ahead;
use crate::StoreError;
use crate::place::platform;

/// Opens a database of our own to read and to write. One that is not there is made, for its user
/// alone. Its pages have sums, so that damage is an error and never another answer.
pub fn open_database(path: &Path) -> Result<Connection, StoreError> {
    match platform::create_private_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
            return Err(error.into());
        }
        _ => {}
    }
    write_ahead::check(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Ok(page_sums::open(path, flags)?)
}
