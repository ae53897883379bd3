//! Which sessions are resumed, and how they are edited before.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use std::time::SystemTime;

use anyhow::Context as _;
use anyhow::bail;
use recto_testkit::Recording;
use recto_testkit::recordings;
use serde_json::Value;
use tempfile::TempDir;

use super::edits::Edit;
use super::edits::OUTSIDE;
use super::edits::OUTSIDE_CLIENT;
use super::edits::REPAIR;
use super::edits::THEN;
use super::resume::copy_tree;

/// How old a log is made before it is edited: recto refuses what was just written.
const AGE: Duration = Duration::from_secs(3600);

/// A session to resume, and where it comes from.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) recording: Recording,
    /// The words of recto that edit it; none for a session as it is.
    pub(crate) words: Option<&'static [&'static str]>,
    /// The only client that is asked, if not all are.
    pub(crate) only_client: Option<&'static str>,
}

/// A home with the session of a case.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) home: TempDir,
    pub(crate) session: String,
    /// The log before the edit; none if there is no edit.
    pub(crate) before: Option<Vec<u8>>,
}

/// Whether there is something to resume.
#[derive(Debug)]
pub(crate) enum Preparation {
    Ready(Prepared),
    /// The edit has nothing to do, or says that it cannot be done.
    Skipped(String),
}

/// All cases of a corpus whose name holds a text.
pub(crate) fn cases(corpus: &Path, edits: &[Edit], filter: &str) -> anyhow::Result<Vec<Case>> {
    let recordings = recordings(corpus);
    let mut cases = Vec::new();
    for edit in edits {
        for source in edit.sources {
            let whole = format!("{source}/resume.json");
            let is_meant = |name: &str| name == *source || name == whole;
            let recording = recordings.iter().find(|recording| is_meant(&recording.name));
            let recording = recording.with_context(|| format!("no recording is `{source}`"))?;
            cases.push(Case {
                recording: recording.clone(),
                words: Some(edit.words),
                only_client: None,
            });
        }
    }
    let damaged = recordings.iter().filter(|recording| recording.home.is_none());
    let of = |recording: &Recording, words| Case {
        recording: recording.clone(),
        words,
        only_client: None,
    };
    cases.extend(damaged.map(|recording| of(recording, Some(REPAIR))));
    cases.extend(recordings.iter().map(|recording| of(recording, None)));
    cases.retain(|case| case.name().contains(filter));
    Ok(cases)
}

/// Sessions of other people, as they are and after one edit of each kind.
pub(crate) fn outside_cases(folder: &Path, filter: &str) -> Vec<Case> {
    let recordings = recordings(folder);
    let words = OUTSIDE.iter().map(|words| Some(*words)).chain([None]);
    let mut cases: Vec<Case> = words
        .flat_map(|words| {
            recordings.iter().map(move |recording| Case {
                recording: recording.clone(),
                words,
                only_client: Some(OUTSIDE_CLIENT),
            })
        })
        .collect();
    cases.retain(|case| case.name().contains(filter));
    cases
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

    /// Where the client is started, with what the log says.
    pub(crate) fn cwd(&self, said: String) -> String {
        // Logs that were edited by hand are all of one directory, whatever they say;
        // others may have lost what they said.
        let is_known = self.recording.home.is_some() && said.starts_with('/');
        if is_known { said } else { "/home/dev/app".into() }
    }

    /// Whether the edit is there to bring everything back.
    pub(crate) fn is_repair(&self) -> bool {
        self.words.is_some_and(|words| words.first() == Some(&"repair"))
    }

    /// Makes a home with the session, and edits it with the given recto.
    pub(crate) fn prepare(&self, recto: &Path, workspace: &Path) -> anyhow::Result<Preparation> {
        let home = TempDir::with_prefix_in("home-", workspace)?;
        if let Some(recorded) = &self.recording.home {
            copy_tree(recorded, home.path())?;
        }
        let log = home.path().join(&self.recording.place);
        copy_tree(&self.recording.log, &log)?;
        let session = stem(&self.recording.place);
        let Some(words) = self.words else {
            return Ok(Preparation::Ready(Prepared { home, session, before: None }));
        };
        let before = Some(fs::read(&log)?);
        let data = TempDir::with_prefix_in("data-", workspace)?;
        Ok(match edit_in_steps(recto, home.path(), data.path(), &session, words)? {
            Said::Session(session) => Preparation::Ready(Prepared { home, session, before }),
            // What needs no repair must be whole as it is.
            Said::NothingToDo if self.is_repair() => {
                Preparation::Ready(Prepared { home, session, before })
            }
            Said::NothingToDo => Preparation::Skipped("there is nothing to do".into()),
            Said::CannotBeDone(why) => Preparation::Skipped(why),
        })
    }
}

fn stem(path: &Path) -> String {
    path.file_stem().map_or(String::new(), |stem| stem.to_string_lossy().into_owned())
}

