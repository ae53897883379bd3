//! What is collected comes back, whatever happened in between.

use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;
use std::time::SystemTime;

use fs_err as fs;
use jiff::Timestamp;
use recto_testkit::FakeHome;
use tempfile::TempDir;

use super::*;
use crate::DataDirectory;
use crate::Home;
use crate::follow::FileKind;
use crate::publish::Intent;
use crate::publish::Journal;

pub(super) const ID: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";

/// A home, an archive, and what a collector remembers.
pub(super) struct World {
    pub(super) home: FakeHome,
    pub(super) data: TempDir,
    pub(super) options: CollectOptions,
}

impl World {
    pub(super) fn new() -> World {
        let options = CollectOptions { torn_after: Duration::ZERO, ..CollectOptions::default() };
        World { home: FakeHome::new(), data: tempfile::tempdir().unwrap(), options }
    }

    pub(super) fn home(&self) -> Home {
        Home::open(self.home.path()).unwrap()
    }

    fn data(&self) -> DataDirectory {
        DataDirectory::new(self.data.path().join("data"))
    }

    pub(super) fn root(&self) -> PathBuf {
        self.data.path().join("archive")
    }

    pub(super) fn collect(&self) -> CollectReport {
        self.collect_beside("data")
    }

    /// A collector that remembers things in a place of its own.
    pub(super) fn collect_beside(&self, data: &str) -> CollectReport {
        let (home, data) = (self.home(), DataDirectory::new(self.data.path().join(data)));
        let mut collector =
            Collector::open(&home, &data, &self.root(), self.options.clone()).unwrap();
        let report = collector.collect(&mut |_| {}).unwrap();
        assert_eq!(report.troubles, []);
        report
    }

    /// What the collector remembers is lost; the archive is not.
    pub(super) fn forget(&self) {
        fs::remove_dir_all(self.data().root().join("collect")).unwrap();
    }

    pub(super) fn forget_if_any(&self) {
        let _ = fs::remove_dir_all(self.data().root().join("collect"));
    }

    /// What the collector remembers now.
    pub(super) fn saved_state(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let Ok(entries) = fs::read_dir(self.data().root().join("collect")) else {
            return Vec::new();
        };
        let read = |path: PathBuf| (path.clone(), fs::read(path).unwrap());
        entries.map(|entry| read(entry.unwrap().path())).collect()
    }

