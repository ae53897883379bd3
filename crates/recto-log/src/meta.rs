//! Lines outside the chain: titles, the leaf, the queue, cost, requests, backups.
//!
//! The client appends most of them again and again; the last one counts.

use std::borrow::Cow;

use crate::Entry;
use crate::EntryUuid;
use crate::Kind;
use crate::json::Value;

impl<'a> Entry<'a> {
    /// The title that a `custom-title`, `ai-title` or `summary` line gives. An
    /// empty one takes the title back.
    pub fn title(&self) -> Option<Cow<'a, str>> {
        match self.kind() {
            Kind::CustomTitle => self.str("customTitle"),
            Kind::AiTitle => self.str("aiTitle"),
            Kind::Summary => self.str("summary"),
            _ => None,
        }
    }

    /// The view of a `last-prompt` line.
    pub fn last_prompt(&self) -> Option<LastPrompt<'a>> {
        (self.kind() == Kind::LastPrompt).then(|| LastPrompt {
            prompt: self.str("lastPrompt"),
            leaf: self.uuid_field("leafUuid"),
            explicit: self.object().is_true("explicit"),
        })
    }

    /// The view of a `queue-operation` line.
    pub fn queue_operation(&self) -> Option<QueueOperation<'a>> {
        if self.kind() != Kind::QueueOperation {
            return None;
        }
        let content = self.get("content");
        Some(match self.subtype().as_deref() {
            Some("enqueue") => QueueOperation::Enqueue(content),
            Some("dequeue") => QueueOperation::Dequeue,
            Some("remove") => QueueOperation::Remove(content),
            Some("popAll") => QueueOperation::PopAll(content),
            _ => QueueOperation::Unknown,
        })
    }

    /// The view of a `cost-state` line.
    pub fn cost_state(&self) -> Option<CostState> {
        (self.kind() == Kind::CostState).then(|| CostState::of(self))
    }

    /// The view of an `api-request`, `-shape` or `-blob` line.
    pub fn request_record(&self) -> Option<RequestRecord<'a>> {
        match self.kind() {
            Kind::ApiRequest => Some(RequestRecord::Request {
                id: self.str("id"),
                base: self.str("base"),
                keep: self.get("keep").and_then(Value::as_u64),
                tail: self.get("tail"),
                shape_hash: self.str("shapeHash"),
            }),
            Kind::ApiRequestShape => {
                Some(RequestRecord::Shape { hash: self.str("shapeHash"), shape: self.get("shape") })
            }
            Kind::ApiRequestBlob => {
                Some(RequestRecord::Blob { hash: self.str("hash"), message: self.get("message") })
            }
            _ => None,
        }
    }

    /// The view of a file history line.
    pub fn file_history(&self) -> Option<FileHistory<'a>> {
        match self.kind() {
            Kind::FileHistorySnapshot => Some(FileHistory::Snapshot {
                message: self.uuid_field("messageId"),
                files: self.get("snapshot").and_then(|value| value.get("trackedFileBackups")),
                is_update: self.object().is_true("isSnapshotUpdate"),
            }),
            Kind::FileSnapshot => Some(FileHistory::Snapshot {
                message: self.uuid_field("messageId"),
                files: self.get("files"),
                is_update: false,
            }),
            Kind::FileHistoryDelta => Some(FileHistory::Delta {
                message: self.uuid_field("messageId"),
                path: self.str("trackingPath"),
                backup: self.get("backup"),
            }),
            _ => None,
        }
    }
}

/// The last prompt, and where to resume.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LastPrompt<'a> {
    /// The prompt.
    pub prompt: Option<Cow<'a, str>>,
    /// The line to resume from; all zeros after a rewind to the very start.
    pub leaf: Option<EntryUuid>,
    /// Whether the user chose the leaf, by rewinding.
    pub explicit: bool,
}

/// What happened to the queue of prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueueOperation<'a> {
    /// A prompt was put in.
    Enqueue(Option<Value<'a>>),
    /// The next prompt was taken.
    Dequeue,
    /// A prompt was taken out of order.
    Remove(Option<Value<'a>>),
    /// The queue was put back into the input line.
    PopAll(Option<Value<'a>>),
    /// Something else.
    Unknown,
}

/// What the session has cost, by the client's own count.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CostState {
    /// In US dollars.
    pub total_usd: Option<f64>,
    /// Lines added and removed by edits.
    pub lines: (Option<u64>, Option<u64>),
    /// By model.
    pub models: Vec<(String, ModelUsage)>,
    /// Whether some model had no known price.
    pub has_unknown_model: bool,
}

/// The tokens of one model in a [`CostState`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelUsage {
    /// Tokens of prompts.
    pub input: u64,
    /// Tokens of answers.
    pub output: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Tokens written to the cache.
    pub cache_creation: u64,
    /// Web searches.
    pub web_searches: u64,
    /// In US dollars.
    pub usd: Option<f64>,
}

