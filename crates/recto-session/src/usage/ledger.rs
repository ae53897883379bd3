//! The messages of all logs, each once.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashSet;
use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use jiff::Timestamp;
use recto_log::CostState;

use super::Counts;
use super::LogUsage;
use super::Record;
use super::RecordFlags;
use crate::NameId;
use crate::Names;
use crate::Tokens;
use crate::fold::hash::Places;

/// A log that was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFile {
    /// Where it is, as people are to read it.
    pub path: String,
    /// The name of the project's directory.
    pub project: String,
    /// The session, where the name of the file or of its folder says it.
    pub session: Option<String>,
    /// The subagent, if it is the log of one.
    pub agent: Option<String>,
    /// When it was written last.
    pub modified: Timestamp,
}

/// The names of a log, so that records can be compared by them.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileNames {
    pub(super) project: NameId,
    pub(super) session: Option<NameId>,
    pub(super) agent: Option<NameId>,
}

/// A line of a message, for those who want to see where a figure is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// The message.
    pub key: u128,
    /// The file, as a place in [`Ledger::files`].
    pub file: u32,
    /// The line's number, from 1.
    pub line: u64,
    /// What it says.
    pub counts: Counts,
    /// What is to be said about that.
    pub flags: RecordFlags,
    /// The id of the message, as the log has it.
    pub id: String,
}

/// All messages of all logs, each once.
#[derive(Debug, Clone, Default)]
pub struct Ledger {
    files: Vec<LogFile>,
    pub(super) file_names: Vec<FileNames>,
    names: Names,
    records: Vec<Record>,
    places: Places,
    /// What clients counted themselves, with the place of the file.
    pub(super) cost_states: Vec<(u32, CostState)>,
    /// What each file holds by model, copies included: so a client counts.
    pub(super) held: Vec<BTreeMap<Option<NameId>, Tokens>>,
    /// Files that have a message in common, the smaller place first.
    pub(super) shared: BTreeSet<(u32, u32)>,
    /// Lines with usage.
    pub lines: u64,
    /// Messages that were in a file, but had been counted in another.
    pub copies: u64,
    /// Lines too long to be looked at.
    pub long_lines: u64,
    /// How often a time was more than an hour before that of the line above.
    pub clock_jumps: u64,
}

impl Ledger {
    /// Takes in a log. The result is the same in whatever order they come.
    pub fn add(&mut self, file: LogFile, mut usage: LogUsage) {
        usage.name_tools();
        let place = self.files.len() as u32;
        self.file_names.push(FileNames {
            project: self.names.add(&file.project),
            session: file.session.as_deref().map(|session| self.names.add(session)),
            agent: file.agent.as_deref().map(|agent| self.names.add(agent)),
        });
        self.files.push(file);
        self.lines += usage.lines;
        self.long_lines += usage.long_lines;
        self.clock_jumps += usage.clock_jumps;
        if let Some(state) = usage.cost_state.take() {
            self.cost_states.push((place, state));
        }
        let LogUsage { names, records, .. } = usage;
        let mut held: BTreeMap<Option<NameId>, Tokens> = BTreeMap::new();
        // A log has few names and many records.
        let mut renamed: Vec<Option<NameId>> = vec![None; names.len()];
        for mut record in records {
            let mut rename = |id: Option<NameId>| {
                let id = id?;
                let known = renamed.get_mut(id.place())?;
                Some(*known.get_or_insert_with(|| self.names.add(names.text(id))))
            };
            record.model = rename(record.model);
            record.cwd = rename(record.cwd);
            record.branch = rename(record.branch);
            record.session = rename(record.session);
            record.agent = rename(record.agent);
            record.tools = rename(record.tools);
            (record.file, record.counted_file) = (place, place);
            // Clients that count for themselves write no messages into progress lines.
            if !record.flags.has(RecordFlags::TOLD) {
                held.entry(record.model).or_default().add(record.counts.into());
            }
            self.add_record(record);
        }
        self.held.push(held);
    }

