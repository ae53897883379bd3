//! Random lives of files: whatever happens to them, what was seen is kept.

use std::collections::BTreeMap;
use std::path::Path;

use fs_err as fs;
use proptest::prelude::*;

use super::keep_tests::World;
use super::*;

/// What can happen.
#[derive(Debug, Clone)]
enum Action {
    /// A client appends, sometimes with its last line torn.
    Append {
        file: usize,
        lines: u8,
        is_torn: bool,
    },
    /// The file is cut at a line.
    Truncate {
        file: usize,
        keep: u8,
    },
    /// Another file takes its name, with the same beginning or another one.
    Rewrite {
        file: usize,
        same_beginning: bool,
    },
    Delete {
        file: usize,
    },
    /// It moves to another project, and back.
    Rename {
        file: usize,
    },
    /// Its project is copied: the same session is in two projects, and each goes on.
    Copy {
        file: usize,
    },
    Collect,
    /// The collector forgets everything.
    Forget,
    /// It was killed before it remembered what it had put into the archive.
    Kill,
    Merge,
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let file = 0..2 * FILES;
    let action = prop_oneof![
        6 => (file.clone(), 1..5u8, any::<bool>())
            .prop_map(|(file, lines, is_torn)| Action::Append { file, lines, is_torn }),
        1 => (file.clone(), 0..4u8).prop_map(|(file, keep)| Action::Truncate { file, keep }),
        1 => (file.clone(), any::<bool>())
            .prop_map(|(file, same_beginning)| Action::Rewrite { file, same_beginning }),
        1 => file.clone().prop_map(|file| Action::Delete { file }),
        1 => file.prop_map(|file| Action::Rename { file }),
        1 => (0..FILES).prop_map(|file| Action::Copy { file }),
        5 => Just(Action::Collect),
        1 => Just(Action::Forget),
        1 => Just(Action::Kill),
        1 => Just(Action::Merge),
    ];
    prop::collection::vec(action, 1..40)
}

/// How many sessions there are. The files behind have the same names in other projects.
const FILES: usize = 3;

/// The files as they should be.
struct Model {
    world: World,
    /// Path and content of those that exist.
    files: BTreeMap<usize, (String, Vec<u8>)>,
    /// The last content of each that a collector saw.
    seen: BTreeMap<usize, (String, Vec<u8>)>,
    lines: u64,
}

fn name(file: usize, project: &str) -> String {
    let session = file % FILES;
    format!("projects/{project}/0000000{session}-0000-4000-8000-000000000000.jsonl")
}

/// The two projects that a file is in by turns.
fn projects_of(file: usize) -> [&'static str; 2] {
    if file < FILES { ["-a", "-b"] } else { ["-c", "-d"] }
}

impl Model {
    fn new() -> Model {
        let world = World::new();
        // So that there is something to forget.
        world.collect();
        Model { world, files: BTreeMap::new(), seen: BTreeMap::new(), lines: 0 }
    }

    fn line(&mut self) -> Vec<u8> {
        self.lines += 1;
        format!("{{\"n\":{}}}\n", self.lines).into_bytes()
    }

    fn write(&self, file: usize) {
        let (path, content) = &self.files[&file];
        self.world.home.write(path, content);
    }

    fn apply(&mut self, action: &Action) {
        match action {
            Action::Append { file, lines, is_torn } => {
                let mut added = Vec::new();
                for _ in 0..*lines {
                    added.extend(self.line());
                }
                if *is_torn {
                    added.pop();
                }
                let entry = self
                    .files
                    .entry(*file)
                    .or_insert((name(*file, projects_of(*file)[0]), Vec::new()));
                entry.1.extend(added);
                self.write(*file);
            }
            Action::Truncate { file, keep } => {
                let Some((_, content)) = self.files.get_mut(file) else { return };
                let ends = memchr::memchr_iter(b'\n', content).map(|end| end + 1);
                let end = ends.take(usize::from(*keep)).last().unwrap_or(0);
                content.truncate(end);
                self.write(*file);
            }
            Action::Rewrite { file, same_beginning } => {
                let new = self.line();
                let Some((path, content)) = self.files.get_mut(file) else { return };
                let end = memchr::memchr(b'\n', content).map_or(0, |end| end + 1);
                content.truncate(if *same_beginning { end } else { 0 });
                content.extend(new);
                fs::remove_file(self.world.home.path().join(path)).unwrap();
                self.write(*file);
            }
            Action::Delete { file } => {
                if let Some((path, _)) = self.files.remove(file) {
                    fs::remove_file(self.world.home.path().join(path)).unwrap();
                }
            }
            Action::Rename { file } => {
                let Some((path, _)) = self.files.get_mut(file) else { return };
                let [one, other] = projects_of(*file).map(|project| name(*file, project));
                let new = if *path == one { other } else { one };
                let root = self.world.home.path();
                fs::create_dir_all(root.join(&new).parent().unwrap()).unwrap();
                fs::rename(root.join(&path), root.join(&new)).unwrap();
                *path = new;
            }
            Action::Copy { file } => {
                let Some((_, content)) = self.files.get(file).cloned() else { return };
                let copy = file + FILES;
                let place = name(copy, projects_of(copy)[0]);
                self.files.entry(copy).or_insert((place, Vec::new())).1 = content;
                self.write(copy);
            }
            Action::Collect => self.collect(),
            Action::Forget => self.world.forget_if_any(),
            Action::Kill => {
                let saved = self.world.saved_state();
                self.collect();
                self.world.put_state_back(saved);
            }
            Action::Merge => {
                merge(&self.world.archive(), &|_, _| {}).unwrap();
            }
        }
    }

