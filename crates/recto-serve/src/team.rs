//! What a team's store says: plain rows that somebody else reads, kept for a while.
//!
//! The server knows neither stores nor tables. Whoever starts it hands over a function that reads
//! them; it runs on a thread of its own, because the first time can take longer than an answer may.

use std::fmt;
use std::sync::Arc;
use std::sync::Condvar;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;

use jiff::Timestamp;
use recto_view::Moment;
use serde::Serialize;

/// Rows that are older are read again when somebody asks.
const FRESH: Duration = Duration::from_secs(60);
/// What did not work is tried again no sooner.
const PAUSE: Duration = Duration::from_secs(5);
/// How long a request waits for rows that are being read.
const PATIENCE: Duration = Duration::from_secs(3);

/// All that is known of a team.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TeamRows {
    /// The store.
    pub store: String,
    /// When the newest segment in the tables was archived.
    pub built_to: Option<Moment>,
    /// The machines that send to it.
    pub machines: Vec<TeamMachine>,
    /// Named questions and their answers.
    pub answers: Vec<TeamAnswer>,
    /// What could not be read.
    pub skipped: Vec<String>,
}

/// A machine that sends to the store.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TeamMachine {
    /// Its id.
    pub machine: String,
    /// Who uses it.
    pub user: Option<String>,
    /// What it is called.
    pub host: Option<String>,
    /// The version of recto there.
    pub version: Option<String>,
    /// When it last reported.
    pub seen: Option<Moment>,
    /// Bytes that it has not sent yet.
    pub waiting_bytes: Option<u64>,
    /// When the oldest of them were archived.
    pub waiting_since: Option<Moment>,
    /// Its files in the store.
    pub files: u64,
    /// Compressed bytes in the store.
    pub stored_bytes: u64,
    /// Ranges that are missing between others.
    pub gaps: u64,
}

/// The answer to a named question.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TeamAnswer {
    /// The name of the question.
    pub question: String,
    /// What it asks.
    pub about: String,
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows, in the order of the question.
    pub rows: Vec<Vec<TeamValue>>,
    /// Whether there are more rows.
    pub is_cut: bool,
}

/// A value of an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum TeamValue {
    /// Nothing.
    Null,
    /// A whole number.
    Integer(i64),
    /// Another number.
    Real(f64),
    /// Text.
    Text(String),
}

/// Why there are no rows.
#[derive(Debug, Clone)]
pub struct TeamTrouble {
    /// A stable name, for programs.
    pub kind: &'static str,
    /// What happened.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

/// Called with the bytes that were read, and those of all.
pub type TellRead<'a> = dyn FnMut(u64, u64) + 'a;

type ReadTeam = dyn Fn(&mut TellRead<'_>) -> Result<TeamRows, TeamTrouble> + Send + Sync;

/// Reads the rows of a team.
#[derive(Clone)]
pub struct TeamSource(Arc<ReadTeam>);

impl TeamSource {
    /// A source that reads with a function. It is called on a thread of its own, never twice at
    /// the same time.
    pub fn new(
        read: impl Fn(&mut TellRead<'_>) -> Result<TeamRows, TeamTrouble> + Send + Sync + 'static,
    ) -> TeamSource {
        TeamSource(Arc::new(read))
    }
}

impl fmt::Debug for TeamSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TeamSource")
    }
}

/// Rows, and when they were read.
#[derive(Debug, Clone)]
pub(crate) struct TeamSeen {
    pub(crate) rows: Arc<TeamRows>,
    pub(crate) at: Timestamp,
}

/// What there is to show at a moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct TeamState {
    /// The last rows.
    pub(crate) seen: Option<TeamSeen>,
    /// Why the last try gave none.
    pub(crate) trouble: Option<TeamTrouble>,
    /// How far a read is that goes on: bytes done, and those of all.
    pub(crate) reading: Option<(u64, u64)>,
}

#[derive(Debug, Default)]
struct Kept {
    state: TeamState,
    /// When the last try ended.
    tried: Option<Instant>,
}

/// A team's rows, read when somebody asks for them.
#[derive(Debug, Clone)]
pub(crate) struct Team {
    source: TeamSource,
    kept: Arc<(Mutex<Kept>, Condvar)>,
}

impl Team {
    pub(crate) fn new(source: TeamSource) -> Team {
        Team { source, kept: Arc::default() }
    }

    /// What is known now. Starts to read if that is old, and waits for it a little.
    pub(crate) fn look(&self) -> TeamState {
        let mut kept = self.lock();
        if kept.state.reading.is_none() && is_due(&kept) {
            kept.state.reading = Some((0, 0));
            self.start();
        }
        let waiting = |kept: &mut Kept| kept.state.reading.is_some();
        let waited = self.kept.1.wait_timeout_while(kept, PATIENCE, waiting);
        waited.unwrap_or_else(PoisonError::into_inner).0.state.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self) {
        let team = self.clone();
        std::thread::spawn(move || {
            // Ends the read also if it panics: the next request tries again.
            let ending = Ending(&team);
            let read = (team.source.0)(&mut |done, all| {
                team.lock().state.reading = Some((done, all));
            });
            let mut kept = team.lock();
            match read {
                Ok(rows) => {
                    let at = Timestamp::now();
                    kept.state.seen = Some(TeamSeen { rows: Arc::new(rows), at });
                    kept.state.trouble = None;
                }
                Err(trouble) => kept.state.trouble = Some(trouble),
            }
            drop(kept);
            drop(ending);
        });
    }
}

struct Ending<'a>(&'a Team);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let mut kept = self.0.lock();
        kept.state.reading = None;
        if kept.state.seen.is_none() && kept.state.trouble.is_none() {
            let message = "the tables of the store could not be read".to_owned();
            kept.state.trouble = Some(TeamTrouble { kind: "internal", message, hint: None });
        }
        kept.tried = Some(Instant::now());
        drop(kept);
        self.0.kept.1.notify_all();
    }
}

fn is_due(kept: &Kept) -> bool {
    let wait = if kept.state.trouble.is_some() { PAUSE } else { FRESH };
    kept.tried.is_none_or(|tried| tried.elapsed() >= wait)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn rows_are_read_once_for_many_requests() {
        let count = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&count);
        let team = Team::new(TeamSource::new(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            Ok(TeamRows { store: "s3://team".to_owned(), ..TeamRows::default() })
        }));
        for _ in 0..3 {
            let state = team.look();
            assert_eq!(state.seen.unwrap().rows.store, "s3://team");
            assert!(state.reading.is_none() && state.trouble.is_none());
        }
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_read_that_fails_or_panics_is_over() {
        let team = Team::new(TeamSource::new(|_| {
            let message = "no tables".to_owned();
            Err(TeamTrouble { kind: "no-tables", message, hint: None })
        }));
        let state = team.look();
        assert_eq!((state.trouble.unwrap().kind, state.reading), ("no-tables", None));
        let team = Team::new(TeamSource::new(|_| std::panic::resume_unwind(Box::new("x"))));
        let state = team.look();
        assert_eq!((state.trouble.unwrap().kind, state.reading), ("internal", None));
    }
}
