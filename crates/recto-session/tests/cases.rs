//! The recorded resumes of a corpus.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use recto_log::Lines;
use recto_log::decode;
use recto_session::Session;

use recto_session::request::Place;
use recto_testkit::Recording;
use recto_testkit::recordings;
use serde_json::Value;

/// What a client did with a log.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) log: Vec<u8>,
    pub(crate) place: Place,
    pub(crate) expected: Value,
}

/// The folders to compare with: the fixtures, and what `RECTO_CORPUS` names.
pub(crate) fn corpora() -> Vec<PathBuf> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/corpus");
    let other = std::env::var_os("RECTO_CORPUS").map(PathBuf::from);
    [fixtures].into_iter().chain(other).collect()
}

/// All recorded resumes in a folder.
pub(crate) fn cases(corpus: &Path) -> Vec<Case> {
    recordings(corpus).into_iter().map(case).collect()
}

fn case(recording: Recording) -> Case {
    let project = recording.place.parent().map(file_name);
    let is_uuid =
        file_name(&recording.place).trim_end_matches(".jsonl").parse::<recto_log::SessionId>();
    let place = match project {
        _ if is_uuid.is_err() => Place::NotNamedByUuid,
        // Edited logs are those of one working directory.
        Some(project) if recording.home.is_some() || project == "-home-dev-app" => Place::Own,
        _ => Place::OtherProject,
    };
    Case {
        name: recording.name,
        version: recording.version,
        log: fs::read(recording.log).unwrap(),
        place,
        expected: recording.expected,
    }
}

/// Folds a log.
pub(crate) fn session(log: &[u8]) -> Session {
    let mut session = Session::new();
    for line in Lines::new(log) {
        session.push(&decode(line).0);
    }
    session
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

pub(crate) fn folders(folder: &Path) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|path| path.is_dir()).collect()
}
