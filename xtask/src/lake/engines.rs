//! `cargo xtask lake-engines`: the named questions, asked of every engine.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::BufRead as _;
use std::io::BufReader;
use std::path::Path;
use std::process::ExitCode;
use std::process::Stdio;

use anyhow::Context as _;

use super::Cluster;
use super::Desk;
use super::python;
use super::read;
use super::report;
use crate::programs;
use crate::repository;

/// Engines in the order of the table, and how they read the tables.
const ENGINES: [(&str, &str); 6] = [
    (
        "sqlite",
        "in recto: `recto query --store`; the reference, its totals compared with `recto usage`",
    ),
    ("delta-rs", "`DeltaTable`, rows counted"),
    ("polars", "`scan_delta`"),
    ("duckdb", "extension `delta`"),
    ("chdb", "`deltaLakeLocal`"),
    ("spark", "standalone, a master and two workers; `recto lake files`, no Delta jars"),
];

/// Asks every engine every question, on tables of each size.
pub(crate) fn run(words: &[String]) -> anyhow::Result<ExitCode> {
    let wanted = read(words)?;
    let wheels = programs::find_all_wheels().context("pip could not install the engines")?;
    let mut runs = Vec::new();
    for megabytes in &wanted.megabytes {
        runs.push((*megabytes, asked(&wanted.program, &wheels, *megabytes)?));
    }
    let table = Summary::of(&runs);
    repository::say(&table.text);
    if wanted.write {
        report::write_section("The same answers everywhere", &table.text)?;
    }
    Ok(if table.is_same { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What the judge of the engines says about tables of a size.
fn asked(program: &Path, wheels: &Path, megabytes: u64) -> anyhow::Result<String> {
    let desk = Desk::new(program)?;
    repository::heading(&format!("{megabytes} MB"));
    desk.generate(megabytes)?;
    let store = desk.store();
    desk.run(&["collect", "--to", &store])?;
    desk.run(&["lake", "build", "--store", &store])?;
    let (address, cluster) = Cluster::start(&desk, wheels)?;
    let mut judge = python(&desk, wheels);
    judge.env("SPARK_MASTER", address).env("RECTO_HOME_IS_STORE", "1");
    judge.arg(repository::root().join("xtask/data/lake_engines.py"));
    judge.arg(program).arg(&store);
    judge.args(["delta-rs", "polars", "duckdb", "chdb", "spark"]);
    let mut child = judge.stdout(Stdio::piped()).spawn()?;
    let mut told = String::new();
    for line in BufReader::new(child.stdout.take().context("the judge has no output")?).lines() {
        let line = line?;
        repository::say(&line);
        told += &(line + "\n");
    }
    child.wait()?;
    drop(cluster);
    Ok(told)
}

/// What was said about an engine at a size.
#[derive(Debug, Default, PartialEq)]
struct Said {
    same: u64,
    all: u64,
    /// Of all questions together.
    seconds: f64,
}

struct Summary {
    text: String,
    is_same: bool,
}

impl Summary {
    fn of(runs: &[(u64, String)]) -> Summary {
        let mut versions: BTreeMap<&str, &str> = BTreeMap::new();
        let mut said: Vec<(u64, BTreeMap<&str, Said>)> = Vec::new();
        for (megabytes, told) in runs {
            let mut engines: BTreeMap<&str, Said> = BTreeMap::new();
            for line in told.lines().filter(|line| !line.starts_with(' ')) {
                let cells: Vec<&str> = line.split('\t').collect();
                let seconds = cells.last().and_then(|last| last.parse::<f64>().ok()).unwrap_or(0.0);
                match cells[..] {
                    [engine, "version", version] => drop(versions.insert(engine, version)),
                    [_, "opened", _] | [_, _, "reference", ..] => {
                        let one = engines.entry(cells[0]).or_default();
                        one.seconds += seconds;
                    }
                    [engine, _, verdict, ..] => {
                        let one = engines.entry(engine).or_default();
                        one.all += 1;
                        one.same += u64::from(verdict == "same");
                        one.seconds += seconds;
                    }
                    _ => {}
                }
            }
            said.push((*megabytes, engines));
        }
        let is_same = said.iter().all(|(_, engines)| {
            let is_right = |name: &str| {
                engines.get(name).is_some_and(|one| one.all > 0 && one.same == one.all)
            };
            ENGINES.iter().all(|(name, _)| is_right(name))
        });
        Summary { text: table(&versions, &said), is_same }
    }
}

fn table(versions: &BTreeMap<&str, &str>, said: &[(u64, BTreeMap<&str, Said>)]) -> String {
    let sizes: Vec<String> = said.iter().map(|(size, _)| size.to_string()).collect();
    let mut text = format!(
        "`cargo xtask lake-engines --mb {} --write` builds tables of generated logs in a directory and asks every \
         engine all named questions; the rows are compared with those of `recto query --store`. Seconds are \
         wall clock for all questions together, one after the other (of SQLite with its start for each, and with \
         loading the tables).\n{}.\n\n| engine | version | how it reads the tables |",
        sizes.join(","),
        report::machine()
    );
    for size in &sizes {
        let _ = write!(text, " {size} MB: same answers | seconds |");
    }
    text += "\n|---|---|---|";
    text += &"---|---|".repeat(sizes.len());
    for (name, how) in ENGINES {
        let version = versions.get(name).copied().unwrap_or("unknown");
        let _ = write!(text, "\n| {name} | {version} | {how} |");
        for (_, engines) in said {
            match engines.get(name) {
                Some(one) => {
                    let _ = write!(text, " {} of {} | {:.1} |", one.same, one.all, one.seconds);
                }
                None => text += " **no answer** | |",
            }
        }
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_differs_or_is_missing_is_seen() {
        let mut told = String::new();
        for (name, _) in ENGINES {
            told += &format!("{name}\tversion\t1.2\n{name}\ttotals\tsame\t1\t0.50\n");
        }
        let good = Summary::of(&[(50, told.clone())]);
        assert!(good.is_same, "{}", good.text);
        assert!(
            good.text.contains("| polars | 1.2 | `scan_delta` | 1 of 1 | 0.5 |"),
            "{}",
            good.text
        );
        let bad = told.clone() + "spark\twaiting\tDIFFERS\t1\t0.1\n  expected x\n";
        assert!(!Summary::of(&[(50, bad)]).is_same);
        assert!(!Summary::of(&[(50, told.replace("chdb", "other"))]).is_same);
    }
}
