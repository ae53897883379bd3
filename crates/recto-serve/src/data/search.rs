//! Words in all sessions.

use std::ops::ControlFlow;
use std::ops::Range;

use recto_session::search::Query;
use recto_session::search::highlights;
use recto_store::Filter;
use recto_store::index::Hit;
use recto_store::index::Request;
use recto_store::index::SearchFilter;
use recto_store::index::Sorting;
use recto_store::parse_time;
use serde::Serialize;

use crate::answer::Failure;
use crate::context::Context;
use crate::data::Moment;

/// How much of a text is shown before and after the first place that fits, in bytes.
const BEFORE: usize = 80;
const AFTER: usize = 320;

/// What was found.
#[derive(Debug, Serialize)]
pub(crate) struct SearchAnswer {
    /// How many places fit in all.
    pub(crate) total: usize,
    /// In how many logs they are.
    pub(crate) logs: usize,
    pub(crate) hits: Vec<HitView>,
    /// Where the next ones begin, if there are more.
    pub(crate) next: Option<usize>,
    /// What a reader should know: what is missing, or what was wrong.
    pub(crate) remarks: Vec<String>,
}

/// A place that fits.
#[derive(Debug, Serialize)]
pub(crate) struct HitView {
    pub(crate) session: Option<String>,
    pub(crate) agent: Option<String>,
    pub(crate) project: String,
    pub(crate) cwd: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) turn: u32,
    pub(crate) line: u64,
    pub(crate) uuid: Option<String>,
    pub(crate) role: &'static str,
    pub(crate) tool: Option<String>,
    pub(crate) error: bool,
    pub(crate) time: Option<Moment>,
    /// The text around the first place that fits, in parts.
    pub(crate) parts: Vec<Part>,
}

/// A part of a text.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Part {
    pub(crate) text: String,
    /// Whether it is what was looked for.
    pub(crate) mark: bool,
}

/// What is looked for.
#[derive(Debug)]
pub(crate) struct SearchQuery {
    pub(crate) text: String,
    pub(crate) filter: Filter,
    pub(crate) by_rank: bool,
    /// How many hits to leave out before the first one.
    pub(crate) from: usize,
    pub(crate) limit: usize,
}

/// Searches all logs, as they are now.
pub(crate) fn search(context: &Context, wanted: &SearchQuery) -> Result<SearchAnswer, Failure> {
    let query = Query::parse(&wanted.text).map_err(|error| {
        Failure::bad_request("bad-query", error.message.clone()).with_hint(error.hint)
    })?;
    // The name of a project is compared, and never looked up: it is the client's.
    let filter =
        SearchFilter::new(wanted.filter.clone(), Some(&query), Filter::of_project, |_, text| {
            typed_time(context, text)
        })?;
    let (since, until) = filter.span();
    let request = Request {
        query: &query,
        sorting: if wanted.by_rank { Sorting::Rank } else { Sorting::Newest },
        limit: wanted.from.saturating_add(wanted.limit),
        since,
        until,
        keep: &|facts| filter.fits(facts),
    };
    // A search must not miss what was written a moment ago.
    let inventory = context.home.inventory();
    // An index that is half built stays so; the next search goes on with it.
    let go_on = |_, _| match context.asking.goes_on() {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(()),
    };
    let answer = context.home.find(&inventory, &context.cache, &request, &go_on);
    let given = answer.hits.len();
    let hits = answer.hits.into_iter().skip(wanted.from);
    let hits = hits.filter_map(|hit| view(context, &query, hit));
    let mut remarks = answer.remarks;
    remarks.extend(answer.skipped.iter().map(ToString::to_string));
    // Of those that are ranked there are fewer than fit.
    let is_cut = given < answer.total && given == request.limit;
    Ok(SearchAnswer {
        total: answer.total,
        logs: answer.logs,
        hits: hits.collect(),
        next: is_cut.then_some(given),
        remarks,
    })
}

