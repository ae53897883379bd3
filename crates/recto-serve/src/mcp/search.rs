//! `search_sessions`: full text.

use recto_session::search::Query;
use recto_session::search::highlights;
use recto_store::index::Hit;
use recto_view::Asker;
use recto_view::HitRow;
use recto_view::SearchQuery;
use serde_json::Value;
use serde_json::json;

use super::archive::Archive;
use super::archive::Refusal;
use super::arguments::Arguments;
use super::reply::Page;
use super::reply::around;
use super::reply::cut;
use super::tools::OFFSET;
use super::tools::SEARCH_MOST;
use super::tools::SEARCH_USUAL;

/// How much of a text is given with a hit.
const SNIPPET: usize = 300;
const TITLE: usize = 120;

impl Archive {
    pub(super) fn search(&self, mut arguments: Arguments) -> Result<String, Refusal> {
        let text = arguments.required_text("query")?;
        let filter = self.filter(&mut arguments)?;
        let limit = arguments.number("limit", SEARCH_MOST)?.unwrap_or(SEARCH_USUAL) as usize;
        let offset = arguments.number("offset", OFFSET)?.unwrap_or(0) as usize;
        arguments.finish()?;
        // None at all would mean all.
        let most = limit.max(1);
        let wanted = SearchQuery { text, filter, by_rank: false, from: offset, limit: most };
        let found = self.0.library.hits(&wanted, &Asker::default())?;
        let page = Page { offset, total: found.total, notes: found.remarks, sum: None };
        Ok(page.finish(found.hits.iter().take(limit).map(|hit| self.hit(hit, &found.query))))
    }

    fn hit(&self, hit: &Hit, query: &Query) -> Value {
        // A log that has changed meanwhile has no text for it; the place is told all the same.
        let read = hit.read();
        let row = HitRow::of(hit, &read.clone().unwrap_or_default());
        let mut told = self.told(&row, SNIPPET);
        let title =
            hit.session.and_then(|id| self.0.library.title_of(&self.0.library.inventory(), id));
        told["title"] = json!(self.say_some(title.as_deref()).map(|title| cut(&title, TITLE)));
        told["cwd"] = json!(self.say_some(hit.cwd.as_deref()));
        told["text"] = json!(read.map(|text| {
            let text = self.say(&text.text);
            let place = highlights(query, &text).first().map_or(0, |range| range.start);
            around(&text, place, SNIPPET)
        }));
        told
    }
}
