//! Words in all sessions.

use std::ops::ControlFlow;
use std::ops::Deref;
use std::ops::Range;

use recto_session::search::Expression;
use recto_session::search::Query;
use recto_session::search::highlights;
use recto_store::CacheDirectory;
use recto_store::Filter;
use recto_store::GrepRequest;
use recto_store::Home;
use recto_store::Inventory;
use recto_store::index::Answer;
use recto_store::index::Hit;
use recto_store::index::HitText;
use recto_store::index::Request;
use recto_store::index::SearchFilter;
use recto_store::index::Sorting;
use recto_store::parse_time;
use serde::Serialize;

use crate::Moment;
use crate::SessionNames;
use crate::error::ViewError;
use crate::library::Asker;
use crate::library::Library;
use crate::marks::marked_sessions;

/// How much of a text is shown before and after the first place that fits, in bytes.
const BEFORE: usize = 80;
const AFTER: usize = 320;

/// What was found.
#[derive(Debug, Serialize)]
pub struct SearchAnswer {
    /// How many places fit in all.
    pub total: usize,
    /// In how many logs they are.
    pub logs: usize,
    /// The hits that were asked for.
    pub hits: Vec<HitView>,
    /// Where the next ones begin, if there are more.
    pub next: Option<usize>,
    /// What a reader should know: what is missing, or what was wrong.
    pub remarks: Vec<String>,
}

/// Where a text that matches is.
#[derive(Debug, Clone, Serialize)]
pub struct HitRow {
    /// The session; none for a subagent whose session is not known.
    pub session: Option<String>,
    /// The subagent, if it is in the log of one.
    pub agent: Option<String>,
    /// The log.
    pub path: String,
    /// The line, from 1.
    pub line: u64,
    /// The byte at which the line begins.
    pub offset: u64,
    /// The id of the line.
    pub uuid: Option<String>,
    /// Whose text it is.
    pub role: &'static str,
    /// The tool, of inputs and results.
    pub tool: Option<String>,
    /// Whether a call failed.
    pub error: bool,
    /// The turn, in the order of the log.
    pub turn: u32,
    /// When the line was written, or the one before it that has a time.
    pub timestamp: Option<Moment>,
    /// The file that has the text, if the result was too long for the log.
    pub overflow: Option<String>,
}

impl HitRow {
    /// A hit whose text was read.
    pub fn of(hit: &Hit, text: &HitText) -> HitRow {
        HitRow {
            session: hit.session.map(|session| session.to_string()),
            agent: hit.agent.as_ref().map(|agent| agent.as_str().to_owned()),
            path: hit.path.to_string_lossy().into_owned(),
            line: hit.line,
            offset: hit.offset,
            uuid: text.uuid.clone(),
            role: hit.role.name(),
            tool: hit.tool.as_deref().map(str::to_owned),
            error: hit.is_error,
            turn: hit.turn,
            timestamp: text.time.or(hit.time).map(Moment),
            overflow: hit.overflow.as_ref().map(|path| path.to_string_lossy().into_owned()),
        }
    }
}

/// A hit with the text around it.
#[derive(Debug, Serialize)]
pub struct HitView {
    /// Where it is.
    #[serde(flatten)]
    pub row: HitRow,
    /// What addresses call the session: its id, and a place if several logs have that id.
    pub name: Option<String>,
    /// The name of the project's directory.
    pub project: String,
    /// The working directory.
    pub cwd: Option<String>,
    /// What the session is called.
    pub title: Option<String>,
    /// The text around the first place that fits, in parts.
    pub parts: Vec<Part>,
}

impl Deref for HitView {
    type Target = HitRow;

    fn deref(&self) -> &HitRow {
        &self.row
    }
}

/// Hits as the store found them; their texts are still in the logs.
#[derive(Debug)]
pub struct Hits {
    /// What was looked for.
    pub query: Query,
    /// The hits that were asked for.
    pub hits: Vec<Hit>,
    /// How many places fit in all.
    pub total: usize,
    /// In how many logs they are.
    pub logs: usize,
    /// Where the next ones begin, if there are more.
    pub next: Option<usize>,
    /// What a reader should know: what is missing, or what was wrong.
    pub remarks: Vec<String>,
}

/// A part of a text.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// The text.
    pub text: String,
    /// Whether it is what was looked for.
    pub mark: bool,
}

/// What is looked for.
#[derive(Debug)]
pub struct SearchQuery {
    /// What is looked for, as a user types it.
    pub text: String,
    /// Which sessions.
    pub filter: Filter,
    /// Whether the best come first, in place of the newest.
    pub by_rank: bool,
    /// How many hits to leave out before the first one.
    pub from: usize,
    /// How many hits are wanted.
    pub limit: usize,
}

/// What is looked for, read and ready.
#[derive(Debug)]
pub struct Search {
    /// What a text must have.
    pub query: Query,
    /// Which logs, and when.
    pub filter: SearchFilter,
    /// The order of the hits.
    pub sorting: Sorting,
    /// How many hits are wanted; 0 for all.
    pub limit: usize,
    /// How many bytes that are not in the index are read before an answer is given; none
    /// builds the index first.
    pub most_read: Option<u64>,
}