impl CostState {
    fn of(entry: &Entry<'_>) -> CostState {
        let number = |name| entry.get(name).and_then(Value::as_u64);
        let models = entry.get("modelUsage").into_iter().flat_map(Value::members);
        CostState {
            total_usd: entry.get("totalCostUSD").and_then(Value::as_f64),
            lines: (number("totalLinesAdded"), number("totalLinesRemoved")),
            models: models
                .map(|member| (member.key().into_owned(), ModelUsage::of(member.value)))
                .collect(),
            has_unknown_model: entry.object().is_true("hasUnknownModelCost"),
        }
    }
}

impl ModelUsage {
    fn of(value: Value<'_>) -> ModelUsage {
        let number = |name| value.get(name).and_then(Value::as_u64).unwrap_or(0);
        ModelUsage {
            input: number("inputTokens"),
            output: number("outputTokens"),
            cache_read: number("cacheReadInputTokens"),
            cache_creation: number("cacheCreationInputTokens"),
            web_searches: number("webSearchRequests"),
            usd: value.get("costUSD").and_then(Value::as_f64),
        }
    }
}

/// What the client noted of the requests it sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RequestRecord<'a> {
    /// One request, told as a difference to an earlier one.
    Request {
        /// The id of the request.
        id: Option<Cow<'a, str>>,
        /// The request that this one goes on from.
        base: Option<Cow<'a, str>>,
        /// How many messages of the base are kept.
        keep: Option<u64>,
        /// The hashes of the messages after those.
        tail: Option<Value<'a>>,
        /// The system prompt and tools that were sent.
        shape_hash: Option<Cow<'a, str>>,
    },
    /// The system prompt and tools of requests.
    Shape {
        /// The hash that requests name.
        hash: Option<Cow<'a, str>>,
        /// The system prompt and tools.
        shape: Option<Value<'a>>,
    },
    /// A message that no other line gives.
    Blob {
        /// The hash that requests name.
        hash: Option<Cow<'a, str>>,
        /// The message.
        message: Option<Value<'a>>,
    },
}

/// Which files were backed up before an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileHistory<'a> {
    /// All files of a moment.
    Snapshot {
        /// The line that the snapshot belongs to.
        message: Option<EntryUuid>,
        /// Path to backup.
        files: Option<Value<'a>>,
        /// Whether an earlier snapshot was changed.
        is_update: bool,
    },
    /// One more file.
    Delta {
        /// The line that the backup belongs to.
        message: Option<EntryUuid>,
        /// The file.
        path: Option<Cow<'a, str>>,
        /// The backup.
        backup: Option<Value<'a>>,
    },
}

#[cfg(test)]
mod tests {
    use crate::RawLine;
    use crate::decode;

    use super::*;

    fn entry(line: &str) -> Entry<'_> {
        decode(RawLine::alone(line.as_bytes())).0
    }

    #[test]
    fn titles_come_from_three_kinds_of_lines() {
        assert_eq!(entry(r#"{"type":"custom-title","customTitle":"a"}"#).title().unwrap(), "a");
        assert_eq!(entry(r#"{"type":"ai-title","aiTitle":"b"}"#).title().unwrap(), "b");
        assert_eq!(
            entry(r#"{"type":"summary","summary":"c","leafUuid":"x"}"#).title().unwrap(),
            "c"
        );
        assert_eq!(entry(r#"{"type":"mode","customTitle":"a"}"#).title(), None);
    }

    #[test]
    fn the_leaf_and_the_queue_are_read() {
        let line =
            entry(r#"{"type":"last-prompt","lastPrompt":"p","leafUuid":"x","explicit":true}"#);
        let last = line.last_prompt().unwrap();
        assert_eq!(last.leaf, Some(EntryUuid::new("x")));
        assert!(last.explicit);
        let line = entry(r#"{"type":"queue-operation","operation":"popAll","content":"x"}"#);
        assert!(matches!(line.queue_operation(), Some(QueueOperation::PopAll(Some(_)))));
    }

    #[test]
    fn the_cost_is_read_by_model() {
        let line = entry(
            r#"{"type":"cost-state","totalCostUSD":0.5,"totalLinesAdded":3,"modelUsage":{"m":{"inputTokens":1,"outputTokens":2,"cacheReadInputTokens":3,"cacheCreationInputTokens":4,"costUSD":0.5}}}"#,
        );
        let cost = line.cost_state().unwrap();
        assert_eq!(cost.total_usd, Some(0.5));
        assert_eq!(cost.lines, (Some(3), None));
        assert_eq!((cost.models[0].1.output, cost.models[0].1.cache_creation), (2, 4));
    }

    #[test]
    fn backups_of_new_and_old_shape_are_read() {
        let line = entry(
            r#"{"type":"file-history-snapshot","messageId":"m","snapshot":{"trackedFileBackups":{"a.rs":{}}}}"#,
        );
        let Some(FileHistory::Snapshot { files: Some(files), .. }) = line.file_history() else {
            panic!()
        };
        assert_eq!(files.members().count(), 1);
        let line = entry(r#"{"type":"file-snapshot","files":{}}"#);
        assert!(matches!(line.file_history(), Some(FileHistory::Snapshot { files: Some(_), .. })));
    }
}
