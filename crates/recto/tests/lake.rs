//! `recto lake`: the tables of a team, as programs see them, and when builders are killed.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::serve;
use crate::serve::Served;
use crate::structure::collect_names;
use crate::structure::page;
use crate::support::FIX;
use crate::support::Run;
use crate::support::TestHome;
use crate::support::repository;

fn sent() -> (TestHome, String) {
    let test = TestHome::with_sessions();
    let url = test.work.path().join("store").display().to_string();
    let sent = run(&test, &["collect", "--to", &url]);
    assert_eq!(sent.code, 0, "{}", sent.shown());
    (test, url)
}

fn run(test: &TestHome, arguments: &[&str]) -> Run {
    let mut command = test.command(arguments);
    command.env("USER", "dev");
    test.finish(&mut command)
}

#[test]
fn a_store_becomes_tables_that_answer_like_the_home() {
    let (test, url) = sent();
    let built = run(&test, &["lake", "build", "--store", &url]);
    assert!(built.stdout.starts_with("added "), "{}", built.shown());
    let again = run(&test, &["lake", "build", "--store", &url]);
    assert_eq!(again.stdout, "the tables are up to date\n");
    for question in ["totals", "tool-failures", "cost-by-day", "turn-times"] {
        let here = run(&test, &["query", question, "--json"]);
        let there = run(&test, &["query", question, "--json", "--store", &url]);
        assert_eq!(here.stdout, there.stdout, "{question}: {}", there.shown());
    }
    let files = run(&test, &["lake", "files", "usage", "--store", &url]).stdout;
    let (_, below) = files.trim().split_once("/store/").unwrap();
    assert!(Path::new(&url).join(below).is_file(), "{files}");
    for engine in ["spark", "duckdb", "clickhouse", "trino", "polars"] {
        let ddl = run(&test, &["lake", "ddl", "--engine", engine, "--store", &url]);
        assert!(ddl.stdout.contains("/lake/v1/t1/usage"), "{engine}: {}", ddl.shown());
        assert!(ddl.stdout.contains("ROW_NUMBER() OVER"), "{engine}: {}", ddl.shown());
    }
}

#[test]
fn an_answer_without_a_damaged_file_has_exit_code_1() {
    let (test, url) = sent();
    run(&test, &["lake", "build", "--store", &url]);
    let count = ["query", "SELECT COUNT(*) AS n FROM usage", "--store", &url, "-q"];
    assert_eq!(run(&test, &count).code, 0);
    let files = run(&test, &["lake", "files", "usage", "--store", &url]).stdout;
    let (_, below) = files.trim().split_once("/store/").unwrap();
    fs::write(Path::new(&url).join(below), b"PAR1 not any more").unwrap();
    // What was loaded before the damage is still an answer.
    assert_eq!(run(&test, &count).code, 0);
    fs::remove_dir_all(test.user.path().join(".cache")).unwrap();
    assert_eq!(run(&test, &count).code, 1);
}

#[test]
fn a_directory_knows_who_archives_to_it_and_what_was_erased_does_not_come_back() {
    let (test, url) = sent();
    assert_eq!(run(&test, &["lake", "build", "--store", &url]).code, 0);
    let fleet = run(&test, &["fleet", "--json", "--store", &url]).json().remove(0);
    assert_eq!((fleet["user"].as_str(), fleet["waiting_bytes"].as_u64()), (Some("dev"), Some(0)));
    let users = run(&test, &["query", "cost-by-user", "--json", "--store", &url]).json();
    assert!(users.iter().all(|row| row["user_name"] == "dev"), "{users:?}");
    let erased = run(&test, &["lake", "erase", "--user", "dev", "--yes", "--store", &url]);
    assert_eq!(erased.code, 0, "{}", erased.shown());
    // A log that goes on, one that is new, and one that is deleted.
    let log = |id: &str| test.home.path().join(format!("projects/-home-dev-app/{id}.jsonl"));
    let text = fs::read_to_string(log(FIX)).unwrap();
    fs::write(log(FIX), format!("{text}{{\"type\":\"user\",\"uuid\":\"later\"}}\n")).unwrap();
    let new = "5f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";
    fs::write(log(new), "{\"type\":\"user\",\"uuid\":\"new\"}\n").unwrap();
    assert_eq!(run(&test, &["collect", "--to", &url]).code, 0);
    fs::remove_file(log(FIX)).unwrap();
    assert_eq!(run(&test, &["collect", "--to", &url]).code, 0);
    let fleet = run(&test, &["fleet", "--json", "--store", &url]).json().remove(0);
    assert_eq!(fleet["files"], 1, "{fleet}");
    run(&test, &["lake", "build", "--store", &url]);
    let uuids = run(&test, &["query", "SELECT uuid FROM lines", "--csv", "--store", &url]);
    assert_eq!(uuids.stdout, "uuid\nnew\n");
}

