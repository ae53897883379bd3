//! A look at every log of the home, made beside the requests and kept as long as
//! the files are what they were.
//!
//! Health, tools and files of all sessions need every line of every log. That
//! takes seconds, so it is done once, in a thread of its own, and pages show what
//! there is so far. What is kept of a log are facts and a few short texts.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Condvar;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;

use jiff::Timestamp;
use rayon::prelude::*;
use recto_session::FileAction;
use recto_session::Item;
use recto_session::ToolCall;
use recto_session::call_about;
use recto_session::health::Health;
use recto_session::items;
use recto_session::statistics::LogStatistics;
use recto_session::turns;
use recto_session::with_call;
use recto_store::Inventory;
use recto_store::Loaded;
use recto_store::LogFile;
use recto_store::statistics_of;

use crate::figures::Work;
use crate::library::Library;
use crate::session_health::HEALTH_GENERATIONS;
use crate::session_health::session_health;

/// How long a request waits for a survey before it shows what there is.
const PATIENCE: Duration = Duration::from_millis(1500);

/// How many calls that failed are kept of one log: the last ones.
const MOST_FAILED: usize = 100;

/// How much is kept of the texts of such a call, in bytes.
const MOST_ABOUT: usize = 200;
const MOST_ERROR: usize = 400;

/// What was seen in one log.
#[derive(Debug)]
pub struct Looked {
    /// The log.
    pub log: LogFile,
    /// The state of the session; none for subagents, and where nothing was said.
    pub health: Option<Health>,
    /// Lines that are no JSON object.
    pub damaged: Vec<u64>,
    /// Lines that it has.
    pub lines: u64,
    /// When its first line was written.
    pub started: Option<Timestamp>,
    /// What it adds to statistics; none where it could not be read.
    pub statistics: Option<LogStatistics>,
    /// When each file was changed last.
    pub changed: HashMap<String, Timestamp>,
    /// Calls that failed, the last ones.
    pub failed: Vec<FailedCall>,
    /// What happened in its turns.
    pub work: Work,
    /// Why it could not be read.
    pub trouble: Option<String>,
}

/// A call of a tool that failed.
#[derive(Debug, Clone)]
pub struct FailedCall {
    /// The call.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// When it was called.
    pub time: Option<Timestamp>,
    /// Its turn.
    pub turn: u32,
    /// The argument that says most.
    pub about: String,
    /// What the tool said.
    pub error: String,
}

/// How far a survey is: logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    /// Logs that were looked at.
    pub done: usize,
    /// Logs in all.
    pub all: usize,
}

impl Progress {
    /// Whether all were looked at.
    pub fn is_over(self) -> bool {
        self.done >= self.all
    }
}

/// What was seen so far, in the order of the logs: newest first.
#[derive(Debug)]
pub struct Surveyed {
    /// What was found in each log.
    pub logs: Vec<Arc<Looked>>,
    /// How far the survey is.
    pub progress: Progress,
    /// The files that it looks at.
    pub inventory: Arc<Inventory>,
}

/// What was seen, and whether somebody is looking.
#[derive(Debug, Default)]
pub struct Survey {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    known: HashMap<PathBuf, Arc<Looked>>,
    is_running: bool,
}

impl Survey {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_known(state: &State, log: &LogFile) -> bool {
        state.known.get(&log.path).is_some_and(|known| known.log == *log)
    }
}

impl Library {
    /// Looks at what has changed since the last time, and waits for it a little.
    pub fn survey(&self) -> Surveyed {
        self.survey_within(PATIENCE)
    }

    /// The same, with another patience.
    pub fn survey_within(&self, patience: Duration) -> Surveyed {
        let inventory = self.inventory();
        let logs = self.home().all_logs(&inventory);
        let survey = &self.figures().survey;
        let mut state = survey.lock();
        if state.known.len() > logs.len() {
            let there: std::collections::HashSet<&PathBuf> =
                logs.iter().map(|log| &log.path).collect();
            state.known.retain(|path, _| there.contains(path));
        }
        let missing: Vec<LogFile> =
            logs.iter().filter(|log| !Survey::is_known(&state, log)).cloned().collect();
        if !missing.is_empty() && !state.is_running {
            state.is_running = true;
            let (worker, inventory) = (self.clone(), Arc::clone(&inventory));
            let begun = std::thread::Builder::new()
                .name("survey".into())
                .spawn(move || look_at_all(&worker, &inventory, missing));
            state.is_running = begun.is_ok();
        }
        let until = Instant::now() + patience;
        while state.is_running {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let waited = survey.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        // What was written since is shown as it was: a log that grows all the time
        // must not be missing all the time.
        let seen: Vec<Arc<Looked>> =
            logs.iter().filter_map(|log| state.known.get(&log.path).cloned()).collect();
        let progress = Progress { done: seen.len(), all: logs.len() };
        drop(state);
        Surveyed { logs: seen, progress, inventory }
    }
}

/// Says that the survey is over, however it ends.
struct Ended<'a>(&'a Library);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        let survey = &self.0.figures().survey;
        survey.lock().is_running = false;
        survey.changed.notify_all();
    }
}

