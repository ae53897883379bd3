//! The documents show what the program really prints.
//!
//! A block of kind `console` holds commands (`$ recto …`) and their output. They
//! are run on the home of `recto demo`, at a fixed time, in a directory with a
//! damaged log, `damaged.jsonl`. `RECTO_BLESS=1` writes the outputs again.

use std::fs;
use std::path::Path;
use std::path::PathBuf;

use recto_testkit::SnapshotFilter;

use crate::support::TestHome;
use crate::support::hours_ago;
use crate::support::repository;

/// The sample of `recto demo`: its file, its place in the home, its age in hours.
const SAMPLE: [(&str, &str, i64); 3] = [
    ("tide-fix", "-home-dev-tide/5c1e8a70-2b64-4f19-9d0c-6a7be3f0c214", 2),
    ("tide-readme", "-home-dev-tide/b7d94e12-7f3a-4c58-8e21-0f9d2c6a5b43", 19),
    ("harbour", "-home-dev-harbour-map/0e63f9ab-51c7-4d02-b8f4-93ad17c2e680", 26 * 24),
];

/// The documents, by their path in the repository.
fn documents() -> Vec<PathBuf> {
    let root = repository();
    let mut found: Vec<PathBuf> = Vec::new();
    let mut waiting = vec![root.join("docs")];
    let top = fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path());
    found.extend(top.filter(|path| is_markdown(path)));
    let crates = fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path());
    found.extend(crates.map(|path| path.join("README.md")).filter(|path| path.exists()));
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                waiting.push(path);
            } else if is_markdown(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

/// A user's directory with the sample as its `.claude`.
struct Sample {
    test: TestHome,
}

impl Sample {
    fn new() -> Sample {
        let test = TestHome::empty();
        for (file, place, hours) in SAMPLE {
            let log = repository().join("crates/recto/sample").join(format!("{file}.jsonl"));
            let path =
                test.home.write(&format!(".claude/projects/{place}.jsonl"), fs::read(log).unwrap());
            let file = fs::File::options().write(true).open(path).unwrap();
            file.set_modified(hours_ago(hours).into()).unwrap();
        }
        let damaged = repository().join("fixtures/corpus/edit/2.1.325/garbage_lines.jsonl");
        fs::copy(damaged, test.work.path().join("damaged.jsonl")).unwrap();
        Sample { test }
    }

    /// What a command prints, first on standard output, then on standard error.
    fn output(&self, line: &str) -> String {
        let words = words(line);
        assert_eq!(words.first().map(String::as_str), Some("recto"), "{line}");
        let arguments: Vec<&str> = words[1..].iter().map(String::as_str).collect();
        let mut command = self.test.command(&arguments);
        // People read the documents, and see what they would see on a terminal.
        command.env("RECTO_COLUMNS", "100");
        command.env("HOME", self.test.home.path());
        command.env("CLAUDE_CONFIG_DIR", self.test.home.path().join(".claude"));
        let output = command.output().unwrap();
        let filter = SnapshotFilter::default()
            .path(self.test.home.path(), "/home/dev")
            .path(self.test.work.path(), "/home/dev");
        let text = |bytes: &[u8]| filter.apply(&String::from_utf8_lossy(bytes));
        format!("{}{}", text(&output.stdout), text(&output.stderr))
    }
}

/// The words of a command, as a shell would take them.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            _ => words.last_mut().unwrap().push(c),
        }
    }
    words
}

/// The document with the outputs of its commands.
fn with_outputs(document: &str, sample: &Sample) -> (String, usize) {
    let mut text = String::new();
    let mut commands = 0;
    let mut in_block = false;
    for line in document.lines() {
        if line.starts_with("```") {
            in_block = line == "```console";
        } else if in_block {
            let Some(command) = line.strip_prefix("$ ") else { continue };
            commands += 1;
            text.push_str(&format!("{line}\n{}", sample.output(command)));
            continue;
        }
        text.push_str(line);
        text.push('\n');
    }
    (text, commands)
}

#[test]
fn outputs_in_documents_are_those_of_the_program() {
    let sample = Sample::new();
    let mut commands = 0;
    for path in documents() {
        let document = fs::read_to_string(&path).unwrap();
        let (expected, number) = with_outputs(&document, &sample);
        commands += number;
        if std::env::var_os("RECTO_BLESS").is_some() {
            fs::write(&path, &expected).unwrap();
            continue;
        }
        let line = document.lines().zip(expected.lines()).position(|(a, b)| a != b);
        assert!(
            document == expected,
            "{} shows another output than the program gives, from line {} on\n\
             hint: RECTO_BLESS=1 cargo test -p recto --test runner documents",
            path.display(),
            line.map_or(document.lines().count(), |line| line + 1)
        );
    }
    assert!(commands >= 10, "only {commands} commands were found");
}

#[test]
fn links_in_documents_lead_somewhere() {
    let mut links = 0;
    for path in documents() {
        let document = fs::read_to_string(&path).unwrap();
        for link in document.split("](").skip(1) {
            let link = link.split_once(')').map_or("", |(link, _)| link);
            if link.contains("://") {
                continue;
            }
            links += 1;
            let (file, place) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { path.with_file_name(file) };
            assert!(target.exists(), "{}: there is no {link}", path.display());
            if !place.is_empty() {
                let headings = fs::read_to_string(&target).unwrap();
                let found = headings.lines().filter(|line| line.starts_with('#')).any(|line| {
                    let heading = line.trim_start_matches('#').trim().to_lowercase();
                    heading.replace(' ', "-").replace(['`', ',', '.'], "") == place
                });
                assert!(found, "{}: there is no heading for {link}", path.display());
            }
        }
    }
    assert!(links >= 20, "only {links} links were found");
}
