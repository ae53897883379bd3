//! `recto move`.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::time::SystemTime;

use recto_log::ProjectKey;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;

use crate::edition::edited;
use crate::edition::messages;
use crate::edition::recorded;
use crate::edition::tree;
use crate::support::DOCS;
use crate::support::FIX;
use crate::support::TestHome;
use crate::support::hours_ago;

/// A directory that is there, as the client names it.
fn directory(test: &TestHome, name: &str) -> String {
    let path = test.work.path().join(name);
    fs::create_dir_all(&path).unwrap();
    fs::canonicalize(path).unwrap().to_str().unwrap().to_owned()
}

fn project(test: &TestHome, directory: &str) -> PathBuf {
    test.home.path().join("projects").join(ProjectKey::of_path(directory).as_str())
}

/// A path of the output, in which the home has a name of its own.
fn in_home(test: &TestHome, path: &serde_json::Value) -> PathBuf {
    test.home.path().join(path.as_str().unwrap().strip_prefix("[claude]/").unwrap())
}

fn modified(path: &Path) -> SystemTime {
    fs::metadata(path).unwrap().modified().unwrap()
}

#[test]
fn a_moved_project_has_all_its_sessions_and_nothing_is_left() {
    for scenario in ["2.1.325/S3", "2.1.325/I11", "2.1.29/S3", "2.0.50/S3", "2.1.325/S16t"] {
        let test = recorded(scenario);
        let before = tree(test.home.path());
        let new = directory(&test, "new name");
        let listed = test.run(&["ls", "--all", "--json"]).json();
        let said = |id: &str| ["2.0.50", "2.1.29", "2.1.325"].map(|as_| messages(&test, id, as_));
        let old: Vec<_> = listed.iter().map(|row| said(row["id"].as_str().unwrap())).collect();
        let times: Vec<_> =
            listed.iter().map(|row| modified(&in_home(&test, &row["path"]))).collect();

        let run = test.run(&["move", "--project", "/home/dev/app", &new, "--json"]);
        assert_eq!(run.code, 0, "{scenario}: {}", run.shown());
        let told = run.json();
        assert_eq!(told.len(), listed.len(), "{scenario}");
        for ((row, old), time) in listed.iter().zip(old).zip(times) {
            let id = row["id"].as_str().unwrap();
            let told = told.iter().find(|told| told["source"] == *id).unwrap();
            assert_eq!(told["op"], 1);
            assert_eq!(told["cwd"]["after"], "[work]/new name");
            let log = project(&test, &new).join(format!("{id}.jsonl"));
            assert_eq!(modified(&log), time, "{scenario}");
            let changed = fs::read_to_string(&log).unwrap();
            let escaped = format!("\"cwd\":{}", serde_json::to_string(&new).unwrap());
            let count = changed.matches(&escaped).count() as u64;
            assert_eq!(told["changed"].as_u64().unwrap(), count, "{scenario}");
            assert!(said(id) == old, "{scenario}: what is sent has changed");
        }
        // Warm-ups name sessions that have no log, and stay.
        let left = tree(test.home.path()).into_keys().filter(|path| {
            path.starts_with("projects/-home-dev-app")
                && !path.to_string_lossy().contains("/agent-")
                && !path.ends_with("sessions-index.json")
        });
        assert_eq!(left.collect::<Vec<_>>(), Vec::<PathBuf>::new(), "{scenario}");
        // Subagents of the old layout went along, and so did their directory.
        for (path, content) in tree(&project(&test, &new)) {
            let text = String::from_utf8_lossy(&content);
            assert!(!text.contains("\"cwd\":\"/home/dev/app"), "{scenario}: {}", path.display());
        }
        let undone = test.run(&["undo"]);
        assert_eq!(undone.code, 0, "{scenario}: {}", undone.shown());
        assert!(tree(test.home.path()) == before, "{scenario}: undone");
        assert!(!project(&test, &new).exists(), "{scenario}: undone");
    }
}

/// Sessions of a directory, of a worktree below it and of another directory.
fn with_worktree() -> TestHome {
    let test = TestHome::empty();
    let add = |id: &str, cwd: &str| {
        let session = SessionBuilder::new(id, Client::V2_1_325).cwd(cwd);
        let path = test.home.add(&session.prompt("Go on").answer("Done."), hours_ago(3));
        let folder = path.with_extension("");
        fs::create_dir_all(folder.join("tool-results")).unwrap();
        fs::write(folder.join("tool-results/b1.txt"), "long").unwrap();
    };
    add(FIX, "/w/app");
    add(DOCS, "/w/app/.worktrees/x");
    add("dddddddd-0000-4000-8000-000000000000", "/w/apple");
    test.home.write("projects/-w-app/memory/MEMORY.md", "remember");
    test.home.write("projects/-w-app/memory/more/a.md", "more");
    test
}

