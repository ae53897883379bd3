//! What a client does that recto does not know: `cargo xtask oracle drift --client VERSION`.
//!
//! Owns: the scenarios, and what is told of them. A client of that version is installed and
//! plays each scenario against the mock, off the network. Then the lines that it wrote are
//! looked at for names that are not known, and the session is resumed, to see whether what it
//! sends is still what is predicted.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;

use recto_log::Drift;
use recto_log::Generation;
use recto_log::Lines;
use recto_log::decode;
use serde_json::Value;
use serde_json::json;
use tempfile::TempDir;

use super::Workspace;
use super::check::Verdict;
use super::check::resumes_as_predicted;
use super::client;
use super::resume::LIMIT;
use super::resume::Resume;
use super::resume::USUAL_CWD;
use super::resume::in_namespaces;
use super::resume::write_config;
use crate::repository;

/// The session that is recorded.
const SESSION: &str = "6f3d2b1a-4c5e-4f60-8172-a3b4c5d6e7f8";

/// What is played: prompts, each in a run of the client, and what the model says to them.
struct Scenario {
    name: &'static str,
    prompts: &'static [&'static str],
    /// What the model answers to a prompt, in blocks; else it says one sentence.
    answers: &'static [(&'static str, &'static str)],
}

/// AGENT is the name that the client has for the tool that starts subagents.
const SCENARIOS: &[Scenario] = &[
    Scenario { name: "words", prompts: &["Say a word."], answers: &[] },
    Scenario { name: "went on", prompts: &["Say a word.", "Say another."], answers: &[] },
    Scenario {
        name: "one call",
        prompts: &["Run it."],
        answers: &[(
            "Run it.",
            r#"[{"type":"text","text":"I run it."},{"type":"tool_use","id":"toolu_01AAAAAAAAAAAAAAAAAAAAAA","name":"Bash","input":{"command":"echo one","description":"Say one"}}]"#,
        )],
    },
    Scenario {
        name: "calls at once",
        prompts: &["Run both."],
        answers: &[(
            "Run both.",
            r#"[{"type":"tool_use","id":"toolu_01AAAAAAAAAAAAAAAAAAAAAB","name":"Bash","input":{"command":"echo one"}},{"type":"tool_use","id":"toolu_01AAAAAAAAAAAAAAAAAAAAAC","name":"Bash","input":{"command":"echo two"}}]"#,
        )],
    },
    Scenario {
        name: "a call that fails",
        prompts: &["Read it."],
        answers: &[(
            "Read it.",
            r#"[{"type":"tool_use","id":"toolu_01AAAAAAAAAAAAAAAAAAAAAD","name":"Read","input":{"file_path":"/home/dev/app/gone.txt"}}]"#,
        )],
    },
    Scenario {
        name: "a file is written",
        prompts: &["Write it."],
        answers: &[(
            "Write it.",
            r#"[{"type":"tool_use","id":"toolu_01AAAAAAAAAAAAAAAAAAAAAE","name":"Write","input":{"file_path":"/home/dev/app/new.txt","content":"one\\n"}}]"#,
        )],
    },
    Scenario {
        name: "a subagent",
        prompts: &["Have it found."],
        answers: &[(
            "Have it found.",
            r#"[{"type":"tool_use","id":"toolu_01AAAAAAAAAAAAAAAAAAAAAF","name":"AGENT","input":{"description":"Find it","prompt":"Find the word.","subagent_type":"general-purpose"}}]"#,
        )],
    },
    Scenario {
        name: "a compaction",
        prompts: &["Say a word.", "/compact", "Go on."],
        answers: &[],
    },
    Scenario { name: "a command", prompts: &["Say a word.", "/context"], answers: &[] },
];

/// What was found in one scenario.
#[derive(Default)]
struct Found {
    lines: usize,
    drift: Drift,
    refused: Vec<String>,
    /// What keeps the scenario from being played or predicted.
    trouble: Option<String>,
}

