//! Results that were too long for a log, from the files that hold them whole.

use std::borrow::Cow;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;

use recto_log::ToolUseId;
use recto_session::Item;
use recto_session::Overflow;

use crate::Home;
use crate::OverflowFile;
use crate::StoreError;
use crate::open_file;

/// The files of one log.
#[derive(Debug, Clone)]
pub struct OverflowFiles<'a> {
    home: &'a Home,
    log: Cow<'a, Path>,
}

/// How much of a file's text is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverflowWanted {
    /// Only where it is.
    Nothing,
    /// At most so many bytes.
    Bytes(u64),
}

impl<'a> OverflowFiles<'a> {
    /// The files of the log at a path.
    pub fn new(home: &'a Home, log: &'a Path) -> OverflowFiles<'a> {
        OverflowFiles { home, log: Cow::Borrowed(log) }
    }

    /// Those of a log that has moved while it was read.
    pub fn of_moved(home: &'a Home, log: PathBuf) -> OverflowFiles<'a> {
        OverflowFiles { home, log: Cow::Owned(log) }
    }

    /// The file of a result, if it is there.
    pub fn find(&self, call: &str, overflow: &Overflow) -> Option<OverflowFile> {
        self.home.overflow_file(&self.log, Some(&ToolUseId::new(call)), Some(&overflow.name))
    }

    /// Whether the file of a result is there, and is not read.
    pub fn is_refused(&self, call: &str, overflow: &Overflow) -> bool {
        let call = ToolUseId::new(call);
        self.home.overflow_is_refused(&self.log, Some(&call), Some(&overflow.name))
    }

    /// Adds to a result what its file says.
    pub fn complete(&self, item: &mut Item, wanted: OverflowWanted) {
        let Item::Result { id, overflow: Some(overflow), .. } = item else { return };
        let Some(file) = self.find(id, overflow) else {
            overflow.is_refused = self.is_refused(id, overflow);
            return;
        };
        if let OverflowWanted::Bytes(most) = wanted {
            let Ok(text) = text_beginning(&file.path, most) else {
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
pub fn text_beginning(path: &Path, most: u64) -> Result<String, StoreError> {
    let mut bytes = Vec::new();
    open_file(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}
