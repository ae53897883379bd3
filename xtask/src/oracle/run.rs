//! `cargo xtask oracle run`: the real client goes on with what `recto run` wrote, and recto
//! with what the client wrote.
//!
//! Owns: the sessions, what must hold of them, the page. Each session is written by `recto run`
//! on the strict mock (all kinds of tools, parallel calls, subagents; compacted, interrupted,
//! killed) and resumed by the real client, which must send what is predicted. In the rounds, both
//! go on with one session in turns, and each makes a summary once.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use anyhow::bail;
use recto_testkit::fuzz::Random;
use serde_json::Value;
use tempfile::TempDir;

use super::check;
use super::check::Verdict;
use super::client;
use super::resume;
use super::steps::Player;
use super::steps::Stop;
use super::steps::Table;
use super::steps::Turn;
use super::workspace::Workspace;
use crate::repository;
use crate::repository::say;

const USAGE: &str = "usage: cargo xtask oracle run [--sessions N] [--turns N] [--seed N] \
                     [--client VERSION] [--recto PROGRAM] [--write]";

const SCRIPT: &str = include_str!("run_script.toml");

/// What a prompt can ask for.
const TASKS: [&str; 9] =
    ["TEXT", "THINK", "BASH", "PARALLEL", "WRITE", "ERROR", "AGENT", "SEARCH", "STREAM"];
/// How sessions end.
const ENDINGS: [&str; 5] = ["whole", "compacted", "interrupted", "killed", "whole"];
/// The prompt that makes a summary of what was said.
const COMPACT: &str = "/compact keep the names of files";
/// What takes long enough to be stopped.
const LONG_TASKS: [&str; 4] = ["SLOW", "STREAM", "PARALLEL", "BASH"];

/// The words of every start; what is asked follows.
const WORDS: [&str; 5] =
    ["-p", "--dangerously-skip-permissions", "--output-format", "stream-json", "--verbose"];

struct Options {
    sessions: u32,
    turns: u32,
    seed: u64,
    version: String,
    recto: Option<PathBuf>,
    is_written: bool,
}

