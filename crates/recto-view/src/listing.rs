//! Which logs are listed. It is decided here for all surfaces.

use std::collections::HashMap;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use rayon::prelude::*;
use recto_log::SessionId;
use recto_session::status::StatusKind;
use recto_store::Digest;
use recto_store::FileKind;
use recto_store::FileState;
use recto_store::Filter;
use recto_store::Inventory;
use recto_store::LiveSession;
use recto_store::LogFile;
use recto_store::SessionFile;

use crate::library::Library;

/// Which logs are wanted. By default, those of all sessions with a conversation.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// What the sessions must be.
    pub filter: Filter,
    /// Words that must be in the title, a prompt, the directory, the branch or the id.
    pub words: Option<String>,
    /// The logs of subagents too.
    pub agents: bool,
    /// Only sessions of clients that run.
    pub only_live: bool,
    /// Files without a conversation too.
    pub all: bool,
    /// At most so many.
    pub limit: Option<usize>,
    /// Only these sessions.
    pub only: Option<HashSet<String>>,
}

/// A log that is listed, and what its head and tail say.
#[derive(Debug, Clone)]
pub struct ListedLog {
    /// The session that it belongs to.
    pub session: SessionFile,
    /// The log, if it is a subagent's.
    pub agent: Option<LogFile>,
    /// What the head and the tail say.
    pub digest: Arc<Digest>,
    /// The client that runs the session.
    pub live: Option<LiveSession>,
    /// What the session does, if a client runs it.
    pub status: Option<StatusKind>,
    /// Whether the log is there but could not be read.
    pub is_unreadable: bool,
}

impl ListedLog {
    pub(crate) fn of_session(
        session: SessionFile,
        digest: Option<Arc<Digest>>,
        live: Option<LiveSession>,
    ) -> ListedLog {
        // A log that may not be read is still a session that is there.
        let is_unreadable = digest.is_none();
        let digest = digest.unwrap_or_default();
        ListedLog { session, agent: None, digest, live, status: None, is_unreadable }
    }

    fn of_agent(session: SessionFile, agent: LogFile, digest: Arc<Digest>) -> ListedLog {
        let (live, status) = (None, None);
        ListedLog { session, agent: Some(agent), digest, live, status, is_unreadable: false }
    }

    /// The log.
    pub fn log(&self) -> &LogFile {
        self.agent.as_ref().unwrap_or(&self.session)
    }

    /// What the log is. The client's own helpers are recognised by their ids.
    pub fn kind(&self) -> FileKind {
        match &self.log().agent {
            Some(id) if id.is_prompt_suggestion() || id.is_compaction() => FileKind::Helper,
            _ => self.digest.kind,
        }
    }

    fn has_word(&self, word: &str) -> bool {
        let digest = &self.digest;
        let title = digest.title.as_ref().map(|(title, _)| title);
        let texts = [&digest.first_prompt, &digest.last_prompt, &digest.cwd, &digest.branch];
        let mut texts = title.into_iter().chain(texts.into_iter().flatten());
        self.log().name().starts_with(word) || texts.any(|text| text.to_lowercase().contains(word))
    }
}

/// Clients that run, by session.
pub(crate) type Clients = HashMap<SessionId, LiveSession>;

impl Listing {
    /// Whether a session can be listed, by what is known before its log is opened.
    fn is_possible(&self, session: &SessionFile, clients: &Clients) -> bool {
        (!self.only_live || clients.contains_key(&session.id))
            && self.only.as_ref().is_none_or(|only| only.contains(&session.id.to_string()))
            && self.filter.fits_time(session.modified())
            && (session.bytes() > 0 || self.all)
    }

    fn words(&self) -> Vec<String> {
        let words = self.words.as_deref().unwrap_or_default().to_lowercase();
        words.split_whitespace().map(str::to_owned).collect()
    }

    fn fits(&self, log: &ListedLog, words: &[String]) -> bool {
        (self.all || matches!(log.kind(), FileKind::Session | FileKind::Agent))
            && self.filter.fits(&log.session.project.key, &log.digest)
            && words.iter().all(|word| log.has_word(word))
    }
}

impl Library {
    /// The clients that run now, by session.
    pub fn clients(&self) -> HashMap<SessionId, LiveSession> {
        let clients = self.home().live_sessions_now().into_iter().filter(|client| client.alive);
        clients.map(|client| (client.session, client)).collect()
    }

