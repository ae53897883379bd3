//! The sum of many logs, in which copies count once.

use std::collections::HashMap;
use std::collections::HashSet;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::LogRole;
use super::LogStatistics;
use super::Spread;
use super::log::CallEnd;
use super::log::CallFact;
use super::log::MessageFact;
use super::log::TurnFact;
use crate::Tokens;
use crate::TurnKind;

/// The last number of a turn of which the context is kept.
const LAST_TURN: u32 = 1000;

/// The ends of the ranges in which the lengths of turns are counted, in seconds.
const LENGTHS: [u64; 8] = [10, 30, 60, 120, 300, 600, 1800, 3600];

/// Takes in logs.
#[derive(Debug)]
pub struct Tally {
    zone: TimeZone,
    seen: HashSet<u64>,
    sessions: u64,
    agents: u64,
    turns: u64,
    prompts: u64,
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    models: HashMap<String, ModelStatistics>,
    tools: HashMap<String, Tool>,
    lengths: Spread,
    hours: [Activity; 24],
    weekdays: [Activity; 7],
    contexts: Vec<Spread>,
    files: HashMap<String, FileStatistics>,
    /// Logs with facts that only progress lines tell there: they count last.
    told: Vec<LogStatistics>,
    /// The subagents whose logs were added, and those that logs name.
    agents_with_log: HashSet<u64>,
    agents_named: HashSet<u64>,
}

#[derive(Debug, Default)]
struct Tool {
    calls: u64,
    failed: u64,
    open: u64,
    times: Spread,
}

/// How much was done at some hour or on some day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Activity {
    /// Prompts of the user.
    pub prompts: u64,
    /// Messages of models.
    pub messages: u64,
}

/// What a model did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelStatistics {
    /// The model.
    pub name: String,
    /// Its messages.
    pub messages: u64,
    /// Their tokens.
    pub tokens: Tokens,
}

/// What became of the calls of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolStatistics {
    /// The tool.
    pub name: String,
    /// Its calls.
    pub calls: u64,
    /// Of these, failed.
    pub failed: u64,
    /// Of these, without a result.
    pub open: u64,
    /// The time of half of the calls is at most this, in milliseconds.
    pub median_milliseconds: Option<u64>,
    /// The time of all calls together, in milliseconds.
    pub total_milliseconds: u64,
}

/// How many turns took how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LengthRange {
    /// The shortest that is counted, in milliseconds.
    pub from: u64,
    /// What is too long to be counted; none for the last range.
    pub below: Option<u64>,
    /// How many turns.
    pub turns: u64,
}

/// How large the context is at some turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContextPoint {
    /// The number of the turn among those in which a model worked.
    pub turn: u32,
    /// How many sessions have such a turn.
    pub sessions: u64,
    /// What the first message of the turn was sent, in half of them at most.
    pub median_tokens: u64,
}

/// How often a file was changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileStatistics {
    /// The file.
    pub path: String,
    /// How often it was changed.
    pub edits: u64,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
    /// How many logs changed it.
    pub logs: u64,
}

/// Many sessions in numbers. Lists begin with the largest.
#[derive(Debug, Clone)]
pub struct Statistics {
    /// Sessions.
    pub sessions: u64,
    /// Subagents: logs of them, and those that only other logs name.
    pub agents: u64,
    /// Turns of the sessions.
    pub turns: u64,
    /// Turns that a prompt began.
    pub prompts: u64,
    /// Messages of models.
    pub messages: u64,
    /// Their tokens.
    pub tokens: Tokens,
    /// When the first turn or message was written.
    pub started: Option<Timestamp>,
    /// When the last one was.
    pub ended: Option<Timestamp>,
    /// The models.
    pub models: Vec<ModelStatistics>,
    /// The tools.
    pub tools: Vec<ToolStatistics>,
    /// How long all turns took, in milliseconds.
    pub working_milliseconds: u64,
    /// Half of the turns took at most this.
    pub median_turn: Option<u64>,
    /// Nine of ten turns took at most this.
    pub long_turn: Option<u64>,
    /// How many turns took how long, the short ones first.
    pub lengths: Vec<LengthRange>,
    /// By hour of the day, from midnight.
    pub hours: [Activity; 24],
    /// By day of the week, from Monday.
    pub weekdays: [Activity; 7],
    /// The context by turn, the first turn first.
    pub contexts: Vec<ContextPoint>,
    /// The files that were changed.
    pub files: Vec<FileStatistics>,
}

