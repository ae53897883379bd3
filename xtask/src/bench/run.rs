//! `cargo xtask bench run`: what `recto run` takes, beside the real client.
//!
//! Owns: the cases, the bars and the page. Both programs talk to one mock, take turns, and see
//! a home of their own; all of it runs in namespaces that have loopback and no other network.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::ExitCode;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;

use anyhow::Context as _;
use anyhow::bail;
use recto_agent::mock::Mock;
use recto_agent::mock::MockOptions;
use recto_agent::mock::Personality;
use recto_agent::mock::Script;
use recto_log::ProjectKey;
use recto_testkit::Client;
use recto_testkit::SessionBuilder;
use serde_json::Value;
use serde_json::json;
use tempfile::TempDir;
use wait4::Wait4 as _;

use crate::oracle;
use crate::repository::cargo;
use crate::repository::heading;
use crate::repository::root;
use crate::repository::say;
use crate::repository::target;

const USAGE: &str =
    "usage: cargo xtask bench run [--rounds N] [--client VERSION] [--recto PROGRAM] [--write]";

const SESSION: &str = "6f1d8a52-3a0e-4b4b-9d25-0d1f6f0c9a11";
const TURNS: usize = 1000;
const LARGE: usize = 50 << 20;
const CALLS: u32 = 20;

/// The bars, for a turn in a new session.
const LONGEST_START: Duration = Duration::from_millis(25);
const MOST_CPU: Duration = Duration::from_millis(30);
const MOST_MEMORY: u64 = 40_000_000;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    New,
    ManyCalls,
    ManyTurns,
    Large,
}

const TASKS: [(Task, &str); 4] = [
    (Task::New, "one turn, new session"),
    (Task::ManyCalls, "20 tool calls in one turn"),
    (Task::ManyTurns, "resume 1,000 turns"),
    (Task::Large, "resume 50 MB"),
];

#[derive(Clone, Copy, Debug)]
struct Sample {
    /// From the start to the first request.
    start: Duration,
    cpu: Duration,
    peak: u64,
}

pub(super) fn run(words: &[String]) -> anyhow::Result<ExitCode> {
    if let [word, request] = words
        && word == "inside"
    {
        return inside(request).map(|()| ExitCode::SUCCESS);
    }
    let (mut rounds, mut version, mut recto, mut write) = (7, "2.1.325".to_owned(), None, false);
    let mut words = words.iter();
    while let Some(option) = words.next() {
        if option == "--write" {
            write = true;
            continue;
        }
        let value = words.next().with_context(|| format!("{option} needs a value\n{USAGE}"))?;
        match option.as_str() {
            "--rounds" => rounds = value.parse().context(USAGE)?,
            "--client" => version.clone_from(value),
            "--recto" => recto = Some(PathBuf::from(value)),
            _ => bail!("unknown option `{option}`\n{USAGE}"),
        }
    }
    let recto = match recto {
        Some(recto) => recto.canonicalize().context("recto")?,
        None => release()?,
    };
    heading("run");
    let client = oracle::program_of(&version)?;
    let request = json!({"recto": recto, "client": client, "rounds": rounds});
    let output = Command::new("unshare")
        .args(oracle::namespaces())
        .arg(std::env::current_exe()?)
        .args(["bench", "run", "inside", &request.to_string()])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run unshare")?;
    if !output.status.success() {
        bail!("the measurement failed");
    }
    let measured: Value = serde_json::from_slice(&output.stdout).context("what was measured")?;
    let (page, is_met) = page(&measured, &version);
    say(&page);
    if write {
        fs::write(root().join("bench/RUN.md"), page)?;
    }
    Ok(if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub(super) fn release() -> anyhow::Result<PathBuf> {
    let mut build = Command::new(cargo());
    build.args(["build", "--release", "--package", "recto"]).current_dir(root());
    if !build.status().context("cannot run cargo")?.success() {
        bail!("recto could not be built");
    }
    Ok(target().join("release/recto"))
}

/// The second process, alone with the programs.
fn inside(request: &str) -> anyhow::Result<()> {
    let request: Value = serde_json::from_str(request)?;
    let up = Command::new("ip").args(["link", "set", "lo", "up"]).output()?;
    if !up.status.success() {
        bail!("cannot bring loopback up: {}", String::from_utf8_lossy(&up.stderr));
    }
    let program = |name: &str| PathBuf::from(request[name].as_str().unwrap_or_default());
    let (recto, client) = (program("recto"), program("client"));
    let rounds = request["rounds"].as_u64().unwrap_or(7).max(1);
    let app = TempDir::with_prefix("recto-bench-app-")?;
    let mut measured = Vec::new();
    for (task, _) in TASKS {
        let log = log_of(task, app.path());
        let mut samples: [Vec<Sample>; 2] = [Vec::new(), Vec::new()];
        for _ in 0..rounds {
            for (at, words) in [vec![recto.as_os_str(), "run".as_ref()], vec![client.as_os_str()]]
                .into_iter()
                .enumerate()
            {
                let mut command = Command::new(words[0]);
                command.args(&words[1..]);
                samples[at].push(measure(command, task, app.path(), &log)?);
            }
        }
        measured.push(samples.map(|samples| medians(&samples)));
    }
    say(&json!(measured).to_string());
    Ok(())
}

/// The log that a task goes on with; empty for none.
fn log_of(task: Task, cwd: &Path) -> Vec<u8> {
    let new = || SessionBuilder::new(SESSION, Client::V2_1_325).cwd(&cwd.to_string_lossy());
    match task {
        Task::New | Task::ManyCalls => Vec::new(),
        Task::ManyTurns => (0..TURNS)
            .fold(new(), |session, turn| {
                let session = session.prompt(&format!("Question {turn}?"));
                let input = json!({"command": format!("echo {turn}"), "description": "Say it"});
                session.tool("Bash", &input.to_string(), "said").answer("An answer.")
            })
            .bytes()
            .to_vec(),
        Task::Large => {
            let text = "Forty-eight bytes of a result, over and over.\n".repeat(600);
            let input = json!({"command": "cat notes.txt", "description": "Read"}).to_string();
            let mut session = new().prompt("Read all of it.");
            while session.bytes().len() < LARGE {
                session = session.tool("Bash", &input, &text);
            }
            session.answer("All of it is read.").bytes().to_vec()
        }
    }
}

fn measure(mut command: Command, task: Task, app: &Path, log: &[u8]) -> anyhow::Result<Sample> {
    let home = TempDir::with_prefix("recto-bench-")?;
    let claude = home.path().join(".claude");
    fs::create_dir(&claude)?;
    let settings = json!({"hasCompletedOnboarding": true, "autoUpdates": false});
    fs::write(home.path().join(".claude.json"), settings.to_string())?;
    if !log.is_empty() {
        let key = ProjectKey::of_path(&app.to_string_lossy()).to_string();
        let folder = claude.join("projects").join(key);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("{SESSION}.jsonl")), log)?;
        command.args(["--resume", SESSION]);
    }
    let first = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&first);
    let call = r#"blocks = [{ type = "tool_use", name = "Bash", input = { command = "echo again", description = "Say it" } }]"#;
    let rules = format!(
        "[[rule]]\ncontains = \"MANY-CALLS\"\n{call}\n[[rule]]\ncontains = \"again\"\ntimes = {}\n{call}\n",
        CALLS - 1
    );
    let api = Mock::start(MockOptions {
        personality: Personality::Constant("Hello.".into()),
        script: Some(Script::parse(&rules)?),
        listener: Some(Box::new(move |event| {
            if event.what.starts_with("POST /v1/messages") && !event.what.contains("count_tokens") {
                let mut first = seen.lock().unwrap_or_else(PoisonError::into_inner);
                first.get_or_insert_with(Instant::now);
            }
        })),
        ..MockOptions::default()
    })?;
    let prompt = if task == Task::ManyCalls { "MANY-CALLS" } else { "Hello" };
    command
        .args(["-p", prompt, "--allowedTools=Bash"])
        .current_dir(app)
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("LANG", "C.UTF-8")
        .env("ANTHROPIC_BASE_URL", api.base_url())
        .env("ANTHROPIC_API_KEY", "sk-ant-api03-recto-bench-this-is-not-a-key-AAAAAAAAAAAAAAAA")
        .envs(
            ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER"]
                .map(|name| (name, "1")),
        )
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let begun = Instant::now();
    let mut child = command.spawn().context("cannot start a program")?;
    let mut said = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        use std::io::Read as _;
        stderr.read_to_string(&mut said).ok();
    }
    let ended = child.wait4().context("cannot wait for a program")?;
    let first = *first.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(first) = first.filter(|_| ended.status.success()) else {
        bail!("{:?} failed: {said}", command.get_program());
    };
    Ok(Sample {
        start: first.duration_since(begun),
        cpu: ended.rusage.utime + ended.rusage.stime,
        peak: ended.rusage.maxrss,
    })
}

