//! The status of recorded sessions, frame by frame, against what the client said.
//!
//! A frame is `sessions/<pid>.json` at a moment of a recording. The log is replayed up
//! to that moment.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use jiff::SignedDuration;
use jiff::Timestamp;
use recto_log::Lines;
use recto_log::RawLine;
use recto_log::decode;
use recto_log::json::Value;
use recto_session::status::Announced;
use recto_session::status::Announcement;
use recto_session::status::Status;
use recto_session::status::StatusFold;
use recto_session::status::StatusKind;
use recto_session::status::status;
use recto_session::status::timer;

use crate::samples::Random;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn corpus(path: &str) -> PathBuf {
    repository().join("fixtures/corpus").join(path)
}

/// What a client said, and when.
struct Frame {
    at: Timestamp,
    said: Announced,
}

struct Recording {
    log: Vec<u8>,
    frames: Vec<Frame>,
}

fn recording(version: &str) -> Recording {
    let folder = corpus(version).join("Istatus");
    let project = folder.join("home/.claude/projects/-home-dev-app");
    let mut files = fs::read_dir(project).unwrap().map(|file| file.unwrap().path());
    let log = files.find(|path| path.extension().is_some_and(|name| name == "jsonl"));
    let frames = fs::read(folder.join("sessions.jsonl")).unwrap();
    let frames = Lines::new(&frames).map(|line| frame(line.bytes)).collect();
    Recording { log: fs::read(log.unwrap()).unwrap(), frames }
}

fn frame(line: &[u8]) -> Frame {
    let outer = Value::parse(line).unwrap();
    let value = outer.get("value").unwrap();
    let time = |name: &str| {
        let milliseconds = value.get(name)?.as_u64()?;
        Timestamp::from_millisecond(i64::try_from(milliseconds).unwrap()).ok()
    };
    let text = |name: &str| value.str(name).map(|text| text.into_owned());
    let said = Announced {
        pid: u32::try_from(value.get("pid").unwrap().as_u64().unwrap()).unwrap(),
        is_alive: true,
        status: text("status"),
        waiting_for: text("waitingFor"),
        since: time("statusUpdatedAt"),
        started: time("startedAt"),
        version: text("version"),
        kind: text("kind"),
        entrypoint: text("entrypoint"),
    };
    Frame { at: said.since.unwrap(), said }
}

/// The lines that were written by a time. Lines without a time belong to what follows,
/// because they are written with it.
fn fold_until(log: &[u8], time: Timestamp) -> StatusFold {
    let mut fold = StatusFold::default();
    let mut waiting: Vec<RawLine<'_>> = Vec::new();
    for line in Lines::new(log) {
        let entry = decode(line).0;
        match entry.timestamp() {
            Some(written) if written > time => break,
            Some(_) => {
                for line in waiting.drain(..) {
                    fold.push(&decode(line).0);
                }
                fold.push(&entry);
            }
            None => waiting.push(line),
        }
    }
    fold
}

/// Whether an answer is what the client said. It has one word for a question and for a call
/// that must be approved; the call tells which it is.
fn agrees(found: &Status, said: &Announced) -> bool {
    let kind = found.kind;
    let is_question =
        found.pending.as_ref().is_some_and(|pending| pending.tool == "AskUserQuestion");
    match said.status.as_deref() {
        Some("busy" | "shell") => kind == StatusKind::Working,
        Some("waiting") if is_question => kind == StatusKind::WaitingForInput,
        Some("waiting") => kind == StatusKind::WaitingForApproval,
        Some("idle") => matches!(kind, StatusKind::WaitingForInput | StatusKind::Idle),
        other => panic!("a client said {other:?}"),
    }
}

const RECORDED: [&str; 2] = ["2.1.200", "2.1.325"];

#[test]
fn every_recorded_frame_is_what_the_client_said() {
    let mut frames = 0;
    for version in RECORDED {
        let recording = recording(version);
        for frame in &recording.frames {
            let fold = fold_until(&recording.log, frame.at);
            let announcement = Announcement::Made(frame.said.clone());
            let found = status(&announcement, &fold, frame.at);
            assert!(agrees(&found, &frame.said), "{version} {:?}: {found:?}", frame.said);
            assert_eq!(found.since, frame.said.since, "{version}");
            frames += 1;
        }
    }
    assert_eq!(frames, 19);
}

