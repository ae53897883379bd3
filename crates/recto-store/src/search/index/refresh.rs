//! Folds what has changed on disk into the index.
//!
//! Logs are read by several threads; one writes. What waits between them is
//! bounded, so that memory is, whatever the size of the logs.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;
use std::sync::mpsc::sync_channel;

use super::Index;
use super::apply::Writer;
use super::compare::Change;
use super::compare::IngestPosition;
use super::compare::Plan;
use super::compare::Work;
use super::ingest::Batch;
use super::ingest::Buffers;
use super::ingest::ingest;
use crate::Skipped;
use crate::StoreError;

/// Batches that wait for the writer.
const WAITING: usize = 4;

/// What a reader says to the writer.
enum Told {
    Batch(usize, Box<Batch>),
    Failed(usize, StoreError),
}

impl Index {
    /// Does what a plan says. `tell` is called with the bytes that were read so
    /// far and those of all; when it says so, no more is done, and what is written stays.
    /// Logs that could not be read are given back.
    pub(super) fn carry_out(
        &mut self,
        plan: &Plan<'_>,
        tell: &dyn Fn(u64, u64) -> ControlFlow<()>,
    ) -> Result<Vec<Skipped>, StoreError> {
        let connection = &self.connection;
        let mut writer = Writer::new(connection);
        for file in &plan.gone {
            writer.remove(*file)?;
        }
        let moved = plan.work.iter().filter(|work| work.change == Change::Moved);
        let moved: Vec<_> = moved.filter_map(|work| Some((work.file?, work.log))).collect();
        writer.rename(&moved)?;
        let mut starts = Vec::with_capacity(plan.work.len());
        for work in &plan.work {
            starts.push(match (work.change, work.file) {
                (Change::Touched | Change::Moved | Change::Doubtful, Some(file)) => {
                    IngestPosition::of(connection, file)?
                }
                _ => IngestPosition::start(),
            });
        }
        let skipped = write_all(&mut writer, &plan.work, starts, tell)?;
        writer.commit()?;
        let all = plan.bytes();
        writer.merge(&|| tell(all, all).is_continue())?;
        drop(writer);
        self.settle()?;
        Ok(skipped)
    }
}

/// Reads with several threads, and writes what they give.
fn write_all(
    writer: &mut Writer<'_>,
    work: &[Work<'_>],
    starts: Vec<IngestPosition>,
    tell: &dyn Fn(u64, u64) -> ControlFlow<()>,
) -> Result<Vec<Skipped>, StoreError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.saturating_sub(1).clamp(1, 4).min(work.len());
    let all: u64 = work.iter().map(|work| work.log.bytes()).sum();
    let starts: Vec<Mutex<Option<IngestPosition>>> =
        starts.into_iter().map(|start| Mutex::new(Some(start))).collect();
    let next = AtomicUsize::new(0);
    let (send, receive) = sync_channel(WAITING);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            let send = send.clone();
            let (next, starts) = (&next, &starts);
            scope.spawn(move || read_some(work, starts, next, &send));
        }
        drop(send);
        let mut skipped = Vec::new();
        // What is not known yet gets its number with its first batch; what somebody
        // else has read gets none.
        let mut files: HashMap<usize, Option<i64>> = HashMap::new();
        let (mut done, mut ended) = (0, vec![0; work.len()]);
        for told in receive {
            match told {
                Told::Batch(place, batch) => {
                    let one = &work[place];
                    let known = match files.get(&place) {
                        Some(None) => continue,
                        Some(known) => *known,
                        None => one.file,
                    };
                    files.insert(place, writer.add(one.log, known, &batch)?);
                    let end = if batch.is_last { one.log.bytes() } else { batch.end.offset };
                    done += end.saturating_sub(ended[place]);
                    ended[place] = end;
                    if tell(done.min(all), all).is_break() {
                        // Readers end when nobody receives.
                        break;
                    }
                }
                Told::Failed(place, error) => {
                    skipped.extend(Skipped::unsearched(&work[place].log.path, &error));
                }
            }
        }
        Ok(skipped)
    })
}

/// Takes one log after the other until there is none, or nobody wants to know.
fn read_some(
    work: &[Work<'_>],
    starts: &[Mutex<Option<IngestPosition>>],
    next: &AtomicUsize,
    send: &SyncSender<Told>,
) {
    let mut buffers = Buffers::with_usage();
    loop {
        let place = next.fetch_add(1, Ordering::Relaxed);
        let Some(one) = work.get(place) else { return };
        let start = starts[place].lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut is_wanted = true;
        let read =
            ingest(one.log, one.change, start.unwrap_or_default(), &mut buffers, &mut |batch| {
                is_wanted = send.send(Told::Batch(place, Box::new(batch))).is_ok();
                is_wanted
            });
        if let Err(error) = read {
            is_wanted = send.send(Told::Failed(place, error)).is_ok();
        }
        if !is_wanted {
            return;
        }
    }
}
