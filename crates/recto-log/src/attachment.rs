//! Attachments: what the client tells the model beside the prompts.

use std::borrow::Cow;

use crate::Entry;
use crate::Kind;
use crate::json::Value;

/// The view of an attachment line.
#[derive(Debug, Clone, Copy)]
pub struct Attachment<'a> {
    value: Value<'a>,
    rendered: Option<Value<'a>>,
}

/// One text that was sent to the model for an attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rendered<'a> {
    /// The exact text, or blocks.
    pub content: Option<Value<'a>>,
}

impl<'a> Attachment<'a> {
    /// The attachment of a line, if it has one.
    pub fn of(entry: &Entry<'a>) -> Option<Attachment<'a>> {
        if entry.kind() != Kind::Attachment {
            return None;
        }
        Some(Attachment { value: entry.get("attachment")?, rendered: entry.get("rendered") })
    }

    /// What is attached, such as `file` or `queued_command`.
    pub fn name(self) -> Option<Cow<'a, str>> {
        self.value.str("type")
    }

    /// One field of the attachment.
    pub fn get(self, name: &str) -> Option<Value<'a>> {
        self.value.get(name)
    }

    /// The texts that went to the model (2.1.325; older logs do not keep them).
    pub fn rendered(self) -> impl Iterator<Item = Rendered<'a>> {
        let texts = self.rendered.into_iter().flat_map(Value::elements);
        texts.map(|text| Rendered { content: text.get("content") })
    }

    /// The prompt that was typed while the client was busy.
    pub fn queued_prompt(self) -> Option<Value<'a>> {
        (self.name()? == "queued_command").then(|| self.get("prompt"))?
    }
}

#[cfg(test)]
mod tests {
    use crate::RawLine;
    use crate::decode;

    #[test]
    fn rendered_texts_and_queued_prompts_are_read() {
        let line = br#"{"type":"attachment","attachment":{"type":"queued_command","prompt":"go on"},"rendered":[{"content":"<r>"}],"renderedRole":"user"}"#;
        let attachment = decode(RawLine::alone(line)).0.attachment().unwrap();
        assert_eq!(attachment.queued_prompt().unwrap().as_str().unwrap(), "go on");
        assert_eq!(attachment.rendered().count(), 1);
        assert!(decode(RawLine::alone(br#"{"type":"mode"}"#)).0.attachment().is_none());
    }
}
