//! The index against generated homes, against a model of a tree that changes, and
//! with every kind of trouble.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;

use fs_err as fs;
use proptest::prelude::*;
use recto_session::search::Query;
use recto_testkit::generate::Options;
use recto_testkit::generate::Shape;
use recto_testkit::generate::generate;

use super::apply::Writer;
use super::*;
use crate::CacheDirectory;
use crate::Home;
use crate::place::locking::lock_file;

pub(super) const ID: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";

/// A home with a cache.
pub(super) struct World {
    pub(super) folder: tempfile::TempDir,
    pub(super) home: Home,
    pub(super) cache: CacheDirectory,
}

/// A search for all that fits, whatever log it is in.
pub(super) fn all_of(query: &Query) -> Request<'_> {
    let (sorting, limit) = (Sorting::Newest, 0);
    Request { query, sorting, limit, since: None, until: None, keep: &|_| true, most_read: None }
}

impl World {
    pub(super) fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join(".claude/projects/-w")).unwrap();
        World::at(folder)
    }

    pub(super) fn at(folder: tempfile::TempDir) -> World {
        let home = Home::open(folder.path().join(".claude")).unwrap();
        let cache = CacheDirectory::new(folder.path().join("cache"));
        World { folder, home, cache }
    }

    pub(super) fn log(&self, name: &str) -> PathBuf {
        self.home.root().join("projects/-w").join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        fs::write(self.log(name), text).unwrap();
    }

    pub(super) fn append(&self, name: &str, text: &str) {
        let mut file = fs::OpenOptions::new().append(true).open(self.log(name)).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    pub(super) fn answer(&self, query: &str) -> Answer {
        self.answer_from(&self.cache, query)
    }

    pub(super) fn answer_from(&self, cache: &CacheDirectory, query: &str) -> Answer {
        let query = Query::parse(query).unwrap();
        let request = all_of(&query);
        self.home.find(&self.home.inventory(), cache, &request, &|_, _| ControlFlow::Continue(()))
    }

    /// The hits of a query, and that nothing had to be said.
    pub(super) fn hits(&self, query: &str) -> Vec<Hit> {
        let answer = self.answer(query);
        assert_eq!(answer.remarks, [""; 0]);
        assert_eq!(answer.total, answer.hits.len());
        answer.hits
    }

    /// `file:line role` of each hit, sorted.
    pub(super) fn places(&self, query: &str) -> Vec<String> {
        places(&self.hits(query))
    }

    pub(super) fn index_path(&self) -> PathBuf {
        Index::path(&self.home, &self.cache)
    }

    /// How many parts FTS5 has to look at for each word.
    fn parts_of_index(&self) -> i64 {
        let index = crate::search::index::page_sums::open(
            &self.index_path(),
            rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE,
        )
        .unwrap();
        let sql = "SELECT count(DISTINCT segid) FROM texts_idx";
        index.query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

fn places(hits: &[Hit]) -> Vec<String> {
    let mut places: Vec<String> = hits
        .iter()
        .map(|hit| {
            let name = hit.path.file_name().unwrap().to_string_lossy();
            format!("{}:{} {}", &name[..4.min(name.len())], hit.line, hit.role.name())
        })
        .collect();
    places.sort();
    places
}

pub(super) fn prompt(text: &str) -> String {
    format!("{{\"type\":\"user\",\"uuid\":\"u\",\"message\":{{\"content\":\"{text}\"}}}}\n")
}

/// FTS5 writes what it holds whenever SQLite takes a savepoint, which statements can
/// do unasked. A part of the index for each log is work, and merging them is more.
#[test]
fn logs_that_are_read_together_make_one_part_of_the_index() {
    let world = World::new();
    for number in 0..20 {
        let name = format!("{number:08}{}.jsonl", &ID[8..]);
        world.write(&name, &prompt("a needle in each").repeat(2));
    }
    assert_eq!(world.hits("needle").len(), 40);
    assert_eq!(world.parts_of_index(), 1);
}

#[test]
fn many_parts_become_one_after_much_was_written() {
    let world = World::new();
    for number in 0..6 {
        let name = format!("{number:08}{}.jsonl", &ID[8..]);
        world.write(&name, &prompt("a needle in each"));
        assert_eq!(world.hits("needle").len(), number + 1);
    }
    let before = world.hits("needle");
    let index = Index::open(&world.home, &world.cache).unwrap();
    let mut writer = Writer::new(&index.connection);
    writer.merge(&|| true).unwrap();
    assert_eq!(world.parts_of_index(), 6);
    writer.all_written = usize::MAX;
    writer.merge(&|| false).unwrap();
    assert_eq!(world.parts_of_index(), 6);
    writer.merge(&|| true).unwrap();
    assert_eq!(world.parts_of_index(), 1);
    assert_eq!(world.hits("needle"), before);
}

#[test]
fn every_needle_is_found_once_and_where_it_is() {
    for (seed, shape) in [(1, Shape::Old), (2, Shape::New)] {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { megabytes: 6, seed, shape };
        let truth = generate(&options, folder.path(), &mut |_| {}).unwrap();
        let world = World::at(folder);
        let mut found = 0;
        for needle in &truth.needles {
            let query = format!("\"{}\"", needle.text.replace('"', " "));
            let hits = world.hits(&query);
            let projects = world.home.projects();
            let mut places: Vec<(String, u64, String)> = hits
                .iter()
                .map(|hit| {
                    let path = hit.path.strip_prefix(&projects).unwrap();
                    let text = hit.read().unwrap();
                    assert!(text.text.contains(&needle.text), "{}", needle.name);
                    (path.to_string_lossy().into_owned(), hit.line, text.uuid.unwrap())
                })
                .collect();
            let mut expected: Vec<(String, u64, String)> = needle
                .hits
                .iter()
                .map(|hit| (hit.path.clone(), hit.line, hit.uuid.clone()))
                .collect();
            places.sort();
            expected.sort();
            assert_eq!(places, expected, "{} of seed {seed}", needle.name);
            found += places.len();
            // The logs themselves give the same answer.
            let nowhere = CacheDirectory::new(world.folder.path().join("truth.json/x"));
            let read = world.answer_from(&nowhere, &query);
            assert_eq!(read.hits, hits, "{} of seed {seed}", needle.name);
            assert_eq!(read.remarks.len(), 1, "{:?}", read.remarks);
        }
        assert!(found >= 20, "{found} needles of seed {seed}");
        assert_eq!(world.hits("xylophonist quartermasterly").len(), 0);
        let verified = world.home.verify_index(&world.home.inventory(), &world.cache, &|_, _| {});
        let verified = verified.unwrap();
        assert_eq!(verified.differences, []);
        assert!(verified.documents > 500, "{verified:?}");
    }
}

#[test]
fn a_search_that_is_given_up_leaves_an_index_to_go_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { megabytes: 2, seed: 3, shape: Shape::New };
    let truth = generate(&options, folder.path(), &mut |_| {}).unwrap();
    let world = World::at(folder);
    let needle = truth.needles.iter().find(|needle| needle.name == "common").unwrap();
    let query = Query::parse(&format!("\"{}\"", needle.text)).unwrap();
    let request = all_of(&query);
    let status = || world.home.index_status(&world.home.inventory(), &world.cache).unwrap();
    let mut stale = status().stale;
    let mut given_up = 0;
    // Each one is given up with the second thing that it hears, until there is no second.
    let answer = loop {
        let heard = AtomicUsize::new(0);
        let tell = |_, _| match heard.fetch_add(1, Ordering::Relaxed) {
            0 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        };
        let answer = world.home.find(&world.home.inventory(), &world.cache, &request, &tell);
        assert_eq!(answer.remarks, [""; 0]);
        if !answer.is_given_up {
            break answer;
        }
        assert_eq!((answer.hits.len(), answer.total, answer.logs), (0, 0, 0));
        given_up += 1;
        let now = status();
        assert!(now.documents > 0 && now.stale <= stale, "{now:?} after {stale}");
        stale = now.stale;
    };
    assert!(given_up > 1, "{given_up}");
    assert_eq!(answer.total, needle.hits.len());
    let verified = world.home.verify_index(&world.home.inventory(), &world.cache, &|_, _| {});
    assert_eq!(verified.unwrap().differences, []);
    // One that reads the logs is given up too.
    let nowhere = CacheDirectory::new(world.folder.path().join("truth.json/x"));
    let stop = |_, _| ControlFlow::Break(());
    let answer = world.home.find(&world.home.inventory(), &nowhere, &request, &stop);
    assert!(answer.is_given_up && answer.hits.is_empty());
}

#[test]
fn what_is_appended_is_found_and_a_line_counts_when_it_is_whole() {
    let world = World::new();
    let name = format!("{ID}.jsonl");
    world.write(&name, &prompt("first words"));
    assert_eq!(world.places("words"), ["3f2a:1 user"]);
    world.append(&name, &prompt("second words"));
    assert_eq!(world.places("words"), ["3f2a:1 user", "3f2a:2 user"]);
    // A line without its end is found, and once.
    let line = prompt("third words");
    world.append(&name, line.trim_end());
    assert_eq!(world.places("third"), ["3f2a:3 user"]);
    world.append(&name, "\n");
    assert_eq!(world.places("third"), ["3f2a:3 user"]);
    world.append(&name, "{\"type\":\"user\",\"mess");
    assert_eq!(world.places("words").len(), 3);
    world.append(&name, "age\":{\"content\":\"fourth words\"}}\n");
    assert_eq!(world.places("words").len(), 4);
    // A queued prompt that the chain tells later is not told twice.
    world.append(
        &name,
        "{\"type\":\"queue-operation\",\"operation\":\"enqueue\",\"content\":\"queued words\"}\n",
    );
    assert_eq!(world.places("queued"), ["3f2a:5 user"]);
    world.append(&name, "{\"type\":\"queue-operation\",\"operation\":\"dequeue\"}\n");
    world.append(&name, &prompt("queued words"));
    assert_eq!(world.places("queued"), ["3f2a:7 user"]);
}

#[test]
fn times_and_limits_choose_the_newest() {
    let world = World::new();
    let line = |time: &str, text: &str| {
        format!(
            "{{\"type\":\"user\",\"timestamp\":\"{time}\",\"message\":{{\"content\":\"{text}\"}}}}\n"
        )
    };
    for (number, day) in [(1, 3), (2, 1), (3, 2)] {
        let name = format!("{number}f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl");
        let early = line(&format!("2026-11-0{day}T08:00:00Z"), "apple");
        let late = line(&format!("2026-11-0{day}T20:00:00Z"), "apple pie");
        world.write(&name, &(early + &late));
    }
    let query = Query::parse("apple").unwrap();
    let ask = |limit: usize, since: Option<&str>, until: Option<&str>, sorting: Sorting| {
        let time = |time: Option<&str>| {
            time.map(|time| time.parse::<jiff::Timestamp>().unwrap().as_millisecond())
        };
        let request = Request {
            query: &query,
            sorting,
            limit,
            since: time(since),
            until: time(until),
            most_read: None,
            keep: &|facts| facts.project == "-w",
        };
        let answer = world.home.find(&world.home.inventory(), &world.cache, &request, &|_, _| {
            ControlFlow::Continue(())
        });
        let times = answer.hits.iter().map(|hit| hit.time.unwrap().to_string()[8..13].to_owned());
        (times.collect::<Vec<_>>(), answer.total, answer.logs)
    };
    let newest = Sorting::Newest;
    assert_eq!(
        ask(3, None, None, newest),
        (vec!["03T20".into(), "03T08".into(), "02T20".into()], 6, 3)
    );
    let (since, until) = ("2026-11-01T12:00:00Z", "2026-11-02T12:00:00Z");
    assert_eq!(
        ask(0, Some(since), Some(until), newest),
        (vec!["02T08".into(), "01T20".into()], 2, 2)
    );
    assert_eq!(ask(1, None, Some(until), newest), (vec!["02T08".into()], 3, 2));
    let (times, total, _) = ask(0, Some(since), None, Sorting::Rank);
    assert_eq!((times.len(), total), (5, 5));
    // The shorter text is about the word more.
    assert!(times[0].ends_with("08"), "{times:?}");
}

#[test]
fn an_index_that_cannot_be_used_is_made_anew_or_passed_by() {
    let world = World::new();
    world.write(&format!("{ID}.jsonl"), &prompt("a needle here"));
    assert_eq!(world.places("needle").len(), 1);
    let check = |what: &str, remark: &str| {
        let answer = world.answer("needle");
        assert_eq!(answer.hits.len(), 1, "{what}");
        assert_eq!(answer.remarks.len(), 1, "{what}: {:?}", answer.remarks);
        assert!(answer.remarks[0].contains(remark), "{what}: {:?}", answer.remarks);
    };
    let path = world.index_path();
    let remove_beside = || {
        for end in ["-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{end}", path.display()));
        }
    };
    // No database at all.
    remove_beside();
    fs::write(&path, "this is no database, but it is long enough to be looked at").unwrap();
    check("garbage", "it is rebuilt");
    assert_eq!(world.places("needle").len(), 1);
    // Damage in the middle of one.
    Index::open(&world.home, &world.cache)
        .unwrap()
        .connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    let mut bytes = fs::read(&path).unwrap();
    for byte in bytes.iter_mut().skip(100) {
        *byte = 0xaa;
    }
    remove_beside();
    fs::write(&path, bytes).unwrap();
    check("damage", "it is rebuilt");
    assert_eq!(world.places("needle").len(), 1);
    // A table is missing.
    Index::open(&world.home, &world.cache)
        .unwrap()
        .connection
        .execute_batch("DROP TABLE chunks")
        .unwrap();
    check("a table is missing", "it is rebuilt");
    // Another version.
    Index::open(&world.home, &world.cache)
        .unwrap()
        .connection
        .execute_batch("PRAGMA user_version = 99")
        .unwrap();
    check("another version", "another version of recto; rebuilding it");
    assert_eq!(world.places("needle").len(), 1);
    // Something else is in its place.
    remove_beside();
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    check("a directory", "searching the logs instead");
    fs::remove_dir(&path).unwrap();
    assert_eq!(world.places("needle").len(), 1);
    // The folder cannot be made.
    let nowhere = CacheDirectory::new(world.log(&format!("{ID}.jsonl")).join("x"));
    let answer = world.answer_from(&nowhere, "needle");
    assert_eq!((answer.hits.len(), answer.remarks.len()), (1, 1), "{:?}", answer.remarks);
}

