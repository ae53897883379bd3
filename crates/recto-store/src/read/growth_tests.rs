//! Random lives of a log: what was read piece by piece is what is read at once.

use std::path::Path;
use std::path::PathBuf;

use fs_err as fs;
use jiff::Timestamp;
use proptest::prelude::*;
use recto_log::Lines;
use recto_log::decode;
use recto_session::Session;
use recto_session::branches;
use recto_session::on_current_branch;
use recto_session::statistics::LogRole;
use recto_session::statistics::LogStatistics;
use recto_session::turns;
use recto_session::usage::LogUsage;
use recto_session::usage::Wanted;

use crate::Advance;
use crate::Cursor;
use crate::Home;
use crate::Loaded;
use crate::ReadLimits;
use crate::StatusScope;
use crate::Statuses;

const ID: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";

#[derive(Debug, Clone)]
enum Action {
    /// Appends lines, and a part of one more.
    Append(Vec<Line>, usize),
    /// Ends a line that was torn.
    EndLine,
    Truncate(usize),
    /// Writes the file anew, in place or as another file.
    Rewrite(Vec<Line>, bool),
    /// Changes a byte near the beginning or the end.
    Patch(usize, bool),
    /// Moves the log away and back, by way of a copy.
    Copy,
    Remove,
}

/// A line, by what is random in it.
#[derive(Debug, Clone)]
struct Line {
    kind: usize,
    uuid: usize,
    parent: usize,
    message: usize,
    text: usize,
}

