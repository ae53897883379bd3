//! What can be wrong around an archive: clocks, other collectors, other users, damage.

use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering;

use fs_err as fs;
use jiff::SignedDuration;
use jiff::Timestamp;

use super::keep_tests::ID;
use super::keep_tests::World;
use super::*;
use crate::publish::Intent;
use crate::publish::Journal;

fn log() -> String {
    format!("projects/-w/{ID}.jsonl")
}

/// A clock that is set to any hour.
static HOURS: AtomicI64 = AtomicI64::new(0);

fn set_clock() -> Timestamp {
    Timestamp::now() + SignedDuration::from_hours(HOURS.load(Ordering::Relaxed))
}

#[test]
fn a_clock_that_jumps_changes_nothing_but_times() {
    let mut world = World::new();
    world.options.clock = set_clock;
    let title = format!("projects/-w/{ID}/custom-title.json");
    let at = |hours: i64| HOURS.store(hours, Ordering::Relaxed);
    let write = |text: &str, name: &str| {
        world.home.write(&log(), text);
        world.home.write(&title, name);
        let file = fs::File::options().write(true).open(world.home.path().join(&title)).unwrap();
        let time = std::time::SystemTime::from(set_clock());
        file.into_file().set_modified(time).unwrap();
        world.collect();
        assert_eq!(world.kept(&log(), None).unwrap(), text.as_bytes());
        assert_eq!(world.kept(&title, None).unwrap(), name.as_bytes());
    };
    at(1000);
    write("one\n", "first");
    // Rewritten in an earlier time, and longer in a still earlier one.
    at(0);
    write("another\n", "second");
    at(-1000);
    write("another\nline\n", "third");
    at(-2000);
    write("one\n", "first");
    let moved = log().replace("-w", "-v");
    fs::create_dir_all(world.home.path().join("projects/-v")).unwrap();
    fs::rename(world.home.path().join(log()), world.home.path().join(&moved)).unwrap();
    world.collect();
    assert_eq!(world.kept(&moved, None).unwrap(), b"one\n");
    fs::remove_file(world.home.path().join(&moved)).unwrap();
    assert_eq!(world.collect().gone, 1);
    let catalog = Catalog::read(&world.archive()).unwrap();
    let kept = catalog.files.iter().find(|file| file.path == moved).unwrap();
    assert!(kept.gone.is_some());
    world.home.write(&moved, "one\ntwo\n");
    world.collect();
    let catalog = Catalog::read(&world.archive()).unwrap();
    let kept = catalog.files.iter().find(|file| file.path == moved).unwrap();
    assert_eq!((kept.gone, kept.bytes), (None, 8));
    assert!(world.verify().is_sound());
}

#[test]
fn two_collectors_at_once_keep_everything_once() {
    let world = World::new();
    let path =
        |number: usize| format!("projects/-w/0000000{number}-0000-4000-8000-000000000000.jsonl");
    let line = |number: usize, round: usize| format!("{{\"file\":{number},\"round\":{round}}}\n");
    let mut written = vec![String::new(); 4];
    for round in 0..6 {
        for (number, text) in written.iter_mut().enumerate() {
            text.push_str(&line(number, round));
            world.home.write(&path(number), text);
        }
        std::thread::scope(|scope| {
            // Each has what it remembers for itself, as on two machines that share a home.
            for number in 0..3 {
                let world = &world;
                scope.spawn(move || world.collect_beside(&format!("data{}", number % 2)));
            }
        });
    }
    let report = world.verify();
    assert_eq!(report.problems.len(), 0);
    assert_eq!((report.behind.len(), report.differing.len()), (0, 0));
    assert_eq!(report.bytes, written.iter().map(|text| text.len() as u64).sum::<u64>());
    for (number, text) in written.iter().enumerate() {
        assert_eq!(world.kept(&path(number), None).unwrap(), text.as_bytes());
    }
}

#[cfg(unix)]
#[test]
fn an_archive_of_another_user_is_named_and_left_alone() {
    let world = World::new();
    world.collect();
    // Whoever runs the test: there is always a directory of somebody else.
    let root = match rustix::process::geteuid().is_root() {
        true => {
            let other = Some(rustix::fs::Uid::from_raw(12345));
            rustix::fs::chown(world.root(), other, None).unwrap();
            world.root()
        }
        false => "/".into(),
    };
    let machine = MachineId::of(&world.home());
    let error = Archive::open(&root, machine).unwrap_err();
    assert_eq!(error.kind(), "archive-foreign");
    assert!(error.to_string().ends_with("belongs to another user"), "{error}");
}

