//! What the index says of usage, statistics and titles against what the logs say, whatever
//! happens to the logs and to the index.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use fs_err as fs;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use proptest::prelude::*;
use recto_session::statistics::Tally;
use recto_session::usage::Dimension;
use recto_session::usage::Grouping;
use recto_session::usage::PriceTable;
use recto_session::usage::Selection;
use recto_session::usage::Wanted;
use recto_session::usage::helpers;
use recto_session::usage::report;
use recto_testkit::generate::Options;
use recto_testkit::generate::Shape;
use recto_testkit::generate::generate;

use crate::CacheDirectory;
use crate::Digests;
use crate::Home;
use crate::LogFile;
use crate::UsageScan;
use crate::place::locking::lock_file;
use crate::search::index::Index;

struct World {
    folder: tempfile::TempDir,
    home: Home,
    cache: CacheDirectory,
}

impl World {
    fn new(folder: tempfile::TempDir) -> World {
        fs::create_dir_all(folder.path().join(".claude/projects/-w")).unwrap();
        let home = Home::open(folder.path().join(".claude")).unwrap();
        let cache = CacheDirectory::new(folder.path().join("cache"));
        World { folder, home, cache }
    }

    fn generated(seed: u64, shape: Shape) -> World {
        let folder = tempfile::tempdir().unwrap();
        let options = Options { megabytes: 6, seed, shape };
        generate(&options, folder.path(), &mut |_| {}).unwrap();
        World::new(folder)
    }

    /// An index in which no log is yet.
    fn make_index(&self) {
        Index::open(&self.home, &self.cache).unwrap();
    }

    /// All that `usage` can say, and how many bytes had to be read for it.
    fn usage(&self, cache: Option<&CacheDirectory>, tools: bool) -> (String, u64) {
        let scan = UsageScan { wanted: Wanted { tools }, since: None };
        let all = std::sync::atomic::AtomicU64::new(0);
        let usage = self.home.usage(&self.home.inventory(), &scan, cache, &|_, bytes| {
            all.store(bytes, std::sync::atomic::Ordering::Relaxed);
        });
        let (ledger, prices) = (&usage.ledger, PriceTable::built_in().unwrap());
        let mut text = format!(
            "{} {} {} {} {:?} {:?}\n",
            ledger.lines,
            ledger.copies,
            ledger.long_lines,
            ledger.clock_jumps,
            usage.skipped.len(),
            helpers(ledger, &Selection::default())
        );
        for dimension in Dimension::ALL {
            let dimensions = vec![dimension, Dimension::Model];
            let grouping = Grouping { dimensions, zone: TimeZone::UTC };
            let report =
                report(ledger, &prices, &grouping, &Selection::default(), Timestamp::UNIX_EPOCH);
            text.push_str(&format!("{dimension:?} {report:?}\n"));
        }
        let mut records: Vec<String> = ledger
            .records()
            .iter()
            .map(|record| {
                let name = |id: Option<_>| id.map(|id| ledger.name(id));
                format!(
                    "{:x} {} {:?} {:?} {:?}",
                    record.key,
                    ledger.file_of(record).path,
                    record.counts,
                    record.flags,
                    (
                        name(record.model),
                        name(record.cwd),
                        name(record.branch),
                        name(record.session),
                        name(record.tools),
                        record.time(),
                        record.content_bytes
                    )
                )
            })
            .collect();
        records.sort();
        text.push_str(&records.join("\n"));
        (text, all.into_inner())
    }

    /// All that `stats` can say.
    fn statistics(&self, cache: Option<&CacheDirectory>) -> String {
        let mut tally = Tally::new(TimeZone::UTC);
        let mut logs: Vec<LogFile> = self.home.all_logs(&self.home.inventory());
        logs.sort_by(|a, b| a.path.cmp(&b.path));
        let mut sums = Vec::new();
        self.home.statistics(&logs, cache, &|_, _| {}, &mut |log| {
            if let Ok(log) = &log {
                tally.add(log);
                sums.push((log.turns(), log.calls(), log.working_milliseconds()));
            }
        });
        format!("{:?} {sums:?}", tally.finish())
    }

