//! Random edits of recorded sessions, published and taken back.
//!
//! `RECTO_FUZZ_ITERATIONS` is how many are tried, `RECTO_FUZZ_SEED` starts somewhere
//! else; a failure names the log and the edit.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use fs_err as fs;
use recto_log::Lines;
use recto_log::decode;
use recto_session::edit::CompressOptions;
use recto_session::edit::EditError as PlanError;
use recto_session::edit::ForkPoint;
use recto_session::edit::OldLines;
use recto_session::edit::ResultAction;
use recto_session::edit::ResultPolicy;
use recto_session::edit::StripOptions;
use recto_session::edit::SummaryText;
use recto_session::edit::ToolDetail;
use recto_session::edit::TrimOptions;
use recto_session::edit::compress;
use recto_session::edit::fork;
use recto_session::edit::repair::Clients;
use recto_session::edit::repair::RepairOptions;
use recto_session::edit::repair::repair;
use recto_session::edit::strip;
use recto_session::edit::trim;
use recto_session::health::health;
use recto_session::request::Generation;
use recto_session::request::Outcome;
use recto_session::request::Sent;
use recto_session::request::reach;
use recto_session::turns;
use recto_testkit::Recording;
use recto_testkit::recordings;
use recto_testkit::tree;
use tempfile::TempDir;

use super::*;
use crate::DataDirectory;
use crate::publish::Changed;
use crate::publish::Intent;
use crate::publish::Journal;

/// How many edits are made when nothing is said.
const ITERATIONS: u64 = 200;

/// A small generator of numbers that gives the same ones each time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % limit
    }

    fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }

    fn number(&mut self, limit: usize) -> u32 {
        u32::try_from(self.below(limit)).unwrap()
    }
}

fn setting(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(to, fs::read(from).unwrap()).unwrap();
    }
}

/// What is wrong with lines, by kind.
fn problems(log: &[u8]) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for problem in Lines::new(log).flat_map(|line| decode(line).1) {
        *counts.entry(problem.kind.name()).or_default() += 1;
    }
    counts
}

/// What a client brings back, and what it loses, in lines.
#[derive(Debug)]
struct Reached {
    sent: usize,
    lost: u64,
}

/// What clients of each generation bring back, but for some lines; nothing for those
/// that do not resume it.
fn reached(session: &Session, but_for: &HashSet<EntryUuid>) -> Vec<Option<Reached>> {
    let summaries = health(session, Generation::ALL.as_slice(), &|_| None).reaches;
    let of = |generation: &Generation, lost: u64| {
        let reach = reach(session, *generation);
        let sent = reach.sent.iter().filter(|sent| match sent {
            Sent::Line(line) => {
                let node = session.node(line.node);
                node.is_spoken() && !but_for.contains(&node.uuid())
            }
            Sent::Added(_) => false,
        });
        (reach.outcome == Outcome::Resumed).then_some(Reached { sent: sent.count(), lost })
    };
    let summaries = Generation::ALL.iter().zip(summaries);
    summaries.map(|(generation, summary)| of(generation, summary.lost.lines)).collect()
}

/// A home with a recorded session, and the journal of its edits.
struct World {
    name: String,
    _folder: TempDir,
    home: Home,
    journal: Journal,
    log: PathBuf,
}

impl World {
    fn new(recording: &Recording) -> World {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("home");
        fs::create_dir(&root).unwrap();
        if let Some(recorded) = &recording.home {
            copy(recorded, &root);
        }
        let log = root.join(&recording.place);
        copy(&recording.log, &log);
        let home = Home::open(&root).unwrap();
        let data = DataDirectory::new(folder.path().join("data"));
        World {
            name: recording.name.clone(),
            journal: Journal::open(&data, &home).unwrap(),
            home,
            _folder: folder,
            log,
        }
    }

    /// Makes a random edit, looks at the result, and takes it back. Nothing if there
    /// was nothing to do.
    fn edit(&mut self, random: &mut Random) -> Option<&'static str> {
        let before = tree(self.home.real_root());
        let inventory = self.home.inventory();
        let session = inventory.sessions.iter().find(|session| session.path == self.log)?;
        let opened = OpenedLog::read(&self.log).unwrap();
        let (name, draft, removed) = planned(random, &opened, session)?;
        let what = format!("{}: {name}", self.name);
        let is_in_place = random.one_in(2) && !draft.is_unchanged();
        let mut edit = if is_in_place {
            Edit::in_place(&opened, draft, &self.log)
        } else {
            let new = NewSession {
                id: new_session_id(),
                project: self.log.parent().unwrap().to_owned(),
                title: Some("Another".into()),
                uuids: if random.one_in(2) { Uuids::New } else { Uuids::Keep },
                moved: None,
            };
            Edit::new_session(&self.home, &inventory, session, &opened, draft, new).unwrap()
        };
        if let Some(removed) = removed {
            edit.removed = removed;
        }
        let mut transaction = self
            .journal
            .begin(Intent {
                home: &self.home,
                name,
                arguments: Vec::new(),
                time: "2026-11-16T12:00:00Z".parse().unwrap(),
                source: Some(session.id),
                result: None,
            })
            .unwrap();
        edit.stage(&mut transaction).unwrap_or_else(|error| panic!("{what}: {error}"));
        transaction.commit().unwrap();
        let result = edit.destination.path();
        let after = tree(self.home.real_root());
        let inside = |path: &Path| path.strip_prefix(self.home.real_root()).unwrap().to_owned();
        for (path, file) in &before {
            let may_change = is_in_place && *path == inside(&self.log);
            assert!(
                may_change || after.get(path) == Some(file),
                "{what}: {} changed",
                path.display()
            );
        }
        let (old, new) = (&before[&inside(&self.log)].0, &after[&inside(&result)].0);
        let (problems_before, problems_after) = (problems(old), problems(new));
        for (kind, count) in &problems_after {
            assert!(problems_before.get(kind) >= Some(count), "{what}: new problem {kind}");
        }
        let written = OpenedLog::read(&result).unwrap();
        let reaches = reached(opened.session(), &edit.removed).into_iter();
        let reaches = reaches.zip(reached(written.session(), &HashSet::new()));
        for (generation, (before, after)) in Generation::ALL.iter().zip(reaches) {
            // Of a damaged log, an old client may have seen only what was to go.
            let Some(before) = before.filter(|before| before.sent > 0) else { continue };
            let is_good = after.as_ref().is_some_and(|after| {
                // A client that finds more, or another branch, can lose more of it; and
                // a repair can find out that more was lost than was seen.
                let is_other = after.sent > before.sent || name == "repair";
                after.sent >= before.sent && (is_other || after.lost <= before.lost)
            });
            assert!(is_good, "{what}: {generation}: {before:?}, then {after:?}");
        }
        self.journal.undo(&self.home, None, Changed::Refuse).unwrap();
        assert!(tree(self.home.real_root()) == before, "{what}: undone, it is not as it was");
        if random.one_in(4) {
            self.journal.redo(&self.home, None).unwrap();
            assert!(tree(self.home.real_root()) == after, "{what}: done again, it is another");
            self.journal.undo(&self.home, None, Changed::Refuse).unwrap();
            assert!(tree(self.home.real_root()) == before, "{what}: undone again, it is another");
        }
        Some(name)
    }
}