impl Tally {
    /// A tally of nothing, for the days and hours of a time zone.
    pub fn new(zone: TimeZone) -> Tally {
        Tally {
            zone,
            seen: HashSet::new(),
            sessions: 0,
            agents: 0,
            turns: 0,
            prompts: 0,
            first: None,
            last: None,
            models: HashMap::new(),
            tools: HashMap::new(),
            lengths: Spread::default(),
            hours: Default::default(),
            weekdays: Default::default(),
            contexts: Vec::new(),
            files: HashMap::new(),
            told: Vec::new(),
            agents_with_log: HashSet::new(),
            agents_named: HashSet::new(),
        }
    }

    /// Takes in a log.
    pub fn add(&mut self, log: &LogStatistics) {
        match log.role {
            LogRole::Session => {
                self.sessions += 1;
                self.agents_named.extend(&log.agents);
            }
            LogRole::Agent => {
                self.agents += 1;
                self.agents_with_log.extend(&log.agents);
            }
        }
        self.add_facts(log, |message| !message.is_told, |call| !call.is_told);
        for turn in &log.turns {
            if self.seen.insert(turn.key) {
                self.add_turn(turn);
            }
        }
        if log.has_told() {
            self.told.push(log.only_told());
        }
    }

    /// Adds messages and calls, as far as they are wanted and new.
    fn add_facts(
        &mut self,
        log: &LogStatistics,
        message: impl Fn(&MessageFact) -> bool,
        call: impl Fn(&CallFact) -> bool,
    ) {
        for message in log.messages.iter().filter(|fact| message(fact)) {
            if !self.seen.insert(message.key) {
                continue;
            }
            let name = message.model.map_or("unknown", |model| log.name(model));
            let model = entry(&mut self.models, name);
            model.messages += 1;
            model.tokens.add(message.tokens);
            self.at(message.time, |activity| activity.messages += 1);
        }
        let mut changed = HashSet::new();
        for call in log.calls.iter().filter(|fact| call(fact)) {
            if self.seen.insert(call.key) {
                self.add_call(log, call, &mut changed);
            }
        }
    }

    fn add_call(&mut self, log: &LogStatistics, call: &CallFact, changed: &mut HashSet<u32>) {
        let tool = entry(&mut self.tools, log.name(call.tool));
        tool.calls += 1;
        match call.end {
            CallEnd::Done => {}
            CallEnd::Failed => tool.failed += 1,
            CallEnd::Open => tool.open += 1,
        }
        if let Some(milliseconds) = call.milliseconds {
            tool.times.add(milliseconds);
        }
        if let Some(edit) = &call.edit {
            let file = entry(&mut self.files, log.name(edit.path));
            file.edits += 1;
            file.added = file.added.saturating_add(edit.added);
            file.removed = file.removed.saturating_add(edit.removed);
            file.logs += u64::from(changed.insert(edit.path));
        }
    }

    fn add_turn(&mut self, turn: &TurnFact) {
        self.turns += 1;
        if turn.kind == TurnKind::Human {
            self.prompts += 1;
            self.at(turn.started, |activity| activity.prompts += 1);
        }
        for time in [turn.started, turn.ended].into_iter().flatten() {
            self.note(time);
        }
        if let Some(milliseconds) = turn.milliseconds {
            self.lengths.add(milliseconds);
        }
        if let Some((number, tokens)) = turn.context.filter(|(number, _)| *number <= LAST_TURN) {
            let place = number as usize - 1;
            if self.contexts.len() <= place {
                self.contexts.resize_with(place + 1, Spread::default);
            }
            self.contexts[place].add(tokens);
        }
    }

