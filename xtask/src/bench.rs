//! `cargo xtask bench`: how fast recto is, in figures that can be compared.
//!
//! Owns: what is measured. Times are CPU times (user and system, all threads
//! and children) and so bear some load on the machine; commands take turns,
//! and medians are given. Ratios are against the first command of each table.
//!
//! ```text
//! cargo xtask bench              1000 MB of logs of each shape, five rounds
//! cargo xtask bench --quick      20 MB, three rounds: does everything run?
//! cargo xtask bench --write      also writes bench/RESULTS.md
//! cargo xtask bench --only TEXT  only tables with the text in their title; with
//!                                --write, these are replaced in bench/RESULTS.md
//! ```
//!
//! `cargo xtask bench bare-reader HOME` is one of the measured commands: the least
//! that a count of usage must do. `cargo xtask bench totals` measures nothing, but
//! compares what recto counts with what was generated. `cargo xtask bench serve` measures
//! the server: see `serve`, and `cargo xtask bench page` the page in a browser: see `page`. `cargo xtask bench collect` measures archiving: see `collect`.
//! `cargo xtask bench endpoint` measures the client of the Messages
//! API and its mock: see `endpoint`. `cargo xtask bench run` measures `recto run`: see `run`, and
//! `cargo xtask bench interrupt` how soon it ends: see `interrupt`; `cargo xtask bench soak` lets a
//! session of 2,000 turns run: see `soak`. `cargo xtask bench compare OLD NEW` compares two programs,
//! `cargo xtask bench lines` counts lines of source, and `cargo xtask bench size` says what the
//! release program is made of. `cargo xtask bench lake` measures tables: see `lake::figures`.
//!
//! The homes are kept in `target/bench` and used again. No measured command
//! sees the home of the person who runs this.

mod bare_reader;
mod collect;
mod compare;
mod endpoint;
mod homes;
mod interrupt;
mod lines;
mod measure;
mod million;
mod others;
mod page;
mod report;
mod run;
mod search;
mod serve;
mod serve_growth;
mod size;
mod soak;
mod totals;

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::ExitCode;
use std::process::Stdio;

use anyhow::Context as _;
use anyhow::bail;

use crate::repository::cargo;
use crate::repository::heading;
use crate::repository::root;
use crate::repository::say;
use crate::repository::target;
use homes::Homes;
use measure::Case;
use measure::Group;
use others::Other;
use search::Search;

const USAGE: &str = "usage: cargo xtask bench [totals] [--mb N] [--quick] [--write] [--only TEXT]";

/// What to measure, and how thoroughly.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Plan {
    megabytes: u64,
    rounds: usize,
    small_sessions: usize,
    quick: bool,
    write: bool,
    /// Only tables with this in their title.
    only: Option<String>,
}

impl Plan {
    /// Homes of a size, and nothing to be written.
    fn of_size(megabytes: u64) -> Plan {
        let (rounds, small_sessions) = (5, 10_000);
        Plan { megabytes, rounds, small_sessions, quick: false, write: false, only: None }
    }
}

fn parse(words: &[String]) -> anyhow::Result<Plan> {
    let (mut megabytes, mut quick, mut write, mut only) = (None, false, false, None);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--mb" => {
                let number =
                    words.next().with_context(|| format!("--mb needs a value\n{USAGE}"))?;
                let number = number.parse().ok().filter(|number| *number > 0);
                megabytes = Some(number.with_context(|| format!("--mb needs a number\n{USAGE}"))?);
            }
            "--quick" => quick = true,
            "--write" => write = true,
            "--only" => {
                let text = words.next().with_context(|| format!("--only needs a text\n{USAGE}"))?;
                only = Some(text.clone());
            }
            other => bail!("unknown option `{other}`\n{USAGE}"),
        }
    }
    let megabytes: u64 = megabytes.unwrap_or(if quick { 20 } else { 1000 });
    let (rounds, small_sessions) = if quick { (3, 1000) } else { (5, 10_000) };
    Ok(Plan { megabytes, rounds, small_sessions, quick, write, only })
}

