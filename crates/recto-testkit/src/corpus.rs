//! The recorded resumes of a corpus: a folder in the shape of `fixtures/corpus`.
//!
//! Owns: where recordings are and what belongs to one. Does not own: what a
//! recorded answer means.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use serde_json::Value;

/// What a client did with a log.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Where it is in the corpus, such as `2.1.29/S2/resume.json`.
    pub name: String,
    /// The version of the client.
    pub version: String,
    /// The log.
    pub log: PathBuf,
    /// Where the log belongs in a home: `projects/<key>/<id>.jsonl`.
    pub place: PathBuf,
    /// The whole home that was recorded with the log, if it was.
    pub home: Option<PathBuf>,
    /// What the client did.
    pub expected: Value,
}

/// All recorded resumes in a corpus, sorted by name within their folders.
pub fn recordings(corpus: &Path) -> Vec<Recording> {
    let mut recordings = Vec::new();
    for version in folders(corpus) {
        let name = file_name(&version);
        if !name.starts_with(|first: char| first.is_ascii_digit()) {
            continue;
        }
        for scenario in folders(&version) {
            for file in files(&scenario, "json") {
                if file_name(&file).starts_with("resume") {
                    recordings.push(resume(&name, &scenario, &file));
                }
            }
        }
    }
    for version in folders(&corpus.join("edit")) {
        for file in files(&version, "json") {
            if file_name(&file).ends_with(".expect.json") {
                recordings.push(edit(&file_name(&version), &file));
            }
        }
    }
    recordings
}

#[expect(clippy::expect_used, reason = "a corpus that is not whole is a failed test")]
fn resume(version: &str, scenario: &Path, file: &Path) -> Recording {
    let expected = json(file);
    let log = format!("{}.jsonl", expected["of"].as_str().expect("`of` names a session"));
    let home = scenario.join("home/.claude");
    let mut places = folders(&home.join("projects")).into_iter().filter_map(|project| {
        let place = Path::new("projects").join(file_name(&project)).join(&log);
        home.join(&place).exists().then_some(place)
    });
    let place = places.next().expect("the log is in the recorded home");
    Recording {
        name: format!("{version}/{}/{}", file_name(scenario), file_name(file)),
        version: version.into(),
        log: home.join(&place),
        place,
        home: Some(home),
        expected,
    }
}

#[expect(clippy::expect_used, reason = "a corpus that is not whole is a failed test")]
fn edit(version: &str, file: &Path) -> Recording {
    let expected = json(file);
    let name = file_name(file).replace(".expect.json", "");
    let place = expected["file"].as_str().and_then(|place| place.strip_prefix(".claude/"));
    Recording {
        log: file.with_file_name(format!("{name}.jsonl")),
        name: format!("edit/{version}/{name}"),
        version: version.into(),
        place: place.expect("`file` is a place in a home").into(),
        home: None,
        expected,
    }
}

#[expect(clippy::expect_used, reason = "a corpus that is not whole is a failed test")]
fn json(file: &Path) -> Value {
    serde_json::from_slice(&fs::read(file).expect("a recorded file")).expect("JSON")
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

#[expect(clippy::expect_used, reason = "a corpus that is not whole is a failed test")]
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("an entry of a folder").path()).collect();
    paths.sort();
    paths
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    entries(folder).into_iter().filter(|path| path.is_dir()).collect()
}

fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let is = |path: &PathBuf| path.extension().is_some_and(|found| found == extension);
    entries(folder).into_iter().filter(is).collect()
}
