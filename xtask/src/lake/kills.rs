//! `cargo xtask lake-kills`: builders and optimizers that are killed on a real object store.
//!
//! Two at a time, at random moments of the time that they need; after each pair delta-rs reads all
//! tables. At the end every line must be in every table once.

use std::io::BufRead as _;
use std::io::BufReader;
use std::io::Write as _;
use std::process::Child;
use std::process::ChildStdin;
use std::process::ChildStdout;
use std::process::ExitCode;
use std::process::Stdio;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use anyhow::Context as _;

use super::Desk;
use super::python;
use super::read;
use super::report;
use super::start_store;
use crate::programs;
use crate::repository;

/// A random number has 31 bits.
const SPREAD: f64 = 2_147_483_648.0;

/// What delta-rs sees.
struct Judge {
    child: Child,
    asked: ChildStdin,
    told: std::io::Lines<BufReader<ChildStdout>>,
}

impl Judge {
    fn start(desk: &Desk, endpoint: &str) -> anyhow::Result<Judge> {
        let wheels = programs::find_wheels().context("pip could not install delta-rs")?;
        let mut child = python(desk, &wheels)
            .arg(repository::root().join("xtask/data/lake_judge.py"))
            .args(["s3://team/lake/lake/v1/t1", endpoint])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let asked = child.stdin.take().context("the judge has no input")?;
        let told = child.stdout.take().context("the judge has no output")?;
        Ok(Judge { child, asked, told: BufReader::new(told).lines() })
    }

    fn look(&mut self) -> anyhow::Result<String> {
        self.asked.write_all(b"look\n")?;
        self.asked.flush()?;
        Ok(self.told.next().context("the judge is gone")??)
    }

    fn end(self) -> anyhow::Result<()> {
        let Judge { mut child, asked, told } = self;
        drop((asked, told));
        child.wait()?;
        Ok(())
    }
}

/// What happened.
#[derive(Default)]
struct Tally {
    kills: u64,
    /// Those that had ended before.
    late: u64,
    written: u64,
    /// Looks at a torn table, or at a line that is there twice.
    bad: u64,
}

/// Runs the task.
pub(crate) fn run(words: &[String]) -> anyhow::Result<ExitCode> {
    let wanted = read(words)?;
    let desk = Desk::new(&wanted.program)?;
    let (_store, endpoint) = start_store(&desk)?;
    let url = format!("s3://team/lake?endpoint={endpoint}");
    let build = ["lake", "build", "--store", &url];
    let optimize = ["lake", "optimize", "--at-least", "2", "--store", &url];
    desk.write_line("first")?;
    desk.run(&["collect", "--to", &url])?;
    desk.run(&build)?;
    let mut judge = Judge::start(&desk, &endpoint)?;
    let mut tally = Tally { written: 1, ..Tally::default() };
    let mut random = 0x5eed_u64;
    let mut window = Duration::from_millis(100);
    let mut round = 0;
    while tally.kills < wanted.kills {
        if round % 2 == 0 {
            for number in 0..5 {
                desk.write_line(&format!("{round}-{number}"))?;
            }
            tally.written += 5;
            desk.run(&["collect", "--to", &url])?;
        }
        if round % 25 == 24 {
            // How long one needs now is the time in which others are killed.
            let start = Instant::now();
            desk.run(&build)?;
            window = start.elapsed().max(Duration::from_millis(50));
        }
        let second = if round % 3 == 2 { &optimize[..] } else { &build };
        let mut pair = Vec::new();
        for words in [&build[..], second] {
            pair.push(desk.command(words).stderr(Stdio::null()).spawn()?);
        }
        for mut child in pair {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            thread::sleep(window.mul_f64((random >> 33) as f64 / SPREAD * 0.6));
            match child.try_wait()? {
                Some(_) => tally.late += 1,
                None => tally.kills += 1,
            }
            child.kill()?;
            child.wait()?;
        }
        let answer = judge.look()?;
        if answer.starts_with("torn") || answer.split(' ').nth(1) != Some("0") {
            repository::say(&format!("after round {round}: {answer}"));
            tally.bad += 1;
        }
        round += 1;
        if round % 50 == 0 {
            repository::say(&format!("{} kills: {answer}", tally.kills));
        }
    }
    desk.run(&build)?;
    let end = judge.look()?;
    judge.end()?;
    finish(&tally, round, &end, wanted.write)
}

fn finish(tally: &Tally, rounds: u64, end: &str, write: bool) -> anyhow::Result<ExitCode> {
    let counts: Vec<u64> = end.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [lines, twice, version, blocks, usage] = counts[..] else {
        anyhow::bail!("the judge said: {end}");
    };
    let is_well = tally.bad == 0
        && twice == 0
        && [lines, blocks, usage].iter().all(|count| *count == tally.written);
    let text = format!(
        "`cargo xtask lake-kills --kills N --write`, on SeaweedFS 4.48 (S3): two builders, or a builder and an optimizer, at a \
         time, killed with `kill -9` at random moments of the time that a build needs; delta-rs reads all rows of all \
         tables after every pair.\n\n\
         | kills | looks by delta-rs | lines written | in `lines` | in `blocks` | in `usage` | lost | twice | torn or doubled looks | versions of `lines` |\n\
         |---|---|---|---|---|---|---|---|---|---|\n\
         | {} | {rounds} | {} | {lines} | {blocks} | {usage} | {} | {twice} | {} | {version} |\n\n\
         {} more had ended before their kill.\n",
        tally.kills,
        tally.written,
        tally.written.saturating_sub(lines.min(blocks).min(usage)),
        tally.bad,
        tally.late,
    );
    repository::say(&text);
    if write {
        report::write_section("Killed builders", &text)?;
    }
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
