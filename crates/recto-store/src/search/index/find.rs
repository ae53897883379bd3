//! A search from beginning to end: look at the tree, bring the index up to date,
//! ask it, and answer in any case.

use std::collections::HashMap;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;

use recto_session::search::Query;

use super::Hit;
use super::Index;
use super::IndexError;
use super::compare::Plan;
use super::compare::Work;
use super::compare::compare;
use super::facts::LogFacts;
use super::scan::scan;
use super::search::Found;
use crate::CacheDirectory;
use crate::Home;
use crate::Inventory;
use crate::LogFile;
use crate::Skipped;
use crate::StoreError;
use crate::place::locking::lock_file;

/// How long to wait for another process that brings the index up to date.
const PATIENCE: Duration = Duration::from_millis(500);

/// Of what is not in the index, this many bytes are read for an answer while
/// another process builds it: as much as takes a second or two.
const READ_BESIDE: u64 = 256 * 1024 * 1024;

/// In which order hits come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sorting {
    /// The newest first.
    Newest,
    /// The best first, by how rare the words are and how often they stand there,
    /// among the newest few thousand.
    Rank,
}

/// What to look for.
pub struct Request<'a> {
    /// The query.
    pub query: &'a Query,
    /// The order.
    pub sorting: Sorting,
    /// How many hits to give at most; 0 for all.
    pub limit: usize,
    /// Only hits since then, in milliseconds since 1970.
    pub since: Option<i64>,
    /// Only hits before then.
    pub until: Option<i64>,
    /// Which logs to look at.
    pub keep: &'a (dyn Fn(&LogFacts) -> bool + Sync),
    /// If more bytes than this are not in the index yet, the newest logs of this size are read
    /// for an answer, and the index is left to others. None builds it first, however long it
    /// takes.
    pub most_read: Option<u64>,
}

impl Request<'_> {
    pub(super) fn limit_or_all(&self) -> usize {
        if self.limit == 0 { usize::MAX } else { self.limit }
    }

    pub(super) fn fits_time(&self, time: i64) -> bool {
        self.since.is_none_or(|since| time >= since) && self.until.is_none_or(|until| time < until)
    }
}

/// What was found.
#[derive(Debug, Default)]
pub struct Answer {
    /// The first hits, in order.
    pub hits: Vec<Hit>,
    /// How many there are.
    pub total: usize,
    /// In how many logs they are.
    pub logs: usize,
    /// What the user should know: what is missing, or what was wrong.
    pub remarks: Vec<String>,
    /// Logs that could not be read.
    pub skipped: Vec<Skipped>,
    /// Whether logs were not searched because the index is not built yet.
    pub is_partial: bool,
    /// Whether the search was given up. Then there are no hits, whatever the logs say.
    pub is_given_up: bool,
}

impl Home {
    /// Searches all logs. `tell` is called with the bytes that were read so far
    /// and those of all, if anything has to be read. It says whether to go on; if not, what
    /// was taken into the index up to then stays there, and the next search goes on with it.
    pub fn find(
        &self,
        inventory: &Inventory,
        cache: &CacheDirectory,
        request: &Request<'_>,
        tell: &(dyn Fn(u64, u64) -> ControlFlow<()> + Sync),
    ) -> Answer {
        let is_given_up = AtomicBool::new(false);
        let tell = |done, all| {
            let goes_on = tell(done, all);
            is_given_up.fetch_or(goes_on.is_break(), Ordering::Relaxed);
            goes_on
        };
        let mut finding = Finding {
            home: self,
            cache,
            request,
            tell: &tell,
            is_given_up: &is_given_up,
            answer: Answer::default(),
        };
        let logs = self.logs(inventory);
        match finding.by_index(&logs) {
            Ok(found) => finding.give(found),
            Err(error) => {
                let is_damaged = is_damaged(&error);
                finding.remark(&error, if is_damaged { "it is rebuilt" } else { BYPASSED });
                let again = is_damaged
                    .then(|| Index::remove(self, cache).and_then(|()| finding.by_index(&logs)));
                match again {
                    Some(Ok(found)) => finding.give(found),
                    Some(Err(error)) => {
                        finding.remark(&error, BYPASSED);
                        finding.by_scan(&logs);
                    }
                    None => finding.by_scan(&logs),
                }
            }
        }
        finding.answer
    }
}

const BYPASSED: &str = "searching the logs instead";

fn is_damaged(error: &StoreError) -> bool {
    matches!(error, StoreError::Index(IndexError::Damaged { .. }))
}

/// A search under way.
struct Finding<'a> {
    home: &'a Home,
    cache: &'a CacheDirectory,
    request: &'a Request<'a>,
    tell: &'a (dyn Fn(u64, u64) -> ControlFlow<()> + Sync),
    /// Whether `tell` has said not to go on.
    is_given_up: &'a AtomicBool,
    answer: Answer,
}

