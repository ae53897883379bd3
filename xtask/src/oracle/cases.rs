//! Which sessions are resumed, and how they are edited before.
//!
//! To add an edit, add a row to [`EDITS`].

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Context as _;
use anyhow::bail;
use recto_testkit::Recording;
use recto_testkit::recordings;
use serde_json::Value;
use tempfile::TempDir;

use super::resume::copy_tree;
use crate::repository;

/// A command of recto that edits a recorded session and makes a new one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edit {
    /// The recording, as `cargo xtask oracle check` names it.
    pub(crate) source: &'static str,
    /// The words after `recto --home COPY --json`; `{session}` is the source.
    pub(crate) words: &'static [&'static str],
}

/// All edits that are checked.
pub(crate) const EDITS: &[Edit] = &[];

/// A session to resume, and where it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) recording: Recording,
    /// The words of recto that edit it; none for a session as it is.
    pub(crate) words: Option<&'static [&'static str]>,
}

/// A home with the session of a case.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) home: TempDir,
    pub(crate) session: String,
    /// What clients reach of the session, before and after the edit.
    pub(crate) reach: Option<(String, String)>,
}

/// All cases whose name holds a text.
pub(crate) fn cases(edits: &[Edit], filter: &str) -> anyhow::Result<Vec<Case>> {
    let recordings = recordings(&repository::root().join("fixtures/corpus"));
    let mut cases = Vec::new();
    for edit in edits {
        let recording = recordings.iter().find(|recording| recording.name == edit.source);
        let recording = recording.with_context(|| format!("no recording is `{}`", edit.source))?;
        cases.push(Case { recording: recording.clone(), words: Some(edit.words) });
    }
    cases.extend(recordings.into_iter().map(|recording| Case { recording, words: None }));
    cases.retain(|case| case.name().contains(filter));
    Ok(cases)
}

impl Case {
    /// The edit and the recording.
    pub(crate) fn name(&self) -> String {
        match self.words {
            Some(_) => format!("{}: {}", self.operation(), self.recording.name),
            None => self.recording.name.clone(),
        }
    }

    /// The edit in words.
    pub(crate) fn operation(&self) -> String {
        self.words.map_or("none".into(), |words| words.join(" "))
    }

    /// The variables with which the client was recorded.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let variables = self.recording.expected["env"].as_object();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        variables.into_iter().flatten().map(|(name, value)| (name.clone(), text(value))).collect()
    }

    /// Where the client is started, if not where the log says.
    pub(crate) fn cwd(&self) -> Option<&'static str> {
        // Logs that were edited by hand are all of one directory, whatever they say.
        self.recording.home.is_none().then_some("/home/dev/app")
    }

    /// Makes a home with the session, and edits it with the given recto.
    pub(crate) fn prepare(&self, recto: &Path) -> anyhow::Result<Prepared> {
        let home = TempDir::with_prefix("recto-oracle-home-")?;
        if let Some(recorded) = &self.recording.home {
            copy_tree(recorded, home.path())?;
        }
        copy_tree(&self.recording.log, &home.path().join(&self.recording.place))?;
        let session = stem(&self.recording.place);
        let Some(words) = self.words else { return Ok(Prepared { home, session, reach: None }) };
        let edited = edit(recto, home.path(), &session, words)?;
        Ok(Prepared { session: edited.id, reach: Some(edited.reach), home })
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().map_or(String::new(), |stem| stem.to_string_lossy().into_owned())
}

#[derive(Debug, Eq, PartialEq)]
struct Edited {
    id: String,
    reach: (String, String),
}