/// Runs the task with the words after `bench`.
pub(crate) fn run(words: &[String]) -> anyhow::Result<ExitCode> {
    if let [word, home] = words
        && word == "bare-reader"
    {
        bare_reader::run(Path::new(home))?;
        return Ok(ExitCode::SUCCESS);
    }
    if words.first().is_some_and(|word| word == "interrupt") {
        return interrupt::run(&words[1..]);
    }
    if words.first().is_some_and(|word| word == "endpoint") {
        return endpoint::run(&words[1..]);
    }
    if words.first().is_some_and(|word| word == "collect") {
        return collect::run(&words[1..]);
    }
    if words.first().is_some_and(|word| word == "serve") {
        return serve::run(&words[1..]);
    }
    match words.first().map(String::as_str) {
        Some("compare") => return compare::run(&words[1..]),
        Some("page") => return page::run(&words[1..]),
        Some("lines") => return lines::run(&words[1..]),
        Some("size") => return size::run(&words[1..]),
        Some("run") => return run::run(&words[1..]),
        Some("soak") => return soak::run(&words[1..]),
        Some("lake") => return crate::lake::figures::run(&words[1..]),
        _ => {}
    }
    let only_totals = words.first().is_some_and(|word| word == "totals");
    let plan = parse(&words[usize::from(only_totals)..])?;
    let folder = target().join("bench");
    fs::create_dir_all(&folder)?;

    heading("build");
    cargo_task(&["build", "--release", "--package", "recto", "--package", "xtask"])?;
    heading("homes");
    let homes = Homes::prepare(&folder, &plan)?;
    if let Some(only) = &plan.only {
        return measure_only(only, &homes, &plan, &folder);
    }
    heading("totals");
    let totals = totals::check_all(&built("recto"), &folder, &homes, plan.megabytes)?;
    let are_right = totals.iter().all(totals::Check::holds);
    if only_totals {
        return Ok(if are_right { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    heading("other tools");
    let others = others::install_all(&folder);
    heading("decoder");
    let decoder = measure_decoder(plan.quick)?;
    heading("commands");
    let mut groups = groups(&homes, &others, &plan);
    groups.push(million::group(&folder)?);
    measure::run(&mut groups, plan.rounds, &folder);
    heading("search");
    groups.extend(measure_search("", &homes, &plan, &folder)?);

    let has_ccusage = others.iter().any(|other| other.is_ready("ccusage"));
    let mut text = report::render(&decoder, &groups, &plan, has_ccusage);
    text.push_str(&totals::render(&totals));
    text.push_str(&others::render(&others));
    say(&format!("\n{text}"));
    if plan.write {
        fs::create_dir_all(root().join("bench"))?;
        fs::write(root().join("bench/RESULTS.md"), text)?;
    }
    let is_well = are_right && !groups.iter().any(Group::has_failures);
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Measures searches, in tables whose title has a text in it.
fn measure_search(
    only: &str,
    homes: &Homes,
    plan: &Plan,
    folder: &Path,
) -> anyhow::Result<Vec<Group>> {
    let mut groups = Vec::new();
    for (name, home) in [("old clients", &homes.old), ("new client", &homes.new)] {
        let title = format!("search in {} MB of logs, {name}", plan.megabytes);
        if !title.contains(only) {
            continue;
        }
        let mut search = Search::prepare(title, home, folder)?;
        measure::run(std::slice::from_mut(&mut search.group), plan.rounds, folder);
        search.finish()?;
        groups.push(search.group);
    }
    Ok(groups)
}

/// Measures the tables whose title has a text in it; other tools only if they are written.
fn measure_only(only: &str, homes: &Homes, plan: &Plan, folder: &Path) -> anyhow::Result<ExitCode> {
    // Their titles end like those of other tables.
    let is_searched = only.starts_with("search");
    let others = if plan.write && !is_searched { others::install_all(folder) } else { Vec::new() };
    let mut groups = groups(homes, &others, plan);
    groups.retain(|group| group.title.contains(only));
    measure::run(&mut groups, plan.rounds, folder);
    if is_searched {
        groups.extend(measure_search(only, homes, plan, folder)?);
    }
    say(&report::tables(&groups));
    if plan.write {
        let path = root().join("bench/RESULTS.md");
        let text = fs::read_to_string(&path).context("cannot read bench/RESULTS.md")?;
        fs::write(&path, report::replace(&text, &groups)?)?;
    }
    let is_well = !groups.iter().any(Group::has_failures);
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn cargo_task(words: &[&str]) -> anyhow::Result<()> {
    let status = Command::new(cargo()).args(words).current_dir(root()).status()?;
    if !status.success() {
        bail!("cargo {} failed", words.join(" "));
    }
    Ok(())
}

/// Runs the benchmark of the decoder; gives names and throughputs.
fn measure_decoder(quick: bool) -> anyhow::Result<Vec<(String, String)>> {
    let mut command = Command::new(cargo());
    command
        .args(["bench", "--package", "recto-log", "--bench", "decode", "--"])
        .current_dir(root());
    if quick {
        command.arg("--quick");
    }
    let output = command.stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    let text = String::from_utf8_lossy(&output.stdout);
    say(text.trim_end());
    if !output.status.success() {
        bail!("the benchmark of the decoder failed");
    }
    Ok(throughputs(&text))
}

/// From what criterion prints: the name, and the middle of its three estimates.
fn throughputs(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut name = "";
    for line in text.lines() {
        if let Some(first) = line.split_whitespace().next().filter(|word| word.contains('/')) {
            name = first;
        }
        let Some((_, estimates)) = line.split_once("thrpt:") else { continue };
        let words: Vec<&str> = estimates.trim_matches([' ', '[', ']']).split(' ').collect();
        if let [_, _, middle, unit, _, _] = words.as_slice() {
            found.push((name.to_owned(), format!("{middle} {unit}")));
        }
    }
    found
}

/// All commands, by the home that they read.
fn groups(homes: &Homes, others: &[Other], plan: &Plan) -> Vec<Group> {
    let megabytes = plan.megabytes;
    let mut groups = Vec::new();
    let both = [
        ("old clients", &homes.old, &homes.touched_by_old),
        ("new client", &homes.new, &homes.touched_by_new),
    ];
    for (name, home, touched) in both {
        let mut group = Group::new(format!("{megabytes} MB of logs, {name}"), home);
        group.cases.push(over_logs("cat", home, &["cat"]));
        group.cases.push(over_logs("wc -l", home, &["wc", "-l"]));
        for words in [&[][..], &["ls"], &["ls", "--json"], &["home"]] {
            group.cases.push(recto(words, home));
        }
        let bytes = homes::log_bytes(&home.join("projects"));
        for words in [&["check", "--all"][..], &["drift"]] {
            group.cases.push(recto(words, home).over_bytes(bytes));
        }
        group.cases.push(recto(&["history"], home));
        if let Some(touched) = touched {
            for (word, path) in [("files", &touched.path), ("blame", &touched.copy)] {
                let mut case = recto(&[word], home);
                case.words.push(path.into());
                case.label.push_str(" PATH");
                group.cases.push(case);
            }
        }
        let words = ["bench", "bare-reader"].map(OsString::from);
        let bare = [built("xtask").into_os_string()].into_iter().chain(words);
        let bare: Vec<OsString> = bare.chain([home.into()]).collect();
        group.cases.push(Case::new("bare reader", bare).over_bytes(bytes));
        group.cases.push(recto(&["usage", "--by", "month"], home).over_bytes(bytes));
        for other in others {
            group.cases.extend(other.cases(home));
        }
        groups.push(group);
        groups.push(from_the_disk(megabytes, name, home, bytes));
    }
    let mut largest = one_file("the largest session", &homes.old, &homes.largest, "show");
    let mut first = recto(&["show"], &homes.old);
    first.words.push(homes.largest.clone().into());
    first.label.push_str(" FILE, until line 50");
    largest.cases.push(first.until_line(50));
    largest.cases.push(status_line(&homes.largest));
    groups.push(largest);
    let mut long = one_file("one very long file", &homes.long, &homes.long_file, "check");
    long.cases.push(recto(&["usage", "--by", "month"], &homes.long));
    groups.push(long);

    let title = format!("{} small sessions", plan.small_sessions);
    let mut small = Group::new(title, &homes.small);
    small.cases.push(over_logs("cat", &homes.small, &["cat"]));
    small
        .cases
        .extend([&[][..], &["ls"], &["ls", "--json"]].map(|words| recto(words, &homes.small)));
    groups.push(small);

    let mut start = Group::new("start-up".to_owned(), &homes.small);
    start.cases.push(Case::new("echo", ["echo".into()]));
    start.cases.push(recto(&["--version"], &homes.small));
    groups.push(start);
    groups
}

/// What reads every byte, with nothing of the logs in memory: is the disk the limit?
fn from_the_disk(megabytes: u64, name: &str, home: &Path, bytes: u64) -> Group {
    let title = format!("{megabytes} MB of logs, {name}, read from the disk");
    let mut group = Group::new(title, home);
    let cases = [over_logs("cat", home, &["cat"]), recto(&["check", "--all"], home)];
    group.cases.extend(cases.map(|case| case.over_bytes(bytes).read_from_the_disk()));
    group
}

fn one_file(title: &str, home: &Path, file: &Path, word: &str) -> Group {
    let size = fs::metadata(file).map_or(0, |metadata| metadata.len());
    let mut group = Group::new(format!("{title}, {} MB", size / 1_000_000), home);
    group.cases.push(Case::new("cat", ["cat".into(), file.into()]).through_a_pipe());
    let mut case = recto(&[word], home);
    case.words.push(file.into());
    case.label.push_str(" FILE");
    group.cases.push(case.through_a_pipe());
    group
}

/// A command that gets all logs of a home as arguments.
fn over_logs(label: &str, home: &Path, words: &[&str]) -> Case {
    let mut all: Vec<OsString> = vec!["find".into(), home.join("projects").into()];
    all.extend(["-name", "*.jsonl", "-exec"].map(OsString::from));
    all.extend(words.iter().map(OsString::from));
    all.extend(["{}", "+"].map(OsString::from));
    Case::new(label, all)
}

/// A program of the workspace.
fn built(name: &str) -> PathBuf {
    target().join("release").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
}

/// The status line of a session, which the client asks for after every message.
fn status_line(log: &Path) -> Case {
    let said = serde_json::json!({
        "transcript_path": log, "cwd": "/home/dev/app",
        "model": {"id": "claude-opus-5-5", "display_name": "Opus 5.5"},
        "cost": {"total_cost_usd": 1.25, "total_duration_ms": 754_000},
    });
    let script = "printf %s \"$1\" | \"$0\" statusline";
    let words = ["sh".into(), "-c".into(), script.into(), built("recto").into()];
    let words: Vec<OsString> = words.into_iter().chain([said.to_string().into()]).collect();
    Case::new("recto statusline", words)
}

fn recto(words: &[&str], home: &Path) -> Case {
    let mut all: Vec<OsString> = vec![built("recto").into()];
    all.extend(words.iter().map(OsString::from));
    all.extend([OsString::from("--home"), home.into()]);
    let label = ["recto"].iter().chain(words).copied().collect::<Vec<_>>().join(" ");
    Case::new(label, all).may_answer_one()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let plan = |words: &[&str]| {
            parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        let full = plan(&[]).unwrap();
        assert_eq!((full.megabytes, full.small_sessions, full.write), (1000, 10_000, false));
        let quick = plan(&["--quick", "--mb", "5", "--write"]).unwrap();
        assert_eq!((quick.megabytes, quick.rounds, quick.write), (5, 3, true));
        assert_eq!(plan(&["--only", "disk"]).unwrap().only.as_deref(), Some("disk"));
        let bad_ones = [&["--mb"][..], &["--mb", "0"], &["--mb", "x"], &["more"]];
        for bad in bad_ones {
            assert!(plan(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn throughputs_are_taken_from_the_benchmark() {
        let text = "decode/slice/old        time:   [55.0 ms 56.1 ms 57.2 ms]\n\
            \u{20}                       thrpt:  [1.1 GB/s 1.2 GB/s 1.3 GB/s]\n\
            decode/a_name_that_is_long/recorded\n\
            \u{20}                       time:   [1 ms 2 ms 3 ms]\n\
            \u{20}                       thrpt:  [400.1 MB/s 500.2 MB/s 600.3 MB/s]\n\
            \u{20}                change: [-1% +2% +3%]\n";
        let expected = [
            ("decode/slice/old", "1.2 GB/s"),
            ("decode/a_name_that_is_long/recorded", "500.2 MB/s"),
        ];
        let expected = expected.map(|(name, speed)| (name.to_owned(), speed.to_owned()));
        assert_eq!(throughputs(text), expected);
    }
}
