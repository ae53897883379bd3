//! What every answer needs.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use axum::http::StatusCode;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use recto_session::usage::PriceTable;
use recto_store::CacheDirectory;
use recto_store::DataDirectory;
use recto_store::Home;
use tokio::sync::Semaphore;

use crate::answer::Failure;
use crate::asking::Asking;
use crate::asking::ask;
use crate::data::Digests;
use crate::data::KnownStatuses;
use crate::data::Readings;
use crate::data::figures::Kept;
use crate::events::Hub;

/// What every answer needs. Cheap to clone: it is shared by all requests.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    shared: Arc<Shared>,
    /// Whether who asked is still there.
    pub(crate) asking: Asking,
}

#[derive(Debug)]
pub(crate) struct Shared {
    /// The client's home.
    pub(crate) home: Home,
    /// The home, if a client that is started like any other would use another one.
    pub(crate) home_to_name: Option<PathBuf>,
    /// Where the index is.
    pub(crate) cache: CacheDirectory,
    /// Where recto records what it changed.
    pub(crate) data: DataDirectory,
    /// Whether anything may be changed.
    pub(crate) allows_edits: bool,
    /// What tokens cost.
    pub(crate) prices: PriceTable,
    /// The zone that days are counted in.
    pub(crate) zone: TimeZone,
    /// The time to take for now, so that answers can be compared.
    pub(crate) fixed_now: Option<Timestamp>,
    /// What was read.
    pub(crate) readings: Readings,
    /// Heads and tails that were read.
    pub(crate) digests: Digests,
    /// What was read to tell what sessions do.
    pub(crate) statuses: KnownStatuses,
    /// What has happened.
    pub(crate) hub: Hub,
    /// What pages about many sessions keep.
    pub(crate) figures: Kept,
    /// Whether something was worked on since memory was given back.
    pub(crate) has_worked: AtomicBool,
    /// How many documents may still be made at once.
    pub(crate) exports: Arc<Semaphore>,
}

impl Context {
    pub(crate) fn new(shared: Shared) -> Context {
        Context { shared: Arc::new(shared), asking: Asking::default() }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.fixed_now.unwrap_or_else(Timestamp::now)
    }

    /// Refuses unless the user has allowed that something is changed.
    pub(crate) fn check_edits(&self) -> Result<(), Failure> {
        if self.allows_edits {
            return Ok(());
        }
        let message = "this server changes nothing";
        Err(Failure::new(StatusCode::FORBIDDEN, "edits-not-allowed", message)
            .with_hint("`recto serve --allow-edits` starts one that does"))
    }

    /// Does what reads files or computes where it keeps nobody waiting.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Context) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let shared = self.shared.clone();
        self.has_worked.store(true, Ordering::Relaxed);
        match ask(move |asking| work(&Context { shared, asking })).await {
            Ok(result) => result,
            // A panic in a request is the request's; the others go on.
            Err(_) => Err(Failure::internal("the work was not finished")),
        }
    }
}

impl std::ops::Deref for Context {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}
