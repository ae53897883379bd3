//! Whole texts: what a list of items has cut.

use recto_session::Item;
use recto_session::items;
use recto_store::OverflowFiles;
use recto_store::OverflowWanted;

use crate::Reading;
use crate::error::ViewError;
use crate::library::Library;
use crate::turns::result_item;

/// How much of a file beside the log is given at most.
const MOST: u64 = 16 * 1024 * 1024;

impl Library {
    /// The whole text of a tool's result, from the file beside the log if it is there.
    pub fn result_body(&self, reading: &Reading, call: &str) -> Result<String, ViewError> {
        let session = reading.session();
        let missing = || ViewError::NotFound("the log has no result of this call");
        let known = session.names().find(call).and_then(|name| session.facts().call(name));
        let line = known.and_then(|call| call.result).ok_or_else(missing)?;
        let mut item = result_item(reading, line, call).ok_or_else(missing)?;
        let files = OverflowFiles::new(self.home(), &reading.log.path);
        files.complete(&mut item, OverflowWanted::Bytes(MOST));
        Ok(item.result_text().into_owned())
    }
}

/// All texts of a line, by its number.
pub fn line_body(reading: &Reading, number: u64) -> Result<String, ViewError> {
    let missing = || ViewError::NotFound("the conversation has no such line");
    let session = reading.session();
    let id = session.ids().find(|id| session.node(*id).line == number).ok_or_else(missing)?;
    let items = reading.loaded.with_entry(id, items).ok_or_else(missing)?;
    let texts = items.into_iter().map(|item| match item {
        Item::Prompt { text, .. }
        | Item::Answer { text }
        | Item::Thinking { text }
        | Item::Result { text, .. }
        | Item::Note { text, .. } => text,
        Item::Call { input, .. } => String::from_utf8_lossy(&input).into_owned(),
    });
    Ok(texts.collect::<Vec<_>>().join("\n\n"))
}
