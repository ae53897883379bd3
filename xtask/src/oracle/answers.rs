//! What clients did, kept, so that the same question is not asked twice.
//!
//! Only sessions as they are recorded are asked about again and again: an edit
//! makes new ids each time.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use sha2::Digest as _;
use sha2::Sha256;

use super::client;
use super::resume::COPIED;
use super::resume::Outcome;
use super::resume::Resume;

/// What decides how a question is asked. An answer to another program's question
/// does not count.
const ASKING: [&str; 4] = [
    include_str!("api.rs"),
    include_str!("strict.rs"),
    include_str!("resume.rs"),
    include_str!("sandbox.sh"),
];

/// The place of the answer to a question.
pub(crate) fn place(what: &Resume<'_>) -> anyhow::Result<PathBuf> {
    let mut hash = Sha256::new();
    let mut add = |bytes: &[u8]| {
        hash.update(bytes.len().to_le_bytes());
        hash.update(bytes);
    };
    ASKING.iter().for_each(|text| add(text.as_bytes()));
    for text in [what.version, what.session, what.cwd] {
        add(text.as_bytes());
    }
    add(&what.limit.as_secs().to_le_bytes());
    for (name, value) in &what.environment {
        add(name.as_bytes());
        add(value.as_bytes());
    }
    for name in COPIED {
        add_tree(&what.home.join(name), &mut add)?;
    }
    let name: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(client::cache().join("answers").join(format!("{name}.json")))
}

fn add_tree(path: &Path, add: &mut impl FnMut(&[u8])) -> anyhow::Result<()> {
    if path.is_dir() {
        let mut entries: Vec<PathBuf> =
            fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<_>>()?;
        entries.sort();
        for entry in entries {
            add(entry.file_name().unwrap_or_default().as_encoded_bytes());
            add_tree(&entry, add)?;
        }
    } else if path.is_file() {
        add(&fs::read(path)?);
    }
    Ok(())
}

/// The answer that was kept.
pub(crate) fn kept(place: &Path) -> Option<Outcome> {
    Outcome::of_json(&serde_json::from_slice(&fs::read(place).ok()?).ok()?)
}

/// Keeps an answer. That a client did not answer in time may be chance, and is
/// not kept.
pub(crate) fn keep(place: &Path, outcome: &Outcome) -> anyhow::Result<()> {
    let Some(folder) = place.parent().filter(|_| outcome.rc.is_some()) else { return Ok(()) };
    fs::create_dir_all(folder)?;
    let mut half = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer(&mut half, &outcome.json())?;
    half.persist(place)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;
    use tempfile::TempDir;

    use super::*;

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