#[test]
fn who_cannot_write_reads_the_rest_from_the_logs() {
    let world = World::new();
    let name = format!("{ID}.jsonl");
    world.write(&name, &prompt("old needle"));
    assert_eq!(world.places("needle").len(), 1);
    world.append(&name, &prompt("new needle"));
    // Another process is at it.
    let lock = lock_file(&Index::lock_path(&world.home, &world.cache), std::time::Duration::ZERO);
    let lock = lock.unwrap().unwrap();
    assert_eq!(world.places("needle"), ["3f2a:1 user", "3f2a:2 user"]);
    let status = world.home.index_status(&world.home.inventory(), &world.cache).unwrap();
    assert_eq!((status.stale, status.documents, status.is_being_built), (1, 1, true));
    drop(lock);
    assert_eq!(world.places("needle").len(), 2);
    // A program that does not know the lock has begun to write.
    world.append(&name, &prompt("newest needle"));
    let other = Index::open(&world.home, &world.cache).unwrap();
    other.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    let answer = world.answer("needle");
    assert_eq!(answer.hits.len(), 3);
    assert_eq!(answer.remarks.len(), 1, "{:?}", answer.remarks);
    other.connection.execute_batch("ROLLBACK").unwrap();
    let status = world.home.index_status(&world.home.inventory(), &world.cache).unwrap();
    assert_eq!((status.stale, status.is_being_built), (1, false));
    assert_eq!(world.places("needle").len(), 3);
    assert_eq!(world.home.index_status(&world.home.inventory(), &world.cache).unwrap().stale, 0);
}

