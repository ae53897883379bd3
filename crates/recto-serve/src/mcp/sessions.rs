//! `list_sessions`.

use recto_view::Listing;
use recto_view::SessionQuery;

use super::archive::Archive;
use super::archive::Refusal;
use super::arguments::Arguments;
use super::reply::Page;
use super::tools::LIST_MOST;
use super::tools::OFFSET;

/// How much of a title or a prompt is given.
const TEXT: usize = 200;

impl Archive {
    pub(super) fn list(&self, mut arguments: Arguments) -> Result<String, Refusal> {
        let filter = self.filter(&mut arguments)?;
        let limit = arguments.number("limit", LIST_MOST)?.unwrap_or(20) as usize;
        let offset = arguments.number("offset", OFFSET)?.unwrap_or(0) as usize;
        arguments.finish()?;
        let listing = Listing { filter, ..Listing::default() };
        let query = SessionQuery { listing, from: offset, count: limit, ..SessionQuery::default() };
        let list = self.0.library.sessions(&query);
        let skipped = self.0.library.inventory();
        let notes = skipped.skipped.iter().map(ToString::to_string);
        let page = Page { offset, total: list.total, notes: notes.collect(), sum: None };
        Ok(page.finish(list.sessions.iter().map(|row| self.told(row, TEXT))))
    }
}