    /// All that `ls` can say.
    fn listing(&self, cache: Option<&CacheDirectory>) -> String {
        let inventory = self.home.inventory();
        let mut digests = Digests::new(&self.home, cache).of_any_number();
        let sessions = digests.read(&inventory.sessions);
        let agents = digests.read(&self.home.all_agents(&inventory));
        digests.finish();
        format!("{sessions:?} {agents:?}")
    }

    /// Asserts that all is as without an index, and gives the bytes that were read.
    fn compare(&self) -> u64 {
        let (with, read) = self.usage(Some(&self.cache), /* tools */ false);
        same(&with, &self.usage(None, false).0);
        let (with, _) = self.usage(Some(&self.cache), /* tools */ true);
        same(&with, &self.usage(None, true).0);
        same(&self.statistics(Some(&self.cache)), &self.statistics(None));
        same(&self.listing(Some(&self.cache)), &self.listing(None));
        read
    }

    /// Lets some time pass, so that all files are old.
    fn wait(&self) {
        std::thread::sleep(Duration::from_millis(60));
    }

    fn log(&self, name: &str) -> PathBuf {
        self.home.root().join("projects/-w").join(name)
    }
}

fn same(a: &str, b: &str) {
    // What is equal would fill the screen.
    let place = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let near = |text: &str| {
        let from = text.floor_char_boundary(place.saturating_sub(200));
        text.get(from..text.floor_char_boundary(place + 200)).map(str::to_owned)
    };
    assert!(a == b, "at {place}: {:?}\nand {:?}", near(a), near(b));
}

#[test]
fn the_index_says_what_the_logs_say_and_nothing_is_read_twice() {
    for (seed, shape) in [(1, Shape::Old), (2, Shape::New), (3, Shape::Mixed)] {
        let world = World::generated(seed, shape);
        world.compare();
        assert!(!world.cache.root().exists(), "no index is made for it");
        world.make_index();
        world.wait();
        assert!(world.compare() > 1_000_000);
        assert_eq!(world.compare(), 0);
    }
}

#[test]
fn what_an_index_counts_while_it_is_built_is_what_the_logs_say() {
    for (seed, shape) in [(4, Shape::Old), (5, Shape::New)] {
        let world = World::generated(seed, shape);
        world.wait();
        let inventory = world.home.inventory();
        world.home.build_index(&inventory, &world.cache, true, &|_, _| {}).unwrap();
        assert_eq!(world.compare(), 0);
    }
}

#[test]
fn sums_that_are_not_those_of_the_logs_are_told() {
    let world = World::generated(6, Shape::New);
    world.wait();
    let inventory = world.home.inventory();
    world.home.build_index(&inventory, &world.cache, true, &|_, _| {}).unwrap();
    world.compare();
    let verify = || {
        let verified = world.home.verify_index(&inventory, &world.cache, &|_, _| {}).unwrap();
        verified.differences.into_iter().map(|one| one.what).collect::<Vec<_>>()
    };
    assert_eq!(verify(), [""; 0]);
    let spoil = |table: &str| {
        let path = Index::path(&world.home, &world.cache);
        let connection = crate::search::index::page_sums::open(
            &path,
            rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE,
        )
        .unwrap();
        let one = format!("(SELECT path FROM {table} ORDER BY path LIMIT 1)");
        let sums = "CAST(sums || x'00' AS BLOB)";
        let changed = connection
            .execute(&format!("UPDATE {table} SET sums = {sums} WHERE path = {one}"), [])
            .unwrap();
        assert_eq!(changed, 1);
    };
    spoil("statistics_rollups");
    assert_eq!(verify(), ["its statistics differ from the index"]);
    spoil("digest_rollups");
    assert_eq!(verify(), ["its title and state differ from the index"]);
    spoil("usage_rollups");
    assert_eq!(verify(), ["its usage differs from the index"]);
}

#[test]
fn recorded_logs_are_the_same_from_the_index() {
    let world = World::new(tempfile::tempdir().unwrap());
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut folders = vec![fixtures];
    let mut number = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "jsonl") {
                let name = format!("{number:08x}-9d8e-4f70-a1b2-c3d4e5f60718.jsonl");
                fs::copy(&path, world.log(&name)).unwrap();
                number += 1;
            }
        }
    }
    assert!(number > 100);
    world.make_index();
    world.wait();
    assert!(world.compare() > 0);
    assert_eq!(world.compare(), 0);
}

