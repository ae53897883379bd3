//! Results that were too long for a log: how much of them is shown.

use std::io::Read;
use std::path::Path;

use recto_log::LineReader;
pub(crate) use recto_store::OverflowFiles;
pub(crate) use recto_store::OverflowWanted as Wanted;
use recto_store::open_file;
pub(crate) use recto_store::text_beginning as text_of;

use crate::error::CommandError;

/// How much of a file is shown at most; a terminal is no place for more.
pub(crate) const MOST_SHOWN: u64 = 16 * 1024 * 1024;

/// Gives the lines of a file one by one, as many as can be shown.
pub(crate) fn each_line(
    path: &Path,
    mut work: impl FnMut(&str) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let mut lines = LineReader::new(open_file(path)?.take(MOST_SHOWN));
    while let Some(line) = lines.next_line()? {
        work(&String::from_utf8_lossy(line.bytes))?;
    }
    Ok(())
}
