//! What a resume would bring back of a session, and what is wrong with it.

use recto_log::SessionId;
use recto_log::Severity;
use recto_session::health::ReachSummary;
use recto_session::request::Generation;
use recto_session::request::Outcome;
use recto_store::session_health;
use serde::Serialize;

use crate::error::ViewError;
use crate::library::Library;

/// How many problems are listed at most.
const MOST_PROBLEMS: usize = 200;

/// The state of a session.
#[derive(Debug, Serialize)]
pub struct HealthView {
    pub id: String,
    /// Lines of the conversation.
    pub lines: u64,
    pub reaches: Vec<ReachView>,
    pub problems: Vec<ProblemView>,
    /// Problems that are not listed.
    pub more: u64,
    pub damaged_lines: usize,
}

/// What clients of a generation would bring back.
#[derive(Debug, Serialize)]
pub struct ReachView {
    /// The version that stands for the generation.
    pub client: &'static str,
    /// Whether it is that of the newest clients.
    pub latest: bool,
    /// `resumed`, `refused` or `hangs`.
    pub outcome: &'static str,
    /// How much is there of what should be, in percent of lines.
    pub percent: f64,
    pub lines_sent: u64,
    pub lines_lost: u64,
}

#[derive(Debug, Serialize)]
pub struct ProblemView {
    pub class: &'static str,
    /// `damage` or `note`.
    pub severity: &'static str,
    pub line: u64,
    pub text: String,
}

impl Library {
    /// Looks at a session.
    pub fn health(&self, id: SessionId) -> Result<HealthView, ViewError> {
        let found = self.find(id)?;
        let reading = self.read(&found.file)?;
        let agents = || self.home().agents_of(&found.inventory, &found.file);
        let damaged_lines = reading.session().damaged.len();
        let Some(health) = session_health(reading.session(), agents) else {
            let id = id.to_string();
            let (reaches, problems) = (Vec::new(), Vec::new());
            return Ok(HealthView { id, lines: 0, reaches, problems, more: 0, damaged_lines });
        };
        let problems = health.problems.iter().take(MOST_PROBLEMS);
        Ok(HealthView {
            id: id.to_string(),
            lines: health.all.lines,
            reaches: health.reaches.iter().map(reach).collect(),
            problems: problems
                .map(|problem| ProblemView {
                    class: problem.class.name(),
                    severity: match problem.severity {
                        Severity::Damage => "damage",
                        Severity::Note => "note",
                    },
                    line: problem.line,
                    text: problem.consequence.clone(),
                })
                .collect(),
            more: health.unlisted + health.problems.len().saturating_sub(MOST_PROBLEMS) as u64,
            damaged_lines,
        })
    }
}

fn reach(reach: &ReachSummary) -> ReachView {
    ReachView {
        client: reach.generation.observed(),
        latest: reach.generation == Generation::latest(),
        outcome: match reach.outcome {
            Outcome::Resumed => "resumed",
            Outcome::Refused { .. } => "refused",
            Outcome::Hangs { .. } => "hangs",
        },
        percent: reach.percent_kept().0,
        lines_sent: reach.sent.lines,
        lines_lost: reach.lost.lines,
    }
}
