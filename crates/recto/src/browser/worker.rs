//! The threads beside the screen, and the channels to them.
//!
//! Of what is asked of the reader and the searcher only the newest counts: older work
//! is given up as soon as something else is wanted.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::sync::mpsc::Receiver;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::mpsc::Sender;
use std::thread;
use std::thread::JoinHandle;
use std::thread::Thread;
use std::time::Duration;

use recto_store::Home;

use super::jobs;
use super::jobs::Flow;
use super::listing::Watch;
use super::message::Errand;
use super::message::ReadRequest;
use super::message::Report;
use super::message::SearchRequest;
use super::search;
use super::search::Found;
use crate::environment::Environment;
use crate::error::CommandError;

/// How often the home is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(1500);
/// How often a log that grows is looked at.
const READ_AGAIN: Duration = Duration::from_millis(500);

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
    look: Sender<()>,
    read: Sender<ReadRequest>,
    reader: Thread,
    read_wanted: Arc<AtomicU64>,
    search: Sender<SearchRequest>,
    search_wanted: Arc<AtomicU64>,
    errands: Sender<Errand>,
    errand_worker: JoinHandle<()>,
}

impl Workers {
    pub(super) fn start(place: &Place) -> Result<Workers, CommandError> {
        let (report, reports) = mpsc::channel();
        let (look, looks) = mpsc::channel();
        let (read, reads) = mpsc::channel();
        let (search, searches) = mpsc::channel();
        let (errands, to_do) = mpsc::channel();
        let read_wanted = Arc::new(AtomicU64::new(0));
        let search_wanted = Arc::new(AtomicU64::new(0));
        let (of_list, of_reader) = (place.clone(), place.clone());
        let (of_search, of_errands) = (place.clone(), place.clone());
        let reports_of_list = report.clone();
        spawn("list", move || watch(&of_list, &looks, &reports_of_list))?;
        let (wanted, reports_of_reader) = (read_wanted.clone(), report.clone());
        let reader =
            spawn("read", move || read_logs(&of_reader, &reads, &wanted, &reports_of_reader))?;
        let (wanted, reports_of_search) = (search_wanted.clone(), report.clone());
        spawn("search", move || search_logs(&of_search, &searches, &wanted, &reports_of_search))?;
        let errand_worker = spawn("errands", move || {
            for errand in to_do {
                let directories =
                    (of_errands.working_directory.as_ref(), of_errands.user_home.as_ref());
                let done = jobs::errand(&of_errands.home, &errand, directories);
                if report.send(done).is_err() {
                    break;
                }
            }
        })?;
        Ok(Workers {
            reports,
            look,
            read,
            reader: reader.thread().clone(),
            read_wanted,
            search,
            search_wanted,
            errands,
            errand_worker,
        })
    }

    // A worker that is gone has panicked, which the screen notices by itself.

    pub(super) fn look(&self) {
        let _ = self.look.send(());
    }

    pub(super) fn read(&self, request: ReadRequest) {
        self.read_wanted.store(request.ticket, Ordering::Relaxed);
        let _ = self.read.send(request);
        self.reader.unpark();
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

fn watch(place: &Place, looks: &Receiver<()>, reports: &Sender<Report>) {
    let mut watch = Watch::new(place.environment.cache_directory().ok());
    loop {
        watch.look(&place.home, place.user_home.as_ref(), &mut |listing| {
            let _ = reports.send(Report::Listing(listing));
        });
        match looks.recv_timeout(LOOK_AGAIN) {
            Ok(()) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn read_logs(
    place: &Place,
    reads: &Receiver<ReadRequest>,
    wanted: &AtomicU64,
    reports: &Sender<Report>,
) {
    for request in reads {
        let is_stopped = || wanted.load(Ordering::Relaxed) != request.ticket;
        if is_stopped() {
            continue;
        }
        let flow = Flow {
            is_stopped: &is_stopped,
            wait: &|| {
                // A new request wakes the thread.
                thread::park_timeout(READ_AGAIN);
                !is_stopped()
            },
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
    for request in searches {
        let ticket = request.ticket;
        let is_stopped = || wanted.load(Ordering::Relaxed) != ticket;
        if is_stopped() {
            continue;
        }
        let tell = |found: Found| {
            let _ = reports.send(found.report(ticket));
        };
        let (home, environment) = (&place.home, &place.environment);
        if let Err(error) = search::search(home, environment, &request.words, &is_stopped, &tell) {
            let failed = Report::Failed { ticket: Some(ticket), message: error.to_string() };
            let _ = reports.send(failed);
        }
    }
}
