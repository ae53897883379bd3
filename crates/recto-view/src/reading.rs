//! Logs that were read, kept for the next request.
//!
//! A page is one request of many for the same session, so a session is folded once and kept.
//! When its log has grown, only what was added is folded. What is kept are facts, not
//! texts; texts are read again by their place.
//!
//! A request keeps the reading it was given and never sees a half-grown one. The reading
//! grows in place while no request holds it; if one does, the reading is copied once, and the
//! copy grows from then on. So an append costs what was appended, a long request delays no other,
//! and there are at most as many copies as requests that overlap an append.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::OnceLock;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

use recto_log::AgentId;
use recto_log::Entry;
use recto_session::FileAction;
use recto_session::Item;
use recto_session::NameId;
use recto_session::NodeId;
use recto_session::QueuedLine;
use recto_session::QueuedPrompt;
use recto_session::Session;
use recto_session::ToolCall;
use recto_session::Turn;
use recto_session::Turns;
use recto_session::call_about;
use recto_session::items;
use recto_session::on_current_branch;
use recto_session::spoken_text;
use recto_session::turns;
use recto_session::with_call;
use recto_session::with_line;
use recto_store::Home;
use recto_store::Inventory;
use recto_store::Loaded;
use recto_store::LogFile;
use recto_store::Refresh;
use recto_store::SessionFile;
use recto_store::StoreError;

use crate::SessionName;
use crate::cut;
use crate::error::ViewError;
use crate::library::Library;

/// How many logs are kept, and how many bytes these may have in all.
const MOST_LOGS: usize = 8;
const MOST_BYTES: u64 = 128 * 1024 * 1024;

/// How long a prompt in an outline is at most, in bytes.
pub(crate) const OUTLINE_TEXT: usize = 240;

/// How long a list of files counts as new, unless something is known to have changed.
const LIST_LIFE: Duration = Duration::from_millis(500);

/// A log that was read.
#[derive(Debug, Clone)]
pub struct Reading {
    /// The log, and what its file was.
    pub log: LogFile,
    /// The folded session, and its file to read texts from.
    pub loaded: Loaded,
    /// The turns of the log.
    pub turns: Turns,
    /// The turn of each line, as a place in `turns`.
    turn_of: OnceLock<Vec<u32>>,
    is_current: OnceLock<Vec<bool>>,
    has_edits: OnceLock<Vec<bool>>,
    /// The beginnings of texts that were read for an outline, by the offset of their line. A
    /// copy of the reading has the same lines, as long as the log only grows.
    beginnings: Arc<Mutex<HashMap<u64, Box<str>>>>,
}

impl Reading {
    /// Reads a log.
    pub fn open(log: LogFile) -> Result<Reading, StoreError> {
        let loaded = Loaded::read(&log.path)?;
        let mut reading = Reading {
            log,
            loaded,
            turns: Turns::default(),
            turn_of: OnceLock::new(),
            is_current: OnceLock::new(),
            has_edits: OnceLock::new(),
            beginnings: Arc::default(),
        };
        reading.derive();
        Ok(reading)
    }

    /// Takes in what happened to the log since. After an error it must be read again.
    pub fn refresh(&mut self) -> Result<(), StoreError> {
        match self.loaded.refresh()? {
            Refresh::Same => {}
            Refresh::Grown => self.derive(),
            Refresh::Anew => {
                self.beginnings = Arc::default();
                self.derive();
            }
        }
        Ok(())
    }

    /// Finds what follows from the lines.
    fn derive(&mut self) {
        self.turns = turns(&self.loaded.session);
        self.turn_of = OnceLock::new();
        self.is_current = OnceLock::new();
        self.has_edits = OnceLock::new();
    }

    /// The folded session.
    pub fn session(&self) -> &Session {
        &self.loaded.session
    }

    /// A name, as a row has it.
    pub fn name(&self, id: Option<NameId>) -> Option<String> {
        id.map(|id| self.session().name(id).to_owned())
    }

