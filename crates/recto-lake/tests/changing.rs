//! Tables that are merged, erased from, cleaned and rebuilt.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arrow_array::Array;
use arrow_array::StringArray;
use arrow_array::StructArray;
use jiff::SignedDuration;
use jiff::Timestamp;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use recto_collect::Forget;
use recto_lake::EraseOptions;
use recto_lake::EraseReport;
use recto_lake::Lake;
use recto_lake::cache::Cache;
use recto_lake::library::needs;
use recto_lake::query::Value;
use recto_lake::query::ask;
use recto_lake::schema::Table;
use recto_store::keep::SegmentReader;

use crate::team::Machine;
use crate::team::ONE;
use crate::team::OTHER;
use crate::team::Team;
use crate::team::all_answers;
use crate::team::prices;

const LINES: &str = "SELECT COUNT(*) AS n FROM lines";

/// A team of two, in several batches.
fn team() -> (Team, Machine, Machine) {
    let (team, alice, bob) = (Team::new(), Machine::new("alice"), Machine::new("bob"));
    for turns in 1..=4 {
        alice.write(ONE, turns);
        bob.write(OTHER, turns);
        alice.send(&team.store);
        bob.send(&team.store);
        team.build();
    }
    (team, alice, bob)
}

fn live(team: &Team) -> BTreeSet<String> {
    let files = Table::ALL.into_iter().flat_map(|table| Lake::files(&team.store, table).unwrap());
    files.collect()
}

#[test]
fn merged_tables_answer_the_same_with_fewer_files() {
    let (team, ..) = team();
    let before = all_answers(|sql| team.ask(sql));
    let files = live(&team).len();
    let report = Lake::optimize(&team.store, 2).unwrap();
    assert!(report.before > report.after && report.tables.len() == 4, "{report:?}");
    assert!(live(&team).len() < files);
    assert_eq!(all_answers(|sql| team.ask(sql)), before);
    // Files that were replaced are kept for readers, then go.
    let now = Timestamp::now();
    let kept = Lake::vacuum(&team.store, SignedDuration::from_hours(1), true, now).unwrap();
    assert_eq!(kept.files, 0);
    let gone = Lake::vacuum(&team.store, SignedDuration::ZERO, true, now).unwrap();
    assert_eq!(gone.files, report.before);
    assert_eq!(all_answers(|sql| team.ask(sql)), before);
}

#[test]
fn a_person_who_is_erased_leaves_nothing_and_does_not_come_back() {
    let (team, alice, bob) = team();
    Lake::optimize(&team.store, 2).unwrap();
    let of_bob = team.number("SELECT COUNT(*) AS n FROM lines WHERE user_id = 'bob'");
    let what = Forget::User("alice".to_owned());
    let planned = erase(&team, &what, false);
    assert!(planned.rows > 0 && team.number(LINES) > of_bob);
    let before = traces(&team, &alice);
    assert!(before.len() > 6, "the search finds what is there: {before:?}");
    let erased = erase(&team, &what, true);
    assert_eq!((erased.rows, erased.raw.files), (planned.rows, 1));
    assert_eq!(team.number(LINES), of_bob);
    // Files of now are left, and old ones of others for their readers; no segment of hers.
    let data = team.objects("lake/v1/t1").into_iter().filter(|path| {
        path.extension().is_some_and(|end| end == "parquet")
            && !path.to_string_lossy().contains("_delta_log")
    });
    let data: BTreeSet<String> = data.map(|path| path.display().to_string()).collect();
    assert!(data.is_superset(&live(&team)), "{data:?}");
    assert_eq!(team.objects(&format!("raw/v1/machine={}", alice.id())).len(), 0);
    // The note that keeps it away names her machine, the record says who was erased.
    let left = traces(&team, &alice);
    let is_note = |path: &str| path.starts_with("audit/") || path.starts_with("forgotten/");
    let left: Vec<String> = left.into_iter().filter(|path| !is_note(path)).collect();
    assert_eq!(left, Vec::<String>::new());
    // Her machine sends again what it has; bob goes on.
    alice.send(&team.store);
    bob.write(OTHER, 6);
    bob.send(&team.store);
    team.build();
    assert_eq!(team.number("SELECT COUNT(*) AS n FROM lines WHERE user_id = 'alice'"), 0);
    assert!(team.number(LINES) > of_bob);
    Lake::rebuild(&team.store, &prices(), &mut |_, _| {}).unwrap();
    assert_eq!(team.number("SELECT COUNT(*) AS n FROM lines WHERE user_id = 'alice'"), 0);
}

