//! Random operations, undone and redone in any order, against a model in memory.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use fs_err as fs;
use proptest::prelude::*;

use super::*;
use crate::DataDirectory;
use crate::Home;
use crate::StoreError;

const NAMES: [&str; 4] = ["a.jsonl", "b.jsonl", "d/c", "d/e"];

/// What a command does to one file.
#[derive(Debug, Clone, Copy)]
enum Edit {
    Put(u8),
    Remove,
}

#[derive(Debug, Clone)]
enum Action {
    /// A transaction; the last part says whether it is committed.
    Edit(Vec<(usize, Edit)>, bool),
    /// Undo or redo; the number says which operation, or the default.
    Undo(Option<usize>),
    Redo(Option<usize>),
    /// Another program adds to a file.
    Append(usize),
}

fn action() -> impl Strategy<Value = Action> {
    let edit = prop_oneof![3 => (0u8..5).prop_map(Edit::Put), 1 => Just(Edit::Remove)];
    let edits = proptest::collection::vec((0..NAMES.len(), edit), 1..4);
    prop_oneof![
        6 => (edits, proptest::bool::weighted(0.9)).prop_map(|(edits, is_committed)| Action::Edit(edits, is_committed)),
        4 => proptest::option::weighted(0.3, 0usize..6).prop_map(Action::Undo),
        3 => proptest::option::weighted(0.3, 0usize..6).prop_map(Action::Redo),
        1 => (0..NAMES.len()).prop_map(Action::Append),
    ]
}

type File = (Vec<u8>, SystemTime);
type Files = BTreeMap<&'static str, File>;

/// An operation of the model: each file before and after.
struct Done {
    changes: Vec<(&'static str, Option<File>, Option<File>)>,
    is_undone: bool,
    sequence: usize,
}

fn read(root: &Path) -> Files {
    let mut files = Files::new();
    for name in NAMES {
        let path = root.join(name);
        if let Ok(bytes) = fs::read(&path) {
            files.insert(name, (bytes, fs::metadata(&path).unwrap().modified().unwrap()));
        }
    }
    files
}

struct World {
    _folder: tempfile::TempDir,
    home: Home,
    journal: Journal,
    done: Vec<Done>,
    changes: usize,
}

impl World {
    fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("home")).unwrap();
        let home = Home::open(folder.path().join("home")).unwrap();
        let journal =
            Journal::open(&DataDirectory::new(folder.path().join("data")), &home).unwrap();
        World { _folder: folder, home, journal, done: Vec::new(), changes: 0 }
    }

    fn edit(&mut self, edits: &[(usize, Edit)], is_committed: bool) -> Result<(), StoreError> {
        let before = read(self.home.real_root());
        let edits: BTreeMap<usize, Edit> = edits.iter().copied().collect();
        let intent = Intent {
            home: &self.home,
            name: "edit",
            arguments: Vec::new(),
            time: "2026-11-16T12:00:00Z".parse().unwrap(),
            source: None,
            result: None,
        };
        let root = self.home.real_root().to_owned();
        let mut transaction = self.journal.begin(intent)?;
        let mut touched = Vec::new();
        for (at, edit) in edits {
            let path = root.join(NAMES[at]);
            let exists = before.contains_key(NAMES[at]);
            let text = |number: u8| vec![b'a' + number; 10 + usize::from(number)];
            match edit {
                Edit::Put(number) if exists => {
                    let expected = FileIdentity::of(&path)?;
                    transaction
                        .replace(&path, &expected, |out| Ok(out.write_all(&text(number))?))?;
                }
                Edit::Put(number) => {
                    if NAMES[at].starts_with("d/") {
                        transaction.create_directory(&root.join("d"))?;
                    }
                    transaction.create(&path, |out| Ok(out.write_all(&text(number))?))?;
                }
                Edit::Remove if exists => {
                    transaction.remove(&path, &FileIdentity::of(&path)?)?;
                    if NAMES[at].starts_with("d/") {
                        transaction.remove_directory(&root.join("d"))?;
                    }
                }
                Edit::Remove => continue,
            }
            touched.push(NAMES[at]);
        }
        if touched.is_empty() || !is_committed {
            drop(transaction);
            assert_eq!(read(&root), before);
            return Ok(());
        }
        transaction.commit()?;
        let after = read(&root);
        let changes = touched
            .into_iter()
            .map(|name| (name, before.get(name).cloned(), after.get(name).cloned()))
            .collect();
        self.changes += 1;
        self.done.push(Done { changes, is_undone: false, sequence: self.changes });
        Ok(())
    }

    /// Undoes or redoes, and compares with what the model says.
    fn reverse(&mut self, which: Option<usize>, direction: Direction) {
        let wants_undone = direction == Direction::Redo;
        let candidates =
            self.done.iter().enumerate().filter(|(_, done)| done.is_undone == wants_undone);
        let chosen = match (which, direction) {
            (Some(at), _) => candidates.map(|(at, _)| at).find(|found| *found == at),
            (None, Direction::Undo) => candidates.map(|(at, _)| at).next_back(),
            (None, Direction::Redo) => {
                candidates.max_by_key(|(_, done)| done.sequence).map(|(at, _)| at)
            }
        };
        let root = self.home.real_root().to_owned();
        let before = read(&root);
        let id = which.map(|at| (at + 1).to_string().parse().unwrap());
        let result = match direction {
            Direction::Undo => self.journal.undo(&self.home, id, Changed::Refuse),
            Direction::Redo => self.journal.redo(&self.home, id),
        };
        let ends = |change: &(&'static str, Option<File>, Option<File>)| match direction {
            Direction::Undo => (change.2.clone(), change.1.clone()),
            Direction::Redo => (change.1.clone(), change.2.clone()),
        };
        let is_possible = chosen.is_some_and(|at| {
            self.done[at].changes.iter().all(|change| {
                let bytes = |file: Option<&File>| file.map(|file| file.0.clone());
                bytes(before.get(change.0)) == bytes(ends(change).0.as_ref())
            })
        });
        assert_eq!(result.is_ok(), is_possible, "{result:?}");
        let mut expected = before;
        if let Some(at) = chosen.filter(|_| is_possible) {
            for change in &self.done[at].changes {
                match ends(change).1 {
                    Some(file) => expected.insert(change.0, file),
                    None => expected.remove(change.0),
                };
            }
            self.changes += 1;
            self.done[at].is_undone = direction == Direction::Undo;
            self.done[at].sequence = self.changes;
        }
        assert_eq!(read(&root), expected);
    }
}

