//! The threads beside the screen, and the channels to them.
//!
//! Of what is asked of the reader and the searcher only the newest counts: older work
//! is given up as soon as something else is wanted.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::mpsc::Sender;
use std::thread;
use std::thread::JoinHandle;
use std::time::Duration;
use std::time::Instant;

use recto_session::usage::PriceTable;
use recto_store::Home;
use recto_store::Inventory;
use recto_store::follow::Change;
use recto_store::follow::Waker;

use super::jobs;
use super::jobs::Flow;
use super::listing::Watch;
use super::message::Errand;
use super::message::ReadRequest;
use super::message::Report;
use super::message::SearchRequest;
use super::message::SearchState;
use super::search;
use super::search::Found;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::search::background;
use crate::watching::home_watch::HomeWatch;

/// The death of a client is told by nobody, so it is looked for this often.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// A search that could not see all is made again after this time.
const AGAIN: Duration = Duration::from_secs(3);
/// A home that is written to all the time is looked at no more often than this,
const SHORTEST: Duration = Duration::from_millis(100);
/// and for so many times as long as it takes to look, it is left alone.
const REST: u32 = 5;

/// What the workers need to know.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) home: Arc<Home>,
    pub(super) user_home: Option<PathBuf>,
    pub(super) working_directory: Option<PathBuf>,
    pub(super) environment: Arc<Environment>,
}

pub(super) struct Workers {
    pub(super) reports: Receiver<Report>,
    list_bell: Bell,
    read: Sender<ReadRequest>,
    read_bell: Bell,
    read_wanted: Arc<AtomicU64>,
    search: Sender<SearchRequest>,
    search_wanted: Arc<AtomicU64>,
    errands: Sender<Errand>,
    errand_worker: JoinHandle<()>,
}

impl Workers {
    pub(super) fn start(place: &Place) -> Result<Workers, CommandError> {
        let (report, reports) = mpsc::channel();
        let (read, reads) = mpsc::channel();
        let (search, searches) = mpsc::channel();
        let (errands, to_do) = mpsc::channel();
        let read_wanted = Arc::new(AtomicU64::new(0));
        let search_wanted = Arc::new(AtomicU64::new(0));
        let (of_list, of_reader) = (place.clone(), place.clone());
        let (of_search, of_errands) = (place.clone(), place.clone());
        let (list_bell, read_bell) = (Bell::default(), Bell::default());
        let (bell, reports_of_list) = (list_bell.clone(), report.clone());
        spawn("list", move || watch(&of_list, &bell, &reports_of_list))?;
        let (wanted, bell, reports_of_reader) =
            (read_wanted.clone(), read_bell.clone(), report.clone());
        spawn("read", move || read_logs(&of_reader, &reads, (&wanted, &bell), &reports_of_reader))?;
        let (wanted, reports_of_search) = (search_wanted.clone(), report.clone());
        spawn("search", move || search_logs(&of_search, &searches, &wanted, &reports_of_search))?;
        let errand_worker = spawn("errands", move || {
            for errand in to_do {
                let directories =
                    (of_errands.working_directory.as_ref(), of_errands.user_home.as_ref());
                let done =
                    jobs::errand(&of_errands.home, &of_errands.environment, &errand, directories);
                if report.send(done).is_err() {
                    break;
                }
            }
        })?;
        Ok(Workers {
            reports,
            list_bell,
            read,
            read_bell,
            read_wanted,
            search,
            search_wanted,
            errands,
            errand_worker,
        })
    }

    // A worker that is gone has panicked, which the screen notices by itself.

    pub(super) fn look(&self) {
        self.list_bell.ring();
    }

    pub(super) fn read(&self, request: ReadRequest) {
        self.read_wanted.store(request.ticket, Ordering::Relaxed);
        let _ = self.read.send(request);
        self.read_bell.ring();
    }

    pub(super) fn search(&self, request: SearchRequest) {
        self.search_wanted.store(request.ticket, Ordering::Relaxed);
        let _ = self.search.send(request);
    }

    pub(super) fn errand(&self, errand: Errand) {
        let _ = self.errands.send(errand);
    }

