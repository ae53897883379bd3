//! Attachments and progress: the other lines of the chain.

use std::borrow::Cow;

use crate::Kind;
use crate::json::ObjectWriter;
use crate::json::Value;

use super::Envelope;
use super::Position;
use super::envelope::Head;

/// The facts of an attachment line: something that the client tells the model
/// beside the prompts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachmentLine<'a> {
    /// What is attached: an object with a `type`.
    pub attachment: Value<'a>,
    /// The exact texts that went to the model (2.1.325).
    pub rendered: Option<Value<'a>>,
    /// The texts as they are where a human's turn follows.
    pub rendered_in_human_turn: Option<Value<'a>>,
    /// The role in which the texts were sent.
    pub rendered_role: Option<Cow<'a, str>>,
    /// Whether the texts stand beside the result of a tool.
    pub is_beside_tool_result: bool,
}

impl<'a> AttachmentLine<'a> {
    /// An attachment whose texts are not kept.
    pub fn new(attachment: Value<'a>) -> AttachmentLine<'a> {
        AttachmentLine {
            attachment,
            rendered: None,
            rendered_in_human_turn: None,
            rendered_role: None,
            is_beside_tool_result: false,
        }
    }

    fn write(&self, line: ObjectWriter, position: &Position) -> ObjectWriter {
        line.value("attachment", self.attachment)
            .string("type", Kind::Attachment.name())
            .id("uuid", &position.uuid)
            .time("timestamp", position.time)
            .value_if_any("rendered", self.rendered)
            .value_if_any("renderedInHumanTurn", self.rendered_in_human_turn)
            .string_if_any("renderedRole", self.rendered_role.as_deref())
            .true_if("renderedBesideToolResult", self.is_beside_tool_result)
    }
}

/// What makes progress. The client orders the fields by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressOf {
    /// A hook, unless it runs before a tool.
    Hook,
    /// A tool or a subagent, and hooks before a tool.
    Tool,
}

/// The facts of a progress line (2.1.0 to 2.1.99).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgressLine<'a> {
    /// What makes progress.
    pub of: ProgressOf,
    /// How far it is: an object with a `type`.
    pub data: Value<'a>,
    /// The progress itself.
    pub tool_use: Cow<'a, str>,
    /// The call that makes progress.
    pub parent_tool_use: Cow<'a, str>,
}

impl ProgressLine<'_> {
    fn write(&self, line: ObjectWriter, position: &Position) -> ObjectWriter {
        let line = line.string("type", Kind::Progress.name()).value("data", self.data);
        match self.of {
            ProgressOf::Hook => line
                .string("parentToolUseID", &self.parent_tool_use)
                .string("toolUseID", &self.tool_use)
                .time("timestamp", position.time)
                .id("uuid", &position.uuid),
            ProgressOf::Tool => line
                .string("toolUseID", &self.tool_use)
                .string("parentToolUseID", &self.parent_tool_use)
                .id("uuid", &position.uuid)
                .time("timestamp", position.time),
        }
    }
}

impl Envelope {
    /// An attachment line, without a line end.
    pub fn attachment(&self, position: &Position, attachment: &AttachmentLine<'_>) -> Vec<u8> {
        self.chained(Head::of(position), |line| attachment.write(line, position))
    }

    /// A progress line, without a line end.
    pub fn progress(&self, position: &Position, progress: &ProgressLine<'_>) -> Vec<u8> {
        self.chained(Head::of(position), |line| progress.write(line, position))
    }
}