#[cfg(unix)]
#[test]
fn the_index_is_for_its_user_only() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    world.write(&format!("{ID}.jsonl"), &prompt("secret"));
    assert_eq!(world.places("secret").len(), 1);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(world.cache.root()), 0o700);
    let mut seen = 0;
    for file in fs::read_dir(world.cache.root()).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 2, "{seen}");
}

#[test]
fn a_difference_is_told() {
    let world = World::new();
    let name = format!("{ID}.jsonl");
    world.write(&name, &(prompt("one") + &prompt("two")));
    assert_eq!(world.places("two").len(), 1);
    let verify = || {
        let verified = world.home.verify_index(&world.home.inventory(), &world.cache, &|_, _| {});
        verified.unwrap().differences.into_iter().map(|one| one.what).collect::<Vec<_>>()
    };
    assert_eq!(verify(), [""; 0]);
    let index = Index::open(&world.home, &world.cache).unwrap();
    index.connection.execute_batch("UPDATE documents SET line = 9 WHERE line = 2").unwrap();
    assert_eq!(verify(), ["line 2 differs from the index"]);
    index.connection.execute_batch("DELETE FROM documents WHERE line = 9").unwrap();
    assert_eq!(verify(), ["line 2 is not in the index"]);
    world.append(&name, &prompt("three"));
    assert_eq!(verify(), ["has changed since it was indexed"]);
    fs::remove_file(world.log(&name)).unwrap();
    assert_eq!(verify(), ["is in the index but not on disk"]);
}