impl Finding<'_> {
    fn remark(&mut self, error: &StoreError, what: &str) {
        self.answer.remarks.push(format!("note: {error}; {what}"));
    }

    fn give(&mut self, found: Found) {
        if self.is_given_up.load(Ordering::Relaxed) {
            self.answer.is_given_up = true;
            return;
        }
        self.answer.hits = found.hits;
        self.answer.total = found.total;
        self.answer.logs = found.logs.len();
        let limit = self.request.limit_or_all();
        self.answer.hits.truncate(limit);
    }

    /// Reads all logs.
    fn by_scan(&mut self, logs: &[LogFile]) {
        let all: Vec<&LogFile> = logs.iter().collect();
        let (found, skipped) = scan(&all, self.request, self.tell);
        self.answer.skipped.extend(skipped);
        self.give(found);
    }

    /// Answers from the index, which is brought up to date before if it can be.
    fn by_index(&mut self, logs: &[LogFile]) -> Result<Found, StoreError> {
        let mut index = match Index::open(self.home, self.cache) {
            Ok(index) => index,
            Err(error) if is_damaged(&error) => return Err(error),
            // What is there can be read all the same.
            Err(error) => match Index::open_to_read(self.home, self.cache) {
                Ok(index) => {
                    let plan = compare(&index.connection, logs)?;
                    if !plan.is_empty() {
                        self.remark(&error, "searching new lines in the logs");
                    }
                    return self.beside(&index, &plan.work, &plan.gone);
                }
                Err(_) => return Err(error),
            },
        };
        if index.was_old {
            let remark = "note: the index is from another version of recto; rebuilding it";
            self.answer.remarks.push(remark.into());
        }
        let plan = compare(&index.connection, logs)?;
        if plan.is_empty() {
            return index.search(self.home, self.request, &HashSet::new());
        }
        if self.request.most_read.is_some_and(|most| plan.bytes() > most) {
            return self.by_newest(&index, &plan, logs.len());
        }
        let lock = lock_file(&Index::lock_path(self.home, self.cache), PATIENCE)?;
        if lock.is_none() {
            return self.while_building(&index, logs);
        }
        // Somebody may have done it while we waited.
        let plan = compare(&index.connection, logs)?;
        match index.carry_out(&plan, self.tell) {
            Ok(skipped) => {
                self.answer.skipped.extend(skipped);
                if self.is_given_up.load(Ordering::Relaxed) {
                    return Ok(Found::default());
                }
                index.search(self.home, self.request, &HashSet::new())
            }
            Err(error) if is_damaged(&error) => Err(error),
            Err(error) => {
                self.remark(&error, "searching new lines in the logs");
                let plan = compare(&index.connection, logs)?;
                self.beside(&index, &plan.work, &plan.gone)
            }
        }
    }

    /// Another process writes: what it has not written yet is read here, unless
    /// that would take long.
    fn while_building(&mut self, index: &Index, logs: &[LogFile]) -> Result<Found, StoreError> {
        let plan = compare(&index.connection, logs)?;
        if plan.bytes() <= READ_BESIDE {
            return self.beside(index, &plan.work, &plan.gone);
        }
        self.by_newest(index, &plan, logs.len())
    }

    /// Answers from the index and from the newest of the logs that are not in it, as many as
    /// can be read soon.
    fn by_newest(
        &mut self,
        index: &Index,
        plan: &Plan<'_>,
        logs: usize,
    ) -> Result<Found, StoreError> {
        let mut work = plan.work.clone();
        let mut left = self.request.most_read.unwrap_or(READ_BESIDE);
        let read = work
            .iter()
            .take_while(|work| {
                let fits = work.log.bytes() <= left;
                left = left.saturating_sub(work.log.bytes());
                fits
            })
            .count();
        let unread = work.split_off(read);
        self.answer.is_partial = true;
        self.answer.remarks.push(format!(
            "note: the index is being built; {} older logs of {logs} are not searched yet",
            unread.len()
        ));
        // What the index has of logs that have changed since may be wrong.
        let stale = unread.iter().filter_map(|work| work.file);
        let without: Vec<i64> = plan.gone.iter().copied().chain(stale).collect();
        self.beside(index, &work, &without)
    }

    /// Answers from the index, and for logs that have changed since from the logs.
    fn beside(
        &mut self,
        index: &Index,
        work: &[Work<'_>],
        gone: &[i64],
    ) -> Result<Found, StoreError> {
        let changed = work.iter().filter_map(|work| work.file);
        let without: HashSet<i64> = changed.chain(gone.iter().copied()).collect();
        let indexed = index.search(self.home, self.request, &without)?;
        let logs: Vec<&LogFile> = work.iter().map(|work| work.log).collect();
        let (scanned, skipped) = scan(&logs, self.request, self.tell);
        self.answer.skipped.extend(skipped);
        let mut hits = scanned.hits;
        hits.extend(indexed.hits);
        if self.request.sorting == Sorting::Newest {
            hits.sort_by(Hit::order);
        }
        let mut logs: HashMap<String, usize> = indexed.logs;
        logs.extend(scanned.logs);
        Ok(Found { hits, total: indexed.total + scanned.total, logs })
    }
}
