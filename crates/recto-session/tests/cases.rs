//! The recorded resumes of a corpus.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use recto_log::Lines;
use recto_log::decode;
use recto_session::Session;
use recto_session::Span;
use recto_session::request::Place;
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
    let mut cases = Vec::new();
    for version in folders(corpus) {
        let name = file_name(&version);
        if !name.starts_with(|first: char| first.is_ascii_digit()) {
            continue;
        }
        for scenario in folders(&version) {
            for file in files(&scenario, "json") {
                if file_name(&file).starts_with("resume") {
                    cases.push(resume(&name, &scenario, &file));
                }
            }
        }
    }
    for version in folders(&corpus.join("edit")) {
        for file in files(&version, "json") {
            if file_name(&file).ends_with(".expect.json") {
                cases.push(edit(&file_name(&version), &file));
            }
        }
    }
    cases
}

fn resume(version: &str, scenario: &Path, file: &Path) -> Case {
    let expected: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let log = format!("{}.jsonl", expected["of"].as_str().unwrap());
    let mut logs = folders(&scenario.join("home/.claude/projects"))
        .into_iter()
        .map(|project| project.join(&log))
        .filter(|path| path.exists());
    Case {
        name: format!("{version}/{}/{}", file_name(scenario), file_name(file)),
        version: version.into(),
        log: fs::read(logs.next().unwrap()).unwrap(),
        place: Place::Own,
        expected,
    }
}

fn edit(version: &str, file: &Path) -> Case {
    let expected: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let name = file_name(file).replace(".expect.json", "");
    let place = Path::new(expected["file"].as_str().unwrap()).to_owned();
    let is_uuid = file_name(&place).trim_end_matches(".jsonl").parse::<recto_log::SessionId>();
    let place = match place.parent().map(file_name) {
        _ if is_uuid.is_err() => Place::NotNamedByUuid,
        Some(project) if project == "-home-dev-app" => Place::Own,
        _ => Place::OtherProject,
    };
    Case {
        log: fs::read(file.with_file_name(format!("{name}.jsonl"))).unwrap(),
        name: format!("edit/{version}/{name}"),
        version: version.into(),
        place,
        expected,
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

/// Gives the lines of a log.
pub(crate) fn fetch(log: &[u8]) -> impl FnMut(Span) -> Option<Vec<u8>> {
    |span| {
        let start = usize::try_from(span.offset).ok()?;
        Some(log.get(start..start + usize::try_from(span.length).ok()?)?.to_vec())
    }
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

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let is = |path: &PathBuf| path.extension().is_some_and(|found| found == extension);
    entries(folder).into_iter().filter(is).collect()
}
