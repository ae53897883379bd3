//! What the check of a tool says about a call, before modes and rules about the whole tool.

use std::path::PathBuf;

use crate::permission::decision::Reason;
use crate::permission::update::PermissionUpdate;

/// What a tool says about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Check {
    /// A rule forbids it.
    Deny {
        /// What the model reads.
        text: String,
        /// Why.
        reason: Reason,
    },
    /// Somebody must say yes.
    Ask(Ask),
    /// It may run.
    Allow(Reason),
}

/// A question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ask {
    /// What the model reads when nobody says yes.
    pub(crate) text: String,
    /// Why.
    pub(crate) reason: Reason,
    /// Whether it is asked in every mode: a rule wants it, or no rule can allow it.
    pub(crate) always: bool,
    /// Whether a rule about the whole tool does not answer it: sensitive files.
    pub(crate) careful: bool,
    /// What could be granted.
    pub(crate) suggestions: Vec<PermissionUpdate>,
    /// A rule that could be granted.
    pub(crate) rule: Option<PermissionUpdate>,
    /// The path in question.
    pub(crate) blocked_path: Option<PathBuf>,
}

impl Ask {
    pub(crate) fn plain(text: String) -> Self {
        Ask {
            text,
            reason: Reason::None,
            always: false,
            careful: false,
            suggestions: Vec::new(),
            rule: None,
            blocked_path: None,
        }
    }

    /// A rule wants the question.
    pub(crate) fn by_rule(text: String, reason: Reason) -> Self {
        Ask { always: true, reason, ..Ask::plain(text) }
    }
}
