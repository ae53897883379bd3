//! Why a session costs what it costs: by turn, tool and subagent.
//!
//! The amounts are those of `recto usage`: every message counts once, for the session that had
//! it first. A subagent's messages count for the turn that started it.

use std::collections::BTreeMap;
use std::collections::HashMap;

use jiff::Timestamp;
use recto_log::SessionId;
use recto_session::usage::Counts;
use recto_session::usage::Dimension;
use recto_session::usage::Money;
use recto_session::usage::Record;
use recto_session::usage::Selection;
use serde::Serialize;

use crate::Reading;
use crate::SessionName;
use crate::UsageCount;
use crate::UsageTotal;
use crate::dollars;
use crate::error::ViewError;
use crate::library::Library;
use crate::reading::OUTLINE_TEXT;

/// What a cache miss is, in words.
pub const CACHE_MISS_RULE: &str = "A message missed the cache if it sent at least half as much \
as the previous message, the previous message sent 10,000 tokens or more, and less than half \
came from the cache.";

/// Contexts below this are too small to say anything about the cache.
const LEAST_CONTEXT: u64 = 10_000;

/// How many tools and subagents are listed.
const MOST_ROWS: usize = 10;

/// Why a session costs what it costs.
#[derive(Debug, Serialize)]
pub struct SessionCosts {
    /// All of it, subagents included.
    pub total: UsageTotal,
    /// Its turns, all of them.
    pub turns: Vec<TurnCost>,
    /// The tools whose messages cost most.
    pub tools: Vec<ToolCost>,
    /// The subagents that cost most.
    pub agents: Vec<AgentCost>,
}

/// What a turn cost.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TurnCost {
    /// The turn.
    pub turn: u32,
    /// What began it, in a few words.
    pub prompt: String,
    /// What its messages cost, with those of subagents that it started; messages without a
    /// price are not in it.
    pub cost_usd: f64,
    /// Of that, what subagents cost.
    pub agents_cost_usd: f64,
    /// What all turns up to this one cost.
    pub cumulative_usd: f64,
    /// Its messages that count, with those of its subagents.
    pub messages: u64,
    /// Messages without a price.
    pub unpriced_messages: u64,
    /// Messages of the session itself that missed the cache.
    pub cache_misses: u32,
    /// The tokens that the last message of the session itself sent.
    pub context_tokens: u64,
}

/// What messages cost that call a tool.
#[derive(Debug, Serialize)]
pub struct ToolCost {
    /// The tool, or several that were called together.
    pub tool: String,
    /// What the messages cost that call it.
    pub cost_usd: f64,
    /// How many they are.
    pub messages: u64,
}

/// What a subagent cost.
#[derive(Debug, Serialize)]
pub struct AgentCost {
    /// The subagent.
    pub agent: String,
    /// The turn that started it; 0 if that is not known.
    pub turn: u32,
    /// What its messages cost.
    pub cost_usd: f64,
    /// How many they are.
    pub messages: u64,
}

impl SessionCosts {
    /// The turns that cost most, dearest first.
    pub fn top_turns(&self, count: usize) -> Vec<&TurnCost> {
        let mut turns: Vec<&TurnCost> =
            self.turns.iter().filter(|turn| turn.cost_usd > 0.0).collect();
        turns.sort_by(|a, b| b.cost_usd.total_cmp(&a.cost_usd).then(a.turn.cmp(&b.turn)));
        turns.truncate(count);
        turns
    }
}

impl Library {
    /// Why a session costs what it costs.
    pub fn session_costs(&self, name: impl Into<SessionName>) -> Result<SessionCosts, ViewError> {
        let found = self.find(name)?;
        let (id, reading) = (found.file.id, self.read(&found.file)?);
        let selection = Selection { session: Some(id.to_string()), ..Selection::default() };
        let count = self.count_usage(&[Dimension::Tool], selection, &|_, _| {});
        let mut sums = Sums::new(&reading, id);
        sums.add_all(self, &count);
        let report = count.report(&[Dimension::Tool]);
        let mut tools: Vec<ToolCost> = report
            .rows
            .iter()
            .map(|row| ToolCost {
                tool: row.keys.first().cloned().unwrap_or_default(),
                cost_usd: dollars(row.total.known_cost),
                messages: row.total.messages,
            })
            .collect();
        tools.sort_by(|a, b| b.cost_usd.total_cmp(&a.cost_usd));
        tools.truncate(MOST_ROWS);
        Ok(SessionCosts {
            total: (&report.total).into(),
            agents: sums.agents(),
            turns: sums.turns(),
            tools,
        })
    }
}

/// A turn while it is added up: amounts are exact until all are in.
#[derive(Debug, Clone, Default)]
struct TurnSum {
    cost: Money,
    agents_cost: Money,
    row: TurnCost,
}

struct Sums<'a> {
    reading: &'a Reading,
    session: String,
    turn_of_line: HashMap<u64, u32>,
    starts: Vec<(Timestamp, u32)>,
    turns: Vec<TurnSum>,
    agents: BTreeMap<String, (u32, Money, u64)>,
    before: Option<Counts>,
}

