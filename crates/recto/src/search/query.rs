//! What was typed to search for.

use recto_session::search::Query;
use recto_store::index::SearchFilter;
use recto_store::index::Sorting;
use recto_view::Search;
use recto_view::marked_sessions;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::select::filter::FilterArgs;
use crate::select::filter::of_project;
use crate::select::filter::read_time;

pub(crate) fn read_query(text: &str) -> Result<Query, CommandError> {
    Query::parse(text).map_err(|error| {
        CommandError::user("bad-query", error.message.clone()).with_hint(error.hint)
    })
}

/// A search for what was typed, in the sessions that the options name.
pub(crate) fn read_search(
    text: &str,
    args: &FilterArgs,
    environment: &Environment,
    sorting: Sorting,
    limit: usize,
) -> Result<Search, CommandError> {
    let query = read_query(text)?;
    let filter = filter(Some(&query), args, environment)?;
    Ok(Search { query, filter, sorting, limit, most_read: None })
}

/// The options and the limits in the query.
pub(crate) fn filter(
    query: Option<&Query>,
    args: &FilterArgs,
    environment: &Environment,
) -> Result<SearchFilter, CommandError> {
    let now = environment.now();
    let time = |field: &str, text: &str| read_time(field, text, now);
    let filter = SearchFilter::new(args.read(now)?, query, of_project, time)?;
    let Some(query) = query else { return Ok(filter) };
    let data = environment.data_directory().ok();
    Ok(filter.with_sessions(marked_sessions(query, data.as_ref())?))
}
