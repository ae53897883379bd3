//! What is wrong with a log: lines that are lost to readers, and what a resume would lose.

use std::collections::BTreeMap;
use std::path::PathBuf;

use recto_log::LineReader;
use recto_log::Problem;
use recto_log::ProblemKind;
use recto_log::Severity;
use recto_log::decode;
use recto_session::Session;
use recto_session::health::Health;
use recto_session::health::HealthProblem;
use recto_session::health::ProblemClass;
use recto_session::health::ReachSummary;
use recto_session::plural;
use recto_session::request::Generation;
use recto_session::request::Outcome;
use recto_session::with_marks;
use recto_store::LogFile;
use recto_store::StoreError;
use recto_store::open_file;
use serde::Serialize;

use crate::BranchReachRow;
use crate::LostTurnRow;
use crate::ReachRow;
use crate::branch_reach_rows;
use crate::client_name;
use crate::health::severity_name;
use crate::lost_turn_rows;
use crate::reach_rows;
use crate::session_health;

/// What was found in one log.
#[derive(Debug, Default)]
pub struct LogCheck {
    /// The name of the log.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// Lines that were read.
    pub lines: u64,
    /// Lines that readers lose.
    pub damaged_lines: u64,
    /// How many problems of each kind the lines have.
    pub by_kind: BTreeMap<ProblemKind, u64>,
    /// The problems of the lines, as many as were to be kept.
    pub problems: Vec<Problem>,
    /// The state of the session; none for subagents, and where nothing was said.
    pub health: Option<Health>,
    /// Why the log could not be read, or not to its end.
    pub failure: Option<String>,
}

/// Something that is wrong with a log.
#[derive(Debug, Serialize)]
pub struct CheckRow {
    /// The name of the log.
    pub log: String,
    /// The file.
    pub path: String,
    /// The line that it is about; none if it is about all of them.
    pub line: Option<u64>,
    /// Where the line begins, of what is wrong with the line itself.
    pub offset: Option<u64>,
    /// What it is.
    pub kind: &'static str,
    /// `damage` or `note`.
    pub severity: &'static str,
    /// What comes of it.
    pub detail: String,
    /// Messages of the conversation, in the row of the kind `reach`, as all that follow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<u64>,
    /// Messages that the newest clients would send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<u64>,
    /// Prompts that a client like the one that wrote the log, or a newer one, does not reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_prompts: Option<u64>,
    /// The turns of which something is lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_turns: Option<Vec<LostTurnRow>>,
    /// The ways that the session went.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branches: Option<Vec<BranchReachRow>>,
    /// What a resume brings back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reach: Option<Vec<ReachRow>>,
}

impl LogCheck {
    /// Reads a log and keeps at most so many problems of its lines; who keeps none wants counts
    /// only, and is not told of branches. The reach is said for some generations. `agents` is asked for the logs of its subagents if lines are missing.
    pub fn read(
        log: &LogFile,
        keep: usize,
        buffer: &mut Vec<u8>,
        generations: &[Generation],
        agents: impl FnOnce() -> Vec<LogFile>,
    ) -> LogCheck {
        let (name, path) = (log.name(), log.path.clone());
        let mut check = LogCheck { name, path, ..LogCheck::default() };
        let mut session = (!log.is_agent()).then(Session::new);
        if let Err(error) = check.read_lines(keep, buffer, session.as_mut()) {
            check.failure = Some(error.to_string());
        }
        check.health = session.and_then(|session| {
            let health = session_health(&session, generations, agents)?;
            Some(if keep > 0 { health.with_branches(&session) } else { health })
        });
        check
    }

    fn read_lines(
        &mut self,
        keep: usize,
        buffer: &mut Vec<u8>,
        mut session: Option<&mut Session>,
    ) -> Result<(), StoreError> {
        let mut lines = LineReader::with_buffer(open_file(&self.path)?, std::mem::take(buffer));
        while let Some(line) = lines.next_line()? {
            self.lines += 1;
            let (entry, problems) = decode(line);
            if let Some(session) = &mut session {
                session.push(&entry);
            }
            if problems.iter().any(|problem| problem.kind.severity() == Severity::Damage) {
                self.damaged_lines += 1;
            }
            for problem in problems {
                *self.by_kind.entry(problem.kind).or_default() += 1;
                if self.problems.len() < keep {
                    self.problems.push(problem);
                }
            }
        }
        *buffer = lines.into_buffer();
        Ok(())
    }

    /// Whether something is lost, would be refused, or could not be read.
    pub fn is_bad(&self) -> bool {
        let is_sick = self.health.as_ref().is_some_and(is_sick);
        self.damaged_lines > 0 || self.failure.is_some() || is_sick
    }

    /// How much is lost, to compare logs by.
    pub fn damage(&self) -> u64 {
        self.damaged_lines + self.health.as_ref().map_or(0, lost_lines)
    }

