//! Tables that cannot be used say why.

use recto_lake::Lake;
use recto_lake::LakeError;
use recto_lake::cache::Cache;
use recto_lake::library::needs;
use recto_lake::query::ask;
use recto_lake::query::ask_within;

use crate::team::Machine;
use crate::team::ONE;
use crate::team::OTHER;
use crate::team::Team;
use crate::team::prices;

fn built() -> Team {
    let (team, alice) = (Team::new(), Machine::new("alice"));
    alice.write(ONE, 2);
    alice.send(&team.store);
    team.build();
    alice.write(OTHER, 2);
    alice.send(&team.store);
    team.build();
    team
}

fn load(team: &Team, sql: &str) -> Result<Vec<String>, LakeError> {
    let mut cache = Cache::open(&team.folder.path().join("other.sqlite")).unwrap();
    Lake::load(&team.store, &mut cache, &needs(sql).unwrap(), 100, &mut |_, _| {})
}

#[test]
fn a_store_without_tables_says_how_to_make_them() {
    let team = Team::new();
    let error = Lake::status(&team.store).unwrap_err();
    assert_eq!(error.kind(), "no-tables");
    assert!(error.hint().unwrap().contains("recto lake build --store"), "{error}");
}

#[test]
fn a_damaged_file_is_named_and_the_rest_is_read() {
    let team = built();
    let file = Lake::files(&team.store, recto_lake::schema::Table::Usage).unwrap().remove(0);
    std::fs::write(&file, b"PAR1 not any more").unwrap();
    let damaged = load(&team, "SELECT * FROM usage").unwrap();
    assert_eq!(damaged.len(), 1);
    assert!(damaged[0].contains(".parquet is damaged"), "{damaged:?}");
    std::fs::remove_file(&file).unwrap();
    assert!(load(&team, "SELECT * FROM usage").unwrap()[0].contains("the file is missing"));
    assert_eq!(load(&team, "SELECT * FROM lines").unwrap(), Vec::<String>::new());
}

#[test]
fn a_file_with_one_wrong_bit_is_named_and_never_merged() {
    let team = built();
    let count = "SELECT SUM(output_tokens) AS n FROM usage";
    let sound = team.number(count);
    let file = Lake::files(&team.store, recto_lake::schema::Table::Usage).unwrap().remove(0);
    let bytes = std::fs::read(&file).unwrap();
    for at in (0..bytes.len()).step_by(bytes.len() / 60) {
        let mut wrong = bytes.clone();
        wrong[at] ^= 1 << (at % 8);
        std::fs::write(&file, wrong).unwrap();
        let damaged = load(&team, "SELECT * FROM usage").unwrap();
        assert_eq!(damaged.len(), 1, "at {at}");
        let merged = Lake::optimize(&team.store, 2).unwrap_err();
        assert_eq!(merged.kind(), "damaged-table", "at {at}");
    }
    std::fs::write(&file, bytes).unwrap();
    assert_eq!(team.number(count), sound);
}

#[test]
fn a_damaged_log_entry_and_a_newer_table_are_named() {
    let team = built();
    let log = team.folder.path().join("store/lake/v1/t1/usage/_delta_log");
    let next = log.join(format!("{:020}.json", 2));
    std::fs::write(&next, b"{\"add\":{\"pa").unwrap();
    let error = load(&team, "SELECT * FROM usage").unwrap_err();
    assert_eq!(error.kind(), "damaged-table");
    assert!(error.to_string().contains("00000000000000000002.json is damaged"), "{error}");
    std::fs::write(&next, b"{\"protocol\":{\"minReaderVersion\":3,\"minWriterVersion\":7}}\n")
        .unwrap();
    let error = load(&team, "SELECT * FROM usage").unwrap_err();
    assert_eq!((error.kind(), error.hint().as_deref()), ("newer-table", Some("update recto")));
}

#[test]
fn a_version_that_is_lost_is_named_and_nobody_takes_its_place() {
    for (lost, versions) in [(1, 4), (2, 15)] {
        let (team, alice) = (Team::new(), Machine::new("alice"));
        for turns in 1..=versions {
            alice.write(ONE, turns);
            alice.send(&team.store);
            team.build();
        }
        let log = team.folder.path().join("store/lake/v1/t1/lines/_delta_log");
        std::fs::remove_file(log.join(format!("{lost:020}.json"))).unwrap();
        let missing = |error: LakeError| {
            let text = error.to_string();
            assert!(text.contains(&format!("{lost:020}.json is damaged")), "{text}");
            assert!(text.contains("this version is missing"), "{text}");
        };
        missing(Lake::status(&team.store).unwrap_err());
        alice.write(ONE, versions + 1);
        alice.send(&team.store);
        missing(Lake::build(&team.store, &prices(), &mut |_, _| {}).unwrap_err());
        assert_eq!(team.versions("lines"), versions - 1);
        if versions - lost < 8 {
            missing(load(&team, "SELECT off FROM lines").unwrap_err());
        }
        Lake::rebuild(&team.store, &prices(), &mut |_, _| {}).unwrap();
        assert_eq!(team.repeated(), 0);
    }
}

