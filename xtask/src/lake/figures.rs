//! `cargo xtask bench lake`: what tables cost.
//!
//! Logs are generated and sent to a store in a directory; then a build, a merge and queries are
//! measured, and how long it takes to open a table of 10,000 commits. With two programs their sizes
//! are compared.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::ExitCode;
use std::process::Stdio;
use std::time::Instant;

use anyhow::Context as _;
use anyhow::bail;
use serde_json::Value;
use wait4::Wait4 as _;

use super::Desk;
use super::report;
use crate::repository;
use crate::repository::heading;
use crate::repository::say;

const USAGE: &str =
    "usage: cargo xtask bench lake [--mb N] [--program PATH] [--default PATH] [--write]

  --mb       how many megabytes of logs the tables are made of [default: 1000]
  --program  a release with the feature `lake` that is built already
  --default  a release without it, to compare sizes with";

/// How many commits the table has that is opened.
const COMMITS: u64 = 10_000;

struct Wanted {
    megabytes: u64,
    program: Option<PathBuf>,
    default: Option<PathBuf>,
    write: bool,
}

fn read(words: &[String]) -> anyhow::Result<Wanted> {
    let mut wanted = Wanted { megabytes: 1000, program: None, default: None, write: false };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| USAGE);
        match word.as_str() {
            "--mb" => wanted.megabytes = value()?.parse().with_context(|| USAGE)?,
            "--program" => wanted.program = Some(fs::canonicalize(value()?)?),
            "--default" => wanted.default = Some(fs::canonicalize(value()?)?),
            "--write" => wanted.write = true,
            _ => bail!("{USAGE}"),
        }
    }
    Ok(wanted)
}

