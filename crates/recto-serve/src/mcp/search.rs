//! `search_sessions`: full text.

use recto_session::search::Query;
use recto_session::search::highlights;
use recto_store::index::Hit;
use recto_store::index::USUAL_HITS;
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
use super::tools::OFFSET;
use super::tools::SEARCH_MOST;

/// How much of a text is given with a hit.
const SNIPPET: usize = 600;

impl Archive {
    pub(super) fn search(&self, mut arguments: Arguments) -> Result<String, Refusal> {
        let text = arguments.required_text("query")?;
        let filter = self.filter(&mut arguments)?;
        let limit =
            arguments.number("limit", SEARCH_MOST)?.map_or(USUAL_HITS, |limit| limit as usize);
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
        told["cwd"] = json!(self.say_some(hit.cwd.as_deref()));
        told["text"] = json!(read.map(|text| {
            let text = self.say(&text.text);
            let place = highlights(query, &text).first().map_or(0, |range| range.start);
            around(&text, place, SNIPPET)
        }));
        told
    }
}
