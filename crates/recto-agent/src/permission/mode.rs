//! Permission modes.

use crate::settings::Settings;
use crate::settings::Source;

/// What happens with calls that no rule decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// The user is asked.
    #[default]
    Default,
    /// Edits inside the working directories run.
    AcceptEdits,
    /// Nothing is written.
    Plan,
    /// As `AcceptEdits`; the rest is for a safety check that recto does not have.
    Auto,
    /// What would be asked is refused.
    DontAsk,
    /// Everything runs that no rule forbids.
    BypassPermissions,
}

impl Mode {
    /// Reads a name. `manual` is another name of `default`.
    pub fn parse(name: &str) -> Option<Mode> {
        Some(match name {
            "default" | "manual" => Mode::Default,
            "acceptEdits" => Mode::AcceptEdits,
            "plan" => Mode::Plan,
            "auto" => Mode::Auto,
            "dontAsk" => Mode::DontAsk,
            "bypassPermissions" => Mode::BypassPermissions,
            _ => return None,
        })
    }

    /// The name in settings, hooks and log lines.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Default => "default",
            Mode::AcceptEdits => "acceptEdits",
            Mode::Plan => "plan",
            Mode::Auto => "auto",
            Mode::DontAsk => "dontAsk",
            Mode::BypassPermissions => "bypassPermissions",
        }
    }

    /// Whether files inside the working directories may be written.
    pub(crate) fn accepts_edits(self) -> bool {
        matches!(self, Mode::AcceptEdits | Mode::Auto)
    }

    /// Whether files may be read anywhere.
    pub(crate) fn reads_anywhere(self) -> bool {
        matches!(self, Mode::Plan | Mode::Auto)
    }

    /// The mode that a session starts in.
    pub(crate) fn at_start(asked_for: Option<Mode>, settings: &Settings) -> Mode {
        let from_settings = || {
            let (value, source) = settings.value_in("permissions", "defaultMode")?;
            let mode = Mode::parse(value.as_str()?)?;
            // A repository must not be able to switch the questions off.
            let too_much = matches!(mode, Mode::BypassPermissions | Mode::Auto);
            (!(too_much && source.is_of_the_repository())).then_some(mode)
        };
        let mode = asked_for.or_else(from_settings).unwrap_or_default();
        match mode {
            Mode::BypassPermissions if is_disabled(settings, "disableBypassPermissionsMode") => {
                Mode::Default
            }
            Mode::Auto if is_disabled(settings, "disableAutoMode") => Mode::Default,
            mode => mode,
        }
    }
}

/// Any layer can disable a mode, and none can enable it again.
fn is_disabled(settings: &Settings, key: &str) -> bool {
    settings.layers().iter().filter(|layer| layer.source != Source::Session).any(|layer| {
        let value = layer.value.get("permissions").and_then(|object| object.get(key));
        value.and_then(|value| value.as_str()) == Some("disable")
    })
}
