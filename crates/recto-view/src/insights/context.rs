//! How contexts grow: what messages send, by their number in the session.

use std::collections::HashMap;

use recto_session::usage::Record;
use recto_session::usage::Selection;
use serde::Serialize;

use super::TimeSpan;
use super::at_share;
use crate::library::Library;

/// The rule, in words.
pub const CONTEXT_RULE: &str = "The context of a message is everything it sent: input, cache \
writes and cache reads. Messages are numbered by time within a session's log, without \
subagents. A context that falls by more than half was compacted or cleared.";

/// After how many messages contexts are compared.
const STEPS: [usize; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/// How many sessions are listed.
const MOST_SESSIONS: usize = 20;

/// How contexts grow.
#[derive(Debug, Serialize)]
pub struct ContextInsight {
    /// How many sessions were looked at.
    pub sessions_seen: usize,
    /// The contexts after some numbers of messages.
    pub steps: Vec<ContextStep>,
    /// The sessions with the largest contexts.
    pub sessions: Vec<ContextSession>,
}

/// The contexts of all sessions at a message.
#[derive(Debug, Serialize)]
pub struct ContextStep {
    /// The number of the message.
    pub message: usize,
    /// Sessions that have so many.
    pub sessions: usize,
    /// Half of them sent no more.
    pub median_tokens: u64,
    /// Nine of ten sent no more.
    pub p90_tokens: u64,
}

/// A session with a large context.
#[derive(Debug, Serialize)]
pub struct ContextSession {
    /// The session.
    pub session: String,
    /// Its title.
    pub title: Option<String>,
    /// Its messages.
    pub messages: usize,
    /// What its first message sent.
    pub first_tokens: u64,
    /// The most that one sent.
    pub peak_tokens: u64,
    /// What its last message sent.
    pub last_tokens: u64,
    /// How often the context fell by more than half.
    pub drops: u32,
    /// How much the context grew with each message, where it grew.
    pub growth_tokens: u64,
}

impl Library {
    /// How contexts grow in a span of time.
    pub fn context_insight(&self, span: TimeSpan) -> ContextInsight {
        let selection = Selection { since: span.0, until: span.1, ..Selection::default() };
        let count = self.count_usage(&[], selection, &|_, _| {});
        let ledger = &count.ledger;
        let mut logs: HashMap<u32, Vec<&Record>> = HashMap::new();
        for record in ledger.records() {
            let is_main = ledger.agent_of(record).is_none();
            if is_main && count.selection.holds(ledger, record) {
                logs.entry(record.file).or_default().push(record);
            }
        }
        let mut sessions = Vec::new();
        let mut at: Vec<Vec<u64>> = vec![Vec::new(); STEPS.len()];
        for records in logs.values_mut() {
            records.sort_by_key(|record| (record.time(), record.line));
            let contexts: Vec<u64> = records.iter().map(|record| record.counts.context()).collect();
            for (place, step) in STEPS.iter().enumerate() {
                at[place].extend(contexts.get(step - 1));
            }
            let session = ledger.session_of(records[0]).map(|id| ledger.name(id).to_owned());
            sessions.extend(session.map(|session| of_session(session, &contexts)));
        }
        let steps = STEPS.iter().zip(&mut at).filter_map(|(step, contexts)| {
            contexts.sort_unstable();
            Some(ContextStep {
                message: *step,
                sessions: contexts.len(),
                median_tokens: at_share(contexts, 5)?,
                p90_tokens: at_share(contexts, 9)?,
            })
        });
        let steps = steps.collect();
        let sessions_seen = sessions.len();
        sessions.sort_by(|a, b| {
            b.peak_tokens.cmp(&a.peak_tokens).then_with(|| a.session.cmp(&b.session))
        });
        sessions.truncate(MOST_SESSIONS);
        let inventory = self.inventory();
        for row in &mut sessions {
            row.title = row.session.parse().ok().and_then(|id| self.title_of(&inventory, id));
        }
        ContextInsight { sessions_seen, steps, sessions }
    }
}

fn of_session(session: String, contexts: &[u64]) -> ContextSession {
    let pairs = contexts.windows(2);
    let grown: Vec<u64> =
        pairs.clone().filter(|two| two[1] > two[0]).map(|two| two[1] - two[0]).collect();
    ContextSession {
        session,
        title: None,
        messages: contexts.len(),
        first_tokens: contexts.first().copied().unwrap_or(0),
        peak_tokens: contexts.iter().copied().max().unwrap_or(0),
        last_tokens: contexts.last().copied().unwrap_or(0),
        drops: pairs.filter(|two| two[1] * 2 < two[0]).count() as u32,
        growth_tokens: grown.iter().sum::<u64>() / grown.len().max(1) as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_that_falls_by_more_than_half_is_a_drop() {
        let row = of_session("s".to_owned(), &[100, 200, 90, 110]);
        assert_eq!(
            (row.first_tokens, row.peak_tokens, row.last_tokens, row.drops),
            (100, 200, 110, 1)
        );
        assert_eq!(row.growth_tokens, 60);
    }
}
