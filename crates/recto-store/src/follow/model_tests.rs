//! Random programs of file actions against a model: what was handed out of each log is
//! what is in it, byte for byte, whatever happened, restarts of the follower included.

use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;

use fs_err as fs;
use proptest::prelude::*;

use super::*;
use crate::Advance;
use crate::ChainHash;
use crate::Home;

const PROJECTS: [&str; 3] = ["-a", "-b", "-c"];
const SESSIONS: [&str; 2] =
    ["3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718", "4f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718"];
/// Short, so that there are lines that are longer.
const LONGEST_LINE: usize = 6000;
const BATCH: usize = 5000;

/// Which log: the project, the session, and a subagent of it.
#[derive(Debug, Clone, Copy)]
struct Log {
    project: usize,
    session: usize,
    agent: Option<usize>,
}

impl Log {
    fn path(self, root: &Path) -> PathBuf {
        let project = root.join("projects").join(PROJECTS[self.project]);
        let session = SESSIONS[self.session];
        match self.agent {
            None => project.join(format!("{session}.jsonl")),
            Some(agent) => project.join(session).join(format!("subagents/agent-a{agent}.jsonl")),
        }
    }
}

#[derive(Debug, Clone)]
enum Action {
    Append(Log, Vec<u8>),
    Truncate(Log, usize),
    Rewrite(Log, Vec<u8>),
    /// Changes a byte near the beginning or the end.
    Patch(Log, usize, bool),
    Replace(Log, Vec<u8>),
    Recreate(Log, Vec<u8>),
    Remove(Log),
    Move(Log, Log),
    Exchange(Log, Log),
    RemoveProject(usize),
    RenameProject(usize, usize),
    MoveFolder(usize, usize, usize),
    /// The system tells that something happened there.
    Event(Log),
    /// A part of everything is looked at.
    Tick,
    /// Everything is looked at, and one batch is taken.
    Look,
    Restart,
}

fn log() -> impl Strategy<Value = Log> {
    let agent = proptest::option::weighted(0.4, 0..2usize);
    (0..PROJECTS.len(), 0..SESSIONS.len(), agent).prop_map(|(project, session, agent)| Log {
        project,
        session,
        agent,
    })
}

/// Some lines, the last of which may be without its end. Few letters, so that different
/// texts begin alike.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let length = prop_oneof![6 => 0..20usize, 2 => 0..3000usize, 1 => 5990..6010usize, 1 => 6000..15_000usize];
    let line = (length, 0..4u8).prop_map(|(length, letter)| vec![b'a' + letter; length]);
    let lines = proptest::collection::vec(line, 0..8);
    (lines, proptest::bool::weighted(0.7)).prop_map(|(lines, is_whole)| {
        let mut bytes = lines.join(&b'\n');
        if is_whole && !bytes.is_empty() {
            bytes.push(b'\n');
        }
        bytes
    })
}

fn action() -> impl Strategy<Value = Action> {
    let project = 0..PROJECTS.len();
    prop_oneof![
        12 => (log(), content()).prop_map(|(log, bytes)| Action::Append(log, bytes)),
        2 => (log(), 0..20_000usize).prop_map(|(log, length)| Action::Truncate(log, length)),
        2 => (log(), content()).prop_map(|(log, bytes)| Action::Rewrite(log, bytes)),
        2 => (log(), 0..4096usize, any::<bool>()).prop_map(|(log, at, end)| Action::Patch(log, at, end)),
        2 => (log(), content()).prop_map(|(log, bytes)| Action::Replace(log, bytes)),
        2 => (log(), content()).prop_map(|(log, bytes)| Action::Recreate(log, bytes)),
        1 => log().prop_map(Action::Remove),
        3 => (log(), log()).prop_map(|(from, to)| Action::Move(from, to)),
        1 => (log(), log()).prop_map(|(one, other)| Action::Exchange(one, other)),
        1 => project.clone().prop_map(Action::RemoveProject),
        1 => (project.clone(), project.clone()).prop_map(|(from, to)| Action::RenameProject(from, to)),
        1 => (project.clone(), project, 0..SESSIONS.len())
            .prop_map(|(from, to, session)| Action::MoveFolder(from, to, session)),
        5 => log().prop_map(Action::Event),
        3 => Just(Action::Tick),
        5 => Just(Action::Look),
        2 => Just(Action::Restart),
    ]
}

/// What a reader of the changes knows of a log.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Known {
    bytes: Vec<u8>,
    /// The chain, unless the log was not read from its beginning.
    chain: Option<ChainHash>,
}

struct World {
    folder: tempfile::TempDir,
    home: Home,
    follower: Option<Follower>,
    known: BTreeMap<PathBuf, Known>,
}