/// Runs the task with the words after `lake`.
pub(crate) fn run(words: &[String]) -> anyhow::Result<ExitCode> {
    let wanted = read(words)?;
    let program = match &wanted.program {
        Some(program) => program.clone(),
        None => {
            let build = ["build", "--release", "--package", "recto", "--features", "lake"];
            if !Command::new(repository::cargo()).args(build).status()?.success() {
                bail!("recto could not be built");
            }
            repository::target().join("release/recto")
        }
    };
    let desk = Desk::new(&program)?;
    heading("logs");
    let raw = desk.generate(wanted.megabytes)?;
    let store = desk.store();
    desk.run(&["collect", "--to", &store])?;
    let mut table = Report::new(raw, &program);
    heading("tables");
    table.build(&desk, &store)?;
    table.queries(&desk, &store)?;
    heading("commits");
    table.open(&desk)?;
    if let Some(default) = &wanted.default {
        table.sizes(default, &program)?;
    }
    let text = table.text();
    say(&text);
    if wanted.write {
        report::write_section("Figures", &text)?;
    }
    Ok(if table.is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What a command took.
struct Taken {
    cpu: f64,
    wall: f64,
    /// Resident, in bytes.
    peak: u64,
}

fn measured(command: &mut Command) -> anyhow::Result<Taken> {
    let start = Instant::now();
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    let usage = child.wait4()?;
    if !usage.status.success() {
        bail!("{command:?} failed: {}", usage.status);
    }
    let cpu = (usage.rusage.utime + usage.rusage.stime).as_secs_f64();
    Ok(Taken { cpu, wall: start.elapsed().as_secs_f64(), peak: usage.rusage.maxrss })
}

/// Figures, and whether all of them are within their bars.
struct Report {
    raw: u64,
    about: String,
    rows: String,
    is_well: bool,
}

impl Report {
    fn new(raw: u64, program: &Path) -> Report {
        let about = format!(
            "{} of generated logs, {}. `cargo xtask bench lake --write`.",
            megabytes(raw),
            version_of(program)
        );
        Report { raw, about, rows: String::new(), is_well: true }
    }

    fn row(&mut self, what: &str, figure: &str, bar: Option<(&str, bool)>) {
        let (bar, verdict) = match bar {
            Some((bar, true)) => (bar, "yes"),
            Some((bar, false)) => (bar, "**no**"),
            None => ("", ""),
        };
        self.is_well &= verdict != "**no**";
        let _ = writeln!(self.rows, "| {what} | {figure} | {bar} | {verdict} |");
    }

    fn text(&self) -> String {
        format!(
            "{}\n{}.\n\n| what | figure | bar | met |\n|---|---|---|---|\n{}",
            self.about,
            report::machine(),
            self.rows
        )
    }

    fn build(&mut self, desk: &Desk, store: &str) -> anyhow::Result<()> {
        let taken = measured(&mut desk.command(&["lake", "build", "--store", store]))?;
        let each = taken.cpu * 1e9 / self.raw as f64;
        let figure = format!("{each:.1} CPU-s per GB ({:.1} s of wall clock)", taken.wall);
        self.row("`recto lake build`", &figure, Some(("15 CPU-s per GB", each <= 15.0)));
        let is_small = taken.peak <= 512 * 1024 * 1024;
        let memory = Some(("512 MB", is_small));
        self.row("its memory, resident", &megabytes(taken.peak), memory);
        let bytes = table_bytes(desk, store)?;
        let ratio = bytes as f64 / self.raw as f64;
        let figure = format!("{} ({ratio:.3} × the logs)", megabytes(bytes));
        self.row("tables", &figure, Some(("0.2 × the logs", ratio <= 0.2)));
        let again = measured(&mut desk.command(&["lake", "build", "--store", store]))?;
        self.row("`recto lake build` again, nothing new", &format!("{:.2} CPU-s", again.cpu), None);
        let words = ["lake", "optimize", "--at-least", "2", "--store", store];
        let merged = measured(&mut desk.command(&words))?;
        let figure = format!("{:.1} CPU-s, {} resident", merged.cpu, megabytes(merged.peak));
        self.row("`recto lake optimize`", &figure, None);
        Ok(())
    }

    fn queries(&mut self, desk: &Desk, store: &str) -> anyhow::Result<()> {
        for name in ["totals", "cost-by-week", "tool-failures", "waiting"] {
            let words = ["query", name, "--store", store];
            let first = measured(&mut desk.command(&words))?;
            let then = measured(&mut desk.command(&words))?;
            let figure = format!("{:.2} CPU-s, then {:.2} CPU-s", first.cpu, then.cpu);
            self.row(&format!("`recto query {name} --store`"), &figure, None);
        }
        Ok(())
    }

    /// Opens a table that got its commits one by one.
    fn open(&mut self, desk: &Desk) -> anyhow::Result<()> {
        let store = desk.folder.path().join("commits");
        let address = store.display().to_string();
        desk.write_line("a")?;
        desk.run(&["collect", "--to", &address])?;
        desk.run(&["lake", "build", "--store", &address])?;
        let log = store.join("lake/v1/t1/lines/_delta_log");
        let first = fs::read_to_string(log.join(format!("{:020}.json", 0)))?;
        let add = first.lines().find(|line| line.starts_with("{\"add\"")).context("no file")?;
        let add: Value = serde_json::from_str(add)?;
        for version in 1..COMMITS {
            let mut add = add.clone();
            add["add"]["path"] = format!("part-{version}.parquet").into();
            fs::write(log.join(format!("{version:020}.json")), format!("{add}\n"))?;
        }
        let words = ["lake", "files", "lines", "--store", &address];
        let without = measured(&mut desk.command(&words))?;
        let figure = format!("{:.2} s ({:.2} CPU-s)", without.wall, without.cpu);
        self.row("opening 10,000 commits without a checkpoint", &figure, None);
        // The next commit is one that writes a checkpoint, as recto does every 50.
        desk.write_line("b")?;
        desk.run(&["collect", "--to", &address])?;
        desk.run(&["lake", "build", "--store", &address])?;
        if !log.join(format!("{COMMITS:020}.checkpoint.parquet")).is_file() {
            bail!("commit {COMMITS} wrote no checkpoint");
        }
        let with = measured(&mut desk.command(&words))?;
        let figure = format!("{:.2} s ({:.2} CPU-s)", with.wall, with.cpu);
        self.row("opening them as recto leaves them", &figure, Some(("1 s", with.wall <= 1.0)));
        Ok(())
    }

    fn sizes(&mut self, default: &Path, program: &Path) -> anyhow::Result<()> {
        let [small, large] =
            [default, program].map(|path| fs::metadata(path).map(|file| file.len()));
        let (small, large) = (small?, large?);
        let more = large.saturating_sub(small);
        let mut figure = format!("{} more than {} without it", megabytes(more), megabytes(small));
        let [one, other] = [default, program].map(version_of);
        if one != other {
            figure += &format!("; the one without it is {one}");
        }
        let bar = Some(("8 MB", more <= 8_000_000));
        self.row("the program with `lake`", &figure, bar);
        Ok(())
    }
}

fn version_of(program: &Path) -> String {
    let version = Command::new(program).arg("--version").output();
    let text = version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.unwrap_or_default()
}

fn table_bytes(desk: &Desk, store: &str) -> anyhow::Result<u64> {
    let mut command = desk.command(&["lake", "status", "--json", "--store", store]);
    let output = command.stdout(Stdio::piped()).output()?;
    let rows = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>();
    let mut bytes = 0;
    for row in rows {
        bytes += row?["bytes"].as_u64().context("a table has no size")?;
    }
    Ok(bytes)
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
