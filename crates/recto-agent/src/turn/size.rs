//! How large a conversation is, and how large it may become.

use super::prompt::window;
use super::shared::Shared;
use super::totals::ModelTotals;
use crate::wire::Request;

/// What is kept free for the next answer and for a summary.
const RESERVE: u64 = 33_000;

/// How large a conversation is.
#[derive(Debug, Clone, Default)]
pub(super) struct Size {
    /// Tokens of the system prompt, estimated.
    pub(super) system: u64,
    /// Tokens of the declared tools, estimated.
    pub(super) tools: u64,
    /// Tokens of the last request and its answer, as the endpoint counted them.
    pub(super) counted: u64,
    pub(super) usage: Option<ModelTotals>,
}

impl Size {
    /// An answer came.
    pub(super) fn count(&mut self, usage: ModelTotals) {
        self.counted = usage.all();
        self.usage = Some(usage);
    }

    /// A request goes out.
    pub(super) fn measure(&mut self, request: &Request) {
        let tokens = |bytes: usize| bytes as u64 / 4;
        self.system = request.system.iter().map(|block| tokens(block.json().bytes().len())).sum();
        self.tools = request.tools.iter().map(|tool| tokens(tool.bytes().len())).sum();
    }
}

impl Shared {
    /// How many tokens the model takes, or the user allows.
    pub(super) fn window(&self) -> u64 {
        let window = window(&self.model());
        self.own_window.map_or(window, |own| own.min(window))
    }

    /// From how many tokens on a conversation is compacted by itself.
    pub(super) fn compaction_threshold(&self) -> u64 {
        let window = self.window();
        // A small window keeps a third of itself free.
        window.saturating_sub(RESERVE.min(window / 3))
    }
}
