//! Which items of a log are wanted: all, the conversation, errors, or edits.

use crate::ItemKind;
use crate::ItemRow;
use crate::Reading;
use crate::error::ViewError;

/// Which items of a log are wanted. A prompt is always shown, so that the rest has a beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Show {
    /// Everything.
    #[default]
    All,
    /// What people and the model said.
    Conversation,
    /// Failed calls, API errors, damage, and what was stopped.
    Errors,
    /// Calls that changed files.
    Edits,
}

impl Show {
    /// All of them, in the order in which they are offered.
    pub const ALL: [Show; 4] = [Show::All, Show::Conversation, Show::Errors, Show::Edits];

    /// The name in an address.
    pub fn name(self) -> &'static str {
        match self {
            Show::All => "all",
            Show::Conversation => "conversation",
            Show::Errors => "errors",
            Show::Edits => "edits",
        }
    }

    /// Reads a name.
    pub fn named(name: &str) -> Result<Show, ViewError> {
        let found = Show::ALL.into_iter().find(|show| show.name() == name);
        found.ok_or_else(|| {
            ViewError::refused("bad-parameter", "invalid value for `show`")
                .with_hint(Show::ALL.map(Show::name).join(", "))
        })
    }

    /// Whether a turn has something of it, without reading its lines.
    pub fn has_turn(self, reading: &Reading, at: usize) -> bool {
        match self {
            Show::All | Show::Conversation => true,
            Show::Errors => reading.turn_at(at).is_some_and(|turn| {
                turn.failed_calls > 0 || turn.api_errors > 0 || turn.is_interrupted
            }),
            Show::Edits => reading.has_edits().get(at).copied().unwrap_or(false),
        }
    }

    /// Whether an item belongs to it.
    pub fn takes(self, item: &ItemRow) -> bool {
        if matches!(item.what, ItemKind::Prompt { .. }) {
            return true;
        }
        match self {
            Show::All => true,
            Show::Conversation => match &item.what {
                ItemKind::Prompt { .. } | ItemKind::Answer { .. } => true,
                ItemKind::Note { kind, .. } => {
                    ["compaction", "summary", "interrupt", "api-error"].contains(kind)
                }
                ItemKind::Thinking { .. } | ItemKind::Call { .. } | ItemKind::Result { .. } => {
                    false
                }
            },
            Show::Errors => match &item.what {
                ItemKind::Call { outcome, .. } => outcome
                    .as_ref()
                    .and_then(|outcome| outcome.result.as_ref())
                    .is_some_and(|result| result.is_error),
                ItemKind::Result { result, .. } => result.is_error,
                ItemKind::Note { kind, .. } => {
                    ["api-error", "damage", "interrupt", "hook"].contains(kind)
                }
                ItemKind::Prompt { .. } | ItemKind::Answer { .. } | ItemKind::Thinking { .. } => {
                    false
                }
            },
            Show::Edits => matches!(
                &item.what,
                ItemKind::Call { outcome: Some(outcome), .. }
                    if outcome.result.as_ref().is_some_and(|result| result.diff.is_some())
            ),
        }
    }
}