    /// What is wrong, from a severity on.
    pub fn rows(&self, least: Severity) -> Vec<CheckRow> {
        let is_wanted = |severity: Severity| least == Severity::Note || severity == least;
        let of_lines = self.problems.iter().filter(|problem| is_wanted(problem.kind.severity()));
        let mut rows: Vec<CheckRow> = of_lines
            .map(|problem| CheckRow {
                line: Some(problem.line),
                offset: Some(problem.offset),
                ..self.row(problem.kind.name(), problem.kind.severity(), problem.detail.clone())
            })
            .collect();
        if let Some(health) = &self.health {
            let severities = [Severity::Damage, Severity::Note].into_iter();
            for severity in severities {
                let with_notes = is_wanted(Severity::Note);
                rows.extend(session_problems(health, severity, with_notes).map(|problem| {
                    CheckRow {
                        line: Some(problem.line),
                        ..self.row(problem.class.name(), severity, problem.consequence.clone())
                    }
                }));
            }
            let is_lost = lost_lines(health) > 0 || health.lost_prompts > 0;
            if is_lost || least == Severity::Note {
                let severity = if is_lost { Severity::Damage } else { Severity::Note };
                rows.push(CheckRow {
                    messages: Some(health.all.lines),
                    sent: Some(health.latest.sent.lines),
                    lost_prompts: Some(health.lost_prompts),
                    lost_turns: Some(lost_turn_rows(health)),
                    branches: Some(branch_reach_rows(health)),
                    reach: Some(reach_rows(health)),
                    ..self.row("reach", severity, reach_summary(health))
                });
            }
        }
        if let Some(failure) = &self.failure {
            rows.push(self.row("unreadable", Severity::Damage, failure.clone()));
        }
        rows
    }

    fn row(&self, kind: &'static str, severity: Severity, detail: String) -> CheckRow {
        CheckRow {
            log: self.name.clone(),
            path: self.path.to_string_lossy().into_owned(),
            line: None,
            offset: None,
            kind,
            severity: severity_name(severity),
            detail,
            messages: None,
            sent: None,
            lost_prompts: None,
            lost_turns: None,
            branches: None,
            reach: None,
        }
    }
}

/// How many lines the newest clients would lose.
pub fn lost_lines(health: &Health) -> u64 {
    health.latest.lost.lines
}

/// Whether something is lost, a prompt cannot be reached, or the API would refuse it. Lines
/// that cannot be read are counted as such.
pub fn is_sick(health: &Health) -> bool {
    let has_damage = session_problems(health, Severity::Damage, false).next().is_some();
    lost_lines(health) > 0 || health.lost_prompts > 0 || has_damage
}

/// The problems of a severity, without those that the line itself tells. Notes are left out
/// unless they are wanted, but a broken link is always told.
pub fn session_problems(
    health: &Health,
    severity: Severity,
    with_notes: bool,
) -> impl Iterator<Item = &HealthProblem> + use<'_> {
    health.problems.iter().filter(move |problem| {
        problem.severity == severity
            && problem.class != ProblemClass::DamagedLine
            && (severity == Severity::Damage || with_notes || problem.class.is_broken_link())
    })
}

/// How much of what it should a client brings back, or why nothing.
pub fn reach_text(reach: &ReachSummary) -> String {
    match reach.outcome {
        Outcome::Resumed => percent(reach.percent_kept().0),
        Outcome::Refused { .. } => "refused".into(),
        Outcome::Hangs { .. } => "hangs".into(),
    }
}

/// Never says 100 % of what is not whole.
fn percent(percent: f64) -> String {
    if percent >= 100.0 {
        "100 %".into()
    } else {
        format!("{:.1} %", (percent * 10.0).floor() / 10.0)
    }
}

/// The reach of a session in a line of text.
pub fn reach_summary(health: &Health) -> String {
    let reaches: Vec<String> = health
        .reaches
        .iter()
        .map(|reach| format!("{} {}", client_name(reach.generation), reach_text(reach)))
        .collect();
    let mut text = format!("resume brings back: {}", reaches.join(", "));
    let latest = &health.latest;
    text += &format!(
        "; {} of {} would be sent, about {} of {} tokens",
        with_marks(latest.sent.lines),
        plural(health.all.lines, "message"),
        with_marks(latest.sent.tokens),
        with_marks(health.all.tokens)
    );
    let left_out = [
        (latest.compacted.lines, "compacted"),
        (latest.branches.lines, "on branches"),
        (latest.other_beginnings.lines, "below other beginnings"),
        (latest.unsendable.lines, "not sendable"),
    ];
    let left_out: Vec<String> = left_out
        .iter()
        .filter(|(lines, _)| *lines > 0)
        .map(|(lines, what)| format!("{} {what}", with_marks(*lines)))
        .collect();
    if !left_out.is_empty() {
        text += &format!("; skipped on purpose: {}", left_out.join(", "));
    }
    text
}

/// What is lost by turn, and what the other ways that the session went bring back.
pub fn reach_details(health: &Health) -> Vec<String> {
    const MOST_SHOWN: usize = 12;
    let list = |parts: Vec<String>, all: usize| {
        let more = all.saturating_sub(parts.len());
        let more = if more > 0 {
            format!(", and {} more", with_marks(more as u64))
        } else {
            String::new()
        };
        format!("{}{more}", parts.join(", "))
    };
    let mut lines = Vec::new();
    if health.lost_prompts > 0 {
        lines.push(format!("{} cannot be reached", plural(health.lost_prompts, "prompt")));
    }
    if !health.lost_turns.is_empty() {
        let turns = health.lost_turns.iter().take(MOST_SHOWN);
        let turns = turns.map(|lost| {
            format!(
                "{} of turn {} (line {})",
                with_marks(u64::from(lost.messages)),
                lost.turn,
                with_marks(lost.line)
            )
        });
        lines.push(format!("lost by turn: {}", list(turns.collect(), health.lost_turns.len())));
    }
    if !health.branches.is_empty() {
        let branches = health.branches.iter().take(MOST_SHOWN).map(|branch| {
            let broken =
                branch.broken_at.map(|line| format!(", broken at line {}", with_marks(line)));
            let current = if branch.is_current { ", the current one" } else { "" };
            format!(
                "line {} sends {}{current}{}",
                with_marks(branch.line),
                with_marks(branch.sent),
                broken.unwrap_or_default()
            )
        });
        lines.push(format!("branches: {}", list(branches.collect(), health.branches.len())));
    }
    lines
}
