//! `cargo xtask bench serve`: how soon a line on the disk is with those who listen.
//!
//! A server on 200 logs, 50 clients of which 5 never read, and lines that are added
//! to one log after another. Measured are the time from the write to each client that
//! reads, numbers of events that a client missed, and what the server takes: processor
//! and memory, idle and busy, and for a line that is added to a large session. `--soak MINUTES` goes on for so long, and compares the
//! memory of the first and the last quarter. `--growth` measures the large session alone.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::process::ExitCode;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use anyhow::Context as _;
use anyhow::bail;
use recto_testkit::Client;
use recto_testkit::FakeHome;
use recto_testkit::SessionBuilder;

use super::serve_growth;
use super::serve_growth::Growth;
use crate::repository::heading;
use crate::repository::root;
use crate::repository::say;

const USAGE: &str =
    "usage: cargo xtask bench serve [--program PATH] [--soak MINUTES | --growth] [--write]";
/// The part of the results about a large session.
const GROWTH: &str = "\n## A session of 67 MB that grows\n";

const LOGS: u128 = 200;
const READERS: usize = 45;
const SILENT: usize = 5;
pub(super) const TOKEN: &str = "0123456789abcdef0123456789abcdef";
/// How often a line is written.
const PAUSE: Duration = Duration::from_millis(10);
/// How many lines are written without `--soak`.
const LINES: usize = 2000;
/// What a line that is added to a large session may cost until its turn was fetched, in
/// seconds of processor time.
const MOST_GROWTH: f64 = 0.005;
/// How long the server is left alone to see what it takes.
const IDLE: Duration = Duration::from_secs(20);

struct Plan {
    program: Option<PathBuf>,
    soak: Option<Duration>,
    /// Only what a line costs that is added to a large session.
    growth: bool,
    write: bool,
}

/// Runs the task with the words after `serve`.
pub(super) fn run(words: &[String]) -> anyhow::Result<ExitCode> {
    let plan = parse(words)?;
    let program = match &plan.program {
        Some(program) => program.clone(),
        None => {
            heading("build");
            super::cargo_task(&["build", "--release", "--package", "recto"])?;
            super::built("recto")
        }
    };
    heading("serve");
    let path = root().join("bench/SERVE.md");
    let growth = serve_growth::measure(&program)?;
    let (stream, is_well) = match plan.growth {
        true => (fs::read_to_string(&path).unwrap_or_default(), true),
        false => {
            let found = measure(&program, &plan)?;
            (render(&found), found.is_well())
        }
    };
    let stream = stream.split(GROWTH).next().unwrap_or_default();
    let text = format!("{stream}{GROWTH}\n{}", render_growth(&growth));
    say(&text);
    if plan.write {
        fs::write(path, text)?;
    }
    let is_well = is_well && growth.turn_median() <= MOST_GROWTH;
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn parse(words: &[String]) -> anyhow::Result<Plan> {
    let mut plan = Plan { program: None, soak: None, growth: false, write: false };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--write" => plan.write = true,
            "--growth" => plan.growth = true,
            "--program" => plan.program = Some(words.next().context(USAGE)?.into()),
            "--soak" => {
                let minutes: u64 =
                    words.next().and_then(|text| text.parse().ok()).context(USAGE)?;
                plan.soak = Some(Duration::from_secs(minutes * 60));
            }
            other => bail!("unknown option `{other}`\n{USAGE}"),
        }
    }
    Ok(plan)
}

/// What was measured.
struct Found {
    lines: usize,
    /// From the write to each client, sorted.
    latencies: Vec<Duration>,
    missed: u64,
    idle_cpu: f64,
    idle_memory: u64,
    busy_cpu: f64,
    /// Memory while lines were written, in order.
    memory: Vec<u64>,
    soak: Option<Duration>,
}

impl Found {
    fn percentile(&self, percent: usize) -> Duration {
        let at = (self.latencies.len() * percent / 100).min(self.latencies.len().saturating_sub(1));
        self.latencies.get(at).copied().unwrap_or_default()
    }

    fn is_well(&self) -> bool {
        self.missed == 0 && self.latencies.len() == self.lines * READERS
    }
}

/// A server that ends with the measurement.
pub(super) struct Served(Child);