/// What an edit says of itself.
#[derive(Debug, Eq, PartialEq)]
enum Said {
    /// The session that it made or changed.
    Session(String),
    NothingToDo,
    /// Why recto will not do it.
    CannotBeDone(String),
}

/// Runs the commands of an edit one after the other; the last one counts.
fn edit_in_steps(
    recto: &Path,
    home: &Path,
    data: &Path,
    session: &str,
    words: &[&str],
) -> anyhow::Result<Said> {
    let mut names =
        vec![("{session}".to_owned(), session.to_owned()), ("{data}".into(), text_of(data))];
    let mut said = Said::NothingToDo;
    for (step, words) in words.split(|word| *word == THEN).enumerate() {
        make_older(&home.join("projects"))?;
        let words: Vec<String> = words
            .iter()
            .map(|word| names.iter().fold((*word).to_owned(), |word, (a, b)| word.replace(a, b)))
            .collect();
        said = edit(recto, home, data, session, &words)?;
        match &said {
            Said::Session(made) => names.push((format!("{{{}}}", step + 1), made.clone())),
            Said::NothingToDo | Said::CannotBeDone(_) => break,
        }
    }
    Ok(said)
}

fn text_of(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Makes all logs as old as those that nobody writes to any more.
fn make_older(folder: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            make_older(&path)?;
        } else if path.extension() == Some(OsStr::new("jsonl")) {
            let log = fs::File::options().append(true).open(&path)?;
            log.set_modified(SystemTime::now() - AGE)?;
        }
    }
    Ok(())
}

/// Runs a command that edits, and reads what it says.
fn edit(
    recto: &Path,
    home: &Path,
    data: &Path,
    session: &str,
    words: &[String],
) -> anyhow::Result<Said> {
    let mut command = Command::new(recto);
    command.arg("--home").arg(home).arg("--json").args(words);
    // Nothing of this machine's own sessions is near.
    command.env_remove("CLAUDE_CONFIG_DIR").env("HOME", home).env("RECTO_DATA_DIR", data);
    command.env("RECTO_CACHE_DIR", data.join("cache"));
    let output = command.output().with_context(|| format!("cannot run {}", recto.display()))?;
    if output.status.success() {
        // These say nothing of a session that is there afterwards, or of one other.
        let silent = ["pack", "rm", "undo", "collect", "restore"];
        if words.first().is_some_and(|word| silent.contains(&word.as_str())) {
            return Ok(Said::Session(session.to_owned()));
        }
        let said = of_session(&output.stdout, session);
        return read_edited(&said.context("recto did not print one object")?, home);
    }
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let said: Value = serde_json::from_str(&stderr).unwrap_or_default();
    match said["kind"].as_str() {
        Some("nothing-to-do") => Ok(Said::NothingToDo),
        // What cannot be done with this session, or would harm it, is refused, as it should be.
        Some(
            "not-repairable" | "no-conversation" | "no-session" | "not-found" | "no-turn"
            | "nothing-left" | "not-current" | "would-lose",
        ) => Ok(Said::CannotBeDone(said["error"].as_str().unwrap_or_default().to_owned())),
        _ => bail!("recto failed: {stderr}"),
    }
}

/// The object about a session, or the only one.
fn of_session(stdout: &[u8], session: &str) -> Option<Value> {
    let objects = serde_json::Deserializer::from_slice(stdout).into_iter();
    let mut objects = objects.collect::<Result<Vec<Value>, _>>().ok()?;
    let at = objects.iter().position(|object| object["source"] == session);
    match (at, objects.len()) {
        (Some(at), _) => Some(objects.swap_remove(at)),
        (None, 1) => objects.pop(),
        (None, _) => None,
    }
}

