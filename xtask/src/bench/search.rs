//! What searching costs: the index, twenty queries, expressions, and what `usage`, `stats`
//! and `ls` take with an index.
//!
//! The index of the bench is in a folder of its own, so that commands that are
//! measured without one find none.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use super::built;
use super::homes;
use super::measure::Case;
use super::measure::Group;
use super::others::Package;
use super::others::Registry;
use super::others::install;
use crate::repository::say;

/// A search over one home, and the folders that are filled by it.
pub(super) struct Search {
    pub(super) group: Group,
    index: PathBuf,
    other_index: PathBuf,
    /// A log that grows while it is measured.
    growing: PathBuf,
    bytes: u64,
}

const AGENTSVIEW: Package =
    Package { registry: Registry::PyPi, name: "agentsview", version: "0.46.1" };

/// Queries of different kinds.
const QUERIES: [&str; 20] = [
    "stegosaurus",
    "pelican_digest_mismatch_9043",
    "\"cormorant ladder symposium\"",
    "granite umbrella treaty",
    "tangerine gearbox theorem role:thinking",
    "縫い針",
    "error",
    "спрятанная",
    "error -test",
    "antepen*",
    "cinnamon iceberg",
    "tool:Read",
    "tool:Bash error",
    "is:error",
    "role:user stegosaurus",
    "otter OR pelican",
    "(otter OR umbrella) role:assistant",
    "error after:2020-01-01 before:2030-01-01",
    "project:app error",
    "theorem model:claude",
];

/// What is looked for by expressions.
const LITERAL: &str = "granite umbrella treaty";
const PATTERN: &str = r"pelican_\w+_[0-9]{4}";

impl Search {
    /// Prepares a search. What was left of an earlier one is removed.
    pub(super) fn prepare(title: String, home: &Path, folder: &Path) -> io::Result<Search> {
        let name = home.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        let index = folder.join(format!("index-of-{name}"));
        let other_index = folder.join(format!("agentsview-of-{name}"));
        for place in [&index, &other_index] {
            if place.exists() {
                fs::remove_dir_all(place)?;
            }
            fs::create_dir_all(place)?;
        }
        let project = home.join("projects/-home-dev-growing");
        fs::create_dir_all(&project)?;
        let growing = project.join("67126e67-0000-4000-8000-000000000000.jsonl");
        fs::write(&growing, line("begins"))?;
        let bytes = homes::log_bytes(&home.join("projects"));
        let mut search =
            Search { group: Group::new(title, home), index, other_index, growing, bytes };
        search.add_cases(home, folder);
        Ok(search)
    }

