//! The API message inside a user or assistant line.

use std::borrow::Cow;

use crate::Content;
use crate::Entry;
use crate::Kind;
use crate::MessageId;
use crate::Usage;
use crate::json::Object;
use crate::json::Value;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// The user, or a tool's result.
    User,
    /// The model.
    Assistant,
    /// The client.
    System,
}

/// The `message` of a line.
#[derive(Debug, Clone)]
pub struct Message<'a> {
    object: Object<'a>,
    /// Usage beside the message, where old descriptions put it.
    outer_usage: Option<Value<'a>>,
    kind: Kind,
}

impl<'a> Message<'a> {
    /// The message of a line, if it has one.
    pub fn of(entry: &Entry<'a>) -> Option<Message<'a>> {
        let object = entry.get("message")?.as_object()?;
        Some(Message { object, outer_usage: entry.get("usage"), kind: entry.kind() })
    }

    /// All fields of the message.
    pub fn object(&self) -> &Object<'a> {
        &self.object
    }

    /// Who speaks; the line's type decides where the message does not say.
    pub fn role(&self) -> Option<Role> {
        match (self.object.str("role").as_deref(), self.kind) {
            (Some("user"), _) | (None, Kind::User) => Some(Role::User),
            (Some("assistant"), _) | (None, Kind::Assistant) => Some(Role::Assistant),
            (Some("system"), _) => Some(Role::System),
            _ => None,
        }
    }

    /// The id that the lines of one API message share.
    pub fn id(&self) -> Option<MessageId> {
        self.object.str("id").map(|text| MessageId::new(&text))
    }

    /// The model that answered; `<synthetic>` where the client did.
    pub fn model(&self) -> Option<Cow<'a, str>> {
        self.object.str("model")
    }

    /// Whether the client made the message up, without a call to a model.
    pub fn is_synthetic(&self) -> bool {
        self.model().is_some_and(|model| model == "<synthetic>")
    }

    /// What is said.
    pub fn content(&self) -> Content<'a> {
        Content::of(self.object.get("content"))
    }

    /// Why the model stopped. Often `null`: clients 2.0.50 to 2.1.29 write the
    /// line before they know.
    pub fn stop_reason(&self) -> Option<Cow<'a, str>> {
        self.object.str("stop_reason")
    }

    /// The `usage` of the message as it is in the log.
    pub fn usage_value(&self) -> Option<Value<'a>> {
        self.object.get("usage").or(self.outer_usage).filter(|value| value.is_object())
    }

    /// The tokens of the whole API message, repeated on each of its lines.
    pub fn usage(&self) -> Option<Usage> {
        self.usage_value().map(Usage::of)
    }
}
