//! Recorded lines are built again from their facts: same bytes.
//!
//! The facts are read from a line by name, so the order of fields and all that
//! is constant can only come from the builder. There is no exception: a line
//! that comes out otherwise is a field that the builder does not know yet.

use std::borrow::Cow;
use std::collections::BTreeMap;

use recto_log::Content;
use recto_log::Entry;
use recto_log::Generation;
use recto_log::Kind;
use recto_log::Lines;
use recto_log::MessageId;
use recto_log::System;
use recto_log::ToolUseId;
use recto_log::build::AnswerLine;
use recto_log::build::AnswerMessage;
use recto_log::build::ApiRequest;
use recto_log::build::AttachmentLine;
use recto_log::build::CostLine;
use recto_log::build::Delivery;
use recto_log::build::DeltaLine;
use recto_log::build::Envelope;
use recto_log::build::HookSummary;
use recto_log::build::Level;
use recto_log::build::MetaLine;
use recto_log::build::ModelCost;
use recto_log::build::Position;
use recto_log::build::ProgressLine;
use recto_log::build::ProgressOf;
use recto_log::build::QueueLine;
use recto_log::build::QueueStep;
use recto_log::build::SnapshotLine;
use recto_log::build::SyntheticLine;
use recto_log::build::SystemLine;
use recto_log::build::TurnPosition;
use recto_log::build::UserContent;
use recto_log::build::UserLine;
use recto_log::decode;
use recto_log::json::Value;

use crate::corpus::Log;
use crate::corpus::fixtures;
use crate::corpus::logs_below;

/// Kinds that no recorded log has, with the line that the builder makes.
const UNRECORDED: [(Kind, &str); 4] = [
    (
        Kind::AgentSetting,
        r#"{"type":"agent-setting","agentSetting":"rev","sessionId":"3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718"}"#,
    ),
    (
        Kind::PrLink,
        r#"{"type":"pr-link","sessionId":"3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718","prNumber":7,"prUrl":"https://h/p/7","prRepository":"o/r","timestamp":"1970-01-01T00:00:00.000Z"}"#,
    ),
    (
        Kind::Relocated,
        r#"{"type":"relocated","sessionId":"3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718","relocatedCwd":"/w"}"#,
    ),
    (
        Kind::WorktreeState,
        r#"{"type":"worktree-state","worktreeSession":{"name":"w"},"sessionId":"3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718"}"#,
    ),
];

struct Facts<'a> {
    entry: Entry<'a>,
    envelope: Envelope,
}

impl<'a> Facts<'a> {
    fn of(entry: Entry<'a>, version: &str) -> Facts<'a> {
        let mut envelope = Envelope::of(&entry);
        // Lines beside the chain do not name the client that wrote them.
        envelope.generation = Generation::of_version(version).unwrap();
        Facts { entry, envelope }
    }

    fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.entry.str(name)
    }

