//! What clients did, kept, so that the same question is not asked twice.
//!
//! A session as it is recorded is the same question as long as its files are the
//! same. An edit makes new ids each time: its result is kept with the answer, and
//! counts as long as the program is the same that edits.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use anyhow::Context as _;
use serde_json::Value;
use serde_json::json;
use sha2::Digest as _;
use sha2::Sha256;
use tempfile::TempDir;

use super::cases::Case;
use super::cases::Prepared;
use super::client;
use super::resume::COPIED;
use super::resume::Outcome;
use super::resume::Resume;
use super::resume::find_log;
use super::resume::project_of;

/// What decides how a question is asked. An answer to another program's question
/// does not count.
const ASKING: [&str; 4] = [
    include_str!("api.rs"),
    include_str!("strict.rs"),
    include_str!("resume.rs"),
    include_str!("sandbox.sh"),
];

/// The place of the answer to a question about a session as it is.
pub(crate) fn place(what: &Resume<'_>) -> anyhow::Result<PathBuf> {
    let mut question = Question::new();
    for text in [what.version, what.session, what.cwd] {
        question.add(text.as_bytes());
    }
    question.add(&what.limit.as_secs().to_le_bytes());
    for (name, value) in &what.environment {
        question.add(name.as_bytes());
        question.add(value.as_bytes());
    }
    for name in COPIED {
        question.add_tree(&what.home.join(name))?;
    }
    Ok(question.place())
}

/// The place of the answer to a question about an edited session; none if it is
/// not edited.
pub(crate) fn place_of_edit(
    case: &Case,
    client: &str,
    recto: &Path,
) -> anyhow::Result<Option<PathBuf>> {
    let Some(words) = case.words else { return Ok(None) };
    let mut question = Question::new();
    question.add(b"edited");
    question.add(client.as_bytes());
    words.iter().for_each(|word| question.add(word.as_bytes()));
    let program = fs::metadata(recto).with_context(|| format!("no {}", recto.display()))?;
    let since = program.modified()?.duration_since(std::time::UNIX_EPOCH)?;
    question.add(&program.len().to_le_bytes());
    question.add(&since.as_nanos().to_le_bytes());
    question.add(case.recording.name.as_bytes());
    question.add(&fs::read(&case.recording.log)?);
    if let Some(home) = &case.recording.home {
        question.add_tree(home)?;
    }
    Ok(Some(question.place()))
}

struct Question(Sha256);

impl Question {
    fn new() -> Question {
        let mut question = Question(Sha256::new());
        ASKING.iter().for_each(|text| question.add(text.as_bytes()));
        question
    }

    fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes.len().to_le_bytes());
        self.0.update(bytes);
    }

    fn add_tree(&mut self, path: &Path) -> anyhow::Result<()> {
        if path.is_dir() {
            let entries = fs::read_dir(path)?.map(|entry| Ok(entry?.path()));
            let mut entries = entries.collect::<anyhow::Result<Vec<PathBuf>>>()?;
            entries.sort();
            for entry in entries {
                self.add(entry.file_name().unwrap_or_default().as_encoded_bytes());
                self.add_tree(&entry)?;
            }
        } else if path.is_file() {
            self.add(&fs::read(path)?);
        }
        Ok(())
    }

    fn place(self) -> PathBuf {
        let name: String = self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        client::cache().join("answers").join(format!("{name}.json"))
    }
}

/// The answer that was kept.
pub(crate) fn kept(place: &Path) -> Option<Outcome> {
    Outcome::of_json(&serde_json::from_slice(&fs::read(place).ok()?).ok()?)
}

/// The edited session that was kept, in a home of its own, and the answer.
pub(crate) fn kept_edit(
    place: &Path,
    case: &Case,
    workspace: &Path,
) -> anyhow::Result<Option<(Prepared, Outcome)>> {
    let Ok(bytes) = fs::read(place) else { return Ok(None) };
    let kept: Value = serde_json::from_slice(&bytes)?;
    let text = |name: &str| kept["edited"][name].as_str().unwrap_or_default();
    let home = TempDir::with_prefix_in("home-", workspace)?;
    let log = home.path().join("projects").join(text("project"));
    fs::create_dir_all(&log)?;
    let session = text("session").to_owned();
    // JSON has no bytes: each is a character.
    let content: Vec<u8> = text("log").chars().filter_map(|c| u8::try_from(c).ok()).collect();
    fs::write(log.join(format!("{session}.jsonl")), content)?;
    let outcome = Outcome::of_json(&kept).context("a kept answer is not whole")?;
    let before = Some(fs::read(&case.recording.log)?);
    Ok(Some((Prepared { home, session, before }, outcome)))
}

