//! `cargo xtask bench page`: the page beside that of agentsview, in one browser on the same logs.
//!
//! Both servers run at the same time on a generated home with one session of 13 MB. In each round
//! a fresh profile opens the first page and then the long session of one of them, reads it to its
//! end with the wheel, and then the other's. In the last round lines are added to the log while
//! the page is at its end. Names on the network cannot be resolved, so a page that asks others
//! for fonts does not wait for them.

mod log;
mod server;
mod visit;

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use anyhow::bail;
use recto_testkit::chromium::Browser;
use recto_testkit::generate::Options;
use recto_testkit::generate::Shape;
use recto_testkit::generate::generate;

use self::log::LongLog;
use self::server::Server;
use self::visit::Visit;
use super::built;
use super::cargo_task;
use super::others::Package;
use super::others::Registry;
use super::others::install;
use crate::browser;
use crate::repository::heading;
use crate::repository::root;
use crate::repository::say;
use crate::repository::target;

const USAGE: &str = "usage: cargo xtask bench page [--program PATH] [--rounds N] [--write]";

const AGENTSVIEW: Package =
    Package { registry: Registry::PyPi, name: "agentsview", version: "0.46.1" };

/// How much else is in the home.
const MEGABYTES: u64 = 50;
/// How many nodes the page may have after a long session was read to its end.
const MOST_NODES: f64 = 5000.0;

struct Plan {
    program: Option<PathBuf>,
    rounds: usize,
    write: bool,
}

fn parse(words: &[String]) -> anyhow::Result<Plan> {
    let mut plan = Plan { program: None, rounds: 3, write: false };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().with_context(|| format!("{word} needs a value\n{USAGE}"));
        match word.as_str() {
            "--program" => plan.program = Some(fs::canonicalize(value()?)?),
            "--rounds" => {
                plan.rounds = value()?.parse().ok().filter(|count| *count > 0).context(USAGE)?;
            }
            "--write" => plan.write = true,
            other => bail!("unknown option `{other}`\n{USAGE}"),
        }
    }
    Ok(plan)
}