    /// The logs that are wanted, newest first. Reads heads and tails, and stops when there
    /// are enough; logs that are as they were, here or in the index, are not opened.
    pub fn listed(&self, listing: &Listing, inventory: &Inventory) -> Vec<ListedLog> {
        let mut rows = self.listed_with(listing, inventory, &self.clients());
        let running = rows.iter().filter(|row| row.live.is_some()).map(|row| row.session.id);
        let statuses = self.statuses_of(running.collect(), inventory);
        for row in rows.iter_mut().filter(|row| row.live.is_some()) {
            row.status = statuses.get(&row.session.id).copied();
        }
        rows
    }

    pub(crate) fn listed_with(
        &self,
        listing: &Listing,
        inventory: &Inventory,
        clients: &Clients,
    ) -> Vec<ListedLog> {
        const PIECE: usize = 256;
        let wanted = listing.limit.unwrap_or(usize::MAX);
        let words = listing.words();
        self.digests().keep(inventory);
        let mut index = recto_store::Digests::new(self.home(), self.cache());
        let mut rows = Vec::new();
        for piece in inventory.sessions.chunks(PIECE.max(wanted.min(4096))) {
            let is_possible = |session: &&SessionFile| listing.is_possible(session, clients);
            let piece: Vec<&SessionFile> = piece.iter().filter(is_possible).collect();
            let agents: Vec<Vec<LogFile>> = match listing.agents {
                true => {
                    let agents = |file: &&SessionFile| self.home().agents_of(inventory, file);
                    piece.par_iter().map(agents).collect()
                }
                false => vec![Vec::new(); piece.len()],
            };
            let logs = self.sessions_with_agents(piece, agents, &mut index, clients);
            rows.par_extend(logs.filter(|log| listing.fits(log, &words)));
            if rows.len() >= wanted {
                rows.truncate(wanted);
                break;
            }
        }
        index.finish();
        rows
    }

    /// The logs of sessions, each followed by those of its subagents.
    fn sessions_with_agents<'a>(
        &self,
        sessions: Vec<&'a SessionFile>,
        agents: Vec<Vec<LogFile>>,
        index: &mut recto_store::Digests<'_>,
        clients: &'a Clients,
    ) -> impl ParallelIterator<Item = ListedLog> + use<'a> {
        let of_sessions = self.digests().read(index, sessions.iter().map(|file| (*file).as_ref()));
        let mut of_agents = self.digests().read(index, agents.iter().flatten()).into_iter();
        let of_agents: Vec<Vec<Option<Arc<Digest>>>> =
            agents.iter().map(|some| of_agents.by_ref().take(some.len()).collect()).collect();
        let found = sessions.into_par_iter().zip(of_sessions).zip(agents).zip(of_agents);
        found.flat_map_iter(|(((session, digest), agents), of_agents)| {
            let client = clients.get(&session.id).cloned();
            let log = ListedLog::of_session(session.clone(), digest, client);
            let agents = agents.into_iter().zip(of_agents);
            let agents = agents.filter_map(|(agent, digest)| {
                Some(ListedLog::of_agent(session.clone(), agent, digest?))
            });
            std::iter::once(log).chain(agents)
        })
    }
}

/// Heads and tails that were read, as long as the files are what they were.
#[derive(Debug, Default)]
pub(crate) struct Digests(Mutex<HashMap<PathBuf, KnownDigest>>);

/// What a log was, and what was read of it.
#[derive(Debug)]
struct KnownDigest {
    version: FileState,
    digest: Arc<Digest>,
}

impl Digests {
    /// What a listing says of a log; nothing if it cannot be read.
    pub(crate) fn of(&self, log: &LogFile) -> Option<Arc<Digest>> {
        if let Some(known) = known_in(&self.lock(), log) {
            return Some(known);
        }
        let digest = Arc::new(Digest::read_listed(log).ok()?);
        note_in(&mut self.lock(), log, &digest);
        Some(digest)
    }