    fn note(&mut self, time: Timestamp) {
        self.first = Some(self.first.map_or(time, |first| first.min(time)));
        self.last = Some(self.last.map_or(time, |last| last.max(time)));
    }

    /// Counts something at its hour and on its day.
    fn at(&mut self, time: Option<Timestamp>, count: impl Fn(&mut Activity)) {
        let Some(time) = time else { return };
        self.note(time);
        let here = self.zone.to_datetime(time);
        count(&mut self.hours[here.hour().unsigned_abs() as usize % 24]);
        let day = here.date().weekday().to_monday_zero_offset();
        count(&mut self.weekdays[day.unsigned_abs() as usize % 7]);
    }

    /// What it all comes to.
    pub fn finish(mut self) -> Statistics {
        for log in std::mem::take(&mut self.told) {
            self.add_facts(&log, |_| true, |_| true);
        }
        let without_log = self.agents_named.difference(&self.agents_with_log).count();
        self.agents += without_log as u64;
        let mut models: Vec<ModelStatistics> = named(self.models, |model, name| model.name = name);
        models.sort_by(|a, b| b.messages.cmp(&a.messages).then_with(|| a.name.cmp(&b.name)));
        let mut files: Vec<FileStatistics> = named(self.files, |file, path| file.path = path);
        files.sort_by(|a, b| b.edits.cmp(&a.edits).then_with(|| a.path.cmp(&b.path)));
        let mut tools: Vec<ToolStatistics> =
            self.tools.into_iter().map(|(name, tool)| tool.finish(name)).collect();
        tools.sort_by(|a, b| b.calls.cmp(&a.calls).then_with(|| a.name.cmp(&b.name)));
        let mut tokens = Tokens::default();
        models.iter().for_each(|model| tokens.add(model.tokens));
        let mut lengths = self.lengths;
        Statistics {
            sessions: self.sessions,
            agents: self.agents,
            turns: self.turns,
            prompts: self.prompts,
            messages: models.iter().map(|model| model.messages).sum(),
            tokens,
            started: self.first,
            ended: self.last,
            models,
            tools,
            working_milliseconds: lengths.total(),
            median_turn: lengths.at_percent(50),
            long_turn: lengths.at_percent(90),
            lengths: length_ranges(&lengths),
            hours: self.hours,
            weekdays: self.weekdays,
            contexts: context_points(self.contexts),
            files,
        }
    }
}

impl Tool {
    fn finish(mut self, name: String) -> ToolStatistics {
        ToolStatistics {
            name,
            calls: self.calls,
            failed: self.failed,
            open: self.open,
            median_milliseconds: self.times.at_percent(50),
            total_milliseconds: self.times.total(),
        }
    }
}

/// The value of a name.
fn entry<'m, V: Default>(map: &'m mut HashMap<String, V>, name: &str) -> &'m mut V {
    map.entry(name.to_owned()).or_default()
}

fn named<V>(map: HashMap<String, V>, name: impl Fn(&mut V, String)) -> Vec<V> {
    let with_name = |(key, mut value): (String, V)| {
        name(&mut value, key);
        value
    };
    map.into_iter().map(with_name).collect()
}

fn length_ranges(lengths: &Spread) -> Vec<LengthRange> {
    let mut ranges = Vec::with_capacity(LENGTHS.len() + 1);
    let (mut from, mut counted) = (0, 0);
    for seconds in LENGTHS {
        let below = lengths.below(seconds * 1000);
        ranges.push(LengthRange { from, below: Some(seconds * 1000), turns: below - counted });
        (from, counted) = (seconds * 1000, below);
    }
    ranges.push(LengthRange { from, below: None, turns: lengths.count() - counted });
    ranges
}

fn context_points(contexts: Vec<Spread>) -> Vec<ContextPoint> {
    let point = |(turn, mut spread): (u32, Spread)| {
        let median_tokens = spread.at_percent(50)?;
        Some(ContextPoint { turn, sessions: spread.count(), median_tokens })
    };
    (1..).zip(contexts).filter_map(point).collect()
}