#[test]
fn a_directory_that_is_not_there_is_not_made() {
    let (test, url) = sent();
    let typo = format!("{url}-typo");
    let query = ["query", "SELECT off FROM lines"].as_slice();
    for arguments in [&["lake", "build"][..], &["lake", "status"], query] {
        let run = run(&test, &[arguments, &["--store", &typo]].concat());
        assert_eq!(run.code, 2, "{}", run.shown());
        assert!(run.stderr.contains("no such directory"), "{}", run.shown());
    }
    assert!(!Path::new(&typo).exists());
}

#[test]
fn every_field_of_the_tables_json_is_documented() {
    let (test, url) = sent();
    let page = page("json.md");
    for (heading, arguments) in [
        ("recto lake build", &["lake", "build", "--json", "--store", &url][..]),
        ("recto lake status", &["lake", "status", "--json", "--store", &url]),
        ("recto lake optimize", &["lake", "optimize", "--json", "--store", &url]),
        ("recto lake vacuum", &["lake", "vacuum", "--json", "--store", &url]),
        ("recto lake erase", &["lake", "erase", "--session", FIX, "--json", "--store", &url]),
    ] {
        let section = page.split_once(&format!("\n## {heading}\n")).unwrap().1;
        let section = section.split("\n## ").next().unwrap();
        let mut names = Vec::new();
        for line in run(&test, arguments).json() {
            collect_names(&line, "", &mut names);
        }
        assert!(names.len() >= 3, "{heading}: {names:?}");
        for name in names {
            assert!(section.contains(&format!("\n| `{name}` |")), "{heading} has no `{name}`");
        }
    }
}

#[test]
fn what_cannot_be_done_is_said_with_what_to_do() {
    let (test, url) = sent();
    let failed = |arguments: &[&str]| {
        let run = run(&test, arguments);
        assert_eq!(run.code, 2, "{}", run.shown());
        run.stderr
    };
    let none = failed(&["query", "totals", "--store", &url]);
    assert!(none.contains("has no tables") && none.contains("recto lake build"), "{none}");
    run(&test, &["lake", "build", "--store", &url]);
    let large = failed(&["query", "totals", "--limit-mb", "0", "--store", &url]);
    let command = "recto lake ddl --engine duckdb --store '[work]/store' > lake.sql";
    assert!(large.contains(command), "{large}");
    let engine = failed(&["lake", "ddl", "--engine", "ducdb", "--store", &url]);
    assert!(engine.contains("similar names: duckdb"), "{engine}");
    let table = failed(&["lake", "files", "line", "--store", &url]);
    assert!(table.contains("similar names: lines"), "{table}");
    let mut unreachable =
        test.command(&["lake", "build", "--store", "s3://b/x?endpoint=http://127.0.0.1:9"]);
    unreachable.env("AWS_ACCESS_KEY_ID", "any").env("AWS_SECRET_ACCESS_KEY", "any");
    let nowhere = test.finish(&mut unreachable).stderr;
    assert!(nowhere.contains("hint: check the address"), "{nowhere}");
    let column = failed(&["query", "SELECT usr_id FROM usage", "--store", &url]);
    assert!(column.contains("no such column: usr_id\nhint: similar names: user_id"), "{column}");
}

