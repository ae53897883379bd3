//! `search_sessions`: full text.

use std::ops::ControlFlow;

use recto_session::search::Query;
use recto_session::search::highlights;
use recto_store::Filter;
use recto_store::index::Hit;
use recto_store::index::Request;
use recto_store::index::SearchFilter;
use recto_store::index::Sorting;
use recto_store::index::USUAL_HITS;
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
        let all = self.filter(&mut arguments)?;
        let limit =
            arguments.number("limit", SEARCH_MOST)?.map_or(USUAL_HITS, |limit| limit as usize);
        let offset = arguments.number("offset", OFFSET)?.unwrap_or(0) as usize;
        arguments.finish()?;
        let query = Query::parse(&text)
            .map_err(|error| Refusal(format!("{}; {}", error.message, error.hint)))?;
        let time = |field: &str, text: &str| self.read_time(field, text);
        let filter = SearchFilter::new(all, Some(&query), Filter::of_project, time)?;
        let (since, until) = filter.span();
        let request = Request {
            query: &query,
            sorting: Sorting::Newest,
            // None at all would mean all.
            limit: (offset + limit).max(1),
            since,
            until,
            keep: &|facts| filter.fits(facts),
        };
        let inventory = self.0.library.home().inventory();
        let go_on = |_, _| ControlFlow::Continue(());
        let answer = self.0.library.home().find(
            &inventory,
            self.0.library.cache().ok_or_else(|| Refusal::new("there is no index"))?,
            &request,
            &go_on,
        );
        let skipped = answer.skipped.iter().map(ToString::to_string);
        let page = Page {
            offset,
            total: answer.total,
            notes: answer.remarks.iter().cloned().chain(skipped).collect(),
            sum: None,
        };
        let hits = answer.hits.iter().skip(offset).take(limit);
        Ok(page.finish(hits.map(|hit| self.hit(hit, &query))))
    }

    fn hit(&self, hit: &Hit, query: &Query) -> Value {
        // A log that has changed meanwhile has no text for it; the place is told all the same.
        let text = hit.read().map(|text| {
            let text = self.say(&text.text);
            let place = highlights(query, &text).first().map_or(0, |range| range.start);
            around(&text, place, SNIPPET)
        });
        json!({
            "session": hit.session.map(|session| session.to_string()),
            "agent": hit.agent.as_ref().map(|agent| format!("agent-{agent}")),
            "turn": hit.turn,
            "time": hit.time.map(|time| format!("{time:.0}")),
            "cwd": self.say_some(hit.cwd.as_deref()),
            "role": hit.role.name(),
            "tool": self.say_some(hit.tool.as_deref()),
            "is_error": hit.is_error,
            "text": text,
        })
    }
}