fn erase(team: &Team, what: &Forget, really: bool) -> EraseReport {
    erase_with(team, what, really, Duration::ZERO)
}

fn erase_with(team: &Team, what: &Forget, really: bool, grace: Duration) -> EraseReport {
    let options = EraseOptions { really, by: "root", now: Timestamp::now(), grace };
    Lake::erase(&team.store, what, &options).unwrap()
}

/// Objects that have a person's name, machine or session in them, or in their own names: segments
/// and tables are unpacked for it.
fn traces(team: &Team, person: &Machine) -> Vec<String> {
    let root = team.folder.path().join("store");
    let words = ["alice".to_owned(), person.id(), ONE.to_owned()];
    let mut found = Vec::new();
    for path in team.objects("") {
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        let mut text = name.clone().into_bytes();
        text.extend(std::fs::read(&path).unwrap());
        if name.ends_with(".parquet") {
            text.extend(texts_of(&path));
        } else if name.starts_with("raw/") {
            let file = std::fs::File::open(&path).unwrap();
            if let Ok(reader) = SegmentReader::of_stranger(file, &name) {
                text.extend(format!("{:?}", reader.header).into_bytes());
                reader
                    .read_all(&path, |piece| {
                        text.extend_from_slice(piece);
                        Ok(())
                    })
                    .unwrap();
            }
        }
        let has = |word: &String| text.windows(word.len()).any(|part| part == word.as_bytes());
        if words.iter().any(has) {
            found.push(name);
        }
    }
    found
}

/// All texts of a Parquet file, those within structures too.
fn texts_of(path: &Path) -> Vec<u8> {
    fn add(array: &dyn Array, texts: &mut Vec<u8>) {
        if let Some(strings) = array.as_any().downcast_ref::<StringArray>() {
            strings.iter().flatten().for_each(|text| texts.extend_from_slice(text.as_bytes()));
        } else if let Some(parts) = array.as_any().downcast_ref::<StructArray>() {
            parts.columns().iter().for_each(|part| add(part, texts));
        }
    }
    let file = std::fs::File::open(path).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    let mut texts = Vec::new();
    for batch in reader {
        batch.unwrap().columns().iter().for_each(|column| add(column, &mut texts));
    }
    texts
}

#[test]
fn a_person_is_erased_from_a_store_beyond_this_machine() {
    let fake = recto_testkit::FakeS3::start();
    let variables = recto_testkit::FakeS3::variables();
    let store = recto_collect::Store::open(&fake.url("lake"), &variables).unwrap();
    let alice = Machine::new("alice");
    alice.write(ONE, 2);
    alice.send(&store);
    Lake::build(&store, &prices(), &mut |_, _| {}).unwrap();
    let options =
        EraseOptions { really: true, by: "root", now: Timestamp::now(), grace: Duration::ZERO };
    let begun = std::time::Instant::now();
    let erased = Lake::erase(&store, &Forget::User("alice".to_owned()), &options).unwrap();
    assert!(erased.rows > 0 && erased.raw.objects > 0, "{erased:?}");
    let session = Forget::Session(OTHER.parse().unwrap());
    Lake::erase(&store, &session, &options).unwrap();
    // A connection that nobody works on is waited for in vain, for minutes.
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    let rows: u64 = Lake::status(&store).unwrap()[..4].iter().map(|table| table.rows).sum();
    assert_eq!((rows, fake.keys("lake/raw/").len()), (0, 0));
}

