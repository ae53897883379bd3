//! `cargo xtask parity`: what recto does with the cases that the real client was recorded on.
//!
//! Owns: the command line and the totals. Each kind of case has a judge of its own below.

mod dialogues;
mod hooks;
mod permissions;
mod record;
mod request;
mod sandbox;
mod tools;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use anyhow::bail;

use crate::repository;
use crate::repository::say;

const USAGE: &str =
    "usage: cargo xtask parity [--cases DIR] [--only tools|permissions|hooks|dialogues] [--filter TEXT]
       cargo xtask parity record --cases DIR --out DIR [--filter TEXT] [--client VERSION]

  --cases DIR    a folder with recorded cases (default: fixtures/wire)
  --only KIND    one kind of cases
  --filter TEXT  only cases of tools and dialogues with this in their id

       cargo xtask parity record-dialogues --cases DIR|FILE --out DIR [--filter TEXT] [--client VERSION]";

/// Which cases are judged.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    pub(crate) cases: PathBuf,
    pub(crate) filter: String,
}

pub(crate) fn run(words: &[String]) -> anyhow::Result<ExitCode> {
    match words {
        [record, inside, version, filter] if record == "record" && inside == "inside" => {
            return record::inside(version, filter);
        }
        [record, rest @ ..] if record == "record" => return record::run(rest),
        _ => {}
    }
    if let [inside, cases, filter] = words
        && matches!(inside.as_str(), "inside" | "dialogues" | "record-inside")
    {
        let selection = Selection { cases: PathBuf::from(cases), filter: filter.clone() };
        let judged = match inside.as_str() {
            "dialogues" => dialogues::judge_inside(&selection)?,
            "record-inside" => dialogues::record::inside(&selection)?,
            _ => tools::judge(&selection)?,
        };
        say(&serde_json::to_string(&judged)?);
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(rest) = words.strip_prefix(&["record-dialogues".to_owned()]) {
        return dialogues::record::run(rest);
    }
    let mut selection =
        Selection { cases: repository::root().join("fixtures/wire"), filter: String::new() };
    let mut only: Option<&str> = None;
    let mut rest = words.iter();
    while let Some(option) = rest.next() {
        let value = rest.next().with_context(|| format!("{option} needs a value\n{USAGE}"))?;
        match option.as_str() {
            "--cases" => selection.cases = PathBuf::from(value),
            "--filter" => selection.filter.clone_from(value),
            "--only" => only = Some(value),
            _ => bail!("unknown option `{option}`\n{USAGE}"),
        }
    }
    if !selection.cases.is_dir() {
        bail!("{} is not a directory", selection.cases.display());
    }
    // A folder may hold some kinds of cases only.
    let is_wanted = |kind: &str, file: &str| {
        only.is_none_or(|only| only == kind) && selection.cases.join(file).exists()
    };
    let mut totals = Vec::new();
    let mut tell = |kind: &str, equal: usize, compared: usize, differences: &[(String, String)]| {
        for (id, how) in differences {
            say(&format!("{id}: {how}"));
        }
        totals.push(format!("{kind}: {equal} of {compared} equal"));
    };
    if is_wanted("tools", "tools") {
        let judged = sandbox::judge(&selection)?;
        tell("tools", judged.equal, judged.compared, &judged.differences);
    }
    let mut allowed_too_much = None;
    if is_wanted("permissions", "permissions.jsonl") {
        let judged = permissions::judge(&selection.cases)?;
        tell("permissions", judged.equal, judged.compared, &judged.differences);
        allowed_too_much = Some(judged.allowed_too_much.len());
    }
    if is_wanted("hooks", "hooks.jsonl") {
        let judged = hooks::judge(&selection.cases)?;
        tell("hooks", judged.equal, judged.compared, &judged.differences);
    }
    if is_wanted("dialogues", "stream") {
        let judged = dialogues::judge(&selection)?;
        tell("dialogues", judged.equal, judged.compared, &judged.differences);
    }
    for total in &totals {
        say(total);
    }
    if let Some(count) = allowed_too_much {
        say(&format!("allowed where the client would not: {count}"));
    }
    Ok(ExitCode::SUCCESS)
}