#[test]
fn without_credentials_it_says_what_to_set() {
    let test = TestHome::empty();
    // Where a cloud's machine has its credentials from; here there are none.
    let words = ["lake", "build", "--store", "s3://recto-test-none/x"];
    let mut command = test.command(&words);
    command.env("AWS_METADATA_ENDPOINT", "http://127.0.0.1:9/169.254.169.254");
    let run = test.finish(&mut command);
    assert_eq!(run.code, 2, "{}", run.shown());
    assert!(run.stderr.contains("no credentials were found"), "{}", run.shown());
    assert!(run.stderr.contains("hint: check the credentials: AWS_"), "{}", run.shown());
}

/// A server with a store, its address, and the cookie of a browser that was let in.
fn entered(test: &TestHome, url: &str) -> (Served, String, String) {
    let (served, address) = serve::start(test, &["--store", url]);
    let answer = serve::get(&address, "");
    let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    let cookie = format!("Cookie: {}\r\n", cookie.split(';').next().unwrap());
    (served, address.split("/login").next().unwrap().to_owned(), cookie)
}

#[test]
fn a_server_shows_the_store_of_a_team() {
    let (test, url) = sent();
    let team = |(_, base, cookie): &(Served, String, String)| {
        serve::get(&format!("{base}/team"), &format!("{cookie}Accept: text/html\r\n"))
    };
    let before = entered(&test, &url);
    let none = team(&before);
    assert!(none.starts_with("HTTP/1.1 502") && none.contains("recto lake build"), "{none}");
    assert!(serve::get(&format!("{}/team", before.1), "").starts_with("HTTP/1.1 401"));
    run(&test, &["lake", "build", "--store", &url]);
    let after = entered(&test, &url);
    let (_, base, cookie) = &after;
    let rows = serve::get(&format!("{base}/api/v1/team"), cookie);
    let rows = rows.split_once("\r\n\r\n").unwrap().1;
    let rows: serde_json::Value = serde_json::from_str(rows).unwrap();
    let fleet = run(&test, &["fleet", "--json", "--store", &url]).json();
    assert_eq!(rows["machines"][0]["machine"], fleet[0]["machine"], "{rows}");
    assert_eq!(rows["machines"][0]["stored_bytes"], fleet[0]["stored_bytes"], "{rows}");
    let answers = rows["answers"].as_array().unwrap();
    let names: Vec<&str> = answers.iter().map(|one| one["question"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["cost-by-week", "cost-by-project", "cost-by-user", "tool-failures", "waiting"]
    );
    // The same rows as on the command line.
    for answer in answers {
        let question = answer["question"].as_str().unwrap();
        let asked = run(&test, &["query", question, "--json", "--store", &url]).json();
        let columns = answer["columns"].as_array().unwrap();
        let cells = |row: &serde_json::Value| -> Vec<serde_json::Value> {
            columns.iter().map(|name| row[name.as_str().unwrap()].clone()).collect()
        };
        let asked: Vec<serde_json::Value> =
            asked.iter().map(|row| serde_json::Value::Array(cells(row))).collect();
        assert_eq!(answer["rows"], serde_json::Value::Array(asked), "{question}");
    }
    let page = team(&after);
    assert!(page.contains("recto query tool-failures") && page.contains("-home-dev-app"), "{page}");
}

/// How many lines all tables have of the home, and how many of them twice.
fn counted(test: &TestHome, url: &str) -> (i64, i64) {
    let sql = "SELECT COUNT(*) AS n, COUNT(*) - COUNT(DISTINCT machine || file_id || gen || off) \
               AS twice FROM lines";
    let answer = run(test, &["query", sql, "--json", "--store", url]);
    assert_eq!(answer.code, 0, "{}", answer.shown());
    let row = answer.json().remove(0);
    (row["n"].as_i64().unwrap(), row["twice"].as_i64().unwrap())
}

#[test]
fn builders_and_optimizers_that_are_killed_lose_and_double_nothing() {
    let test = TestHome::empty();
    let url = test.work.path().join("store").display().to_string();
    let log = test.home.path().join(format!("projects/-w/{FIX}.jsonl"));
    fs::create_dir_all(log.parent().unwrap()).unwrap();
    let kills: u64 = std::env::var("RECTO_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(12);
    let mut lines = 0;
    for round in 0..kills {
        let more = (0..5).map(|n| format!("{{\"type\":\"user\",\"uuid\":\"{round}-{n}\"}}\n"));
        let mut text = fs::read_to_string(&log).unwrap_or_default();
        text.extend(more);
        lines += 5;
        fs::write(&log, text).unwrap();
        assert_eq!(run(&test, &["collect", "--to", &url]).code, 0);
        for words in [
            &["lake", "build", "--store", &url][..],
            &["lake", "optimize", "--at-least", "2", "--store", &url],
        ] {
            let mut child =
                test.command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            thread::sleep(Duration::from_millis(round * 7 % 60));
            let _ = child.kill();
            child.wait().unwrap();
        }
    }
    let built = run(&test, &["lake", "build", "--store", &url]);
    assert_eq!(built.code, 0, "{}", built.shown());
    assert_eq!(counted(&test, &url), (lines, 0));
}

/// The folder with wheels that `cargo xtask test` installs, and python with them.
fn python(test: &TestHome) -> Command {
    let wheels = PathBuf::from(recto_testkit::tool("RECTO_TEST_WHEELS"));
    let mut command = Command::new("python3");
    test.set_environment(&mut command);
    command.env("PYTHONPATH", wheels).env("USER", "dev");
    command
}

mod engines {
    use super::*;

    #[test]
    #[ignore = "needs wheels of other engines"]
    fn other_engines_read_what_was_appended_merged_erased_and_checkpointed() {
        let test = TestHome::with_sessions();
        let url = test.work.path().join("store").display().to_string();
        let log = test.home.path().join(format!("projects/-w/{FIX}.jsonl"));
        fs::create_dir_all(log.parent().unwrap()).unwrap();
        let script = repository().join("xtask/data/lake_engines.py");
        let judged = |what: &str, engines: &[&str]| {
            let mut command = python(&test);
            command.arg(&script).arg(env!("CARGO_BIN_EXE_recto")).arg(&url).args(engines);
            let output = command.output().unwrap();
            let told = String::from_utf8_lossy(&output.stdout);
            let wrong: Vec<&str> = told.lines().filter(|line| !line.contains("same")).collect();
            assert!(
                output.status.success(),
                "{what}: {wrong:?} {}",
                String::from_utf8_lossy(&output.stderr)
            );
        };
        let mut text = String::new();
        for round in 0..53 {
            text += &format!(
                "{{\"type\":\"user\",\"uuid\":\"u{round}\",\"timestamp\":\"2026-11-01T00:00:{round:02}Z\"}}\n"
            );
            fs::write(&log, &text).unwrap();
            run(&test, &["collect", "--to", &url]);
            assert_eq!(run(&test, &["lake", "build", "--store", &url]).code, 0);
            if round == 1 {
                judged("appended", &["delta-rs", "polars", "duckdb"]);
            }
        }
        judged("with a checkpoint", &["delta-rs", "polars", "duckdb"]);
        assert_eq!(run(&test, &["lake", "optimize", "--store", &url]).code, 0);
        judged("merged", &["delta-rs", "polars", "duckdb"]);
        let erase = ["lake", "erase", "--session", FIX, "--yes", "--store", &url];
        assert_eq!(run(&test, &erase).code, 0);
        judged("erased", &["delta-rs", "polars", "duckdb"]);
    }
}