    pub(super) fn put_state_back(&self, saved: Vec<(PathBuf, Vec<u8>)>) {
        self.forget_if_any();
        for (path, bytes) in saved {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }

    pub(super) fn archive(&self) -> Archive {
        Archive::open(self.root(), MachineId::of(&self.home())).unwrap()
    }

    fn path(&self, below: &str) -> PathBuf {
        self.home.path().join(below)
    }

    pub(super) fn read(&self, below: &str) -> Vec<u8> {
        fs::read(self.path(below)).unwrap()
    }

    /// The bytes of a file in the archive.
    pub(super) fn kept(&self, below: &str, at: Option<Timestamp>) -> Option<Vec<u8>> {
        let archive = self.archive();
        let catalog = Catalog::read(&archive).unwrap();
        let file = catalog.files.iter().find(|file| file.path == below)?;
        let mut bytes = Vec::new();
        let (_, missing) = file.write_to(&archive, at, &mut bytes).unwrap();
        assert_eq!(missing.problems.len(), 0, "{:?}", missing.problems);
        Some(bytes)
    }

    pub(super) fn verify(&self) -> VerifyReport {
        let kinds = &self.options.kinds;
        VerifyReport::of(&self.archive(), &self.home(), kinds, &mut |_| {}).unwrap()
    }

    pub(super) fn restore(&self, options: RestoreOptions) -> Vec<(String, &'static str)> {
        let (archive, home) = (self.archive(), self.home());
        let catalog = Catalog::read(&archive).unwrap();
        let plan = Restoration::plan(&archive, &home, &catalog.files, options).unwrap();
        let mut journal = Journal::open(&self.data(), &home).unwrap();
        let mut transaction = journal
            .begin(Intent {
                home: &home,
                name: "restore",
                arguments: Vec::new(),
                time: Timestamp::now(),
                source: None,
                result: None,
            })
            .unwrap();
        plan.stage(&mut transaction).unwrap();
        transaction.commit().unwrap();
        plan.files.iter().map(|file| (file.below.clone(), file.verdict.name())).collect()
    }
}

fn log() -> String {
    format!("projects/-w/{ID}.jsonl")
}

fn line(text: &str, time: &str) -> String {
    format!("{{\"type\":\"user\",\"timestamp\":\"{time}\",\"text\":\"{text}\"}}\n")
}

/// A file of every kind that is kept.
fn all_kinds() -> Vec<(FileKind, String)> {
    let folder = format!("projects/-w/{ID}");
    vec![
        (FileKind::MainLog, log()),
        (FileKind::AgentLog, format!("{folder}/subagents/agent-a1.jsonl")),
        (FileKind::AgentLog, "projects/-w/agent-0a1b2c3d.jsonl".to_owned()),
        (FileKind::AgentMeta, format!("{folder}/subagents/agent-a1.meta.json")),
        (FileKind::ToolResult, format!("{folder}/tool-results/b1234abcd.txt")),
        (FileKind::SessionTitle, format!("{folder}/custom-title.json")),
        (FileKind::SessionsIndex, "projects/-w/sessions-index.json".to_owned()),
        (FileKind::Memory, "projects/-w/memory/topics/build.md".to_owned()),
        (FileKind::History, "history.jsonl".to_owned()),
        (FileKind::StatsCache, "stats-cache.json".to_owned()),
        (FileKind::Todo, format!("todos/{ID}-agent-{ID}.json")),
        (FileKind::Task, format!("tasks/{ID}/1.json")),
        (FileKind::Plan, "plans/a-plan.md".to_owned()),
        (FileKind::FileHistory, format!("file-history/{ID}/0123456789abcdef@v1")),
    ]
}

#[test]
fn a_file_of_every_kind_is_kept_and_comes_back_with_its_bytes_and_its_time() {
    let world = World::new();
    let time = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_123);
    for (at, (_, file)) in all_kinds().iter().enumerate() {
        world.home.write(file, format!("{{\"sessionId\":\"{ID}\",\"n\":{at}}}\n"));
        let open = fs::OpenOptions::new().append(true).open(world.path(file)).unwrap();
        open.file().set_modified(time).unwrap();
    }
    world.home.write(".credentials.json", "secret");
    world.home.write("sessions/12.json", "{}");
    let report = world.collect();
    assert_eq!((report.files, report.changed), (14, 14));
    assert!(world.verify().is_sound());
    let before: Vec<_> = all_kinds().iter().map(|(_, file)| world.read(file)).collect();
    for entry in ["projects", "todos", "tasks", "plans", "file-history"] {
        fs::remove_dir_all(world.path(entry)).unwrap();
    }
    fs::remove_file(world.path("history.jsonl")).unwrap();
    fs::remove_file(world.path("stats-cache.json")).unwrap();
    assert_eq!(world.collect().gone, 14);

    let archive = world.archive();
    let catalog = Catalog::read(&archive).unwrap();
    assert!(catalog.files.iter().all(|file| file.gone.is_some()));
    let [session] = &catalog.sessions()[..] else { panic!("one session") };
    // Everything but the memory, the history, the plan and the two indexes.
    assert_eq!((session.id.to_string(), session.files.len()), (ID.to_owned(), 8));
    drop(archive);

    assert!(world.restore(RestoreOptions::default()).iter().all(|file| file.1 == "new"));
    for ((_, file), bytes) in all_kinds().iter().zip(before) {
        assert_eq!(world.read(file), bytes, "{file}");
        assert_eq!(fs::metadata(world.path(file)).unwrap().modified().unwrap(), time, "{file}");
    }
    assert!(world.restore(RestoreOptions::default()).iter().all(|file| file.1 == "same"));
}

#[test]
fn only_what_is_new_is_added_and_nothing_when_nothing_is() {
    let world = World::new();
    world.home.write(&log(), "one\n");
    assert_eq!(world.collect().captured.bytes, 4);
    assert_eq!(world.collect().captured, Captured::default());
    world.home.write(&log(), "one\ntwo\n");
    assert_eq!(world.collect().captured.bytes, 4);
    // A collector that remembers nothing finds what the archive has.
    world.forget();
    assert_eq!(world.collect().captured, Captured::default());
    world.home.write(&log(), "one\ntwo\nthree\n");
    world.forget();
    assert_eq!(world.collect().captured.bytes, 6);
    assert_eq!(world.kept(&log(), None).unwrap(), b"one\ntwo\nthree\n");
    assert!(world.verify().is_sound());
}

