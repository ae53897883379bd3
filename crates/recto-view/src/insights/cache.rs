//! How well the prompt cache was used, by project, model and week.

use std::collections::HashMap;

use recto_session::Tokens;
use recto_session::usage::Counts;
use recto_session::usage::Record;
use recto_session::usage::Selection;
use serde::Serialize;

use super::QualityBy;
use super::TimeSpan;
use crate::costs::misses;
use crate::library::Library;

/// How well the cache was used.
#[derive(Debug, Serialize)]
pub struct CacheInsight {
    /// By what it is grouped.
    pub by: &'static str,
    /// All of it.
    pub total: CacheRow,
    /// The rows, those with the most missed tokens first; weeks in their order.
    pub rows: Vec<CacheRow>,
    /// The sessions with the most missed tokens.
    pub sessions: Vec<CacheRow>,
}

/// A part of it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct CacheRow {
    /// What it stands for.
    pub key: String,
    /// The title, if it is a session.
    pub title: Option<String>,
    /// API messages.
    pub messages: u64,
    /// Tokens that were sent.
    pub sent_tokens: u64,
    /// Of these, read from the cache.
    pub read_tokens: u64,
    /// Of these, written to the cache.
    pub written_tokens: u64,
    /// Messages that missed the cache.
    pub misses: u64,
    /// Tokens that the cache did not have although the message before had sent them.
    pub missed_tokens: u64,
}

impl CacheRow {
    /// How much came from the cache, in percent.
    pub fn hit_percent(&self) -> Option<f64> {
        let tokens = Tokens { cache_read: self.read_tokens, ..Tokens::default() };
        let rest = self.sent_tokens - self.read_tokens.min(self.sent_tokens);
        Tokens { input: rest, ..tokens }.cache_hit_percent()
    }

    fn add(&mut self, counts: &Counts, missed: u64) {
        self.messages += 1;
        self.sent_tokens += counts.context();
        self.read_tokens += u64::from(counts.cache_read);
        self.written_tokens += counts.writes();
        self.misses += u64::from(missed > 0);
        self.missed_tokens += missed;
    }
}

/// How many sessions are listed.
const MOST_SESSIONS: usize = 20;

impl Library {
    /// How well the cache was used in a span of time. Tools do not group it.
    pub fn cache_insight(&self, span: TimeSpan, by: QualityBy) -> CacheInsight {
        let selection = Selection { since: span.0, until: span.1, ..Selection::default() };
        let count = self.count_usage(&[], selection, &|_, _| {});
        let ledger = &count.ledger;
        let mut records: Vec<&Record> = ledger
            .records()
            .iter()
            .filter(|record| count.selection.holds(ledger, record))
            .collect();
        // One conversation after the other: each has a cache of its own.
        records.sort_by_key(|record| (record.file, record.time(), record.line));
        let mut rows: HashMap<String, CacheRow> = HashMap::new();
        let mut sessions: HashMap<String, CacheRow> = HashMap::new();
        let mut total = CacheRow::default();
        let mut before: Option<&Record> = None;
        for record in records {
            let same = before.filter(|before| before.file == record.file);
            let missed =
                same.filter(|before| misses(&before.counts, &record.counts)).map_or(0, |before| {
                    before.counts.context().saturating_sub(u64::from(record.counts.cache_read))
                });
            before = Some(record);
            let key = match by {
                QualityBy::Project | QualityBy::Tool => {
                    ledger.name(ledger.project_of(record)).to_owned()
                }
                QualityBy::Model => record.model.map_or("unknown", |id| ledger.name(id)).to_owned(),
                QualityBy::Week => record.time().map_or_else(
                    || "unknown".to_owned(),
                    |time| {
                        let week = self.zone().to_datetime(time).date().iso_week_date();
                        format!("{}-W{:02}", week.year(), week.week())
                    },
                ),
            };
            rows.entry(key).or_default().add(&record.counts, missed);
            total.add(&record.counts, missed);
            if let Some(session) = ledger.session_of(record) {
                let session = ledger.name(session).to_owned();
                sessions.entry(session).or_default().add(&record.counts, missed);
            }
        }
        let list = |rows: HashMap<String, CacheRow>| -> Vec<CacheRow> {
            let mut rows: Vec<CacheRow> =
                rows.into_iter().map(|(key, row)| CacheRow { key, ..row }).collect();
            rows.sort_by(|a, b| {
                b.missed_tokens.cmp(&a.missed_tokens).then_with(|| a.key.cmp(&b.key))
            });
            rows
        };
        let mut sessions = list(sessions);
        sessions.retain(|row| row.misses > 0);
        sessions.truncate(MOST_SESSIONS);
        let inventory = self.inventory();
        for row in &mut sessions {
            row.title = row.key.parse().ok().and_then(|id| self.title_of(&inventory, id));
        }
        let mut rows = list(rows);
        if by == QualityBy::Week {
            rows.sort_by(|a, b| b.key.cmp(&a.key));
        }
        CacheInsight { by: by.name(), total, rows, sessions }
    }
}
