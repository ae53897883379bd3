//! What happened in the turns of a log: the facts that figures about work and quality need.

use std::collections::HashMap;

use jiff::Timestamp;
use recto_session::Session;
use recto_session::Turns;

/// What happened in the turns of a log.
#[derive(Debug, Clone, Default)]
pub struct Work {
    /// Its turns.
    pub turns: Vec<TurnWork>,
    /// What tools did in them.
    pub tools: Vec<ToolWork>,
    /// API messages.
    pub messages: u64,
    /// The model that answered last.
    pub model: Option<String>,
}

/// What happened in a turn.
#[derive(Debug, Clone, Copy, Default)]
pub struct TurnWork {
    /// Its number.
    pub turn: u32,
    /// When it began.
    pub started: Option<Timestamp>,
    /// When its last line was written.
    pub ended: Option<Timestamp>,
    /// Whether a model worked in it.
    pub has_answer: bool,
    /// Whether the user stopped it.
    pub is_interrupted: bool,
    /// Answers of the API that are errors.
    pub api_errors: u32,
}

/// What a tool did in a turn.
#[derive(Debug, Clone, Default)]
pub struct ToolWork {
    /// The turn.
    pub turn: u32,
    /// The tool.
    pub tool: String,
    /// Its calls.
    pub calls: u32,
    /// Those that failed.
    pub failed: u32,
    /// Calls right after a failed call of the same tool.
    pub retries: u32,
    /// Of the retries, those that did not fail.
    pub repaired: u32,
}

impl Work {
    /// Calls that failed.
    pub fn failed(&self) -> u64 {
        self.tools.iter().map(|tool| u64::from(tool.failed)).sum()
    }

    pub(super) fn of(session: &Session, turns: &Turns) -> Work {
        let facts = session.facts();
        let real = facts.messages.iter().filter(|message| !message.is_synthetic);
        let model = real.clone().rev().find_map(|message| message.model);
        Work {
            turns: turns
                .iter(session)
                .map(|turn| TurnWork {
                    turn: turn.number,
                    started: turn.started,
                    ended: turn.ended,
                    has_answer: turn.messages > 0,
                    is_interrupted: turn.is_interrupted,
                    api_errors: turn.api_errors,
                })
                .collect(),
            tools: tools(session, turns),
            messages: real.count() as u64,
            model: model.map(|model| session.name(model).to_owned()),
        }
    }
}

fn tools(session: &Session, turns: &Turns) -> Vec<ToolWork> {
    let places = turns.places(session);
    let mut found: HashMap<(u32, &str), ToolWork> = HashMap::new();
    // The tool has failed last in this turn.
    let mut has_failed: HashMap<(u32, &str), bool> = HashMap::new();
    for call in &session.facts().calls {
        let Some(line) = call.call.or(call.result) else { continue };
        let turn = places.get(line.index()).map_or(0, |place| place.saturating_add(1));
        let tool = call.name.map_or("unknown", |name| session.name(name));
        let work = found.entry((turn, tool)).or_insert_with(|| ToolWork {
            turn,
            tool: tool.to_owned(),
            ..ToolWork::default()
        });
        work.calls += 1;
        work.failed += u32::from(call.is_error);
        if has_failed.insert((turn, tool), call.is_error) == Some(true) {
            work.retries += 1;
            work.repaired += u32::from(!call.is_error && call.result.is_some());
        }
    }
    let mut found: Vec<ToolWork> = found.into_values().collect();
    found.sort_by(|a, b| a.turn.cmp(&b.turn).then_with(|| a.tool.cmp(&b.tool)));
    found
}