/// What an edit says of itself: `result` with `id` and `path`, or `session` for
/// one that only has another title.
fn read_edited(said: &Value, home: &Path) -> anyhow::Result<Said> {
    if let Some(session) = said["session"].as_str() {
        return Ok(Said::Session(session.to_owned()));
    }
    if said["result"].is_null() && (said["operation"] == "repair" || said["reason"].is_string()) {
        return Ok(Said::NothingToDo);
    }
    let id = said["result"]["id"].as_str().context("the edit names no `result.id`")?;
    let path = said["result"]["path"].as_str().context("the edit names no `result.path`")?;
    let path = PathBuf::from(path);
    if path.file_stem() != Some(OsStr::new(id))
        || !fs::canonicalize(&path)?.starts_with(fs::canonicalize(home)?)
    {
        bail!("{} is not the log of {id} in the home that was edited", path.display());
    }
    Ok(Said::Session(id.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::edits::EDITS;
    use super::*;
    use crate::repository;

    const ID: &str = "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718";

    /// Stands in for recto: copies the session that it is told to.
    const COPIER: &str = r#"#!/bin/sh
# --home DIR --json WORD SESSION
id=3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718
if [ "$4" = nothing ]; then
    echo '{"error":"x","kind":"nothing-to-do","hints":[]}' >&2
    exit 2
fi
for log in "$2"/projects/*/"$5".jsonl; do cp "$log" "${log%/*}/$id.jsonl"; done
echo "{\"operation\":\"$4\",\"result\":{\"id\":\"$id\",\"path\":\"${log%/*}/$id.jsonl\"}}"
"#;

    fn corpus() -> PathBuf {
        repository::root().join("fixtures/corpus")
    }

    #[test]
    fn an_edited_session_is_found_by_what_the_edit_says() {
        use std::os::unix::fs::PermissionsExt as _;

        let tools = TempDir::new().unwrap();
        let recto = tools.path().join("recto");
        fs::write(&recto, COPIER).unwrap();
        fs::set_permissions(&recto, fs::Permissions::from_mode(0o755)).unwrap();
        let edits = [
            Edit { sources: &["2.1.29/S2"], words: &["copy", "{session}"] },
            Edit { sources: &["2.1.29/S2/resume.json"], words: &["nothing", "{session}"] },
        ];
        let cases = cases(&corpus(), &edits, " {session}: 2.1.29/S2/").unwrap();
        let names: Vec<String> = cases.iter().map(Case::name).collect();
        let expected =
            ["copy {session}: 2.1.29/S2/resume.json", "nothing {session}: 2.1.29/S2/resume.json"];
        assert_eq!(names, expected);
        let Preparation::Ready(prepared) = cases[0].prepare(&recto, tools.path()).unwrap() else {
            panic!("the copier has something to do");
        };
        assert_eq!(prepared.session, ID);
        let source = fs::read(&cases[0].recording.log).unwrap();
        assert_eq!(prepared.before.as_ref(), Some(&source));
        let log = super::super::resume::find_log(prepared.home.path(), ID).unwrap();
        assert_eq!(fs::read(log).unwrap(), source);
        let skipped = cases[1].prepare(&recto, tools.path()).unwrap();
        assert!(matches!(skipped, Preparation::Skipped(_)));
    }

    #[test]
    fn an_edit_that_names_no_log_in_the_home_is_an_error() {
        let home = TempDir::new().unwrap();
        let path = home.path().join(format!("{ID}.jsonl"));
        fs::write(&path, "").unwrap();
        let said = |result: Value| json!({"operation": "trim", "result": result});
        let good = said(json!({"id": ID, "path": path}));
        assert_eq!(read_edited(&good, home.path()).unwrap(), Said::Session(ID.into()));
        for bad in [
            json!({}),
            said(Value::Null),
            said(json!({"id": ID})),
            said(json!({"id": "other", "path": path})),
            said(json!({"id": ID, "path": home.path().join("nothing.jsonl")})),
        ] {
            assert!(read_edited(&bad, home.path()).is_err(), "{bad}");
        }
        let other = TempDir::new().unwrap();
        assert!(read_edited(&good, other.path()).is_err());
        let renamed = json!({"session": ID, "title": "x", "operation": 1});
        assert_eq!(read_edited(&renamed, home.path()).unwrap(), Said::Session(ID.into()));
        let whole = json!({"operation": "repair", "source": ID, "result": null, "fixes": []});
        assert_eq!(read_edited(&whole, home.path()).unwrap(), Said::NothingToDo);
        let nothing = json!({"operation": "trim", "result": null, "reason": "nothing to change"});
        assert_eq!(read_edited(&nothing, home.path()).unwrap(), Said::NothingToDo);
    }

    #[test]
    fn every_kind_of_edit_meets_twenty_sessions_of_other_people() {
        let folder = repository::root().join("fixtures/outside/sessions");
        let sessions = recordings(&folder).len();
        assert!(sessions >= 20, "{sessions}");
        let cases = outside_cases(&folder, "");
        assert_eq!(cases.len(), sessions * (OUTSIDE.len() + 1));
        // Every command that edits is among them.
        let firsts: std::collections::BTreeSet<&str> =
            EDITS.iter().filter_map(|edit| edit.words.first().copied()).collect();
        for first in firsts {
            let is_there = |words: &&&[&str]| words.contains(&first);
            assert!(OUTSIDE.iter().any(|words| is_there(&words)), "{first}");
        }
    }

    #[test]
    fn every_edit_has_a_source_and_every_recording_is_a_case() {
        let recordings = recordings(&corpus());
        let damaged = recordings.iter().filter(|recording| recording.home.is_none()).count();
        assert!(damaged > 50 && recordings.len() > damaged + 100, "the corpus is not there");
        let edits: usize = EDITS.iter().map(|edit| edit.sources.len()).sum();
        let cases = cases(&corpus(), EDITS, "").unwrap();
        assert_eq!(cases.len(), edits + damaged + recordings.len());
    }
}
