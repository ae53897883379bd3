//! What clients did, kept, so that the same question is not asked twice.
//!
//! A session as it is recorded is the same question as long as its files are the
//! same. An edit makes new ids each time: its result is the same question as long as
//! nothing but those ids differs. The log that was asked about is kept with the answer.

use std::collections::HashMap;
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
const ASKING: [&str; 13] = [
    include_str!("../../../crates/recto-agent/src/mock/answer.rs"),
    include_str!("../../../crates/recto-agent/src/mock/response.rs"),
    include_str!("../../../crates/recto-agent/src/mock/speak.rs"),
    include_str!("../../../crates/recto-agent/src/mock/strict/mod.rs"),
    include_str!("../../../crates/recto-agent/src/mock/strict/blocks.rs"),
    include_str!("../../../crates/recto-agent/src/mock/strict/body.rs"),
    include_str!("../../../crates/recto-agent/src/mock/strict/caching.rs"),
    include_str!("../../../crates/recto-agent/src/mock/strict/headers.rs"),
    include_str!("../../../crates/recto-agent/src/mock/strict/pairing.rs"),
    include_str!("../../../crates/recto-agent/src/mock/strict/schema.rs"),
    include_str!("../../../crates/recto-agent/src/mock/strict/thinking.rs"),
    include_str!("resume.rs"),
    include_str!("sandbox.sh"),
];

/// The place of the answer to a question. Of an edited session, ids that are spelled
/// otherwise make no other question.
pub(crate) fn place(what: &Resume<'_>, case: &Case) -> anyhow::Result<PathBuf> {
    let mut question = Question::new();
    question.add(what.version.as_bytes());
    question.add(&what.limit.as_secs().to_le_bytes());
    for (name, value) in &what.environment {
        question.add(name.as_bytes());
        question.add(value.as_bytes());
    }
    match case.words {
        None => {
            for text in [what.session, what.cwd] {
                question.add(text.as_bytes());
            }
            for name in COPIED {
                question.add_tree(&what.home.join(name), None)?;
            }
        }
        Some(words) => {
            question.add(b"edited");
            words.iter().for_each(|word| question.add(word.as_bytes()));
            question.add(case.recording.name.as_bytes());
            let mut ids = Ids::default();
            for text in [what.session, what.cwd] {
                question.add(&ids.numbered(text.as_bytes()));
            }
            for name in COPIED {
                question.add_tree(&what.home.join(name), Some(&mut ids))?;
            }
        }
    }
    Ok(question.place())
}

/// Numbers for ids, in the order in which they are met.
#[derive(Default)]
struct Ids(HashMap<Vec<u8>, usize>);

impl Ids {
    /// Bytes with a number for each uuid.
    fn numbered(&mut self, bytes: &[u8]) -> Vec<u8> {
        with_uuids(bytes, |id| {
            let next = self.0.len();
            format!("<{}>", self.0.entry(id.to_vec()).or_insert(next))
        })
    }

    /// A name with a number for each uuid that was met.
    fn known(&self, name: &[u8]) -> Vec<u8> {
        with_uuids(name, |id| self.0.get(id).map_or("<?>".into(), |number| format!("<{number}>")))
    }
}

/// Bytes in which uuids are spelled otherwise.
fn with_uuids(bytes: &[u8], mut spelled: impl FnMut(&[u8]) -> String) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match bytes.get(at..at + UUID_LENGTH).filter(|id| is_uuid(id)) {
            Some(id) => {
                text.extend_from_slice(spelled(id).as_bytes());
                at += UUID_LENGTH;
            }
            None => {
                text.push(bytes[at]);
                at += 1;
            }
        }
    }
    text
}

const UUID_LENGTH: usize = 36;

