//! What is shown of a log, in order, while it is read line by line.

use recto_log::Entry;
use recto_log::UserText;

use crate::Item;
use crate::Origin;
use crate::PromptQueue;
use crate::QueuedPrompt;
use crate::TurnCounter;
use crate::items;

/// An item with where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// The number of its turn.
    pub turn: u32,
    /// Its line.
    pub origin: Origin,
    /// The item.
    pub item: Item,
}

impl Shown {
    /// A prompt that only the queue tells.
    pub fn queued(prompt: QueuedPrompt, turn: u32) -> Shown {
        let QueuedPrompt { line, time, text, pictures, .. } = prompt;
        Shown {
            turn,
            origin: Origin { line, uuid: None, time, message: None, is_sidechain: false },
            item: Item::queued_prompt(text, pictures),
        }
    }
}

/// Gives the items of a log, line by line.
#[derive(Debug, Clone, Default)]
pub struct Feed {
    turns: TurnCounter,
    queue: PromptQueue,
}

impl Feed {
    /// What is shown of the next line, with what the queue tells before it.
    pub fn next(&mut self, entry: &Entry<'_>) -> Vec<Shown> {
        let turn = self.turns.current();
        let queued = self.queue.next(entry);
        let mut shown: Vec<Shown> =
            queued.into_iter().map(|prompt| Shown::queued(prompt, turn)).collect();
        let turn = self.turns.next(entry);
        let items = items(entry);
        if !items.is_empty() {
            let origin = Origin::of(entry);
            shown.extend(items.into_iter().map(|item| Shown {
                turn,
                origin: origin.clone(),
                item,
            }));
        }
        shown
    }

    /// What is shown of a line of a subagent that a progress line tells. It belongs to the
    /// turn of the line before.
    pub fn told(&self, entry: &Entry<'_>) -> Vec<Shown> {
        let turn = self.turns.current();
        let origin = Origin { is_sidechain: true, ..Origin::of(entry) };
        let mut items = items(entry);
        for item in &mut items {
            if let Item::Prompt { kind: kind @ UserText::Human, .. } = item {
                *kind = UserText::AgentTask;
            }
        }
        let shown = items.into_iter();
        shown.map(|item| Shown { turn, origin: origin.clone(), item }).collect()
    }

    /// What is left when the log has ended: prompts that no model got.
    pub fn rest(&self) -> Vec<Shown> {
        let turn = self.turns.current();
        self.queue.rest().into_iter().map(|prompt| Shown::queued(prompt, turn)).collect()
    }
}
