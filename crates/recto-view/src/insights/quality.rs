//! How often tools fail, are tried again and work then, and how often turns are stopped.

use std::collections::HashMap;

use serde::Serialize;

use super::TimeSpan;
use super::is_in;
use crate::error::ViewError;
use crate::figures::Looked;
use crate::library::Library;

/// The rules, in words.
pub const QUALITY_RULES: [&str; 4] = [
    "A call failed if its result says so.",
    "A retry is a call of a tool whose previous call in the same turn failed; it is a repair \
    if it succeeded.",
    "A turn was stopped if the user interrupted it.",
    "An API error is an error response of the API. Subagents count with their sessions.",
];

/// By what it is grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QualityBy {
    /// The tool.
    #[default]
    Tool,
    /// The project.
    Project,
    /// The model that answered last in the log.
    Model,
    /// The week.
    Week,
}

impl QualityBy {
    /// All of them.
    pub const ALL: [QualityBy; 4] =
        [QualityBy::Tool, QualityBy::Project, QualityBy::Model, QualityBy::Week];

    /// The name in an address.
    pub fn name(self) -> &'static str {
        match self {
            QualityBy::Tool => "tool",
            QualityBy::Project => "project",
            QualityBy::Model => "model",
            QualityBy::Week => "week",
        }
    }

    /// Reads a name.
    pub fn named(name: &str) -> Result<QualityBy, ViewError> {
        QualityBy::ALL.into_iter().find(|by| by.name() == name).ok_or_else(|| {
            ViewError::refused("bad-parameter", "invalid value for `by`")
                .with_hint(QualityBy::ALL.map(QualityBy::name).join(", "))
        })
    }
}

/// How often things went wrong.
#[derive(Debug, Serialize)]
pub struct QualityInsight {
    /// By what it is grouped.
    pub by: &'static str,
    /// All of it.
    pub total: QualityRow,
    /// The rows, those with the most failures first; weeks in their order.
    pub rows: Vec<QualityRow>,
}

/// A part of it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct QualityRow {
    /// What it stands for.
    pub key: String,
    /// Calls of tools.
    pub calls: u64,
    /// Those that failed.
    pub failed: u64,
    /// Calls right after a failed call of the same tool.
    pub retries: u64,
    /// Retries that did not fail.
    pub repaired: u64,
    /// Turns; none by tool.
    pub turns: u64,
    /// Turns that the user stopped.
    pub interrupted: u64,
    /// Answers of the API that are errors.
    pub api_errors: u64,
    /// The session with the most failures.
    pub session: Option<String>,
    #[serde(skip)]
    worst: u64,
}

impl QualityRow {
    /// How many of its calls failed, in percent.
    pub fn failed_percent(&self) -> f64 {
        if self.calls == 0 { 0.0 } else { self.failed as f64 * 100.0 / self.calls as f64 }
    }
}

impl Library {
    /// How often things went wrong in a span of time.
    pub fn quality_insight(&self, span: TimeSpan, by: QualityBy) -> QualityInsight {
        let surveyed = self.survey();
        let mut rows: HashMap<String, QualityRow> = HashMap::new();
        let mut total = QualityRow::default();
        for looked in &surveyed.logs {
            self.add_log(looked, span, by, &mut rows, &mut total);
        }
        let mut rows: Vec<QualityRow> =
            rows.into_iter().map(|(key, row)| QualityRow { key, ..row }).collect();
        match by {
            QualityBy::Week => rows.sort_by(|a, b| b.key.cmp(&a.key)),
            _ => rows.sort_by(|a, b| {
                (b.failed, b.interrupted, b.calls)
                    .cmp(&(a.failed, a.interrupted, a.calls))
                    .then_with(|| a.key.cmp(&b.key))
            }),
        }
        QualityInsight { by: by.name(), total, rows }
    }

    fn add_log(
        &self,
        looked: &Looked,
        span: TimeSpan,
        by: QualityBy,
        rows: &mut HashMap<String, QualityRow>,
        total: &mut QualityRow,
    ) {
        let work = &looked.work;
        let session = looked.log.session.map(|id| id.to_string());
        let key = |tool: Option<&str>, time| -> Option<String> {
            match by {
                QualityBy::Tool => tool.map(str::to_owned),
                QualityBy::Project => Some(looked.log.project.key.clone()),
                QualityBy::Model => {
                    Some(work.model.clone().unwrap_or_else(|| "unknown".to_owned()))
                }
                QualityBy::Week => {
                    let day = self.zone().to_datetime(time?).date();
                    let week = day.iso_week_date();
                    Some(format!("{}-W{:02}", week.year(), week.week()))
                }
            }
        };
        let mut failures: HashMap<String, u64> = HashMap::new();
        for turn in work.turns.iter().filter(|turn| is_in(span, turn.started)) {
            let own = key(None, turn.started);
            let row = own.map(|key| rows.entry(key).or_default());
            for row in row.into_iter().chain([&mut *total]) {
                row.turns += u64::from(looked.log.agent.is_none());
                row.interrupted += u64::from(turn.is_interrupted);
                row.api_errors += u64::from(turn.api_errors);
            }
        }
        for tool in &work.tools {
            let turn = work.turns.get((tool.turn as usize).wrapping_sub(1));
            let time = turn.and_then(|turn| turn.started);
            if !is_in(span, time) {
                continue;
            }
            let Some(key) = key(Some(&tool.tool), time) else { continue };
            *failures.entry(key.clone()).or_default() += u64::from(tool.failed);
            for row in [rows.entry(key).or_default(), total] {
                row.calls += u64::from(tool.calls);
                row.failed += u64::from(tool.failed);
                row.retries += u64::from(tool.retries);
                row.repaired += u64::from(tool.repaired);
            }
        }
        for (key, failed) in failures {
            if let Some(row) = rows.get_mut(&key)
                && failed > row.worst
            {
                row.worst = failed;
                row.session.clone_from(&session);
            }
        }
    }
}