fn medians(samples: &[Sample]) -> Value {
    let median = |mut values: Vec<u64>| {
        values.sort_unstable();
        values.get(values.len() / 2).copied().unwrap_or_default()
    };
    let micros = |duration: Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    json!({
        "start": median(samples.iter().map(|sample| micros(sample.start)).collect()),
        "cpu": median(samples.iter().map(|sample| micros(sample.cpu)).collect()),
        "peak": median(samples.iter().map(|sample| sample.peak).collect()),
    })
}

fn page(measured: &Value, version: &str) -> (String, bool) {
    let mut page = String::from("# Results of `cargo xtask bench run`\n\n");
    let _ = writeln!(
        page,
        "`recto run -p` and client {version} in turns on one mock; medians. Start is the time until \
         the mock has judged the first request, CPU and memory are those of the whole run with its children.\n"
    );
    page += "| what | | recto | client | client / recto |\n|---|---|---:|---:|---:|\n";
    for ((_, label), pair) in TASKS.iter().zip(measured.as_array().into_iter().flatten()) {
        for (name, unit, scale) in [("start", "ms", 1e3), ("cpu", "ms", 1e3), ("peak", "MB", 1e6)] {
            let figure = |at: usize| pair[at][name].as_f64().unwrap_or_default();
            let (ours, theirs) = (figure(0), figure(1));
            let _ = writeln!(
                page,
                "| {label} | {name} | {:.1} {unit} | {:.1} {unit} | {:.1} |",
                ours / scale,
                theirs / scale,
                theirs / ours.max(1.0)
            );
        }
    }
    let one = &measured[0][0];
    let micros = |name: &str| Duration::from_micros(one[name].as_u64().unwrap_or(u64::MAX));
    let is_met = micros("start") <= LONGEST_START
        && micros("cpu") <= MOST_CPU
        && one["peak"].as_u64().is_some_and(|peak| peak <= MOST_MEMORY);
    let _ = writeln!(
        page,
        "\nBars for one turn: start {} ms, CPU {} ms, {} MB: {}.",
        LONGEST_START.as_millis(),
        MOST_CPU.as_millis(),
        MOST_MEMORY / 1_000_000,
        if is_met { "met" } else { "not met" }
    );
    (page, is_met)
}
