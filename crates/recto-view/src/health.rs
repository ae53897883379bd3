//! What a resume would bring back of a session, and what is wrong with it.

use recto_log::SessionId;
use recto_log::Severity;
use recto_session::health::Health;
use recto_session::health::ReachSummary;
use recto_session::request::Generation;
use serde::Serialize;

use crate::error::ViewError;
use crate::library::Library;
use crate::session_health::session_health;

/// How many problems are listed at most.
const MOST_PROBLEMS: usize = 200;

/// The state of a session.
#[derive(Debug, Serialize)]
pub struct HealthRow {
    pub id: String,
    /// Lines of the conversation.
    pub lines: u64,
    pub reach: Vec<ReachRow>,
    pub problems: Vec<ProblemRow>,
    /// Problems that are not listed.
    pub more: u64,
    pub damaged_lines: usize,
}

/// What clients of a generation would bring back.
#[derive(Debug, Serialize)]
pub struct ReachRow {
    /// The version that stands for the generation.
    #[serde(rename = "as")]
    pub client: &'static str,
    /// The name of the generation.
    pub generation: &'static str,
    /// `resumed`, `refused` or `hangs`.
    pub outcome: &'static str,
    /// Lines that are sent, in percent of all.
    pub percent_of_lines: f64,
    /// The same in tokens, estimated.
    pub percent_of_tokens: f64,
    /// Lines that are sent, in percent of those that are not left out on purpose.
    pub percent_kept: f64,
    /// Lines that are sent.
    pub sent: u64,
    /// Lines that are lost.
    pub lost: u64,
    /// Lines that a compaction replaced.
    pub compacted: u64,
    /// Lines on other branches.
    pub branches: u64,
    /// Lines below other beginnings.
    pub other_beginnings: u64,
    /// Lines that cannot be sent.
    pub unsendable: u64,
    /// Whether it is the generation of the newest clients.
    #[serde(skip)]
    pub is_latest: bool,
}

/// What clients of each generation would bring back.
pub fn reach_rows(health: &Health) -> Vec<ReachRow> {
    health.reaches.iter().map(|reach| reach_row(reach, health)).collect()
}

fn reach_row(reach: &ReachSummary, health: &Health) -> ReachRow {
    // Rounded down: what is not whole is never 100 %.
    let tenth = |percent: f64| (percent * 10.0).floor() / 10.0;
    let (lines, tokens) = reach.percent(health.all);
    ReachRow {
        client: reach.generation.observed(),
        generation: reach.generation.name(),
        outcome: reach.outcome.name(),
        percent_of_lines: tenth(lines),
        percent_of_tokens: tenth(tokens),
        percent_kept: tenth(reach.percent_kept().0),
        sent: reach.sent.lines,
        lost: reach.lost.lines,
        compacted: reach.compacted.lines,
        branches: reach.branches.lines,
        other_beginnings: reach.other_beginnings.lines,
        unsendable: reach.unsendable.lines,
        is_latest: reach.generation == Generation::latest(),
    }
}

/// Something that is wrong with a session.
#[derive(Debug, Serialize)]
pub struct ProblemRow {
    /// What it is.
    #[serde(rename = "kind")]
    pub class: &'static str,
    /// `damage` or `note`.
    pub severity: &'static str,
    /// The line that it is about.
    pub line: u64,
    /// What comes of it.
    #[serde(rename = "detail")]
    pub text: String,
}

impl Library {
    /// Looks at a session.
    pub fn health(&self, id: SessionId) -> Result<HealthRow, ViewError> {
        let found = self.find(id)?;
        let reading = self.read(&found.file)?;
        let agents = || self.home().agents_of(&found.inventory, &found.file);
        let damaged_lines = reading.session().damaged.len();
        let Some(health) = session_health(reading.session(), agents) else {
            let id = id.to_string();
            let (reach, problems) = (Vec::new(), Vec::new());
            return Ok(HealthRow { id, lines: 0, reach, problems, more: 0, damaged_lines });
        };
        let problems = health.problems.iter().take(MOST_PROBLEMS);
        Ok(HealthRow {
            id: id.to_string(),
            lines: health.all.lines,
            reach: reach_rows(&health),
            problems: problems
                .map(|problem| ProblemRow {
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