    /// For each turn, whether the newest clients would continue from it.
    pub fn is_current(&self) -> &[bool] {
        self.is_current.get_or_init(|| on_current_branch(self.session(), &self.turns))
    }

    /// For each turn, whether a tool changed a file in it.
    pub(crate) fn has_edits(&self) -> &[bool] {
        self.has_edits.get_or_init(|| {
            let mut has = vec![false; self.turns.len()];
            for touch in &self.session().facts().files {
                let turn = self.turn_number(touch.node) as usize;
                if touch.action != FileAction::Read && turn > 0 {
                    has[turn - 1] = true;
                }
            }
            has
        })
    }

    /// The turn that a line belongs to.
    pub fn turn(&self, id: NodeId) -> Option<Turn<'_>> {
        self.turns.get(self.session(), self.turn_place(id)?)
    }

    /// A turn by its place, from 0.
    pub fn turn_at(&self, at: usize) -> Option<Turn<'_>> {
        self.turns.get(self.session(), at)
    }

    /// All turns, in the order of the log.
    pub fn turns(&self) -> impl DoubleEndedIterator<Item = Turn<'_>> + ExactSizeIterator + Clone {
        self.turns.iter(self.session())
    }

    /// The place of the turn that a line belongs to.
    fn turn_place(&self, id: NodeId) -> Option<usize> {
        let places = self.turn_of.get_or_init(|| self.turns.places(self.session()));
        places.get(id.index()).map(|place| *place as usize).filter(|at| *at < self.turns.len())
    }

    /// The line that began the turn that a line belongs to.
    pub(crate) fn turn_prompt(&self, id: NodeId) -> Option<NodeId> {
        self.turns.prompt(self.turn_place(id)?)
    }

    /// The number of the turn that a line belongs to; 0 if to none.
    pub fn turn_number(&self, id: NodeId) -> u32 {
        self.turn_place(id).map_or(0, |place| place as u32 + 1)
    }

    /// The text of a line, as a person typed or read it.
    pub fn text(&self, id: NodeId) -> String {
        self.loaded.with_entry(id, spoken_text).unwrap_or_default()
    }

    /// What began a turn, in words.
    pub fn prompt(&self, turn: &Turn<'_>) -> String {
        turn.prompt.map(|id| self.text(id)).unwrap_or_default()
    }

    /// The beginning of a line's text, of so many bytes at most. Short ones are kept, so that an
    /// outline of a session that grows reads what was added.
    pub(crate) fn beginning(&self, id: NodeId, most: usize) -> String {
        if most > OUTLINE_TEXT {
            return cut(&self.text(id), most).0;
        }
        let offset = self.session().node(id).span().offset;
        let mut known = self.beginnings.lock().unwrap_or_else(PoisonError::into_inner);
        let read = || cut(&self.text(id), OUTLINE_TEXT).0.into_boxed_str();
        cut(known.entry(offset).or_insert_with(read), most).0
    }

    /// The beginning of what began a turn.
    pub(crate) fn prompt_beginning(&self, turn: &Turn<'_>, most: usize) -> String {
        turn.prompt.map(|id| self.beginning(id, most)).unwrap_or_default()
    }

    /// A prompt that only the queue contains.
    pub fn queued(&self, line: &QueuedLine) -> Option<QueuedPrompt> {
        with_line(&self.loaded, line.span, line.line, QueuedPrompt::of).ok()?
    }

    /// The result of a call.
    pub fn result(&self, call: &ToolCall) -> Option<Item> {
        let wanted = self.session().name(call.id);
        let is_it = |item: &Item| matches!(item, Item::Result { id, .. } if id == wanted);
        self.loaded.with_entry(call.result?, |entry| items(entry).into_iter().find(is_it))?
    }

    /// The arguments of a call in a few words.
    pub fn call_about(&self, call: &ToolCall) -> String {
        let about = |entry: &Entry<'_>| {
            with_call(entry, self.session().name(call.id), call_about).unwrap_or_default()
        };
        call.call.and_then(|id| self.loaded.with_entry(id, about)).unwrap_or_default()
    }
}

