//! `cargo xtask bench soak`: a session of many turns with background tasks and subagents.
//!
//! Owns: the dialogue, the bars and the page. A host speaks with `recto run` over the stream;
//! memory, open files and children are those of that process, seen from outside.

use std::fmt::Write as _;
use std::fs;
use std::io::BufRead as _;
use std::io::BufReader;
use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
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
use serde_json::Value;
use serde_json::json;
use tempfile::TempDir;

use crate::repository::heading;
use crate::repository::root;
use crate::repository::say;

const USAGE: &str = "usage: cargo xtask bench soak [--turns N] [--recto PROGRAM] [--write]";

/// A window that is full every few turns, in tokens.
const WINDOW: &str = "12000";

/// How much more memory may be taken at the end than after a quarter of the turns.
const MOST_GROWTH: u64 = 24 << 20;

/// How many files more may be open.
const MOST_FILES: usize = 8;

/// The Python SDK reads no longer lines.
const LONGEST_LINE: usize = 1 << 20;

/// The process at a moment.
#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    memory: u64,
    files: usize,
}

/// What a run left.
#[derive(Debug, Default)]
struct Soaked {
    turns: usize,
    woken: usize,
    failed: usize,
    compactions: usize,
    refused: usize,
    longest_line: usize,
    quarter: Moment,
    end: Moment,
    zombies: usize,
    /// Commands that live on, and files that are no output of a task.
    left: Vec<String>,
    cpu: Duration,
    wall: Duration,
}

impl Soaked {
    fn is_met(&self) -> bool {
        self.failed == 0
            && self.refused == 0
            && self.zombies == 0
            && self.left.is_empty()
            && self.longest_line < LONGEST_LINE
            && self.end.memory <= self.quarter.memory + MOST_GROWTH
            && self.end.files <= self.quarter.files + MOST_FILES
    }
}

