//! `recto search` and `recto index`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use insta::assert_snapshot;
use recto_testkit::generate::Options;
use recto_testkit::generate::Shape;
use recto_testkit::generate::Truth;
use recto_testkit::generate::generate;

use crate::support::FIX;
use crate::support::TestHome;

#[test]
fn hits_are_grouped_by_session_with_the_newest_first() {
    let test = TestHome::with_sessions();
    assert_snapshot!(test.run(&["search", "parser"]).shown(), @"
    Repair the parser
    3f2a1b4c · /home/dev/app · fix/parser
    1  title  2026-11-16 08:00:19 · turn 4
       Repair the parser
    2  summary  2026-11-16 08:00:16 · turn 3
       We repaired the parser.
    3  user  2026-11-16 08:00:01 · turn 1
       The parser fails on empty lines. Please repair it.

    Parser docs
    3f2b77aa · /home/dev/docs · main
    4  title  2026-11-16 08:00:01 · turn 1
       Parser docs
    5  user  2026-11-16 08:00:00 · turn 1
       Write the parser docs
    --- exit 0
    ");
    assert_snapshot!(test.run(&["search", "tool:Bash", "role:result", "--context", "1"]).shown(), @"
    Repair the parser
    3f2a1b4c · /home/dev/app · fix/parser
    1  Bash result  2026-11-16 08:00:05 · turn 1
       line 1
       line 2
    --- exit 0
    ");
    assert_snapshot!(test.run(&["search", "callers -two", "-n", "1"]).shown(), @"
    Repair the parser
    3f2a1b4c · /home/dev/app · fix/parser
    1  user  2026-11-16 08:00:00 · turn 1 · agent-a1b2c3d4e5f60718
       Find all callers of parse().
    --- exit 0
    ");
    assert_snapshot!(test.run(&["search", "parser", "--rank", "-n", "1", "--json"]).shown(), @r#"
    {"session":"3f2b77aa-51c7-4d02-b8f4-93ad17c2e680","agent":null,"path":"[claude]/projects/-home-dev-docs/3f2b77aa-51c7-4d02-b8f4-93ad17c2e680.jsonl","line":3,"offset":1000,"uuid":null,"role":"title","tool":null,"error":false,"turn":1,"timestamp":"2026-11-16T08:00:01.000Z","overflow":null,"snippet":"Parser docs"}
    --- stderr
    1 of 5 hits in 2 logs; --limit 0 shows all
    --- exit 0
    "#);
}

#[test]
fn a_hit_is_opened_and_resumed_by_its_number() {
    let test = TestHome::with_sessions();
    assert_snapshot!(test.run(&["search", "role:user", "repair", "--open", "1"]).shown(), @"

    You  1  2026-11-16 08:00:01
      The parser fails on empty lines.
      Please repair it.

      attachment: date

    Claude
      An empty line is no JSON.
      ⏺ Bash
        command: cargo test
        description: Run the tests
      ⎿ line 1
        line 2
        line 3
        line 4
        line 5
        line 6
      ⏺ Read
        file_path: /home/dev/app/gone.rs
      ⎿ File does not exist.

      Repaired: empty lines are skipped now.
    --- exit 0
    ");
    assert_snapshot!(test.run(&["search", "role:user", "repair", "--resume", "1"]).shown(), @"
    cd /home/dev/app && claude --resume 3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718
    --- exit 0
    ");
    // The session of a subagent is the one to go on with.
    let run = test.run(&["search", "callers", "--resume", "1"]);
    assert!(run.stdout.contains(FIX), "{}", run.shown());
    assert_snapshot!(test.run(&["search", "repair", "--open", "9"]).shown(), @"
    --- stderr
    error: there is no hit 9
    hint: there are 2 hits
    --- exit 1
    ");
}

#[test]
fn filters_and_fields_choose_among_the_sessions() {
    let test = TestHome::with_sessions();
    let count = |arguments: &[&str]| {
        let run = test.run(&[&["search", "--json", "--limit", "0"], arguments].concat());
        assert_eq!(run.stderr, "");
        run.json().len()
    };
    let all = count(&["parser"]);
    assert!(all >= 4, "{all}");
    let docs = count(&["parser", "project:docs"]);
    assert_eq!(docs, 2);
    assert_eq!(count(&["parser -project:docs"]), all - docs);
    assert_eq!(count(&["parser", "--project", "/home/dev/docs"]), docs);
    assert_eq!(count(&["parser", "--branch", "fix/parser"]), all - docs);
    assert_eq!(count(&["parser", "branch:fix/parser", "role:user"]), 1);
    assert_eq!(count(&["is:error"]), 1);
    assert_eq!(count(&["file:gone.rs"]), 2);
    assert_eq!(count(&["parser", "before:2020-01-01"]), 0);
    assert_eq!(count(&["parser", "after:2020-01-01"]), all);
    assert_eq!(test.run(&["search", "parser", "before:2020-01-01"]).code, 1);
}

#[test]
fn what_cannot_be_read_is_told_with_a_hint() {
    let test = TestHome::with_sessions();
    assert_snapshot!(test.run(&["search", "\"open"]).shown(), @"
    --- stderr
    error: a quote is not closed
    hint: add the closing quote, or remove the opening one
    --- exit 2
    ");
    assert_snapshot!(test.run(&["search", "a", "after:soon"]).shown(), @"
    --- stderr
    error: invalid value `soon` for after:
    hint: use a date (2026-11-16), a time (2026-11-16T09:30), or a span (3mo, 7d, 12h, 30m)
    --- exit 2
    ");
    let unquoted = test.run(&["search", "error", "-warning"]);
    assert_eq!(unquoted.code, 2);
    assert!(unquoted.shown().contains("put the query in quotes: recto search 'error -warning'"));
}

#[test]
fn the_index_tells_how_far_it_is() {
    let test = TestHome::with_sessions();
    let shown = |arguments: &[&str]| {
        let run = test.run(arguments);
        // Its name is made of the path of the home, its size depends on the machine.
        let text = run.shown();
        let words = text.split(' ').map(|word| match word.find("index-") {
            Some(at) => format!("{}index-….sqlite{}", &word[..at], &word[at + 29..]),
            None => word.to_owned(),
        });
        words.collect::<Vec<_>>().join(" ")
    };
    assert_snapshot!(shown(&["index"]), @"
    no index yet; the first `recto search` builds ~/.cache/recto/index-….sqlite
    --- exit 0
    ");
    assert_snapshot!(shown(&["index", "verify"]), @"
    --- stderr
    error: there is no index yet
    hint: `recto search` builds one
    --- exit 1
    ");
    assert_eq!(test.run(&["search", "parser"]).code, 0);
    let status = test.run(&["index", "--json"]).json();
    assert_eq!((&status[0]["stale"], &status[0]["logs"]), (&0.into(), &7.into()));
    fs::remove_file(test.home.path().join(format!("projects/-home-dev-app/{FIX}.jsonl"))).unwrap();
    let status = test.run(&["index", "--json"]).json();
    assert_eq!((&status[0]["stale"], &status[0]["gone"]), (&0.into(), &1.into()));
    assert_snapshot!(shown(&["index", "verify"]), @"
    projects/-home-dev-app/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl: is in the index but not on disk
    6 logs and 10 texts compared, 1 difference
    --- exit 1
    ");
    assert_eq!(test.run(&["index", "rebuild"]).code, 0);
    assert_snapshot!(shown(&["index", "verify"]), @"
    6 logs and 10 texts compared, 0 differences
    --- exit 0
    ");
}

#[test]
fn a_test_that_names_no_cache_directory_is_refused() {
    let test = TestHome::with_sessions();
    let mut command = test.command(&["search", "parser"]);
    assert_snapshot!(test.finish(command.env_remove("XDG_CACHE_HOME")).shown(), @"
    --- stderr
    error: a test asked for the cache directory without naming one
    hint: set RECTO_CACHE_DIR to a directory of the test's own
    --- exit 2
    ");
}

#[cfg(unix)]
#[test]
fn an_index_that_may_not_be_written_is_read_or_passed_by() {
    use crate::support::set_mode;

    let test = TestHome::with_sessions();
    assert_eq!(test.run(&["index", "rebuild"]).code, 0);
    let cache = test.user.path().join(".cache/recto");
    let files = || fs::read_dir(&cache).unwrap().map(|file| file.unwrap().path());
    files().for_each(|file| set_mode(&file, 0o444));
    for folder in [&cache, cache.parent().unwrap()] {
        set_mode(folder, 0o555);
    }
    let log = test.home.path().join(format!("projects/-home-dev-app/{FIX}.jsonl"));
    let line = r#"{"type":"custom-title","customTitle":"zebrafish","sessionId":"x"}"#;
    let before = fs::read_to_string(&log).unwrap();
    fs::write(&log, format!("{before}{line}\n")).unwrap();
    set_mode(&log, 0o644);
    // What is in the index, and what is only in the log.
    let found = test.run_as_nobody(&["search", "callers"]);
    assert!(found.stdout.contains("Find all callers of parse()."), "{}", found.shown());
    let found = test.run_as_nobody(&["search", "zebrafish"]);
    assert!(found.stdout.contains("zebrafish"), "{}", found.shown());
    assert_eq!(found.stderr.lines().count(), 1, "{}", found.shown());
    assert!(found.stderr.contains("searching the logs instead"), "{}", found.shown());
    assert!(test.run_as_nobody(&["ls"]).stdout.contains("zebrafish"));
    // A folder in which none can be made.
    set_mode(&cache, 0o755);
    files().for_each(|file| fs::remove_file(file).unwrap());
    set_mode(&cache, 0o555);
    let found = test.run_as_nobody(&["search", "zebrafish"]);
    assert!(found.stdout.contains("zebrafish"), "{}", found.shown());
    assert_eq!(found.stderr.lines().count(), 1, "{}", found.shown());
    set_mode(&cache, 0o755);
    set_mode(cache.parent().unwrap(), 0o755);
}

#[test]
fn a_damaged_index_is_told_in_one_line_and_there_is_an_answer() {
    let test = TestHome::with_sessions();
    let before = test.run(&["search", "parser", "--json"]);
    let cache = test.user.path().join(".cache/recto");
    for entry in fs::read_dir(&cache).unwrap() {
        fs::write(entry.unwrap().path(), "x".repeat(5000)).unwrap();
    }
    let run = test.run(&["search", "parser", "--json"]);
    assert_eq!(run.stdout, before.stdout);
    assert_snapshot!(run.stderr, @"note: the index cannot be used: its write-ahead log is damaged; it is rebuilt");
    assert_eq!(test.run(&["search", "parser", "--json"]).shown(), before.shown());
    // A file where the folder should be.
    fs::remove_dir_all(&cache).unwrap();
    fs::write(&cache, "").unwrap();
    let run = test.run(&["search", "parser", "--json"]);
    assert_eq!(run.stdout, before.stdout);
    assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
}

/// A generated home in place of the test's own.
fn generated(megabytes: u64) -> (tempfile::TempDir, Truth, TestHome) {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { megabytes, seed: 5, shape: Shape::Mixed };
    let truth = generate(&options, folder.path(), &mut |_| {}).unwrap();
    (folder, truth, TestHome::empty())
}

/// Where all needles are found, and where they are.
fn compare_needles(home: &Path, truth: &Truth, test: &TestHome) {
    let home = home.join(".claude");
    for needle in &truth.needles {
        let query = format!("\"{}\"", needle.text.replace('"', " "));
        let arguments =
            ["--home", home.to_str().unwrap(), "search", &query, "--limit", "0", "--json"];
        let run = test.finish(&mut test.command(&arguments));
        assert_eq!(run.stderr, "", "{}", needle.name);
        let lines = run.json();
        let found: BTreeSet<(String, u64, String)> = lines
            .iter()
            .map(|hit| {
                let path = Path::new(hit["path"].as_str().unwrap());
                let path = path.strip_prefix(home.join("projects")).unwrap();
                (
                    path.to_str().unwrap().to_owned(),
                    hit["line"].as_u64().unwrap(),
                    hit["uuid"].as_str().unwrap().to_owned(),
                )
            })
            .collect();
        let expected: BTreeSet<(String, u64, String)> =
            needle.hits.iter().map(|hit| (hit.path.clone(), hit.line, hit.uuid.clone())).collect();
        assert_eq!(found, expected, "{}", needle.name);
        assert_eq!(lines.len(), expected.len(), "{}", needle.name);
    }
}

#[test]
fn a_build_may_be_killed_at_any_time() {
    let (folder, truth, test) = generated(8);
    let home = folder.path().join(".claude");
    let arguments = ["--home", home.to_str().unwrap(), "search", "stegosaurus", "--json"];
    let mut killed = 0;
    for milliseconds in [5, 20, 40, 60, 90, 120, 160, 200, 250, 300, 400, 500] {
        let mut command = test.command(&arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        killed += u32::from(child.try_wait().unwrap().is_none());
        // This is how `kill -9` ends a process.
        let _ = child.kill();
        child.wait().unwrap();
    }
    assert!(killed > 0, "every build was done before it could be killed");
    // No remark: what is there is right, and is gone on with.
    compare_needles(folder.path(), &truth, &test);
    let verify = ["--home", home.to_str().unwrap(), "index", "verify"];
    let run = test.finish(&mut test.command(&verify));
    assert_eq!(run.code, 0, "{}", run.shown());
}

#[test]
fn two_searches_at_once_are_both_right() {
    let (folder, truth, test) = generated(4);
    let home = folder.path().join(".claude");
    let needle = truth.needles.iter().find(|needle| needle.name == "common").unwrap();
    let arguments =
        ["--home", home.to_str().unwrap(), "search", &needle.text, "--limit", "0", "--json"];
    let children: Vec<_> = (0..3)
        .map(|_| {
            let mut command = test.command(&arguments);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        let count = String::from_utf8(output.stdout).unwrap().lines().count();
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
        assert_eq!(count, needle.hits.len());
    }
    compare_needles(folder.path(), &truth, &test);
}