#[test]
fn worktrees_go_to_projects_of_their_own_and_memory_moves_too() {
    let test = with_worktree();
    let before = tree(test.home.path());
    let run = test.run(&["move", "--project", "/w/app", "/else/app.2", "--json"]);
    assert_eq!(run.code, 1, "{}", run.shown());
    assert!(run.stderr.contains("--even-if-missing"), "{}", run.stderr);
    let arguments = ["move", "--project", "/w/app/", "/else/app.2", "--even-if-missing"];
    insta::assert_snapshot!(test.run(&[&arguments[..], &["--dry-run"]].concat()).shown(), @"
    3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718  /w/app -> /else/app.2
    3f2b77aa-51c7-4d02-b8f4-93ad17c2e680  /w/app/.worktrees/x -> /else/app.2/.worktrees/x
    would move 2 sessions (6 files); nothing was changed (--dry-run)
    --- exit 0
    ");
    assert!(tree(test.home.path()) == before);
    insta::assert_snapshot!(test.run(&arguments).shown(), @"
    3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718  /w/app -> /else/app.2
    3f2b77aa-51c7-4d02-b8f4-93ad17c2e680  /w/app/.worktrees/x -> /else/app.2/.worktrees/x
    moved 2 sessions (6 files) (operation 1; `recto undo` undoes it)
    --- exit 0
    ");
    let paths: Vec<String> = tree(&test.home.path().join("projects"))
        .into_keys()
        .map(|path| path.to_str().unwrap().to_owned())
        .collect();
    insta::assert_snapshot!(paths.join("\n"), @"
    -else-app-2/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718/tool-results/b1.txt
    -else-app-2/3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718.jsonl
    -else-app-2/memory/MEMORY.md
    -else-app-2/memory/more/a.md
    -else-app-2--worktrees-x/3f2b77aa-51c7-4d02-b8f4-93ad17c2e680/tool-results/b1.txt
    -else-app-2--worktrees-x/3f2b77aa-51c7-4d02-b8f4-93ad17c2e680.jsonl
    -w-apple/dddddddd-0000-4000-8000-000000000000/tool-results/b1.txt
    -w-apple/dddddddd-0000-4000-8000-000000000000.jsonl
    ");
    assert!(!test.home.path().join("projects/-w-app").exists());
    assert_eq!(test.run(&["undo"]).code, 0);
    assert!(tree(test.home.path()) == before);
}

#[test]
fn memory_stays_where_other_sessions_do() {
    let test = with_worktree();
    // `/w.app` has the same project directory as `/w/app`.
    let other = SessionBuilder::new("eeeeeeee-0000-4000-8000-000000000000", Client::V2_1_325);
    test.home.add(&other.cwd("/w.app").prompt("Go on").answer("Done."), hours_ago(5));
    let new = directory(&test, "new");
    let run = test.run(&["move", "--project", "/w/app", &new]);
    assert!(run.stdout.contains("projects/-w-app/memory stays: other sessions"), "{}", run.shown());
    let left = tree(&test.home.path().join("projects/-w-app"));
    assert_eq!(left.len(), 3, "{:?}", left.keys());
}

#[test]
fn one_session_moves_and_a_directory_of_the_same_key_is_no_obstacle() {
    let test = with_worktree();
    let log = test.home.path().join(format!("projects/-w-app/{FIX}.jsonl"));
    let told = edited(&test, &["move", FIX, "/w.app", "--even-if-missing", "--json"]);
    assert_eq!(in_home(&test, &told["result"]["path"]), log);
    assert!(fs::read_to_string(&log).unwrap().contains("\"cwd\":\"/w.app\""));
    let new = directory(&test, "new");
    let told = edited(&test, &["move", FIX, &new, "--json"]);
    assert_eq!(told["cwd"]["before"], "/w.app");
    assert_eq!(told["copied_files"], 1);
    assert!(!log.exists() && !log.with_extension("").exists());
    assert!(test.home.path().join("projects/-w-app/memory/MEMORY.md").exists());
    let again = test.run(&["move", FIX, &new, "--json"]);
    assert_eq!((again.code, &again.json()[0]["result"]), (0, &serde_json::Value::Null));
}

#[test]
fn nothing_moves_where_a_file_is_or_while_a_client_works() {
    let test = with_worktree();
    let new = directory(&test, "new");
    let taken = project(&test, &new).join("memory/MEMORY.md");
    fs::create_dir_all(taken.parent().unwrap()).unwrap();
    fs::write(&taken, "theirs").unwrap();
    let before = tree(test.home.path());
    let move_it = ["move", "--project", "/w/app", &new, "--json"];
    let run = test.run(&move_it);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("\"kind\":\"exists\""), "{}", run.stderr);
    assert!(run.stderr.contains("MEMORY.md"), "{}", run.stderr);
    assert!(tree(test.home.path()) == before);
    fs::remove_file(&taken).unwrap();
    test.home.announce(DOCS, "busy");
    let before = tree(test.home.path());
    let run = test.run(&move_it);
    assert!(run.stderr.contains("\"kind\":\"live-session\""), "{}", run.stderr);
    assert!(tree(test.home.path()) == before);
    let run = test.run(&["move", "--project", "/nowhere", &new]);
    assert_eq!(run.code, 1, "{}", run.shown());
}
