//! The kinds of lines.

/// What a line is, by its `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Kind {
    /// A prompt, a tool's result, or text that the client adds for the user.
    User,
    /// One content block of an answer.
    Assistant,
    /// An event of the client itself; see the subtype.
    System,
    /// Something that the client tells the model beside the prompts.
    Attachment,
    /// Output of a running tool or hook (2.1.29); part of the parent chain.
    Progress,
    /// A title made by a helper model; not a compaction.
    Summary,
    /// A prompt was put into, or taken from, the queue.
    QueueOperation,
    /// Which files were backed up before an edit.
    FileHistorySnapshot,
    /// One more file that was backed up.
    FileHistoryDelta,
    /// A title given by the user.
    CustomTitle,
    /// A title given by a model.
    AiTitle,
    /// The name of the agent that runs the session.
    AgentName,
    /// The kind of agent that the session is run as.
    AgentSetting,
    /// The last prompt, and the leaf to resume from.
    LastPrompt,
    /// The mode of the terminal.
    Mode,
    /// The permission mode.
    PermissionMode,
    /// The names of the tools that were used.
    ToolsUsed,
    /// A latch of the client whose meaning is not known.
    AtisLatch,
    /// What the session has cost so far, by model.
    CostState,
    /// A request that was sent to the API.
    ApiRequest,
    /// The system prompt and tools of requests.
    ApiRequestShape,
    /// A message of a request that no other line gives.
    ApiRequestBlob,
    /// A pull request made in the session.
    PrLink,
    /// The session went on in another directory.
    Relocated,
    /// The worktree the session works in.
    WorktreeState,
    /// A tool's result as a line of its own; only in old descriptions.
    ToolResult,
    /// A file backup; only in old descriptions.
    FileSnapshot,
    /// A `type` that is not known here, or none at all.
    Unknown,
    /// An empty line, or one of white space.
    Blank,
    /// Anything that is no JSON object.
    Opaque,
}

impl Kind {
    const NAMED: [(Kind, &'static str); 27] = [
        (Kind::User, "user"),
        (Kind::Assistant, "assistant"),
        (Kind::System, "system"),
        (Kind::Attachment, "attachment"),
        (Kind::Progress, "progress"),
        (Kind::Summary, "summary"),
        (Kind::QueueOperation, "queue-operation"),
        (Kind::FileHistorySnapshot, "file-history-snapshot"),
        (Kind::FileHistoryDelta, "file-history-delta"),
        (Kind::CustomTitle, "custom-title"),
        (Kind::AiTitle, "ai-title"),
        (Kind::AgentName, "agent-name"),
        (Kind::AgentSetting, "agent-setting"),
        (Kind::LastPrompt, "last-prompt"),
        (Kind::Mode, "mode"),
        (Kind::PermissionMode, "permission-mode"),
        (Kind::ToolsUsed, "tools-used"),
        (Kind::AtisLatch, "atis-latch"),
        (Kind::CostState, "cost-state"),
        (Kind::ApiRequest, "api-request"),
        (Kind::ApiRequestShape, "api-request-shape"),
        (Kind::ApiRequestBlob, "api-request-blob"),
        (Kind::PrLink, "pr-link"),
        (Kind::Relocated, "relocated"),
        (Kind::WorktreeState, "worktree-state"),
        (Kind::ToolResult, "tool_result"),
        (Kind::FileSnapshot, "file-snapshot"),
    ];

    /// Every kind that has a `type`, in the order of the documentation.
    pub fn all() -> impl Iterator<Item = Kind> {
        Kind::NAMED.iter().map(|(kind, _)| *kind)
    }

    /// The kind with this `type`.
    pub fn from_type(name: &str) -> Kind {
        Kind::NAMED
            .iter()
            .find(|(_, known)| *known == name)
            .map_or(Kind::Unknown, |(kind, _)| *kind)
    }

    /// The `type` in the log, or a word in brackets for what has none.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Unknown => "(unknown)",
            Kind::Blank => "(blank)",
            Kind::Opaque => "(opaque)",
            _ => Kind::NAMED.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name),
        }
    }

    /// Whether lines of this kind are linked by `uuid` and `parentUuid`.
    pub fn in_chain(self) -> bool {
        matches!(
            self,
            Kind::User | Kind::Assistant | Kind::System | Kind::Attachment | Kind::Progress
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_kind() {
        for kind in Kind::all() {
            assert_eq!(Kind::from_type(kind.name()), kind);
        }
        assert_eq!(Kind::from_type("away_summary"), Kind::Unknown);
        assert_eq!(Kind::from_type("(opaque)"), Kind::Unknown);
    }
}