#[test]
fn trouble_with_the_index_changes_no_figure() {
    let world = World::generated(7, Shape::Mixed);
    world.make_index();
    world.wait();
    world.compare();
    let path = Index::path(&world.home, &world.cache);
    let connection = || {
        crate::search::index::page_sums::open(&path, rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE)
            .unwrap()
    };
    let whole = || connection().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    // Damage that SQLite cannot know: a bit of each sum, or another log's.
    connection()
        .execute_batch(
            "UPDATE usage_rollups
             SET sums = CAST(substr(sums, 1, 40) || x'55' || substr(sums, 42) AS BLOB);
             UPDATE statistics_rollups SET sums = substr(sums, 1, length(sums) - 1);
             UPDATE digest_rollups
             SET sums = CAST(substr(sums, 1, 9) || x'55' || substr(sums, 11) AS BLOB);",
        )
        .unwrap();
    assert!(world.compare() > 0);
    assert_eq!(world.compare(), 0, "they were counted anew");
    // Somebody holds it.
    let holder = connection();
    holder.execute_batch("PRAGMA locking_mode = exclusive; BEGIN EXCLUSIVE").unwrap();
    world.compare();
    drop(holder);
    // Somebody builds it: what is there is read, and nothing is written.
    connection().execute_batch("DELETE FROM usage_rollups").unwrap();
    let lock = lock_file(&path.with_extension("lock"), Duration::ZERO).unwrap().unwrap();
    assert!(world.compare() > 0);
    assert!(world.compare() > 0);
    drop(lock);
    assert!(world.compare() > 0);
    assert_eq!(world.compare(), 0);
    // Another version.
    connection().execute_batch("PRAGMA user_version = 1").unwrap();
    assert!(world.compare() > 0);
    connection().execute_batch("PRAGMA user_version = 3; DROP TABLE usage_rollups").unwrap();
    assert!(world.compare() > 0);
    whole();
    // Pages of something else.
    let mut bytes = fs::read(&path).unwrap();
    let length = bytes.len();
    bytes[length / 3..].fill(0xa5);
    fs::write(&path, &bytes).unwrap();
    world.compare();
    fs::write(&path, "no index").unwrap();
    assert!(world.compare() > 0);
    assert_eq!(fs::read(&path).unwrap(), b"no index", "it is left as it is");
}

#[test]
fn what_is_gone_leaves_the_index() {
    let world = World::generated(8, Shape::New);
    world.make_index();
    world.wait();
    world.compare();
    let count = || {
        let path = Index::path(&world.home, &world.cache);
        let connection = crate::search::index::page_sums::open(
            &path,
            rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE,
        )
        .unwrap();
        let number = |table: &str| -> i64 {
            let sql = format!("SELECT count(*) FROM {table}");
            connection.query_row(&sql, [], |row| row.get(0)).unwrap()
        };
        ["usage_rollups", "statistics_rollups", "digest_rollups"].map(number)
    };
    let inventory = world.home.inventory();
    let (before, all) = (count(), world.home.all_logs(&inventory));
    // A log without a line adds nothing, but is listed.
    let listed = inventory.sessions.len() + world.home.all_agents(&inventory).len();
    assert_eq!(before, [all.len() as i64, all.len() as i64, listed as i64]);
    fs::remove_file(&all[0].path).unwrap();
    world.compare();
    assert_eq!(count(), before.map(|number| number - 1));
}

/// What can happen to a log, or to the index.
#[derive(Debug, Clone)]
enum Action {
    Append(usize, usize),
    Cut(usize, u16),
    Replace(usize, usize),
    /// With the same size, and the time set back.
    Overwrite(usize, u8),
    Rename(usize, usize),
    Copy(usize, usize),
    Delete(usize),
    Ask,
    Build,
}

const LOGS: usize = 5;

