//! System lines: events of the client itself.

use std::borrow::Cow;

use crate::CompactMetadata;
use crate::EntryUuid;
use crate::Kind;
use crate::json::ArrayWriter;
use crate::json::ObjectWriter;
use crate::json::Value;

use super::Envelope;
use super::Position;
use super::envelope::Head;

/// How loud a system line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Level {
    /// A remark.
    Info,
    /// A remark that the user should see.
    Notice,
    /// What hooks said.
    Suggestion,
    /// A warning.
    Warning,
    /// An error.
    Error,
}

impl Level {
    /// The level in the log.
    pub fn name(self) -> &'static str {
        match self {
            Level::Info => "info",
            Level::Notice => "notice",
            Level::Suggestion => "suggestion",
            Level::Warning => "warning",
            Level::Error => "error",
        }
    }
}

/// What the hooks at the end of a turn did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSummary<'a> {
    /// How many ran.
    pub hooks: u64,
    /// What ran: an array.
    pub infos: Value<'a>,
    /// What failed: an array.
    pub errors: Value<'a>,
    /// What the hooks tell the model: an array (from 2.1.200).
    pub additional_context: Option<Value<'a>>,
    /// Whether they kept the client from going on.
    pub prevented: bool,
    /// Why they did.
    pub stop_reason: Cow<'a, str>,
    /// Whether they printed anything.
    pub has_output: bool,
    /// The id of the hooks' run.
    pub tool_use: Cow<'a, str>,
}

impl HookSummary<'_> {
    fn write(&self, line: ObjectWriter) -> ObjectWriter {
        line.number("hookCount", self.hooks)
            .value("hookInfos", self.infos)
            .value("hookErrors", self.errors)
            .value_if_any("hookAdditionalContext", self.additional_context)
            .boolean("preventedContinuation", self.prevented)
            .string("stopReason", &self.stop_reason)
            .boolean("hasOutput", self.has_output)
            .string("level", Level::Suggestion.name())
    }
}

/// The facts of a system line, by its subtype.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum SystemLine<'a> {
    /// The start of a compacted part. Its parent is always `None`.
    CompactBoundary {
        /// The last line before, unless it is gone.
        logical_parent: Option<EntryUuid>,
        /// What is known of the compaction.
        metadata: CompactMetadata,
    },
    /// How long a turn took.
    TurnDuration {
        /// In milliseconds.
        milliseconds: u64,
        /// How many messages the session has.
        messages: u64,
    },
    /// A built-in command, or its output.
    LocalCommand {
        /// The text.
        content: Cow<'a, str>,
        /// The command and its arguments.
        run: Option<Value<'a>>,
        /// Whether the line is for the user only.
        is_display_only: bool,
    },
    /// What the hooks at the end of a turn did.
    StopHookSummary(HookSummary<'a>),
    /// A failed API call that is tried again.
    ApiError {
        /// What failed.
        error: Value<'a>,
        /// When the next try comes, in milliseconds.
        retry_in: f64,
        /// Which try this is.
        attempt: u64,
        /// How many there will be.
        attempts: u64,
        /// What tries again, such as `request_retry`.
        source: Cow<'a, str>,
    },
    /// A remark for the user.
    Informational {
        /// The text.
        content: Cow<'a, str>,
        /// How loud it is.
        level: Level,
    },
    /// Another model answers from now on.
    ModelFallback {
        /// What the user is told.
        content: Cow<'a, str>,
        /// Why: `overloaded`.
        trigger: Cow<'a, str>,
        /// The model that was asked.
        from: Cow<'a, str>,
        /// The model that is asked now.
        to: Cow<'a, str>,
    },
    /// A model refused again, and no other one is asked.
    ModelRefusal {
        /// The model that was asked.
        from: Cow<'a, str>,
        /// The prompt.
        prompt: EntryUuid,
    },
}