pub(super) fn run(words: &[String]) -> anyhow::Result<ExitCode> {
    let (mut turns, mut recto, mut write) = (2_000, None, false);
    let mut words = words.iter();
    while let Some(option) = words.next() {
        if option == "--write" {
            write = true;
            continue;
        }
        let value = words.next().with_context(|| format!("{option} needs a value\n{USAGE}"))?;
        match option.as_str() {
            "--turns" => turns = value.parse().context(USAGE)?,
            "--recto" => recto = Some(PathBuf::from(value).canonicalize().context("recto")?),
            _ => bail!("unknown option `{option}`\n{USAGE}"),
        }
    }
    let recto = match recto {
        Some(recto) => recto,
        None => super::run::release()?,
    };
    heading("soak");
    let soaked = soak(&recto, turns)?;
    let page = page(&soaked);
    say(&page);
    if write {
        fs::write(root().join("bench/SOAK.md"), page)?;
    }
    Ok(if soaked.is_met() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn rules() -> Vec<Value> {
    let command = "mkdir -p pids; echo > pids/$$; echo out";
    let agent = |is_background: bool| {
        json!([{"type": "tool_use", "name": "Agent", "input": {
            "description": "work", "prompt": "sub work", "run_in_background": is_background,
        }}])
    };
    let bash = |input: Value| json!([{"type": "tool_use", "name": "Bash", "input": input}]);
    vec![
        json!({"contains": "write a summary", "text": "SUMMARY"}),
        json!({"contains": "task-notification", "text": "I was told"}),
        json!({"contains": "start a command", "blocks": bash(json!({"command": command, "run_in_background": true}))}),
        json!({"contains": "start a subagent", "blocks": agent(true)}),
        json!({"contains": "wait for a subagent", "blocks": agent(false)}),
        json!({"contains": "sub work", "blocks": bash(json!({"command": command}))}),
        json!({"text": "an answer of some length ".repeat(20)}),
    ]
}

fn prompt(number: usize) -> Value {
    let text = match number % 20 {
        5 => "start a command".to_owned(),
        10 => "start a subagent".to_owned(),
        15 => "wait for a subagent".to_owned(),
        _ => format!("prompt {number} {}", "lorem ipsum dolor ".repeat(20)),
    };
    json!({"type": "user", "message": {"role": "user", "content": text}, "parent_tool_use_id": null, "session_id": ""})
}

fn start(recto: &Path, folder: &Path, api: &Mock) -> anyhow::Result<Child> {
    fs::create_dir_all(folder.join("app"))?;
    fs::create_dir_all(folder.join("tmp"))?;
    fs::create_dir_all(folder.join(".claude"))?;
    Command::new(recto)
        .args(["run", "--dangerously-skip-permissions", "--verbose"])
        .args(["--output-format", "stream-json", "--input-format", "stream-json"])
        .current_dir(folder.join("app"))
        .env_clear()
        .env("HOME", folder)
        .env("TMPDIR", folder.join("tmp"))
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("CLAUDE_CODE_AUTO_COMPACT_WINDOW", WINDOW)
        .env("ANTHROPIC_BASE_URL", api.base_url())
        .env("ANTHROPIC_API_KEY", "sk-ant-api03-recto-bench-this-is-not-a-key-AAAAAAAAAAAAAAAA")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot start recto")
}

fn soak(recto: &Path, turns: usize) -> anyhow::Result<Soaked> {
    let script: String = rules().iter().map(|rule| format!("{rule}\n")).collect();
    let script = Some(Script::parse(&script)?);
    let api = Mock::start(MockOptions { script, keep: 4, ..MockOptions::default() })?;
    let folder = TempDir::with_prefix("recto-bench-")?;
    let begun = Instant::now();
    let mut child = start(recto, folder.path(), &api)?;
    let process = PathBuf::from(format!("/proc/{}", child.id()));
    let mut input = child.stdin.take();
    let output = BufReader::new(child.stdout.take().context("no output")?);
    let mut soaked = Soaked::default();
    let mut say_next = |number: usize| match (&mut input, number < turns) {
        (Some(input), true) => writeln!(input, "{}", prompt(number)).context("recto ended"),
        _ => {
            input = None;
            Ok(())
        }
    };
    say_next(0)?;
    for line in output.lines() {
        let line = line?;
        soaked.longest_line = soaked.longest_line.max(line.len());
        let line: Value = serde_json::from_str(&line).context("recto printed no JSON")?;
        soaked.compactions += usize::from(line["subtype"] == "compact_boundary");
        soaked.refused += usize::from(line["subtype"] == "api_retry");
        if line["type"] != "result" {
            continue;
        }
        soaked.failed += usize::from(line["is_error"] != false);
        // What wakes the session ends turns, too.
        if line["origin"].is_object() {
            soaked.woken += 1;
            continue;
        }
        soaked.turns += 1;
        if soaked.turns == turns / 4 {
            soaked.quarter = moment(&process);
        }
        if soaked.turns == turns {
            soaked.end = moment(&process);
            soaked.zombies = zombies(child.id());
            soaked.cpu = cpu(&process);
        }
        say_next(soaked.turns)?;
    }
    let status = child.wait()?;
    soaked.wall = begun.elapsed();
    soaked.failed += usize::from(!status.success());
    soaked.left = left(folder.path());
    Ok(soaked)
}

fn moment(process: &Path) -> Moment {
    let text = fs::read_to_string(process.join("statm")).unwrap_or_default();
    let pages: u64 = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    let files = fs::read_dir(process.join("fd")).map_or(0, Iterator::count);
    Moment { memory: pages * 4096, files }
}

/// Fields of `/proc/PID/stat` behind the name of the program.
fn fields(process: &Path) -> Vec<String> {
    let text = fs::read_to_string(process.join("stat")).unwrap_or_default();
    let behind = text.rsplit(") ").next().unwrap_or_default();
    behind.split(' ').map(str::to_owned).collect()
}

fn cpu(process: &Path) -> Duration {
    let fields = fields(process);
    // Time of the process and of the children that it waited for, in hundredths.
    let ticks = fields.iter().skip(11).take(4).filter_map(|field| field.parse::<u64>().ok());
    Duration::from_millis(ticks.sum::<u64>() * 10)
}

fn zombies(parent: u32) -> usize {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_zombie = |path: PathBuf| {
        let fields = fields(&path);
        let of = |at: usize| fields.get(at).cloned().unwrap_or_default();
        of(0) == "Z" && of(1) == parent.to_string()
    };
    entries.filter(|entry| is_zombie(entry.path())).count()
}

fn left(folder: &Path) -> Vec<String> {
    let mut left = Vec::new();
    for entry in fs::read_dir(folder.join("app/pids")).into_iter().flatten().flatten() {
        let process = Path::new("/proc").join(entry.file_name());
        let cwd = fs::read_link(process.join("cwd")).unwrap_or_default();
        if cwd.starts_with(folder) {
            left.push(format!("process {}", entry.file_name().to_string_lossy()));
        }
    }
    let mut folders = vec![folder.join("tmp")];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true => folders.push(path),
                false if path.extension().is_some_and(|end| end == "output") => {}
                false => left.push(path.display().to_string()),
            }
        }
    }
    let sessions = fs::read_dir(folder.join(".claude/sessions")).into_iter().flatten().flatten();
    left.extend(sessions.map(|entry| entry.path().display().to_string()));
    left
}

fn page(soaked: &Soaked) -> String {
    let mut page = String::from("# Results of `cargo xtask bench soak`\n\n");
    let _ = writeln!(
        page,
        "{} prompts to one `recto run`, three of twenty with a command in the background or a subagent, in a window of {WINDOW} tokens.\n",
        soaked.turns
    );
    page += "| what | figure |\n|---|---:|\n";
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    for (what, figure) in [
        ("turns that a task or subagent woke", soaked.woken.to_string()),
        ("compactions", soaked.compactions.to_string()),
        ("turns that failed", soaked.failed.to_string()),
        ("requests asked again", soaked.refused.to_string()),
        ("resident memory after a quarter", megabytes(soaked.quarter.memory)),
        ("resident memory at the end", megabytes(soaked.end.memory)),
        ("open files after a quarter", soaked.quarter.files.to_string()),
        ("open files at the end", soaked.end.files.to_string()),
        ("zombies at the end", soaked.zombies.to_string()),
        ("processes and files left", soaked.left.len().to_string()),
        ("longest line of the stream", format!("{} bytes", soaked.longest_line)),
        ("CPU with children", format!("{:.1} s", soaked.cpu.as_secs_f64())),
        ("time", format!("{:.0} s", soaked.wall.as_secs_f64())),
    ] {
        let _ = writeln!(page, "| {what} | {figure} |");
    }
    for left in soaked.left.iter().take(5) {
        let _ = writeln!(page, "\nLeft: {left}");
    }
    let _ = writeln!(
        page,
        "\nBars: nothing fails, nothing is left, {} MB and {MOST_FILES} files more than after a quarter at most, no line of {LONGEST_LINE} bytes: {}.",
        MOST_GROWTH >> 20,
        if soaked.is_met() { "met" } else { "not met" }
    );
    page
}
