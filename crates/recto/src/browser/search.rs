//! Full text of all sessions. The one place that knows how it is searched.
//!
//! The index answers, as it does for `recto find`: first it takes in what is new in the
//! logs, so that what was written a moment ago is found.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use recto_session::search::Query;
use recto_session::search::Role;
use recto_session::search::highlights;
use recto_store::AgentFile;
use recto_store::Home;
use recto_store::Inventory;
use recto_store::index;
use recto_store::index::Request;
use recto_store::index::Sorting;

use super::message::FoundPlace;
use super::message::Hit;
use super::message::Report;
use super::message::SearchState;
use super::message::Shown;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::filter::FilterArgs;
use crate::searching;
use crate::searching::read_query;
use crate::text::one_line;

/// How many hits are shown at most; nobody reads more.
const MOST_HITS: usize = 1000;
/// How many characters stand before the words in a snippet.
const BEFORE: usize = 24;
/// How many different words of a hit are marked.
const MOST_WORDS: usize = 16;
/// How long a snippet is.
const SNIPPET: usize = 240;

/// What a search tells while it runs.
pub(super) enum Found {
    Hits(Vec<Hit>),
    State(SearchState),
    /// What the user should know: what is missing, or what was wrong.
    Remark(String),
}

impl Found {
    /// What the search with this ticket reports.
    pub(super) fn report(self, ticket: u64) -> Report {
        match self {
            Found::Hits(hits) => Report::Hits { ticket, hits },
            Found::State(state) => Report::Searched { ticket, state },
            Found::Remark(text) => Report::Remark(text),
        }
    }
}

/// What is marked in a text: the words of a query, without what else it says.
pub(super) fn words(query: &str) -> Vec<String> {
    let words = query.split_whitespace();
    let words = words.filter(|word| *word != "OR" && !word.starts_with('-') && !word.contains(':'));
    let words = words.map(|word| word.trim_matches(['"', '*', '(', ')']).to_lowercase());
    words.filter(|word| !word.is_empty()).collect()
}

/// A query that is being typed, made whole: a phrase is closed, and the last word may be
/// the beginning of one.
fn made_whole(typed: &str) -> String {
    let typed = typed.trim();
    if typed.matches('"').count() % 2 == 1 {
        return format!("{typed}\"");
    }
    let last = typed.split_whitespace().next_back().unwrap_or_default();
    let is_word = last.chars().all(|c| c.is_alphanumeric() || c == '_') && last != "OR";
    // The beginnings of a single letter are nearly everything.
    if is_word && last.chars().count() > 1 { format!("{typed}*") } else { typed.to_owned() }
}

/// Looks for what was typed in all logs, the newest first.
pub(super) fn search(
    home: &Home,
    environment: &Environment,
    typed: &str,
    is_stopped: &(dyn Fn() -> bool + Sync),
    tell: &(dyn Fn(Found) + Sync),
) -> Result<(), CommandError> {
    let text = made_whole(typed);
    if text.is_empty() {
        tell(Found::State(SearchState::Whole));
        return Ok(());
    }
    let query = read_query(&text)?;
    let filter = searching::filter(Some(&query), &FilterArgs::default(), environment)?;
    let (since, until) = filter.span();
    let request = Request {
        query: &query,
        sorting: Sorting::Newest,
        limit: MOST_HITS,
        since,
        until,
        keep: &|facts| filter.fits(facts),
    };
    let cache = environment.cache_directory()?;
    let inventory = home.inventory();
    let answer = home.find(&inventory, &cache, &request, &|done, all| {
        if is_stopped() {
            return ControlFlow::Break(());
        }
        let percent = (done * 100).checked_div(all).unwrap_or(100);
        tell(Found::State(SearchState::Running { percent }));
        ControlFlow::Continue(())
    });
    if answer.is_given_up || is_stopped() {
        return Ok(());
    }
    for remark in answer.remarks {
        tell(Found::Remark(remark));
    }
    let is_cut = answer.total > answer.hits.len();
    tell(Found::Hits(hits(home, &inventory, &query, answer.hits)));
    tell(Found::State(if is_cut { SearchState::Cut } else { SearchState::Whole }));
    Ok(())
}

/// The hits by log, the log with the newest hit first; in a log, in its order.
fn hits(home: &Home, inventory: &Inventory, query: &Query, found: Vec<index::Hit>) -> Vec<Hit> {
    let mut agents: HashMap<PathBuf, Arc<AgentFile>> = HashMap::new();
    if found.iter().any(|hit| hit.agent.is_some()) {
        let all = home.all_agents(inventory).into_iter();
        agents.extend(all.map(|agent| (agent.path.clone(), Arc::new(agent))));
    }
    let mut logs: Vec<Vec<index::Hit>> = Vec::new();
    let mut places: HashMap<PathBuf, usize> = HashMap::new();
    for hit in found {
        let place = *places.entry(hit.path.clone()).or_insert_with(|| {
            logs.push(Vec::new());
            logs.len() - 1
        });
        logs[place].push(hit);
    }
    let mut hits = Vec::new();
    for mut log in logs {
        log.sort_by_key(|hit| (hit.line, hit.part));
        for hit in log {
            // A log that has changed meanwhile is found again by the next search.
            let Some(text) = hit.read() else { continue };
            hits.push(Hit {
                session: hit.session.map(|session| session.to_string()).unwrap_or_default(),
                agent: agents.get(&hit.path).cloned(),
                line: hit.line,
                turn: (hit.turn > 0).then_some(hit.turn),
                snippet: snippet(query, &text.text),
                shown: shown(hit.role),
                place: Arc::new(FoundPlace { words: found_words(query, &text.text), hit }),
            });
        }
    }
    hits
}

fn shown(role: Role) -> Shown {
    match role {
        Role::User | Role::Assistant => Shown::InBrief,
        Role::Thinking | Role::ToolInput | Role::ToolResult | Role::Plan => Shown::InFull,
        Role::Summary | Role::Title | Role::System => Shown::Apart,
    }
}

/// What fits the query, as it stands in the text: `parse_line` fits `parseLine`.
fn found_words(query: &Query, text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for place in highlights(query, text) {
        let word = one_line(&text[place]).to_lowercase();
        if words.len() < MOST_WORDS && !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// The first place that fits, with what stands around it, on one line.
fn snippet(query: &Query, text: &str) -> String {
    let first = highlights(query, text).first().map_or(0, |place| place.start);
    let before = text[..first].chars().count().saturating_sub(BEFORE);
    let around: String = text.chars().skip(before).take(SNIPPET).collect();
    let line = one_line(&around);
    if before > 0 { format!("…{line}") } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_being_typed_is_made_whole() {
        assert_eq!(made_whole(" pars"), "pars*");
        assert_eq!(made_whole("p"), "p");
        assert_eq!(made_whole("\"empty li"), "\"empty li\"");
        assert_eq!(made_whole("a OR"), "a OR");
        assert_eq!(made_whole("panic tool:Bash"), "panic tool:Bash");
        assert_eq!(made_whole("  "), "");
    }

    #[test]
    fn words_are_marked_and_limits_are_not() {
        assert_eq!(words("\"Empty line\" OR pars* -not tool:Bash"), ["empty", "line", "pars"]);
    }

    #[test]
    fn a_snippet_is_around_the_first_place() {
        let query = read_query("needle").unwrap();
        let long = format!("{} needle\nin hay", "x".repeat(50));
        assert_eq!(snippet(&query, &long), format!("…{} needle in hay", "x".repeat(23)));
        assert_eq!(snippet(&query, "needle"), "needle");
    }
}