/// Runs a command that edits, and reads what it says.
fn edit(recto: &Path, home: &Path, session: &str, words: &[&str]) -> anyhow::Result<Edited> {
    let words = words.iter().map(|word| word.replace("{session}", session));
    let mut command = Command::new(recto);
    command.arg("--home").arg(home).arg("--json").args(words);
    // Nothing of this machine's own sessions is near.
    command.env_remove("CLAUDE_CONFIG_DIR").env("HOME", home);
    let output = command.output().with_context(|| format!("cannot run {}", recto.display()))?;
    if !output.status.success() {
        bail!("recto failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let said = serde_json::from_slice(&output.stdout).context("recto did not print one object")?;
    read_edited(&said, home)
}

/// What an edit says of itself: `result` with `id` and `path`, and `reach`.
fn read_edited(said: &Value, home: &Path) -> anyhow::Result<Edited> {
    let id = said["result"]["id"].as_str().context("the edit names no `result.id`")?;
    let path = said["result"]["path"].as_str().context("the edit names no `result.path`")?;
    let path = PathBuf::from(path);
    if path.file_stem() != Some(OsStr::new(id))
        || !fs::canonicalize(&path)?.starts_with(fs::canonicalize(home)?)
    {
        bail!("{} is not the log of {id} in the home that was edited", path.display());
    }
    let reach = |when: &str| match &said["reach"][when] {
        Value::Null => bail!("the edit names no `reach.{when}`"),
        Value::String(text) => Ok(text.clone()),
        other => Ok(other.to_string()),
    };
    Ok(Edited { id: id.into(), reach: (reach("before")?, reach("after")?) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ID: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";

    /// Stands in for recto: copies the session that it is told to.
    const COPIER: &str = r#"#!/bin/sh
# --home DIR --json WORD SESSION
id=3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718
for log in "$2"/projects/*/"$5".jsonl; do cp "$log" "${log%/*}/$id.jsonl"; done
echo "{\"operation\":\"$4\",\"result\":{\"id\":\"$id\",\"path\":\"${log%/*}/$id.jsonl\"},\"reach\":{\"before\":4,\"after\":3}}"
"#;

    #[test]
    fn an_edited_session_is_found_by_what_the_edit_says() {
        use std::os::unix::fs::PermissionsExt as _;

        let tools = TempDir::new().unwrap();
        let recto = tools.path().join("recto");
        fs::write(&recto, COPIER).unwrap();
        fs::set_permissions(&recto, fs::Permissions::from_mode(0o755)).unwrap();
        let edits = [Edit { source: "2.1.29/S2/resume.json", words: &["copy", "{session}"] }];
        let cases = cases(&edits, "copy {session}").unwrap();
        assert_eq!(cases.len(), 1);
        assert_eq!(cases[0].name(), "copy {session}: 2.1.29/S2/resume.json");
        let prepared = cases[0].prepare(&recto).unwrap();
        assert_eq!(prepared.session, ID);
        assert_eq!(prepared.reach, Some(("4".into(), "3".into())));
        let log = super::super::resume::find_log(prepared.home.path(), ID).unwrap();
        assert_eq!(fs::read(log).unwrap(), fs::read(&cases[0].recording.log).unwrap());
    }

    #[test]
    fn an_edit_that_names_no_log_in_the_home_is_an_error() {
        let home = TempDir::new().unwrap();
        let path = home.path().join(format!("{ID}.jsonl"));
        fs::write(&path, "").unwrap();
        let said = |result: Value| json!({"result": result, "reach": {"before": 1, "after": 1}});
        let good = said(json!({"id": ID, "path": path}));
        assert!(read_edited(&good, home.path()).is_ok());
        for bad in [
            json!({}),
            json!({"result": {"id": ID, "path": path}}),
            said(json!({"id": ID})),
            said(json!({"id": "other", "path": path})),
            said(json!({"id": ID, "path": home.path().join("nothing.jsonl")})),
        ] {
            assert!(read_edited(&bad, home.path()).is_err(), "{bad}");
        }
        let other = TempDir::new().unwrap();
        assert!(read_edited(&good, other.path()).is_err());
    }

    #[test]
    fn every_edit_has_a_source_and_every_recording_is_a_case() {
        let cases = cases(EDITS, "").unwrap();
        assert!(cases.len() > EDITS.len() + 100, "the corpus is not there");
    }
}