fn is_uuid(bytes: &[u8]) -> bool {
    bytes.iter().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
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

    /// Adds all files of a tree; with numbers for their ids, if there are any.
    fn add_tree(&mut self, path: &Path, mut ids: Option<&mut Ids>) -> anyhow::Result<()> {
        if path.is_dir() {
            let entries = fs::read_dir(path)?.map(|entry| Ok(entry?.path()));
            let mut entries = entries.collect::<anyhow::Result<Vec<PathBuf>>>()?;
            let nobody = Ids::default();
            let known = ids.as_deref().unwrap_or(&nobody);
            // Names that are made up have another order each time.
            entries.sort_by_cached_key(|path| {
                let name = path.file_name().unwrap_or_default().as_encoded_bytes();
                let length = fs::metadata(path).map_or(0, |file| file.len());
                (Ids::default().numbered(name), length, known.known(name), name.to_vec())
            });
            for entry in entries {
                let name = entry.file_name().unwrap_or_default().as_encoded_bytes();
                self.add_spelled(name, ids.as_deref_mut());
                self.add_tree(&entry, ids.as_deref_mut())?;
            }
        } else if path.is_file() {
            self.add_spelled(&fs::read(path)?, ids);
        }
        Ok(())
    }

    fn add_spelled(&mut self, bytes: &[u8], ids: Option<&mut Ids>) {
        match ids {
            Some(ids) => self.add(&ids.numbered(bytes)),
            None => self.add(bytes),
        }
    }

    fn place(self) -> PathBuf {
        let name: String = self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        client::cache().join("answers").join(format!("{name}.json"))
    }
}

/// The answer that was kept; with it, if the session was edited, the log that was
/// asked about, in a home of its own.
pub(crate) fn kept(
    place: &Path,
    case: &Case,
    workspace: &Path,
) -> anyhow::Result<Option<(Option<Prepared>, Outcome)>> {
    let Ok(bytes) = fs::read(place) else { return Ok(None) };
    let kept: Value = serde_json::from_slice(&bytes)?;
    let outcome = Outcome::of_json(&kept).context("a kept answer is not whole")?;
    if case.words.is_none() {
        return Ok(Some((None, outcome)));
    }
    let text = |name: &str| kept["edited"][name].as_str().unwrap_or_default();
    let home = TempDir::with_prefix_in("home-", workspace)?;
    let log = home.path().join("projects").join(text("project"));
    fs::create_dir_all(&log)?;
    let session = text("session").to_owned();
    // JSON has no bytes: each is a character.
    let content: Vec<u8> = text("log").chars().filter_map(|c| u8::try_from(c).ok()).collect();
    fs::write(log.join(format!("{session}.jsonl")), content)?;
    let before = Some(fs::read(&case.recording.log)?);
    Ok(Some((Some(Prepared { home, session, before }), outcome)))
}

