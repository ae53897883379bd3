//! Which logs a search looks at: what is asked beside the query, and what the query itself
//! says about projects and times.

use std::collections::HashSet;

use jiff::Timestamp;
use recto_session::search::Limit;
use recto_session::search::Query;

use super::LogFacts;
use crate::Digest;
use crate::Filter;

/// How many hits are given to who does not say how many.
pub const USUAL_HITS: usize = 20;

/// The filters of a search.
#[derive(Debug, Clone)]
pub struct SearchFilter {
    all: Filter,
    /// Projects of the query, and whether each one is refused.
    projects: Vec<(Filter, bool)>,
    /// Beginnings of ids of sessions, and whether each one is refused.
    sessions: Vec<(String, bool)>,
    /// Sets of sessions, and whether each one is refused.
    sets: Vec<(HashSet<String>, bool)>,
}

impl SearchFilter {
    /// Joins what is asked beside a query with what it says itself. `of_project` makes a
    /// filter of the name of a project; `read_time` reads what stands behind a field such
    /// as `before:`, which it is told for its message.
    pub fn new<E>(
        all: Filter,
        query: Option<&Query>,
        of_project: impl Fn(&str) -> Filter,
        read_time: impl Fn(&str, &str) -> Result<Timestamp, E>,
    ) -> Result<SearchFilter, E> {
        let mut filter =
            SearchFilter { all, projects: Vec::new(), sessions: Vec::new(), sets: Vec::new() };
        for limit in query.into_iter().flat_map(|query| &query.limits) {
            match limit {
                Limit::Project { name, is_not } => {
                    filter.projects.push((of_project(name), *is_not));
                }
                Limit::Session { id, is_not } => filter.sessions.push((id.clone(), *is_not)),
                // Who knows the marks gives the sessions: see `with_sessions`.
                Limit::Tag { .. } | Limit::Starred { .. } => {}
                Limit::Before(text) => filter.all.narrow(None, Some(read_time("before:", text)?)),
                Limit::After(text) => filter.all.narrow(Some(read_time("after:", text)?), None),
            }
        }
        Ok(filter)
    }

    /// Only these sessions, or none of them.
    pub fn with_sessions(mut self, sets: Vec<(HashSet<String>, bool)>) -> SearchFilter {
        self.sets.extend(sets);
        self
    }

    /// The time that is asked for, in milliseconds since 1970.
    pub fn span(&self) -> (Option<i64>, Option<i64>) {
        self.all.span()
    }

    /// Whether a log is looked at.
    pub fn fits(&self, facts: &LogFacts) -> bool {
        let digest = Digest {
            cwd: facts.cwd.clone(),
            model: facts.model.clone(),
            branch: facts.branch.clone(),
            ..Digest::default()
        };
        let fits = |filter: &Filter| filter.fits(&facts.project, &digest);
        let session = facts.session.as_deref().unwrap_or_default();
        let is_session = |id: &str| session.to_ascii_lowercase().starts_with(id);
        self.sessions.iter().all(|(id, is_not)| is_session(id) != *is_not)
            && self.sets.iter().all(|(set, is_not)| set.contains(session) != *is_not)
            && fits(&self.all)
            && self.projects.iter().all(|(filter, is_not)| fits(filter) != *is_not)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_narrows_what_is_asked_beside_it() {
        let facts = |cwd: &str| LogFacts {
            project: "-home-dev-app".into(),
            cwd: Some(cwd.into()),
            model: Some("claude-opus-5-5".into()),
            branch: Some("main".into()),
            is_agent: false,
            session: Some("3f2a1b4c".into()),
        };
        let filter = |all: Filter, query: &str| {
            let query = Query::parse(query).unwrap();
            let time = |field: &str, text: &str| {
                text.parse::<Timestamp>().map_err(|_| format!("{field} {text}"))
            };
            SearchFilter::new(all, Some(&query), Filter::of_project, time)
        };
        let fits = |query: &str, cwd: &str| {
            filter(Filter::of_project("dev"), query).unwrap().fits(&facts(cwd))
        };
        assert!(fits("word", "/home/dev/app"));
        assert!(fits("word session:3f2a", "/home/dev/app"));
        assert!(!fits("word session:4f2a", "/home/dev/app"));
        assert!(!fits("word -session:3f2a", "/home/dev/app"));
        assert!(!fits("word", "/home/me/app"));
        assert!(fits("word project:app", "/home/dev/app"));
        assert!(!fits("word project:docs", "/home/dev/app"));
        assert!(!fits("word -project:app", "/home/dev/app"));
        assert!(fits("word -project:docs", "/home/dev/app"));
        let time = |text: &str| text.parse::<Timestamp>().unwrap();
        let since = Some(time("2026-11-02T00:00:00Z"));
        let all = Filter { since, ..Filter::default() };
        let span = |query: &str| filter(all.clone(), query).unwrap().span();
        let day = |text: &str| Some(time(text).as_millisecond());
        let second = day("2026-11-02T00:00:00Z");
        assert_eq!(span("word"), (second, None));
        assert_eq!(span("word after:2026-11-01T00:00:00Z"), (second, None));
        assert_eq!(
            span("word after:2026-11-03T00:00:00Z before:2026-11-04T00:00:00Z"),
            (day("2026-11-03T00:00:00Z"), day("2026-11-04T00:00:00Z"))
        );
        assert_eq!(filter(all.clone(), "word after:soon").unwrap_err(), "after: soon");
    }
}
