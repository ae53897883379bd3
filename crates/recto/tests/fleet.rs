//! `recto collect --to` a store, `restore --from` one, and `recto fleet`.

use std::fs;

use recto_testkit::FakeS3;

use crate::edition::tree;
use crate::structure::collect_names;
use crate::structure::page;
use crate::support::DOCS;
use crate::support::FIX;
use crate::support::Run;
use crate::support::TestHome;

/// A run that knows the credentials of the store.
fn run(test: &TestHome, arguments: &[&str]) -> Run {
    let mut command = test.command(arguments);
    command.envs(FakeS3::variables()).env("USER", "dev");
    test.finish(&mut command)
}

fn settings(test: &TestHome, text: &str) {
    let folder = test.user.path().join(".config/recto");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("collect.toml"), text).unwrap();
}

#[test]
fn a_home_goes_to_a_store_and_comes_back_elsewhere() {
    let (store, test) = (FakeS3::start(), TestHome::with_sessions());
    settings(&test, "redact = \"off\"\n");
    let url = store.url("claude");
    let mut before = tree(test.home.path());
    before.retain(|_, content| !content.is_empty());
    let sent = run(&test, &["collect", "--to", &url, "--json"]);
    assert_eq!(sent.code, 0, "{}", sent.shown());
    let sent = sent.json().remove(0);
    assert_eq!(sent["policy"], "raw");
    assert!(sent["objects"].as_u64().unwrap() >= 5, "{sent}");
    let again = run(&test, &["collect", "--to", &url]);
    assert!(again.stdout.starts_with("nothing new for s3://team/claude"), "{}", again.shown());
    let verified = run(&test, &["collect", "verify", "--to", &url]);
    assert_eq!(verified.code, 0, "{}", verified.shown());
    let status = run(&test, &["collect", "status", "--to", &url, "--json"]).json().remove(0);
    assert_eq!((&status["behind"], &status["error"]), (&0.into(), &serde_json::Value::Null));
    let machine = sent["machine"].as_str().unwrap();

    // Another machine, which has nothing but the address.
    let other = TestHome::empty();
    let refused = run(&other, &["restore", "--all", "--from", &url]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains(&format!("--machine: {machine}")), "{}", refused.shown());
    let one = ["restore", &FIX[..8], "--from", &url, "--machine", machine, "--json"];
    let one = run(&other, &one);
    assert_eq!(one.code, 0, "{}", one.shown());
    let files = one.json().remove(0);
    assert_eq!(files["files"].as_array().unwrap().len(), 2, "{files}");
    let all = run(&other, &["restore", "--all", "--from", &url, "--machine", machine]);
    assert_eq!(all.code, 0, "{}", all.shown());
    assert_eq!(tree(other.home.path()), before);
}

#[test]
fn without_a_policy_secrets_stay_here() {
    let (store, test) = (FakeS3::start(), TestHome::empty());
    let token = "ghp_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5";
    let log = format!("projects/-w/{FIX}.jsonl");
    test.home.write(&log, format!("{{\"type\":\"user\",\"text\":\"use {token}\"}}\n"));
    let url = store.url("claude");
    let planned = run(&test, &["collect", "policy"]);
    assert_eq!(planned.stdout, "redact=strict;content=full;rules=1 (the default)\n");
    assert_eq!(run(&test, &["collect", "--to", &url]).code, 0);
    let planned = run(&test, &["collect", "policy", "--dry-run"]);
    assert!(planned.stdout.contains(": 1 secret replaced"), "{}", planned.shown());
    fs::remove_file(test.home.path().join(&log)).unwrap();
    let restored = run(&test, &["restore", "--all", "--from", &url]);
    assert_eq!(restored.code, 0, "{}", restored.shown());
    let text = fs::read_to_string(test.home.path().join(&log)).unwrap();
    assert!(text.contains("[REDACTED:") && !text.contains(token), "{text}");
}

