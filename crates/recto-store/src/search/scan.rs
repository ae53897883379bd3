//! Regular expressions straight over logs, without an index.
//!
//! A log is first looked at as bytes, which is as fast as reading it. One that may
//! have a match is read again, and those of its lines are decoded that may have one.
//! Only a log that has one is decoded as a whole, so that tools, turns and times are
//! known.

use std::path::Path;

use memchr::memmem;
use recto_log::LineReader;
use recto_log::decode;
use recto_session::search::Document;
use recto_session::search::Expression;
use recto_session::search::Extractor;
use recto_session::search::Seen;

use crate::StoreError;
use crate::log::logs::in_pieces;
use crate::open_file;
use crate::search::overflow_matches::OverflowMatches;

/// A text of a log while it is scanned.
#[derive(Debug)]
pub(crate) struct Scanned<'a> {
    pub(crate) document: &'a Document<'a>,
    /// Which text of its line it is.
    pub(crate) part: u32,
    pub(crate) is_match: bool,
    /// The file with the whole text, if only that matches.
    pub(crate) overflow: Option<&'a Path>,
}

/// Gives the texts of a log in which an expression matches, and those between them,
/// in the order of its lines; prompts that were never sent come last. A log without
/// a match has no texts. `overflow` are the files of its session in which there is a
/// match. `buffer` is used again.
pub(crate) fn scan(
    path: &Path,
    expression: &Expression,
    overflow: &OverflowMatches,
    buffer: &mut Vec<u8>,
    see: &mut dyn FnMut(Scanned<'_>),
) -> Result<(), StoreError> {
    let may_pass = overflow.is_empty() && expression.filter().is_some();
    if may_pass && !has_match(path, expression, buffer)? {
        return Ok(());
    }
    let mut extractor = Extractor::default();
    let mut lines = LineReader::with_buffer(open_file(path)?, std::mem::take(buffer));
    while let Some(line) = lines.next_line()? {
        let may_match = may_match(expression, line.bytes);
        let (number, mut next) = (line.number, 0);
        extractor.next(&decode(line).0, &mut |document| {
            // A prompt may come out of the queue with a line that is not its own.
            let is_of_line = document.line == number;
            let part = if is_of_line { next } else { 0 };
            next += u32::from(is_of_line);
            let is_match = (may_match || !is_of_line) && is_match(expression, document);
            let overflow = if is_match { None } else { overflow.of(document) };
            let is_match = is_match || overflow.is_some();
            see(Scanned { document, part, is_match, overflow });
        });
    }
    extractor.rest(&mut |document| {
        let is_match = is_match(expression, document);
        see(Scanned { document, part: 0, is_match, overflow: None });
    });
    *buffer = lines.into_buffer();
    Ok(())
}

/// Whether a text of the log matches. Few lines are decoded.
fn has_match(
    path: &Path,
    expression: &Expression,
    buffer: &mut Vec<u8>,
) -> Result<bool, StoreError> {
    if let Some(filter) = expression.filter() {
        let mut seen = Seen::default();
        if !in_pieces(path, filter.overlap(), |piece| filter.may_match(piece, &mut seen))? {
            return Ok(false);
        }
    }
    let queue = memmem::Finder::new("queue");
    let mut has_match = false;
    let mut extractor = Extractor::default();
    let mut lines = LineReader::with_buffer(open_file(path)?, std::mem::take(buffer));
    while let Some(line) = lines.next_line()?
        && !has_match
    {
        // What leaves the queue may be told by lines without the text.
        if may_match(expression, line.bytes) || queue.find(line.bytes).is_some() {
            extractor.next(&decode(line).0, &mut |document| {
                has_match = has_match || is_match(expression, document);
            });
        }
    }
    extractor.rest(&mut |document| has_match = has_match || is_match(expression, document));
    *buffer = lines.into_buffer();
    Ok(has_match)
}

fn may_match(expression: &Expression, line: &[u8]) -> bool {
    expression.filter().is_none_or(|filter| filter.may_match(line, &mut Seen::default()))
}

fn is_match(expression: &Expression, document: &Document<'_>) -> bool {
    let mut is_match = false;
    document.texts(&mut |text| {
        is_match = expression.regex().is_match(text);
        !is_match
    });
    is_match
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
        let overflow = OverflowMatches::default();
        scan(path, expression, &overflow, &mut Vec::new(), &mut |scanned| {
            if scanned.is_match {
                all.push(found(scanned.document));
            }
        })
        .unwrap();
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
            "hook Stop blocked",
            "(?i)STOP BLOCKED: lab",
            "hook [A-Z][a-zA-Z:]+ (ran|failed)",
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