    fn word(&self, name: &str) -> Cow<'a, str> {
        self.text(name).unwrap()
    }

    fn value(&self, name: &str) -> Value<'a> {
        self.entry.get(name).unwrap()
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.entry.get(name).and_then(Value::as_u64)
    }

    fn is(&self, name: &str) -> bool {
        self.entry.object().is_true(name)
    }

    fn message_id(&self, name: &str) -> Option<MessageId> {
        self.text(name).map(|id| MessageId::new(&id))
    }

    fn position(&self) -> Position {
        Position {
            parent: self.entry.parent_uuid(),
            uuid: self.entry.uuid().unwrap(),
            time: self.entry.timestamp().unwrap(),
            session: self.text("session_id").map(|id| id.parse().unwrap()),
        }
    }

    fn build(&self) -> Vec<u8> {
        let (envelope, position) = (&self.envelope, || self.position());
        match self.entry.kind() {
            Kind::User => envelope.user(&position(), &self.user()),
            Kind::Assistant if self.entry.message().unwrap().is_synthetic() => {
                envelope.synthetic(&position(), &self.synthetic())
            }
            Kind::Assistant => envelope.answer(&position(), &self.answer()),
            Kind::System => envelope.system(&position(), &self.system()),
            Kind::Attachment => envelope.attachment(&position(), &self.attachment()),
            Kind::Progress => envelope.progress(&position(), &self.progress()),
            _ => envelope.meta(&self.meta()),
        }
    }

    fn user(&self) -> UserLine<'a> {
        let position = self.entry.get("turnPosition").map(|value| TurnPosition {
            prompt: value.get("promptIndex").unwrap().as_u64().unwrap(),
            turn: value.get("turnIndex").unwrap().as_u64().unwrap(),
        });
        UserLine {
            content: content(self.entry.message().unwrap().content()),
            prompt: self.text("promptId"),
            is_meta: self.entry.is_meta(),
            is_turn_companion: self.is("turnCompanion"),
            is_compact_summary: self.entry.is_compact_summary(),
            tool_use_result: self.entry.get("toolUseResult"),
            tool_denial: self.text("toolDenialKind"),
            is_sandboxed: self.entry.get("sandboxed").and_then(Value::as_bool),
            source_tool_use: self.text("sourceToolUseID").map(|id| ToolUseId::new(&id)),
            thinking_metadata: self.entry.get("thinkingMetadata"),
            todos: self.entry.get("todos"),
            image_paste_ids: self.entry.get("imagePasteIds"),
            permission_mode: self.text("permissionMode"),
            origin: self.entry.get("origin"),
            prompt_source: self.text("promptSource"),
            turn_origin: self.text("turnOrigin"),
            turn_position: position,
            queue_skips_attachments: self.is("queueSkipAttachments"),
            source_assistant: self.entry.uuid_field("sourceToolAssistantUUID"),
            permission_decision: self.entry.get("permissionDecision"),
            interrupted_message: self.message_id("interruptedMessageId"),
            refused_message: self.message_id("refusedMessageId"),
            plan: self.text("planContent"),
        }
    }

    fn answer(&self) -> AnswerLine<'a> {
        let message = self.entry.message().unwrap();
        let Content::Blocks(blocks) = message.content() else { panic!("no blocks") };
        let mut blocks = blocks.elements();
        let block = blocks.next().unwrap();
        assert_eq!(blocks.next(), None, "a line has one block");
        let context_management = message.object().get("context_management");
        // Only an answer in one piece has this from old clients.
        let is_whole = context_management.is_some();
        AnswerLine {
            message: AnswerMessage {
                id: message.id().unwrap(),
                model: message.model().unwrap(),
                block,
                stop_reason: message.stop_reason(),
                stop_sequence: message.object().str("stop_sequence"),
                usage: message.usage_value().unwrap(),
                context_management,
                stop_details: message.object().get("stop_details"),
            },
            delivery: if is_whole { Delivery::Whole } else { Delivery::Streamed },
            request: self.entry.request_id(),
            thinking_milliseconds: self.number("thinkingDurationMs"),
            thinking_display: self.text("thinkingDisplay"),
            tool_input_milliseconds: self.number("toolInputStreamMs"),
            classifier_request: self.text("serverClassifierRequest"),
            block_index: self.number("apiBlockIndex"),
            request_record: self.text("requestRef"),
            requested_model: self.text("requestedModel"),
            prompt_cache: self.text("promptCacheRequested"),
            agent_kind: self.text("attributionAgent"),
            skill: self.text("attributionSkill"),
            is_aborted: self.is("isAbortedMidStream"),
            effort: self.text("effort"),
            turn_effort: self.entry.get("perTurnEffort"),
            made_by: self.text("madeBy"),
        }
    }

    fn synthetic(&self) -> SyntheticLine<'a> {
        let message = self.entry.message().unwrap();
        SyntheticLine {
            id: message.id().unwrap(),
            text: message.content().text(),
            stop_reason: message.stop_reason().unwrap(),
            request: self.entry.request_id(),
            error: self.text("error"),
            api_error: self.text("apiError"),
            error_details: self.text("errorDetails"),
            is_api_error: self.entry.is_api_error(),
            status: self.number("apiErrorStatus"),
            error_type: self.text("apiErrorType"),
            turn_effort: self.text("perTurnEffort"),
            had_no_tool_call: self.is("failedResponseHadNoToolCall"),
            made_by: self.text("madeBy"),
        }
    }

    fn system(&self) -> SystemLine<'a> {
        match self.entry.system().unwrap() {
            System::CompactBoundary(metadata) => SystemLine::CompactBoundary {
                logical_parent: self.entry.uuid_field("logicalParentUuid"),
                metadata,
            },
            System::TurnDuration { milliseconds } => SystemLine::TurnDuration {
                milliseconds: milliseconds.unwrap(),
                messages: self.number("messageCount").unwrap(),
            },
            System::LocalCommand { .. } => SystemLine::LocalCommand {
                content: self.word("content"),
                run: self.entry.get("commandRun"),
                is_display_only: self.is("isDisplayOnly"),
            },
            System::StopHookSummary { hooks, prevented } => {
                SystemLine::StopHookSummary(HookSummary {
                    hooks: hooks.unwrap(),
                    infos: self.value("hookInfos"),
                    errors: self.value("hookErrors"),
                    additional_context: self.entry.get("hookAdditionalContext"),
                    prevented,
                    stop_reason: self.word("stopReason"),
                    has_output: self.is("hasOutput"),
                    tool_use: self.word("toolUseID"),
                })
            }
            System::ApiError { attempt, attempts, retry_in } => SystemLine::ApiError {
                error: self.value("error"),
                retry_in: retry_in.unwrap(),
                attempt: attempt.unwrap(),
                attempts: attempts.unwrap(),
                source: self.word("source"),
            },
            System::Informational { .. } => SystemLine::Informational {
                content: self.word("content"),
                level: if self.word("level") == "notice" { Level::Notice } else { Level::Info },
            },
            other => panic!("{other:?}"),
        }
    }

    fn attachment(&self) -> AttachmentLine<'a> {
        AttachmentLine {
            attachment: self.value("attachment"),
            rendered: self.entry.get("rendered"),
            rendered_in_human_turn: self.entry.get("renderedInHumanTurn"),
            rendered_role: self.text("renderedRole"),
            is_beside_tool_result: self.is("renderedBesideToolResult"),
        }
    }

    fn progress(&self) -> ProgressLine<'a> {
        let event = self.entry.progress().unwrap().str("hookEvent");
        let is_hook = event.is_some_and(|event| event != "PreToolUse");
        ProgressLine {
            of: if is_hook { ProgressOf::Hook } else { ProgressOf::Tool },
            data: self.entry.progress().unwrap(),
            tool_use: self.word("toolUseID"),
            parent_tool_use: self.word("parentToolUseID"),
        }
    }

    fn meta(&self) -> MetaLine<'a> {
        let time = || self.entry.timestamp().unwrap();
        let line = |name: &str| self.entry.uuid_field(name).unwrap();
        match self.entry.kind() {
            Kind::Summary => {
                MetaLine::Summary { title: self.word("summary"), leaf: line("leafUuid") }
            }
            Kind::CustomTitle => MetaLine::CustomTitle(self.word("customTitle")),
            Kind::AiTitle => MetaLine::AiTitle(self.word("aiTitle")),
            Kind::AgentName => MetaLine::AgentName(self.word("agentName")),
            Kind::AgentSetting => MetaLine::AgentSetting(self.word("agentSetting")),
            Kind::LastPrompt => MetaLine::LastPrompt {
                prompt: self.text("lastPrompt"),
                leaf: line("leafUuid"),
                is_explicit: self.is("explicit"),
            },
            Kind::Mode => MetaLine::Mode(self.word("mode")),
            Kind::PermissionMode => MetaLine::PermissionMode(self.word("permissionMode")),
            Kind::ToolsUsed => {
                let tools = self.value("tools").elements();
                MetaLine::ToolsUsed(tools.map(|tool| tool.as_str().unwrap()).collect())
            }
            Kind::AtisLatch => MetaLine::AtisLatch(self.word("atis")),
            Kind::CostState => MetaLine::CostState(self.cost()),
            Kind::QueueOperation => MetaLine::QueueOperation(self.queue()),
            Kind::FileHistorySnapshot => {
                let snapshot = self.value("snapshot").as_object().unwrap();
                MetaLine::FileHistorySnapshot(SnapshotLine {
                    message: line("messageId"),
                    snapshot_message: recto_log::EntryUuid::new(
                        &snapshot.str("messageId").unwrap(),
                    ),
                    files: snapshot.get("trackedFileBackups").unwrap(),
                    time: time(),
                    is_update: self.is("isSnapshotUpdate"),
                })
            }
            Kind::FileHistoryDelta => MetaLine::FileHistoryDelta(DeltaLine {
                message: line("messageId"),
                snapshot_message: line("snapshotMessageId"),
                path: self.word("trackingPath"),
                backup: self.value("backup"),
                time: time(),
            }),
            Kind::ApiRequest => MetaLine::ApiRequest(ApiRequest {
                id: self.word("id"),
                time: time(),
                source: self.word("querySource"),
                shape_hash: self.word("shapeHash"),
                parameters: self.value("params"),
                base: self.text("base"),
                keep: self.number("keep").unwrap(),
                tail: self.value("tail"),
                cache_control: self.value("cacheControl"),
                digest: self.word("requestDigest"),
            }),
            Kind::ApiRequestShape => MetaLine::ApiRequestShape {
                hash: self.word("shapeHash"),
                time: time(),
                shape: self.value("shape"),
            },
            Kind::ApiRequestBlob => {
                MetaLine::ApiRequestBlob { hash: self.word("hash"), message: self.value("message") }
            }
            other => panic!("no recorded log has {other:?}"),
        }
    }

    fn cost(&self) -> CostLine<'a> {
        let number = |name| self.number(name).unwrap();
        let start = i64::try_from(number("startTime")).unwrap();
        let models = self.value("modelUsage").members();
        CostLine {
            total_usd: self.value("totalCostUSD").as_f64().unwrap(),
            api_milliseconds: number("totalAPIDuration"),
            api_milliseconds_without_retries: number("totalAPIDurationWithoutRetries"),
            tool_milliseconds: number("totalToolDuration"),
            lines_added: number("totalLinesAdded"),
            lines_removed: number("totalLinesRemoved"),
            milliseconds: number("totalDuration"),
            start: jiff::Timestamp::from_millisecond(start).unwrap(),
            models: models.map(|member| (member.key(), model_cost(member.value))).collect(),
            has_unknown_model: self.is("hasUnknownModelCost"),
        }
    }

    fn queue(&self) -> QueueLine<'a> {
        QueueLine {
            step: match self.entry.subtype().unwrap().as_ref() {
                "enqueue" => QueueStep::Enqueue,
                "dequeue" => QueueStep::Dequeue,
                "remove" => QueueStep::Remove,
                "popAll" => QueueStep::PopAll,
                other => panic!("{other}"),
            },
            time: self.entry.timestamp().unwrap(),
            content: self.entry.get("content").map(|value| content(Content::of(Some(value)))),
            reason: self.text("reason"),
            command: self.entry.uuid_field("commandUuid"),
            delivery: self.text("deliveryId"),
        }
    }
}

