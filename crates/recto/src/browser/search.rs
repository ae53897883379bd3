//! Full text of all sessions. The one place that knows how it is searched.
//!
//! The index answers, as it does for `recto search`: first it takes in what is new in the
//! logs, so that what was written a moment ago is found. If much is new, the newest logs are
//! read instead, and the index is built beside.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Instant;

use recto_session::search::Query;
use recto_session::search::TextRole;
use recto_session::search::highlights;
use recto_store::CacheDirectory;
use recto_store::Home;
use recto_store::Inventory;
use recto_store::LogFile;
use recto_store::index;
use recto_store::index::Sorting;
use recto_view::Search;

use super::message::FoundPlace;
use super::message::Hit;
use super::message::Report;
use super::message::SearchState;
use super::message::Shown;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::search::background;
use crate::search::query::read_search;
use crate::select::filter::FilterArgs;
use crate::terminal::text::one_line;

/// How many hits are shown at most; nobody reads more.
const MOST_HITS: usize = 1000;
/// How many bytes of new lines are read for an answer; more is taken into the index first.
const AT_ONCE: u64 = 1 << 20;
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
    /// The same, with all that could not be read, to look it up.
    Unsearched(Vec<String>),
}

impl Found {
    /// What the search with this ticket reports.
    pub(super) fn report(self, ticket: u64) -> Report {
        match self {
            Found::Hits(hits) => Report::Hits { ticket, hits },
            Found::State(state) => Report::Searched { ticket, state },
            Found::Remark(text) => Report::Remark(text),
            Found::Unsearched(told) => Report::Unsearched { ticket, told },
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

/// What the search with this ticket reports when there is no answer.
pub(super) fn failed(ticket: u64, error: &CommandError) -> Report {
    let mut message = error.to_string();
    for hint in error.hints() {
        message.push_str("; ");
        message.push_str(&hint);
    }
    Report::Failed { ticket: Some(ticket), message }
}

/// A query that is being typed, made whole: a phrase is closed, and the last word may be
/// the beginning of one.
fn made_whole(typed: &str) -> String {
    let typed = typed.trim();
    if typed.matches('"').count() % 2 == 1 {
        let (before, phrase) = typed.rsplit_once('"').unwrap_or_default();
        if phrase.trim().is_empty() {
            return made_whole(before);
        }
        return begun(before, phrase).unwrap_or_else(|| format!("{typed}\""));
    }
    let last = typed.split_whitespace().next_back().unwrap_or_default();
    let is_word = last.chars().all(|c| c.is_alphanumeric() || c == '_') && last != "OR";
    // The beginnings of a single letter are nearly everything.
    if is_word && last.chars().count() > 1 { format!("{typed}*") } else { typed.to_owned() }
}

/// A phrase that is not closed, as a word with signs in it: that is looked for like a
/// phrase, and its end may be a beginning.
fn begun(before: &str, phrase: &str) -> Option<String> {
    let is_alone = before.is_empty() || before.ends_with([' ', '-', '(']);
    let last = phrase.split_whitespace().next_back()?;
    let is_letter = |c: char| c.is_alphanumeric() || c == '_';
    let is_word = last.chars().count() > 1 && last.chars().all(is_letter);
    let word: String = phrase.chars().map(|c| if is_letter(c) { c } else { ',' }).collect();
    (is_alone && is_word).then(|| format!("{before},{word}*"))
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
    let everywhere = FilterArgs::default();
    let search = read_search(&text, &everywhere, environment, Sorting::Newest, MOST_HITS)?;
    // Where much is missing, the newest logs are read, and another process builds the index.
    let search = Search { most_read: Some(background::most_read(environment)), ..search };
    let cache = environment.cache_directory()?;
    let inventory = home.inventory();
    let pace = Pace::new(tell);
    // A little is read at once; for more, the index is brought up to date first.
    let mut answer = search.find(home, &inventory, &cache, &|_, all| match all > AT_ONCE {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    if answer.is_given_up {
        refresh(home, &inventory, &cache, &pace);
        if is_stopped() {
            return Ok(());
        }
        tell(Found::State(SearchState::Running));
        answer = search.find(home, &inventory, &cache, &|done, all| {
            pace.tell(done, all);
            if is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    }
    if answer.is_given_up || is_stopped() {
        return Ok(());
    }
    let skipped = answer.skipped.iter().map(ToString::to_string);
    let told = answer.remarks.iter().cloned().chain(skipped);
    tell(Found::Unsearched(told.map(|told| one_line(&told)).collect()));
    for remark in answer.remarks {
        // It is on a line for such things: the word before it only takes room.
        let text = remark.strip_prefix("note: ").unwrap_or(&remark);
        tell(Found::Remark(text.to_owned()));
    }
    if answer.is_partial {
        background::build_unless_built(home, &inventory, environment);
    }
    let is_cut = answer.total > answer.hits.len();
    let state = match (answer.is_partial, is_cut) {
        (true, _) => SearchState::Partial,
        (false, true) => SearchState::Cut,
        (false, false) => SearchState::Whole,
    };
    tell(Found::Hits(hits(home, &inventory, &search.query, answer.hits)));
    tell(Found::State(state));
    Ok(())
}

/// Takes all that is new into the index. Nothing stops it, because whatever is asked next
/// needs it as well. Where it cannot be done, the search has an answer all the same.
fn refresh(home: &Home, inventory: &Inventory, cache: &CacheDirectory, pace: &Pace<'_>) {
    // To wait for another process that does it would be of no use.
    let status = home.index_status(inventory, cache);
    if status.is_ok_and(|status| status.is_being_built) {
        return;
    }
    let anew = false;
    let _ = home.build_index(inventory, cache, anew, &|done, all| pace.tell(done, all));
}

/// How fast logs are read.
struct Pace<'a> {
    begun: Instant,
    /// When it was told last, in milliseconds.
    told: AtomicU64,
    tell: &'a (dyn Fn(Found) + Sync),
}

impl Pace<'_> {
    fn new<'a>(tell: &'a (dyn Fn(Found) + Sync)) -> Pace<'a> {
        Pace { begun: Instant::now(), told: AtomicU64::new(0), tell }
    }

    fn tell(&self, done: u64, all: u64) {
        let elapsed = self.begun.elapsed().as_millis() as u64;
        let last = self.told.load(Ordering::Relaxed);
        // Nobody sees more than this, but the first and the last word.
        if last > 0 && elapsed < last + 100 && done < all {
            return;
        }
        self.told.store(elapsed.max(1), Ordering::Relaxed);
        let left = (elapsed * all.saturating_sub(done)).checked_div(done);
        let seconds_left = left.filter(|_| elapsed > 1000).map(|left| left / 1000 + 1);
        (self.tell)(Found::State(SearchState::Reading { done, all, seconds_left }));
    }
}

/// The hits by log, the log with the newest hit first; in a log, in its order.
fn hits(home: &Home, inventory: &Inventory, query: &Query, found: Vec<index::Hit>) -> Vec<Hit> {
    let mut agents: HashMap<PathBuf, Arc<LogFile>> = HashMap::new();
    if found.iter().any(|hit| hit.agent.is_some()) {
        let all = home.all_agents(inventory).into_iter();
        agents.extend(all.map(|agent| (agent.path.clone(), Arc::new(agent))));
    }
    let mut logs: Vec<Vec<index::Hit>> = Vec::new();
    let mut places: HashMap<Arc<Path>, usize> = HashMap::new();
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
                agent: agents.get(&*hit.path).cloned(),
                line: hit.line,
                turn: (hit.turn > 0).then_some(hit.turn),
                time: text.time.or(hit.time),
                snippet: snippet(query, &text.text),
                shown: shown(hit.role),
                place: Arc::new(FoundPlace { words: found_words(query, &text.text), hit }),
            });
        }
    }
    hits
}

