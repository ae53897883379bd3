//! Logs that were read, kept for the next request.
//!
//! A page is one request of many for the same session, so a session is folded
//! once and kept as long as its file is what it was. What is kept are facts, not
//! texts; texts are read again by their place.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;

use recto_log::AgentId;
use recto_log::SessionId;
use recto_session::NameId;
use recto_session::NodeId;
use recto_session::Session;
use recto_session::Turn;
use recto_session::on_current_branch;
use recto_session::spoken_text;
use recto_session::turn_places;
use recto_session::turns;
use recto_store::FileState;
use recto_store::Home;
use recto_store::Inventory;
use recto_store::Loaded;
use recto_store::SessionFile;

use crate::error::ViewError;
use crate::library::Library;

/// How many logs are kept, and how many bytes these may have in all.
const MOST_LOGS: usize = 8;
const MOST_BYTES: u64 = 128 * 1024 * 1024;

/// How long a list of files counts as new, unless something is known to have changed.
const LIST_LIFE: Duration = Duration::from_millis(500);

/// A log that was read.
#[derive(Debug)]
pub struct Reading {
    key: Key,
    pub loaded: Loaded,
    pub turns: Vec<Turn>,
    /// For each turn, whether the newest clients would go on from it.
    pub is_current: Vec<bool>,
    /// The turn of each line, as a place in `turns`.
    turn_of: Vec<usize>,
}

/// Which file, and in which state.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Key {
    path: PathBuf,
    state: FileState,
}

impl Reading {
    fn of(key: Key) -> Result<Reading, ViewError> {
        let loaded = Loaded::read(&key.path)?;
        let turns = turns(&loaded.session);
        let is_current = on_current_branch(&loaded.session, &turns);
        let turn_of = turn_places(&loaded.session, &turns);
        Ok(Reading { key, loaded, turns, is_current, turn_of })
    }

    pub fn path(&self) -> &PathBuf {
        &self.key.path
    }

    pub fn session(&self) -> &Session {
        &self.loaded.session
    }

    pub fn name(&self, id: Option<NameId>) -> Option<String> {
        id.map(|id| self.session().name(id).to_owned())
    }

    /// The number of the turn that a line belongs to; 0 if to none.
    pub fn turn_number(&self, id: NodeId) -> u32 {
        self.turns.get(self.turn_of[id.index()]).map_or(0, |turn| turn.number)
    }

    /// The text of a line, as a person typed or read it.
    pub fn text(&self, id: NodeId) -> String {
        self.loaded.with_entry(id, spoken_text).unwrap_or_default()
    }

    /// What began a turn, in words.
    pub fn prompt(&self, turn: &Turn) -> String {
        turn.prompt.map(|id| self.text(id)).unwrap_or_default()
    }
}

/// A session with its place in the list of files.
pub struct Found {
    pub inventory: Arc<Inventory>,
    pub file: SessionFile,
}

/// What was read, newest use last.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    logs: Mutex<VecDeque<Arc<Reading>>>,
    list: Mutex<Option<(Instant, Arc<Inventory>)>>,
}

impl Readings {
    /// The files of the home. Requests come in groups, and share a list.
    pub(crate) fn inventory(&self, home: &Home) -> Arc<Inventory> {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((made, inventory)) = list.as_ref()
            && made.elapsed() < LIST_LIFE
        {
            return Arc::clone(inventory);
        }
        let made = Instant::now();
        let inventory = Arc::new(home.inventory());
        *list = Some((made, Arc::clone(&inventory)));
        inventory
    }

    /// Something has changed: the next list is a new one. Who is told of a change
    /// and asks for it must find it.
    pub(crate) fn forget_list(&self) {
        *self.list.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn log(&self, key: Key) -> Result<Arc<Reading>, ViewError> {
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = logs.iter().position(|reading| reading.key == key)
            && let Some(reading) = logs.remove(at)
        {
            logs.push_back(Arc::clone(&reading));
            return Ok(reading);
        }
        // An older state of the file is of no use any more.
        logs.retain(|reading| reading.key.path != key.path);
        drop(logs);
        let reading = Arc::new(Reading::of(key)?);
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        logs.push_back(Arc::clone(&reading));
        let all = |logs: &VecDeque<Arc<Reading>>| -> u64 {
            logs.iter().map(|reading| reading.key.state.size()).sum()
        };
        while logs.len() > 1 && (logs.len() > MOST_LOGS || all(&logs) > MOST_BYTES) {
            logs.pop_front();
        }
        Ok(reading)
    }
}

impl Library {
    /// The files of the home.
    pub fn inventory(&self) -> Arc<Inventory> {
        self.readings().inventory(self.home())
    }

    /// Says that files have changed, so the next question looks at them again.
    pub fn forget_list(&self) {
        self.readings().forget_list();
    }

    /// The session of an id.
    pub fn find(&self, id: SessionId) -> Result<Found, ViewError> {
        let inventory = self.inventory();
        let file = inventory.sessions.iter().find(|file| file.id == id).cloned();
        let file = file.ok_or_else(|| ViewError::NotFound("there is no session of this id"))?;
        Ok(Found { inventory, file })
    }

    /// The log of a session.
    pub fn read(&self, file: &SessionFile) -> Result<Arc<Reading>, ViewError> {
        self.readings().log(Key { path: file.path.clone(), state: file.state })
    }

    /// The log of a session, or of a subagent of it.
    pub fn read_any(
        &self,
        id: SessionId,
        agent: Option<&AgentId>,
    ) -> Result<Arc<Reading>, ViewError> {
        let found = self.find(id)?;
        let Some(agent) = agent else { return self.read(&found.file) };
        let mut agents = self.home().agents_of(&found.inventory, &found.file).into_iter();
        let file = agents.find(|file| file.agent.as_ref() == Some(agent));
        let file = file.ok_or_else(|| ViewError::NotFound("the session has no such subagent"))?;
        self.readings().log(Key { path: file.path, state: file.state })
    }
}
