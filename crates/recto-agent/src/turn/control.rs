//! What others tell a running session: prompts, an interrupt, that nothing more comes.

use std::collections::HashSet;
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
    /// Whether it is sent as it is, even if it looks like a command.
    pub is_verbatim: bool,
    /// Whether the host was told that it waits.
    pub is_told: bool,
    /// Whether a program made it up.
    pub is_synthetic: bool,
    /// Whether the log says that it waits.
    pub is_logged: bool,
}

impl Prompt {
    /// A prompt of plain text.
    pub fn text(text: impl Into<String>) -> Prompt {
        Prompt {
            content: Value::String(text.into()),
            uuid: None,
            origin: None,
            asks: true,
            is_verbatim: false,
            is_told: false,
            is_synthetic: false,
            is_logged: false,
        }
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
    /// Whether the process has to end, without a message.
    is_terminated: bool,
    /// Whether a host stopped the turn, and not a signal.
    is_stopped_by_host: bool,
    /// Whether a turn has ended.
    has_worked: bool,
    /// Names that prompts had.
    seen: HashSet<EntryUuid>,
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

    /// The same for a host, which does not end the session with it: the model is told that its
    /// calls may have done something.
    pub(super) fn interrupt_for_host(&self) -> bool {
        self.queue().is_stopped_by_host = true;
        self.interrupt()
    }

    /// Whether a host stopped the turn that runs.
    pub(super) fn was_interrupted_by_host(&self) -> bool {
        self.queue().is_stopped_by_host
    }

    /// Says that no more prompts come: the session ends when it is done.
    pub fn close(&self) {
        self.queue().is_closed = true;
        self.0.changed.notify_one();
    }

    /// Stops as [`Control::stop`] does, without a word.
    pub fn terminate(&self) {
        self.queue().is_terminated = true;
        self.stop();
    }

    /// Whether the process has to end.
    pub(super) fn is_terminated(&self) -> bool {
        self.queue().is_terminated
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

    /// Whether a turn runs.
    pub(super) fn is_running(&self) -> bool {
        self.queue().turn.is_some()
    }

    /// Whether a turn has ended.
    pub(super) fn has_worked(&self) -> bool {
        self.queue().has_worked
    }

    /// Whether no prompt had this name before; it has it now.
    pub(super) fn is_new(&self, uuid: &EntryUuid) -> bool {
        self.queue().seen.insert(uuid.clone())
    }

    /// The names of prompts that wait.
    pub(super) fn queued(&self) -> Vec<String> {
        let queue = self.queue();
        queue.prompts.iter().filter_map(|prompt| Some(prompt.uuid.as_ref()?.to_string())).collect()
    }

    /// Forgets prompts that wait; their names.
    pub(super) fn drop_queued(&self) -> Vec<String> {
        let names = self.queued();
        self.queue().prompts.clear();
        names
    }

    /// Forgets a prompt that waits; whether there was one.
    pub(super) fn cancel(&self, uuid: &EntryUuid) -> bool {
        let mut queue = self.queue();
        let before = queue.prompts.len();
        queue.prompts.retain(|prompt| prompt.uuid.as_ref() != Some(uuid));
        queue.prompts.len() < before
    }

    /// Texts of prompts that wait and that the log does not know; it does now.
    pub(super) fn take_unlogged(&self) -> Vec<Value> {
        let mut queue = self.queue();
        let unlogged = queue.prompts.iter_mut().filter(|prompt| !prompt.is_logged);
        let take = |prompt: &mut Prompt| {
            prompt.is_logged = true;
            prompt.content.clone()
        };
        unlogged.map(take).collect()
    }

    /// Lets a session that waits look around.
    pub(super) fn wake(&self) {
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
        queue.is_stopped_by_host = false;
        token
    }

    /// The turn is over.
    pub(super) fn end(&self) {
        let mut queue = self.queue();
        queue.turn = None;
        queue.has_worked = true;
    }

    /// The prompts that came meanwhile, of the kind that is wanted.
    pub(super) fn take_all(&self, is_wanted: impl Fn(&Prompt) -> bool) -> Vec<Prompt> {
        let mut queue = self.queue();
        let (wanted, left) = queue.prompts.drain(..).partition(is_wanted);
        queue.prompts = left;
        wanted.into()
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