fn shown(role: TextRole) -> Shown {
    match role {
        TextRole::User | TextRole::Assistant => Shown::InBrief,
        TextRole::Thinking | TextRole::ToolInput | TextRole::ToolResult | TextRole::Plan => {
            Shown::InFull
        }
        TextRole::Summary | TextRole::Title | TextRole::System => Shown::Apart,
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
    use std::sync::Mutex;

    use recto_testkit::Client;
    use recto_testkit::FakeHome;
    use recto_testkit::SessionBuilder;

    use super::*;
    use crate::search::query::read_query;

    #[test]
    fn an_index_is_made_to_its_end_though_something_else_is_asked() {
        let fake = FakeHome::new();
        let text = "many words ".repeat(50_000);
        for number in 0..4 {
            let id = format!("3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f6071{number}");
            let log = SessionBuilder::new(&id, Client::V2_1_325).prompt(&text).answer("A needle.");
            fake.add(&log, jiff::Timestamp::UNIX_EPOCH);
        }
        let directory = tempfile::tempdir().unwrap();
        let cache_dir = Some(directory.path().to_owned());
        let environment = Environment { cache_dir, ..Environment::default() };
        let home = Home::open(fake.path()).unwrap();
        let told = Mutex::new(Vec::new());
        let tell = |found: Found| told.lock().unwrap().push(found);
        // With every letter, the search before is over.
        search(&home, &environment, "need", &|| true, &tell).unwrap();
        let cache = environment.cache_directory().unwrap();
        let status = home.index_status(&home.inventory(), &cache).unwrap();
        assert_eq!((status.logs, status.stale), (4, 0));
        let told = told.into_inner().unwrap();
        let is_progress =
            |found: &Found| matches!(found, Found::State(SearchState::Reading { .. }));
        assert!(!told.is_empty() && told.iter().all(is_progress));
        let hits = Mutex::new(0);
        let tell = |found: Found| {
            if let Found::Hits(found) = found {
                *hits.lock().unwrap() += found.len();
            }
        };
        search(&home, &environment, "needle", &|| false, &tell).unwrap();
        assert_eq!(*hits.lock().unwrap(), 4);
    }

    #[test]
    fn what_is_being_typed_is_made_whole() {
        assert_eq!(made_whole(" pars"), "pars*");
        assert_eq!(made_whole("p"), "p");
        assert_eq!(made_whole("\"empty li"), ",empty,li*");
        assert_eq!(made_whole("x \"a b\" \"tool:Ba sh"), "x \"a b\" ,tool,Ba,sh*");
        assert_eq!(made_whole("\"empty l"), "\"empty l\"");
        assert_eq!((made_whole("\""), made_whole("one \"")), (String::new(), "one*".into()));
        assert_eq!(made_whole("file:\"src ma"), "file:\"src ma\"");
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