    fn add_cases(&mut self, home: &Path, folder: &Path) {
        let rebuild = self.recto("recto index rebuild", &["index", "rebuild"]);
        self.group.cases.push(rebuild.over_bytes(self.bytes).only_once());
        match install(folder, AGENTSVIEW, "agentsview") {
            Ok(program) => {
                let mut words: Vec<OsString> = vec!["env".into()];
                let folders = [
                    ("CLAUDE_PROJECTS_DIR", home.join("projects")),
                    ("AGENTSVIEW_DATA_DIR", self.other_index.clone()),
                ];
                words.extend(folders.map(|(name, path)| setting(name, &path)));
                words.extend(["AGENTSVIEW_NO_DAEMON=1".into(), program.into(), "sync".into()]);
                let case = Case::new("agentsview 0.46.1 sync", words);
                self.group.cases.push(case.over_bytes(self.bytes).only_once());
            }
            Err(reason) => say(&format!("agentsview: {reason}")),
        }
        for query in QUERIES {
            let case = self.recto(&format!("recto find {}", quoted(query)), &["find", query]);
            self.group.cases.push(case);
        }
        self.group.cases.push(self.after_an_append());
        for (label, words) in [
            ("recto usage --by month, with an index", &["usage", "--by", "month"][..]),
            ("recto stats, with an index", &["stats"]),
            ("recto ls, with an index", &["ls"]),
        ] {
            self.group.cases.push(self.recto(label, words));
        }
        let projects = home.join("projects").into_os_string();
        for (name, option, wanted) in [("-F", Some("-F"), LITERAL), ("", None, PATTERN)] {
            let label = |program: &str| {
                [program, name, &quoted(wanted)]
                    .iter()
                    .filter(|word| !word.is_empty())
                    .copied()
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            let mut raw: Vec<OsString> = vec!["rg".into(), "--no-ignore".into(), "-c".into()];
            raw.extend(option.map(OsString::from));
            raw.extend([wanted.into(), projects.clone()]);
            self.group.cases.push(Case::new(label("rg -c"), raw).over_bytes(self.bytes));
            let words: Vec<&str> = ["grep"].into_iter().chain(option).chain([wanted]).collect();
            let grep = self.recto(&label("recto grep"), &words);
            self.group.cases.push(grep.over_bytes(self.bytes));
        }
    }

    /// A command of recto with the index of this search.
    fn recto(&self, label: &str, words: &[&str]) -> Case {
        let mut all =
            vec!["env".into(), setting("RECTO_CACHE_DIR", &self.index), built("recto").into()];
        all.extend(words.iter().map(OsString::from));
        all.extend([OsString::from("--home"), self.group.home.clone().into()]);
        Case::new(label, all).may_answer_one()
    }

    /// A search after a log has grown by a line.
    fn after_an_append(&self) -> Case {
        let script =
            "printf '%s' \"$1\" >> \"$2\" && exec env \"$3\" \"$0\" find armadillo --home \"$4\"";
        let mut all: Vec<OsString> = vec!["sh".into(), "-c".into(), script.into()];
        all.extend([built("recto").into(), line("goes on").into(), self.growing.clone().into()]);
        all.extend([setting("RECTO_CACHE_DIR", &self.index), self.group.home.clone().into()]);
        Case::new("recto find, after one line was appended", all)
    }

    /// Says what the table does not, and puts the home back as it was.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        let mut walls: Vec<Duration> = self
            .group
            .cases
            .iter()
            .filter(|case| case.label.starts_with("recto find "))
            .filter_map(|case| Some(case.median()?.wall))
            .collect();
        walls.sort_unstable();
        if let Some(median) = walls.get(walls.len() / 2) {
            let slowest = walls.last().unwrap_or(median);
            self.group.remarks.push(format!(
                "`find`: {} ms in the middle of {} queries, {} ms at most.",
                median.as_millis(),
                walls.len(),
                slowest.as_millis()
            ));
        }
        for (name, place) in [("recto", &self.index), ("agentsview", &self.other_index)] {
            let size = size_of(place)?;
            let share = size as f64 / self.bytes as f64;
            let megabytes = size / 1_000_000;
            self.group
                .remarks
                .push(format!("The index of {name}: {megabytes} MB, {share:.2} × the logs."));
        }
        if let Some(project) = self.growing.parent() {
            fs::remove_dir_all(project)?;
        }
        Ok(())
    }
}

fn setting(name: &str, value: &Path) -> OsString {
    let mut setting = OsString::from(name);
    setting.push("=");
    setting.push(value);
    setting
}

fn quoted(text: &str) -> String {
    if text.contains([' ', '"', '(', '*', '\\']) { format!("'{text}'") } else { text.to_owned() }
}

/// A prompt, as a line of a log.
fn line(text: &str) -> String {
    let prompt = serde_json::json!({
        "parentUuid": null, "isSidechain": false, "cwd": "/home/dev/growing",
        "sessionId": "67126e67-0000-4000-8000-000000000000", "version": "2.1.325", "type": "user",
        "message": {"role": "user", "content": format!("The armadillo {text}.")},
        "uuid": "67126e67-0000-4000-8000-000000000001", "timestamp": "2026-01-01T10:00:00.000Z",
    });
    format!("{prompt}\n")
}

/// The bytes of all files below a folder.
fn size_of(folder: &Path) -> io::Result<u64> {
    let mut size = 0;
    for item in fs::read_dir(folder)? {
        let item = item?;
        size += match item.file_type()?.is_dir() {
            true => size_of(&item.path())?,
            false => item.metadata()?.len(),
        };
    }
    Ok(size)
}