impl SystemLine<'_> {
    fn logical_parent(&self) -> Option<&EntryUuid> {
        match self {
            SystemLine::CompactBoundary { logical_parent, .. } => logical_parent.as_ref(),
            _ => None,
        }
    }

    fn subtype(&self) -> &'static str {
        match self {
            SystemLine::CompactBoundary { .. } => "compact_boundary",
            SystemLine::TurnDuration { .. } => "turn_duration",
            SystemLine::LocalCommand { .. } => "local_command",
            SystemLine::StopHookSummary(_) => "stop_hook_summary",
            SystemLine::ApiError { .. } => "api_error",
            SystemLine::Informational { .. } => "informational",
            SystemLine::ModelFallback { .. } => "model_fallback",
            SystemLine::ModelRefusal { .. } => "model_refusal_no_fallback",
        }
    }

    fn write(&self, line: ObjectWriter, position: &Position) -> ObjectWriter {
        let line = line.string("type", Kind::System.name()).string("subtype", self.subtype());
        let time_and_uuid =
            |line: ObjectWriter| line.time("timestamp", position.time).id("uuid", &position.uuid);
        match self {
            SystemLine::CompactBoundary { metadata, .. } => {
                let line = line.string("content", "Conversation compacted");
                time_and_uuid(line.boolean("isMeta", false))
                    .string("level", Level::Info.name())
                    .json("compactMetadata", &compact_metadata(metadata))
            }
            SystemLine::TurnDuration { milliseconds, messages } => {
                let line = line.number("durationMs", *milliseconds);
                time_and_uuid(line.number("messageCount", *messages)).boolean("isMeta", false)
            }
            SystemLine::LocalCommand { content, run, is_display_only } => {
                let line = line.string("content", content).string("level", Level::Info.name());
                time_and_uuid(line)
                    .boolean("isMeta", false)
                    .value_if_any("commandRun", *run)
                    .true_if("isDisplayOnly", *is_display_only)
            }
            SystemLine::StopHookSummary(summary) => {
                time_and_uuid(summary.write(line)).string("toolUseID", &summary.tool_use)
            }
            SystemLine::ApiError { error, retry_in, attempt, attempts, source } => {
                let line = line.string("level", Level::Error.name()).value("error", *error);
                let line = line.float("retryInMs", *retry_in).number("retryAttempt", *attempt);
                time_and_uuid(line.number("maxRetries", *attempts).string("source", source))
            }
            SystemLine::Informational { content, level } => {
                let line = line.string("content", content).boolean("isMeta", false);
                time_and_uuid(line).string("level", level.name())
            }
            SystemLine::ModelRefusal { from, prompt } => {
                let line = line.string("content", "").string("level", Level::Warning.name());
                let line = line.string("originalModel", from);
                let line = line.json("apiRefusalCategory", b"null");
                let line = line.json("apiRefusalExplanation", b"null");
                let line = line.id("refusedUserMessageUuid", prompt).boolean("isMeta", false);
                time_and_uuid(line)
            }
            SystemLine::ModelFallback { content, trigger, from, to } => {
                let line = line.string("content", content).string("level", Level::Warning.name());
                let line = line.string("trigger", trigger).string("originalModel", from);
                let line = line.string("fallbackModel", to).boolean("isMeta", false);
                line.id("uuid", &position.uuid).time("timestamp", position.time)
            }
        }
    }
}

fn compact_metadata(metadata: &CompactMetadata) -> Vec<u8> {
    let mut object = ObjectWriter::new()
        .string_if_any("trigger", metadata.trigger.as_deref())
        .number_if_any("preTokens", metadata.tokens_before)
        .number_if_any("durationMs", metadata.milliseconds);
    if let Some(segment) = &metadata.segment {
        let segment = ObjectWriter::new()
            .id("headUuid", &segment.head)
            .id("anchorUuid", &segment.anchor)
            .id("tailUuid", &segment.tail);
        object = object.json("preservedSegment", &segment.finish());
    }
    if let Some(anchor) = &metadata.anchor {
        let list = |uuids: &[EntryUuid]| {
            ArrayWriter::new().strings(uuids.iter().map(EntryUuid::to_string)).finish()
        };
        let messages = ObjectWriter::new()
            .id("anchorUuid", anchor)
            .json("uuids", &list(&metadata.preserved))
            .json("allUuids", &list(&metadata.preserved_with_others));
        object = object.json("preservedMessages", &messages.finish());
    }
    object
        .number_if_any("postTokens", metadata.tokens_after)
        .number_if_any("cumulativeDroppedTokens", metadata.tokens_dropped)
        .finish()
}

impl Envelope {
    /// A system line, without a line end.
    pub fn system(&self, position: &Position, system: &SystemLine<'_>) -> Vec<u8> {
        let head = Head { logical_parent: system.logical_parent(), ..Head::of(position) };
        self.chained(head, |line| system.write(line, position))
    }
}
