//! Recorded permission decisions against those of `recto-agent`.
//!
//! Compared: the decision (`allowed`, `denied`, `asked-denied`), and of a call that did not run
//! the text for the model, `toolDenialKind`, and whether the result lists the denial. What an
//! allowed call printed is the tools' part. A row that never came to the question
//! (`not-reached`) is for the tools to refuse, and is not counted here.

use std::path::Path;

use anyhow::Context as _;
use recto_agent::permission::Call;
use recto_agent::permission::CommandLine;
use recto_agent::permission::Decision;
use recto_agent::permission::DenialKind;
use recto_agent::permission::Mode;
use recto_agent::permission::Permissions;
use recto_agent::permission::Place;
use recto_agent::permission::Verdict;
use recto_agent::permission::split_list;
use recto_agent::settings::Layer;
use recto_agent::settings::Settings;
use recto_agent::settings::Source;
use recto_agent::tool::Skill;
use recto_agent::tool::skills_in;
use serde_json::Value;

/// What came of all rows.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    /// Rows that are the same.
    pub(crate) equal: usize,
    /// Rows that were compared.
    pub(crate) compared: usize,
    /// Calls that we allow and the client does not.
    pub(crate) allowed_too_much: Vec<String>,
    /// What differs: id, and how.
    pub(crate) differences: Vec<(String, String)>,
}

/// Judges the rows of `permissions.jsonl` in a folder.
pub(crate) fn judge(cases: &Path) -> anyhow::Result<Judged> {
    let path = cases.join("permissions.jsonl");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let mut judged = Judged::default();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let row: Value = serde_json::from_str(line).with_context(|| path.display().to_string())?;
        judge_row(&row, &mut judged);
    }
    Ok(judged)
}

fn judge_row(row: &Value, judged: &mut Judged) {
    let text = |key: &str| row[key].as_str().unwrap_or_default();
    if text("decision") == "not-reached" {
        return;
    }
    judged.compared += 1;
    let ours = decide(row);
    let name = match (ours.verdict, ours.kind) {
        (Verdict::Allowed, _) => "allowed",
        // Nothing says no here: a check that is not there could have said yes.
        (_, Some(DenialKind::AutoModeUnavailable)) | (Verdict::Asked, _) => "asked-denied",
        (Verdict::Denied, _) => "denied",
    };
    let id = text("id").to_owned();
    if name == "allowed" && text("decision") != "allowed" {
        judged.allowed_too_much.push(id.clone());
    }
    let mut how = Vec::new();
    let mut compare = |what: &str, ours: &str, theirs: &str| {
        if ours != theirs {
            how.push(format!("{what}: {ours:?}, not {theirs:?}"));
        }
    };
    compare("decision", name, text("decision"));
    if name != "allowed" && text("decision") != "allowed" {
        compare("text", &ours.text, text("text"));
        compare("kind", ours.kind.map_or("", DenialKind::name), text("denial_kind"));
        let listed = row["permission_denials"].as_array().is_some_and(|list| !list.is_empty());
        compare("listed", &ours.listed.to_string(), &listed.to_string());
    }
    if how.is_empty() {
        judged.equal += 1;
    } else {
        let what = row["call"]["input"]["command"].as_str().map(str::to_owned);
        let what = what.unwrap_or_else(|| row["call"].to_string());
        judged.differences.push((id, format!("{what:?}: {}", how.join("; "))));
    }
}

fn decide(row: &Value) -> Decision {
    let settings = settings(row);
    let command_line = command_line(&row["cli"]);
    let mut permissions = Permissions::new(&settings, &command_line);
    permissions.ask_about_skills(asked_skills(row));
    // Rows stand for later calls of a session, unless they say that they were its first.
    if row["first"] != true {
        permissions.note_command();
    }
    let mut place = Place::new("/home/dev/app".into(), "/home/dev".into());
    let directories = Permissions::additional_directories(&settings);
    let added = directories.iter().map(String::as_str).chain(row["cli"]["addDir"].as_str());
    place.additional = added.map(|text| place.absolute(text)).collect();
    let call = &row["call"];
    let tool = call["name"].as_str().unwrap_or_default();
    permissions.decide(Call { tool, input: &call["input"] }, &place)
}

/// The user's settings, and those of the project where a row has them.
fn settings(row: &Value) -> Settings {
    let layer = |source, value: &Value| {
        Some(Layer { source, path: None, value: value.as_object()?.clone() })
    };
    let file = |name: &str| &row["home"][format!("/home/dev/app/.claude/{name}")];
    let more: Vec<&str> = more(&row["cli"]).collect();
    let flag = more.windows(2).find(|pair| pair[0] == "--settings").map(|pair| pair[1]);
    let flag: Value = flag.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let layers = [
        layer(Source::User, &row["settings"]),
        layer(Source::Project, file("settings.json")),
        layer(Source::Local, file("settings.local.json")),
        layer(Source::Flag, &flag),
    ];
    Settings::from_layers(layers.into_iter().flatten().collect())
}

/// The skills of the project that somebody must agree to.
fn asked_skills(row: &Value) -> Vec<String> {
    let Ok(folder) = tempfile::tempdir() else { return Vec::new() };
    let files = row["home"].as_object().into_iter().flatten();
    for (name, text) in files.filter_map(|(name, text)| Some((name, text.as_str()?))) {
        let Some(name) = name.strip_prefix("/home/dev/app/.claude/") else { continue };
        let path = folder.path().join(name);
        let written = path.parent().map(std::fs::create_dir_all);
        assert!(written.is_some_and(|made| made.is_ok()) && std::fs::write(&path, text).is_ok());
    }
    let skills = skills_in(&[folder.path().to_owned()]).into_iter();
    skills.filter(Skill::needs_consent).map(|skill| skill.name).collect()
}

/// Further options of a row.
fn more(cli: &Value) -> impl Iterator<Item = &str> {
    cli["more"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

fn command_line(cli: &Value) -> CommandLine {
    let list = |key: &str| match &cli[key] {
        Value::String(text) => split_list(text),
        Value::Array(rules) => {
            rules.iter().filter_map(Value::as_str).flat_map(split_list).collect()
        }
        _ => Vec::new(),
    };
    let more: Vec<&str> = more(cli).collect();
    let mode = match cli["skip"].as_bool() {
        Some(true) => Some(Mode::BypassPermissions),
        _ => cli["mode"].as_str().and_then(Mode::parse),
    };
    CommandLine {
        mode,
        allowed: list("allowedTools"),
        disallowed: list("disallowedTools"),
        no_prompts: more.windows(2).any(|pair| pair == ["--permission-prompts", "none"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_decisions_are_the_same_and_nothing_more_is_allowed() {
        let judged = judge(&crate::repository::root().join("fixtures/wire")).unwrap();
        assert!(judged.compared > 500);
        assert_eq!(judged.allowed_too_much, Vec::<String>::new());
        assert!(judged.equal * 100 >= judged.compared * 98, "{:#?}", judged.differences);
    }

    /// Rows that taught a rule: each is the same.
    #[test]
    fn decisions_that_taught_a_rule_are_the_same() {
        let judged = judge(&crate::repository::root().join("fixtures/wire/own")).unwrap();
        assert!(judged.compared > 200);
        assert_eq!(judged.differences, []);
    }
}
