//! Queries, logs and files of the index that are out of the ordinary.

use std::ops::ControlFlow;
use std::time::Duration;
use std::time::SystemTime;

use fs_err as fs;
use recto_session::search::Query;

use super::index_tests::ID;
use super::index_tests::World;
use super::index_tests::all_of;
use super::index_tests::prompt;
use super::*;

fn find(world: &World, request: &Request<'_>) -> Answer {
    let tell = |_, _| ControlFlow::Continue(());
    world.home.find(&world.home.inventory(), &world.cache, request, &tell)
}

#[test]
fn the_deepest_query_that_is_allowed_is_asked_of_the_index() {
    let world = World::new();
    world.write(&format!("{ID}.jsonl"), &prompt("a needle"));
    assert_eq!(world.places("needle").len(), 1);
    let nest = |inner: &str, wrap: &dyn Fn(&str) -> String| {
        (0..10).fold(inner.to_owned(), |inner, _| wrap(&inner))
    };
    let words: Vec<String> = (0..2000).map(|number| format!("w{number}")).collect();
    for query in [
        nest("needle", &|inner| format!("(a {inner})")),
        nest("needle", &|inner| format!("({inner} a)")),
        nest("needle", &|inner| format!("(absent OR a {inner})")),
        // Refused by turns, ten times.
        nest("needle", &|inner| format!("(a -{inner})")),
        nest("absent", &|inner| format!("(absent OR a -(needle {inner}))").replacen('(', "", 1))
            .replace("))", ")"),
        nest("needle", &|inner| format!("(absent OR x -y OR a z* OR \"a needle\" {inner})")),
        format!("needle OR {}", words.join(" OR ")),
        format!("needle -{}", words.join(" -")),
    ] {
        let Ok(parsed) = Query::parse(&query) else { panic!("{query}") };
        let by_index = find(&world, &all_of(&parsed));
        assert_eq!(by_index.remarks, [""; 0], "{query}");
        let nowhere = crate::CacheDirectory::new(world.log(&format!("{ID}.jsonl")).join("x"));
        let by_scan = world.answer_from(&nowhere, &query);
        assert_eq!(by_index.total, by_scan.total, "{query}");
    }
}

/// Readers that held lines of other lengths would differ about a log.
#[test]
fn a_line_below_the_cap_is_found_read_and_counted_by_all() {
    let world = World::new();
    let picture = "A".repeat(recto_log::DEFAULT_LINE_CAP * 2 / 3);
    let line = format!(
        r#"{{"type":"assistant","uuid":"u","picture":"{picture}","message":{{"id":"m","model":"x","stop_reason":"end_turn","content":[{{"type":"text","text":"a needle"}}],"usage":{{"input_tokens":5,"output_tokens":7}}}}}}"#
    );
    world.write(&format!("{ID}.jsonl"), &line);
    let hits = world.hits("needle");
    let texts: Vec<_> = hits.iter().filter_map(Hit::read).map(|hit| hit.text).collect();
    assert_eq!(texts, ["a needle"]);
    for cache in [None, Some(&world.cache)] {
        let scan = crate::UsageScan::default();
        let usage = world.home.usage(&world.home.inventory(), &scan, cache, &|_, _| {});
        assert_eq!(usage.ledger.records().len(), 1);
    }
    let loaded = crate::Loaded::read(&world.log(&format!("{ID}.jsonl"))).unwrap();
    assert!(loaded.with_entry(recto_session::NodeId(0), |_| ()).is_some());
}

#[test]
fn an_expression_that_fts5_does_not_take_is_no_damage() {
    let connection = rusqlite::Connection::open_in_memory().unwrap();
    connection.execute_batch("CREATE VIRTUAL TABLE texts USING fts5 (text)").unwrap();
    let trouble_of = |sql: &str, expression: &str| {
        let asked = connection.query_row(sql, [expression], |row| row.get::<_, i64>(0));
        IndexError::from(asked.unwrap_err())
    };
    let sql = "SELECT rowid FROM texts WHERE texts MATCH ?1";
    let long = "(a AND ".repeat(200);
    assert!(matches!(trouble_of(sql, &long), IndexError::Refused { .. }));
    assert!(matches!(trouble_of(sql, "a AND"), IndexError::Refused { .. }));
    let missing = "SELECT rowid FROM missing WHERE missing MATCH ?1";
    assert!(matches!(trouble_of(missing, "a"), IndexError::Damaged { .. }));
}

#[test]
fn an_index_that_is_damaged_inside_is_rebuilt_when_that_is_asked_for() {
    let world = World::new();
    for number in 0..40 {
        let name = format!("{number:08}{}.jsonl", &ID[8..]);
        world.write(&name, &prompt(&format!("needle {number} of many")).repeat(50));
    }
    assert_eq!(world.places("needle").len(), 2000);
    let index = Index::open(&world.home, &world.cache).unwrap();
    index.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(index);
    let mut bytes = fs::read(world.index_path()).unwrap();
    // The first pages say what tables there are, and stay.
    for page in bytes.chunks_mut(4096).skip(12).step_by(3) {
        page.fill(0xff);
    }
    for end in ["-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{end}", world.index_path().display()));
    }
    fs::write(world.index_path(), bytes).unwrap();
    let inventory = world.home.inventory();
    let built = world.home.build_index(&inventory, &world.cache, /* anew */ true, &|_, _| {});
    assert!(built.unwrap().is_empty());
    let verified = world.home.verify_index(&inventory, &world.cache, &|_, _| {}).unwrap();
    assert_eq!((verified.documents, verified.differences), (2000, Vec::new()));
}

