//! One message of a request, owned.

use recto_log::Content;
use recto_log::Role;
use recto_log::json::ObjectWriter;
use recto_log::json::SyntaxError;
use recto_log::json::Value;

use super::Block;
use super::Json;
use super::block::array;

/// A message as it is sent, with every field that it has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message(Json);

impl Message {
    /// What the user says, and what tools gave.
    pub fn user(blocks: impl IntoIterator<Item = Block>) -> Message {
        Message::of("user", blocks)
    }

    /// What the model said.
    pub fn assistant(blocks: impl IntoIterator<Item = Block>) -> Message {
        Message::of("assistant", blocks)
    }

    /// An instruction in the middle of the conversation, for endpoints that take one.
    pub fn system(blocks: impl IntoIterator<Item = Block>) -> Message {
        Message::of("system", blocks)
    }

    fn of(role: &str, blocks: impl IntoIterator<Item = Block>) -> Message {
        let blocks: Vec<Block> = blocks.into_iter().collect();
        let object = ObjectWriter::new().string("role", role).json("content", &array(&blocks));
        Message(Json::written(object.finish()))
    }

    /// The messages of a JSON array, such as `recto_session::request::Request::messages`.
    pub fn all_of(array: Vec<u8>) -> Result<Vec<Message>, SyntaxError> {
        let json = Json::parse(array)?;
        Ok(json.value().elements().map(|value| Message(json.part(value))).collect())
    }

    /// The text of the message.
    pub fn json(&self) -> &Json {
        &self.0
    }

    /// Who speaks; `None` for a role that is unknown here.
    pub fn role(&self) -> Option<Role> {
        match self.0.str("role").as_deref() {
            Some("user") => Some(Role::User),
            Some("assistant") => Some(Role::Assistant),
            Some("system") => Some(Role::System),
            _ => None,
        }
    }

    /// The blocks; a string is one text block.
    pub fn blocks(&self) -> Vec<Block> {
        let Some(content) = self.0.value().get("content") else { return Vec::new() };
        match content.as_str() {
            Some(text) => vec![Block::text(&text)],
            None => content.elements().map(|value| self.0.part(value).into()).collect(),
        }
    }

    /// The content to read without a copy.
    pub fn content<T>(&self, read: impl FnOnce(Content<'_>) -> T) -> T {
        let value: Value<'_> = self.0.value();
        read(Content::of(value.get("content")))
    }

    /// The same message with other blocks. Other fields stay.
    #[must_use]
    pub fn with_blocks(&self, blocks: &[Block]) -> Message {
        Message(self.0.with("content", &array(blocks)))
    }

    /// Takes thinking out of answers, and answers out that consist of nothing else; whether
    /// there was any.
    pub fn drop_thinking(messages: &mut Vec<Message>) -> bool {
        let mut is_changed = false;
        for message in messages.iter_mut() {
            if message.role() != Some(Role::Assistant) {
                continue;
            }
            let blocks = message.blocks();
            let rest: Vec<Block> =
                blocks.iter().filter(|block| !block.is_thinking()).cloned().collect();
            if rest.len() < blocks.len() {
                is_changed = true;
                *message = message.with_blocks(&rest);
            }
        }
        if is_changed {
            messages.retain(|message| {
                message.role() != Some(Role::Assistant) || !message.blocks().is_empty()
            });
        }
        is_changed
    }
}

impl From<Json> for Message {
    fn from(json: Json) -> Message {
        Message(json)
    }
}
