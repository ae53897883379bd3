//! `cargo xtask bench collect`: what archiving costs, and whether a byte is ever lost.
//!
//! Figures: the first capture of a generated home against `zstd` at the same level, a look at
//! 10,000 files in which nothing changed, the size of the archive before and after merging, a
//! restore, how soon `--watch` has a line and what it costs while nothing is written, and
//! agentsview. `--kills N` writes to twenty logs the way clients do (several lines at once, torn
//! ends, truncation, rewriting, moving, deleting and creating again) while `recto collect` is
//! killed N times at random moments, and then compares every file with what comes back.

mod kills;

use std::fmt::Write as _;
use std::fs;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::ExitCode;
use std::process::Stdio;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use anyhow::Context as _;
use anyhow::bail;
use tempfile::TempDir;
use wait4::Wait4 as _;

use self::kills::Random;
use self::kills::kill;
use self::kills::line;
use super::Plan;
use super::built;
use super::cargo_task;
use super::homes;
use super::homes::Homes;
use super::others::Package;
use super::others::Registry;
use super::others::install;
use crate::repository::heading;
use crate::repository::root;
use crate::repository::say;
use crate::repository::target;

const USAGE: &str =
    "usage: cargo xtask bench collect [--program PATH] [--mb N] [--kills N] [--write]";

struct Words {
    program: Option<PathBuf>,
    megabytes: u64,
    kills: Option<u64>,
    write: bool,
}

fn parse(words: &[String]) -> anyhow::Result<Words> {
    let mut parsed = Words { program: None, megabytes: 1000, kills: None, write: false };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value\n{USAGE}"));
        match word.as_str() {
            "--program" => parsed.program = Some(value()?.into()),
            "--mb" => parsed.megabytes = value()?.parse().with_context(|| USAGE)?,
            "--kills" => parsed.kills = Some(value()?.parse().with_context(|| USAGE)?),
            "--write" => parsed.write = true,
            other => bail!("unknown option `{other}`\n{USAGE}"),
        }
    }
    Ok(parsed)
}

