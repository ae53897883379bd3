//! What clients counted themselves, beside what their logs tell.
//!
//! Calls for titles, for compaction and the like are in `cost-state` lines only.
//! The count of a fork goes on from that of its source: it holds the messages that
//! were copied, and the source's subagents and helpers too, which are not.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use recto_log::CostState;

use super::Ledger;
use super::Money;
use super::Selection;
use crate::NameId;
use crate::Tokens;

/// The difference between `cost-state` lines and messages, for sessions that
/// have such lines. Of forks of each other the largest difference counts, because
/// one holds what the other has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Helpers {
    /// Sessions with a `cost-state`.
    pub sessions: u64,
    /// Those of them whose tokens agree with it, all of them.
    pub agreeing: u64,
    /// Tokens that only the client counted. It does not tell cache writes apart by lifetime.
    pub tokens: Tokens,
    /// Tokens of messages that the client did not count, all kinds together: the
    /// answer was broken off, or came after its last count.
    pub uncounted: u64,
    /// What the client says that these sessions cost.
    pub client_cost: Money,
}

/// The name of the project's directory, and the session.
type Place = (NameId, NameId);

type ByModel<'a> = BTreeMap<&'a str, Tokens>;

/// How one session, or some that are forks of each other, differ.
#[derive(Debug, Clone, Copy, Default)]
struct Difference {
    only_client: Tokens,
    uncounted: u64,
    cost: Money,
}

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
    let families = families(ledger);
    let family = |place: Place| families.get(&place).copied().unwrap_or(place);
    let (mut subagents, mut of_families) = (BTreeMap::new(), BTreeMap::new());
    for (file, names) in ledger.file_names.iter().enumerate() {
        if let (Some(place), Some(_)) = (place(ledger, file), names.agent) {
            add_held(subagents.entry(place).or_default(), ledger, file);
            add_held(of_families.entry(family(place)).or_default(), ledger, file);
        }
    }
    let meant = Meant::of(ledger, selection);
    let mut all = Helpers::default();
    let mut differences: BTreeMap<Place, Difference> = BTreeMap::new();
    for (file, state) in &ledger.cost_states {
        let file = *file as usize;
        let Some(place) = place(ledger, file).filter(|place| meant.holds(*place)) else { continue };
        let mut least = subagents.get(&place).cloned().unwrap_or_default();
        let mut most = of_families.get(&family(place)).cloned().unwrap_or_default();
        add_held(&mut least, ledger, file);
        add_held(&mut most, ledger, file);
        if state.models.is_empty() && least.is_empty() {
            continue;
        }
        let found = Difference::of(state, &least, &most);
        all.sessions += 1;
        all.agreeing += u64::from(found.only_client == Tokens::default() && found.uncounted == 0);
        differences.entry(family(place)).or_default().grow_to(&found);
    }
    for found in differences.values() {
        all.tokens.add(found.only_client);
        all.uncounted = all.uncounted.saturating_add(found.uncounted);
        all.client_cost = all.client_cost.plus(found.cost);
    }
    (all.sessions > 0).then_some(all)
}

fn place(ledger: &Ledger, file: usize) -> Option<Place> {
    let names = ledger.file_names.get(file)?;
    Some((names.project, names.session?))
}

/// Adds what a file holds, copies included.
fn add_held<'a>(sum: &mut ByModel<'a>, ledger: &'a Ledger, file: usize) {
    for (model, tokens) in ledger.held.get(file).into_iter().flatten() {
        let sum = sum.entry(model.map_or("", |model| ledger.name(model))).or_default();
        sum.add(*tokens);
    }
}

/// Sessions that have messages in common, each with one that stands for all.
fn families(ledger: &Ledger) -> BTreeMap<Place, Place> {
    let mut families: BTreeMap<Place, Place> = BTreeMap::new();
    for (a, b) in &ledger.shared {
        let (Some(a), Some(b)) = (place(ledger, *a as usize), place(ledger, *b as usize)) else {
            continue;
        };
        let first = families.get(&a).copied().unwrap_or(a);
        let second = families.get(&b).copied().unwrap_or(b);
        families.insert(a, first);
        families.insert(b, first);
        if first != second {
            families.values_mut().filter(|one| **one == second).for_each(|one| *one = first);
        }
    }
    families
}

/// Which sessions a selection means.
struct Meant<'a> {
    selection: &'a Selection,
    ledger: &'a Ledger,
    chosen: BTreeSet<Place>,
    with_records: BTreeSet<Place>,
}

impl<'a> Meant<'a> {
    fn of(ledger: &'a Ledger, selection: &'a Selection) -> Meant<'a> {
        let (mut chosen, mut with_records) = (BTreeSet::new(), BTreeSet::new());
        for record in ledger.records() {
            if let Some(place) = place(ledger, record.file as usize) {
                with_records.insert(place);
                if selection.holds(ledger, record) {
                    chosen.insert(place);
                }
            }
        }
        Meant { selection, ledger, chosen, with_records }
    }

    /// A session none of whose messages count for it can still have a count.
    fn holds(&self, place: Place) -> bool {
        let is = |wanted: &Option<String>, name: NameId| {
            wanted.as_deref().is_none_or(|wanted| wanted == self.ledger.name(name))
        };
        self.chosen.contains(&place)
            || (!self.with_records.contains(&place)
                && is(&self.selection.project, place.0)
                && is(&self.selection.session, place.1))
    }
}

impl Difference {
    /// `least` is what the logs of the session hold; `most` has the subagents of
    /// its forks and sources too, of which the client may have counted some.
    fn of(state: &CostState, least: &ByModel<'_>, most: &ByModel<'_>) -> Difference {
        let mut said: ByModel<'_> = BTreeMap::new();
        for (model, usage) in &state.models {
            said.entry(model).or_default().add(Tokens {
                input: usage.input,
                output: usage.output,
                cache_creation: usage.cache_creation,
                cache_read: usage.cache_read,
                ..Tokens::default()
            });
        }
        let cost = state.total_usd.and_then(|usd| Money::parse(&format!("{usd}")));
        let mut found = Difference { cost: cost.unwrap_or_default(), ..Difference::default() };
        for (model, said) in &said {
            found.only_client.add(beyond(*said, most.get(model)));
        }
        for (model, least) in least {
            let more = beyond(*least, said.get(model)).all();
            found.uncounted = found.uncounted.saturating_add(more);
        }
        found
    }

    fn grow_to(&mut self, other: &Difference) {
        self.only_client = self.only_client.with(other.only_client, u64::max);
        self.uncounted = self.uncounted.max(other.uncounted);
        self.cost = self.cost.max(other.cost);
    }
}

fn beyond(tokens: Tokens, known: Option<&Tokens>) -> Tokens {
    tokens.with(known.copied().unwrap_or_default(), u64::saturating_sub)
}