#[test]
fn a_folder_that_a_later_operation_removed_is_made_again() {
    let mut world = World::new();
    world.edit(&[(3, Edit::Put(0))], true).unwrap();
    world.edit(&[(2, Edit::Put(0))], true).unwrap();
    world.reverse(None, Direction::Undo);
    world.edit(&[(3, Edit::Remove)], true).unwrap();
    let folder = world.home.real_root().join("d");
    assert!(!folder.exists());
    world.reverse(None, Direction::Redo);
    assert!(folder.join("c").exists());
    world.reverse(Some(1), Direction::Undo);
    assert!(!folder.exists(), "it goes with what it was made for");
    // The removal that is undone brings its folder back, and takes it away again.
    world.reverse(Some(2), Direction::Undo);
    assert!(folder.join("e").exists());
    world.reverse(Some(2), Direction::Redo);
    assert!(!folder.exists());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_undo_and_redo_gives_the_bytes_and_times_that_were(
        actions in proptest::collection::vec(action(), 1..24)
    ) {
        let mut world = World::new();
        for action in actions {
            match action {
                Action::Edit(edits, is_committed) => world.edit(&edits, is_committed).unwrap(),
                Action::Undo(which) => world.reverse(which, Direction::Undo),
                Action::Redo(which) => world.reverse(which, Direction::Redo),
                Action::Append(at) => {
                    let path = world.home.real_root().join(NAMES[at]);
                    if path.is_file() {
                        let mut bytes = fs::read(&path).unwrap();
                        bytes.extend(b"more");
                        fs::write(&path, bytes).unwrap();
                    }
                }
            }
            // No staged file is left over.
            let root = world.home.real_root();
            for directory in [root.to_owned(), root.join("d")] {
                let entries = fs::read_dir(directory).into_iter().flatten();
                for entry in entries {
                    let name = entry.unwrap().file_name().into_string().unwrap();
                    prop_assert!(!name.starts_with(".recto"), "{}", name);
                }
            }
        }
    }
}
