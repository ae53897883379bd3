use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use fs_err as fs;

use super::*;
use crate::Home;

const ID: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";
const OTHER: &str = "4f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";
/// Longer than any test may take.
const LONG: Duration = Duration::from_secs(60);

struct Trial {
    folder: tempfile::TempDir,
    home: Home,
}

impl Trial {
    fn new() -> Trial {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::open(folder.path()).unwrap();
        Trial { folder, home }
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.folder.path().join(relative)
    }

    fn write(&self, relative: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    fn follow(&self, options: FollowOptions) -> Follower {
        Follower::new(&self.home, options).unwrap()
    }
}

fn polling() -> FollowOptions {
    FollowOptions { notice: FollowNotice::Polling, ..FollowOptions::default() }
}

fn append(path: &Path, bytes: impl AsRef<[u8]>) {
    use std::io::Write;
    let mut file = fs::OpenOptions::new().append(true).open(path).unwrap();
    file.write_all(bytes.as_ref()).unwrap();
}

/// Changes in short: what happened, to which file, and which lines.
fn told(changes: &[Change]) -> Vec<String> {
    let name = |file: &FollowedFile| {
        let name = file.path.file_stem().unwrap().to_string_lossy().replace(ID, "ID");
        format!("{}/{}", file.project, name.replace(OTHER, "OTHER"))
    };
    let one = |change: &Change| match change {
        Change::Appeared(file) => format!("appeared {}", name(file)),
        Change::Lines { batch, bytes } => {
            let offset = batch.range.start;
            format!("lines {} {offset} {:?}", name(&batch.file), String::from_utf8_lossy(bytes))
        }
        Change::LongLine { batch, start } => {
            format!("long {} {:?} {}", name(&batch.file), batch.range, start.len())
        }
        Change::Restarted(file) => format!("restarted {}", name(file)),
        Change::Moved { from, to } => format!("moved {} {}", name(from), name(to)),
        Change::Removed(file) => format!("removed {}", name(file)),
        Change::File(file) => format!("file {:?}", file.kind),
        Change::FileRemoved(file) => format!("file removed {:?}", file.kind),
        Change::Announcements => "announcements".to_owned(),
    };
    changes.iter().map(one).collect()
}

/// Waits until something that is wanted has been told, and gives everything up to there.
fn until(follower: &mut Follower, wanted: &str) -> Vec<String> {
    let mut all = Vec::new();
    let deadline = std::time::Instant::now() + LONG;
    while std::time::Instant::now() < deadline {
        all.extend(told(&follower.next(Duration::from_secs(5))));
        if all.iter().any(|one| one.contains(wanted)) {
            return all;
        }
    }
    panic!("{wanted} was never told: {all:?}");
}

#[test]
fn only_whole_lines_are_handed_out_and_torn_ones_when_they_are_whole() {
    let trial = Trial::new();
    let log = trial.write(&format!("projects/-w/{ID}.jsonl"), "old\ntorn at the sta");
    let mut follower = trial.follow(polling());
    assert_eq!(told(&follower.look()), [""; 0]);
    append(&log, "rt\none\ntwo\nthr\u{e9}e".as_bytes().split_at(14).0);
    assert_eq!(told(&follower.look()), [r#"lines -w/ID 4 "torn at the start\none\ntwo\n""#]);
    append(&log, "rt\none\ntwo\nthr\u{e9}e\n".as_bytes().split_at(14).1);
    assert_eq!(told(&follower.look()), ["lines -w/ID 30 \"thr\u{e9}e\\n\""]);
    assert_eq!(told(&follower.look()), [""; 0]);
}

#[test]
fn logs_that_are_there_are_read_from_their_beginning_if_that_is_wanted() {
    let trial = Trial::new();
    trial.write(&format!("projects/-w/{ID}.jsonl"), "a\nb\n");
    let mut follower = trial.follow(FollowOptions { start: FollowStart::Beginning, ..polling() });
    assert_eq!(told(&follower.look()), ["appeared -w/ID", r#"lines -w/ID 0 "a\nb\n""#]);
}

#[test]
fn a_log_that_is_cut_rewritten_or_replaced_begins_anew() {
    let trial = Trial::new();
    let log = trial.write(&format!("projects/-w/{ID}.jsonl"), "one\ntwo\n");
    let mut follower = trial.follow(polling());
    fs::write(&log, "one\n").unwrap();
    assert_eq!(told(&follower.look()), ["restarted -w/ID", r#"lines -w/ID 0 "one\n""#]);
    fs::write(&log, "ONE\ntwo\n").unwrap();
    assert_eq!(told(&follower.look()), ["restarted -w/ID", r#"lines -w/ID 0 "ONE\ntwo\n""#]);
    // The same bytes and more, in a file of its own.
    let new = trial.write("projects/-w/new", "ONE\ntwo\nthree\n");
    fs::rename(new, &log).unwrap();
    let lines = r#"lines -w/ID 0 "ONE\ntwo\nthree\n""#;
    assert_eq!(told(&follower.look()), ["restarted -w/ID", lines]);
    // The same file of the same size.
    fs::write(&log, "ONE\ntwo\nTHREE\n").unwrap();
    let lines = r#"lines -w/ID 0 "ONE\ntwo\nTHREE\n""#;
    assert_eq!(told(&follower.look()), ["restarted -w/ID", lines]);
}

#[test]
fn a_change_before_the_last_lines_of_a_long_log_is_seen_at_its_beginning() {
    let trial = Trial::new();
    let before = format!("{}\n", "x".repeat(100)).repeat(1000);
    let log = trial.write(&format!("projects/-w/{ID}.jsonl"), &before);
    let mut follower = trial.follow(polling());
    fs::write(&log, before.replacen('x', "y", 1) + "more\n").unwrap();
    let told = told(&follower.look());
    assert_eq!(told[0], "restarted -w/ID");
    assert!(told[1].starts_with("lines -w/ID 0 \"yxxx"));
}

#[test]
fn a_log_that_moves_to_another_project_goes_on_there_with_its_subagents() {
    let trial = Trial::new();
    let log = trial.write(&format!("projects/-w/{ID}.jsonl"), "one\n");
    let agent = trial.write(&format!("projects/-w/{ID}/subagents/agent-a1.jsonl"), "a\n");
    let mut follower = trial.follow(polling());
    append(&log, "two\n");
    append(&agent, "b\n");
    fs::create_dir(trial.path("projects/-v")).unwrap();
    fs::rename(&log, trial.path(&format!("projects/-v/{ID}.jsonl"))).unwrap();
    let folder = trial.path(&format!("projects/-w/{ID}"));
    fs::rename(folder, trial.path(&format!("projects/-v/{ID}"))).unwrap();
    let mut told = told(&follower.look());
    told.sort();
    let expected = [
        r#"lines -v/ID 4 "two\n""#,
        r#"lines -v/agent-a1 2 "b\n""#,
        "moved -w/ID -v/ID",
        "moved -w/agent-a1 -v/agent-a1",
    ];
    assert_eq!(told, expected);
}

#[test]
fn what_takes_the_place_of_a_moved_log_is_a_log_of_its_own() {
    let trial = Trial::new();
    let log = trial.write(&format!("projects/-w/{ID}.jsonl"), "one\n");
    let mut follower = trial.follow(polling());
    fs::rename(&log, trial.path(&format!("projects/-w/{OTHER}.jsonl"))).unwrap();
    fs::write(&log, "new\n").unwrap();
    // Found by its new name first.
    follower.tree.look_at_paths([trial.path(&format!("projects/-w/{OTHER}.jsonl"))]);
    let expected = ["moved -w/ID -w/OTHER", "appeared -w/ID", r#"lines -w/ID 0 "new\n""#];
    assert_eq!(told(&follower.look()), expected);
}

#[test]
fn a_log_that_is_gone_is_told_and_one_that_comes_back_is_new() {
    let trial = Trial::new();
    let log = trial.write(&format!("projects/-w/{ID}.jsonl"), "one\n");
    let mut follower = trial.follow(polling());
    fs::remove_file(&log).unwrap();
    assert_eq!(told(&follower.look()), ["removed -w/ID"]);
    fs::write(&log, "one\n").unwrap();
    assert_eq!(told(&follower.look()), ["appeared -w/ID", r#"lines -w/ID 0 "one\n""#]);
    fs::remove_dir_all(trial.path("projects")).unwrap();
    assert_eq!(told(&follower.look()), ["removed -w/ID"]);
}

#[test]
fn one_session_is_followed_with_its_subagents_of_both_layouts() {
    let trial = Trial::new();
    trial.write(&format!("projects/-w/{ID}.jsonl"), "");
    trial.write(&format!("projects/-w/{OTHER}.jsonl"), "");
    let line = |id: &str| format!("{{\"sessionId\":\"{id}\"}}\n");
    let mut follower = trial
        .follow(FollowOptions { scope: FollowScope::Session(ID.parse().unwrap()), ..polling() });
    let own = trial.write("projects/-w/agent-a1.jsonl", "");
    trial.write("projects/-w/agent-b2.jsonl", line(OTHER));
    trial.write(&format!("projects/-w/{OTHER}/subagents/agent-c3.jsonl"), "x\n");
    trial.write(&format!("projects/-w/{ID}/subagents/agent-d4.jsonl"), "y\n");
    append(&trial.path(&format!("projects/-w/{OTHER}.jsonl")), "z\n");
    let expected = ["appeared -w/agent-d4", r#"lines -w/agent-d4 0 "y\n""#];
    assert_eq!(told(&follower.look()), expected);
    // Whose it is stands in its first line.
    append(&own, line(ID));
    let lines = format!("lines -w/agent-a1 0 {:?}", line(ID));
    assert_eq!(told(&follower.look()), ["appeared -w/agent-a1".to_owned(), lines]);
    assert!(follower.files().all(|file| file.session.to_string() == ID));
}

#[test]
fn a_log_that_names_no_session_is_told_as_skipped() {
    let trial = Trial::new();
    let log = trial.write("projects/-w/agent-a1.jsonl", "{}\n{}\n{}\n");
    let mut follower = trial.follow(polling());
    assert_eq!(follower.skipped().len(), 0, "it may name one yet");
    append(&log, "{}\n");
    assert_eq!(told(&follower.look()), [""; 0]);
    assert_eq!(follower.skipped()[0].path, log);
}

#[test]
fn batches_are_bounded_and_long_lines_are_passed() {
    let trial = Trial::new();
    let line = format!("{}\n", "x".repeat(99));
    let long = format!("{}\n", "y".repeat(700_000));
    let content = [line.repeat(50), long, line.repeat(2)].concat();
    trial.write(&format!("projects/-w/{ID}.jsonl"), content);
    let mut follower = trial.follow(FollowOptions {
        start: FollowStart::Beginning,
        limits: ReadLimits { batch: 2000, line: 5000 },
        ..polling()
    });
    let mut sizes = Vec::new();
    loop {
        let changes = follower.look();
        if changes.is_empty() {
            break;
        }
        for change in changes {
            match change {
                Change::Lines { bytes, .. } => sizes.push(bytes.len()),
                Change::LongLine { batch, start } => {
                    assert_eq!((batch.range, start.len()), (5000..705_001, 4096));
                    sizes.push(0);
                }
                _ => {}
            }
        }
    }
    assert_eq!(sizes, [2000, 2000, 1000, 0, 200]);
}

#[test]
fn announcements_are_told_and_keys_beside_them_are_not() {
    let trial = Trial::new();
    trial.write("sessions/12.json", "{}");
    let mut follower = trial.follow(polling());
    // Files that were written a moment ago may have changed since.
    std::thread::sleep(Duration::from_millis(80));
    follower.look();
    assert_eq!(told(&follower.look()), [""; 0]);
    trial.write("sessions/12.ab.key", "secret");
    assert_eq!(told(&follower.look()), [""; 0]);
    trial.write("sessions/12.json", "{\"status\":\"busy\"}");
    assert_eq!(told(&follower.look()), ["announcements"]);
    std::thread::sleep(Duration::from_millis(80));
    follower.look();
    fs::remove_file(trial.path("sessions/12.json")).unwrap();
    assert_eq!(told(&follower.look()), ["announcements"]);
    assert_eq!(told(&follower.look()), [""; 0]);
}

#[cfg(unix)]
#[test]
fn links_out_of_the_home_are_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret");
    fs::write(&secret, "secret\n").unwrap();
    let trial = Trial::new();
    let log = trial.write(&format!("projects/-w/{ID}.jsonl"), "one\n");
    let link = trial.path(&format!("projects/-w/{OTHER}.jsonl"));
    std::os::unix::fs::symlink(&secret, &link).unwrap();
    let mut follower = trial.follow(FollowOptions { start: FollowStart::Beginning, ..polling() });
    assert_eq!(told(&follower.look()), ["appeared -w/ID", r#"lines -w/ID 0 "one\n""#]);
    assert_eq!(follower.skipped()[0].path, link);
    // A log that becomes a link is gone.
    fs::remove_file(&log).unwrap();
    std::os::unix::fs::symlink(&secret, &log).unwrap();
    follower.tree.mark(&log);
    assert_eq!(told(&follower.look()), ["removed -w/ID"]);
}

#[cfg(unix)]
#[test]
fn names_that_are_no_text_survive_a_restart() {
    use std::os::unix::ffi::OsStrExt;
    let trial = Trial::new();
    let project = trial.path("projects").join(std::ffi::OsStr::from_bytes(b"-\xff"));
    fs::create_dir_all(&project).unwrap();
    let log = project.join(format!("{ID}.jsonl"));
    fs::write(&log, "one\n").unwrap();
    let follower = trial.follow(polling());
    let checkpoint = Checkpoint::decode(&trial.home, &follower.checkpoint().encode()).unwrap();
    append(&log, "two\n");
    let mut resumed = Follower::resume(&trial.home, polling(), &checkpoint).unwrap();
    assert_eq!(told(&resumed.look()), ["lines -\u{fffd}/ID 4 \"two\\n\""]);
}

#[test]
fn a_checkpoint_is_read_with_care() {
    let trial = Trial::new();
    trial.write(&format!("projects/-w/{ID}.jsonl"), "one\n");
    let written = trial.follow(polling()).checkpoint().encode();
    let text = String::from_utf8(written).unwrap();
    assert!(Checkpoint::decode(&trial.home, text.as_bytes()).is_ok());
    let elsewhere = format!("projects/-w/{ID}.jsonl");
    let changed = [
        String::new(),
        "no JSON\n".into(),
        text.replacen("\"form\":2", "\"form\":1", 1),
        text.trim_end().to_owned(),
        text.replace(&elsewhere, &format!("projects/../../{ID}.jsonl")),
        text.replace(&elsewhere, &format!("/projects/{ID}.jsonl")),
        text.replace(&elsewhere, "projects/-w/.credentials.json"),
        text.replace(ID, "no-session"),
        text.replacen("\"cursor\":\"01", "\"cursor\":\"ff", 1),
        text.replacen("\"cursor\":\"01", "\"cursor\":\"0", 1),
    ];
    for one in changed {
        assert_ne!(one, text);
        let decoded = Checkpoint::decode(&trial.home, one.as_bytes());
        assert!(matches!(decoded, Err(FollowError::BadCheckpoint { .. })), "{one}");
    }
}

#[test]
fn a_waiting_follower_is_woken_and_stopped() {
    let trial = Trial::new();
    let mut follower = trial.follow(FollowOptions::default());
    let waker = follower.waker();
    let thread = std::thread::spawn(move || {
        assert_eq!(follower.next(LONG * 60), []);
        assert_eq!(follower.next(LONG * 60), []);
        follower.next(LONG * 60)
    });
    waker.wake();
    waker.stop();
    assert_eq!(thread.join().unwrap(), [], "it waits no more once it is stopped");
}

#[cfg(target_os = "linux")]
#[test]
fn the_system_tells_what_happens_in_old_and_new_directories() {
    let trial = Trial::new();
    let mut follower = trial.follow(FollowOptions::default());
    assert_eq!(follower.watching(), Watching::Events);
    // The schedule must not find it instead.
    follower.schedule.postpone();
    let log = trial.write(&format!("projects/-w/{ID}.jsonl"), "one\n");
    until(&mut follower, r#"lines -w/ID 0 "one\n""#);
    append(&log, "two\n");
    assert_eq!(until(&mut follower, "two"), [r#"lines -w/ID 4 "two\n""#]);
    trial.write(&format!("projects/-w/{ID}/subagents/agent-a1.jsonl"), "a\n");
    until(&mut follower, r#"lines -w/agent-a1 0 "a\n""#);
    let new = trial.write("projects/-w/new", "other\n");
    fs::rename(new, &log).unwrap();
    until(&mut follower, r#"lines -w/ID 0 "other\n""#);
    // A directory by another name is watched by that name.
    fs::rename(trial.path("projects/-w"), trial.path("projects/-v")).unwrap();
    let moved = until(&mut follower, "moved -w/agent-a1 -v/agent-a1");
    assert!(moved.contains(&"moved -w/ID -v/ID".to_owned()), "{moved:?}");
    append(&trial.path(&format!("projects/-v/{ID}.jsonl")), "three\n");
    until(&mut follower, r#"lines -v/ID 6 "three\n""#);
    trial.write("sessions/7.json", "{}");
    until(&mut follower, "announcements");
    fs::remove_file(trial.path(&format!("projects/-v/{ID}.jsonl"))).unwrap();
    until(&mut follower, "removed -v/ID");
}

#[test]
fn without_the_system_changes_are_found_by_looking() {
    let trial = Trial::new();
    let log = trial.write(&format!("projects/-w/{ID}.jsonl"), "one\n");
    let mut follower = trial.follow(polling());
    assert_eq!(follower.watching(), Watching::Polling);
    append(&log, "two\n");
    until(&mut follower, r#"lines -w/ID 4 "two\n""#);
    trial.write(&format!("projects/-v/{OTHER}.jsonl"), "new\n");
    until(&mut follower, r#"lines -v/OTHER 0 "new\n""#);
}

#[test]
fn ten_thousand_logs_are_followed() {
    let trial = Trial::new();
    let id = |number: usize| format!("{number:08x}-9d8e-4f70-a1b2-c3d4e5f60718");
    let path = |number: usize| format!("projects/-p{}/{}.jsonl", number % 100, id(number));
    for number in 0..10_000 {
        trial.write(&path(number), "{}\n");
    }
    let mut follower = trial.follow(FollowOptions::default());
    assert_eq!(follower.files().count(), 10_000);
    let mut wanted = std::collections::BTreeSet::new();
    for number in [0, 4711, 9999] {
        append(&trial.path(&path(number)), "new\n");
        wanted.insert((trial.path(&path(number)), 3));
    }
    let mut found = std::collections::BTreeSet::new();
    while found.len() < wanted.len() {
        for change in follower.next(LONG) {
            let Change::Lines { batch, bytes } = change else { panic!("{change:?}") };
            assert_eq!(bytes, b"new\n");
            assert!(found.insert((batch.file.path.clone(), batch.range.start)), "told twice");
        }
    }
    assert_eq!(found, wanted);
    assert_eq!(follower.look(), []);
}

#[test]
fn a_file_anywhere_is_followed_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("copy.jsonl");
    fs::write(&path, "one\ntor").unwrap();
    let mut follower = LogFollower::new(&path).unwrap();
    assert_eq!(follower.next(LONG), [LogChange::Lines(0, b"one\n".to_vec())]);
    append(&path, "n\n");
    assert_eq!(follower.next(LONG), [LogChange::Lines(4, b"torn\n".to_vec())]);
    fs::write(&path, "new\n").unwrap();
    let mut changes = follower.next(LONG);
    // It is empty for a moment.
    while changes.len() < 2 {
        changes.extend(follower.next(LONG));
    }
    assert_eq!(changes, [LogChange::Restarted, LogChange::Lines(0, b"new\n".to_vec())]);
    fs::remove_file(&path).unwrap();
    assert_eq!(follower.next(LONG), [LogChange::Removed]);
    assert_eq!(follower.next(Duration::ZERO), []);
    fs::write(&path, "back\n").unwrap();
    let mut changes = follower.next(LONG);
    while changes.len() < 2 {
        changes.extend(follower.next(LONG));
    }
    assert_eq!(changes, [LogChange::Restarted, LogChange::Lines(0, b"back\n".to_vec())]);
}

#[test]
fn what_was_found_but_not_handed_out_is_found_again_after_a_restart() {
    let trial = Trial::new();
    trial.write(&format!("projects/-w/{ID}.jsonl"), "one\n");
    let options = FollowOptions { start: FollowStart::Beginning, ..polling() };
    let checkpoint = trial.follow(options).checkpoint();
    let resumed = Follower::resume(&trial.home, polling(), &checkpoint).unwrap();
    let mut again = Follower::resume(&trial.home, polling(), &resumed.checkpoint()).unwrap();
    assert_eq!(told(&again.look()), ["appeared -w/ID", r#"lines -w/ID 0 "one\n""#]);
}

/// Everything that is there, in batches.
fn batches(follower: &mut Follower) -> Vec<Change> {
    let mut all = Vec::new();
    loop {
        match follower.look() {
            changes if changes.is_empty() => return all,
            changes => all.extend(changes),
        }
    }
}

#[test]
fn batches_are_acknowledged_in_any_order_and_none_is_lost() {
    let trial = Trial::new();
    let log = trial.write(&format!("projects/-w/{ID}.jsonl"), "one\ntwo\nthree\n");
    let limits = ReadLimits { batch: 4, line: 100 };
    let options = FollowOptions { start: FollowStart::Beginning, limits, ..polling() };
    let mut follower = trial.follow(options.clone());
    let mut checkpoint = follower.checkpoint();
    let batches: Vec<Batch> = batches(&mut follower)
        .into_iter()
        .filter_map(|change| match change {
            Change::Lines { batch, .. } => Some(*batch),
            _ => None,
        })
        .collect();
    assert_eq!(batches.len(), 3);
    let resumed = |checkpoint: &Checkpoint| {
        let checkpoint = Checkpoint::decode(&trial.home, &checkpoint.encode()).unwrap();
        let options = FollowOptions { limits: ReadLimits::default(), ..polling() };
        told(&Follower::resume(&trial.home, options, &checkpoint).unwrap().look())
    };
    checkpoint.acknowledge(&batches[2]);
    checkpoint.acknowledge(&batches[1]);
    let all = r#"lines -w/ID 0 "one\ntwo\nthree\n""#;
    assert_eq!(resumed(&checkpoint), ["appeared -w/ID", all], "the first one is not done");
    checkpoint.acknowledge(&batches[0]);
    assert_eq!(resumed(&checkpoint), [""; 0]);
    // A batch of a life that is over changes nothing for the new one.
    fs::write(&log, "ONE\n").unwrap();
    let changes = follower.look();
    changes.iter().for_each(|change| checkpoint.note(change));
    checkpoint.acknowledge(&batches[0]);
    let anew = ["restarted -w/ID", r#"lines -w/ID 0 "ONE\n""#];
    assert_eq!(resumed(&checkpoint), anew);
    let Some(Change::Lines { batch, .. }) = changes.last() else { panic!("{changes:?}") };
    checkpoint.acknowledge(batch);
    assert_eq!(resumed(&checkpoint), [""; 0]);
    // What has moved is known by its new name.
    let moved = trial.path(&format!("projects/-w/{OTHER}.jsonl"));
    fs::rename(&log, &moved).unwrap();
    follower.look().iter().for_each(|change| checkpoint.note(change));
    append(&moved, "two\n");
    assert_eq!(resumed(&checkpoint), [r#"lines -w/OTHER 4 "two\n""#]);
}

#[test]
fn files_that_are_as_they_were_are_not_opened_after_a_restart() {
    let trial = Trial::new();
    let log = trial.write(&format!("projects/-w/{ID}.jsonl"), "one\n");
    // What was written a moment ago may have changed since.
    std::thread::sleep(Duration::from_millis(80));
    let checkpoint = trial.follow(polling()).checkpoint();
    let resumed = Follower::resume(&trial.home, polling(), &checkpoint).unwrap();
    assert!(resumed.tree.is_at_rest());
    append(&log, "two\n");
    let resumed = Follower::resume(&trial.home, polling(), &checkpoint).unwrap();
    assert!(!resumed.tree.is_at_rest());
}

/// A file of each kind that is neither a log nor an announcement.
fn other_files() -> Vec<(FileKind, String)> {
    let folder = format!("projects/-w/{ID}");
    vec![
        (FileKind::FileHistory, format!("file-history/{ID}/0123456789abcdef@v1")),
        (FileKind::History, "history.jsonl".to_owned()),
        (FileKind::Plan, "plans/a-plan.md".to_owned()),
        (FileKind::Memory, "projects/-w/memory/topics/build.md".to_owned()),
        (FileKind::SessionTitle, format!("{folder}/custom-title.json")),
        (FileKind::AgentMeta, format!("{folder}/subagents/agent-a1.meta.json")),
        (FileKind::ToolResult, format!("{folder}/tool-results/b1234abcd.txt")),
        (FileKind::Task, format!("tasks/{ID}/1.json")),
        (FileKind::Todo, format!("todos/{ID}-agent-{ID}.json")),
    ]
}

fn following_others(start: FollowStart) -> FollowOptions {
    FollowOptions { also: FileKind::ALL.to_vec(), start, ..polling() }
}

/// Looks until nothing is new, and gives what was told of other files, each once.
fn told_of_others(follower: &mut Follower) -> Vec<String> {
    let mut all = Vec::new();
    loop {
        let changes = told(&follower.look());
        if changes.is_empty() {
            break;
        }
        all.extend(changes.into_iter().filter(|told| told.starts_with("file ")));
    }
    all.sort();
    all.dedup();
    all
}

fn named(before: &str, kinds: &[(FileKind, String)]) -> Vec<String> {
    let mut names: Vec<String> =
        kinds.iter().map(|(kind, _)| format!("{before} {kind:?}")).collect();
    names.sort();
    names
}

#[test]
fn files_of_every_kind_are_told_when_they_come_change_and_go() {
    let trial = Trial::new();
    let files = other_files();
    trial.write("projects/-w/notes.txt", "not a kind of file");
    trial.write(".credentials.json", "{}");
    let mut follower = trial.follow(following_others(FollowStart::End));
    assert_eq!(told_of_others(&mut follower), [""; 0]);
    for (_, file) in &files {
        trial.write(file, "{}\n");
    }
    assert_eq!(told_of_others(&mut follower), named("file", &files));
    for (_, file) in &files {
        append(&trial.path(file), "more\n");
        assert_eq!(told_of_others(&mut follower).len(), 1, "{file}");
    }
    for directory in ["file-history", "plans", "projects", "tasks", "todos"] {
        fs::remove_dir_all(trial.path(directory)).unwrap();
    }
    fs::remove_file(trial.path("history.jsonl")).unwrap();
    assert_eq!(told_of_others(&mut follower), named("file removed", &files));
}

#[test]
fn files_that_are_there_are_told_if_that_is_wanted_and_after_a_restart() {
    let trial = Trial::new();
    let files = other_files();
    for (_, file) in &files {
        trial.write(file, "{}\n");
    }
    let mut follower = trial.follow(following_others(FollowStart::Beginning));
    assert_eq!(told_of_others(&mut follower), named("file", &files));
    let checkpoint = follower.checkpoint();
    let options = following_others(FollowStart::End);
    let mut next = Follower::resume(&trial.home, options, &checkpoint).unwrap();
    assert_eq!(told_of_others(&mut next), named("file", &files));
    // Who wants logs only is told of logs only.
    let mut logs = trial.follow(FollowOptions { start: FollowStart::Beginning, ..polling() });
    assert_eq!(told_of_others(&mut logs), [""; 0]);
}

#[test]
fn the_system_tells_of_files_of_other_kinds() {
    let trial = Trial::new();
    trial.write("history.jsonl", "{}\n");
    let options = FollowOptions { also: FileKind::ALL.to_vec(), ..FollowOptions::default() };
    let mut follower = trial.follow(options);
    follower.schedule.postpone();
    if follower.watching() != Watching::Events {
        return;
    }
    append(&trial.path("history.jsonl"), "{}\n");
    until(&mut follower, "file History");
    trial.write(&format!("tasks/{ID}/1.json"), "{}");
    until(&mut follower, "file Task");
}