pub(super) fn run(words: &[String]) -> anyhow::Result<ExitCode> {
    let words = parse(words)?;
    let program = match &words.program {
        // It is started in other directories.
        Some(program) => fs::canonicalize(program)?,
        None => {
            heading("build");
            cargo_task(&["build", "--release", "--package", "recto"])?;
            built("recto")
        }
    };
    if let Some(kills) = words.kills {
        heading("kills");
        let tally = kill(&program, kills)?;
        say(&tally.to_string());
        if words.write {
            note_kills(&tally.to_string())?;
        }
        return Ok(if tally.is_well() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let folder = target().join("bench");
    fs::create_dir_all(&folder)?;
    heading("homes");
    let homes = Homes::prepare(&folder, &Plan::of_size(words.megabytes))?;
    heading("figures");
    let text = figures(&program, &homes, words.megabytes)?;
    say(&text);
    if words.write {
        let kills = fs::read_to_string(root().join(FILE)).unwrap_or_default();
        let kills = kills.find(KILLS).map_or("", |at| &kills[at..]);
        fs::write(root().join(FILE), format!("{text}{kills}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Where the figures are written to.
const FILE: &str = "bench/COLLECT.md";
/// What comes last in it.
const KILLS: &str = "\n## Killed collectors";

fn note_kills(tally: &str) -> anyhow::Result<()> {
    let text = fs::read_to_string(root().join(FILE))?;
    let before = text.find(KILLS).map_or(&text[..], |at| &text[..at]);
    let told = format!("\n\n`cargo xtask bench collect --kills N --write`: {tally}.\n");
    fs::write(root().join(FILE), format!("{before}{KILLS}{told}"))?;
    Ok(())
}

/// What a command took.
struct Taken {
    cpu: f64,
    wall: f64,
    peak: u64,
}

fn measured(command: &mut Command) -> anyhow::Result<Taken> {
    let start = Instant::now();
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    let usage = child.wait4()?;
    if !usage.status.success() {
        bail!("{command:?} failed: {}", usage.status);
    }
    let cpu = usage.rusage.utime + usage.rusage.stime;
    let (cpu, wall) = (cpu.as_secs_f64(), start.elapsed().as_secs_f64());
    Ok(Taken { cpu, wall, peak: usage.rusage.maxrss })
}

/// A recto that sees nothing of the person who runs this.
fn recto(program: &Path, home: &Path, scratch: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", scratch).env("RECTO_DATA_DIR", scratch.join("data"));
    command.env("RECTO_CACHE_DIR", scratch.join("cache")).arg("--home").arg(home);
    command.current_dir(scratch);
    command
}

fn figures(program: &Path, homes: &Homes, megabytes: u64) -> anyhow::Result<String> {
    let mut text = format!(
        "# Archiving\n\n`cargo xtask bench collect --mb {megabytes} --write`. CPU seconds of user \
         and system, all threads.\n\n\
         Sizes are shares of the plain bytes of the logs; `rest` is what else is archived: file \
         histories, outputs, titles.\n\n\
         | home | plain MB | collect s | zstd -6 s | ratio | peak MB | archive | zstd -6 | rest | \
         merge s | peak MB | merged | zstd -9 | restore s |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n"
    );
    for (name, home) in [("old clients", &homes.old), ("new client", &homes.new)] {
        let scratch = TempDir::new()?;
        let plain = homes::log_bytes(&home.join("projects"));
        let share = |bytes: u64| format!("{:.4}", bytes as f64 / plain as f64);
        let collect = measured(recto(program, home, scratch.path()).arg("collect"))?;
        let archive = scratch.path().join("data/archive/raw");
        let stored = size_of_logs(&archive);
        let all = size_of(&archive);
        let (six, size_of_six) = compressed(home, 6)?;
        let (_, size_of_nine) = compressed(home, 9)?;
        let merging = measured(recto(program, home, scratch.path()).args(["collect", "prune"]))?;
        let merged = size_of_logs(&archive);
        let back = scratch.path().join("back");
        let mut restore = recto(program, home, scratch.path());
        let restore = measured(restore.args(["restore", "--all", "--to"]).arg(&back))?;
        writeln!(
            text,
            "| {name} | {} | {:.2} | {:.2} | {:.2} | {} | {} | {} | {} | {:.2} | {} | {} | {} | {:.2} |",
            plain / 1_000_000,
            collect.cpu,
            six.cpu,
            collect.cpu / six.cpu,
            collect.peak / 1_000_000,
            share(stored),
            share(size_of_six),
            share(all - stored),
            merging.cpu,
            merging.peak / 1_000_000,
            share(merged),
            share(size_of_nine),
            restore.wall,
        )?;
    }
    let scratch = TempDir::new()?;
    measured(recto(program, &homes.small, scratch.path()).arg("collect"))?;
    let mut unchanged = Vec::new();
    for _ in 0..9 {
        unchanged.push(measured(recto(program, &homes.small, scratch.path()).arg("collect"))?.cpu);
    }
    unchanged.sort_by(f64::total_cmp);
    let sessions = homes::count_logs(&homes.small.join("projects"));
    writeln!(
        text,
        "\nNothing changed in {sessions} small sessions: {:.0} ms CPU (median of 9).",
        unchanged[unchanged.len() / 2] * 1000.0
    )?;
    say("one large log");
    text.push_str(&large_log(program, homes)?);
    say("watching");
    text.push_str(&watching(program, &homes.small, scratch.path())?);
    say("agentsview");
    text.push_str(&others(homes)?);
    Ok(text)
}

/// How long it takes to bring one large log back, beside copying it.
fn large_log(program: &Path, homes: &Homes) -> anyhow::Result<String> {
    let scratch = TempDir::new()?;
    let collect = measured(recto(program, &homes.long, scratch.path()).arg("collect"))?;
    let back = scratch.path().join("back");
    let mut restore = recto(program, &homes.long, scratch.path());
    let restore = measured(restore.args(["restore", "--all", "--to"]).arg(&back))?;
    let copy = scratch.path().join("copy");
    let mut copying = Command::new("sh");
    copying.args(["-c", "cp \"$1\" \"$2\" && sync \"$2\"", "sh"]).arg(&homes.long_file).arg(&copy);
    let copied = measured(&mut copying)?;
    Ok(format!(
        "\nA log of {} MB: {:.1} s to archive ({:.1} s CPU, peak {} MB), {:.1} s to restore ({:.1} s \
         CPU, peak {} MB); `cp` and `sync` take {:.1} s.\n",
        fs::metadata(&homes.long_file)?.len() / 1_000_000,
        collect.wall,
        collect.cpu,
        collect.peak / 1_000_000,
        restore.wall,
        restore.cpu,
        restore.peak / 1_000_000,
        copied.wall,
    ))
}

/// How many lines are written while a collector watches.
const WATCHED_LINES: usize = 100;
/// How long it then has nothing to do.
const IDLE: Duration = Duration::from_secs(65);

/// How long it takes from a line on the disk to the archive, and what waiting costs.
fn watching(program: &Path, home: &Path, scratch: &Path) -> anyhow::Result<String> {
    let project = home.join("projects/-bench-watched");
    fs::create_dir_all(&project)?;
    let log = project.join("99999999-0000-4000-8000-000000000000.jsonl");
    let mut child = recto(program, home, scratch)
        .args(["collect", "--watch"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let told = watch_lines(&log, &scratch.join("data/archive/raw/v1"), child.id());
    let _ = child.kill();
    child.wait()?;
    fs::remove_dir_all(&project)?;
    told
}

fn watch_lines(log: &Path, archive: &Path, pid: u32) -> anyhow::Result<String> {
    // It looks at everything once before it waits.
    thread::sleep(Duration::from_secs(5));
    let before = folders(archive);
    let mut random = Random(7);
    let (mut delays, mut folder) = (Vec::new(), None);
    for number in 0..WATCHED_LINES {
        let mut file = File::options().append(true).create(true).open(log)?;
        file.write_all(&line(0, number as u64, random.below(4000)))?;
        let length = file.metadata()?.len();
        let start = Instant::now();
        loop {
            folder =
                folder.or_else(|| folders(archive).into_iter().find(|one| !before.contains(one)));
            if folder.as_ref().is_some_and(|folder| reaches(folder, length)) {
                break;
            }
            if start.elapsed() > Duration::from_secs(60) {
                bail!("a line is not in the archive after a minute");
            }
            thread::sleep(Duration::from_millis(5));
        }
        delays.push(start.elapsed().as_secs_f64());
        thread::sleep(Duration::from_millis(random.below(400)));
    }
    delays.sort_by(f64::total_cmp);
    let at = |share: usize| delays[(delays.len() * share / 100).min(delays.len() - 1)];
    let (used, start) = (cpu_of(pid)?, Instant::now());
    thread::sleep(IDLE);
    let idle = (cpu_of(pid)? - used) / start.elapsed().as_secs_f64();
    Ok(format!(
        "\nWatching that home: a line is in the archive after {:.2} s (median of {WATCHED_LINES}), \
         {:.2} s (p99), {:.2} s at most; {:.2} % of a CPU while nothing is written.\n",
        at(50),
        at(99),
        delays[delays.len() - 1],
        idle * 100.0
    ))
}

/// The folders of files in an archive.
fn folders(archive: &Path) -> std::collections::BTreeSet<PathBuf> {
    let inside = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    inside(archive).iter().flat_map(|machine| inside(machine)).collect()
}

/// Whether the segments of a file reach an offset.
fn reaches(folder: &Path, end: u64) -> bool {
    let ending = format!("-{end:020}.jsonl.zst");
    let lives = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names =
        lives.flat_map(|life| fs::read_dir(life.path()).into_iter().flatten().flatten());
    names.any(|name| name.file_name().to_string_lossy().ends_with(&ending))
}

/// The seconds of CPU that a process has used, in ticks of a hundredth.
fn cpu_of(pid: u32) -> anyhow::Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields = stat.rsplit(") ").next().context("no fields")?;
    let ticks: u64 =
        fields.split(' ').skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Ok(ticks as f64 / 100.0)
}

/// The only other tool that keeps sessions, on the same homes.
const AGENTSVIEW: Package =
    Package { registry: Registry::PyPi, name: "agentsview", version: "0.46.1" };

fn others(homes: &Homes) -> anyhow::Result<String> {
    let folder = target().join("bench");
    let program = match install(&folder, AGENTSVIEW, "agentsview") {
        Ok(program) => program,
        Err(why) => return Ok(format!("\nagentsview 0.46.1 was not measured: {why}.\n")),
    };
    let mut text = String::from(
        "\n## agentsview 0.46.1 on the same homes\n\n\
         | home | command | CPU s | of the plain bytes |\n|---|---|---|---|\n",
    );
    for (name, home) in [("old clients", &homes.old), ("new client", &homes.new)] {
        let scratch = TempDir::new()?;
        let plain = homes::log_bytes(&home.join("projects")) as f64;
        let command = || {
            let mut command = Command::new(&program);
            command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
            command.env("HOME", scratch.path()).env("AGENTSVIEW_NO_DAEMON", "1");
            command.env("CLAUDE_PROJECTS_DIR", home.join("projects"));
            command.env("AGENTSVIEW_DATA_DIR", scratch.path().join("data")).stderr(Stdio::null());
            command
        };
        let taken = measured(command().arg("sync"))?;
        let stored = size_of(&scratch.path().join("data")) as f64;
        writeln!(text, "| {name} | `sync` | {:.2} | {:.4} |", taken.cpu, stored / plain)?;
        let capture = scratch.path().join("capture");
        let root = format!("claude={}", home.join("projects").display());
        let words = ["--root", &root, "--writers-stopped"];
        let taken = measured(command().args(["archive", "capture"]).arg(&capture).args(words))?;
        let stored = size_of(&capture.join("roots")) as f64;
        writeln!(
            text,
            "| {name} | `archive capture` | {:.2} | {:.4} |",
            taken.cpu,
            stored / plain
        )?;
    }
    text.push_str(
        "\n`sync` keeps rows: a deleted session is read, not resumed. `archive capture` copies the \
         files as they are into a new directory each time; a deleted session is resumed after its \
         files were copied back by hand. What `recto restore` brings back, the real client resumes: \
         see [ORACLE-OUTSIDE.md](ORACLE-OUTSIDE.md).\n",
    );
    Ok(text)
}

/// What `zstd` takes for every log, each in a file of its own, and how large they are.
fn compressed(home: &Path, level: u32) -> anyhow::Result<(Taken, u64)> {
    let folder = TempDir::new()?;
    let script = format!(
        "n=0; find \"$1\" -name '*.jsonl' | while read -r f; do n=$((n+1)); echo \"$f\"; done > \
         \"$2/list\"; i=0; while read -r f; do i=$((i+1)); zstd -q -{level} -T1 \"$f\" -o \
         \"$2/$i.zst\"; done < \"$2/list\"; rm \"$2/list\""
    );
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh"]).arg(home.join("projects")).arg(folder.path());
    let taken = measured(&mut command).context("zstd is needed for the comparison")?;
    Ok((taken, size_of(folder.path())))
}

fn size_of(folder: &Path) -> u64 {
    size_of_files(folder, "")
}

/// What the segments of logs take.
fn size_of_logs(archive: &Path) -> u64 {
    size_of_files(archive, ".jsonl.zst")
}

fn size_of_files(folder: &Path, ending: &str) -> u64 {
    let mut bytes = 0;
    let mut waiting = vec![folder.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => waiting.push(entry.path()),
                Ok(metadata) if entry.file_name().to_string_lossy().ends_with(ending) => {
                    bytes += metadata.len();
                }
                Ok(_) => {}
                Err(_) => {}
            }
        }
    }
    bytes
}