    fn add_record(&mut self, record: Record) {
        let known = self.places.find(&record.key, |at| self.records[at as usize].key == record.key);
        let Some(at) = known else {
            let at = self.records.len() as u32;
            let records = &self.records;
            let hash_at =
                |hashes: &RandomState, place: u32| hashes.hash_one(records[place as usize].key);
            self.places.add(&record.key, at, hash_at);
            self.records.push(record);
            return;
        };
        let other = &self.records[at as usize];
        let is_told = |record: &Record| record.flags.has(RecordFlags::TOLD);
        self.copies += u64::from(!is_told(other) && !is_told(&record));
        self.shared.insert((other.file.min(record.file), other.file.max(record.file)));
        // The first file that has the message owns it; its numbers are those of
        // the line that had come furthest, wherever that is.
        let (mut first, second) = match self.order(other, &record) {
            Ordering::Greater => (record, other.clone()),
            Ordering::Less | Ordering::Equal => (other.clone(), record),
        };
        first.moment = first.moment.earlier(second.moment);
        first.content_bytes = first.content_bytes.max(second.content_bytes);
        // Copies that say different things and had come as far: the larger numbers
        // count, so that the order of files does not matter.
        let is_larger = || self.value(&second) > self.value(&first);
        let is_final = match second.seen() == first.seen() {
            true => is_larger(),
            false => second.seen().beats(first.seen()),
        };
        if is_final {
            first.counts = second.counts;
            first.model = second.model;
            let [copied, told] =
                [RecordFlags::COPIED, RecordFlags::TOLD].map(|flag| first.flags.has(flag));
            first.flags = second.flags.with(RecordFlags::COPIED, copied);
            first.flags = first.flags.with(RecordFlags::TOLD, told);
            (first.counted_file, first.line) = (second.counted_file, second.line);
        }
        self.records[at as usize] = first;
    }

    /// What a record says, to choose one of two.
    fn value<'a>(&'a self, record: &'a Record) -> ([u32; 7], RecordFlags, Option<&'a str>) {
        let flags = record.flags.with(RecordFlags::COPIED, false).with(RecordFlags::TOLD, false);
        (record.counts.numbers(), flags, record.model.map(|model| self.names.text(model)))
    }

    /// Which of two copies came first: a line of a log before what progress tells, then
    /// by the time of the message, then the one whose line names the session of its file, then the file that was left
    /// alone earlier, then the name.
    fn order(&self, a: &Record, b: &Record) -> Ordering {
        let file = |record: &Record| &self.files[record.file as usize];
        let is_copied = |record: &Record| record.flags.has(RecordFlags::COPIED);
        let is_told = |record: &Record| record.flags.has(RecordFlags::TOLD);
        let time = |record: &Record| record.time().unwrap_or(Timestamp::MAX);
        is_told(a)
            .cmp(&is_told(b))
            .then_with(|| time(a).cmp(&time(b)))
            .then_with(|| is_copied(a).cmp(&is_copied(b)))
            .then_with(|| file(a).modified.cmp(&file(b).modified))
            .then_with(|| file(a).path.cmp(&file(b).path))
    }

    /// The logs.
    pub fn files(&self) -> &[LogFile] {
        &self.files
    }

    /// The messages, in no particular order.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The files in which lines of some messages can be, as places in
    /// [`Ledger::files`]: their own, and those that share a message with one of them.
    pub fn files_of(&self, keys: &HashSet<u128>) -> BTreeSet<u32> {
        let own = self.records.iter().filter(|record| keys.contains(&record.key));
        let mut files: BTreeSet<u32> =
            own.flat_map(|record| [record.file, record.counted_file]).collect();
        // A copy of a copy is known by the one between.
        loop {
            let before = files.len();
            for (a, b) in &self.shared {
                if files.contains(a) || files.contains(b) {
                    files.extend([*a, *b]);
                }
            }
            if files.len() == before {
                return files;
            }
        }
    }

    /// The other sessions that have a message in common with a session: those that it
    /// was forked from, or that were forked from it.
    pub fn sessions_sharing(&self, session: &str) -> BTreeSet<&str> {
        let of = |file: u32| self.files[file as usize].session.as_deref();
        let pairs = self.shared.iter().flat_map(|(a, b)| [(of(*a), of(*b)), (of(*b), of(*a))]);
        let others = pairs.filter(|(own, _)| *own == Some(session)).filter_map(|(_, other)| other);
        others.filter(|other| *other != session).collect()
    }

    /// A name of a record.
    pub fn name(&self, id: NameId) -> &str {
        self.names.text(id)
    }

    /// The file that a record belongs to.
    pub fn file_of(&self, record: &Record) -> &LogFile {
        &self.files[record.file as usize]
    }

    /// The session that a record belongs to: by the name of the file, else by
    /// the line's own word.
    pub fn session_of(&self, record: &Record) -> Option<NameId> {
        self.file_names[record.file as usize].session.or(record.session)
    }

    /// The subagent that a record belongs to.
    pub fn agent_of(&self, record: &Record) -> Option<NameId> {
        self.file_names[record.file as usize].agent.or(record.agent)
    }

    /// The project that a record belongs to, as the name of its directory.
    pub fn project_of(&self, record: &Record) -> NameId {
        self.file_names[record.file as usize].project
    }
}
