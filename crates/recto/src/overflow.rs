//! Results that were too long for a log, from the files that hold them whole.

use std::borrow::Cow;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;

use recto_log::LineReader;
use recto_log::ToolUseId;
use recto_session::Item;
use recto_session::Overflow;
use recto_store::Home;
use recto_store::OverflowFile;
use recto_store::open_file;

use crate::error::CommandError;

/// How much of a file is shown at most; a terminal is no place for more.
pub(crate) const MOST_SHOWN: u64 = 16 * 1024 * 1024;
/// How much of a file goes into a document at most.
pub(crate) const MOST_IN_DOCUMENT: u64 = 1024 * 1024;

/// The files of one log.
#[derive(Clone)]
pub(crate) struct OverflowFiles<'a> {
    home: &'a Home,
    log: Cow<'a, Path>,
}

/// How much of a file's text is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Only where it is.
    Nothing,
    /// At most so many bytes.
    Bytes(u64),
}

impl<'a> OverflowFiles<'a> {
    pub(crate) fn new(home: &'a Home, log: &'a Path) -> OverflowFiles<'a> {
        OverflowFiles { home, log: Cow::Borrowed(log) }
    }

    /// Those of a log that has moved while it was read.
    pub(crate) fn of_moved(home: &'a Home, log: PathBuf) -> OverflowFiles<'a> {
        OverflowFiles { home, log: Cow::Owned(log) }
    }

    /// The file of a result, if it is there.
    pub(crate) fn find(&self, call: &str, overflow: &Overflow) -> Option<OverflowFile> {
        self.home.overflow_file(&self.log, Some(&ToolUseId::new(call)), Some(&overflow.name))
    }

    /// Whether the file of a result is there, and is not read.
    pub(crate) fn is_refused(&self, call: &str, overflow: &Overflow) -> bool {
        let call = ToolUseId::new(call);
        self.home.overflow_is_refused(&self.log, Some(&call), Some(&overflow.name))
    }

    /// Adds to a result what its file says.
    pub(crate) fn complete(&self, item: &mut Item, wanted: Wanted) {
        let Item::Result { id, overflow: Some(overflow), .. } = item else { return };
        let Some(file) = self.find(id, overflow) else {
            overflow.is_refused = self.is_refused(id, overflow);
            return;
        };
        if let Wanted::Bytes(most) = wanted {
            let Ok(text) = text_of(&file.path, most) else {
                overflow.is_refused = true;
                return;
            };
            overflow.text = Some(text);
        }
        overflow.bytes = Some(file.bytes);
        overflow.path = Some(file.path.display().to_string());
    }
}

/// The beginning of a file as text.
pub(crate) fn text_of(path: &Path, most: u64) -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    open_file(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

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