#[test]
fn a_torn_end_is_kept_and_then_its_line() {
    let world = World::new();
    world.home.write(&log(), "one\ntw");
    world.collect();
    assert_eq!(world.kept(&log(), None).unwrap(), b"one\ntw");
    world.home.write(&log(), "one\ntwo\n");
    world.collect();
    assert_eq!(world.kept(&log(), None).unwrap(), b"one\ntwo\n");
    // Nor is a file lost that never had a line.
    world.home.write("history.jsonl", "{\"disp");
    world.collect();
    assert_eq!(world.kept("history.jsonl", None).unwrap(), b"{\"disp");
}

#[test]
fn a_torn_end_that_may_still_be_written_is_left_alone() {
    let mut world = World::new();
    world.options.torn_after = Duration::from_secs(3600);
    world.home.write(&log(), "one\ntw");
    world.collect();
    assert_eq!(world.kept(&log(), None).unwrap(), b"one\n");
    world.options.torn_after = Duration::ZERO;
    world.collect();
    assert_eq!(world.kept(&log(), None).unwrap(), b"one\ntw");
}

#[test]
fn a_log_that_was_rewritten_is_kept_again_and_the_old_one_stays() {
    let world = World::new();
    let first =
        format!("{}{}", line("a", "2026-01-01T00:00:00Z"), line("b", "2026-01-01T00:00:01Z"));
    world.home.write(&log(), &first);
    world.collect();
    let between = Timestamp::now();
    std::thread::sleep(Duration::from_millis(20));
    // The same first line, another second one of the same length.
    let second =
        format!("{}{}", line("a", "2026-01-01T00:00:00Z"), line("c", "2026-01-01T00:00:01Z"));
    world.home.write(&log(), &second);
    let report = world.collect();
    assert_eq!((report.captured.lives, report.captured.conflicts), (1, 0));
    assert_eq!(world.kept(&log(), None).unwrap(), second.as_bytes());
    assert_eq!(world.kept(&log(), Some(between)).unwrap(), first.as_bytes());
    // Back to what it was, as an undo does it.
    world.home.write(&log(), &first);
    assert_eq!(world.collect().captured, Captured::default());
    assert_eq!(world.kept(&log(), None).unwrap(), first.as_bytes());
    assert!(world.verify().is_sound());
}

#[test]
fn a_log_is_given_back_as_it_was_at_a_time() {
    let world = World::new();
    let lines: Vec<String> =
        (0..4).map(|second| line("x", &format!("2026-01-01T00:00:0{second}Z"))).collect();
    world.home.write(&log(), lines.concat());
    world.collect();
    let at = |time: &str| world.kept(&log(), Some(time.parse().unwrap())).unwrap();
    assert_eq!(at("2026-01-01T00:00:01Z"), lines[..2].concat().as_bytes());
    assert_eq!(at("2026-01-01T00:00:09Z"), lines.concat().as_bytes());
    assert_eq!(at("2025-01-01T00:00:00Z"), b"");
}

#[test]
fn a_log_that_moves_to_another_project_is_not_kept_twice() {
    let world = World::new();
    world.home.write(&log(), "one\n");
    world.collect();
    let moved = format!("projects/-other/{ID}.jsonl");
    fs::create_dir_all(world.path("projects/-other")).unwrap();
    fs::rename(world.path(&log()), world.path(&moved)).unwrap();
    let report = world.collect();
    assert_eq!((report.moved, report.gone, report.captured.bytes), (1, 0, 0));
    assert_eq!(world.kept(&moved, None).unwrap(), b"one\n");
    assert_eq!(world.kept(&log(), None), None);
    world.home.write(&moved, "one\ntwo\n");
    assert_eq!(world.collect().captured.bytes, 4);
}

#[test]
fn the_inode_of_a_deleted_log_means_nothing() {
    let world = World::new();
    world.home.write(&log(), "first life, long enough\nsecond line\n");
    world.collect();
    fs::remove_file(world.path(&log())).unwrap();
    world.home.write(&log(), "another life, even longer than the first one was\n");
    world.collect();
    assert_eq!(world.kept(&log(), None).unwrap(), world.read(&log()));
}

