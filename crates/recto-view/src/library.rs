//! What every question needs.

use std::fmt;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use recto_session::usage::PriceTable;
use recto_store::CacheDirectory;
use recto_store::DataDirectory;
use recto_store::Home;

use crate::error::ViewError;
use crate::figures::Kept;
use crate::listing::Digests;
use crate::reading::Readings;
use crate::status::KnownStatuses;

/// A home, and what is needed to answer questions about it.
#[derive(Debug, Clone)]
pub struct LibraryOptions {
    /// Claude Code's home directory.
    pub home: Home,
    /// The directory of the index; without it, a search cannot be answered.
    pub cache: Option<CacheDirectory>,
    /// The directory of recto's record of operations; without it, they are not known.
    pub data: Option<DataDirectory>,
    /// What tokens cost.
    pub prices: PriceTable,
    /// The zone that days are counted in; none for the system's. That one is looked up when a
    /// question needs it: it takes a millisecond, as long as a list of sessions.
    pub zone: Option<TimeZone>,
    /// The time to use as now, so that answers can be compared; none for the clock's.
    pub now: Option<Timestamp>,
}

/// Answers questions about a home. It keeps what it has read for the next question. Clones
/// are cheap and share what was read.
#[derive(Clone)]
pub struct Library(Arc<Shared>);

struct Shared {
    options: LibraryOptions,
    zone: OnceLock<TimeZone>,
    readings: Readings,
    digests: Digests,
    statuses: KnownStatuses,
    figures: Kept,
}

impl fmt::Debug for Library {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Library").field(&self.0.options.home).finish()
    }
}

impl Library {
    /// Answers questions about a home.
    pub fn new(options: LibraryOptions) -> Library {
        Library(Arc::new(Shared {
            options,
            zone: OnceLock::new(),
            readings: Readings::default(),
            digests: Digests::default(),
            statuses: KnownStatuses::default(),
            figures: Kept::default(),
        }))
    }

    /// Claude Code's home directory.
    pub fn home(&self) -> &Home {
        &self.0.options.home
    }

    /// The directory of the index.
    pub fn cache(&self) -> Option<&CacheDirectory> {
        self.0.options.cache.as_ref()
    }

    pub(crate) fn index_directory(&self) -> Result<&CacheDirectory, ViewError> {
        self.cache().ok_or(ViewError::Internal("there is no cache directory"))
    }

    /// The directory of recto's record of operations.
    pub(crate) fn data(&self) -> Result<&DataDirectory, ViewError> {
        let data = self.0.options.data.as_ref();
        data.ok_or(ViewError::Internal("there is no data directory"))
    }

    /// What tokens cost.
    pub fn prices(&self) -> &PriceTable {
        &self.0.options.prices
    }

    /// The zone that days are counted in.
    pub fn zone(&self) -> &TimeZone {
        let zone = || self.0.options.zone.clone().unwrap_or_else(TimeZone::system);
        self.0.zone.get_or_init(zone)
    }

    /// The time at which questions are answered.
    pub fn now(&self) -> Timestamp {
        self.0.options.now.unwrap_or_else(Timestamp::now)
    }

    pub(crate) fn readings(&self) -> &Readings {
        &self.0.readings
    }

    pub(crate) fn digests(&self) -> &Digests {
        &self.0.digests
    }

    pub(crate) fn known_statuses(&self) -> &KnownStatuses {
        &self.0.statuses
    }

    pub(crate) fn figures(&self) -> &Kept {
        &self.0.figures
    }
}

/// Whether the asker still waits for the answer. The default asker waits to the end.
#[derive(Debug, Clone, Default)]
pub struct Asker {
    has_left: Arc<AtomicBool>,
}

impl Asker {
    /// Long work asks now and then, and ends early if the answer is no longer wanted.
    pub fn is_waiting(&self) -> bool {
        !self.has_left.load(Ordering::Relaxed)
    }

    /// Says that the answer is no longer wanted.
    pub fn leave(&self) {
        self.has_left.store(true, Ordering::Relaxed);
    }
}