fn options(start: FollowStart) -> FollowOptions {
    FollowOptions {
        start,
        limits: ReadLimits { batch: BATCH, line: LONGEST_LINE },
        notice: FollowNotice::Polling,
        ..FollowOptions::default()
    }
}

impl World {
    fn new(before: &[(Log, Vec<u8>)], start: FollowStart) -> World {
        let folder = tempfile::tempdir().unwrap();
        for (log, bytes) in before {
            put(&log.path(folder.path()), bytes);
        }
        let home = Home::open(folder.path()).unwrap();
        let follower = Follower::new(&home, options(start)).unwrap();
        let mut known = BTreeMap::new();
        if start == FollowStart::End {
            for file in follower.files() {
                let offset = follower.offset(&file.path).unwrap() as usize;
                let bytes = fs::read(&file.path).unwrap()[..offset].to_vec();
                known.insert(file.path.clone(), Known { bytes, chain: None });
            }
        }
        World { folder, home, follower: Some(follower), known }
    }

    fn follower(&mut self) -> &mut Follower {
        self.follower.as_mut().unwrap()
    }

    fn act(&mut self, action: &Action) {
        let root = self.folder.path().to_owned();
        let path = |log: &Log| log.path(&root);
        let project = |number: &usize| root.join("projects").join(PROJECTS[*number]);
        // An action that cannot be done now is none.
        match action {
            Action::Append(log, bytes) => append(&path(log), bytes),
            Action::Truncate(log, length) => {
                if let Ok(file) = std::fs::File::options().write(true).open(path(log)) {
                    let length = (*length as u64).min(file.metadata().unwrap().len());
                    file.set_len(length).unwrap();
                }
            }
            Action::Rewrite(log, bytes) => put(&path(log), bytes),
            Action::Patch(log, at, is_at_end) => patch(&path(log), *at, *is_at_end),
            Action::Replace(log, bytes) => {
                let new = path(log).with_extension("new");
                put(&new, bytes);
                fs::rename(new, path(log)).unwrap();
            }
            Action::Recreate(log, bytes) => {
                let _ = fs::remove_file(path(log));
                put(&path(log), bytes);
            }
            Action::Remove(log) => {
                let _ = fs::remove_file(path(log));
            }
            Action::Move(from, to) => {
                if path(from).exists() {
                    make_parent(&path(to));
                    fs::rename(path(from), path(to)).unwrap();
                }
            }
            Action::Exchange(one, other) => {
                if path(one).exists() && path(other).exists() && path(one) != path(other) {
                    let between = path(one).with_extension("between");
                    fs::rename(path(one), &between).unwrap();
                    fs::rename(path(other), path(one)).unwrap();
                    fs::rename(between, path(other)).unwrap();
                }
            }
            Action::RemoveProject(number) => {
                let _ = fs::remove_dir_all(project(number));
            }
            Action::RenameProject(from, to) => {
                if project(from).exists() && !project(to).exists() {
                    fs::rename(project(from), project(to)).unwrap();
                }
            }
            Action::MoveFolder(from, to, session) => {
                let (from, to) =
                    (project(from).join(SESSIONS[*session]), project(to).join(SESSIONS[*session]));
                if from.exists() && !to.exists() {
                    make_parent(&to);
                    fs::rename(from, to).unwrap();
                }
            }
            Action::Event(log) => {
                let path = path(log);
                self.follower().tree.look_at_paths([path]);
                self.take_batch();
            }
            Action::Tick => {
                let now = std::time::Instant::now();
                let Follower { tree, schedule, .. } = self.follower();
                schedule.look(tree, now);
                self.take_batch();
            }
            Action::Look => {
                let changes = self.follower().look();
                self.learn(changes);
            }
            Action::Restart => {
                let written = self.follower.take().unwrap().checkpoint().encode();
                let checkpoint = Checkpoint::decode(&self.home, &written).unwrap();
                let options = options(FollowStart::End);
                let resumed = Follower::resume(&self.home, options, &checkpoint).unwrap();
                self.follower = Some(resumed);
            }
        }
    }

    fn take_batch(&mut self) {
        let changes = self.follower().hand_out();
        self.learn(changes);
    }

