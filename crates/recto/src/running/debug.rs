//! `--debug`: what happens, on standard error.

use recto_agent::turn::TurnEvent;
use serde_json::Value;

use crate::commands::run::RunOptions;
use crate::terminal::output::complain;
use crate::terminal::text::one_line;

/// Which kinds of lines are told.
pub(super) struct Debug {
    wanted: Vec<String>,
    unwanted: Vec<String>,
}

impl Debug {
    /// If it was asked for. A filter is a list of kinds, such as `api,hooks`; `!api` is
    /// everything else.
    pub(super) fn new(options: &RunOptions) -> Option<Debug> {
        let filter = match (&options.debug, options.debug_to_stderr) {
            (Some(filter), _) => filter.as_str(),
            (None, true) => "",
            (None, false) => return None,
        };
        let kinds = filter.split(',').map(str::trim).filter(|kind| !kind.is_empty());
        let (unwanted, wanted): (Vec<&str>, Vec<&str>) =
            kinds.partition(|kind| kind.starts_with('!'));
        let owned = |kinds: Vec<&str>| {
            kinds.into_iter().map(|kind| kind.trim_start_matches('!').to_owned()).collect()
        };
        Some(Debug { wanted: owned(wanted), unwanted: owned(unwanted) })
    }

    pub(super) fn tell(&self, event: &TurnEvent) {
        let Some((kind, text)) = words(event) else { return };
        let is_wanted = self.wanted.is_empty() || self.wanted.iter().any(|known| known == kind);
        if is_wanted && !self.unwanted.iter().any(|known| known == kind) {
            let time = jiff::Timestamp::now();
            complain(&format!("{time:.3} [DEBUG] {kind}: {}\n", one_line(&text)));
        }
    }
}

/// The kind of an event, and what is said of it. Never what prompts, answers and tools say:
/// standard error often ends in files that others read.
fn words(event: &TurnEvent) -> Option<(&'static str, String)> {
    let name = |line: &Value, field: &str| line[field].as_str().unwrap_or("?").to_owned();
    Some(match event {
        TurnEvent::State(state) => ("session", format!("is {}", state.name())),
        TurnEvent::Began(began) => {
            let counts = (began.tools.len(), began.agents.len(), began.skills.len());
            let (tools, agents, skills) = counts;
            let model = &began.model;
            (
                "session",
                format!("turn with {model}: {tools} tools, {agents} agents, {skills} skills"),
            )
        }
        TurnEvent::Requesting => ("api", "request".to_owned()),
        TurnEvent::Said(said) => {
            let request = said.request_id.as_deref().unwrap_or("no id");
            ("api", format!("block of an answer ({request})"))
        }
        TurnEvent::User(_) => ("tools", "result".to_owned()),
        TurnEvent::Denied(_) => ("permissions", "a call was denied".to_owned()),
        TurnEvent::Retry { attempt, most, error, .. } => {
            ("api", format!("attempt {attempt} of {most} failed: {error}"))
        }
        TurnEvent::Hook(line) => {
            ("hooks", format!("{} {}", name(line, "hook_event"), name(line, "subtype")))
        }
        TurnEvent::System(line) => ("session", name(line, "subtype")),
        TurnEvent::Control(line) => ("control", name(line, "type")),
        TurnEvent::Told(text) => ("session", text.clone()),
        TurnEvent::Ended(_) => ("session", "turn ended".to_owned()),
        _ => return None,
    })
}