#[test]
fn mistakes_are_named_before_anything_is_sent() {
    let (store, test) = (FakeS3::start(), TestHome::with_sessions());
    let url = store.url("claude");
    settings(&test, "contents = \"full\"\n");
    let bad = run(&test, &["collect", "--to", &url]);
    assert_eq!(bad.code, 2);
    assert!(bad.stderr.contains("collect.toml: unknown field `contents`"), "{}", bad.shown());
    settings(&test, "");
    let scheme = run(&test, &["collect", "--to", "ftp://x/y"]);
    assert!(scheme.stderr.contains("unsupported scheme `ftp`"), "{}", scheme.shown());
    let rate = run(&test, &["collect", "--to", &url, "--bandwidth", "fast"]);
    assert!(rate.stderr.contains("--bandwidth"), "{}", rate.shown());
    let local = run(&test, &["collect", "--every", "5m"]);
    assert!(local.stderr.contains("need a store"), "{}", local.shown());
    let fleet = run(&test, &["fleet"]);
    assert!(fleet.stderr.contains("no store was named"), "{}", fleet.shown());
    let prune = run(&test, &["collect", "prune", "--to", &url]);
    assert!(prune.stderr.contains("unsupported scheme `s3`"), "{}", prune.shown());
    assert_eq!(store.objects().len(), 0);
    store.close(true);
    let away = run(&test, &["collect", "--to", &url]);
    assert_eq!(away.code, 2);
    assert!(away.stderr.contains("hint: what is archived here stays"), "{}", away.shown());
    let status = run(&test, &["collect", "status", "--to", &url]);
    assert_eq!(status.code, 1, "{}", status.shown());
    assert!(status.stdout.contains("  failed    s3://team/claude"), "{}", status.shown());
}

#[test]
fn a_fleet_is_listed_checked_and_forgotten() {
    let store = FakeS3::start();
    let url = store.url("claude");
    let empty = run(&TestHome::empty(), &["fleet", "--store", &url]);
    assert_eq!(empty.code, 1);
    assert!(empty.stderr.contains("no machine has sent anything"), "{}", empty.shown());
    let machines: Vec<TestHome> = (0..3).map(|_| TestHome::with_sessions()).collect();
    for machine in &machines {
        assert_eq!(run(machine, &["collect", "--to", &url]).code, 0);
    }
    let listed = run(&machines[0], &["fleet", "--store", &url, "--json"]).json();
    assert_eq!(listed.len(), 3);
    assert!(listed.iter().all(|row| row["user"] == "dev" && row["gaps"] == 0));
    let shown = run(&machines[0], &["fleet", "--store", &url]);
    assert_eq!(shown.stdout.lines().count(), 4, "{}", shown.shown());
    for more in [&[][..], &["--read"]] {
        let verify = [&["fleet", "verify", "--store", &url][..], more].concat();
        let verified = run(&machines[0], &verify);
        assert_eq!(verified.code, 0, "{}", verified.shown());
    }
    let forget = ["fleet", "forget", "--store", &url, "--session", DOCS];
    let would = run(&machines[0], &forget);
    assert!(would.stdout.contains("of 3 machines; --yes erases it"), "{}", would.shown());
    let done = run(&machines[0], &[&forget[..], &["--yes", "--json"]].concat()).json().remove(0);
    assert_eq!((&done["done"], done["files"].as_u64().unwrap() >= 3), (&true.into(), true));
    let left = run(&machines[0], &forget);
    assert_eq!(left.code, 1, "{}", left.shown());
    let id = listed[0]["machine"].as_str().unwrap();
    let forget = ["fleet", "forget", "--store", &url, "--machine", id, "--yes"];
    assert_eq!(run(&machines[0], &forget).code, 0);
    assert_eq!(run(&machines[0], &["fleet", "--store", &url, "--json"]).json().len(), 2);
}

#[test]
fn every_field_of_json_output_about_stores_is_documented() {
    let (store, test) = (FakeS3::start(), TestHome::with_sessions());
    let url = store.url("claude");
    let page = page("json.md");
    for (heading, arguments) in [
        ("recto collect --to", &["collect", "--json", "--to", &url][..]),
        ("recto collect status --to", &["collect", "status", "--json", "--to", &url]),
        ("recto collect verify --to", &["collect", "verify", "--json", "--to", &url]),
        ("recto collect policy", &["collect", "policy", "--dry-run", "--json"]),
        ("recto fleet", &["fleet", "--json", "--store", &url]),
        ("recto collect verify --to", &["fleet", "verify", "--json", "--store", &url]),
        (
            "recto fleet forget",
            &["fleet", "forget", "--user", "dev", "--yes", "--json", "--store", &url],
        ),
    ] {
        let section = page.split_once(&format!("\n## {heading}\n")).unwrap().1;
        let section = section.split("\n## ").next().unwrap();
        let mut names = Vec::new();
        for line in run(&test, arguments).json() {
            collect_names(&line, "", &mut names);
        }
        assert!(names.len() >= 2, "{heading}: {names:?}");
        for name in names {
            assert!(section.contains(&format!("\n| `{name}` |")), "{heading} has no `{name}`");
        }
    }
}

