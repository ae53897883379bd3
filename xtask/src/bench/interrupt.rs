//! `cargo xtask bench interrupt`: how soon `recto run` ends when it is interrupted.
//!
//! Owns: the moments, the bars and the page. A round starts a session, sends SIGINT at a random
//! moment, and measures the time to the result line and to the death of the last process that a
//! tool started. One of these ignores SIGTERM, and one is in a session of its own. With
//! `--console`, Esc is pressed in the console instead: see `console`.

mod console;

use std::fmt::Write as _;
use std::fs;
use std::io::BufRead as _;
use std::io::BufReader;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::ExitCode;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

use anyhow::Context as _;
use anyhow::bail;
use recto_agent::mock::Mock;
use recto_agent::mock::MockOptions;
use recto_agent::mock::Script;
use recto_testkit::fuzz::Random;
use serde_json::Value;
use serde_json::json;
use tempfile::TempDir;

use crate::repository::heading;
use crate::repository::root;
use crate::repository::say;

const USAGE: &str =
    "usage: cargo xtask bench interrupt [--console] [--rounds N] [--recto PROGRAM] [--write]";

const LONGEST_END: Duration = Duration::from_millis(200);
const LONGEST_DEATH: Duration = Duration::from_secs(1);

const COMMAND: &str = r"mkdir -p running
(trap '' TERM; echo > running/$BASHPID; exec sleep 6000) &
setsid bash -c 'echo > running/$$; exec sleep 6000' &
echo > running/$$
wait";

/// When the signal comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Text,
    Tool,
    Subagent,
}

const CASES: [(When, &str); 3] = [
    (When::Text, "while an answer arrives"),
    (When::Tool, "while a command runs"),
    (When::Subagent, "while a command of a subagent runs"),
];

/// What a round took.
struct Sample {
    end: Duration,
    death: Duration,
}

pub(super) fn run(words: &[String]) -> anyhow::Result<ExitCode> {
    let (mut rounds, mut recto, mut write, mut is_console) = (None, None, false, false);
    let mut words = words.iter();
    while let Some(option) = words.next() {
        if option == "--write" {
            write = true;
            continue;
        }
        if option == "--console" {
            is_console = true;
            continue;
        }
        let value = words.next().with_context(|| format!("{option} needs a value\n{USAGE}"))?;
        match option.as_str() {
            "--rounds" => rounds = Some(value.parse().context(USAGE)?),
            "--recto" => recto = Some(PathBuf::from(value).canonicalize().context("recto")?),
            _ => bail!("unknown option `{option}`\n{USAGE}"),
        }
    }
    let recto = match recto {
        Some(recto) => recto,
        None => super::run::release()?,
    };
    if is_console {
        return console::run(&recto, rounds.unwrap_or(1000), write);
    }
    let rounds = rounds.unwrap_or(20);
    heading("interrupt");
    let mut random = Random::new(1);
    let mut measured = Vec::new();
    for (when, _) in CASES {
        let samples = (0..rounds).map(|_| measure(&recto, when, &mut random));
        measured.push(samples.collect::<anyhow::Result<Vec<Sample>>>()?);
    }
    let (page, is_met) = page(&measured, rounds);
    say(&page);
    if write {
        fs::write(root().join("bench/INTERRUPT.md"), page)?;
    }
    Ok(if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn rules(when: When) -> Vec<Value> {
    let bash = json!([{"type": "tool_use", "name": "Bash", "input": {"command": COMMAND}}]);
    let agent = json!([{"type": "tool_use", "name": "Agent", "input": {
        "description": "work", "prompt": "sub work", "run_in_background": false,
    }}]);
    match when {
        When::Text => vec![json!({"text": "word ".repeat(4000), "event_delay_ms": 2})],
        When::Tool => vec![json!({"blocks": bash})],
        When::Subagent => {
            vec![json!({"contains": "sub work", "blocks": bash}), json!({"blocks": agent})]
        }
    }
}

fn measure(recto: &Path, when: When, random: &mut Random) -> anyhow::Result<Sample> {
    let script: String = rules(when).iter().map(|rule| format!("{rule}\n")).collect();
    let script = Some(Script::parse(&script)?);
    let api = Mock::start(MockOptions { script, ..MockOptions::default() })?;
    let folder = TempDir::with_prefix("recto-bench-")?;
    let app = folder.path().join("app");
    fs::create_dir_all(&app)?;
    fs::create_dir_all(folder.path().join(".claude"))?;
    let mut child = Command::new(recto)
        .args(["run", "-p", "go", "--dangerously-skip-permissions"])
        .args(["--output-format", "stream-json", "--verbose"])
        .current_dir(&app)
        .env_clear()
        .env("HOME", folder.path())
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("ANTHROPIC_BASE_URL", api.base_url())
        .env("ANTHROPIC_API_KEY", "sk-ant-api03-recto-bench-this-is-not-a-key-AAAAAAAAAAAAAAAA")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot start recto")?;
    let mut lines = BufReader::new(child.stdout.take().context("no output")?).lines();
    lines.next().context("recto said nothing")??;
    while when != When::Text && processes(&app).len() < 3 {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(Duration::from_micros(random.below(200_000) as u64));
    let running = processes(&app);
    let pid = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    let begun = Instant::now();
    rustix::process::kill_process(pid.context("no process")?, rustix::process::Signal::INT)?;
    let mut end = None;
    for line in lines {
        if line?.starts_with(r#"{"type":"result""#) {
            end.get_or_insert_with(|| begun.elapsed());
        }
    }
    child.wait()?;
    while running.iter().any(|process| is_alive(process)) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let death = begun.elapsed();
    Ok(Sample { end: end.context("there was no result")?, death })
}

/// The processes that noted themselves.
fn processes(app: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(app.join("running")).into_iter().flatten().flatten();
    entries.map(|entry| Path::new("/proc").join(entry.file_name())).collect()
}

fn is_alive(process: &Path) -> bool {
    let state = fs::read_to_string(process.join("stat")).unwrap_or_default();
    state.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

fn page(measured: &[Vec<Sample>], rounds: usize) -> (String, bool) {
    let mut page = String::from("# Results of `cargo xtask bench interrupt`\n\n");
    let _ = writeln!(
        page,
        "SIGINT at {rounds} random moments of each kind. The end is the result line; death is that \
         of the last process that a tool started, with one that ignores SIGTERM and one in a \
         session of its own.\n"
    );
    page += "| when | end, median | end, longest | death, median | death, longest |\n|---|---:|---:|---:|---:|\n";
    let mut is_met = true;
    for ((_, label), samples) in CASES.iter().zip(measured) {
        let of = |time: fn(&Sample) -> Duration| {
            let mut times: Vec<Duration> = samples.iter().map(time).collect();
            times.sort_unstable();
            let longest = times.last().copied().unwrap_or_default();
            (times.get(times.len() / 2).copied().unwrap_or_default(), longest)
        };
        let (end, death) = (of(|sample| sample.end), of(|sample| sample.death));
        is_met &= end.1 <= LONGEST_END && death.1 <= LONGEST_DEATH;
        let _ = writeln!(
            page,
            "| {label} | {:.1?} | {:.1?} | {:.1?} | {:.1?} |",
            end.0, end.1, death.0, death.1
        );
    }
    let _ = writeln!(
        page,
        "\nBars: the end within {} ms, death within {} ms: {}.",
        LONGEST_END.as_millis(),
        LONGEST_DEATH.as_millis(),
        if is_met { "met" } else { "not met" }
    );
    (page, is_met)
}
