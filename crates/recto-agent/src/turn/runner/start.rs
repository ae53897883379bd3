//! What starts a turn.

use recto_log::EntryUuid;
use serde_json::Value;
use serde_json::json;

use crate::turn::control::Prompt;

/// What starts a turn.
#[derive(Debug)]
pub(in crate::turn) enum Start {
    Prompt(Prompt),
    /// Background tasks ended; the name of the last run, and the text.
    Notice(String, String),
}

/// The words before it are for results; elsewhere the line says what it is.
pub(super) fn from_notification(text: &str) -> &str {
    let at = text.find("<task-notification>").unwrap_or_default();
    text.get(at..).unwrap_or_default()
}

impl Start {
    pub(in crate::turn) fn content(&self) -> Value {
        match self {
            Start::Prompt(prompt) => prompt.content.clone(),
            Start::Notice(_, text) => Value::String(from_notification(text).to_owned()),
        }
    }

    pub(in crate::turn) fn uuid(&self) -> Option<EntryUuid> {
        match self {
            Start::Prompt(prompt) => prompt.uuid.clone(),
            Start::Notice(..) => None,
        }
    }

    pub(in crate::turn) fn log_origin(&self) -> Option<Value> {
        match self {
            Start::Prompt(_) => None,
            Start::Notice(run, _) => Some(json!({
                "kind": "task-notification",
                "producer": "session-task",
                "runId": run,
            })),
        }
    }

    /// What the result says about it.
    pub(in crate::turn) fn origin(&self) -> Option<Value> {
        match self {
            Start::Prompt(prompt) => prompt.origin.clone(),
            Start::Notice(..) => self.log_origin(),
        }
    }

    pub(in crate::turn) fn source(&self) -> &'static str {
        match self {
            Start::Prompt(_) => "sdk",
            Start::Notice(..) => "system",
        }
    }

    pub(in crate::turn) fn turn_origin(&self) -> &'static str {
        match self {
            Start::Prompt(_) => "sdk",
            Start::Notice(..) => "task_notification",
        }
    }
}