/// Plays all scenarios with a client and tells what is new.
pub(crate) fn run(version: &str) -> anyhow::Result<ExitCode> {
    client::check_tools()?;
    client::installed(version)?;
    let workspace = Workspace::new()?;
    let mut unknown: BTreeMap<String, u64> = BTreeMap::new();
    let mut is_new = false;
    for scenario in SCENARIOS {
        let found = play(scenario, version, workspace.path())?;
        for (finding, count) in found.drift.findings() {
            let name = format!("{} {}", finding.kind.name(), finding.name);
            *unknown.entry(name).or_default() += count;
        }
        let verdict = match &found.trouble {
            None => "as predicted".to_owned(),
            Some(trouble) => format!("NEW: {trouble}"),
        };
        is_new |= found.trouble.is_some() || !found.refused.is_empty();
        repository::say(&format!("{:<20} {:>3} lines  {verdict}", scenario.name, found.lines));
        for why in found.refused {
            repository::say(&format!("  the mock refuses a request: {why}"));
        }
    }
    for (name, count) in &unknown {
        repository::say(&format!("NEW: {name}, in {count} lines"));
    }
    is_new |= !unknown.is_empty();
    let end = if is_new { "there is something new" } else { "nothing is new" };
    repository::say(&format!("client {version}: {end}"));
    Ok(if is_new { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn play(scenario: &Scenario, version: &str, workspace: &Path) -> anyhow::Result<Found> {
    let work = TempDir::with_prefix_in("drift-", workspace)?;
    let home = work.path().join("home");
    fs::create_dir_all(home.join("app"))?;
    write_config(&home)?;
    let request = json!({
        "work": work.path(), "client": client::installed(version)?, "session": SESSION,
        "cwd": USUAL_CWD, "seconds": LIMIT.as_secs(), "environment": [],
        "script": script(scenario, version), "runs": runs(scenario),
    });
    let seen = in_namespaces("inside", &request)?;
    let mut found = Found::default();
    let requests = seen["requests"].as_array().map_or(&[][..], Vec::as_slice);
    found.refused =
        requests.iter().filter_map(|one| Some(one["refusal"].as_str()?.into())).collect();
    found.refused.sort();
    found.refused.dedup();
    let claude = home.join(".claude");
    for log in logs(&claude.join("projects")) {
        let bytes = fs::read(log)?;
        for line in Lines::new(&bytes) {
            found.lines += 1;
            found.drift.add(&decode(line).0);
        }
    }
    if seen["rc"] != 0 {
        let said: String = seen["stderr"].as_str().unwrap_or_default().chars().take(300).collect();
        found.trouble = Some(format!("the client ends with {}: {said}", seen["rc"]));
        return Ok(found);
    }
    let verdict = resumes_as_predicted(&Resume {
        version,
        home: &claude,
        session: SESSION,
        cwd: USUAL_CWD,
        limit: LIMIT,
        environment: Vec::new(),
        workspace,
    });
    found.trouble = match verdict {
        Ok(Verdict::Equal) => None,
        Ok(Verdict::Differs(how) | Verdict::NotGood(how) | Verdict::Failed(how)) => Some(how),
        Ok(Verdict::Skipped(how)) => Some(how),
        Ok(Verdict::NotAsked) => Some("it was not asked".into()),
        Err(error) => Some(format!("{error:#}")),
    };
    Ok(found)
}

/// The rules of the mock.
fn script(scenario: &Scenario, version: &str) -> String {
    let is_new = Generation::of_version(version).is_some_and(|one| one >= Generation::V2_1_100);
    let agent = if is_new { "Agent" } else { "Task" };
    let rule = |(prompt, blocks): &(&str, &str)| {
        let blocks = blocks.replace("AGENT", agent);
        let blocks: Value = serde_json::from_str(&blocks).unwrap_or_default();
        // Only the request of the conversation itself offers tools.
        json!({"contains": prompt, "tools": true, "times": 1, "blocks": blocks}).to_string()
    };
    scenario.answers.iter().map(rule).collect::<Vec<_>>().join("\n")
}

/// The words of each run of the client.
fn runs(scenario: &Scenario) -> Vec<Vec<&'static str>> {
    let run = |(at, prompt): (usize, &&'static str)| {
        let session = if at == 0 { "--session-id" } else { "--resume" };
        vec!["-p", "--dangerously-skip-permissions", session, SESSION, *prompt]
    };
    scenario.prompts.iter().enumerate().map(run).collect()
}

/// All logs below a folder.
fn logs(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match path.is_dir() {
                true => folders.push(path),
                false if path.extension().is_some_and(|name| name == "jsonl") => found.push(path),
                false => {}
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use recto_agent::mock::Script;

    use super::*;

    #[test]
    fn every_scenario_is_a_script_that_the_mock_takes() {
        for scenario in SCENARIOS {
            for version in ["2.0.50", "2.1.325"] {
                let text = script(scenario, version);
                let rules = if text.is_empty() { 0 } else { Script::parse(&text).unwrap().len() };
                assert_eq!(rules, scenario.answers.len(), "{}", scenario.name);
            }
            assert_eq!(runs(scenario).len(), scenario.prompts.len());
        }
    }
}
