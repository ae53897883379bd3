//! The messages of one log.

use jiff::Timestamp;
use recto_log::CostState;
use recto_log::Entry;
use recto_log::ModelUsage;

use super::Counts;
use super::Seen;
use super::Sighting;
use super::UsageLine;
use super::line::tools_of;
use crate::NameId;
use crate::Names;
use crate::fold::hash::IdMap;
use crate::fold::node::Moment;

/// A step back of the clock below this is the order of lines, not the clock.
const CLOCK_JUMP_SECONDS: i64 = 3600;

/// What is to be said about a record, a bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct RecordFlags(pub(super) u16);

impl RecordFlags {
    /// The message has no id, so its lines count one by one.
    pub(crate) const NO_ID: RecordFlags = RecordFlags(1);
    /// A count was negative, no whole number, or too large to be true.
    pub(crate) const BAD_COUNT: RecordFlags = RecordFlags(1 << 1);
    /// Cache writes by lifetime are more than all cache writes.
    pub(crate) const TIERS_DIFFER: RecordFlags = RecordFlags(1 << 2);
    /// The usage is of a line with a stop reason.
    pub const HAS_STOP: RecordFlags = RecordFlags(1 << 3);
    /// The client is known to write too few output tokens.
    pub(crate) const UNDER_REPORTED: RecordFlags = RecordFlags(1 << 4);
    /// Sent as a batch.
    pub const BATCH: RecordFlags = RecordFlags(1 << 5);
    /// Sent for a fast answer.
    pub(crate) const FAST: RecordFlags = RecordFlags(1 << 6);
    /// Sent at a tier or a speed that has no public price.
    pub(crate) const OTHER_TIER: RecordFlags = RecordFlags(1 << 7);
    /// To be computed in the United States only.
    pub(crate) const US_ONLY: RecordFlags = RecordFlags(1 << 8);
    /// The line names another session than its file.
    pub const COPIED: RecordFlags = RecordFlags(1 << 9);
    /// Only progress lines of the parent's log tell of the message.
    pub const TOLD: RecordFlags = RecordFlags(1 << 10);

    /// Adds those of another.
    pub fn add(&mut self, other: RecordFlags) {
        self.0 |= other.0;
    }

    /// These, with some of them as is said.
    pub(super) fn with(self, other: RecordFlags, wanted: bool) -> RecordFlags {
        if wanted { RecordFlags(self.0 | other.0) } else { RecordFlags(self.0 & !other.0) }
    }

    /// Whether all of the other are here.
    pub fn has(self, other: RecordFlags) -> bool {
        self.0 & other.0 == other.0
    }
}

/// An API message. Small, because a home has hundreds of thousands.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Record {
    /// The same for all copies of the message, and for no other.
    pub key: u128,
    pub(super) moment: Moment,
    /// The numbers.
    pub counts: Counts,
    /// What is to be said about them.
    pub flags: RecordFlags,
    /// The model.
    pub model: Option<NameId>,
    /// The working directory.
    pub cwd: Option<NameId>,
    /// The git branch.
    pub branch: Option<NameId>,
    /// The session, by the line's own word.
    pub session: Option<NameId>,
    /// The subagent, where a progress line of its parent's log tells of the message.
    pub agent: Option<NameId>,
    /// The tools that are called, where they were wanted.
    pub tools: Option<NameId>,
    /// The file that it belongs to, as a place in [`super::Ledger::files`].
    pub file: u32,
    /// The file of the line that counts, which can be a copy.
    pub counted_file: u32,
    /// The line that counts.
    pub line: u32,
    /// How many bytes the blocks take in the log.
    pub content_bytes: u32,
}

impl Record {
    /// A record that is in no log.
    pub(super) fn of_counts(counts: Counts, flags: RecordFlags, time: Timestamp) -> Record {
        Record {
            key: 0,
            moment: Moment::of(Some(time)),
            counts,
            flags,
            model: None,
            cwd: None,
            branch: None,
            session: None,
            agent: None,
            tools: None,
            file: 0,
            counted_file: 0,
            line: 0,
            content_bytes: 0,
        }
    }

    /// When the message was first seen.
    pub fn time(&self) -> Option<Timestamp> {
        self.moment.get()
    }

    /// Whether this is the line that counts.
    pub fn is_counted_at(&self, line: &Sighting) -> bool {
        line.file == self.counted_file && line.line == u64::from(self.line)
    }

    /// Why the line that counts does, of so many lines of the message.
    pub fn rule(&self, lines: usize) -> &'static str {
        if self.flags.has(RecordFlags::TOLD) {
            "inside a progress line: no log of the subagent has the message"
        } else if self.flags.has(RecordFlags::NO_ID) {
            "no id: each line counts"
        } else if lines < 2 {
            "the only line of its message"
        } else if self.flags.has(RecordFlags::HAS_STOP) {
            "has a stop reason"
        } else {
            "has the most output of lines without a stop reason"
        }
    }

    /// Why a line that does not count does not.
    pub fn why_not(&self, line: &Sighting) -> &'static str {
        if line.flags.has(RecordFlags::TOLD) {
            "repeated inside a progress line"
        } else if line.file == self.file {
            "another line of the same message"
        } else {
            "a copy in another log"
        }
    }

    pub(super) fn seen(&self) -> Seen {
        Seen {
            has_stop: self.flags.has(RecordFlags::HAS_STOP),
            output: u64::from(self.counts.output),
        }
    }

    /// The most output tokens that the message can have had, where the client
    /// wrote too few: one for three bytes of its blocks. It is an estimate.
    pub fn most_output(&self) -> u64 {
        let logged = u64::from(self.counts.output);
        if self.flags.has(RecordFlags::UNDER_REPORTED) {
            logged.max(u64::from(self.content_bytes).div_ceil(3))
        } else {
            logged
        }
    }
}