/// What happens to the tree.
#[derive(Debug, Clone)]
enum Action {
    Append(usize, Vec<usize>),
    AppendTorn(usize),
    Truncate(usize, usize),
    Rename(usize, usize),
    Swap(usize, usize),
    Copy(usize, usize),
    Delete(usize),
    Replace(usize, Vec<usize>),
    /// The same bytes in a new file.
    Rewrite(usize),
    /// Stops half way through a refresh, as one that is killed.
    Refresh,
    Ask,
}

const LOGS: usize = 5;

/// Lines of every kind that is kept in mind from one to the next.
const LINES: [&str; 9] = [
    r#"{"type":"user","timestamp":"2026-11-01T10:00:00Z","cwd":"/w","message":{"content":"alpha prompt"}}"#,
    r#"{"type":"assistant","timestamp":"2026-11-01T10:00:01Z","gitBranch":"main","message":{"model":"m-1","content":[{"type":"text","text":"beta answer"},{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/w/alpha.rs"}}]}}"#,
    r#"{"type":"user","timestamp":"2026-11-01T10:00:02Z","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"gamma result","is_error":true}]}}"#,
    r#"{"type":"queue-operation","operation":"enqueue","timestamp":"2026-11-01T10:00:03Z","content":"alpha queued"}"#,
    r#"{"type":"queue-operation","operation":"dequeue"}"#,
    r#"{"type":"queue-operation","operation":"remove"}"#,
    r#"{"type":"ai-title","aiTitle":"beta title"}"#,
    r#"{"type":"assistant","timestamp":"2026-11-01T10:00:04Z","message":{"content":[{"type":"text","text":"delta answer"}]}}"#,
    "{broken alpha",
];

