//! The judge of tools: every recorded call is made again, and what comes back is compared.
//!
//! Equal means: the content of the result, whether it is an error, `toolUseResult`, and the
//! files that changed. Ids, times and durations are those of this run; each placeholder of a
//! recording must stand for one value throughout the case.
//!
//! Compared loosely: rows marked `unstable`, and the order of lines that ripgrep finds in
//! several files, which depends on its threads.

pub(super) mod files;
pub(super) mod like;
pub(super) mod model;
mod replay;
mod server;

use std::fs;

use anyhow::Context as _;
use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use super::Selection;
pub(super) use replay::groups;

/// The client whose rows count.
const VERSION: &str = "2.1.325";

/// What the judge found.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Judged {
    pub(super) equal: usize,
    pub(super) compared: usize,
    /// The cases that differ, and how.
    pub(super) differences: Vec<(String, String)>,
}

/// Judges all cases of a folder. Runs inside the sandbox.
pub(super) fn judge(selection: &Selection) -> anyhow::Result<Judged> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("no runtime")?;
    let mut judged = Judged::default();
    for family in families(selection)? {
        let mut state = replay::Family::default();
        for case in family {
            let id = case["id"].as_str().unwrap_or_default().to_owned();
            let is_wanted = id.contains(&selection.filter);
            // Some cases need the state that those before them left.
            if !is_wanted && !id.starts_with("task/") {
                continue;
            }
            let difference = runtime.block_on(replay::run(&case, &mut state))?;
            if !is_wanted {
                continue;
            }
            judged.compared += 1;
            match difference {
                None => judged.equal += 1,
                Some(how) => judged.differences.push((id, how)),
            }
        }
    }
    Ok(judged)
}

/// The cases of each file.
fn families(selection: &Selection) -> anyhow::Result<Vec<Vec<Value>>> {
    let folder = selection.cases.join("tools");
    let mut paths: Vec<_> = fs::read_dir(&folder)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .collect();
    paths.sort_unstable();
    let mut families = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path)?;
        let mut cases = Vec::new();
        for line in text.lines().filter(|line| !line.is_empty()) {
            let case: Value = serde_json::from_str(line)
                .with_context(|| format!("{} has a line that is not JSON", path.display()))?;
            if case["version"] == VERSION {
                cases.push(case);
            }
        }
        families.push(cases);
    }
    Ok(families)
}