    /// What a listing says of some logs, in their order; nothing of those that cannot be
    /// read. Those that are new or have changed are looked up in the index first.
    pub(crate) fn read<'l>(
        &self,
        index: &mut recto_store::Digests<'_>,
        logs: impl Iterator<Item = &'l LogFile> + Clone,
    ) -> Vec<Option<Arc<Digest>>> {
        let mut digests: Vec<Option<Arc<Digest>>> = {
            let known = self.lock();
            logs.clone().map(|log| known_in(&known, log)).collect()
        };
        let new = logs.zip(&mut digests).filter(|(_, digest)| digest.is_none());
        let (new, places): (Vec<&LogFile>, Vec<&mut Option<Arc<Digest>>>) = new.unzip();
        let read = index.read(new.iter().copied());
        let mut known = self.lock();
        for ((log, place), digest) in new.into_iter().zip(places).zip(read) {
            if let Some(digest) = digest {
                note_in(&mut known, log, place.insert(Arc::new(digest)));
            }
        }
        drop(known);
        digests
    }

    /// Drops what belongs to files that are gone.
    fn keep(&self, inventory: &Inventory) {
        let mut known = self.lock();
        if known.len() > inventory.sessions.len() + 100 {
            let there: HashSet<&PathBuf> =
                inventory.sessions.iter().map(|file| &file.path).collect();
            known.retain(|path, _| there.contains(path));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, KnownDigest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn known_in(known: &HashMap<PathBuf, KnownDigest>, log: &LogFile) -> Option<Arc<Digest>> {
    let known = known.get(&log.path).filter(|known| known.version == log.state);
    // The title of an old log can come with another log.
    let known = known.filter(|known| !known.digest.may_be_titled_elsewhere());
    known.map(|known| Arc::clone(&known.digest))
}

fn note_in(known: &mut HashMap<PathBuf, KnownDigest>, log: &LogFile, digest: &Arc<Digest>) {
    let digest = KnownDigest { version: log.state, digest: Arc::clone(digest) };
    known.insert(log.path.clone(), digest);
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use jiff::Timestamp;
    use jiff::tz::TimeZone;
    use recto_session::usage::PriceTable;
    use recto_store::Home;
    use recto_testkit::Client;
    use recto_testkit::FakeHome;
    use recto_testkit::SessionBuilder;

    use super::*;
    use crate::LibraryOptions;

    const NEW: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";
    const OLD: &str = "5c1e8a70-2b64-4f19-9d0c-6a7be3f0c214";
    const EMPTY: &str = "0a1b2c3d-4e5f-4071-8293-a4b5c6d7e8f9";

    fn library(fake: &FakeHome) -> Library {
        let now: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
        let ago = |hours| now - SignedDuration::from_hours(hours);
        let new = SessionBuilder::new(NEW, Client::V2_1_325).prompt("Repair it").answer("Done.");
        fake.add(&new, ago(1));
        let agent = SessionBuilder::agent(NEW, "a1b2c3d4e5f60718", Client::V2_1_325)
            .prompt("Find callers")
            .answer("None.");
        fake.add(&agent, ago(1));
        let old = SessionBuilder::new(OLD, Client::V2_1_29).prompt("Describe it").answer("Done.");
        fake.add(&old, ago(2));
        fake.write(&format!("projects/-home-dev-app/{EMPTY}.jsonl"), "");
        Library::new(LibraryOptions {
            home: Home::open(fake.path()).unwrap(),
            cache: None,
            data: None,
            prices: PriceTable::default(),
            zone: Some(TimeZone::UTC),
            now: Some(now),
        })
    }

    #[test]
    fn a_listing_has_what_is_wanted_and_no_more() {
        let fake = FakeHome::new();
        let library = library(&fake);
        let inventory = library.home().inventory();
        let names = |listing: Listing| {
            let listed = library.listed(&listing, &inventory);
            listed.iter().map(|log| log.log().name()).collect::<Vec<_>>()
        };
        let words = |words: &str| Listing { words: Some(words.to_owned()), ..Listing::default() };
        // The second time, nothing is read.
        for _ in 0..2 {
            assert_eq!(names(Listing::default()), [NEW, OLD]);
            assert_eq!(
                names(Listing { agents: true, ..Listing::default() }),
                [NEW, "agent-a1b2c3d4e5f60718", OLD]
            );
            let mut all = names(Listing { all: true, ..Listing::default() });
            all.sort();
            assert_eq!(all, [EMPTY, NEW, OLD]);
        }
        assert_eq!(names(Listing { limit: Some(1), ..Listing::default() }), [NEW]);
        assert_eq!(names(Listing { only_live: true, ..Listing::default() }), [""; 0]);
        assert_eq!(names(words("IT describe")), [OLD]);
        assert_eq!(names(words("3f2a")), [NEW]);
        assert_eq!(names(words("callers")), [""; 0], "a subagent is not a session");
    }

    #[test]
    fn a_log_that_has_changed_is_read_again() {
        let fake = FakeHome::new();
        let library = library(&fake);
        let title = || {
            let wanted = Listing { limit: Some(1), ..Listing::default() };
            let listed = library.listed(&wanted, &library.home().inventory());
            listed[0].digest.title.clone().unwrap().0
        };
        assert_eq!(title(), "Repair it");
        let log = SessionBuilder::new(NEW, Client::V2_1_325).prompt("Repair it");
        fake.add(&log.custom_title("Another name"), "2026-11-16T11:30:00Z".parse().unwrap());
        assert_eq!(title(), "Another name");
    }
}
