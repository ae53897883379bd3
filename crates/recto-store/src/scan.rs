//! Regular expressions straight over logs, without an index.
//!
//! A log is first looked at as bytes, which is as fast as reading it. Only one
//! that may have a match is read again line by line, and of its lines only those
//! are decoded that may have one, and those that say what others are about.

use std::path::Path;

use memchr::memmem;
use recto_log::LineReader;
use recto_log::decode;
use recto_session::search::Document;
use recto_session::search::Expression;
use recto_session::search::Extractor;
use recto_session::search::Seen;

use crate::StoreError;
use crate::logs::in_pieces;
use crate::open_file;

/// Gives the texts of a log that an expression matches, in the order of its lines;
/// prompts that were never sent come last. `buffer` is used again.
pub fn scan(
    path: &Path,
    expression: &Expression,
    buffer: &mut Vec<u8>,
    see: &mut dyn FnMut(&Document<'_>),
) -> Result<(), StoreError> {
    if let Some(filter) = expression.filter() {
        let mut seen = Seen::default();
        if !in_pieces(path, filter.overlap(), |piece| filter.may_match(piece, &mut seen))? {
            return Ok(());
        }
    }
    let mut see_match = |document: &Document<'_>| {
        let mut is_match = false;
        document.texts(&mut |text| {
            is_match = expression.regex().is_match(text);
            !is_match
        });
        if is_match {
            see(document);
        }
    };
    let context = Context::default();
    let mut extractor = Extractor::default();
    let mut lines = LineReader::with_buffer(open_file(path)?, std::mem::take(buffer));
    while let Some(line) = lines.next_line()? {
        let may_match = expression
            .filter()
            .is_none_or(|filter| filter.may_match(line.bytes, &mut Seen::default()));
        if !may_match && !context.is_in(line.bytes) {
            continue;
        }
        let number = line.number;
        extractor.next(&decode(line).0, &mut |document| {
            // A prompt may come out of the queue with a line that is not its own.
            if may_match || document.line != number {
                see_match(document);
            }
        });
    }
    extractor.rest(&mut see_match);
    *buffer = lines.into_buffer();
    Ok(())
}

/// Finds lines that say what others are about: calls of tools, whose results follow;
/// prompts that wait; titles, which are told again and again.
struct Context([memmem::Finder<'static>; 4]);

impl Default for Context {
    fn default() -> Context {
        let words = ["tool_use\"", "queue", "-title\"", "\"summary\""];
        Context(words.map(memmem::Finder::new))
    }
}

impl Context {
    fn is_in(&self, line: &[u8]) -> bool {
        self.0.iter().any(|word| word.find(line).is_some())
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use fs_err as fs;
    use recto_session::search::ExpressionOptions;
    use recto_testkit::generate::Options;
    use recto_testkit::generate::Shape;
    use recto_testkit::generate::generate;

    use super::*;

    /// What tells two texts apart.
    type Found = (u64, &'static str, Option<String>, String);

    fn found(document: &Document<'_>) -> Found {
        let tool = document.tool.map(str::to_owned);
        (document.line, document.role.name(), tool, document.text())
    }

    fn scanned(path: &Path, expression: &Expression) -> Vec<Found> {
        let mut all = Vec::new();
        scan(path, expression, &mut Vec::new(), &mut |document| all.push(found(document))).unwrap();
        all
    }

    /// The same without looking at raw bytes.
    fn decoded(path: &Path, expression: &Expression) -> Vec<Found> {
        let mut all = Vec::new();
        let mut see = |document: &Document<'_>| {
            let mut is_match = false;
            document.texts(&mut |text| {
                is_match |= expression.regex().is_match(text);
                true
            });
            if is_match {
                all.push(found(document));
            }
        };
        let mut extractor = Extractor::default();
        let mut lines = LineReader::new(open_file(path).unwrap());
        while let Some(line) = lines.next_line().unwrap() {
            extractor.next(&decode(line).0, &mut see);
        }
        extractor.rest(&mut see);
        all
    }

    fn logs_below(directory: &Path) -> Vec<PathBuf> {
        let mut waiting = vec![directory.to_owned()];
        let mut logs = Vec::new();
        while let Some(path) = waiting.pop() {
            if path.is_dir() {
                waiting.extend(fs::read_dir(&path).unwrap().map(|item| item.unwrap().path()));
            } else if path.extension().is_some_and(|extension| extension == "jsonl") {
                logs.push(path);
            }
        }
        logs
    }

    #[test]
    fn raw_bytes_lose_nothing_that_decoding_finds() {
        let patterns = [
            "the",
            "(?i)ERROR",
            r"src/\w+",
            r"/[a-z]+ \w+",
            "^[A-Z]",
            r"\d{4}",
            "No such file",
            "é|ü|—|…",
            "(?i)hello|read|write",
            r#""\w+""#,
            "!ls",
        ];
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/corpus");
        let logs = logs_below(&fixtures);
        assert!(logs.len() > 100);
        let mut matches = 0;
        for pattern in patterns {
            let expression = Expression::new(pattern, ExpressionOptions::default()).unwrap();
            for log in &logs {
                let expected = decoded(log, &expression);
                matches += expected.len();
                assert_eq!(scanned(log, &expression), expected, "{pattern} in {}", log.display());
            }
        }
        assert!(matches > 1000);
    }

    #[test]
    fn every_needle_is_found_where_it_is() {
        for shape in [Shape::Old, Shape::New] {
            let directory = tempfile::tempdir().unwrap();
            let options = Options { megabytes: 8, seed: 5, shape };
            let truth = generate(&options, directory.path(), &mut |_| {}).unwrap();
            let home = directory.path().join(".claude");
            let logs = logs_below(&home.join("projects"));
            for needle in &truth.needles {
                let options = ExpressionOptions { is_literal: true, ..Default::default() };
                let expression = Expression::new(&needle.text, options).unwrap();
                let mut found: Vec<(PathBuf, u64)> = Vec::new();
                for log in &logs {
                    let lines = scanned(log, &expression).into_iter().map(|found| found.0);
                    found.extend(lines.map(|line| (log.clone(), line)));
                }
                found.sort();
                let hits =
                    needle.hits.iter().map(|hit| (home.join("projects").join(&hit.path), hit.line));
                let mut expected: Vec<(PathBuf, u64)> = hits.collect();
                expected.sort();
                assert_eq!(found, expected, "{}", needle.name);
                assert!(!expected.is_empty(), "{}", needle.name);
            }
        }
    }
}