impl<'a> Sums<'a> {
    fn new(reading: &'a Reading, id: SessionId) -> Sums<'a> {
        let session = reading.session();
        let of_line = |id| (session.node(id).line, reading.turn_number(id));
        let starts = reading.turns().filter_map(|turn| Some((turn.started?, turn.number)));
        Sums {
            reading,
            session: id.to_string(),
            turn_of_line: session.ids().map(of_line).collect(),
            starts: starts.collect(),
            turns: vec![TurnSum::default(); reading.turns.len()],
            agents: BTreeMap::new(),
            before: None,
        }
    }

    fn add_all(&mut self, library: &Library, count: &UsageCount) {
        let ledger = &count.ledger;
        let mut records: Vec<&Record> = ledger
            .records()
            .iter()
            .filter(|record| count.selection.holds(ledger, record))
            .collect();
        records.sort_by_key(|record| (record.time(), record.line));
        let project = &self.reading.log.project.key;
        for record in records {
            // Another project can have a log of the same id, which counts its own messages.
            let holder = &ledger.files()[record.file as usize];
            let is_session = holder.session.as_deref() == Some(&self.session);
            if is_session && holder.project != *project {
                continue;
            }
            let model = record.model.map(|id| ledger.name(id));
            let cost = library.prices().amount(model, record).ok().map(|amount| amount.total);
            let file = &ledger.files()[record.counted_file as usize];
            let is_own = file.session.as_deref() == Some(&self.session)
                && file.agent.is_none()
                && file.project == *project;
            match ledger.agent_of(record).map(|id| ledger.name(id).to_owned()) {
                Some(agent) => self.add_agent(agent, record, cost),
                None => self.add_own(record, cost, is_own),
            }
        }
    }

    fn add_own(&mut self, record: &Record, cost: Option<Money>, is_in_log: bool) {
        let by_line = self.turn_of_line.get(&u64::from(record.line)).filter(|_| is_in_log);
        let turn = by_line.copied().filter(|turn| *turn > 0).or_else(|| self.by_time(record));
        let is_miss = self.before.as_ref().is_some_and(|before| misses(before, &record.counts));
        self.before = Some(record.counts);
        let Some(sum) = turn.and_then(|turn| self.turns.get_mut(turn as usize - 1)) else { return };
        sum.row.cache_misses += u32::from(is_miss);
        sum.row.context_tokens = record.counts.context();
        add(sum, cost);
    }

    fn add_agent(&mut self, agent: String, record: &Record, cost: Option<Money>) {
        let known = self.agents.get(&agent).map(|(turn, _, _)| *turn);
        let turn = known.or_else(|| self.started(&agent)).or_else(|| self.by_time(record));
        let entry = self.agents.entry(agent).or_insert((turn.unwrap_or(0), Money::default(), 0));
        entry.1 = entry.1.plus(cost.unwrap_or_default());
        entry.2 += 1;
        let Some(sum) = turn.and_then(|turn| self.turns.get_mut((turn as usize).checked_sub(1)?))
        else {
            return;
        };
        sum.agents_cost = sum.agents_cost.plus(cost.unwrap_or_default());
        add(sum, cost);
    }

    /// The turn whose call started a subagent.
    fn started(&self, agent: &str) -> Option<u32> {
        let session = self.reading.session();
        let mut runs = session.facts().agents.iter();
        let run = runs.find(|run| run.agent.as_ref().is_some_and(|id| id.as_str() == agent))?;
        let call = run.call.and_then(|name| session.facts().call(name)?.call).unwrap_or(run.node);
        Some(self.reading.turn_number(call)).filter(|turn| *turn > 0)
    }

    /// The last turn that had begun when a message was written.
    fn by_time(&self, record: &Record) -> Option<u32> {
        let time = record.time()?;
        self.starts.iter().rev().find(|(start, _)| *start <= time).map(|(_, turn)| *turn)
    }

    fn agents(&self) -> Vec<AgentCost> {
        let mut agents: Vec<AgentCost> = self
            .agents
            .iter()
            .map(|(agent, (turn, cost, messages))| AgentCost {
                agent: agent.clone(),
                turn: *turn,
                cost_usd: dollars(*cost),
                messages: *messages,
            })
            .collect();
        agents
            .sort_by(|a, b| b.cost_usd.total_cmp(&a.cost_usd).then_with(|| a.agent.cmp(&b.agent)));
        agents
    }

    fn turns(&self) -> Vec<TurnCost> {
        let mut all = Money::default();
        let rows = self.turns.iter().zip(self.reading.turns()).map(|(sum, turn)| {
            all = all.plus(sum.cost);
            TurnCost {
                turn: turn.number,
                prompt: self.reading.prompt_beginning(&turn, OUTLINE_TEXT),
                cost_usd: dollars(sum.cost),
                agents_cost_usd: dollars(sum.agents_cost),
                cumulative_usd: dollars(all),
                ..sum.row.clone()
            }
        });
        rows.collect()
    }
}

fn add(sum: &mut TurnSum, cost: Option<Money>) {
    sum.row.messages += 1;
    match cost {
        Some(cost) => sum.cost = sum.cost.plus(cost),
        None => sum.row.unpriced_messages += 1,
    }
}

/// Whether a message had to send again what the one before it had sent: [`CACHE_MISS_RULE`].
pub(crate) fn misses(before: &Counts, now: &Counts) -> bool {
    let (had, has) = (before.context(), now.context());
    had >= LEAST_CONTEXT && has * 2 >= had && u64::from(now.cache_read) * 2 < had
}