/// A time as a user types it.
pub(crate) fn typed_time(context: &Context, text: &str) -> Result<jiff::Timestamp, Failure> {
    parse_time(text, context.now(), &context.zone).ok_or_else(|| {
        Failure::bad_request("bad-time", "a time cannot be understood").with_hint(
            "use a date (2026-11-16), a time (2026-11-16T09:30), or a span (7d, 12h, 30m)",
        )
    })
}

/// A hit whose log has changed meanwhile is left out.
fn view(context: &Context, query: &Query, hit: Hit) -> Option<HitView> {
    let text = hit.read()?;
    let title = hit.session.and_then(|id| {
        let inventory = context.inventory();
        let file = inventory.sessions.iter().find(|file| file.id == id)?;
        context.digests.of(file)?.title.as_ref().map(|(title, _)| title.clone())
    });
    Some(HitView {
        session: hit.session.map(|session| session.to_string()),
        agent: hit.agent.as_ref().map(|agent| agent.as_str().to_owned()),
        project: hit.project.to_string(),
        cwd: hit.cwd.as_deref().map(str::to_owned),
        title,
        turn: hit.turn,
        line: hit.line,
        uuid: text.uuid,
        role: hit.role.name(),
        tool: hit.tool.as_deref().map(str::to_owned),
        error: hit.is_error,
        time: text.time.or(hit.time).map(Moment),
        parts: parts(&text.text, &highlights(query, &text.text)),
    })
}

/// The text around the first place that fits.
fn parts(text: &str, marks: &[Range<usize>]) -> Vec<Part> {
    let first = marks.first().map_or(0, |mark| mark.start);
    let mut start = text.floor_char_boundary(first.saturating_sub(BEFORE));
    let end = text.floor_char_boundary((first + AFTER).min(text.len()));
    // What begins in the middle of a word begins with the next one.
    if start > 0 && !text[..start].ends_with(char::is_whitespace) {
        let space = text[start..first].find(char::is_whitespace);
        start = text.ceil_char_boundary(space.map_or(start, |space| start + space + 1));
    }
    let mut parts = Vec::new();
    let mut add = |range: Range<usize>, mark: bool| {
        if !range.is_empty() {
            parts.push(Part { text: text[range].to_owned(), mark });
        }
    };
    let mut at = start;
    for mark in marks.iter().filter(|mark| mark.start >= start && mark.end <= end) {
        if mark.start >= at {
            add(at..mark.start, false);
            add(mark.clone(), true);
            at = mark.end;
        }
    }
    add(at..end, false);
    if start > 0
        && let Some(first) = parts.first_mut()
    {
        match first.mark {
            true => parts.insert(0, Part { text: "…".to_owned(), mark: false }),
            false => first.text.insert(0, '…'),
        }
    }
    if end < text.len() {
        parts.push(Part { text: "…".to_owned(), mark: false });
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_around_the_first_mark_is_cut_into_parts() {
        let part = |text: &str, mark| Part { text: text.to_owned(), mark };
        assert_eq!(
            parts("an äpple a day", &[3..9, 10..11]),
            [part("an ", false), part("äpple", true), part(" ", false), part("a", true)]
                .into_iter()
                .chain([part(" day", false)])
                .collect::<Vec<_>>()
        );
        let long = format!("{}x{}", "é".repeat(500), "é".repeat(500));
        let mark = 1000..1001;
        let cut = parts(&long, std::slice::from_ref(&mark));
        assert_eq!(cut.len(), 4);
        assert!(cut[0].text.len() <= BEFORE + 5 && cut[2].text.len() <= AFTER);
        assert!(cut[0].text.starts_with('…') && cut[3].text == "…");
        let words = format!("{}needle and more", "several words ".repeat(9));
        let at = words.find("needle").unwrap();
        let mark = at..at + 6;
        let cut = parts(&words, std::slice::from_ref(&mark));
        assert!(cut[0].text.starts_with("…several ") || cut[0].text.starts_with("…words "));
        assert_eq!(cut[2].text, " and more");
        assert_eq!(parts("", &[]), []);
    }
}
