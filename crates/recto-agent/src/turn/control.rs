//! What others tell a running session: prompts, an interrupt, that nothing more comes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use recto_log::EntryUuid;
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// A prompt.
#[derive(Debug, Clone)]
pub struct Prompt {
    /// A text, or content blocks.
    pub content: Value,
    /// The uuid that its line shall have.
    pub uuid: Option<EntryUuid>,
    /// Who or what wrote it, as the result repeats it.
    pub origin: Option<Value>,
    /// Whether the model is asked; otherwise the prompt is kept as context.
    pub asks: bool,
}

impl Prompt {
    /// A prompt of plain text.
    pub fn text(text: impl Into<String>) -> Prompt {
        Prompt { content: Value::String(text.into()), uuid: None, origin: None, asks: true }
    }
}

#[derive(Debug, Default)]
struct Inner {
    queue: Mutex<Queue>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    prompts: VecDeque<Prompt>,
    turn: Option<CancellationToken>,
    is_closed: bool,
    is_stopped: bool,
}

/// The handle of a running session. Clones are the same handle.
#[derive(Debug, Clone, Default)]
pub struct Control(Arc<Inner>);

impl Control {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a prompt. If a turn runs, it is taken into that turn with its next results, or is
    /// the next turn.
    pub fn prompt(&self, prompt: Prompt) {
        self.queue().prompts.push_back(prompt);
        self.0.changed.notify_one();
    }

    /// Stops the turn that runs; whether one did.
    pub fn interrupt(&self) -> bool {
        match &self.queue().turn {
            Some(turn) => {
                turn.cancel();
                true
            }
            None => false,
        }
    }

    /// Says that no more prompts come: the session ends when it is done.
    pub fn close(&self) {
        self.queue().is_closed = true;
        self.0.changed.notify_one();
    }

    /// Ends the session now: the turn that runs is cut short, prompts that wait are forgotten,
    /// and what runs in the background is ended.
    pub fn stop(&self) {
        let mut queue = self.queue();
        queue.prompts.clear();
        queue.is_closed = true;
        queue.is_stopped = true;
        if let Some(turn) = &queue.turn {
            turn.cancel();
        }
        drop(queue);
        self.0.changed.notify_one();
    }

    /// A turn begins.
    pub(super) fn begin(&self) -> CancellationToken {
        let token = CancellationToken::new();
        let mut queue = self.queue();
        if queue.is_stopped {
            token.cancel();
        }
        queue.turn = Some(token.clone());
        token
    }

    /// The turn is over.
    pub(super) fn end(&self) {
        self.queue().turn = None;
    }

    /// The prompts that came meanwhile and ask something.
    pub(super) fn take_all(&self) -> Vec<Prompt> {
        self.queue().prompts.drain(..).collect()
    }

    pub(super) fn take(&self) -> Option<Prompt> {
        self.queue().prompts.pop_front()
    }

    pub(super) fn waiting(&self) -> u64 {
        self.queue().prompts.len() as u64
    }

    pub(super) fn is_closed(&self) -> bool {
        self.queue().is_closed
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.queue().is_stopped
    }

    /// Waits until something changes. A change that nobody waited for is remembered.
    pub(super) async fn changed(&self) {
        self.0.changed.notified().await;
    }
}