const QUERIES: [&str; 6] =
    ["alpha", "beta", "tool:Read", "is:error OR title", "role:user -prompt", "file:alpha.rs"];

fn action() -> impl Strategy<Value = Action> {
    let log = || 0..LOGS;
    let lines = || proptest::collection::vec(0..LINES.len(), 1..5);
    prop_oneof![
        6 => (log(), lines()).prop_map(|(log, lines)| Action::Append(log, lines)),
        2 => log().prop_map(Action::AppendTorn),
        2 => (log(), 0usize..600).prop_map(|(log, bytes)| Action::Truncate(log, bytes)),
        2 => (log(), log()).prop_map(|(from, to)| Action::Rename(from, to)),
        1 => (log(), log()).prop_map(|(one, other)| Action::Swap(one, other)),
        2 => (log(), log()).prop_map(|(from, to)| Action::Copy(from, to)),
        1 => log().prop_map(Action::Delete),
        2 => (log(), lines()).prop_map(|(log, lines)| Action::Replace(log, lines)),
        1 => log().prop_map(Action::Rewrite),
        2 => Just(Action::Refresh),
        5 => Just(Action::Ask),
    ]
}

impl World {
    /// Main logs, one in another project, and one of a subagent.
    fn place(&self, log: usize) -> PathBuf {
        let id = |number: usize| format!("{number}f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718");
        let projects = self.home.projects();
        match log {
            3 => projects.join("-other").join(format!("{}.jsonl", id(3))),
            4 => projects.join("-w").join(id(0)).join("subagents/agent-a1b2c3.jsonl"),
            log => projects.join("-w").join(format!("{}.jsonl", id(log))),
        }
    }