impl Line {
    fn bytes(&self) -> Vec<u8> {
        let Line { kind, uuid, parent, message, text } = self;
        let parent = match parent {
            0 => "null".to_owned(),
            // Some follow the line before, as most do in real logs.
            1..=12 => format!("\"n{}\"", uuid.saturating_sub(1)),
            other => format!("\"n{other}\""),
        };
        let time = format!("2026-11-16T10:{:02}:{:02}Z", uuid % 60, text % 60);
        let words = "word ".repeat(*text);
        let head = format!(
            r#""uuid":"n{uuid}","parentUuid":{parent},"timestamp":"{time}","sessionId":"{ID}""#
        );
        let usage = format!(r#""usage":{{"input_tokens":{text},"output_tokens":{uuid}}}"#);
        let answer = |block: String| {
            format!(
                r#"{{"type":"assistant",{head},"message":{{"id":"m{message}","role":"assistant","model":"claude-x","content":[{block}],{usage}}}}}"#
            )
        };
        let user = |content: String| {
            format!(r#"{{"type":"user",{head},"message":{{"role":"user","content":{content}}}}}"#)
        };
        let line = match kind {
            0 | 1 => user(format!("\"{words}\"")),
            2 | 3 => answer(format!(r#"{{"type":"text","text":"{words}"}}"#)),
            4 => answer(format!(
                r#"{{"type":"tool_use","id":"t{message}","name":"Bash","input":{{"command":"ls"}}}}"#
            )),
            5 => user(format!(
                r#"[{{"type":"tool_result","tool_use_id":"t{message}","content":"{words}","is_error":true}}]"#
            )),
            6 => format!(r#"{{"type":"last-prompt","leafUuid":"n{uuid}","lastPrompt":"{words}"}}"#),
            7 => format!(
                r#"{{"type":"queue-operation","operation":"enqueue","content":"{words}","timestamp":"{time}","sessionId":"{ID}"}}"#
            ),
            8 => format!(
                r#"{{"type":"system","subtype":"turn_duration","durationMs":{text},{head}}}"#
            ),
            9 => format!(r#"{{"type":"custom-title","customTitle":"{words}","sessionId":"{ID}"}}"#),
            _ => "{damaged".to_owned(),
        };
        (line + "\n").into_bytes()
    }
}

fn line() -> impl Strategy<Value = Line> {
    let text = prop_oneof![12 => 0..30usize, 1 => Just(9000usize)];
    (0..11usize, 0..40usize, 0..40usize, 0..6usize, text)
        .prop_map(|(kind, uuid, parent, message, text)| Line { kind, uuid, parent, message, text })
}

fn lines() -> impl Strategy<Value = Vec<Line>> {
    proptest::collection::vec(line(), 0..8)
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        12 => lines().prop_map(|lines| Action::Append(lines, 0)),
        2 => (lines(), 1..60usize).prop_map(|(lines, torn)| Action::Append(lines, torn)),
        2 => Just(Action::EndLine),
        2 => (0..20_000usize).prop_map(Action::Truncate),
        2 => (lines(), any::<bool>()).prop_map(|(lines, is_new)| Action::Rewrite(lines, is_new)),
        2 => (0..4096usize, any::<bool>()).prop_map(|(at, is_end)| Action::Patch(at, is_end)),
        1 => Just(Action::Copy),
        1 => Just(Action::Remove),
    ]
}

fn joined(lines: &[Line]) -> Vec<u8> {
    lines.iter().flat_map(Line::bytes).collect()
}

fn act(path: &Path, action: &Action) {
    let new = path.with_extension("new");
    match action {
        Action::Append(lines, torn) => {
            let mut bytes = joined(lines);
            let rest = Line { kind: 0, uuid: *torn, parent: 1, message: 0, text: 9 }.bytes();
            bytes.extend(&rest[..(*torn).min(rest.len())]);
            append(path, &bytes);
        }
        Action::EndLine => append(path, b"\n"),
        Action::Truncate(length) => {
            let file = fs::OpenOptions::new().write(true).open(path).unwrap();
            file.set_len((*length as u64).min(file.metadata().unwrap().len())).unwrap();
        }
        Action::Rewrite(lines, false) => fs::write(path, joined(lines)).unwrap(),
        Action::Rewrite(lines, true) => {
            fs::write(&new, joined(lines)).unwrap();
            fs::rename(new, path).unwrap();
        }
        Action::Patch(at, is_end) => {
            let mut bytes = fs::read(path).unwrap();
            if *at < bytes.len() {
                let at = if *is_end { bytes.len() - 1 - at } else { *at };
                bytes[at] ^= 1;
                let file = fs::OpenOptions::new().write(true).open(path).unwrap();
                std::os::unix::fs::FileExt::write_at(file.file(), &bytes[at..=at], at as u64)
                    .unwrap();
            }
        }
        Action::Copy => {
            fs::copy(path, &new).unwrap();
            fs::rename(new, path).unwrap();
        }
        Action::Remove => {
            fs::remove_file(path).unwrap();
            fs::write(path, "").unwrap();
        }
    }
}

fn append(path: &Path, bytes: &[u8]) {
    use std::io::Write;
    fs::OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
}

/// Everything that answers are made of.
fn facts(session: &Session) -> String {
    let turns = turns(session);
    let is_current = on_current_branch(session, &turns);
    let facts = session.facts();
    let beside = (&session.meta, session.lines, &session.damaged, &session.glued);
    let odd = (&session.without_uuid, &session.repeated, &session.counts, session.queued_lines());
    let found = (&facts.messages, &facts.calls, &facts.compactions, &facts.turn_durations);
    format!(
        "{:#?}{beside:?}{odd:?}{found:?}{:?}{turns:?}{is_current:?}{:?}{:?}",
        session.nodes().collect::<Vec<_>>(),
        session.records,
        branches(session),
        LogStatistics::of(session, &turns, LogRole::Session).encode()
    )
}

/// The usage of a log, of which only what was added is counted.
struct GrownUsage {
    cursor: Cursor,
    usage: LogUsage,
    /// The number of the next line.
    number: u64,
}

impl GrownUsage {
    fn start(path: &Path) -> GrownUsage {
        let cursor = Cursor::start(&fs::metadata(path).unwrap());
        GrownUsage { cursor, usage: LogUsage::new(Wanted { tools: true }), number: 1 }
    }

    fn grow(&mut self, path: &Path) {
        let file = fs::File::open(path).unwrap();
        loop {
            match self.cursor.advance(file.file(), ReadLimits::default()).unwrap() {
                Advance::Nothing => return,
                Advance::Differs => *self = GrownUsage::start(path),
                Advance::Grown(growth) => {
                    for line in growth.lines(self.number) {
                        self.usage.push(&decode(line).0, Some(ID));
                        self.number += 1;
                    }
                }
            }
        }
    }
}

/// The usage of the whole lines of a log, read at once.
fn usage_at_once(path: &Path) -> LogUsage {
    let bytes = fs::read(path).unwrap();
    let mut usage = LogUsage::new(Wanted { tools: true });
    for line in Lines::new(&bytes).filter(|line| line.terminated) {
        usage.push(&decode(line).0, Some(ID));
    }
    usage
}

struct World {
    path: PathBuf,
    home: Home,
    loaded: Loaded,
    usage: GrownUsage,
    statuses: Statuses,
    _folder: tempfile::TempDir,
}

impl World {
    fn new(before: &[Line]) -> World {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("projects/-w");
        fs::create_dir_all(&project).unwrap();
        let path = project.join(format!("{ID}.jsonl"));
        fs::write(&path, joined(before)).unwrap();
        let home = Home::open(folder.path()).unwrap();
        let loaded = Loaded::read(&path).unwrap();
        let usage = GrownUsage::start(&path);
        World { path, home, loaded, usage, statuses: Statuses::default(), _folder: folder }
    }

    fn compare(&mut self) {
        self.loaded.refresh().unwrap();
        let fresh = Loaded::read(&self.path).unwrap();
        assert_eq!(facts(&self.loaded.session), facts(&fresh.session));
        self.usage.grow(&self.path);
        assert_eq!(self.usage.usage.clone().encode(), usage_at_once(&self.path).encode());
        let now: Timestamp = "2026-11-16T12:00:00Z".parse().unwrap();
        let look = |statuses: &mut Statuses| {
            statuses.look(&self.home, &self.home.inventory(), &StatusScope::All, now)
        };
        let grown = look(&mut self.statuses);
        assert_eq!(grown, look(&mut Statuses::default()));
    }
}

/// How many lives are tried.
fn lives() -> u32 {
    let asked = std::env::var("RECTO_FUZZ_ITERATIONS").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(100)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: lives(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_to_a_log_what_grew_is_what_is_read_at_once(
        before in lines(),
        actions in proptest::collection::vec(action(), 1..20),
    ) {
        let mut world = World::new(&before);
        for action in &actions {
            act(&world.path, action);
            world.compare();
        }
    }
}

#[test]
fn a_log_that_grows_is_not_read_again() {
    let mut world = World::new(&[]);
    let line = |uuid| Line { kind: 0, uuid, parent: 1, message: 0, text: 3 }.bytes();
    append(&world.path, &line(1));
    assert_eq!(world.loaded.refresh().unwrap(), crate::Refresh::Grown);
    let held = world.loaded.clone();
    append(&world.path, &line(2));
    assert_eq!(world.loaded.refresh().unwrap(), crate::Refresh::Grown);
    assert_eq!((held.session.lines, world.loaded.session.lines), (1, 2));
    assert_eq!(world.loaded.refresh().unwrap(), crate::Refresh::Same);
    // The end of a line that is not whole is shown, and may become another one.
    append(&world.path, b"{\"type\":");
    assert_eq!(world.loaded.refresh().unwrap(), crate::Refresh::Anew);
    assert_eq!(world.loaded.session.damaged, [3]);
    append(&world.path, b"\"mode\"}\n");
    assert_eq!(world.loaded.refresh().unwrap(), crate::Refresh::Anew);
    assert_eq!(world.loaded.session.damaged, [0; 0]);
    append(&world.path, &line(3));
    assert_eq!(world.loaded.refresh().unwrap(), crate::Refresh::Grown);
}
