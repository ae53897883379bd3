//! What clients counted themselves, beside what their logs tell.
//!
//! Calls for titles, for compaction and the like are in `cost-state` lines only.

use std::collections::BTreeMap;

use recto_log::ModelUsage;

use super::Ledger;
use super::Money;
use super::Selection;
use crate::NameId;

/// The difference between `cost-state` lines and messages, for sessions that
/// have such lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Helpers {
    /// Sessions with a `cost-state`.
    pub sessions: u64,
    /// Those of them whose tokens agree with it, all of them.
    pub agreeing: u64,
    /// Tokens that only the client counted.
    pub input: u64,
    /// The same, of answers.
    pub output: u64,
    /// The same, read from the cache.
    pub cache_read: u64,
    /// The same, written to the cache.
    pub cache_creation: u64,
    /// Tokens of messages that the client did not count, all kinds together: they
    /// came after its last count, or lines of the log were changed.
    pub uncounted: u64,
    /// What the client says that these sessions cost.
    pub client_cost: Money,
}

type ByModel = BTreeMap<String, [u64; 4]>;

/// Compares the sessions that are meant, if whole sessions are: a span of time
/// or a model cannot be told apart in the client's count.
pub fn helpers(ledger: &Ledger, selection: &Selection) -> Option<Helpers> {
    let is_whole = selection.since.is_none()
        && selection.until.is_none()
        && selection.model.is_none()
        && selection.branch.is_none()
        && selection.agent.is_none();
    if !is_whole {
        return None;
    }
    let mut logged: BTreeMap<NameId, ByModel> = BTreeMap::new();
    for record in ledger.records() {
        let Some(session) = ledger.session_of(record).filter(|_| selection.holds(ledger, record))
        else {
            continue;
        };
        let model = record.model.map_or("", |model| ledger.name(model)).to_owned();
        let sum = logged.entry(session).or_default().entry(model).or_default();
        let counts = &record.counts;
        let more = [counts.input, counts.output, counts.cache_read].map(u64::from);
        for (sum, more) in sum.iter_mut().zip([more[0], more[1], more[2], counts.writes()]) {
            *sum += more;
        }
    }
    let mut all = Helpers::default();
    for (file, state) in &ledger.cost_states {
        let Some(session) = ledger.file_names[*file as usize].session else { continue };
        let Some(logged) = logged.remove(&session) else { continue };
        all.sessions += 1;
        let usd = state.total_usd.and_then(|usd| Money::parse(&format!("{usd}")));
        all.client_cost = all.client_cost.plus(usd.unwrap_or_default());
        all.compare(&state.models, logged);
    }
    (all.sessions > 0).then_some(all)
}

impl Helpers {
    /// Tokens that only the client counted, all kinds together.
    pub fn tokens(&self) -> u64 {
        // The client's word can be any number.
        let all = [self.output, self.cache_read, self.cache_creation];
        all.into_iter().fold(self.input, u64::saturating_add)
    }

    fn compare(&mut self, counted: &[(String, ModelUsage)], mut logged: ByModel) {
        let before = (self.tokens(), self.uncounted);
        for (model, usage) in counted {
            let known = logged.remove(model).unwrap_or_default();
            let said = [usage.input, usage.output, usage.cache_read, usage.cache_creation];
            let slots =
                [&mut self.input, &mut self.output, &mut self.cache_read, &mut self.cache_creation];
            for (slot, (said, known)) in slots.into_iter().zip(said.into_iter().zip(known)) {
                *slot = slot.saturating_add(said.saturating_sub(known));
                self.uncounted += known.saturating_sub(said);
            }
        }
        // Models that the client did not count at all.
        self.uncounted += logged.values().flatten().sum::<u64>();
        self.agreeing += u64::from((self.tokens(), self.uncounted) == before);
    }
}
