//! What a client sent with a call. Nothing in it is trusted.

use rmcp::model::JsonObject;
use serde_json::Value;

use super::archive::Refusal;
use super::tools::ToolName;

/// The longest text that is taken.
const LONGEST_TEXT: usize = 4096;

/// The arguments that were not read yet.
#[derive(Debug)]
pub(super) struct Arguments(JsonObject, ToolName);

impl Arguments {
    pub(super) fn new(arguments: Option<JsonObject>, tool: ToolName) -> Arguments {
        Arguments(arguments.unwrap_or_default(), tool)
    }

    /// The names that the tool takes, in words.
    fn valid(&self) -> String {
        self.1.arguments().join(", ")
    }

    pub(super) fn text(&mut self, name: &str) -> Result<Option<String>, Refusal> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.len() <= LONGEST_TEXT => Ok(Some(text)),
            Some(Value::String(_)) => Err(Refusal(format!("`{name}` is too long"))),
            Some(_) => Err(Refusal(format!("`{name}` takes a string"))),
        }
    }

    pub(super) fn required_text(&mut self, name: &str) -> Result<String, Refusal> {
        let text = self.text(name)?.filter(|text| !text.trim().is_empty());
        let valid = self.valid();
        text.ok_or_else(|| Refusal(format!("`{name}` is missing; this tool takes {valid}")))
    }

    pub(super) fn number(&mut self, name: &str, most: u32) -> Result<Option<u32>, Refusal> {
        let Some(value) = self.0.remove(name).filter(|value| !value.is_null()) else {
            return Ok(None);
        };
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        let number = number.filter(|number| *number <= most);
        number.map(Some).ok_or_else(|| Refusal(format!("`{name}` takes a number from 0 to {most}")))
    }

    pub(super) fn flag(&mut self, name: &str) -> Result<bool, Refusal> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => Err(Refusal(format!("`{name}` takes true or false"))),
        }
    }

    /// Sees that nothing was sent that nobody reads: a filter that is misspelled must
    /// not seem to have been used.
    pub(super) fn finish(self) -> Result<(), Refusal> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => {
                let name: String = name.chars().take(60).collect();
                let valid = self.valid();
                Err(Refusal(format!("there is no argument `{name}`; this tool takes {valid}")))
            }
        }
    }
}