fn line(number: usize) -> String {
    let model = ["claude-sonnet-4-5-20250929", "claude-opus-4-1-20250805", "odd"][number % 3];
    match number % 8 {
        6 => format!(
            r#"{{"type":"user","uuid":"u{number}","timestamp":"2026-11-0{}T08:00:00Z","message":{{"content":"hello"}}}}"#,
            number % 5 + 1
        ),
        7 => r#"{"type":"cost-state","totalCostUSD":1.5,"modelUsage":{"m":{"inputTokens":7}}}"#
            .into(),
        _ => format!(
            r#"{{"type":"assistant","uuid":"a{number}","sessionId":"{}","cwd":"/w{}","gitBranch":"b{}","timestamp":"2026-11-0{}T0{}:00:00.5Z","message":{{"id":"m{}","model":"{model}","content":[{{"type":"tool_use","id":"t{number}","name":"Tool{}","input":{{}}}}],"usage":{{"input_tokens":{},"output_tokens":{number}}}}}}}"#,
            name(number % LOGS).trim_end_matches(".jsonl"),
            number % 2,
            number % 3,
            number % 5 + 1,
            number % 9,
            number / 2,
            number % 4,
            number * 3
        ),
    }
}

fn name(log: usize) -> String {
    format!("3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f6071{log}.jsonl")
}

fn action() -> impl Strategy<Value = Action> {
    let (log, number) = (0..LOGS, 0..64usize);
    prop_oneof![
        4 => (log.clone(), number.clone()).prop_map(|(log, number)| Action::Append(log, number)),
        1 => (log.clone(), any::<u16>()).prop_map(|(log, at)| Action::Cut(log, at)),
        1 => (log.clone(), number).prop_map(|(log, number)| Action::Replace(log, number)),
        1 => (log.clone(), 0..10u8).prop_map(|(log, digit)| Action::Overwrite(log, digit)),
        1 => (log.clone(), log.clone()).prop_map(|(from, to)| Action::Rename(from, to)),
        1 => (log.clone(), log.clone()).prop_map(|(from, to)| Action::Copy(from, to)),
        1 => log.prop_map(Action::Delete),
        3 => Just(Action::Ask),
        1 => Just(Action::Build),
    ]
}

impl World {
    fn act(&self, action: &Action) {
        let place = |log: &usize| self.log(&name(*log));
        // What is not there cannot be changed.
        let _ = match action {
            Action::Append(log, number) => {
                let file = fs::OpenOptions::new().append(true).create(true).open(place(log));
                let end = if number % 5 == 0 { "" } else { "\n" };
                file.and_then(|mut file| file.write_all((line(*number) + end).as_bytes()))
            }
            Action::Cut(log, at) => {
                let file = fs::OpenOptions::new().write(true).open(place(log));
                file.and_then(|file| {
                    let length = file.metadata()?.len();
                    file.set_len(length * u64::from(*at) / u64::from(u16::MAX))
                })
            }
            Action::Replace(log, number) => {
                let new = self.folder.path().join("new");
                fs::write(&new, line(*number) + "\n").and_then(|()| fs::rename(new, place(log)))
            }
            Action::Overwrite(log, digit) => fs::read_to_string(place(log)).and_then(|text| {
                let path = place(log);
                let modified = fs::metadata(&path)?.modified()?;
                // Numbers of one digit in place of others, at the same places.
                let from = format!("\"output_tokens\":{}", (digit + 1) % 10);
                let to = format!("\"output_tokens\":{digit}");
                fs::write(&path, text.replace(&from, &to))?;
                std::fs::File::options().write(true).open(path)?.set_modified(modified)
            }),
            Action::Rename(from, to) => fs::rename(place(from), place(to)),
            Action::Copy(from, to) if from != to => fs::copy(place(from), place(to)).map(|_| ()),
            Action::Copy(..) => Ok(()),
            Action::Delete(log) => fs::remove_file(place(log)),
            Action::Ask => {
                self.compare();
                Ok(())
            }
            Action::Build => {
                let inventory = self.home.inventory();
                self.home.build_index(&inventory, &self.cache, false, &|_, _| {}).unwrap();
                Ok(())
            }
        };
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_to_the_logs_the_figures_are_those_of_the_logs(
        actions in proptest::collection::vec(action(), 5..30),
        is_slow in any::<bool>(),
    ) {
        let world = World::new(tempfile::tempdir().unwrap());
        world.make_index();
        for (place, action) in actions.iter().enumerate() {
            world.act(action);
            // Fast changes leave states that are in doubt, slow ones those that are kept.
            if is_slow && place % 4 == 0 {
                world.wait();
            }
        }
        world.compare();
    }
}