#[test]
fn the_best_hits_of_a_time_are_looked_for_in_that_time() {
    let world = World::new();
    let start: jiff::Timestamp = "2026-10-01T00:00:00Z".parse().unwrap();
    let minute = |number: i64| start + jiff::SignedDuration::from_mins(number);
    let line = |number: i64| {
        let time = minute(number);
        format!(
            r#"{{"type":"user","timestamp":"{time}","message":{{"content":"a quokka"}}}}{}"#,
            "\n"
        )
    };
    world.write(&format!("{ID}.jsonl"), &(0..6000).map(line).collect::<String>());
    let query = Query::parse("quokka").unwrap();
    let until = Some(minute(120).as_millisecond());
    for sorting in [Sorting::Newest, Sorting::Rank] {
        let answer = find(&world, &Request { sorting, until, ..all_of(&query) });
        assert_eq!((answer.total, answer.hits.len()), (120, 120), "{sorting:?}");
    }
    // Without a time, the newest ones are looked at.
    let answer = find(&world, &Request { sorting: Sorting::Rank, ..all_of(&query) });
    assert_eq!((answer.total, answer.hits.len()), (6000, 5000));
    assert!(answer.hits.iter().all(|hit| hit.line > 1000));
}

#[test]
fn a_log_that_was_written_in_place_is_read_again_wherever_it_was_changed() {
    let world = World::new();
    let names = [format!("{ID}.jsonl"), format!("4{}.jsonl", &ID[1..])];
    let filler = prompt(&"filler ".repeat(100)).repeat(300);
    let text = format!("{filler}{}{filler}", prompt("a customer"));
    world.write(&names[0], &text);
    assert_eq!(world.places("customer").len(), 1);
    for (minutes, word) in [(1, "kustomer"), (2, "custamer")] {
        let path = world.log(&names[0]);
        fs::write(&path, text.replace("customer", word)).unwrap();
        let then = SystemTime::now() - Duration::from_secs(60 * minutes);
        std::fs::File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
        // The second time it has another name, too.
        if minutes == 2 {
            fs::rename(&path, world.log(&names[1])).unwrap();
        }
        assert_eq!(world.places(word).len(), 1, "{word}");
        assert_eq!(world.places("customer").len(), 0, "{word}");
    }
    let verified = world.home.verify_index(&world.home.inventory(), &world.cache, &|_, _| {});
    assert_eq!(verified.unwrap().differences, []);
}

#[test]
fn words_that_are_not_those_of_the_log_are_a_difference() {
    let world = World::new();
    world.write(&format!("{ID}.jsonl"), &prompt("one two three four five six seven"));
    assert_eq!(world.places("seven").len(), 1);
    let index = Index::open(&world.home, &world.cache).unwrap();
    index.connection.execute_batch("UPDATE documents SET sum = sum + 1").unwrap();
    let verified = world.home.verify_index(&world.home.inventory(), &world.cache, &|_, _| {});
    let what: Vec<String> = verified.unwrap().differences.into_iter().map(|one| one.what).collect();
    assert_eq!(what, ["line 1 differs from the index"]);
}

#[test]
fn a_log_that_grows_while_it_is_compared_is_no_difference() {
    let world = World::new();
    let names = [format!("{ID}.jsonl"), format!("4{}.jsonl", &ID[1..])];
    for name in &names {
        world.write(name, &prompt("a needle"));
    }
    assert_eq!(world.places("needle").len(), 2);
    let (inventory, grows) = (world.home.inventory(), std::cell::Cell::new(true));
    let verified = world.home.verify_index(&inventory, &world.cache, &|_, _| {
        if grows.replace(false) {
            for name in &names {
                world.append(name, &prompt("another needle"));
            }
        }
    });
    let verified = verified.unwrap();
    assert_eq!(verified.differences, []);
    assert_eq!(verified.logs + verified.changed, 2);
    assert!(verified.changed > 0);
}

#[test]
fn the_session_of_a_subagent_is_known_when_its_first_line_is_whole() {
    let world = World::new();
    let line = format!(
        r#"{{"type":"user","isSidechain":true,"sessionId":"{ID}","agentId":"abcd1234","message":{{"content":"a needle"}}}}"#
    );
    world.write("agent-abcd1234.jsonl", &line[..40]);
    assert_eq!(world.places("needle").len(), 0);
    world.append("agent-abcd1234.jsonl", &line[40..]);
    let hits = world.hits("needle");
    assert_eq!(hits[0].session.map(|session| session.to_string()).as_deref(), Some(ID));
}

#[test]
fn a_lock_that_cannot_be_taken_does_not_hide_the_status() {
    let world = World::new();
    world.write(&format!("{ID}.jsonl"), &prompt("a needle"));
    assert_eq!(world.places("needle").len(), 1);
    let lock = Index::lock_path(&world.home, &world.cache);
    let _ = fs::remove_file(&lock);
    fs::create_dir(&lock).unwrap();
    let status = world.home.index_status(&world.home.inventory(), &world.cache).unwrap();
    assert_eq!((status.documents, status.is_being_built), (1, false));
}