/// What to collect beside the numbers, which costs time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wanted {
    /// The tools that messages call.
    pub tools: bool,
}

/// The messages of one log, in the order in which they first came.
#[derive(Debug, Clone, Default)]
pub struct LogUsage {
    pub(super) names: Names,
    pub(super) records: Vec<Record>,
    by_key: IdMap<u128, u32>,
    tools: IdMap<u32, Vec<String>>,
    wanted: Wanted,
    /// The client's own count: the largest, for it only grows.
    pub(super) cost_state: Option<CostState>,
    last_time: Option<Timestamp>,
    pub(super) clock_jumps: u64,
    pub(super) lines: u64,
    pub(super) long_lines: u64,
}

impl LogUsage {
    /// For the lines of a log.
    pub fn new(wanted: Wanted) -> LogUsage {
        LogUsage { wanted, ..LogUsage::default() }
    }

    /// Takes in a line. `session` is the one that the name of the file says.
    pub fn push(&mut self, entry: &Entry<'_>, session: Option<&str>) {
        if entry.line().is_cut() {
            self.long_lines += 1;
            return;
        }
        if let Some(state) = entry.cost_state() {
            self.push_cost_state(state);
            return;
        }
        let Some(mut line) = UsageLine::of(entry) else { return };
        self.lines += 1;
        if let (Some(said), Some(session)) = (line.session.as_deref(), session)
            && said != session
        {
            line.flags.add(RecordFlags::COPIED);
        }
        // Subagents work side by side.
        if !line.flags.has(RecordFlags::TOLD) {
            self.watch_clock(line.time);
        }
        let number = u32::try_from(entry.line().number).unwrap_or(u32::MAX);
        let place = self.push_line(&line, number);
        if self.wanted.tools {
            self.tools.entry(place).or_default().extend(tools_of(entry));
        }
    }

    fn push_line(&mut self, line: &UsageLine<'_>, number: u32) -> u32 {
        let new = self.records.len() as u32;
        let place = *self.by_key.entry(line.key).or_insert(new);
        let moment = Moment::of(line.time);
        if place == new {
            let mut name = |text: &Option<std::borrow::Cow<'_, str>>| {
                text.as_deref().map(|text| self.names.add(text))
            };
            self.records.push(Record {
                key: line.key,
                moment,
                counts: line.counts,
                flags: line.flags,
                model: name(&line.model),
                cwd: name(&line.cwd),
                branch: name(&line.branch),
                session: name(&line.session),
                agent: line.agent.as_ref().map(|agent| self.names.add(agent.as_str())),
                tools: None,
                file: 0,
                counted_file: 0,
                line: number,
                content_bytes: line.content_bytes,
            });
            return place;
        }
        let known = &mut self.records[place as usize];
        known.content_bytes = known.content_bytes.saturating_add(line.content_bytes);
        known.moment = known.moment.earlier(moment);
        if line.seen().beats(known.seen()) {
            known.counts = line.counts;
            let is_told = known.flags.has(RecordFlags::TOLD) && line.flags.has(RecordFlags::TOLD);
            known.flags = line.flags.with(RecordFlags::TOLD, is_told);
            known.line = number;
            known.model = line.model.as_deref().map(|model| self.names.add(model));
        }
        place
    }

    fn push_cost_state(&mut self, state: CostState) {
        let size = |state: &CostState| -> u128 {
            let all = |usage: &ModelUsage| {
                [usage.input, usage.output, usage.cache_read, usage.cache_creation]
                    .iter()
                    .map(|count| u128::from(*count))
                    .sum::<u128>()
            };
            state.models.iter().map(|(_, usage)| all(usage)).sum()
        };
        if self.cost_state.as_ref().is_none_or(|known| size(&state) >= size(known)) {
            self.cost_state = Some(state);
        }
    }

    fn watch_clock(&mut self, time: Option<Timestamp>) {
        let Some(time) = time else { return };
        if let Some(last) = self.last_time
            && last.duration_since(time).as_secs() > CLOCK_JUMP_SECONDS
        {
            self.clock_jumps += 1;
        }
        self.last_time = Some(time);
    }

    /// Gives every record the names of its tools, joined and without repeats, so
    /// that no message is counted for two of them. In the order of the records, so
    /// that the same log always gives the same bytes.
    pub(super) fn name_tools(&mut self) {
        let mut named: Vec<_> = std::mem::take(&mut self.tools).into_iter().collect();
        named.sort_unstable_by_key(|(place, _)| *place);
        for (place, mut tools) in named {
            tools.sort();
            tools.dedup();
            if !tools.is_empty() {
                self.records[place as usize].tools = Some(self.names.add(&tools.join("+")));
            }
        }
    }

    /// Leaves the tools away, for who has collected them but does not want them.
    pub fn forget_tools(&mut self) {
        self.tools.clear();
        for record in &mut self.records {
            record.tools = None;
        }
    }
}
