//! The judge of dialogues: whole runs of `claude -p`, made again with recto in its place.
//!
//! A case is a folder: `cmd.json` (what was typed, files, what happened meanwhile), `api.jsonl`
//! (what the endpoint answered), `stdout.jsonl`, `exit.json`, `log.jsonl`. Equal means: the exit
//! code; the lines of standard output, type by type and field by field; the lines of the log by
//! kind, and how they hang together.
//!
//! Normalised: ids, times, durations, token estimates; fields and lines of the client's own
//! affairs, which `compare.rs` names.

mod compare;
mod endpoint;
mod host;
mod play;
pub(super) mod record;
mod script;

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;
use anyhow::bail;
use serde_json::Value;

use super::Selection;
use super::sandbox;
use super::tools::Judged;
use crate::repository;

use endpoint::Scripted;

/// A recorded run.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) command: Value,
    answers: Vec<Scripted>,
    pub(super) stdout: String,
    pub(super) exit: Value,
    pub(super) log: Option<String>,
    /// Other logs of the run: where each was, and its lines.
    pub(super) others: Vec<(String, String)>,
}

impl Case {
    fn read(folder: &Path) -> anyhow::Result<Case> {
        let text = |name: &str| fs::read_to_string(folder.join(name));
        let json = |name: &str| -> anyhow::Result<Value> {
            let text = text(name).with_context(|| format!("{} has no {name}", folder.display()))?;
            Ok(serde_json::from_str(&text)?)
        };
        let exit = json("exit.json")?;
        let named = exit["logs"].as_object().into_iter().flatten();
        let others = named.filter(|(name, _)| *name != "log.jsonl");
        let others =
            others.filter_map(|(name, path)| Some((path.as_str()?.to_owned(), text(name).ok()?)));
        let others = others.collect();
        let answers = text("api.jsonl").unwrap_or_default();
        let answers = answers.lines().map(|line| {
            let exchange: Value = serde_json::from_str(line)?;
            Ok(Scripted::of(&exchange))
        });
        Ok(Case {
            name: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            command: json("cmd.json")?,
            answers: answers.collect::<anyhow::Result<_>>()?,
            stdout: text("stdout.jsonl").unwrap_or_default(),
            exit,
            log: text("log.jsonl").ok(),
            others,
        })
    }

    pub(super) fn words(&self) -> Vec<&str> {
        self.command["args"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }
}

/// Judges the cases of a folder, in the sandbox.
pub(super) fn judge(selection: &Selection) -> anyhow::Result<Judged> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "-p", "recto"])
        .current_dir(repository::root())
        .status()
        .context("cannot run cargo")?;
    if !built.success() {
        bail!("recto does not build");
    }
    let program = std::env::current_exe()?.with_file_name("recto");
    sandbox::judge_in("dialogues", selection, |folder| {
        // Under this name it takes the client's command line.
        fs::copy(&program, folder.join("claude")).context("there is no recto to judge")?;
        copy(&selection.cases.join("stream"), &folder.join("cases/stream"))
    })
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("no cases in {}", from.display()))? {
        let path = entry?.path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy(&path, &target)?;
        } else {
            fs::copy(&path, &target)?;
        }
    }
    Ok(())
}

/// Judges inside the sandbox.
pub(super) fn judge_inside(selection: &Selection) -> anyhow::Result<Judged> {
    let mut folders: Vec<PathBuf> = fs::read_dir(selection.cases.join("stream"))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    let mut judged = Judged::default();
    for folder in folders {
        let case = Case::read(&folder)?;
        if !case.name.contains(&selection.filter) {
            continue;
        }
        judged.compared += 1;
        let played = play::play(&case)?;
        let differences = compare::differences(&case, &played);
        match differences.is_empty() {
            true => judged.equal += 1,
            false => {
                judged
                    .differences
                    .push((format!("dialogue/{}", case.name), differences.join("; ")));
            }
        }
    }
    Ok(judged)
}