#[test]
fn a_recorded_process_that_is_gone_has_ended_in_every_frame() {
    for version in RECORDED {
        let recording = recording(version);
        for frame in &recording.frames {
            let fold = fold_until(&recording.log, frame.at);
            let said = Announced { is_alive: false, ..frame.said.clone() };
            let found = status(&Announcement::Made(said), &fold, frame.at);
            assert_eq!(found.kind, StatusKind::Ended, "{version}: {:?}", found.why);
        }
    }
}

/// How often the log alone gives what the client said: at each frame, and every tenth
/// of a second between the first frame and five seconds after the last one. Says what
/// the documents say, so that they cannot drift.
#[test]
fn the_accuracy_of_the_log_alone_is_the_documented_one() {
    let (mut frames, mut right_frames, mut samples, mut right_samples) = (0, 0, 0, 0);
    let (mut frames_with_log, mut samples_with_log) = (0, 0);
    for version in RECORDED {
        let recording = recording(version);
        let ask = |at: Timestamp, said: &Announced| {
            let found = status(&Announcement::Unknown, &fold_until(&recording.log, at), at);
            agrees(&found, said)
        };
        let has_log = |at: Timestamp| usize::from(!fold_until(&recording.log, at).is_empty());
        for (number, frame) in recording.frames.iter().enumerate() {
            frames += 1;
            frames_with_log += has_log(frame.at);
            right_frames += usize::from(ask(frame.at, &frame.said));
            let end = recording.frames.get(number + 1).map_or_else(
                || frame.at.checked_add(SignedDuration::from_secs(5)).unwrap(),
                |next| next.at,
            );
            let mut at = frame.at;
            while at < end {
                samples += 1;
                samples_with_log += has_log(at);
                right_samples += usize::from(ask(at, &frame.said));
                at = at.checked_add(SignedDuration::from_millis(100)).unwrap();
            }
        }
    }
    let measured = format!(
        "{right_frames} of {frames} frames ({right_frames} of {frames_with_log} where a log exists), \
         {right_samples} of {samples} samples ({right_samples} of {samples_with_log})"
    );
    let page = fs::read_to_string(repository().join("docs/concepts/status.md")).unwrap();
    assert!(page.contains(&measured), "docs/concepts/status.md does not say: {measured}");
}

/// A log without a client, asked some time after its last line.
fn from_log(path: &str, later: SignedDuration) -> (StatusKind, Vec<String>) {
    let path = corpus(path);
    let file = if path.is_dir() {
        let files = fs::read_dir(&path).unwrap().map(|file| file.unwrap().path());
        let mut logs: Vec<PathBuf> =
            files.filter(|path| path.extension().is_some_and(|name| name == "jsonl")).collect();
        logs.sort();
        logs.remove(0)
    } else {
        path
    };
    let log = fs::read(file).unwrap();
    let mut fold = StatusFold::default();
    let mut last = Timestamp::MIN;
    for line in Lines::new(&log) {
        let entry = decode(line).0;
        last = last.max(entry.timestamp().unwrap_or(last));
        fold.push(&entry);
    }
    let found = status(&Announcement::Unknown, &fold, last.checked_add(later).unwrap());
    (found.kind, found.why)
}

#[test]
fn interrupted_and_killed_sessions_are_told_apart() {
    let soon = SignedDuration::from_secs(4);
    let at_once = SignedDuration::ZERO;
    for (path, later, kind, why) in [
        ("2.1.29/I7/snapshots/interrupted-tool", soon, StatusKind::WaitingForInput, "interrupted"),
        ("2.1.29/I7/snapshots/interrupted-text", soon, StatusKind::WaitingForInput, "interrupted"),
        // Killed while a command ran, of which 2.1.29 told the progress.
        ("2.1.29/I7kill/snapshots/killed", soon, StatusKind::Working, "Bash was called"),
        ("2.1.29/I7kill/snapshots/killed", timer::IDLE, StatusKind::Idle, "nothing was written"),
        ("2.1.200/I7kill/snapshots/killed", soon, StatusKind::Working, "Bash was called"),
        ("2.0.50/I7kill/snapshots/killed", at_once, StatusKind::Working, "Bash was called"),
        // Its last turn was one of `claude -p`.
        ("2.1.325/I7/home/.claude/projects/-home-dev-app", soon, StatusKind::Ended, "one prompt"),
    ] {
        let (found, sentences) = from_log(path, later);
        assert_eq!(found, kind, "{path} {later:?}: {sentences:?}");
        assert!(sentences.join("; ").contains(why), "{path} {later:?}: {sentences:?}");
    }
}