#[test]
fn killed_while_it_sends_it_loses_and_doubles_nothing() {
    let (store, test) = (FakeS3::start(), TestHome::empty());
    settings(&test, "redact = \"off\"\n");
    let url = store.url("claude");
    let line = |session: usize, number: usize| {
        format!("{{\"s\":{session},\"n\":{number},\"t\":\"{}\"}}\n", "x".repeat(number % 300))
    };
    let mut texts = vec![String::new(); 20];
    for kill in 0..10_u64 {
        for (session, text) in texts.iter_mut().enumerate() {
            let lines = text.lines().count();
            (lines..lines + 20).for_each(|number| text.push_str(&line(session, number)));
            let path = format!("projects/-w/0000{session:04}-0000-4000-8000-000000000000.jsonl");
            test.home.write(&path, &text);
        }
        let mut command = test.command(&["collect", "--to", &url]);
        command.envs(FakeS3::variables());
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let mut child = command.spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20 * kill));
        // It may have ended by itself.
        let _ = child.kill();
        child.wait().unwrap();
    }
    let last = run(&test, &["collect", "--to", &url]);
    assert_eq!(last.code, 0, "{}", last.shown());
    let mut ranges: Vec<(String, u64, u64)> = store
        .keys("claude/raw")
        .iter()
        .filter(|key| key.ends_with(".jsonl.zst"))
        .map(|key| {
            let (folder, name) = key.rsplit_once('/').unwrap();
            let (start, end) = name.split_once('.').unwrap().0.split_once('-').unwrap();
            (folder.to_owned(), start.parse().unwrap(), end.parse().unwrap())
        })
        .collect();
    ranges.sort();
    for pair in ranges.windows(2) {
        assert!(pair[0].0 != pair[1].0 || pair[0].2 == pair[1].1, "{pair:?}");
    }
    fs::remove_dir_all(test.home.path().join("projects")).unwrap();
    let restored = run(&test, &["restore", "--all", "--from", &url]);
    assert_eq!(restored.code, 0, "{}", restored.shown());
    for (session, text) in texts.iter().enumerate() {
        let path = format!("projects/-w/0000{session:04}-0000-4000-8000-000000000000.jsonl");
        assert!(fs::read_to_string(test.home.path().join(path)).unwrap() == *text, "{session}");
    }
}

#[test]
#[cfg(unix)]
fn a_collector_that_is_told_to_end_sends_what_it_has() {
    use std::io::BufRead as _;
    let (store, test) = (FakeS3::start(), TestHome::empty());
    let log = format!("projects/-w/{FIX}.jsonl");
    test.home.write(&log, "{\"n\":1}\n");
    let mut command = test.command(&["collect", "--to", &store.url("claude"), "--watch"]);
    command.envs(FakeS3::variables()).env_remove("RECTO_NOW");
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("archived "));
    assert_eq!(store.keys("claude/raw"), Vec::<String>::new());
    // It may be starting to watch still.
    std::thread::sleep(std::time::Duration::from_secs(2));
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, rustix::process::Signal::TERM).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(store.keys("claude/raw").len(), 1);
}

#[test]
#[cfg(unix)]
fn a_collector_sends_what_a_session_wrote_when_its_client_leaves() {
    use std::io::BufRead as _;
    let (store, test) = (FakeS3::start(), TestHome::empty());
    let announced = test.home.announce(FIX, "busy");
    let mut command = test.command(&["collect", "--to", &store.url("claude"), "--watch"]);
    command.envs(FakeS3::variables()).env_remove("RECTO_NOW");
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut lines = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("nothing new"));
    test.home.write(&format!("projects/-w/{FIX}.jsonl"), "{\"n\":1}\n");
    assert!(lines.next().unwrap().unwrap().starts_with("archived "));
    assert_eq!(store.keys("claude/raw"), Vec::<String>::new());
    fs::remove_file(announced).unwrap();
    let sent = lines.find(|line| line.as_ref().unwrap().starts_with("sent "));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(sent.is_some());
    assert_eq!(store.keys("claude/raw").len(), 1);
}