impl Served {
    pub(super) fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// When lines were written: by session and offset.
type Written = Arc<Mutex<HashMap<String, BTreeMap<u64, Instant>>>>;

/// What clients have seen.
#[derive(Default)]
struct Seen {
    latencies: Mutex<Vec<Duration>>,
    missed: AtomicU64,
    ready: AtomicU64,
}

fn measure(program: &Path, plan: &Plan) -> anyhow::Result<Found> {
    let home = FakeHome::new();
    let mut logs = Vec::new();
    for at in 0..LOGS {
        let id = format!("3f2a1b4c-9d8e-4f70-a1b2-{at:012x}");
        let session = SessionBuilder::new(&id, Client::V2_1_325).prompt("Go").answer("Yes");
        let path = home.add(&session, jiff::Timestamp::now());
        logs.push((id, path));
    }
    let (served, base) = start(program, &home)?;
    let pid = served.pid();
    thread::sleep(Duration::from_secs(3));
    let (before, began) = (processor(pid)?, Instant::now());
    thread::sleep(IDLE);
    let idle_cpu = (processor(pid)? - before) / began.elapsed().as_secs_f64();
    let idle_memory = memory(pid)?;

    let (written, seen) = (Written::default(), Arc::new(Seen::default()));
    let mut silent = Vec::new();
    for _ in 0..SILENT {
        silent.push(listen(&base)?);
    }
    for _ in 0..READERS {
        let (stream, written, seen) = (listen(&base)?, Arc::clone(&written), Arc::clone(&seen));
        thread::spawn(move || read(stream, &written, &seen));
    }
    while seen.ready.load(Ordering::Relaxed) < READERS as u64 {
        thread::sleep(Duration::from_millis(10));
    }
    let (before, began) = (processor(pid)?, Instant::now());
    let mut memories = Vec::new();
    let mut lines = 0;
    let is_over = |lines: usize| match plan.soak {
        Some(soak) => began.elapsed() >= soak,
        None => lines >= LINES,
    };
    while !is_over(lines) {
        let (id, path) = &logs[(lines * 7919) % logs.len()];
        append(id, path, &written)?;
        lines += 1;
        if lines % 100 == 0 {
            memories.push(memory(pid)?);
        }
        thread::sleep(PAUSE);
    }
    let busy_cpu = (processor(pid)? - before) / began.elapsed().as_secs_f64();
    thread::sleep(Duration::from_secs(2));
    let mut latencies = lock(&seen.latencies).clone();
    latencies.sort_unstable();
    drop(silent);
    Ok(Found {
        lines,
        latencies,
        missed: seen.missed.load(Ordering::Relaxed),
        idle_cpu,
        idle_memory,
        busy_cpu,
        memory: memories,
        soak: plan.soak,
    })
}

pub(super) fn start(program: &Path, home: &FakeHome) -> anyhow::Result<(Served, String)> {
    let token = home.write("token", TOKEN);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&token, fs::Permissions::from_mode(0o600))?;
    }
    let mut command = Command::new(program);
    command
        .args(["serve", "--port", "0", "--json", "--home"])
        .arg(home.path())
        .arg("--token-file")
        .arg(token)
        .env("RECTO_CACHE_DIR", home.path().join("cache"))
        .env("RECTO_DATA_DIR", home.path().join("data"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut served = Served(command.spawn().context("cannot start the program")?);
    let output = served.0.stdout.take().context("no output")?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    let value: serde_json::Value = serde_json::from_str(&line)?;
    let base = value["base"].as_str().context("no address")?.replace("http://", "");
    Ok((served, base))
}

pub(super) fn listen(base: &str) -> anyhow::Result<TcpStream> {
    let mut stream = TcpStream::connect(base)?;
    let request = format!(
        "GET /api/v1/events HTTP/1.1\r\nHost: {base}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    );
    stream.write_all(request.as_bytes())?;
    Ok(stream)
}

/// Reads events until the server ends.
fn read(stream: TcpStream, written: &Written, seen: &Seen) {
    let mut last = None;
    let mut name = String::new();
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        if let Some(id) = line.strip_prefix("id: ") {
            let number = id.rsplit('-').next().and_then(|number| number.parse::<u64>().ok());
            if let (Some(last), Some(number)) = (last, number)
                && number != last + 1
            {
                seen.missed.fetch_add(1, Ordering::Relaxed);
            }
            last = number.or(last);
        } else if let Some(event) = line.strip_prefix("event: ") {
            event.clone_into(&mut name);
            if event == "ready" {
                seen.ready.fetch_add(1, Ordering::Relaxed);
            }
        } else if let Some(data) = line.strip_prefix("data: ").filter(|_| name == "appended") {
            note(data, written, seen);
        }
    }
}

/// Counts the time that the lines of an event took.
fn note(data: &str, written: &Written, seen: &Seen) {
    let now = Instant::now();
    let Ok(event) = serde_json::from_str::<serde_json::Value>(data) else { return };
    let number = |name: &str| event[name].as_u64().unwrap_or(0);
    let (offset, session) = (number("offset"), event["session"].as_str().unwrap_or_default());
    let written = lock(written);
    let Some(lines) = written.get(session) else { return };
    let lines = lines.range(offset..offset + number("bytes"));
    let latencies = lines.map(|(_, at)| now.duration_since(*at));
    lock(&seen.latencies).extend(latencies);
}

fn append(id: &str, path: &Path, written: &Written) -> anyhow::Result<()> {
    let mut file = fs::File::options().append(true).open(path)?;
    let offset = file.metadata()?.len();
    let line = format!("{{\"type\":\"mode\",\"mode\":\"x\",\"sessionId\":\"{id}\"}}\n");
    // Before the write: nobody can have the line earlier.
    lock(written).entry(id.to_owned()).or_default().insert(offset, Instant::now());
    file.write_all(line.as_bytes())?;
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Seconds of processor time that a process has taken.
fn processor(pid: u32) -> anyhow::Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let rest = stat.rsplit(')').next().unwrap_or_default();
    let ticks = rest.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|word| word.parse::<u64>().ok()).sum();
    Ok(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// Bytes of memory that a process has.
fn memory(pid: u32) -> anyhow::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    Ok(kilobytes.context("no VmRSS")? * 1024)
}

fn render(found: &Found) -> String {
    let mut text = String::from("# Results of `cargo xtask bench serve`\n\n");
    let _ = writeln!(
        text,
        "{LOGS} logs; {} clients, {SILENT} of which never read; {} lines{}.\n",
        READERS + SILENT,
        found.lines,
        found.soak.map_or(String::new(), |soak| format!(" in {} minutes", soak.as_secs() / 60))
    );
    let milliseconds = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1e3);
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    let mean = |part: &[u64]| part.iter().sum::<u64>() / (part.len() as u64).max(1);
    let quarter = (found.memory.len() / 4).max(1).min(found.memory.len());
    let first = mean(&found.memory[..quarter]);
    let last = mean(&found.memory[found.memory.len() - quarter..]);
    let rows = [
        ("line on the disk → client, median", milliseconds(found.percentile(50))),
        ("line on the disk → client, 99 %", milliseconds(found.percentile(99))),
        ("line on the disk → client, the slowest", milliseconds(found.percentile(100))),
        ("lines that reached clients", found.latencies.len().to_string()),
        ("of", (found.lines * READERS).to_string()),
        ("numbers missed", found.missed.to_string()),
        ("idle: processor", format!("{:.2} %", found.idle_cpu * 100.0)),
        ("idle: memory", megabytes(found.idle_memory)),
        ("busy: processor", format!("{:.1} %", found.busy_cpu * 100.0)),
        ("busy: memory, first quarter", megabytes(first)),
        ("busy: memory, last quarter", megabytes(last)),
    ];
    text.push_str(&table(&rows));
    text
}

fn render_growth(growth: &Growth) -> String {
    let milliseconds = |seconds: f64| format!("{:.1} ms", seconds * 1e3);
    table(&[
        ("a line added → its turn fetched: processor, median", milliseconds(growth.turn_median())),
        (
            "then the session's head, with its outline and branches",
            milliseconds(growth.head_median()),
        ),
    ])
}

fn table(rows: &[(&str, String)]) -> String {
    let mut text = String::from("| what | |\n|---|---:|\n");
    for (name, value) in rows {
        let _ = writeln!(text, "| {name} | {value} |");
    }
    text
}