/// Keeps an answer, and the log that it is about if that was edited. That a client
/// did not answer in time may be chance, and is not kept.
pub(crate) fn keep(place: &Path, prepared: &Prepared, outcome: &Outcome) -> anyhow::Result<()> {
    let Some(folder) = place.parent().filter(|_| outcome.rc.is_some()) else { return Ok(()) };
    let mut json = outcome.json();
    if prepared.before.is_some() {
        let log = find_log(prepared.home.path(), &prepared.session)?;
        let content: String = fs::read(&log)?.iter().map(|byte| char::from(*byte)).collect();
        json["edited"] =
            json!({"session": prepared.session, "project": project_of(&log), "log": content});
    }
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
    use super::super::edits::Edit;
    use super::*;
    use crate::repository;

    fn case(edits: &[Edit], name: &str) -> Case {
        let corpus = repository::root().join("fixtures/corpus");
        cases(&corpus, edits, name).unwrap().remove(0)
    }

    #[test]
    fn an_answer_is_kept_whole() {
        let folder = TempDir::new().unwrap();
        let case = case(&[], "2.1.29/S2/");
        let place = folder.path().join("answers/1.json");
        let outcome = Outcome {
            rc: Some(1),
            stderr: "words".into(),
            messages: Some(json!([{"role": "user", "content": "NEXT"}])),
            refused: Some("why".into()),
            appended: vec!["{}".into()],
            prefix_kept: true,
        };
        let prepared =
            Prepared { home: TempDir::new().unwrap(), session: "1".into(), before: None };
        keep(&place, &prepared, &outcome).unwrap();
        let (log, answer) = kept(&place, &case, folder.path()).unwrap().unwrap();
        assert_eq!(answer.json(), outcome.json());
        assert!(log.is_none());
        let late = folder.path().join("answers/2.json");
        keep(&late, &prepared, &Outcome::default()).unwrap();
        assert!(kept(&late, &case, folder.path()).unwrap().is_none());
    }

    #[test]
    fn an_edited_log_is_kept_with_its_answer_byte_for_byte() {
        let folder = TempDir::new().unwrap();
        let case = case(EDITS, "clone {session}: ");
        let home = TempDir::new().unwrap();
        let project = home.path().join("projects/-a");
        fs::create_dir_all(&project).unwrap();
        fs::write(project.join("1.jsonl"), b"{\"a\":\"\xff\xc3\xa9\"}\n").unwrap();
        let prepared = Prepared { home, session: "1".into(), before: Some(Vec::new()) };
        let place = folder.path().join("answers/1.json");
        assert!(kept(&place, &case, folder.path()).unwrap().is_none());
        let outcome = Outcome { rc: Some(0), ..Outcome::default() };
        keep(&place, &prepared, &outcome).unwrap();
        let (known, answer) = kept(&place, &case, folder.path()).unwrap().unwrap();
        assert_eq!(answer.json(), outcome.json());
        let known = known.unwrap();
        let log = find_log(known.home.path(), &known.session).unwrap();
        assert_eq!(project_of(&log), "-a");
        assert_eq!(fs::read(log).unwrap(), fs::read(project.join("1.jsonl")).unwrap());
    }

    fn question<'a>(home: &'a Path, session: &'a str) -> Resume<'a> {
        Resume {
            version: "2.1.29",
            home,
            session,
            cwd: "/a",
            limit: Duration::from_secs(1),
            environment: Vec::new(),
            workspace: home,
        }
    }

    fn home_with(logs: &[(&str, &str)]) -> TempDir {
        let home = TempDir::new().unwrap();
        fs::create_dir_all(home.path().join("projects/-a")).unwrap();
        for (name, content) in logs {
            fs::write(home.path().join(format!("projects/-a/{name}.jsonl")), content).unwrap();
        }
        home
    }

    #[test]
    fn another_question_has_another_place() {
        let case = &case(&[], "2.1.29/S2/");
        let home = home_with(&[("1", "{}\n")]);
        let question = question(home.path(), "1");
        let first = place(&question, case).unwrap();
        assert_eq!(place(&question, case).unwrap(), first);
        assert_ne!(place(&Resume { version: "2.1.30", ..question.clone() }, case).unwrap(), first);
        let environment = vec![("A".to_owned(), "1".to_owned())];
        assert_ne!(place(&Resume { environment, ..question.clone() }, case).unwrap(), first);
        fs::write(home.path().join("projects/-a/1.jsonl"), "{} \n").unwrap();
        assert_ne!(place(&question, case).unwrap(), first);
    }

    #[test]
    fn an_edit_that_makes_up_other_ids_is_the_same_question() {
        const OLD: &str = "50000000-0000-4000-8000-000000000000";
        const IDS: [&str; 4] = [
            "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718",
            "a0000000-9d8e-4f70-a1b2-c3d4e5f60718",
            "00000000-9d8e-4f70-a1b2-c3d4e5f60718",
            "b0000000-9d8e-4f70-a1b2-c3d4e5f60718",
        ];
        let plain = &case(&[], "2.1.29/S2/");
        let case = &case(EDITS, "clone {session}: ");
        let place_with = |session: &str, first: &str, second: &str, parent: &str| {
            let log = format!(r#"{{"uuid":"{first}"}}{{"uuid":"{second}","is":"{parent}"}}"#);
            // The names tell nothing of the order, nor do the lengths.
            let old = " ".repeat(log.len());
            let home = home_with(&[(OLD, &old), (session, &log)]);
            place(&question(home.path(), session), case).unwrap()
        };
        let [a, b, c, d] = IDS;
        let one = place_with(a, b, d, b);
        assert_eq!(place_with(c, a, b, a), one);
        assert_eq!(place_with(d, a, b, a), one);
        assert_ne!(place_with(c, a, b, b), one, "the second hangs on itself");
        assert_ne!(place_with(c, a, b, "none"), one);
        let home = home_with(&[(a, "{}")]);
        let other = home_with(&[(b, "{}")]);
        let as_it_is =
            |home: &TempDir, session| place(&question(home.path(), session), plain).unwrap();
        assert_ne!(as_it_is(&home, a), as_it_is(&other, b));
    }
}