#[test]
fn readers_that_are_open_keep_working_while_a_person_is_erased() {
    let (team, _, bob) = team();
    let of_bob = team.number("SELECT COUNT(*) AS n FROM lines WHERE user_id = 'bob'");
    // One has asked before, and holds its connection.
    let mut cache = Cache::open(&team.folder.path().join("open.sqlite")).unwrap();
    Lake::load(&team.store, &mut cache, &needs(LINES).unwrap(), 100, &mut |_, _| {}).unwrap();
    let (reader, all) = (cache.into_reader().unwrap(), team.number(LINES));
    // Others load again and again from the beginning, meanwhile.
    let what = Forget::User("alice".to_owned());
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let loading = scope.spawn(|| {
            let mut seen = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                let path = team.folder.path().join(format!("new-{}.sqlite", seen.len()));
                let mut cache = Cache::open(&path).unwrap();
                let damaged = Lake::load(
                    &team.store,
                    &mut cache,
                    &needs(LINES).unwrap(),
                    100,
                    &mut |_, _| {},
                );
                assert_eq!(damaged.unwrap(), Vec::<String>::new());
                let answer = ask(&cache.into_reader().unwrap(), LINES, 1).unwrap();
                seen.push(answer.rows[0][0].clone());
            }
            seen
        });
        erase(&team, &what, true);
        is_over.store(true, Ordering::Relaxed);
        let [before, after] = [all, of_bob].map(Value::Integer);
        for count in loading.join().unwrap() {
            assert!(count == before || count == after, "{count:?}");
        }
    });
    assert_eq!(ask(&reader, LINES, 1).unwrap().rows, [[Value::Integer(all)]]);
    bob.write(OTHER, 5);
}

#[test]
fn an_engine_that_knows_the_old_files_can_read_them_until_the_grace_is_over() {
    let (team, ..) = team();
    let known = Lake::files(&team.store, Table::Lines).unwrap();
    let what = Forget::User("alice".to_owned());
    std::thread::scope(|scope| {
        let erasing = scope.spawn(|| erase_with(&team, &what, true, Duration::from_secs(5)));
        // Once the rows are gone from the table, its old files are still there.
        while Lake::files(&team.store, Table::Lines).unwrap() == known {
            std::thread::yield_now();
        }
        for file in &known {
            assert!(!texts_of(Path::new(file)).is_empty(), "{file}");
        }
        assert!(erasing.join().unwrap().rows > 0);
    });
    let gone = known.iter().filter(|file| !Path::new(file).exists()).count();
    assert_eq!(gone, 4, "hers are removed, his are left");
}

#[test]
fn a_session_is_erased_and_others_stay() {
    let (team, ..) = team();
    let others = team.number(&format!("{LINES} WHERE session_id <> '{ONE}'"));
    let what = Forget::Session(ONE.parse().unwrap());
    assert!(erase(&team, &what, true).rows > 0);
    assert_eq!(team.number(LINES), others);
}

#[test]
fn rows_that_are_erased_while_builders_work_are_gone_at_the_end() {
    let (team, alice, bob) = team();
    alice.write(ONE, 9);
    bob.write(OTHER, 9);
    alice.send(&team.store);
    bob.send(&team.store);
    let what = Forget::User("alice".to_owned());
    std::thread::scope(|scope| {
        scope.spawn(|| team.build());
        scope.spawn(|| team.build());
        scope.spawn(|| Lake::optimize(&team.store, 2).unwrap());
        scope.spawn(|| erase(&team, &what, true));
    });
    team.build();
    let lines = std::fs::read_to_string(bob.log(OTHER)).unwrap().lines().count() as i64;
    assert_eq!((team.number(LINES), team.repeated()), (lines, 0));
}

#[test]
fn rebuilt_tables_answer_the_same_and_the_old_ones_go_later() {
    let (team, ..) = team();
    let before = all_answers(|sql| team.ask(sql));
    let report = Lake::rebuild(&team.store, &prices(), &mut |_, _| {}).unwrap();
    assert_eq!(report.segments, 8);
    assert!(Lake::files(&team.store, Table::Lines).unwrap()[0].contains("/t2/lines/"));
    assert_eq!(all_answers(|sql| team.ask(sql)), before);
    assert_eq!(team.build().segments, 0);
    let now = Timestamp::now() + SignedDuration::from_secs(5);
    Lake::vacuum(&team.store, SignedDuration::ZERO, true, now).unwrap();
    assert_eq!(team.objects("lake/v1/t1").len(), 0);
    assert_eq!(all_answers(|sql| team.ask(sql)), before);
}