/// Runs the task with the words after `page`.
pub(super) fn run(words: &[String]) -> anyhow::Result<ExitCode> {
    let plan = parse(words)?;
    let chromium = browser::find().context("chromium is needed")?;
    let program = match &plan.program {
        Some(program) => program.clone(),
        None => {
            heading("build");
            cargo_task(&["build", "--release", "--package", "recto"])?;
            built("recto")
        }
    };
    let folder = target().join("bench");
    fs::create_dir_all(&folder)?;
    let agentsview = install(&folder, AGENTSVIEW, "agentsview").map_err(anyhow::Error::msg)?;

    heading("home");
    let scratch = tempfile::tempdir()?;
    let options = Options { megabytes: MEGABYTES, seed: 1, shape: Shape::New };
    generate(&options, scratch.path(), &mut |_| {})?;
    let home = scratch.path().join(".claude");
    let mut log = LongLog::write(&home)?;
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    heading("servers");
    let servers = [
        Server::recto(&program, &home, scratch.path())?,
        Server::agentsview(&agentsview, &home, scratch.path())?,
    ];
    let words = ["--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"];
    let mut visits: [Vec<Visit>; 2] = [Vec::new(), Vec::new()];
    for round in 1..=plan.rounds {
        for (server, visits) in servers.iter().zip(&mut visits) {
            heading(&format!("{}, round {round}", server.name));
            // A browser of its own: nothing is in any cache.
            let browser = Browser::start(&chromium, &words);
            let is_last = round == plan.rounds;
            let visit = visit::visit(&browser, server, &mut log, is_last)?;
            say(&format!("{visit:?}"));
            visits.push(visit);
        }
    }
    let text = render(&visits, &log, &plan, load.trim());
    say(&text);
    if plan.write {
        fs::write(root().join("bench/PAGE.md"), text)?;
    }
    let nodes = visits[0].iter().map(|visit| visit.most_nodes).fold(0.0, f64::max);
    let has_read = visits[0].iter().all(|visit| visit.reached_end);
    Ok(if has_read && nodes <= MOST_NODES { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// A row: what it is, its figure of a visit, and how it is written.
type Row = (&'static str, fn(&Visit) -> f64, fn(f64) -> String);

fn milliseconds(value: f64) -> String {
    format!("{value:.0} ms")
}

fn megabytes(value: f64) -> String {
    format!("{:.2} MB", value / 1e6)
}

fn plain(value: f64) -> String {
    format!("{value:.0}")
}

fn seconds(value: f64) -> String {
    format!("{:.1} s", value / 1e3)
}

const ROWS: &[Row] = &[
    ("first page: first paint", |visit| visit.home.first_paint, milliseconds),
    ("first page: transfer", |visit| visit.home.transfer, megabytes),
    ("first page: heap", |visit| visit.home.heap, megabytes),
    ("first page: DOM nodes", |visit| visit.home.nodes, plain),
    ("long session: first paint", |visit| visit.session.first_paint, milliseconds),
    ("long session: first answer on the page", |visit| visit.session.answer_shown, milliseconds),
    ("long session, opened: transfer", |visit| visit.session.transfer, megabytes),
    ("long session, opened: heap", |visit| visit.session.heap, megabytes),
    ("long session, opened: DOM nodes", |visit| visit.session.nodes, plain),
    ("read to its end: time", |visit| visit.reading_time, seconds),
    ("read to its end: transfer", |visit| visit.end.transfer, megabytes),
    ("read to its end: heap", |visit| visit.end.heap, megabytes),
    ("read to its end: DOM nodes", |visit| visit.end.nodes, plain),
    ("while reading: most DOM nodes", |visit| visit.most_nodes, plain),
    ("while reading: tasks over 50 ms", |visit| visit.long_tasks.len() as f64, plain),
    ("while reading: tasks over 200 ms", |visit| visit.tasks_over(200.0), plain),
    ("while reading: longest task", |visit| visit.longest_task(), milliseconds),
];

fn render(visits: &[Vec<Visit>; 2], log: &LongLog, plan: &Plan, load: &str) -> String {
    let mut text = format!(
        "# The page\n\n`cargo xtask bench page --write`: medians of {} rounds that took turns, in headless \
         Chromium at 1440 × 900 with an empty cache. A home of {MEGABYTES} MB and one session of \
         {:.1} MB with {} turns. Load of the machine at the start: {load}.\n\n\
         | | recto | agentsview {} |\n|---|---:|---:|\n",
        plan.rounds,
        log.first_bytes as f64 / 1e6,
        log.first_turns,
        AGENTSVIEW.version,
    );
    for (name, figure, written) in ROWS {
        let _ = write!(text, "| {name} |");
        for visits in visits {
            let has_end = visits.iter().all(|visit| visit.reached_end);
            let values: Vec<f64> = visits.iter().map(figure).collect();
            match median(values) {
                Some(_) if !has_end && name.contains("to its end") => {
                    text.push_str(" end not reached |");
                }
                Some(value) if value.is_finite() => {
                    let _ = write!(text, " {} |", written(value));
                }
                _ => text.push_str(" – |"),
            }
        }
        text.push('\n');
    }
    for (name, choose) in [
        ("line added → on the page, median", median as fn(Vec<f64>) -> Option<f64>),
        ("line added → on the page, slowest", |values| values.into_iter().reduce(f64::max)),
    ] {
        let _ = write!(text, "| {name} |");
        for visits in visits {
            let all: Vec<f64> = visits.iter().flat_map(|visit| visit.appended.clone()).collect();
            let shown = match choose(all) {
                Some(time) if time.is_finite() => milliseconds(time),
                Some(_) => "over a minute".to_owned(),
                None => "–".to_owned(),
            };
            let _ = write!(text, " {shown} |");
        }
        text.push('\n');
    }
    text.push_str(
        "\nFirst paint is the browser's first contentful paint. Transfer counts the bytes on the wire, \
         heap what JavaScript holds after a collection of garbage, nodes everything in the document \
         (elements, texts, comments). Tasks are those that the browser calls long; on a machine with other \
         work they are longer. Names on the network cannot be resolved in this browser, so agentsview \
         does not wait for the fonts that it asks for elsewhere. It tells pages of new lines every ten seconds \
         by default.\n",
    );
    text
}