/// As with Vector's stale inode: the offset that is remembered is behind the end of another file
/// that has the same inode, or somewhere inside it.
#[test]
fn an_offset_of_another_file_with_the_same_inode_neither_silences_nor_shifts() {
    let world = World::new();
    world.home.write(&log(), "first life, long enough\nsecond line\n");
    world.collect();
    for other in ["short\n", "a life that is longer than both of the others\nthat were before\n"] {
        // Written in place, so that the inode is the same for certain.
        fs::write(world.path(&log()), other).unwrap();
        world.collect();
        assert_eq!(world.kept(&log(), None).unwrap(), other.as_bytes());
        assert!(world.verify().is_sound());
    }
}

#[test]
fn a_log_truncated_while_nobody_looked_is_kept_from_its_beginning() {
    let world = World::new();
    world.home.write(&log(), "one\ntwo\nthree\n");
    world.collect();
    // Shorter, and then longer than before.
    world.home.write(&log(), "one\n");
    world.home.write(&log(), "one\n2222222222222\n3333333333333\n");
    world.collect();
    assert_eq!(world.kept(&log(), None).unwrap(), world.read(&log()));
}

#[test]
fn what_the_home_has_is_never_overwritten() {
    let world = World::new();
    let plan = "plans/a-plan.md";
    let agent = format!("projects/-w/{ID}/subagents/agent-a1.jsonl");
    world.home.write(&log(), "one\ntwo\n");
    world.home.write(plan, "plan");
    world.home.write(&agent, "one\ntwo\n");
    world.collect();
    world.home.write(&log(), "one\ntwo\nthree\n");
    world.home.write(plan, "another plan");
    world.home.write(&agent, "one\n");
    let mut verdicts = world.restore(RestoreOptions::default());
    verdicts.sort();
    let expected = [(plan.to_owned(), "differs"), (log(), "longer"), (agent.clone(), "completed")];
    let mut expected = expected.to_vec();
    expected.sort();
    assert_eq!(verdicts, expected);
    assert_eq!(world.read(&log()), b"one\ntwo\nthree\n");
    assert_eq!(world.read(plan), b"another plan");
    assert_eq!(world.read(&agent), b"one\ntwo\n");
}