/// Keeps an answer. That a client did not answer in time may be chance, and is
/// not kept.
pub(crate) fn keep(place: &Path, outcome: &Outcome) -> anyhow::Result<()> {
    write(place, outcome, outcome.json())
}

/// Keeps an answer, and the edited log that it is about.
pub(crate) fn keep_edit(
    place: &Path,
    prepared: &Prepared,
    outcome: &Outcome,
) -> anyhow::Result<()> {
    let log = find_log(prepared.home.path(), &prepared.session)?;
    let content: String = fs::read(&log)?.iter().map(|byte| char::from(*byte)).collect();
    let mut json = outcome.json();
    json["edited"] =
        json!({"session": prepared.session, "project": project_of(&log), "log": content});
    write(place, outcome, json)
}

fn write(place: &Path, outcome: &Outcome, json: Value) -> anyhow::Result<()> {
    let Some(folder) = place.parent().filter(|_| outcome.rc.is_some()) else { return Ok(()) };
    fs::create_dir_all(folder)?;
    let mut half = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer(&mut half, &json)?;
    half.persist(place)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::cases::cases;
    use super::super::edits::EDITS;
    use super::*;
    use crate::repository;

    #[test]
    fn an_answer_is_kept_whole() {
        let folder = TempDir::new().unwrap();
        let place = folder.path().join("answers/1.json");
        let outcome = Outcome {
            rc: Some(1),
            stderr: "words".into(),
            messages: Some(json!([{"role": "user", "content": "NEXT"}])),
            refused: Some("why".into()),
            appended: vec!["{}".into()],
            prefix_kept: true,
        };
        keep(&place, &outcome).unwrap();
        assert_eq!(kept(&place).unwrap().json(), outcome.json());
        let late = folder.path().join("answers/2.json");
        keep(&late, &Outcome::default()).unwrap();
        assert!(kept(&late).is_none());
    }

    #[test]
    fn an_edited_log_is_kept_with_its_answer_byte_for_byte() {
        let folder = TempDir::new().unwrap();
        let corpus = repository::root().join("fixtures/corpus");
        let case = &cases(&corpus, EDITS, "clone {session}: ").unwrap()[0];
        let home = TempDir::new().unwrap();
        let project = home.path().join("projects/-a");
        fs::create_dir_all(&project).unwrap();
        fs::write(project.join("1.jsonl"), b"{\"a\":\"\xff\xc3\xa9\"}\n").unwrap();
        let prepared = Prepared { home, session: "1".into(), before: None };
        let place = folder.path().join("answers/1.json");
        assert!(kept_edit(&place, case, folder.path()).unwrap().is_none());
        let outcome = Outcome { rc: Some(0), ..Outcome::default() };
        keep_edit(&place, &prepared, &outcome).unwrap();
        let (known, answer) = kept_edit(&place, case, folder.path()).unwrap().unwrap();
        assert_eq!(answer.json(), outcome.json());
        let log = find_log(known.home.path(), &known.session).unwrap();
        assert_eq!(project_of(&log), "-a");
        assert_eq!(fs::read(log).unwrap(), fs::read(project.join("1.jsonl")).unwrap());
    }

    #[test]
    fn another_question_has_another_place() {
        let home = TempDir::new().unwrap();
        let log = home.path().join("projects/-a/1.jsonl");
        fs::create_dir_all(log.parent().unwrap()).unwrap();
        fs::write(&log, "{}\n").unwrap();
        let question = Resume {
            version: "2.1.29",
            home: home.path(),
            session: "1",
            cwd: "/a",
            limit: Duration::from_secs(1),
            environment: Vec::new(),
            workspace: home.path(),
        };
        let first = place(&question).unwrap();
        assert_eq!(place(&question).unwrap(), first);
        assert_ne!(place(&Resume { version: "2.1.30", ..question.clone() }).unwrap(), first);
        let environment = vec![("A".to_owned(), "1".to_owned())];
        assert_ne!(place(&Resume { environment, ..question.clone() }).unwrap(), first);
        fs::write(&log, "{} \n").unwrap();
        assert_ne!(place(&question).unwrap(), first);
    }
}