type Planned<'m> = (&'static str, Draft<'m>, Option<HashSet<EntryUuid>>);

/// A random edit; nothing if it has nothing to do or says that it cannot be done.
fn planned<'m>(
    random: &mut Random,
    opened: &'m OpenedLog,
    session: &SessionFile,
) -> Option<Planned<'m>> {
    let manuscript = &opened.manuscript;
    let turns = u32::try_from(turns(opened.session()).len()).unwrap();
    let turn = 1 + random.number(turns.max(1) as usize);
    let action = [ResultAction::Note, ResultAction::DropPair][random.below(2)];
    let plan = match random.below(6) {
        0 => {
            let results = ResultPolicy { action, ..ResultPolicy::default() };
            let options = TrimOptions {
                results: random.one_in(2).then_some(results),
                images: random.one_in(2),
                attachments: random.one_in(2),
                keep_last: random.number(3),
                to_tokens: random.one_in(2).then(|| u64::from(random.number(4000))),
                source: "1111".into(),
            };
            trim(manuscript, &options, opened).map(|plan| ("trim", plan))
        }
        1 => {
            let options = StripOptions {
                thinking: random.one_in(2),
                tools: random.one_in(2).then(Vec::new),
                meta: random.one_in(3),
                turns: (turns > 0 && random.one_in(3)).then_some(turn..=turn),
            };
            strip(manuscript, &options, opened).map(|plan| ("strip", plan))
        }
        2 => {
            let options = CompressOptions {
                before: turn,
                summary: SummaryText::Made(ToolDetail::Counts),
                old: [OldLines::Keep, OldLines::Drop][random.below(2)],
                seed: new_session_id(),
                source: "1111".into(),
            };
            compress(manuscript, &options, opened).map(|plan| ("compress", plan))
        }
        3 => {
            let (mut draft, leaf) = possible(fork(manuscript, &ForkPoint::Turn(turn)))?;
            draft.settle_leaf(leaf, Some(session.id), "a prompt");
            return Some(("fork", draft, None));
        }
        4 => {
            let options = RepairOptions {
                only: None,
                except: BTreeSet::new(),
                clients: [Clients::Writer, Clients::All][random.below(2)],
                own: session.id,
                written: session.modified(),
                elsewhere: &|_| None,
            };
            let repair = possible(repair(manuscript, &options, opened))?;
            return (!repair.draft.is_unchanged()).then_some(("repair", repair.draft, None));
        }
        _ => return Some(("clone", Draft::new(manuscript), None)),
    };
    let (name, plan) = possible(plan)?;
    Some((name, plan.draft, Some(plan.removed)))
}

fn possible<T>(plan: Result<T, PlanError>) -> Option<T> {
    match plan {
        Ok(plan) => Some(plan),
        Err(
            PlanError::NothingToDo
            | PlanError::NothingLeft
            | PlanError::NoConversation
            | PlanError::NoTurn { .. }
            | PlanError::NotCurrent { .. }
            | PlanError::NeedsRepair { .. },
        ) => None,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn random_edits_are_published_whole_and_taken_back_to_the_byte() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/corpus");
    let recordings = recordings(&corpus);
    let iterations = setting("RECTO_FUZZ_ITERATIONS", ITERATIONS);
    let mut random = Random(setting("RECTO_FUZZ_SEED", 1));
    let mut made: BTreeMap<&str, u64> = BTreeMap::new();
    let mut count = 0;
    let mut tried = 0;
    // A home is for a few edits, as long as its journal is short.
    while count < iterations {
        let mut world = World::new(&recordings[random.below(recordings.len())]);
        for _ in 0..20 {
            tried += 1;
            if let Some(name) = world.edit(&mut random) {
                *made.entry(name).or_default() += 1;
                count += 1;
            }
        }
        assert!(
            tried < iterations * 10 + 1000,
            "only {made:?} of {tried} edits had something to do"
        );
    }
    assert_eq!(made.len(), 6, "{made:?}");
}
