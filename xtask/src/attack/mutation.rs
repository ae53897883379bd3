//! Logs with random damage, and every command that reads them: none panics, hangs or ends
//! with anything but an answer or an error.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;

use super::arena::Arena;
use super::arena::Random;
use super::report::Figures;
use crate::repository::root;

/// The session that the commands are about.
const SESSION: &str = "11111111-2222-4333-8444-555555555555";

/// Every command that reads a log and changes nothing but an output file.
const COMMANDS: &[&[&str]] = &[
    &["show", SESSION],
    &["show", SESSION, "--json"],
    &["turns", SESSION],
    &["tools", SESSION],
    &["branches", SESSION],
    &["todos", SESSION],
    &["context", SESSION],
    &["request", SESSION],
    &["files", SESSION],
    &["stats", SESSION],
    &["check", SESSION],
    &["agents", SESSION],
    &["usage"],
    &["ls"],
    &["plans"],
    &["status", "-a"],
    &["history"],
    &["find", "the"],
    &["grep", "the"],
    &["drift"],
    &["export", SESSION, "--to", "html"],
    &["redact", SESSION, "--check"],
    &["repair", SESSION, "--dry-run"],
];

/// Bytes that mean something in JSON: these do more than others.
const STRUCTURE: &[u8] =
    b"{}[]\",:\\/0123456789-+.eEtfnu \t\r\n\0\x1f\x7f\x80\xbf\xc3\xe2\xed\xf0\xff";

/// Whole values in place of others.
const WORDS: [&str; 12] = [
    "null",
    "{}",
    "[]",
    "\"\\ud83d\"",
    "1e999",
    "-9223372036854775809",
    "18446744073709551616",
    "[[[[[[[[",
    "\"type\":",
    "\"9999999-99-99T99:99:99Z\"",
    "\"-000001-01-01T00:00:00Z\"",
    "true",
];

/// So many damaged logs are worth a page.
const FULL: u64 = 1000;

pub(super) fn attack(arena: &mut Arena, figures: &mut Figures) -> anyhow::Result<()> {
    let logs = recorded_logs()?;
    let path = arena.home().join(format!("projects/-home-dev-app/{SESSION}.jsonl"));
    fs::create_dir_all(path.parent().context("a path without a folder")?)?;
    let mut round = 0u64;
    loop {
        let log = &logs[arena.random.below(logs.len())];
        let damaged = damaged(&mut arena.random, log);
        fs::write(&path, &damaged)?;
        for _ in 0..3 {
            let words = *arena.random.pick(COMMANDS);
            let run = arena.run(words)?;
            let seed = arena.seed;
            figures.tried(
                "commands on a log with random damage",
                run.sound()
                    .map_err(|what| format!("seed {seed}, round {round}, {words:?}: {what}")),
            );
        }
        round += 1;
        if !arena.goes_on(round, FULL) {
            return Ok(());
        }
    }
}

/// Recorded logs, with the id of the session in place of their own.
fn recorded_logs() -> anyhow::Result<Vec<Vec<u8>>> {
    const LARGEST: u64 = 400_000;
    let mut found = Vec::new();
    let mut waiting = vec![root().join("fixtures/corpus")];
    while let Some(folder) = waiting.pop() {
        let mut items: Vec<PathBuf> =
            fs::read_dir(&folder)?.map(|item| Ok(item?.path())).collect::<anyhow::Result<_>>()?;
        items.sort();
        for path in items {
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "jsonl")
                && path.metadata()?.len() <= LARGEST
            {
                found.push(fs::read(&path)?);
            }
        }
    }
    anyhow::ensure!(found.len() > 10, "only {} recorded logs", found.len());
    Ok(found)
}

/// A log with some lines damaged, twice, in another order, or gone.
fn damaged(random: &mut Random, log: &[u8]) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> =
        log.split_inclusive(|byte| *byte == b'\n').map(Vec::from).collect();
    for _ in 0..random.below(12) + 1 {
        if lines.is_empty() {
            break;
        }
        let at = random.below(lines.len());
        match random.below(8) {
            0 => drop(lines.remove(at)),
            1 => {
                let line = lines[at].clone();
                let place = random.below(lines.len() + 1);
                lines.insert(place, line);
            }
            2 => {
                let other = random.below(lines.len());
                lines.swap(at, other);
            }
            _ => damage_line(random, &mut lines[at]),
        }
    }
    lines.concat()
}

fn damage_line(random: &mut Random, line: &mut Vec<u8>) {
    if line.is_empty() {
        return;
    }
    let at = random.below(line.len());
    let upto = at + random.below((line.len() - at).min(40) + 1);
    match random.below(7) {
        0 => line[at] ^= 1 << random.below(8),
        1 => line[at] = *random.pick(STRUCTURE),
        2 => drop(line.drain(at..upto)),
        3 => line.insert(at, *random.pick(STRUCTURE)),
        4 => line.truncate(at),
        // A value in place of another, so that the line stays JSON.
        _ => {
            let word = random.pick(&WORDS);
            let colon =
                line[at..].iter().position(|byte| *byte == b':').map(|found| at + found + 1);
            let Some(start) = colon else { return };
            let length = line[start..].iter().position(|byte| matches!(byte, b',' | b'}'));
            line.splice(start..start + length.unwrap_or(0), word.bytes());
        }
    }
}
