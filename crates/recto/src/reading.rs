//! What commands about one session share: the log, its texts, its turns.

use recto_log::Entry;
use recto_session::Item;
use recto_session::NameId;
use recto_session::NodeId;
use recto_session::QueuedLine;
use recto_session::QueuedPrompt;
use recto_session::Session;
use recto_session::ToolCall;
use recto_session::Turn;
use recto_session::call_about;
use recto_session::items;
use recto_session::spoken_text;
use recto_session::turn_places;
use recto_session::turns;
use recto_session::with_call;
use recto_session::with_line;
use recto_store::Home;
use recto_store::Inventory;
use recto_store::Loaded;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::select::target;
use crate::select::target::Target;

/// A log that is being worked on.
pub(crate) struct Reading {
    pub(crate) target: Target,
    pub(crate) inventory: Inventory,
    pub(crate) loaded: Loaded,
    pub(crate) turns: Vec<Turn>,
    /// The turn of each line, as a place in `turns`.
    turn_of: Vec<usize>,
}

impl Reading {
    /// Reads the log that the user means.
    pub(crate) fn open(
        home: &Home,
        environment: &Environment,
        text: &str,
    ) -> Result<Reading, CommandError> {
        let inventory = home.inventory();
        let target = target::find(home, &inventory, environment, text)?;
        Reading::of(target, inventory)
    }

    /// Reads a log that was found.
    pub(crate) fn of(target: Target, inventory: Inventory) -> Result<Reading, CommandError> {
        let loaded = Loaded::read(&target.path)?;
        let turns = turns(&loaded.session);
        let turn_of = turn_places(&loaded.session, &turns);
        Ok(Reading { target, inventory, loaded, turns, turn_of })
    }

    pub(crate) fn session(&self) -> &Session {
        &self.loaded.session
    }

    pub(crate) fn name(&self, id: Option<NameId>) -> &str {
        id.map_or("", |id| self.session().name(id))
    }

    /// The number of the turn that a line belongs to.
    pub(crate) fn turn_number(&self, id: NodeId) -> u32 {
        self.turns.get(self.turn_of[id.index()]).map_or(0, |turn| turn.number)
    }

    /// The text of a line, as a person typed or read it.
    pub(crate) fn text(&self, id: NodeId) -> String {
        self.loaded.with_entry(id, spoken_text).unwrap_or_default()
    }

    /// What began a turn, in words.
    pub(crate) fn prompt(&self, turn: &Turn) -> String {
        turn.prompt.map(|id| self.text(id)).unwrap_or_default()
    }

    /// A prompt that only the queue tells.
    pub(crate) fn queued(&self, line: &QueuedLine) -> Option<QueuedPrompt> {
        with_line(&self.loaded, line.span, line.line, QueuedPrompt::of).ok()?
    }

    /// The file of a result that was too long for the log, as the log tells it.
    pub(crate) fn overflow(&self, call: &ToolCall) -> Option<Item> {
        let id = call.result.filter(|_| call.has_overflow)?;
        let wanted = self.session().name(call.id);
        let is_it = |item: &Item| matches!(item, Item::Result { id, .. } if id == wanted);
        self.loaded.with_entry(id, |entry| items(entry).into_iter().find(is_it))?
    }

    /// The arguments of a tool call in a few words.
    pub(crate) fn call_about(&self, call: &ToolCall) -> String {
        let about = |entry: &Entry<'_>| {
            with_call(entry, self.session().name(call.id), call_about).unwrap_or_default()
        };
        call.call.and_then(|id| self.loaded.with_entry(id, about)).unwrap_or_default()
    }
}
