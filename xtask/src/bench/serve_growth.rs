//! What a line that is added to a large session costs the server until a page has it.

use std::fs;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Read as _;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use anyhow::bail;
use recto_testkit::Client;
use recto_testkit::FakeHome;
use recto_testkit::SessionBuilder;

use super::serve::TOKEN;
use super::serve::listen;
use super::serve::start;

/// How large the session is, in bytes.
const SIZE: usize = 67_000_000;
/// How many lines are added. The first few warm up.
const ROUNDS: usize = 25;
const WARM_UP: usize = 4;
/// Between lines, so that the work on one has ended before the next.
const PAUSE: Duration = Duration::from_millis(600);
const ID: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";

/// Seconds of processor time for each line that was added, sorted.
pub(super) struct Growth {
    /// From the line on the disk to the turn that has it.
    turn: Vec<f64>,
    /// Then, for the head of the session.
    head: Vec<f64>,
}

impl Growth {
    pub(super) fn turn_median(&self) -> f64 {
        median(&self.turn)
    }

    pub(super) fn head_median(&self) -> f64 {
        median(&self.head)
    }
}

fn median(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::MAX)
}

/// Adds lines to a large session that a page shows.
pub(super) fn measure(program: &Path) -> anyhow::Result<Growth> {
    let home = FakeHome::new();
    let (mut session, turns) = large_session();
    let path = home.add(&session, jiff::Timestamp::now());
    let (served, base) = start(program, &home)?;
    let pid = served.pid();
    let mut events = BufReader::new(listen(&base)?);
    next(&mut events, "ready")?;
    let address = format!("/api/v1/sessions/{ID}/turns?from={turns}&count=1");
    get(&base, &address)?;
    let head = format!("/api/v1/sessions/{ID}");
    get(&base, &head)?;
    let mut found = Growth { turn: Vec::new(), head: Vec::new() };
    for round in 0..ROUNDS {
        thread::sleep(PAUSE);
        let written = session.bytes().len();
        let text = format!("This is line {round}.");
        session = session.answer(&text);
        let before = processor(pid)?;
        fs::File::options().append(true).open(&path)?.write_all(&session.bytes()[written..])?;
        next(&mut events, "appended")?;
        if !get(&base, &address)?.contains(&text) {
            bail!("the turn lacks the line that was added");
        }
        let fetched = processor(pid)?;
        get(&base, &head)?;
        if round >= WARM_UP {
            found.turn.push(fetched - before);
            found.head.push(processor(pid)? - fetched);
        }
    }
    found.turn.sort_by(f64::total_cmp);
    found.head.sort_by(f64::total_cmp);
    Ok(found)
}

/// A session of many turns with long results, and how many turns it has.
fn large_session() -> (SessionBuilder, usize) {
    let mut session = SessionBuilder::new(ID, Client::V2_1_29);
    let result = "a line that a tool has written, of some length\n".repeat(60);
    let mut turns = 0;
    while session.bytes().len() < SIZE {
        turns += 1;
        session = session.prompt(&format!("Do part {turns} of the work"));
        for _ in 0..12 {
            session = session.tool("Bash", r#"{"command":"make"}"#, &result);
        }
        session = session.answer("It is done.");
    }
    (session, turns)
}

/// Waits for an event.
fn next(events: &mut BufReader<TcpStream>, wanted: &str) -> anyhow::Result<()> {
    let mut line = String::new();
    while events.read_line(&mut line)? > 0 {
        if line.trim_end().strip_prefix("event: ") == Some(wanted) {
            return Ok(());
        }
        line.clear();
    }
    bail!("the events ended before `{wanted}`")
}

fn get(base: &str, address: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(base)?;
    write!(
        stream,
        "GET {address} HTTP/1.1\r\nHost: {base}\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\r\n"
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    if !answer.starts_with("HTTP/1.1 200") {
        bail!("{address}: {}", answer.lines().next().unwrap_or("no answer"));
    }
    Ok(answer)
}

/// Seconds of processor time of all threads of a process, to the nanosecond: the ticks
/// of `/proc/PID/stat` are too long for this.
fn processor(pid: u32) -> anyhow::Result<f64> {
    let mut nanoseconds = 0;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread may end meanwhile.
        let Ok(text) = fs::read_to_string(task?.path().join("schedstat")) else { continue };
        let first = text.split_whitespace().next().context("no schedstat")?;
        nanoseconds += first.parse::<u64>()?;
    }
    Ok(nanoseconds as f64 / 1e9)
}
