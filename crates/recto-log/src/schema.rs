//! What recto knows of the format: fields, subtypes and blocks by kind.
//!
//! Measured on clients 2.0.36 to 2.1.325. The tables decide nothing but what
//! `drift` reports: an unknown name is kept and works like any other.

use crate::Kind;

/// Fields of every line of the chain.
const CHAIN: &str = "parentUuid isSidechain type uuid timestamp userType entrypoint cwd sessionId \
    session_id version gitBranch slug agentId teamName";

const USER: &str = "message toolUseResult isMeta isCompactSummary isVisibleInTranscriptOnly \
    thinkingMetadata todos sourceToolUseID permissionMode sourceToolAssistantUUID imagePasteIds \
    promptId promptSource origin interruptedMessageId toolDenialKind turnOrigin turnPosition \
    permissionDecision sandboxed turnCompanion summarizedTurnPromptUuids refusedMessageId \
    queueSkipAttachments planContent usage";

const ASSISTANT: &str = "message requestId isApiErrorMessage error apiError apiErrorStatus \
    errorDetails attributionAgent attributionSkill toolInputStreamMs apiBlockIndex requestRef \
    requestedModel promptCacheRequested effort perTurnEffort madeBy thinkingDurationMs \
    thinkingDisplay apiErrorType failedResponseHadNoToolCall serverClassifierRequest \
    isAbortedMidStream isMeta usage";

const SYSTEM: &str = "subtype content contextUsage level isMeta logicalParentUuid compactMetadata durationMs \
    messageCount pendingBackgroundAgentCount error retryInMs retryAttempt maxRetries source \
    commandRun isDisplayOnly hookCount hookInfos hookErrors preventedContinuation stopReason \
    hasOutput toolUseID hookAdditionalContext cause microcompactMetadata";

/// The fields that a line of this kind may have.
fn fields(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::User => (CHAIN, USER),
        Kind::Assistant => (CHAIN, ASSISTANT),
        Kind::System => (CHAIN, SYSTEM),
        Kind::Attachment => {
            (CHAIN, "attachment rendered renderedRole renderedBesideToolResult renderedInHumanTurn")
        }
        Kind::Progress => (CHAIN, "data progressData parentToolUseID toolUseID"),
        Kind::Summary => ("type summary leafUuid", ""),
        Kind::QueueOperation => {
            ("type operation timestamp content sessionId reason commandUuid deliveryId", "")
        }
        Kind::FileHistorySnapshot => ("type messageId snapshot isSnapshotUpdate", ""),
        Kind::FileHistoryDelta => {
            ("type messageId snapshotMessageId trackingPath backup timestamp", "")
        }
        Kind::CustomTitle => ("type customTitle sessionId", ""),
        Kind::AiTitle => ("type aiTitle sessionId", ""),
        Kind::AgentName => ("type agentName sessionId", ""),
        Kind::AgentSetting => ("type agentSetting sessionId", ""),
        Kind::LastPrompt => ("type lastPrompt sessionId leafUuid explicit", ""),
        Kind::Mode => ("type mode sessionId", ""),
        Kind::PermissionMode => ("type permissionMode sessionId", ""),
        Kind::ToolsUsed => ("type tools sessionId", ""),
        Kind::AtisLatch => ("type atis sessionId", ""),
        Kind::CostState => (
            "type sessionId totalCostUSD totalAPIDuration totalAPIDurationWithoutRetries \
             totalToolDuration totalLinesAdded totalLinesRemoved totalDuration startTime \
             modelUsage hasUnknownModelCost",
            "",
        ),
        Kind::ApiRequest => (
            "type sessionId id timestamp version querySource shapeHash params keep tail \
             cacheControl requestDigest base agentId",
            "",
        ),
        Kind::ApiRequestShape => ("type sessionId shapeHash timestamp version shape agentId", ""),
        Kind::ApiRequestBlob => ("type sessionId hash message agentId", ""),
        Kind::PrLink => ("type sessionId prNumber prUrl prRepository timestamp", ""),
        Kind::Relocated => ("type sessionId relocatedCwd", ""),
        Kind::WorktreeState => ("type worktreeSession sessionId", ""),
        Kind::ToolResult => (CHAIN, "message content tool_use_id is_error toolUseResult"),
        Kind::FileSnapshot => ("type messageId files timestamp sessionId snapshot", ""),
        Kind::Unknown | Kind::Blank | Kind::Opaque => ("", ""),
    }
}

const MESSAGE: &str = "id type role model content stop_reason stop_sequence usage container \
    context_management diagnostics stop_details timestamp error";

const USAGE: &str = "input_tokens output_tokens cache_creation_input_tokens \
    cache_read_input_tokens cache_creation service_tier server_tool_use inference_geo iterations \
    speed fallback_credit output_tokens_details";

const SYSTEM_SUBTYPES: &str = "compact_boundary turn_duration local_command stop_hook_summary api_error informational \
    away_summary microcompact_boundary model_fallback model_refusal_no_fallback";

const ATTACHMENTS: &str = "environment model date session_context deferred_tools_delta \
    deferred_tools_record agent_listing_delta skill_listing auto_mode remote_session_change \
    prompt_snapshot instructions file queued_command command_permissions hook_success \
    hook_additional_context hook_blocking_error plan_mode plan_mode_exit total_tokens_reminder \
    max_turns_reached task_reminder edited_text_file read_truncation_notice todo_reminder \
    date_change nested_memory compact_file_reference mcp_instructions_delta opened_file_in_ide \
    selected_lines_in_ide plan_file_reference hook_stopped_continuation \
    budget_usd directory silent_turn_reminder";

const PROGRESS: &str = "bash_progress hook_progress agent_progress mcp_progress query_update \
    search_results_received";

const QUEUE: &str = "enqueue dequeue remove popAll";

const BLOCKS: &str = "text thinking redacted_thinking tool_use tool_result image document \
    server_tool_use web_search_tool_result";

fn listed(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|known| known == name)
}

/// Whether a line of this kind may have this field. Kinds that are not known
/// themselves have no unknown fields.
pub(crate) fn is_known_field(kind: Kind, name: &str) -> bool {
    let (first, second) = fields(kind);
    first.is_empty() || listed(first, name) || listed(second, name)
}

/// Whether the subtype of a line of this kind is known.
pub(crate) fn is_known_subtype(kind: Kind, name: &str) -> bool {
    match kind {
        Kind::System => listed(SYSTEM_SUBTYPES, name),
        Kind::Attachment => listed(ATTACHMENTS, name),
        Kind::Progress => listed(PROGRESS, name),
        Kind::QueueOperation => listed(QUEUE, name),
        _ => true,
    }
}

/// Whether a message may have this field.
pub(crate) fn is_known_message_field(name: &str) -> bool {
    listed(MESSAGE, name)
}

/// Whether a `usage` may have this field.
pub(crate) fn is_known_usage_field(name: &str) -> bool {
    listed(USAGE, name)
}

/// Whether a content block of this type is known.
pub(crate) fn is_known_block(name: &str) -> bool {
    listed(BLOCKS, name)
}