#[test]
fn a_damaged_header_costs_its_segment_only() {
    let world = World::new();
    for text in ["one\n", "one\ntwo\n", "one\ntwo\nthree\n"] {
        world.home.write(&log(), text);
        world.collect();
    }
    let archive = world.archive();
    let catalog = Catalog::read(&archive).unwrap();
    let key = catalog.files[0].key;
    let last = archive.parts(key).unwrap().pop().unwrap();
    fs::write(archive.path_of(key, &last), b"nonsense").unwrap();
    fs::remove_file(world.home.path().join(log())).unwrap();
    let catalog = Catalog::read(&archive).unwrap();
    let home = world.home();
    let plan =
        Restoration::plan(&archive, &home, &catalog.files, RestoreOptions::default()).unwrap();
    let [file] = &plan.files[..] else { panic!("one file") };
    assert_eq!((file.verdict.name(), file.problems.len()), ("new", 1));
    assert!(file.problems[0].contains("is damaged"), "{:?}", file.problems);
    let data = crate::DataDirectory::new(world.data.path().join("journal"));
    let mut journal = Journal::open(&data, &home).unwrap();
    let time = Timestamp::now();
    let (name, arguments) = ("restore", Vec::new());
    let intent = Intent { home: &home, name, arguments, time, source: None, result: None };
    let mut transaction = journal.begin(intent).unwrap();
    plan.stage(&mut transaction).unwrap();
    transaction.commit().unwrap();
    assert_eq!(world.read(&log()), b"one\ntwo\n");
}

#[test]
fn a_large_segment_is_read_ahead_and_who_cannot_write_it_says_why() {
    let world = World::new();
    let text: String =
        (0..90_000u64).map(|at| format!("{{\"n\":{at},\"text\":\"{}\"}}\n", at * at)).collect();
    let text = text.repeat(3);
    assert!(text.len() > 8 * 1024 * 1024);
    world.home.write(&log(), &text);
    world.collect();
    assert!(world.kept(&log(), None).unwrap() == text.as_bytes());
    let archive = world.archive();
    let catalog = Catalog::read(&archive).unwrap();
    /// A disk that is full after the first pieces.
    struct Full(u32);
    impl std::io::Write for Full {
        fn write(&mut self, piece: &[u8]) -> std::io::Result<usize> {
            self.0 += 1;
            if self.0 > 2 { Err(std::io::ErrorKind::StorageFull.into()) } else { Ok(piece.len()) }
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let failed = catalog.files[0].write_to(&archive, None, &mut Full(0));
    let Err(KeepError::Io { source, .. }) = failed else { panic!("{failed:?}") };
    assert_eq!(source.kind(), std::io::ErrorKind::StorageFull);
    // Damage is found before anything is handed out.
    let key = catalog.files[0].key;
    let part = archive.parts(key).unwrap().pop().unwrap();
    let path = archive.path_of(key, &part);
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).unwrap();
    let mut given = Vec::new();
    let (_, missing) = catalog.files[0].write_to(&archive, None, &mut given).unwrap();
    assert_eq!((given.len(), missing.problems.len()), (0, 1));
}

#[test]
fn damage_after_a_time_is_no_matter_of_what_was_then() {
    let world = World::new();
    let line = |second: u32| {
        format!("{{\"type\":\"user\",\"timestamp\":\"2026-01-01T00:00:0{second}Z\"}}\n")
    };
    let mut text = String::new();
    for second in 0..4 {
        text.push_str(&line(second));
        world.home.write(&log(), &text);
        world.collect();
    }
    let archive = world.archive();
    let catalog = Catalog::read(&archive).unwrap();
    let key = catalog.files[0].key;
    let last = archive.parts(key).unwrap().pop().unwrap();
    fs::write(archive.path_of(key, &last), b"nonsense").unwrap();
    let at = |second: u32| {
        let time = format!("2026-01-01T00:00:0{second}Z").parse().unwrap();
        let mut bytes = Vec::new();
        let (_, missing) = catalog.files[0].write_to(&archive, Some(time), &mut bytes).unwrap();
        (String::from_utf8(bytes).unwrap(), missing.problems.len())
    };
    assert_eq!(at(1), (line(0) + &line(1), 0));
    assert_eq!(at(9), (line(0) + &line(1) + &line(2), 1));
}