impl Search {
    /// Searches all logs. `tell` is that of [`Home::find`].
    pub fn find(
        &self,
        home: &Home,
        inventory: &Inventory,
        cache: &CacheDirectory,
        tell: &(dyn Fn(u64, u64) -> ControlFlow<()> + Sync),
    ) -> Answer {
        let (since, until) = self.filter.span();
        let request = Request {
            query: &self.query,
            sorting: self.sorting,
            limit: self.limit,
            since,
            until,
            keep: &|facts| self.filter.fits(facts),
            most_read: self.most_read,
        };
        home.find(inventory, cache, &request, tell)
    }
}

/// What an exact search looks for, read and ready.
#[derive(Debug)]
pub struct Grep {
    /// What a text must match.
    pub expression: Expression,
    /// What it must have besides.
    pub query: Option<Query>,
    /// Which logs, and when.
    pub filter: SearchFilter,
    /// How many hits are wanted; 0 for all.
    pub limit: usize,
}

impl Grep {
    /// Searches all logs, without an index. `tell` is that of [`Home::grep`].
    pub fn find(
        &self,
        home: &Home,
        inventory: &Inventory,
        tell: &(dyn Fn(u64, u64) + Sync),
    ) -> Answer {
        let (since, until) = self.filter.span();
        let request = GrepRequest {
            expression: &self.expression,
            query: self.query.as_ref(),
            limit: self.limit,
            since,
            until,
            keep: &|facts| self.filter.fits(facts),
        };
        home.grep(inventory, &request, tell)
    }
}

impl Library {
    /// Searches all logs, as they are now, and reads the texts of the hits.
    pub fn search(&self, wanted: &SearchQuery, asker: &Asker) -> Result<SearchAnswer, ViewError> {
        let Hits { query, hits, total, logs, next, remarks } = self.hits(wanted, asker)?;
        let names = SessionNames::of(&self.inventory());
        let hits = hits.iter().filter_map(|hit| view(self, &query, hit, &names)).collect();
        Ok(SearchAnswer { total, logs, hits, next, remarks })
    }

    /// Searches all logs, as they are now.
    pub fn hits(&self, wanted: &SearchQuery, asker: &Asker) -> Result<Hits, ViewError> {
        let query = Query::parse(&wanted.text).map_err(|error| {
            ViewError::refused("bad-query", error.message.clone()).with_hint(error.hint)
        })?;
        // The name of a project is compared, and never looked up: it is the client's.
        let filter = SearchFilter::new(
            wanted.filter.clone(),
            Some(&query),
            Filter::of_project,
            |_, text| self.typed_time(text),
        )?
        .with_sessions(marked_sessions(&query, self.data().ok())?);
        let sorting = if wanted.by_rank { Sorting::Rank } else { Sorting::Newest };
        let limit = wanted.from.saturating_add(wanted.limit);
        let search = Search { query, filter, sorting, limit, most_read: None };
        // A search must not miss what was written a moment ago.
        let inventory = self.home().inventory();
        // An index that is half built stays so; the next search goes on with it.
        let go_on = |_, _| match asker.is_waiting() {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        };
        let answer = search.find(self.home(), &inventory, self.index_directory()?, &go_on);
        let given = answer.hits.len();
        let mut remarks = answer.remarks;
        remarks.extend(answer.skipped.iter().map(ToString::to_string));
        // Of those that are ranked there are fewer than fit.
        let is_cut = given < answer.total && given == search.limit;
        Ok(Hits {
            total: answer.total,
            logs: answer.logs,
            next: is_cut.then_some(given),
            hits: answer.hits.into_iter().skip(wanted.from).collect(),
            remarks,
            query: search.query,
        })
    }
}

impl Library {
    /// A time as a user types it.
    pub fn typed_time(&self, text: &str) -> Result<jiff::Timestamp, ViewError> {
        parse_time(text, self.now(), self.zone()).ok_or_else(|| {
            ViewError::refused("bad-time", "invalid time").with_hint(
                "use a date (2026-11-16), a time (2026-11-16T09:30), or a span (7d, 12h, 30m)",
            )
        })
    }
}

/// A hit whose log has changed meanwhile is left out.
fn view(library: &Library, query: &Query, hit: &Hit, names: &SessionNames) -> Option<HitView> {
    let text = hit.read()?;
    let name = hit.session.map(|id| names.name(id, &hit.project));
    let title = name.and_then(|name| {
        let inventory = library.inventory();
        let file = inventory.sessions.iter().find(|file| name.means(file))?;
        library.digests().of(file)?.title.as_ref().map(|(title, _)| title.clone())
    });
    Some(HitView {
        row: HitRow::of(hit, &text),
        name: name.map(|name| name.to_string()),
        project: hit.project.to_string(),
        cwd: hit.cwd.as_deref().map(str::to_owned),
        title,
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
