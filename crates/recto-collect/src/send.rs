//! What is kept on this machine into a store beyond it, exactly once.
//!
//! The archive is the spool: whatever happens to the network, what was written is there, and the
//! next round sends it. A round goes through all files and sends what is due of each.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream;
use jiff::Timestamp;
use recto_store::DataDirectory;
use recto_store::Home;
use recto_store::keep::Archive;
use recto_store::keep::FileKey;
use recto_store::keep::LifeId;
use recto_store::keep::Lives;
use recto_store::keep::MachineId;
use recto_store::keep::MachineSecret;
use recto_store::keep::Part;
use recto_store::keep::Range64;
use recto_store::keep::SegmentHeader;
use recto_store::keep::SegmentKey;
use recto_store::keep::forgotten_file;
use recto_store::keep::forgotten_prefix;
use recto_store::keep::session_of;

use crate::beat::MachineFacts;
use crate::due::Endings;
use crate::due::is_due;
use crate::error::CollectError;
use crate::pace::Pace;
use crate::parcel::Packer;
use crate::parcel::Parcel;
use crate::parcel::event;
use crate::parcel::header_of;
use crate::policy::Policy;
use crate::policy::Withheld;
use crate::projects::Projects;
use crate::report::SendOptions;
use crate::report::SendReport;
use crate::state::Known;
use crate::state::State;
use crate::store::Put;
use crate::store::Store;

/// How large a segment becomes before the next one begins.
const LARGEST: u64 = 8 * 1024 * 1024;
/// How many files are sent at the same time.
const AT_ONCE: usize = 4;
/// How often a file whose names are taken is tried under others.
const TRIES: usize = 4;
/// How long to wait for another collector.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Sends what is kept to a store.
#[derive(Debug)]
pub struct Sender {
    store: Store,
    archive: Archive,
    state: Mutex<State>,
    policy: Policy,
    secret: MachineSecret,
    options: SendOptions,
    pace: Pace,
    facts: MachineFacts,
    lock: std::path::PathBuf,
    /// Whether the collector ends, and sends what it has.
    ends: AtomicBool,
    endings: Mutex<Endings>,
}

/// A file of which something is sent.
struct Outgoing<'a> {
    packer: Packer<'a>,
    file: FileKey,
    lives: &'a Lives,
    /// When its session ended, if it did.
    ended: Option<Timestamp>,
}

impl Sender {
    /// Makes ready to send the archive of a home.
    pub fn open(
        home: &Home,
        data: &DataDirectory,
        archive: &Path,
        store: Store,
        policy: Policy,
        facts: MachineFacts,
        options: SendOptions,
    ) -> Result<Sender, CollectError> {
        let archive = Archive::open(archive, MachineId::of(home))?;
        let folder = data.make(&["collect"])?;
        let target = format!("{} {}", archive.machine(), store.url());
        let lock = folder.join("stores.lock");
        let state = {
            let _held = recto_store::lock_file(&lock, LONGEST_WAIT)?;
            State::open(&folder.join("stores.sqlite"), target)?
        };
        Ok(Sender {
            store,
            archive,
            state: Mutex::new(state),
            policy,
            secret: MachineSecret::of(home),
            pace: Pace::new(options.bytes_per_second),
            options,
            facts,
            lock,
            ends: AtomicBool::new(false),
            endings: Mutex::default(),
        })
    }

    /// Sends everything from now on, however little it is: the collector ends.
    pub fn end(&self) {
        self.ends.store(true, Ordering::Relaxed);
    }

    /// Looks which clients run. What a session wrote is due as soon as its client has left.
    pub fn look_at_clients(&self, home: &Home) {
        let (now, clients) = ((self.options.clock)(), home.announcements());
        self.endings().look(now, self.options.every, &clients);
    }

    fn endings(&self) -> MutexGuard<'_, Endings> {
        self.endings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    pub(crate) fn archive(&self) -> &Archive {
        &self.archive
    }

    pub(crate) fn options(&self) -> &SendOptions {
        &self.options
    }

    pub(crate) fn facts(&self) -> &MachineFacts {
        &self.facts
    }