    fn collect(&mut self) {
        self.world.collect();
        for (file, seen) in &self.files {
            if !seen.1.is_empty() {
                self.seen.insert(*file, seen.clone());
            } else if let Some(last) = self.seen.get_mut(file) {
                // An empty file has nothing to keep, but it has a place.
                last.0.clone_from(&seen.0);
            }
        }
    }

    /// Everything that was seen last is kept, to the byte, and nothing twice.
    fn check(&self) {
        let archive = self.world.archive();
        let mut catalog = Catalog::read(&archive).unwrap();
        for (file, (path, content)) in &self.seen {
            let kept = catalog.files.iter().find(|kept| kept.path == *path);
            let Some(kept) = kept else {
                // Where one file is gone and the other begins with all of it, it was moved.
                let is_moved = !self.files.contains_key(file)
                    && is_within(&archive, &mut catalog, path, content);
                assert!(is_moved, "{path} of {file} is not kept");
                continue;
            };
            let mut bytes = Vec::new();
            let (_, missing) = kept.write_to(&archive, None, &mut bytes).unwrap();
            assert_eq!(missing.problems.len(), 0, "{:?}", missing.problems);
            // Not the other way round: who forgot a file does not miss it.
            assert!(kept.gone.is_none() || !self.files.contains_key(file), "{path} is not gone");
            assert_eq!(String::from_utf8_lossy(&bytes), String::from_utf8_lossy(content), "{path}");
            for life in kept.lives.ids() {
                let ranges = kept.lives.segments(life);
                let sum: u64 = ranges.iter().map(|range| range.end - range.start).sum();
                assert_eq!(sum, kept.lives.cover(life).1, "{path} {life}: {ranges:?}");
            }
        }
    }
}

/// Whether another file of the same name once began with these lines.
fn is_within(archive: &Archive, catalog: &mut Catalog, path: &str, content: &[u8]) -> bool {
    let lines = &content[..memchr::memrchr(b'\n', content).map_or(0, |end| end + 1)];
    let name = Path::new(path).file_name();
    let same_name = |kept: &&mut KeptFile| Path::new(&kept.path).file_name() == name;
    catalog.files.iter_mut().filter(same_name).any(|kept| {
        let (life, torn) = (kept.life, kept.torn.take());
        let found = kept.lives.ids().collect::<Vec<_>>().into_iter().any(|life| {
            kept.life = Some(life);
            let mut bytes = Vec::new();
            kept.write_to(archive, None, &mut bytes).unwrap();
            bytes.starts_with(lines)
        });
        (kept.life, kept.torn) = (life, torn);
        found || lines.is_empty()
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: recto_testkit::fuzz::variable("RECTO_FUZZ_ITERATIONS", 64) as u32,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn whatever_happens_to_files_what_was_seen_last_is_kept_once(actions in actions()) {
        let mut model = Model::new();
        for action in &actions {
            model.apply(action);
        }
        model.collect();
        model.check();
        let report = model.world.verify();
        prop_assert!(report.is_sound(), "{report:?}");
    }
}

/// A collector that was killed before it remembered a move, and the move was taken back: the
/// archive names the place between, and only the file itself says otherwise.
#[test]
fn a_move_that_a_killed_collector_saw_and_that_was_taken_back_is_noted() {
    for is_torn in [false, true] {
        let mut model = Model::new();
        for action in [
            Action::Append { file: 0, lines: 2, is_torn },
            Action::Collect,
            Action::Rename { file: 0 },
            Action::Kill,
            Action::Rename { file: 0 },
            Action::Collect,
        ] {
            model.apply(&action);
        }
        model.check();
    }
}
