//! System lines: events of the client itself.

use crate::Entry;
use crate::EntryUuid;
use crate::Kind;
use crate::json::Value;

/// The view of a system line, by its subtype.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum System<'a> {
    /// The conversation before this line was replaced by a summary.
    CompactBoundary(CompactMetadata),
    /// How long a turn took.
    TurnDuration {
        /// In milliseconds.
        milliseconds: Option<u64>,
    },
    /// A built-in command, or its output.
    LocalCommand {
        /// The text.
        content: Option<Value<'a>>,
    },
    /// What the hooks at the end of a turn did.
    StopHookSummary {
        /// How many ran.
        hooks: Option<u64>,
        /// Whether they kept the client from going on.
        prevented: bool,
    },
    /// A failed API call that is tried again.
    ApiError {
        /// Which try this is.
        attempt: Option<u64>,
        /// How many there will be.
        attempts: Option<u64>,
        /// When the next one comes, in milliseconds.
        retry_in: Option<f64>,
    },
    /// A remark for the user.
    Informational {
        /// The text.
        content: Option<Value<'a>>,
    },
    /// A subtype that is not known here.
    Unknown,
}

/// What is known of a compaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompactMetadata {
    /// `manual` or `auto`.
    pub trigger: Option<String>,
    /// Tokens before.
    pub tokens_before: Option<u64>,
    /// Tokens after.
    pub tokens_after: Option<u64>,
    /// How long it took, in milliseconds.
    pub milliseconds: Option<u64>,
    /// Tokens that all compactions of the session dropped (2.1.325).
    pub tokens_dropped: Option<u64>,
    /// The first and last line before the boundary that stay in the context.
    pub segment: Option<PreservedSegment>,
    /// Lines before the boundary that stay in the context.
    pub preserved: Vec<EntryUuid>,
    /// The same, and lines that only the client sees.
    pub preserved_with_others: Vec<EntryUuid>,
    /// The line after which the preserved ones are placed.
    pub anchor: Option<EntryUuid>,
}

/// The lines around a part of the chain that stays in the context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreservedSegment {
    /// The first line.
    pub head: EntryUuid,
    /// The line after which the part is placed.
    pub anchor: EntryUuid,
    /// The last line.
    pub tail: EntryUuid,
}

impl PreservedSegment {
    fn of(value: Value<'_>) -> Option<PreservedSegment> {
        let uuid = |name| EntryUuid::of(value.get(name)?);
        let (head, anchor) = (uuid("headUuid")?, uuid("anchorUuid")?);
        Some(PreservedSegment { head, anchor, tail: uuid("tailUuid")? })
    }
}

impl CompactMetadata {
    fn of(value: Value<'_>) -> CompactMetadata {
        let number = |name| value.get(name).and_then(Value::as_u64);
        let messages = value.get("preservedMessages");
        let uuids = |name| {
            let list = messages.and_then(|messages| messages.get(name));
            list.into_iter().flat_map(Value::elements).filter_map(EntryUuid::of).collect()
        };
        CompactMetadata {
            trigger: value.str("trigger").map(|text| text.into_owned()),
            tokens_before: number("preTokens"),
            tokens_after: number("postTokens"),
            milliseconds: number("durationMs"),
            tokens_dropped: number("cumulativeDroppedTokens"),
            segment: value.get("preservedSegment").and_then(PreservedSegment::of),
            preserved: uuids("uuids"),
            preserved_with_others: uuids("allUuids"),
            anchor: messages
                .and_then(|messages| messages.get("anchorUuid"))
                .and_then(EntryUuid::of),
        }
    }
}

impl<'a> System<'a> {
    /// The view of a line, if it is a system line.
    pub fn of(entry: &Entry<'a>) -> Option<System<'a>> {
        if entry.kind() != Kind::System {
            return None;
        }
        let number = |name| entry.get(name).and_then(Value::as_u64);
        Some(match entry.subtype().as_deref() {
            Some("compact_boundary") => System::CompactBoundary(
                entry.get("compactMetadata").map(CompactMetadata::of).unwrap_or_default(),
            ),
            Some("turn_duration") => System::TurnDuration { milliseconds: number("durationMs") },
            Some("local_command") => System::LocalCommand { content: entry.get("content") },
            Some("stop_hook_summary") => System::StopHookSummary {
                hooks: number("hookCount"),
                prevented: entry.object().is_true("preventedContinuation"),
            },
            Some("api_error") => System::ApiError {
                attempt: number("retryAttempt"),
                attempts: number("maxRetries"),
                retry_in: entry.get("retryInMs").and_then(Value::as_f64),
            },
            Some("informational") => System::Informational { content: entry.get("content") },
            _ => System::Unknown,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::RawLine;
    use crate::decode;

    use super::*;

    #[test]
    fn a_compaction_is_read_with_what_it_preserves() {
        let line = br#"{"type":"system","subtype":"compact_boundary","compactMetadata":{"trigger":"manual","preTokens":9,"postTokens":2,"preservedMessages":{"anchorUuid":"s","uuids":["a","b"]}}}"#;
        let entry = decode(RawLine::alone(line)).0;
        let Some(System::CompactBoundary(metadata)) = entry.system() else { panic!() };
        assert_eq!(metadata.trigger.as_deref(), Some("manual"));
        assert_eq!((metadata.tokens_before, metadata.tokens_after), (Some(9), Some(2)));
        assert_eq!(metadata.preserved, [EntryUuid::new("a"), EntryUuid::new("b")]);
        assert_eq!(metadata.anchor, Some(EntryUuid::new("s")));
    }

    #[test]
    fn a_boundary_without_metadata_is_still_one() {
        let line = br#"{"type":"system","subtype":"compact_boundary"}"#;
        let entry = decode(RawLine::alone(line)).0;
        assert!(matches!(entry.system(), Some(System::CompactBoundary(_))));
    }
}