/// A session with its place in the list of files.
pub struct Found {
    /// The files of the home when it was found.
    pub inventory: Arc<Inventory>,
    /// The session.
    pub file: SessionFile,
}

/// What was read, newest use last.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    logs: Mutex<VecDeque<Arc<Slot>>>,
    list: Mutex<Option<(Instant, Arc<Inventory>)>>,
}

/// The place of one log. Who wants it while another reads it waits for that.
#[derive(Debug, Default)]
struct Slot {
    path: PathBuf,
    reading: Mutex<Option<Arc<Reading>>>,
    bytes: AtomicU64,
}

impl Slot {
    /// The log as it is now.
    fn read(&self, log: LogFile) -> Result<Arc<Reading>, ViewError> {
        let mut slot = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        // What fails halfway is not kept.
        let reading = match slot.take() {
            Some(reading) if reading.loaded.is_fresh() => reading,
            Some(mut reading) => {
                let growing = Arc::make_mut(&mut reading);
                growing.refresh()?;
                growing.log = log;
                reading
            }
            None => Arc::new(Reading::open(log)?),
        };
        self.bytes.store(reading.loaded.bytes(), Ordering::Relaxed);
        Ok(Arc::clone(slot.insert(reading)))
    }
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

    fn log(&self, log: LogFile) -> Result<Arc<Reading>, ViewError> {
        let slot = {
            let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
            let known = logs.iter().position(|slot| slot.path == log.path);
            let slot = known
                .and_then(|at| logs.remove(at))
                .unwrap_or_else(|| Arc::new(Slot { path: log.path.clone(), ..Slot::default() }));
            logs.push_back(Arc::clone(&slot));
            slot
        };
        let reading = slot.read(log);
        let mut logs = self.logs.lock().unwrap_or_else(PoisonError::into_inner);
        let all = |logs: &VecDeque<Arc<Slot>>| -> u64 {
            logs.iter().map(|slot| slot.bytes.load(Ordering::Relaxed)).sum()
        };
        while logs.len() > 1 && (logs.len() > MOST_LOGS || all(&logs) > MOST_BYTES) {
            logs.pop_front();
        }
        reading
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

    /// The session of a name; of several logs with one id the one written last.
    pub fn find(&self, name: impl Into<SessionName>) -> Result<Found, ViewError> {
        let (name, inventory) = (name.into(), self.inventory());
        let file = inventory.sessions.iter().find(|file| name.means(file)).cloned();
        let file = file.ok_or(ViewError::NotFound("no session has this id"))?;
        Ok(Found { inventory, file })
    }

    /// The log of a session.
    pub fn read(&self, file: &SessionFile) -> Result<Arc<Reading>, ViewError> {
        self.readings().log((**file).clone())
    }

    /// The log of a session, or of a subagent of it.
    pub fn read_any(
        &self,
        name: impl Into<SessionName>,
        agent: Option<&AgentId>,
    ) -> Result<Arc<Reading>, ViewError> {
        let found = self.find(name)?;
        let Some(agent) = agent else { return self.read(&found.file) };
        let mut logs = self.home().logs_of(&found.inventory, &found.file).into_iter();
        let log = logs.find(|log| log.agent.as_ref() == Some(agent));
        self.readings().log(log.ok_or(ViewError::NotFound("the session has no such subagent"))?)
    }

    /// The logs of a session and its subagents.
    pub fn logs_of(&self, name: impl Into<SessionName>) -> Result<Vec<LogFile>, ViewError> {
        let found = self.find(name)?;
        Ok(self.home().logs_of(&found.inventory, &found.file))
    }
}