    /// Waits for what is being written. Everything else may stop anywhere.
    pub(super) fn finish(self) {
        drop(self.errands);
        let _ = self.errand_worker.join();
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, CommandError> {
    Ok(thread::Builder::new().name(format!("browser-{name}")).spawn(work)?)
}

/// Wakes a worker, whichever follower it waits for.
#[derive(Clone, Default)]
struct Bell(Arc<Mutex<Option<Waker>>>);

impl Bell {
    /// What it rings at from now on. Who has missed it by a moment must see by other means
    /// that something else is wanted.
    fn hang(&self, waker: Waker) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(waker);
    }

    fn ring(&self) {
        if let Some(waker) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            waker.wake();
        }
    }
}

fn watch(place: &Place, bell: &Bell, reports: &Sender<Report>) {
    let mut list = Watch::new(place.environment.library(&place.home, PriceTable::default()));
    let mut look = |inventory: &Inventory| {
        let mut is_heard = true;
        list.look(inventory, place.user_home.as_ref(), &mut |listing| {
            is_heard = reports.send(Report::Listing(listing)).is_ok();
        });
        is_heard
    };
    // The follower takes a while in a large home, so there is a list before there is one.
    look(&place.home.inventory());
    let mut watch = match HomeWatch::new((*place.home).clone()) {
        Ok(watch) => watch,
        Err(error) => {
            let message = format!("cannot watch for changes: {error}");
            let _ = reports.send(Report::Remark(message));
            return;
        }
    };
    bell.hang(watch.waker());
    loop {
        let begun = Instant::now();
        if !look(&watch.inventory) {
            return;
        }
        let shortest = (begun.elapsed() * REST).clamp(SHORTEST, LONGEST_PAUSE);
        // The list shows how long logs are, and when they were written.
        watch.wait((shortest, LONGEST_PAUSE), |change| *change == Change::Announcements);
    }
}

fn read_logs(
    place: &Place,
    reads: &Receiver<ReadRequest>,
    (wanted, bell): (&AtomicU64, &Bell),
    reports: &Sender<Report>,
) {
    for request in reads {
        let is_stopped = || wanted.load(Ordering::Relaxed) != request.ticket;
        if is_stopped() {
            continue;
        }
        let flow = Flow {
            is_stopped: &is_stopped,
            waits: &|waker| bell.hang(waker),
            tell: &|report| {
                let _ = reports.send(report);
            },
        };
        jobs::read(&place.home, &request, &flow);
    }
}

fn search_logs(
    place: &Place,
    searches: &Receiver<SearchRequest>,
    wanted: &AtomicU64,
    reports: &Sender<Report>,
) {
    background::build_if_missing(&place.home, &place.home.inventory(), &place.environment);
    let mut next = searches.recv().ok();
    while let Some(request) = next {
        let is_partial = search_once(place, &request, wanted, reports);
        // What could not be searched yet is searched when more of the index is there.
        next = match is_partial {
            true => match searches.recv_timeout(AGAIN) {
                Err(RecvTimeoutError::Timeout) => Some(request),
                newer => newer.ok(),
            },
            false => searches.recv().ok(),
        };
    }
}

/// Searches, and tells whether something was not searched yet.
fn search_once(
    place: &Place,
    request: &SearchRequest,
    wanted: &AtomicU64,
    reports: &Sender<Report>,
) -> bool {
    let ticket = request.ticket;
    let is_stopped = || wanted.load(Ordering::Relaxed) != ticket;
    if is_stopped() {
        return false;
    }
    let is_partial = AtomicBool::new(false);
    let tell = |found: Found| {
        // What is read is read for whatever is asked next, too.
        let ticket = match found {
            Found::State(SearchState::Reading { .. }) => wanted.load(Ordering::Relaxed),
            _ => ticket,
        };
        if let Found::State(SearchState::Partial) = found {
            is_partial.store(true, Ordering::Relaxed);
        }
        let _ = reports.send(found.report(ticket));
    };
    let (home, environment) = (&place.home, &place.environment);
    if let Err(error) = search::search(home, environment, &request.words, &is_stopped, &tell) {
        let _ = reports.send(search::failed(ticket, &error));
    }
    is_partial.load(Ordering::Relaxed)
}