    fn learn(&mut self, changes: Vec<Change>) {
        let mut size = 0;
        for change in changes {
            match change {
                Change::Appeared(file) => {
                    assert!(self.known.insert(file.path.clone(), Known::default()).is_none());
                }
                Change::Lines { batch, bytes } => {
                    assert!(bytes.ends_with(b"\n"), "a line is cut");
                    size += bytes.len();
                    let lines: Vec<&[u8]> =
                        bytes[..bytes.len() - 1].split(|b| *b == b'\n').collect();
                    assert!(
                        lines.iter().all(|line| line.len() <= LONGEST_LINE),
                        "a line is too long"
                    );
                    // One line may be longer than the rest of the batch.
                    assert!(size <= BATCH || lines.len() == 1, "{size} bytes at once");
                    self.add(&batch, &bytes);
                }
                Change::LongLine { batch, start } => {
                    let range = batch.range.start as usize..batch.range.end as usize;
                    assert!(range.len() > LONGEST_LINE + 1 && start.len() == 4096);
                    let bytes = fs::read(&batch.file.path).unwrap()[range].to_vec();
                    assert!(bytes.starts_with(&start) && bytes.ends_with(b"\n"));
                    assert!(!bytes[..bytes.len() - 1].contains(&b'\n'));
                    self.add(&batch, &bytes);
                }
                Change::Restarted(file) => {
                    *self.known.get_mut(&file.path).unwrap() = Known::default();
                }
                Change::Moved { from, to } => {
                    let known = self.known.remove(&from.path).unwrap();
                    assert!(self.known.insert(to.path.clone(), known).is_none());
                }
                Change::Removed(file) => {
                    assert!(self.known.remove(&file.path).is_some());
                }
                Change::File(_) | Change::FileRemoved(_) | Change::Announcements => {
                    panic!("nobody announced anything, and logs are followed only")
                }
            }
        }
    }

    /// No line twice, none missed: each piece begins where the one before has ended. Who
    /// comes now and reads the same has the same generation and the same chain.
    fn add(&mut self, batch: &Batch, bytes: &[u8]) {
        let known = self.known.get_mut(&batch.file.path).unwrap();
        assert_eq!(batch.range.start, known.bytes.len() as u64, "{}", batch.file.path.display());
        known.bytes.extend_from_slice(bytes);
        assert_eq!(batch.range.end, known.bytes.len() as u64);
        assert_eq!(Some(batch.generation), GenerationId::of(&known.bytes));
        known.chain = (batch.cursor.covers_from() == 0).then(|| batch.cursor.chain());
    }

    /// Takes everything, and compares it with what is there.
    fn compare(&mut self) {
        loop {
            let changes = self.follower().look();
            if changes.is_empty() {
                break;
            }
            self.learn(changes);
        }
        let mut there = BTreeMap::new();
        for project in 0..PROJECTS.len() {
            for session in 0..SESSIONS.len() {
                for agent in [None, Some(0), Some(1)] {
                    let path = Log { project, session, agent }.path(self.folder.path());
                    let Ok(mut bytes) = fs::read(&path) else { continue };
                    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
                    bytes.truncate(end);
                    there.insert(path, bytes);
                }
            }
        }
        let known: BTreeMap<PathBuf, Vec<u8>> =
            self.known.iter().map(|(path, known)| (path.clone(), known.bytes.clone())).collect();
        let names = |map: &BTreeMap<PathBuf, Vec<u8>>| map.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&known), names(&there));
        for (path, bytes) in &there {
            assert!(known[path] == *bytes, "{} differs", path.display());
            let (chain, mut cursor) = (self.known[path].chain, start_of(path));
            if chain.is_some() {
                let file = fs::File::open(path).unwrap().into_parts().0;
                while let Advance::Grown(_) = cursor.advance(&file, ReadLimits::default()).unwrap()
                {
                }
                assert_eq!(chain, Some(cursor.chain()), "{}", path.display());
            }
        }
    }
}

fn start_of(path: &Path) -> Cursor {
    Cursor::start(&fs::metadata(path).unwrap())
}

fn make_parent(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
}

fn put(path: &Path, bytes: &[u8]) {
    make_parent(path);
    fs::write(path, bytes).unwrap();
}

fn append(path: &Path, bytes: &[u8]) {
    use std::io::Write;
    make_parent(path);
    let mut file = fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

fn patch(path: &Path, at: usize, is_at_end: bool) {
    let Ok(bytes) = fs::read(path) else { return };
    if at >= bytes.len() {
        return;
    }
    let at = if is_at_end { bytes.len() - 1 - at } else { at };
    let file = std::fs::File::options().write(true).open(path).unwrap();
    std::os::unix::fs::FileExt::write_at(&file, &[bytes[at] ^ 1], at as u64).unwrap();
}

/// How many programs are tried.
fn programs() -> u32 {
    let asked = std::env::var("RECTO_FUZZ_ITERATIONS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(150)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: programs(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_to_the_files_their_lines_are_handed_out_once(
        before in proptest::collection::vec((log(), content()), 0..4),
        is_from_the_end in any::<bool>(),
        actions in proptest::collection::vec(action(), 0..50),
    ) {
        let start = if is_from_the_end { FollowStart::End } else { FollowStart::Beginning };
        let mut world = World::new(&before, start);
        for action in &actions {
            world.act(action);
        }
        world.compare();
        world.act(&Action::Restart);
        world.compare();
    }
}