/// All logs of all recorded clients, with their lines.
fn all_logs() -> Vec<Vec<u8>> {
    let mut logs = Vec::new();
    let mut waiting = vec![repository().join("fixtures/corpus")];
    while let Some(folder) = waiting.pop() {
        let mut inside: Vec<PathBuf> =
            fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
        inside.sort();
        for path in inside {
            if path.is_dir() {
                waiting.push(path);
            } else if path.to_string_lossy().contains("/projects/") {
                logs.push(fs::read(path).unwrap());
            }
        }
    }
    assert!(logs.len() > 100, "{}", logs.len());
    logs
}

/// The logs grow line by line while a clock runs and a client comes, speaks and goes.
/// The answer may change when a line came, when an announcement did, or when the time
/// came that the answer before had named; never otherwise.
#[test]
fn nothing_flaps() {
    let mut random = Random(11);
    let words = ["idle", "busy", "waiting", "shell", "dancing"];
    let (mut asked, mut changed_by_timer) = (0, 0);
    for log in all_logs() {
        let mut fold = StatusFold::default();
        let mut announcement = Announcement::Unknown;
        let mut written = Timestamp::UNIX_EPOCH;
        for line in Lines::new(&log) {
            let entry = decode(line).0;
            written = written.max(entry.timestamp().unwrap_or(written));
            let mut now = written;
            fold.push(&entry);
            if random.below(4) == 0 {
                announcement = match random.below(4) {
                    0 => Announcement::Unknown,
                    1 => Announcement::Absent,
                    _ => Announcement::Made(Announced {
                        pid: 7,
                        is_alive: random.below(5) > 0,
                        status: (random.below(4) > 0).then(|| (*random.pick(&words)).to_owned()),
                        since: (random.below(4) > 0).then_some(now),
                        ..Announced::default()
                    }),
                };
            }
            let mut before = status(&announcement, &fold, now);
            for _ in 0..6 {
                let step = [1, 500, 2_000, 9_000, 240_000, 90_000_000][random.below(6)];
                let later = now.checked_add(SignedDuration::from_millis(step)).unwrap();
                let after = status(&announcement, &fold, later);
                asked += 1;
                if (after.kind, after.since) == (before.kind, before.since) {
                    // Same answer, same confidence, and the same time to look again.
                    assert_eq!(after.confidence, before.confidence, "{before:?} {after:?}");
                    assert_eq!(after.changes_at, before.changes_at, "{before:?} {after:?}");
                } else {
                    changed_by_timer += 1;
                    let due = before.changes_at.unwrap_or_else(|| {
                        panic!("it changed by itself: {before:?} {after:?}");
                    });
                    assert!(now < due && due <= later, "{before:?} {after:?}");
                    // A moment before it was the old answer, at the moment it is a new one.
                    let just_before = due.checked_sub(SignedDuration::from_millis(1)).unwrap();
                    let just_before = status(&announcement, &fold, just_before.max(now));
                    assert_eq!((just_before.kind, just_before.since), (before.kind, before.since));
                    let at = status(&announcement, &fold, due);
                    assert_ne!((at.kind, at.since), (before.kind, before.since), "{before:?}");
                }
                (before, now) = (after, later);
            }
        }
    }
    assert!(asked > 10_000 && changed_by_timer > 1000, "{asked} {changed_by_timer}");
}

/// What a tail says is what the whole says, where the tail holds the turn.
#[test]
fn a_tail_says_what_the_whole_log_says() {
    let mut compared = 0;
    for log in all_logs() {
        let lines: Vec<RawLine<'_>> = Lines::new(&log).collect();
        let is_prompt = |line: &RawLine<'_>| {
            recto_log::classify_user(&decode(*line).0) == recto_log::UserText::Human
        };
        let Some(start) = lines.iter().rposition(is_prompt) else { continue };
        let folded = |lines: &[RawLine<'_>]| {
            let mut fold = StatusFold::default();
            lines.iter().for_each(|line| fold.push(&decode(*line).0));
            fold
        };
        let (whole, tail) = (folded(&lines), folded(&lines[start..]));
        let now: Timestamp = "2026-11-16T01:00:00Z".parse().unwrap();
        let ask = |fold: &StatusFold| {
            let found = status(&Announcement::Unknown, fold, now);
            (found.kind, found.since, found.last_prompt, found.last_line)
        };
        let (whole, tail) = (ask(&whole), ask(&tail));
        // Lines of other branches may be younger than those of the last prompt.
        if whole.3 != tail.3 {
            continue;
        }
        assert_eq!(whole, tail, "{}", String::from_utf8_lossy(lines[start].bytes));
        compared += 1;
    }
    assert!(compared > 100, "{compared}");
}