/// What was found, and what was wrong.
#[derive(Default)]
struct Findings {
    /// By how they ended: all, and those of which everything holds.
    endings: Vec<(&'static str, u32, u32)>,
    rounds: (u32, u32),
    faults: Vec<String>,
}

pub(crate) fn run(words: &[String]) -> anyhow::Result<ExitCode> {
    let options = options(words)?;
    client::check_tools()?;
    client::installed(&options.version)?;
    let recto = match &options.recto {
        Some(recto) => recto.clone(),
        None => super::build_recto()?,
    };
    let recto = recto.canonicalize().context("recto")?;
    let workspace = Workspace::new()?;
    let mut random = Random::new(options.seed);
    let mut findings = Findings::default();
    for number in 0..options.sessions {
        let ending = ENDINGS[number as usize % ENDINGS.len()];
        let faults = written(&options, &recto, workspace.path(), ending, &mut random)
            .unwrap_or_else(|error| vec![format!("{error:#}")]);
        findings.add(ending, &format!("session {number}, {ending}"), faults);
    }
    rounds(&options, &recto, workspace.path(), &mut random, &mut findings)?;
    let page = findings.page(&options);
    say(&page);
    if options.is_written {
        fs::write(repository::root().join("bench/ORACLE-RUN.md"), page)?;
    }
    Ok(if findings.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn options(words: &[String]) -> anyhow::Result<Options> {
    let mut options = Options {
        sessions: 100,
        turns: 20,
        seed: 1,
        version: "2.1.325".into(),
        recto: None,
        is_written: false,
    };
    let mut words = words.iter();
    while let Some(option) = words.next() {
        if option == "--write" {
            options.is_written = true;
            continue;
        }
        let value = words.next().with_context(|| format!("{option} needs a value\n{USAGE}"))?;
        match option.as_str() {
            "--sessions" => options.sessions = value.parse().context(USAGE)?,
            "--turns" => options.turns = value.parse().context(USAGE)?,
            "--seed" => options.seed = value.parse().context(USAGE)?,
            "--client" => options.version.clone_from(value),
            "--recto" => options.recto = Some(value.into()),
            _ => bail!("unknown option `{option}`\n{USAGE}"),
        }
    }
    Ok(options)
}

/// A home in which nothing has happened yet.
fn fresh_home(workspace: &Path) -> anyhow::Result<TempDir> {
    let home = TempDir::with_prefix_in("home-", workspace)?;
    let config = r#"{"hasCompletedOnboarding": true, "autoUpdates": false}"#;
    fs::write(home.path().join(".claude.json"), config)?;
    fs::create_dir(home.path().join("app"))?;
    fs::write(home.path().join("app/there.txt"), "a word\n")?;
    Ok(home)
}

/// One session: recto writes it, the client goes on with it. Gives what is wrong.
fn written(
    options: &Options,
    recto: &Path,
    workspace: &Path,
    ending: &'static str,
    random: &mut Random,
) -> anyhow::Result<Vec<String>> {
    let home = fresh_home(workspace)?;
    let table = Table::new(recto, &options.version, SCRIPT, home.path(), workspace);
    let claude = home.path().join(".claude");
    let session = uuid::Uuid::new_v4().to_string();
    let mut faults = Vec::new();
    let is_compacted = ending == "compacted";
    let turns = 1 + random.below(3) + if is_compacted { 2 } else { 0 };
    // Before the last turn, or as the last one.
    let compaction = is_compacted.then(|| turns - 1 - random.below(2));
    let mut asked = Vec::new();
    for turn in 0..turns {
        let is_stopped = turn + 1 == turns && matches!(ending, "interrupted" | "killed");
        let tasks = if is_stopped { &LONG_TASKS[..] } else { &TASKS[..] };
        let prompt = match compaction == Some(turn) {
            true => COMPACT.to_owned(),
            false => format!("TASK-{} number {turn}", random.pick(tasks)),
        };
        let stop = is_stopped.then(|| Stop {
            after: Duration::from_millis(100 + random.below(1200) as u64),
            signal: if ending == "killed" { "KILL" } else { "INT" },
        });
        let before = read_log(&claude, &session);
        let taken = play(&table, Player::Recto, &session, turn == 0, &prompt, stop)?;
        faults.extend(check_turn(&taken, stop.is_some(), &prompt));
        let after = read_log(&claude, &session);
        faults.extend(check_log(&before, &after));
        asked.push(prompt);
    }
    let log = read_log(&claude, &session);
    if is_compacted && !is_in(&log, "compact_boundary") {
        faults.push("nothing was compacted".into());
    }
    if log.is_empty() {
        // Killed before the prompt was written: nothing is there, and nothing is lost.
        return Ok(faults);
    }
    let cwd = resume::USUAL_CWD;
    let prediction = check::predict(&claude, &session, cwd, &options.version)?;
    let outcome = resume::resume(&resume::Resume {
        version: &options.version,
        home: &claude,
        session: &session,
        cwd,
        limit: resume::LIMIT,
        environment: Vec::new(),
        workspace,
    })?;
    if let Verdict::Differs(why) = check::verdict(&outcome, &prediction) {
        faults.push(format!("after {}: {why}", asked.join(", ")));
    }
    if outcome.messages.is_none() {
        faults.push(format!("the client did not resume: {}", outcome.stderr));
    }
    faults
        .extend(outcome.refused.map(|why| format!("the API refuses what the client sends: {why}")));
    // Recto goes on with it, too, and runs no tool again.
    let ran = count_runs(home.path());
    let taken = play(&table, Player::Recto, &session, false, "TASK-TEXT at the end", None)?;
    faults.extend(check_turn(&taken, false, "the last prompt"));
    faults.extend(check_log(&log, &read_log(&claude, &session)));
    if count_runs(home.path()) != ran {
        faults.push("a tool ran again after the resume".into());
    }
    Ok(faults)
}

/// Both go on with one session in turns.
fn rounds(
    options: &Options,
    recto: &Path,
    workspace: &Path,
    random: &mut Random,
    findings: &mut Findings,
) -> anyhow::Result<()> {
    let home = fresh_home(workspace)?;
    let table = Table::new(recto, &options.version, SCRIPT, home.path(), workspace);
    let claude = home.path().join(".claude");
    let session = uuid::Uuid::new_v4().to_string();
    let mut prompts: Vec<String> = Vec::new();
    // Each of the two makes a summary, with which the other one goes on.
    let compactions = [options.turns / 3 / 2 * 2, options.turns * 2 / 3 / 2 * 2 + 1];
    for turn in 0..options.turns {
        let player = if turn % 2 == 0 { Player::Recto } else { Player::Client };
        let is_compaction = turn > 0 && compactions.contains(&turn);
        let prompt = match is_compaction {
            true => COMPACT.to_owned(),
            false => format!("TASK-{} round-{turn}.", random.pick(&TASKS)),
        };
        let before = read_log(&claude, &session);
        let taken = play(&table, player, &session, turn == 0, &prompt, None)?;
        let mut faults = check_turn(&taken, false, &prompt);
        faults.extend(check_log(&before, &read_log(&claude, &session)));
        if is_compaction {
            prompts.clear();
            if !is_in(&read_log(&claude, &session)[before.len()..], "compact_boundary") {
                faults.push("nothing was compacted".into());
            }
            findings.add_round(turn, player, faults);
            continue;
        }
        prompts.push(prompt);
        let sent = taken.requests.iter().rev().map(|body| body["messages"].to_string());
        let sent = sent.into_iter().find(|text| text.contains(&format!("round-{turn}.")));
        match sent {
            None => faults.push("the prompt was not sent".into()),
            Some(sent) => {
                let lost = prompts.iter().filter(|prompt| sent.matches(*prompt).count() != 1);
                let lost: Vec<&str> = lost.map(String::as_str).collect();
                if !lost.is_empty() {
                    faults.push(format!("not sent exactly once: {}", lost.join(", ")));
                }
            }
        }
        findings.add_round(turn, player, faults);
    }
    Ok(())
}

fn play(
    table: &Table<'_>,
    player: Player,
    session: &str,
    is_first: bool,
    prompt: &str,
    stop: Option<Stop>,
) -> anyhow::Result<Turn> {
    let mut words = WORDS.to_vec();
    words.extend([if is_first { "--session-id" } else { "--resume" }, session, prompt]);
    table.take(player, &words, stop)
}

/// What is wrong with a turn.
fn check_turn(turn: &Turn, is_stopped: bool, prompt: &str) -> Vec<String> {
    let refusals = turn.refusals.iter().map(|why| format!("{prompt}: the API refuses: {why}"));
    let mut faults: Vec<String> = refusals.collect();
    if !is_stopped && turn.rc != Some(0) {
        let said: String = turn.stderr.chars().take(300).collect();
        let last = turn.stdout.lines().next_back().unwrap_or_default();
        let last: String = last.chars().take(300).collect();
        faults.push(format!("{prompt}: exit {:?}: {said} {last}", turn.rc));
    }
    faults
}

fn read_log(claude: &Path, session: &str) -> Vec<u8> {
    let log = resume::find_log(claude, session);
    log.ok().and_then(|log| fs::read(log).ok()).unwrap_or_default()
}

/// What is wrong with a log that grew: it may only grow, by whole lines, with ids of their own.
fn check_log(before: &[u8], after: &[u8]) -> Vec<String> {
    let mut faults = Vec::new();
    if !after.starts_with(before) {
        faults.push("lines that were there have changed".into());
    }
    if !after.is_empty() && !after.ends_with(b"\n") {
        faults.push("the log does not end with a whole line".into());
    }
    let mut known = HashSet::new();
    for (number, line) in after.split(|byte| *byte == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        match serde_json::from_slice::<Value>(line) {
            Err(error) => faults.push(format!("line {}: {error}", number + 1)),
            Ok(line) => {
                if let Some(id) = line["uuid"].as_str()
                    && !known.insert(id.to_owned())
                {
                    faults.push(format!("line {}: the uuid {id} is not new", number + 1));
                }
            }
        }
    }
    faults
}

/// Whether lines of a log have a word.
fn is_in(log: &[u8], word: &str) -> bool {
    String::from_utf8_lossy(log).contains(word)
}

/// How often the command of `TASK-BASH` ran.
fn count_runs(home: &Path) -> usize {
    fs::read_to_string(home.join("app/ran.log")).map_or(0, |text| text.lines().count())
}

impl Findings {
    fn add(&mut self, ending: &'static str, name: &str, faults: Vec<String>) {
        let at = self.endings.iter().position(|(known, ..)| *known == ending);
        let at = at.unwrap_or_else(|| {
            self.endings.push((ending, 0, 0));
            self.endings.len() - 1
        });
        if let Some((_, all, good)) = self.endings.get_mut(at) {
            *all += 1;
            *good += u32::from(faults.is_empty());
        }
        say(&format!("{} {name}", if faults.is_empty() { "good " } else { "FAULT" }));
        for fault in faults {
            say(&format!("  {fault}"));
            self.faults.push(format!("{name}: {fault}"));
        }
    }

    fn add_round(&mut self, turn: u32, player: Player, faults: Vec<String>) {
        self.rounds.0 += 1;
        self.rounds.1 += u32::from(faults.is_empty());
        let name = format!("round {turn}, {}", player.name());
        say(&format!("{} {name}", if faults.is_empty() { "good " } else { "FAULT" }));
        self.faults.extend(faults.iter().map(|fault| format!("{name}: {fault}")));
    }

    fn page(&self, options: &Options) -> String {
        let mut page = String::from("# What the real client does with sessions of `recto run`\n\n");
        let _ = writeln!(
            page,
            "Written by `cargo xtask oracle run --write`. Client {}, against `recto mock`. A session \
             is good if every request is accepted, the client sends what recto predicts, only whole \
             lines with new ids were added, recto can go on with it, and no tool ran again.\n",
            options.version
        );
        page += "| sessions | good | of |\n|---|---:|---:|\n";
        for (ending, all, good) in &self.endings {
            let _ = writeln!(page, "| {ending} | {good} | {all} |");
        }
        let _ = writeln!(
            page,
            "| one session in turns: rounds | {} | {} |",
            self.rounds.1, self.rounds.0
        );
        if !self.faults.is_empty() {
            page += "\n## What is not good\n\n";
            for fault in &self.faults {
                let fault: String = fault.replace('\n', " ").chars().take(500).collect();
                let _ = writeln!(page, "- {fault}");
            }
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_of_the_rounds_has_a_script() {
        let script = recto_agent::mock::Script::parse(SCRIPT).unwrap();
        assert!(script.len() > TASKS.len());
    }

    #[test]
    fn a_log_may_only_grow_by_whole_lines_with_new_ids() {
        let line = |id: &str| format!("{{\"uuid\":\"{id}\"}}\n").into_bytes();
        let both = [line("a"), line("b")].concat();
        assert!(check_log(&line("a"), &both).is_empty());
        assert_eq!(check_log(&line("b"), &both), ["lines that were there have changed"]);
        assert_eq!(check_log(b"", &both[..both.len() - 1]).len(), 1);
        assert_eq!(check_log(b"", &[line("a"), line("a")].concat()).len(), 1);
        assert_eq!(check_log(b"", b"{\n").len(), 1);
    }
}