    pub(crate) fn secret(&self) -> &MachineSecret {
        &self.secret
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what is due. Waits for another sender of this machine.
    pub fn send(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<SendReport, CollectError> {
        let held = recto_store::lock_file(&self.lock, LONGEST_WAIT)?;
        let _held = held.ok_or_else(|| CollectError::Busy { url: self.store.url().to_owned() })?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let sent = runtime.block_on(self.round(progress));
        let note = sent.as_ref().err().map(ToString::to_string);
        self.state().set_text("error", note.as_deref())?;
        sent
    }

    async fn round(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<SendReport, CollectError> {
        self.list_once().await?;
        let projects = Projects::new(&self.archive, &self.policy);
        let files = self.archive.files()?;
        let all = files.len() as u64;
        let mut report = SendReport { files: all, ..SendReport::default() };
        let mut keys = Vec::new();
        let mut sending =
            stream::iter(files).map(|file| self.file(file, &projects)).buffer_unordered(AT_ONCE);
        let mut done = 0;
        let mut failed = None;
        while let Some(sent) = sending.next().await {
            match sent {
                Ok((one, new)) => {
                    report.add(one);
                    keys.extend(new);
                }
                // The store is away, for all files; what was begun comes to its end.
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
            done += 1;
            progress(done, all);
        }
        drop(sending);
        self.hint(&keys).await;
        if let Some(error) = failed {
            return Err(error);
        }
        self.beat(&report).await?;
        Ok(report)
    }

    /// Finds out what the store has, unless that is known.
    async fn list_once(&self) -> Result<(), CollectError> {
        if self.state().text("listed")?.is_some() {
            return Ok(());
        }
        let machine = self.archive.machine();
        let mut listing = self.store.list(&SegmentKey::prefix(machine));
        let mut parts = Vec::new();
        while let Some(listed) = listing.next().await {
            if let Some(key) = SegmentKey::parse(&listed?.key) {
                parts.push((key.file, key.part));
            }
            if parts.len() >= 1000 {
                self.state().note(&std::mem::take(&mut parts), true)?;
            }
        }
        self.state().note(&parts, true)?;
        self.learn_forgotten().await?;
        let now = (self.options.clock)().to_string();
        self.state().set_text("listed", Some(&now))
    }

    /// Which files must not be sent again.
    pub(crate) async fn learn_forgotten(&self) -> Result<(), CollectError> {
        let mut listing = self.store.list(&forgotten_prefix(self.archive.machine()));
        while let Some(listed) = listing.next().await {
            let name = listed?.key;
            if let Some(file) = forgotten_file(&name) {
                self.state().set_text(&format!("forgotten {file}"), Some("yes"))?;
            }
        }
        Ok(())
    }

    /// Whether a file must not be sent again, or another one of the same session: a session that
    /// was forgotten does not come back because it is in a second project.
    pub(crate) fn is_forgotten(
        &self,
        file: FileKey,
        about: &SegmentHeader,
    ) -> Result<bool, CollectError> {
        for key in [file, FileKey::of(about.kind, &about.path)] {
            if self.state().text(&format!("forgotten {key}"))?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Sends what is due of a file. Gives what is in the store now.
    async fn file(
        &self,
        file: FileKey,
        projects: &Projects<'_>,
    ) -> Result<(SendReport, Vec<SegmentKey>), CollectError> {
        let mut report = SendReport::default();
        let mut new = Vec::new();
        match self.parts_of(file, projects, &mut report, &mut new).await {
            Ok(()) => {}
            // What is wrong with one file does not keep others.
            Err(error @ (CollectError::Store(_) | CollectError::Refused { .. })) => {
                report.troubles.push((file.to_string(), error.to_string()));
            }
            Err(error) => return Err(error),
        }
        Ok((report, new))
    }

    async fn parts_of(
        &self,
        file: FileKey,
        projects: &Projects<'_>,
        report: &mut SendReport,
        new: &mut Vec<SegmentKey>,
    ) -> Result<(), CollectError> {
        let lives = Lives::of(self.archive.parts(file)?);
        let known = self.state().of_file(file)?;
        let there: HashSet<String> =
            known.iter().filter(|one| one.is_there).map(|one| one.part.name()).collect();
        let whole = self.missing_wholes(&lives, &there);
        let lines = self.missing_lines(file, &lives, &known)?;
        if whole.is_empty() && lines.is_empty() {
            return Ok(());
        }
        let Some(about) = self.about(file, &lives)? else { return Ok(()) };
        if self.is_forgotten(file, &about)? {
            return Ok(());
        }
        let withheld = self.policy.withholds(about.kind).or_else(|| {
            (!projects.takes(file, about.kind, &about.path)).then_some(Withheld::Project)
        });
        if let Some(reason) = withheld {
            report.withhold(reason);
            return Ok(());
        }
        let packer = Packer { archive: &self.archive, policy: &self.policy, projects };
        let session = session_of(about.kind, &about.path);
        let ended = session.and_then(|session| self.endings().of(session));
        let outgoing = Outgoing { packer, file, lives: &lives, ended };
        for life in lines {
            self.lines(&outgoing, life, report, new).await?;
        }
        for part in whole {
            self.whole(&outgoing, &part, report, new).await?;
        }
        Ok(())
    }

    /// Versions, torn ends and events that the store does not have.
    fn missing_wholes(&self, lives: &Lives, there: &HashSet<String>) -> Vec<Part> {
        // An end that has grown to lines since is in those lines.
        let is_an_end = |part: &&Part| match part {
            Part::Torn { life, range, .. } => lives.cover(*life).1 <= range.start,
            _ => true,
        };
        let mut parts: Vec<Part> = lives.torn.iter().filter(is_an_end).cloned().collect();
        parts.extend(lives.versions.iter().cloned());
        parts.extend(lives.moved.iter().map(|time| Part::Moved(*time)));
        parts.extend(lives.gone.iter().map(|time| Part::Gone(*time)));
        parts.retain(|part| !there.contains(&part.sealed(&self.secret).name()));
        parts
    }

    /// The lives with lines that the store may not have.
    pub(crate) fn missing_lines(
        &self,
        file: FileKey,
        lives: &Lives,
        known: &[Known],
    ) -> Result<Vec<LifeId>, CollectError> {
        let there = known.iter().filter(|one| one.is_there).map(|one| one.part.clone());
        let remote = Lives::of(there.collect());
        let mut missing = Vec::new();
        for life in lives.ids() {
            let named = self.state().life(file, life)?;
            let has = named.map(|named| remote.cover(named).1);
            if has != Some(lives.cover(life).1) {
                missing.push(life);
            }
        }
        Ok(missing)
    }

    /// A header of a file, which says what it is.
    pub(crate) fn about(
        &self,
        file: FileKey,
        lives: &Lives,
    ) -> Result<Option<SegmentHeader>, CollectError> {
        header_of(&self.archive, file, lives)
    }

    fn is_due(&self, bytes: u64, since: Timestamp, ended: Option<Timestamp>) -> bool {
        self.ends.load(Ordering::Relaxed) || is_due(&self.options, bytes, since, ended)
    }

    /// Sends the lines of one life, in pieces.
    async fn lines(
        &self,
        outgoing: &Outgoing<'_>,
        life: LifeId,
        report: &mut SendReport,
        new: &mut Vec<SegmentKey>,
    ) -> Result<(), CollectError> {
        let Outgoing { packer, file, lives, ended } = outgoing;
        let file = *file;
        let (_, end) = lives.cover(life);
        let mut tries = 0;
        loop {
            let named = self.named(packer, file, lives, life).await?;
            let known = self.state().of_file(file)?;
            let there = known.iter().filter(|one| one.is_there).map(|one| one.part.clone());
            let (_, from) = Lives::of(there.collect()).cover(named);
            if from >= end {
                return Ok(());
            }
            let Some(first) = lives.cover(life).0.into_iter().find(|range| range.end > from) else {
                return Ok(());
            };
            let captured =
                self.archive.part_header(file, &Part::Lines { life, range: first })?.captured;
            let begun = begun(&known, named, from).filter(|range| range.end <= end);
            if begun.is_none() && !self.is_due(end - from, captured, *ended) {
                report.waiting_bytes += end - from;
                let earlier = report.waiting_since.map_or(captured, |since| since.min(captured));
                report.waiting_since = Some(earlier);
                return Ok(());
            }
            let range = begun.unwrap_or_else(|| piece(&lives.cover(life).0, from));
            let part = Part::Lines { life: named, range };
            let parcel = packer.lines(file, lives, life, range)?;
            let key = SegmentKey { machine: self.archive.machine(), file, part };
            let bytes = parcel.bytes;
            match self.put(&key, parcel).await? {
                true => {
                    report.objects += 1;
                    report.bytes += range.end - range.start;
                    report.sent_bytes += bytes;
                    new.push(key);
                }
                // Something else has the name: these bytes are of another life of the file.
                false => {
                    report.conflicts += 1;
                    tries += 1;
                    let other = self.unused(file, named)?;
                    self.state().set_life(file, life, other)?;
                    if tries == TRIES {
                        let reason = "every possible name for its lines is taken in the store";
                        report.troubles.push((file.to_string(), reason.to_owned()));
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Sends a version, a torn end or an event.
    async fn whole(
        &self,
        outgoing: &Outgoing<'_>,
        part: &Part,
        report: &mut SendReport,
        new: &mut Vec<SegmentKey>,
    ) -> Result<(), CollectError> {
        let Outgoing { packer, file, ended, .. } = outgoing;
        let file = *file;
        let key =
            SegmentKey { machine: self.archive.machine(), file, part: part.sealed(&self.secret) };
        if let Part::Gone(time) | Part::Moved(time) = part {
            let since = Timestamp::from_millisecond(*time as i64).unwrap_or(Timestamp::UNIX_EPOCH);
            if !self.is_due(0, since, *ended) {
                return Ok(());
            }
            let named = |life| self.state().life(file, life).ok().flatten();
            let json = event(&self.archive.event(file, part)?, &self.secret, named);
            report.sent_bytes += json.len() as u64;
            self.store.put_new(&key.to_string(), json.into()).await?;
        } else {
            let header = self.archive.part_header(file, part)?;
            if !self.is_due(header.content_bytes(), header.captured, *ended) {
                report.waiting_bytes += header.content_bytes();
                return Ok(());
            }
            let parcel = match packer.whole(file, part)? {
                Ok(parcel) => parcel,
                Err(reason) => {
                    report.withhold(reason);
                    return Ok(());
                }
            };
            report.bytes += header.content_bytes();
            report.sent_bytes += parcel.bytes;
            self.put(&key, parcel).await?;
        }
        self.state().note(&[(file, key.part.clone())], true)?;
        report.objects += 1;
        new.push(key);
        Ok(())
    }

    /// Puts a segment into the store. Whether it is there: not, if something else has its name.
    async fn put(&self, key: &SegmentKey, parcel: Parcel) -> Result<bool, CollectError> {
        let part = [(key.file, key.part.clone())];
        self.state().note(&part, /* is there */ false)?;
        self.pace.take(parcel.bytes).await;
        let put = self.store.put_file(&key.to_string(), parcel.file, parcel.bytes).await?;
        let is_ours = match put {
            Put::New => true,
            Put::Taken => {
                let there = self.store.said(key).await?;
                // The same range under another policy was sent before, and is there.
                there.sha256 == parcel.header.sha256 || there.policy != parcel.header.policy
            }
        };
        self.state().note(&part, /* is there */ true)?;
        Ok(is_ours)
    }
}

/// A range that was begun and may be in the store.
fn begun(known: &[Known], named: LifeId, from: u64) -> Option<Range64> {
    known.iter().find_map(|one| match one.part {
        Part::Lines { life, range } if life == named && range.start == from && !one.is_there => {
            Some(range)
        }
        _ => None,
    })
}

/// The next range to send: whole segments of the archive, as many as make a good size.
fn piece(cover: &[Range64], from: u64) -> Range64 {
    let mut piece = Range64 { start: from, end: from };
    for range in cover.iter().filter(|range| range.end > from) {
        if piece.end > from && range.end - from > LARGEST {
            break;
        }
        piece.end = range.end;
    }
    piece
}