#[test]
fn a_table_with_many_commits_is_read_from_its_checkpoint() {
    let (team, alice) = (Team::new(), Machine::new("alice"));
    for turns in 1..=53 {
        alice.write(ONE, turns);
        alice.send(&team.store);
        team.build();
    }
    let logs = "lake/v1/t1/lines/_delta_log";
    let names: Vec<String> =
        team.objects(logs).iter().map(|path| path.display().to_string()).collect();
    assert!(names.iter().any(|name| name.ends_with("050.checkpoint.parquet")), "{names:?}");
    let lines = team.number(LINES);
    // The checkpoint says what the commits before it said.
    for version in 0..50 {
        let path = team.folder.path().join("store").join(logs).join(format!("{version:020}.json"));
        std::fs::remove_file(path).unwrap();
    }
    assert_eq!(Lake::status(&team.store).unwrap()[0].files, 53);
    assert_eq!(team.number(LINES), lines);
    assert_eq!(team.build().segments, 0);
}

fn truncate(path: &Path) {
    std::fs::OpenOptions::new().write(true).open(path).unwrap().set_len(900).unwrap();
}

const ALICE: &str = "SELECT COUNT(*) AS n FROM lines WHERE user_id = 'alice'";

#[test]
fn a_damaged_file_goes_with_the_person_who_may_be_in_it_and_the_rest_is_erased() {
    let (team, ..) = team();
    let blocks = "SELECT COUNT(*) AS n FROM blocks WHERE user_id = 'bob'";
    let (of_bob, blocks_of_bob) = (team.number(LINES) - team.number(ALICE), team.number(blocks));
    truncate(Path::new(&Lake::files(&team.store, Table::Blocks).unwrap().remove(0)));
    let what = Forget::User("alice".to_owned());
    let planned = erase(&team, &what, false);
    assert_eq!((planned.damaged.len(), team.objects("raw/v1").len()), (1, 8));
    let erased = erase(&team, &what, true);
    assert_eq!(erased.damaged.len(), 1);
    assert!(erased.damaged[0].contains("/blocks/"), "{:?}", erased.damaged);
    assert_eq!((team.number(LINES), team.number(ALICE)), (of_bob, 0));
    assert_eq!(team.build().segments, 0);
    assert_eq!(erase(&team, &what, true).damaged, Vec::<String>::new());
    Lake::rebuild(&team.store, &prices(), &mut |_, _| {}).unwrap();
    assert_eq!((team.number(LINES), team.number(blocks)), (of_bob, blocks_of_bob));
    assert_eq!(team.repeated(), 0);
}

#[test]
fn nothing_is_erased_from_tables_that_are_not_understood_and_a_rebuild_helps() {
    let (team, alice, _) = team();
    let what = Forget::User("alice".to_owned());
    let options =
        EraseOptions { really: true, by: "root", now: Timestamp::now(), grace: Duration::ZERO };
    let kind = || Lake::erase(&team.store, &what, &options).unwrap_err().kind();
    let log = team.folder.path().join("store/lake/v1/t1/usage/_delta_log");
    let newer = log.join(format!("{:020}.json", team.versions("usage")));
    std::fs::write(&newer, b"{\"protocol\":{\"minReaderVersion\":3,\"minWriterVersion\":7}}\n")
        .unwrap();
    assert_eq!(kind(), "newer-table");
    std::fs::remove_file(newer).unwrap();
    // Which segments are in the tables is not known without this one.
    truncate(Path::new(&Lake::files(&team.store, Table::Segments).unwrap().remove(0)));
    assert_eq!(kind(), "damaged-table");
    assert_eq!(team.objects("raw/v1").len(), 8);
    Lake::rebuild(&team.store, &prices(), &mut |_, _| {}).unwrap();
    assert!(erase(&team, &what, true).rows > 0);
    assert_eq!(team.objects("lake/v1/t1"), Vec::<std::path::PathBuf>::new());
    let left = traces(&team, &alice);
    let is_note = |path: &String| path.starts_with("audit/") || path.starts_with("forgotten/");
    assert!(left.iter().all(is_note), "{left:?}");
}