fn content(content: Content<'_>) -> UserContent<'_> {
    match content {
        Content::Text(text) => UserContent::Text(text.as_str().unwrap()),
        Content::Blocks(blocks) => UserContent::Json(blocks),
        other => panic!("{other:?}"),
    }
}

fn model_cost(value: Value<'_>) -> ModelCost {
    let number = |name| value.get(name).unwrap().as_u64().unwrap();
    ModelCost {
        input: number("inputTokens"),
        output: number("outputTokens"),
        thinking: number("thinkingTokens"),
        cache_read: number("cacheReadInputTokens"),
        cache_creation: number("cacheCreationInputTokens"),
        cache_creation_5m: number("cacheCreationEphemeral5mInputTokens"),
        cache_creation_1h: number("cacheCreationEphemeral1hInputTokens"),
        web_searches: number("webSearchRequests"),
        usd: value.get("costUSD").unwrap().as_f64().unwrap(),
    }
}

/// The version of the client that wrote a recorded log, by its folder.
fn version(log: &Log, corpus: &std::path::Path) -> String {
    let place = log.path.strip_prefix(corpus).unwrap();
    place.iter().next().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn every_recorded_line_is_built_again_from_its_facts() {
    let corpus = std::env::var_os("RECTO_CORPUS").map_or(fixtures().join("corpus"), Into::into);
    let mut built: BTreeMap<Kind, usize> = BTreeMap::new();
    let mut different: Vec<(Kind, String)> = Vec::new();
    for log in logs_below(&corpus).iter().filter(|log| log.is_session()) {
        let version = version(log, &corpus);
        for line in Lines::new(&log.bytes) {
            let facts = Facts::of(decode(line).0, &version);
            let kind = facts.entry.kind();
            *built.entry(kind).or_default() += 1;
            if facts.build() != line.bytes {
                let place = format!("{} line {}", log.path.display(), line.number);
                different.push((kind, place));
            }
        }
    }
    let lines: usize = built.values().sum();
    eprintln!("{lines} lines of {} kinds, {} different", built.len(), different.len());
    assert!(lines > 3000, "only {lines} lines were tried");
    assert_eq!(different, []);
    let is_unrecorded = |kind: Kind| UNRECORDED.iter().any(|(other, _)| *other == kind);
    for kind in Kind::all() {
        // Only descriptions of the format have these two.
        let is_written = !matches!(kind, Kind::ToolResult | Kind::FileSnapshot);
        assert_eq!(built.contains_key(&kind), is_written && !is_unrecorded(kind), "{kind:?}");
    }
}

#[test]
fn kinds_that_are_not_recorded_have_the_documented_order() {
    let mut envelope = Envelope::new(Generation::V2_1_300);
    envelope.session = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718".parse().ok();
    for (kind, expected) in UNRECORDED {
        let line = match kind {
            Kind::PrLink => MetaLine::PrLink {
                number: 7,
                url: "https://h/p/7".into(),
                repository: "o/r".into(),
                time: jiff::Timestamp::UNIX_EPOCH,
            },
            Kind::Relocated => MetaLine::Relocated { cwd: "/w".into() },
            Kind::AgentSetting => MetaLine::AgentSetting("rev".into()),
            _ => MetaLine::WorktreeState(Value::parse(br#"{"name":"w"}"#).unwrap()),
        };
        assert_eq!(line.kind(), kind);
        assert_eq!(String::from_utf8(envelope.meta(&line)).unwrap(), expected);
    }
}