/// All segments of an archive.
fn segments(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut waiting = vec![root.join("raw")];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => waiting.push(path),
                false => found.push(path),
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_damaged_segment_is_named_and_the_rest_is_given() {
    let world = World::new();
    for text in ["one\n", "one\ntwo\n", "one\ntwo\nthree\n"] {
        world.home.write(&log(), text);
        world.collect();
    }
    let middle = &segments(&world.root())[1];
    let mut bytes = fs::read(middle).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(middle, bytes).unwrap();
    let [KeepError::Damaged { path, .. }] = &world.verify().problems[..] else { panic!() };
    assert_eq!(path, middle);

    let given = |world: &World| {
        let archive = world.archive();
        let catalog = Catalog::read(&archive).unwrap();
        let mut bytes = Vec::new();
        let (_, missing) = catalog.files[0].write_to(&archive, None, &mut bytes).unwrap();
        (bytes, missing.problems)
    };
    let (bytes, problems) = given(&world);
    assert_eq!(bytes, b"one\nthree\n");
    assert!(matches!(&problems[..], [KeepError::Damaged { .. }]));

    fs::remove_file(middle).unwrap();
    let (bytes, problems) = given(&world);
    assert_eq!(bytes, b"one\nthree\n");
    assert!(matches!(&problems[..], [KeepError::Gap { from: 4, to: 8, .. }]), "{problems:?}");
}

#[test]
fn merged_segments_hold_the_same_bytes() {
    let world = World::new();
    let mut text = String::new();
    for number in 0..20 {
        text.push_str(&line(&number.to_string(), &format!("2026-01-01T00:00:{number:02}Z")));
        world.home.write(&log(), &text);
        world.collect();
    }
    let before = segments(&world.root()).len();
    let report = merge(&world.archive(), &|_, _| {}).unwrap();
    assert_eq!((before, report.merged, report.into), (20, 20, 1));
    assert!(report.after < report.before);
    assert_eq!(segments(&world.root()).len(), 1);
    assert_eq!(world.kept(&log(), None).unwrap(), text.as_bytes());
    assert_eq!(world.collect().captured, Captured::default());
    text.push_str("more\n");
    world.home.write(&log(), &text);
    assert_eq!(world.collect().captured.bytes, 5);
    assert_eq!(world.kept(&log(), None).unwrap(), text.as_bytes());
    assert!(world.verify().is_sound());
}

#[test]
fn a_segment_that_came_in_a_hurry_is_compressed_harder_once() {
    let world = World::new();
    let text: String =
        (0..4000).map(|n| line(&(n * n).to_string(), "2026-01-01T00:00:00Z")).collect();
    world.home.write(&log(), &text);
    world.collect();
    let report = merge(&world.archive(), &|_, _| {}).unwrap();
    assert_eq!((report.merged, report.tightened), (0, 1));
    assert!(report.after < report.before);
    assert_eq!(world.kept(&log(), None).unwrap(), text.as_bytes());
    assert!(world.verify().is_sound());
    assert_eq!(merge(&world.archive(), &|_, _| {}).unwrap(), MergeReport::default());
    assert_eq!(world.collect().captured, Captured::default());
}

#[test]
fn pruning_names_the_only_copies() {
    let world = World::new();
    world.home.write(&log(), "one\n");
    world.home.write("plans/a-plan.md", "plan");
    world.collect();
    fs::remove_file(world.path(&log())).unwrap();
    let (archive, home) = (world.archive(), world.home());
    let catalog = Catalog::read(&archive).unwrap();
    let choice = PruneChoice { before: Some(Timestamp::MAX), ..PruneChoice::default() };
    let report = PruneReport::plan(&archive, &home, &catalog, &choice).unwrap();
    assert_eq!((report.files.len(), report.only_copies), (2, 1));
    let none = PruneChoice { keep_bytes: Some(1 << 30), ..PruneChoice::default() };
    let none = PruneReport::plan(&archive, &home, &catalog, &none).unwrap();
    assert_eq!(none.files.len(), 0);
    report.drop_files(&archive).unwrap();
    assert_eq!(Catalog::read(&archive).unwrap().files.len(), 0);
}

#[test]
fn an_archive_of_a_newer_version_and_no_archive_are_named() {
    let world = World::new();
    world.collect();
    let mark = world.root().join("recto-archive");
    fs::write(&mark, "2\n").unwrap();
    let open = || Archive::open(world.root(), MachineId::of(&world.home()));
    assert!(matches!(open(), Err(KeepError::Newer { .. })));
    fs::remove_file(&mark).unwrap();
    assert!(matches!(open(), Err(KeepError::NoArchive { .. })));
}

#[test]
fn a_hostile_archive_leads_nowhere() {
    let world = World::new();
    world.home.write(&log(), "one\n");
    world.collect();
    // The header names another place for the same bytes.
    let [segment] = &segments(&world.root())[..] else { panic!("one segment") };
    for path in ["../../x.jsonl", "settings.json", "/etc/x", ".credentials.json"] {
        let bytes = fs::read(segment).unwrap();
        let at = memchr::memmem::find(&bytes, b"{\"path\":\"").unwrap() + 9;
        let old = format!("projects/-w/{ID}.jsonl");
        let mut changed = bytes.clone();
        let mut name = path.as_bytes().to_vec();
        // Spaces at the end of the header make up for the length.
        name.extend_from_slice(&bytes[at + old.len()..]);
        let header_end = memchr::memmem::find(&name, &[0x28, 0xb5, 0x2f, 0xfd]).unwrap();
        let padding = old.len() - path.len();
        name.splice(header_end..header_end, std::iter::repeat_n(b' ', padding));
        changed.truncate(at);
        changed.extend(name);
        fs::write(segment, &changed).unwrap();
        let (archive, home) = (world.archive(), world.home());
        let catalog = Catalog::read(&archive).unwrap();
        let options = RestoreOptions::default();
        let plan = Restoration::plan(&archive, &home, &catalog.files, options).unwrap();
        assert!(plan.files.iter().all(|file| file.verdict == Verdict::Refused), "{path}");
        fs::write(segment, bytes).unwrap();
    }
}