fn look_at_all(library: &Library, inventory: &Inventory, mut logs: Vec<LogFile>) {
    let _ended = Ended(library);
    // The largest first, so that no thread is left alone with it at the end.
    logs.sort_by_key(|log| std::cmp::Reverse(log.bytes()));
    logs.into_par_iter().with_max_len(1).for_each(|log| {
        let looked = Arc::new(look_at(library, inventory, log));
        let path = looked.log.path.clone();
        library.figures().survey.lock().known.insert(path, looked);
    });
}

fn look_at(library: &Library, inventory: &Inventory, log: LogFile) -> Looked {
    let mut looked = Looked {
        health: None,
        damaged: Vec::new(),
        lines: 0,
        started: None,
        statistics: None,
        changed: HashMap::new(),
        failed: Vec::new(),
        work: Work::default(),
        trouble: None,
        log,
    };
    let loaded = match Loaded::read(&looked.log.path) {
        Ok(loaded) => loaded,
        Err(error) => {
            looked.trouble = Some(error.to_string());
            return looked;
        }
    };
    let session = &loaded.session;
    let turns = turns(session);
    let is_agent = looked.log.agent.is_some();
    if !is_agent {
        let agents = || {
            let path = &looked.log.path;
            let file = inventory.sessions.iter().find(|file| file.path == *path);
            file.map_or(Vec::new(), |file| library.home().agents_of(inventory, file))
        };
        looked.health = session_health(session, &HEALTH_GENERATIONS, agents);
    }
    looked.lines = session.lines;
    looked.work = Work::of(session, &turns);
    looked.damaged.clone_from(&session.damaged);
    looked.started = session.nodes().find_map(|node| node.time());
    looked.statistics = Some(statistics_of(&loaded, &turns, &looked.log));
    for touch in session.facts().files.iter().filter(|touch| touch.action != FileAction::Read) {
        let Some(time) = session.node(touch.node).time() else { continue };
        let last = looked.changed.entry(session.name(touch.path).to_owned()).or_insert(time);
        *last = time.max(*last);
    }
    let places = turns.places(session);
    let failed: Vec<&ToolCall> = session
        .facts()
        .calls
        .iter()
        .filter(|call| call.is_error && call.result.is_some())
        .collect();
    let last = failed.len().saturating_sub(MOST_FAILED);
    for call in &failed[last..] {
        let turn = call
            .call
            .or(call.result)
            .and_then(|id| turns.get(session, places[id.index()] as usize));
        looked.failed.push(failed_call(&loaded, call, turn.map_or(0, |turn| turn.number)));
    }
    looked
}

fn failed_call(loaded: &Loaded, call: &ToolCall, turn: u32) -> FailedCall {
    let session = &loaded.session;
    let id = session.name(call.id);
    let about = call.call.and_then(|line| {
        loaded.with_entry(line, |entry| with_call(entry, id, call_about).unwrap_or_default())
    });
    let is_it = |item: &Item| matches!(item, Item::Result { id: known, .. } if known == id);
    let error = call.result.and_then(|line| {
        match loaded.with_entry(line, |entry| items(entry).into_iter().find(is_it)) {
            Some(Some(Item::Result { text, .. })) => Some(text),
            _ => None,
        }
    });
    FailedCall {
        id: id.to_owned(),
        tool: call.name.map_or_else(|| "unknown".to_owned(), |name| session.name(name).to_owned()),
        time: call.ended().or(call.called()),
        turn,
        about: cut(about.unwrap_or_default(), MOST_ABOUT),
        error: cut(error.unwrap_or_default(), MOST_ERROR),
    }
}

fn cut(text: String, most: usize) -> String {
    let (text, was_cut) = crate::cut(&text, most);
    if was_cut { text + "…" } else { text }
}
