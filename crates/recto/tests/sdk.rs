//! The public Agent SDK lists the same sessions.
//!
//! The SDK is a second reader of the same files. What it said of each recorded
//! home is in `sdk.json`. Where recto differs by intent, a rule below turns what
//! recto says into what the SDK must have said; everything else is a failure.
//! The rules and their reasons are in `docs/concepts/sdk.md`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::Value;

use crate::support::TestHome;
use crate::support::repository;

/// The folders of the corpus for which the SDK was asked.
fn scenarios() -> Vec<PathBuf> {
    let below = |folder: PathBuf| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let versions = below(repository().join("fixtures/corpus")).filter(|path| path.is_dir());
    let mut found: Vec<PathBuf> =
        versions.flat_map(below).filter(|path| path.join("sdk.json").exists()).collect();
    found.sort();
    found
}

fn by_id(sessions: Vec<Value>, field: &str) -> BTreeMap<String, Value> {
    sessions.into_iter().map(|one| (one[field].as_str().unwrap().to_owned(), one)).collect()
}

#[test]
fn the_sdk_lists_the_same_sessions() {
    let test = TestHome::empty();
    let mut sessions = 0;
    let mut differences = Vec::new();
    for scenario in scenarios() {
        let home = scenario.join("home/.claude");
        let run = test.run(&["--home", home.to_str().unwrap(), "ls", "--json"]);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{}", scenario.display());
        let ours = by_id(run.json(), "id");
        let listed = fs::read(scenario.join("sdk.json")).unwrap();
        let sdk = by_id(serde_json::from_slice(&listed).unwrap(), "session_id");
        assert!(ours.keys().eq(sdk.keys()), "{}: other sessions", scenario.display());
        sessions += sdk.len();
        for (ours, sdk) in ours.values().zip(sdk.values()) {
            differences.extend(
                compare(ours, sdk).map(|difference| format!("{}: {difference}", ours["path"])),
            );
        }
    }
    assert!(sessions > 150, "the corpus is not there: {sessions} sessions");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The first field in which a session differs from what the SDK must say of it.
fn compare(ours: &Value, sdk: &Value) -> Option<String> {
    let created = sdk["created_at"].as_i64().map(|time| Timestamp::from_millisecond(time).unwrap());
    let started = ours["started"].as_str().map(|time| time.parse::<Timestamp>().unwrap());
    if created != started {
        return Some(format!("created_at: {created:?}, not {started:?}"));
    }
    let given = matches!(ours["title_source"].as_str(), Some("custom" | "ai"));
    let given = given.then(|| text(&ours["title"])).flatten();
    let prompt = text(&ours["first_prompt"]).map(without_arguments);
    let title = given.clone().or_else(|| stand_in(ours)).or_else(|| prompt.clone());
    let fields = [
        ("cwd", text(&ours["cwd"])),
        ("git_branch", text(&ours["branch"])),
        ("first_prompt", prompt),
        ("custom_title", given),
        ("summary", title),
    ];
    let differs = |(name, wanted): &(&str, Option<String>)| !is_same(&text(&sdk[name]), wanted);
    let (name, wanted) = fields.into_iter().find(differs)?;
    Some(format!("{name}: {}, not {wanted:?}", sdk[name]))
}

/// A text with its white space folded.
fn text(value: &Value) -> Option<String> {
    Some(value.as_str()?.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Rule "cut": the SDK cuts a prompt at 200 characters and ends it with `…`;
/// recto cuts later.
fn is_same(sdk: &Option<String>, wanted: &Option<String>) -> bool {
    const LEAST: usize = 190;
    let (Some(sdk), Some(wanted)) = (sdk, wanted) else { return sdk == wanted };
    let is_cut = |start: &str| start.chars().count() >= LEAST && wanted.starts_with(start);
    sdk == wanted || sdk.strip_suffix('…').is_some_and(|start| is_cut(start.trim_end()))
}

/// Rule "command": where a session begins with a command, the SDK gives its name
/// as the first prompt; recto adds the arguments.
fn without_arguments(prompt: String) -> String {
    match prompt.split_once(' ') {
        Some((name, _)) if name.starts_with('/') => name.to_owned(),
        _ => prompt,
    }
}

/// Rules "last prompt" and "summary": where no title was given, the SDK takes
/// the last prompt, if the client noted one, else the last `summary` line,
/// whatever session it is of. Recto takes a summary of this session, else the
/// first prompt.
fn stand_in(ours: &Value) -> Option<String> {
    text(&ours["last_prompt"]).or_else(|| {
        let log = fs::read_to_string(Path::new(ours["path"].as_str().unwrap())).unwrap();
        let mut lines =
            log.lines().rev().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let summary = lines.find(|line| line["type"] == "summary")?;
        let leaf = format!("\"uuid\":{}", summary["leafUuid"]);
        let title = text(&summary["summary"]);
        // A summary that is this session's own is recto's title too.
        assert_eq!(log.contains(&leaf), text(&ours["title"]) == title, "{}", ours["path"]);
        title
    })
}