#[test]
fn what_a_stranger_writes_into_the_store_is_refused_at_once() {
    let team = built();
    let file = Lake::files(&team.store, recto_lake::schema::Table::Usage).unwrap().remove(0);
    let current = team.folder.path().join("store/lake/v1/current");
    for (name, tables, shards) in
        [(99_999_999_999_u64, 99_999_999_999_u64, 4_u64), (2, 99, 4), (2, 2, 1 << 40), (2, 2, 0)]
    {
        let forged = current.join(format!("{name:020}.json"));
        let text = format!("{{\"form\":1,\"tables\":{tables},\"shards\":{shards}}}");
        std::fs::write(&forged, text).unwrap();
        let now = jiff::Timestamp::now();
        let all = [
            Lake::status(&team.store).map(drop),
            Lake::build(&team.store, &prices(), &mut |_, _| {}).map(drop),
            Lake::vacuum(&team.store, jiff::SignedDuration::ZERO, true, now).map(drop),
        ];
        for answer in all {
            let error = answer.unwrap_err();
            assert_eq!(error.kind(), "damaged-table", "{tables} {shards}");
            assert!(error.hint().unwrap().starts_with("delete this object"), "{error}");
        }
        // What helps is what is said.
        std::fs::remove_file(forged).unwrap();
        Lake::status(&team.store).unwrap();
    }
    let log = team.folder.path().join("store/lake/v1/t1/usage/_delta_log");
    for path in ["../../../raw/v1/x.parquet", "/etc/passwd", "..", "..\\\\x"] {
        let next = log.join(format!("{:020}.json", 2));
        let add = format!("{{\"add\":{{\"path\":\"{path}\",\"size\":1}}}}\n");
        std::fs::write(&next, add).unwrap();
        let error = Lake::files(&team.store, recto_lake::schema::Table::Usage).unwrap_err();
        assert!(error.to_string().contains("leaves the table"), "{error}");
        std::fs::remove_file(next).unwrap();
    }
    assert!(std::path::Path::new(&file).exists());
}

#[test]
fn a_damaged_segment_is_named_once_and_the_rest_is_in_the_tables() {
    let (team, alice) = (Team::new(), Machine::new("alice"));
    alice.write(ONE, 2);
    alice.write(OTHER, 2);
    alice.send(&team.store);
    let path = team.objects("raw/v1").remove(0);
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 5;
    bytes[last] ^= 0x55;
    std::fs::write(&path, bytes).unwrap();
    let report = team.build();
    assert_eq!((report.segments, report.damaged.len()), (2, 1));
    assert_eq!(team.number("SELECT COUNT(*) AS n FROM segments WHERE problem IS NOT NULL"), 1);
    assert!(team.number("SELECT COUNT(*) AS n FROM lines") > 0);
    assert_eq!(team.build().segments, 0);
}

#[test]
fn queries_that_are_wrong_are_explained_and_none_can_write() {
    let (alice, folder) = (Machine::new("alice"), tempfile::tempdir().unwrap());
    alice.write(ONE, 1);
    let cache = Cache::open(&folder.path().join("q.sqlite")).unwrap();
    let reader = cache.into_reader().unwrap();
    let failed = |sql: &str| ask(&reader, sql, 10).unwrap_err();
    let column = failed("SELECT tokens_input FROM usage");
    assert!(column.hint().unwrap().starts_with("similar names: input_tokens"), "{column}");
    let table = failed("SELECT * FROM session");
    assert!(table.hint().unwrap().contains("sessions"), "{table}");
    let quoted = failed("SELECT COUNT(*) FROM lines WHERE \"projct\" = 'x'");
    assert!(quoted.hint().unwrap().starts_with("similar names: project"), "{quoted}");
    for sql in [
        "DELETE FROM lines_rows",
        "DROP TABLE lines_rows",
        "ATTACH 'x' AS y",
        "PRAGMA x",
        "PRAGMA user_version",
        "SELECT * FROM pragma_user_version",
        "SAVEPOINT x",
        "VACUUM INTO 'x'",
        "-- nothing",
        "",
    ] {
        assert_eq!(failed(sql).kind(), "bad-query", "{sql}");
    }
    assert_eq!(failed("SELECT 1; DELETE FROM lines_rows").kind(), "bad-query");
    // A value that does not fit into memory is not made.
    assert_eq!(failed("SELECT LENGTH(zeroblob(900000000)) AS n").kind(), "bad-query");
}

#[test]
fn a_query_without_an_end_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let mut reader = Cache::open(&folder.path().join("q.sqlite")).unwrap().into_reader().unwrap();
    let endless = "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) ";
    for end in ["SELECT COUNT(*) AS n FROM x", "SELECT n FROM x ORDER BY n", "SELECT n FROM x"] {
        let patience = Some(std::time::Duration::from_millis(300));
        let error = ask_within(&mut reader, &format!("{endless}{end}"), usize::MAX, patience);
        assert_eq!(error.unwrap_err().kind(), "query-timeout", "{end}");
    }
    // What is asked next has its own time, and rows that are enough end a query.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let patience = Some(std::time::Duration::from_secs(60));
    let few = ask_within(&mut reader, &format!("{endless}SELECT n FROM x"), 3, patience).unwrap();
    assert_eq!((few.rows.len(), few.is_cut), (3, true));
}

#[test]
fn a_store_that_cannot_be_reached_or_ignores_conditions_is_refused() {
    let fake = recto_testkit::FakeS3::start();
    let store =
        recto_collect::Store::open(&fake.url("lake"), &recto_testkit::FakeS3::variables()).unwrap();
    fake.ignore_conditions(true);
    let error = Lake::build(&store, &prices(), &mut |_, _| {}).unwrap_err();
    assert_eq!(error.kind(), "unconditional-store");
    fake.ignore_conditions(false);
    Lake::build(&store, &prices(), &mut |_, _| {}).unwrap();
}
