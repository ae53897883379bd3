//! What a resume would bring back of a session, and what is wrong with it.

use recto_log::Severity;
use recto_session::health::BranchReach;
use recto_session::health::Health;
use recto_session::health::LostTurn;
use recto_session::health::ReachSummary;
use recto_session::request::Generation;
use serde::Serialize;

use crate::SessionName;
use crate::error::ViewError;
use crate::library::Library;
use crate::session_health::session_health;

/// How many problems are listed at most.
const MOST_PROBLEMS: usize = 200;

/// The state of a session.
#[derive(Debug, Serialize)]
pub struct HealthRow {
    /// The session.
    pub id: String,
    /// Messages of the conversation: lines of the user and of the model.
    pub lines: u64,
    /// Whether nothing is lost and nothing would be refused.
    pub sound: bool,
    /// Prompts that a client like the one that wrote the log, or a newer one, does not find.
    pub lost_prompts: u64,
    /// The turns of which something is lost.
    pub lost_turns: Vec<LostTurnRow>,
    /// The ways that the session went, if it is not one that is whole.
    pub branches: Vec<BranchReachRow>,
    /// What a resume brings back, for each generation of clients.
    pub reach: Vec<ReachRow>,
    /// What is wrong, most important first.
    pub problems: Vec<ProblemRow>,
    /// Problems that are not listed.
    pub more: u64,
    /// Lines that readers lose.
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

/// A turn of which something is lost.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct LostTurnRow {
    /// Its number.
    pub turn: u32,
    /// Its first line.
    pub line: u64,
    /// How many messages of it are lost.
    pub messages: u64,
}

/// What the newest clients would send from one way that the session went.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct BranchReachRow {
    /// Its last line.
    pub line: u64,
    /// Whether the newest clients go on from it.
    pub current: bool,
    /// How many messages would be sent.
    pub sent: u64,
    /// The line with the broken link at which it ends.
    pub broken_at: Option<u64>,
}

/// The turns of which something is lost.
pub fn lost_turn_rows(health: &Health) -> Vec<LostTurnRow> {
    let row = |lost: &LostTurn| LostTurnRow {
        turn: lost.turn,
        line: lost.line,
        messages: u64::from(lost.messages),
    };
    health.lost_turns.iter().map(row).collect()
}

/// The ways that a session went.
pub fn branch_reach_rows(health: &Health) -> Vec<BranchReachRow> {
    let row = |branch: &BranchReach| BranchReachRow {
        line: branch.line,
        current: branch.is_current,
        sent: branch.sent,
        broken_at: branch.broken_at,
    };
    health.branches.iter().map(row).collect()
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

/// `damage` or `note`.
pub(crate) fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Damage => "damage",
        Severity::Note => "note",
    }
}

impl Library {
    /// Looks at a session.
    pub fn health(&self, name: impl Into<SessionName>) -> Result<HealthRow, ViewError> {
        let found = self.find(name)?;
        let id = found.file.id;
        let reading = self.read(&found.file)?;
        let agents = || self.home().agents_of(&found.inventory, &found.file);
        let damaged_lines = reading.session().damaged.len();
        let Some(health) = session_health(reading.session(), &Generation::ALL, agents) else {
            let id = id.to_string();
            let (reach, problems) = (Vec::new(), Vec::new());
            return Ok(HealthRow {
                id,
                lines: 0,
                sound: damaged_lines == 0,
                lost_prompts: 0,
                lost_turns: Vec::new(),
                branches: Vec::new(),
                reach,
                problems,
                more: 0,
                damaged_lines,
            });
        };
        let health = health.with_branches(reading.session());
        let problems = health.problems.iter().take(MOST_PROBLEMS);
        Ok(HealthRow {
            id: id.to_string(),
            lines: health.all.lines,
            sound: health.is_sound() && damaged_lines == 0,
            lost_prompts: health.lost_prompts,
            lost_turns: lost_turn_rows(&health),
            branches: branch_reach_rows(&health),
            reach: reach_rows(&health),
            problems: problems
                .map(|problem| ProblemRow {
                    class: problem.class.name(),
                    severity: severity_name(problem.severity),
                    line: problem.line,
                    text: problem.consequence.clone(),
                })
                .collect(),
            more: health.unlisted + health.problems.len().saturating_sub(MOST_PROBLEMS) as u64,
            damaged_lines,
        })
    }
}
