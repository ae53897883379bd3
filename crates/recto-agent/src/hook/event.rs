//! Events that hooks run at.

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Event {
    SessionStart,
    SessionEnd,
    InstructionsLoaded,
    UserPromptSubmit,
    UserPromptExpansion,
    PreToolUse,
    PermissionRequest,
    PermissionDenied,
    PostToolUse,
    PostToolUseFailure,
    PostToolBatch,
    Notification,
    Stop,
    StopFailure,
    SubagentStart,
    SubagentStop,
    PreCompact,
    PostCompact,
    TaskCreated,
    TaskCompleted,
    CwdChanged,
    ConfigChange,
    FileChanged,
    Setup,
}

impl Event {
    /// All events.
    pub const ALL: [Event; 24] = [
        Event::SessionStart,
        Event::SessionEnd,
        Event::InstructionsLoaded,
        Event::UserPromptSubmit,
        Event::UserPromptExpansion,
        Event::PreToolUse,
        Event::PermissionRequest,
        Event::PermissionDenied,
        Event::PostToolUse,
        Event::PostToolUseFailure,
        Event::PostToolBatch,
        Event::Notification,
        Event::Stop,
        Event::StopFailure,
        Event::SubagentStart,
        Event::SubagentStop,
        Event::PreCompact,
        Event::PostCompact,
        Event::TaskCreated,
        Event::TaskCompleted,
        Event::CwdChanged,
        Event::ConfigChange,
        Event::FileChanged,
        Event::Setup,
    ];

    /// The name in settings, inputs and log lines.
    pub fn name(self) -> &'static str {
        match self {
            Event::SessionStart => "SessionStart",
            Event::SessionEnd => "SessionEnd",
            Event::InstructionsLoaded => "InstructionsLoaded",
            Event::UserPromptSubmit => "UserPromptSubmit",
            Event::UserPromptExpansion => "UserPromptExpansion",
            Event::PreToolUse => "PreToolUse",
            Event::PermissionRequest => "PermissionRequest",
            Event::PermissionDenied => "PermissionDenied",
            Event::PostToolUse => "PostToolUse",
            Event::PostToolUseFailure => "PostToolUseFailure",
            Event::PostToolBatch => "PostToolBatch",
            Event::Notification => "Notification",
            Event::Stop => "Stop",
            Event::StopFailure => "StopFailure",
            Event::SubagentStart => "SubagentStart",
            Event::SubagentStop => "SubagentStop",
            Event::PreCompact => "PreCompact",
            Event::PostCompact => "PostCompact",
            Event::TaskCreated => "TaskCreated",
            Event::TaskCompleted => "TaskCompleted",
            Event::CwdChanged => "CwdChanged",
            Event::ConfigChange => "ConfigChange",
            Event::FileChanged => "FileChanged",
            Event::Setup => "Setup",
        }
    }

    /// The event of a name.
    pub fn named(name: &str) -> Option<Event> {
        Event::ALL.into_iter().find(|event| event.name() == name)
    }

    /// Whether the event is about one call of a tool.
    pub fn is_about_a_tool(self) -> bool {
        matches!(
            self,
            Event::PreToolUse
                | Event::PermissionRequest
                | Event::PermissionDenied
                | Event::PostToolUse
                | Event::PostToolUseFailure
        )
    }

    /// Whether hooks of the event can say anything to the model by printing it.
    pub(crate) fn tells_plain_text(self) -> bool {
        matches!(self, Event::SessionStart | Event::UserPromptSubmit | Event::UserPromptExpansion)
    }

    /// Whether `hookSpecificOutput` of the event is known.
    pub(crate) fn has_specific_output(self) -> bool {
        !matches!(
            self,
            Event::PreCompact
                | Event::PostCompact
                | Event::SessionEnd
                | Event::InstructionsLoaded
                | Event::StopFailure
                | Event::TaskCreated
                | Event::TaskCompleted
                | Event::ConfigChange
        )
    }
}