    fn act(&self, action: &Action) {
        let text = |lines: &[usize]| -> String {
            lines.iter().map(|line| format!("{}\n", LINES[*line])).collect()
        };
        let append = |log: usize, text: &str| {
            let path = self.place(log);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let file = fs::OpenOptions::new().append(true).create(true).open(path);
            file.unwrap().write_all(text.as_bytes()).unwrap();
        };
        match action {
            Action::Append(log, lines) => append(*log, &text(lines)),
            Action::AppendTorn(log) => append(*log, &LINES[0][..90]),
            Action::Truncate(log, bytes) => {
                let file = fs::OpenOptions::new().write(true).open(self.place(*log));
                if let Ok(file) = file {
                    let length = file.metadata().unwrap().len();
                    file.set_len(length.saturating_sub(*bytes as u64)).unwrap();
                }
            }
            Action::Rename(from, to) | Action::Copy(from, to) if from != to => {
                let (from, to) = (self.place(*from), self.place(*to));
                fs::create_dir_all(to.parent().unwrap()).unwrap();
                // There may be nothing to rename.
                let _ = match action {
                    Action::Copy(..) => fs::copy(from, to).map(|_| ()),
                    _ => fs::rename(from, to),
                };
            }
            Action::Swap(one, other) => {
                let (one, other) = (self.place(*one), self.place(*other));
                let between = self.folder.path().join("between");
                if one.exists() && other.exists() && one != other {
                    fs::rename(&one, &between).unwrap();
                    fs::rename(&other, &one).unwrap();
                    fs::rename(&between, &other).unwrap();
                }
            }
            Action::Delete(log) => drop(fs::remove_file(self.place(*log))),
            Action::Replace(log, lines) => {
                let path = self.place(*log);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text(lines)).unwrap();
            }
            Action::Rewrite(log) => {
                let path = self.place(*log);
                if let Ok(bytes) = fs::read(&path) {
                    fs::remove_file(&path).unwrap();
                    fs::write(&path, bytes).unwrap();
                }
            }
            Action::Refresh => {
                let inventory = self.home.inventory();
                self.home.build_index(&inventory, &self.cache, false, &|_, _| {}).unwrap();
            }
            Action::Rename(..) | Action::Copy(..) | Action::Ask => {}
        }
    }

    fn compare_with_a_fresh_index(&self, number: usize) {
        let fresh = CacheDirectory::new(self.folder.path().join(format!("fresh{number}")));
        for query in QUERIES {
            let expected = self.answer_from(&fresh, query);
            let answer = self.answer(query);
            assert_eq!(answer.hits, expected.hits, "{query}");
            assert_eq!((answer.total, answer.logs), (expected.total, expected.logs), "{query}");
            // Each place once, and each with a text that can be read.
            let unique: BTreeSet<_> =
                answer.hits.iter().map(|hit| (&hit.path, hit.line, hit.part)).collect();
            assert_eq!(unique.len(), answer.hits.len(), "{query}");
            for hit in &answer.hits {
                assert!(hit.read().is_some(), "{hit:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_to_the_tree_the_answers_are_those_of_a_fresh_index(
        actions in proptest::collection::vec(action(), 5..40)
    ) {
        let world = World::new();
        for (number, action) in actions.iter().enumerate() {
            world.act(action);
            if matches!(action, Action::Ask) {
                world.compare_with_a_fresh_index(number);
            }
        }
        world.compare_with_a_fresh_index(actions.len());
        let verified = world.home.verify_index(&world.home.inventory(), &world.cache, &|_, _| {});
        prop_assert_eq!(verified.unwrap().differences, []);
    }
}
