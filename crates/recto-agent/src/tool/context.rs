//! What a tool gets to run.

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::session::Session;

/// A call whose input was checked.
#[derive(Debug)]
pub(super) struct Call<'a> {
    /// The id of the `tool_use` block.
    pub(super) id: &'a str,
    /// The input, with values of the right kinds.
    pub(super) input: &'a Value,
    pub(super) session: &'a Session,
    /// Ends the call early.
    pub(super) cancel: &'a CancellationToken,
    /// Whether whoever answered the question wrote the input.
    pub(super) is_answered: bool,
}

impl Call<'_> {
    /// A text of the input; empty if it was left out.
    pub(super) fn text(&self, name: &str) -> &str {
        self.input.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// A text of the input, if it is there.
    pub(super) fn optional(&self, name: &str) -> Option<&str> {
        self.input.get(name).and_then(Value::as_str)
    }

    /// A number of the input, if it is there.
    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.input.get(name).and_then(Value::as_f64)
    }

    /// A truth of the input; false if it was left out.
    pub(super) fn is(&self, name: &str) -> bool {
        self.input.get(name).and_then(Value::as_bool).unwrap_or_default()
    }
}
