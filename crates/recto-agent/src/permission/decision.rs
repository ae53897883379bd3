//! What is decided about a call, and why.

use std::path::PathBuf;

use serde_json::Map;
use serde_json::Value;

use crate::hook::PermissionAnswer;
use crate::permission::mode::Mode;
use crate::permission::rule::Behavior;
use crate::permission::rule::Rule;
use crate::permission::update::PermissionUpdate;
use crate::settings::Source;

/// Whether a call runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It runs.
    Allowed,
    /// It does not.
    Denied,
    /// It runs if somebody says so.
    Asked,
}

/// `toolDenialKind` of the log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DenialKind {
    /// A rule, a hook or a mode said no.
    PermissionRule,
    /// Nobody said yes.
    UserRejected,
    /// Only a safety check could have said yes, and there is none.
    AutoModeUnavailable,
}

impl DenialKind {
    /// The name in the log.
    pub fn name(self) -> &'static str {
        match self {
            DenialKind::PermissionRule => "permission-rule",
            DenialKind::UserRejected => "user-rejected",
            DenialKind::AutoModeUnavailable => "automode-unavailable",
        }
    }
}

/// Why it was decided so.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Reason {
    /// Nothing in particular: a tool that is always asked about, or never.
    #[default]
    None,
    /// A rule about the tool.
    Rule(Rule),
    /// A rule about a part of a command, or the parts together.
    Subcommands(Option<Source>),
    /// The mode.
    Mode(Mode),
    /// A path outside the working directories.
    WorkingDirectory,
    /// What no rule can allow.
    DangerousRemoval,
    /// The safety check that is not there.
    AutoMode,
    /// A hook, and what it says.
    Hook(Option<String>),
    /// Something else.
    Other,
}

impl Reason {
    /// `decision_reason_type` for hosts and streams.
    pub fn type_name(&self) -> Option<&'static str> {
        Some(match self {
            Reason::None => return None,
            Reason::Rule(_) => "rule",
            Reason::Subcommands(_) => "subcommandResults",
            Reason::Mode(_) => "mode",
            Reason::WorkingDirectory => "workingDir",
            Reason::DangerousRemoval => "safetyCheck",
            Reason::AutoMode => "classifier",
            Reason::Hook(_) => "hook",
            Reason::Other => "other",
        })
    }

    /// `decision_reason`: a sentence, where there is one.
    pub fn sentence(&self) -> Option<&str> {
        match self {
            Reason::WorkingDirectory => Some("Path is outside allowed working directories"),
            Reason::Hook(sentence) => sentence.as_deref(),
            _ => None,
        }
    }

    fn code(&self) -> String {
        match self {
            Reason::None => "unknown".to_owned(),
            Reason::Rule(rule) => format!("rule:{}", rule.source.name()),
            Reason::Subcommands(Some(source)) => format!("rule:{}", source.name()),
            Reason::Subcommands(None) => "unknown".to_owned(),
            Reason::Mode(mode) => format!("mode:{}", mode.name()),
            Reason::WorkingDirectory => "workingDir".to_owned(),
            Reason::DangerousRemoval => "safetyCheck".to_owned(),
            Reason::AutoMode => "classifier:auto-mode:unavailable".to_owned(),
            Reason::Hook(_) => "hook:PreToolUse".to_owned(),
            Reason::Other => "other".to_owned(),
        }
    }
}

/// What is decided about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Whether it runs.
    pub verdict: Verdict,
    /// What the model reads if it does not run. Empty if it does.
    pub text: String,
    /// `toolDenialKind`, if it does not run.
    pub kind: Option<DenialKind>,
    /// Whether `permission_denials` of the result lists the call if it does not run.
    pub listed: bool,
    /// Whether it was decided before hooks of `PreToolUse` run: no hook sees the call.
    pub before_hooks: bool,
    /// Whether somebody may be asked at all.
    pub can_be_asked: bool,
    /// Why.
    pub reason: Reason,
    /// What a hook is offered to grant.
    pub suggestions: Vec<PermissionUpdate>,
    /// A rule that a host is offered to grant besides.
    pub rule: Option<PermissionUpdate>,
    /// The path that the question is about.
    pub blocked_path: Option<PathBuf>,
}

impl Decision {
    pub(crate) fn allowed(reason: Reason) -> Self {
        Decision {
            verdict: Verdict::Allowed,
            text: String::new(),
            kind: None,
            listed: false,
            before_hooks: false,
            can_be_asked: false,
            reason,
            suggestions: Vec::new(),
            rule: None,
            blocked_path: None,
        }
    }

    pub(crate) fn denied(text: String, reason: Reason) -> Self {
        Decision {
            verdict: Verdict::Denied,
            text,
            kind: Some(DenialKind::PermissionRule),
            listed: true,
            ..Decision::allowed(reason)
        }
    }

    /// Denied by the checks of a tool, which come before hooks and questions.
    pub(crate) fn refused(text: String, listed: bool, reason: Reason) -> Self {
        Decision { kind: None, listed, before_hooks: true, ..Decision::denied(text, reason) }
    }

    /// A question that no rule answers.
    pub(crate) fn question(text: String) -> Self {
        Decision {
            verdict: Verdict::Asked,
            text,
            kind: Some(DenialKind::UserRejected),
            listed: true,
            can_be_asked: true,
            ..Decision::allowed(Reason::None)
        }
    }

    /// Asks in any case, unless it is refused anyway.
    pub(crate) fn ask_because(&mut self, text: String) {
        if self.verdict != Verdict::Denied {
            *self = Decision::question(text);
        }
    }

    /// The same question after a hook of `PermissionRequest` answered it.
    pub fn answered(self, answer: &PermissionAnswer) -> Self {
        match answer {
            PermissionAnswer::Allow { .. } => Decision::allowed(Reason::Hook(None)),
            PermissionAnswer::Deny { message, .. } => {
                let said = message.clone().filter(|message| !message.is_empty());
                let text = said.clone().unwrap_or_else(|| "Permission denied by hook".to_owned());
                Decision::denied(text, Reason::Hook(said))
            }
        }
    }

    /// What a host is offered to grant.
    pub fn offers(&self) -> impl Iterator<Item = &PermissionUpdate> {
        self.rule.iter().chain(&self.suggestions)
    }

    /// `permissionDecision` of the log line of a call that nobody was asked about, and that ran
    /// or did not.
    pub fn log_value(&self) -> Value {
        let mut line = Map::new();
        let accepted = self.verdict == Verdict::Allowed;
        line.insert("decision".into(), if accepted { "accept" } else { "reject" }.into());
        let plan = self.verdict == Verdict::Asked;
        let by_hook = matches!(self.reason, Reason::Hook(_)) && !plan;
        line.insert("source".into(), if by_hook { "hook" } else { "config" }.into());
        if let Some(name) = self.reason.type_name().filter(|_| !plan) {
            line.insert("reasonType".into(), name.into());
        }
        let source = match &self.reason {
            Reason::Rule(rule) if rule.behavior != Behavior::Ask => Some(rule.source),
            Reason::Subcommands(source) => *source,
            _ => None,
        };
        if let Some(source) = source.filter(|_| !plan) {
            line.insert("ruleSource".into(), source.name().into());
        }
        if !accepted {
            line.insert("reasonCode".into(), self.reason.code().into());
            if self.reason == Reason::DangerousRemoval {
                line.insert("circuitBreaker".into(), "dangerousRemoval".into());
            }
        }
        Value::Object(line)
    }
}
