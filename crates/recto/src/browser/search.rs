//! Full text of all sessions. The one place that knows how it is searched.
//!
//! The logs themselves are read, the newest first, and given up as soon as other
//! words are wanted. An index can take the place of [`search`]; nothing else of the
//! browser knows.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use rayon::prelude::*;
use recto_log::LineReader;
use recto_log::decode;
use recto_session::Feed;
use recto_session::Item;
use recto_store::AgentFile;
use recto_store::Home;
use recto_store::open_file;

use super::message::Hit;
use super::message::SearchState;
use crate::text::one_line;

/// How many hits are shown at most; nobody reads more.
const MOST_HITS: usize = 1000;
/// How many of them of one log.
const MOST_OF_LOG: usize = 50;
/// How many logs are read at once, so that hits come in the order of the sessions.
const AT_ONCE: usize = 16;
/// How many characters stand before the words in a snippet.
const BEFORE: usize = 24;
/// How long a snippet is.
const SNIPPET: usize = 240;

/// What a search tells while it runs.
pub(super) enum Found {
    Hits(Vec<Hit>),
    State(SearchState),
}

/// The words of a query: all of them must be in the same text.
pub(super) fn words(query: &str) -> Vec<String> {
    query.split_whitespace().map(str::to_lowercase).collect()
}

/// A log that is searched.
struct Log {
    path: PathBuf,
    bytes: u64,
    modified: Timestamp,
    /// The session; that of a subagent is named in its lines.
    session: Option<String>,
    agent: Option<Arc<AgentFile>>,
}

/// All logs, the newest first.
fn logs(home: &Home) -> Vec<Log> {
    let inventory = home.inventory();
    let sessions = inventory.sessions.iter().map(|session| Log {
        path: session.path.clone(),
        bytes: session.bytes,
        modified: session.modified,
        session: Some(session.id.to_string()),
        agent: None,
    });
    let agents = home.all_agents(&inventory).into_iter();
    // Helpers of the client are no work of the user's.
    let agents =
        agents.filter(|agent| !agent.id.is_prompt_suggestion() && !agent.id.is_compaction());
    let agents = agents.map(|agent| Log {
        path: agent.path.clone(),
        bytes: agent.bytes,
        modified: agent.modified,
        session: None,
        agent: Some(Arc::new(agent)),
    });
    let mut logs: Vec<Log> = sessions.chain(agents).collect();
    logs.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.path.cmp(&b.path)));
    logs
}

/// Looks for the words in all logs.
pub(super) fn search(
    home: &Home,
    query: &str,
    is_stopped: &(dyn Fn() -> bool + Sync),
    tell: &mut dyn FnMut(Found),
) {
    let words = words(query);
    if words.is_empty() {
        return tell(Found::State(SearchState::Whole));
    }
    let logs = logs(home);
    let all: u64 = logs.iter().map(|log| log.bytes).sum();
    let (mut read, mut count) = (0, 0);
    for piece in logs.chunks(AT_ONCE) {
        let found: Vec<Vec<Hit>> =
            piece.par_iter().map(|log| hits_of(log, &words, is_stopped)).collect();
        if is_stopped() {
            return;
        }
        let hits: Vec<Hit> = found.into_iter().flatten().take(MOST_HITS - count).collect();
        count += hits.len();
        if !hits.is_empty() {
            tell(Found::Hits(hits));
        }
        if count >= MOST_HITS {
            return tell(Found::State(SearchState::Cut));
        }
        read += piece.iter().map(|log| log.bytes).sum::<u64>();
        let percent = (read * 100).checked_div(all).unwrap_or(100);
        tell(Found::State(SearchState::Running { percent }));
    }
    tell(Found::State(SearchState::Whole));
}

/// The hits of a log. One that cannot be read to its end holds nothing more that
/// could be shown.
fn hits_of(log: &Log, words: &[String], is_stopped: &(dyn Fn() -> bool + Sync)) -> Vec<Hit> {
    let mut hits = Vec::new();
    let mut feed = Feed::default();
    let Ok(file) = open_file(&log.path) else { return hits };
    let mut lines = LineReader::new(file);
    while let Ok(Some(line)) = lines.next_line() {
        if is_stopped() || hits.len() >= MOST_OF_LOG {
            break;
        }
        let (entry, _) = decode(line);
        for shown in feed.next(&entry) {
            let (text, is_shown_in_brief) = text_of(&shown.item);
            let Some(snippet) = snippet(&text, words) else { continue };
            let session = log.session.clone().or_else(|| Some(entry.session_id()?.to_string()));
            hits.push(Hit {
                session: session.unwrap_or_default(),
                agent: log.agent.clone(),
                line: shown.origin.line,
                turn: (shown.turn > 0).then_some(shown.turn),
                snippet,
                is_shown_in_brief,
            });
        }
    }
    hits
}

/// The text of an item, and whether a brief transcript shows it.
fn text_of(item: &Item) -> (String, bool) {
    match item {
        Item::Prompt { text, .. } | Item::Answer { text } => (text.clone(), true),
        Item::Thinking { text } => (text.clone(), false),
        Item::Call { name, about, input, .. } => {
            let input = String::from_utf8_lossy(input);
            (format!("{name} {about} {input}"), false)
        }
        Item::Result { text, .. } => (text.clone(), false),
        Item::Note { text, .. } => (text.clone(), true),
    }
}

/// The words with what stands around them, on one line; none if one is missing.
fn snippet(text: &str, words: &[String]) -> Option<String> {
    let lower = text.to_lowercase();
    let mut first = usize::MAX;
    for word in words {
        first = first.min(lower.find(word.as_str())?);
    }
    // Lower case may have another length; near is good enough for a snippet.
    let before = lower[..first].chars().count().saturating_sub(BEFORE);
    let around: String = text.chars().skip(before).take(SNIPPET).collect();
    let line = one_line(&around);
    Some(if before > 0 { format!("…{line}") } else { line })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_words_must_be_there_in_any_case_and_order() {
        let snippet = |text: &str, query: &str| snippet(text, &words(query));
        assert_eq!(snippet("The Parser\nfails", "fails PARSER"), Some("The Parser fails".into()));
        assert_eq!(snippet("The parser fails", "parser works"), None);
        let long = format!("{} needle in hay", "x".repeat(50));
        assert_eq!(snippet(&long, "needle"), Some(format!("…{} needle in hay", "x".repeat(23))));
        assert_eq!(snippet("İİİ ẞ needle", "needle"), Some("İİİ ẞ needle".into()));
    }
}
