//! The search itself: which files, and what of them.

use std::path::Path;
use std::path::PathBuf;
use std::time::SystemTime;

use grep_matcher::Match;
use grep_regex::RegexMatcher;
use grep_regex::RegexMatcherBuilder;
use grep_searcher::BinaryDetection;
use grep_searcher::Searcher;
use grep_searcher::SearcherBuilder;
use grep_searcher::Sink;
use grep_searcher::SinkContext;
use grep_searcher::SinkFinish;
use grep_searcher::SinkMatch;
use ignore::DirEntry;
use ignore::WalkBuilder;
use ignore::overrides::OverrideBuilder;
use ignore::types::TypesBuilder;
use tokio_util::sync::CancellationToken;

use crate::tool::glob;
use crate::tool::path;
use crate::tool::session::IsHidden;

/// Lines that are longer are not shown.
const LONGEST_LINE: usize = 500;

/// What is kept at most where everything is asked for.
const MOST_BYTES: usize = 32 * 1024 * 1024;

/// What a call wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Files,
    Content,
    Count,
}

pub(super) struct Query {
    pub(super) pattern: String,
    pub(super) cwd: PathBuf,
    pub(super) root: PathBuf,
    pub(super) is_one_file: bool,
    pub(super) mode: Mode,
    pub(super) globs: Vec<String>,
    pub(super) file_type: Option<String>,
    pub(super) before: usize,
    pub(super) after: usize,
    pub(super) has_numbers: bool,
    pub(super) is_case_insensitive: bool,
    pub(super) is_only_match: bool,
    pub(super) is_multiline: bool,
    /// How many lines are needed.
    pub(super) keep: Option<usize>,
    pub(super) is_hidden: Option<IsHidden>,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The first lines, or the names of all files.
    pub(super) lines: Vec<String>,
    /// How many lines or files there are.
    pub(super) total: usize,
    /// How many matches, where they are counted.
    pub(super) matches: usize,
    bytes: usize,
}

/// Searches. The error is ripgrep's sentence.
pub(super) fn run(query: &Query, cancel: &CancellationToken) -> Result<Found, String> {
    let Some(matcher) = matcher(query)? else { return Ok(Found::default()) };
    let walk = walk(query)?;
    let mut searcher = searcher(query);
    let mut found = Found::default();
    let mut files: Vec<(SystemTime, String)> = Vec::new();
    for entry in walk.flatten() {
        if cancel.is_cancelled() {
            break;
        }
        let file = entry.path();
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
        let is_hidden = query.is_hidden.as_ref().is_some_and(|is_hidden| is_hidden(file));
        if !is_file || is_hidden {
            continue;
        }
        let shown = path::shown(file, &query.cwd);
        let mut sink = Lines {
            query,
            matcher: &matcher,
            name: &shown,
            found: &mut found,
            matches: 0,
            is_new: true,
            binary_at: None,
        };
        // What cannot be read is passed over, as ripgrep does.
        match one_file(query, file) {
            Some(bytes) => {
                sink.binary_at = first_nul(&bytes);
                searcher.search_slice(&matcher, &bytes, &mut sink).ok();
            }
            None => {
                searcher.search_path(&matcher, file, &mut sink).ok();
            }
        }
        let matches = sink.matches;
        if matches == 0 {
            continue;
        }
        match query.mode {
            Mode::Content => {}
            Mode::Count => {
                found.matches += matches;
                found.total += 1;
                found.push(format!("{shown}:{matches}"), query.keep);
            }
            Mode::Files => {
                let modified = entry.metadata().ok().and_then(|metadata| metadata.modified().ok());
                files.push((modified.unwrap_or(SystemTime::UNIX_EPOCH), shown));
            }
        }
    }
    if query.mode == Mode::Files {
        files.sort_by(|(a, name), (b, other)| b.cmp(a).then_with(|| name.cmp(other)));
        found.total = files.len();
        found.lines = files.into_iter().map(|(_, name)| name).collect();
    }
    Ok(found)
}

/// The bytes of the only file of a search for lines, unless it is large.
fn one_file(query: &Query, file: &Path) -> Option<Vec<u8>> {
    let is_wanted = query.is_one_file && query.mode == Mode::Content;
    let is_small = || std::fs::metadata(file).is_ok_and(|it| it.len() <= MOST_BYTES as u64);
    (is_wanted && is_small()).then(|| std::fs::read(file).ok()).flatten()
}

/// Where a NUL stands at the beginning of what is no text. UTF-16 is full of them.
fn first_nul(bytes: &[u8]) -> Option<u64> {
    const HEAD: usize = 64 * 1024;
    let is_utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    let head = bytes.get(..HEAD).unwrap_or(bytes);
    let at = head.iter().position(|byte| *byte == 0).filter(|_| !is_utf16)?;
    Some(at as u64)
}

impl Found {
    fn push(&mut self, line: String, keep: Option<usize>) {
        if keep.is_none_or(|keep| self.lines.len() < keep) && self.bytes < MOST_BYTES {
            self.bytes += line.len();
            self.lines.push(line);
        }
    }
}

/// The compiled pattern; nothing if no line can ever match it.
fn matcher(query: &Query) -> Result<Option<RegexMatcher>, String> {
    let mut builder = RegexMatcherBuilder::new();
    builder.multi_line(true).case_insensitive(query.is_case_insensitive);
    if query.is_multiline {
        builder.dot_matches_new_line(true);
    } else {
        builder.line_terminator(Some(b'\n'));
    }
    match builder.build_many(&[&query.pattern]) {
        Ok(matcher) => Ok(Some(matcher)),
        Err(error) => {
            let text = error.to_string();
            // A line has no line end in it.
            if text.contains("is not allowed in a regex") {
                return Ok(None);
            }
            let is_for_others = text.contains("backreferences") || text.contains("look-around");
            let hint = "\n\nConsider enabling PCRE2 with the --pcre2 flag, which can handle \
                        backreferences\nand look-around.";
            Err(if is_for_others { text + hint } else { text })
        }
    }
}

fn walk(query: &Query) -> Result<ignore::Walk, String> {
    let mut globs = OverrideBuilder::new(&query.cwd);
    let own = ["!.git", "!.svn", "!.hg", "!.bzr", "!.jj", "!.sl"].map(str::to_owned);
    for glob in own.iter().chain(&query.globs) {
        glob::add(&mut globs, glob)?;
    }
    let globs = globs.build().map_err(|error| error.to_string())?;
    let mut walk = WalkBuilder::new(&query.root);
    walk.hidden(false).overrides(globs).add_custom_ignore_filename(".rgignore");
    // Files in the open come before hidden ones.
    walk.sort_by_file_name(|a, b| {
        let is_hidden = |name: &std::ffi::OsStr| name.as_encoded_bytes().starts_with(b".");
        is_hidden(a).cmp(&is_hidden(b)).then_with(|| a.cmp(b))
    });
    if let Some(file_type) = &query.file_type {
        let mut types = TypesBuilder::new();
        types.add_defaults().select(file_type);
        walk.types(types.build().map_err(|error| error.to_string())?);
    }
    walk.filter_entry(|entry: &DirEntry| entry.depth() < 256);
    Ok(walk.build())
}

fn searcher(query: &Query) -> Searcher {
    let binary = match (query.is_one_file, query.mode) {
        (true, Mode::Content) => BinaryDetection::none(),
        (true, _) => BinaryDetection::convert(0),
        (false, _) => BinaryDetection::quit(0),
    };
    SearcherBuilder::new()
        .binary_detection(binary)
        .line_number(true)
        .multi_line(query.is_multiline)
        .before_context(query.before)
        .after_context(query.after)
        .build()
}

/// Takes the lines of one file.
struct Lines<'a> {
    query: &'a Query,
    matcher: &'a RegexMatcher,
    name: &'a str,
    found: &'a mut Found,
    matches: usize,
    /// Whether nothing of this file was told yet.
    is_new: bool,
    /// Where a byte stands that no text has.
    binary_at: Option<u64>,
}

impl Lines<'_> {
    fn tell(&mut self, number: Option<u64>, sign: char, text: &[u8], omitted: &str) {
        let mut line = String::new();
        if !self.query.is_one_file {
            line.push_str(self.name);
            line.push(sign);
        }
        if let Some(number) = number.filter(|_| self.query.has_numbers) {
            line += &format!("{number}{sign}");
        }
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        let end = text.iter().rposition(|byte| *byte != b'\r').map_or(0, |at| at + 1);
        let text = text.get(..end).unwrap_or(text);
        let text = String::from_utf8_lossy(text);
        if text.encode_utf16().count() > LONGEST_LINE {
            line.push_str(omitted);
        } else {
            line.push_str(&text);
        }
        self.push(line);
    }

    fn push(&mut self, line: String) {
        let has_context = self.query.before > 0 || self.query.after > 0;
        if self.is_new && has_context && self.found.total > 0 {
            self.found.total += 1;
            self.found.push("--".to_owned(), self.query.keep);
        }
        self.is_new = false;
        self.found.total += 1;
        self.found.push(line, self.query.keep);
    }

    fn tell_matches(&mut self, found: &SinkMatch<'_>) {
        let bytes = found.bytes();
        let first = found.line_number();
        if !self.query.is_only_match {
            let lines: Vec<&[u8]> = found.lines().collect();
            for (at, line) in lines.into_iter().enumerate() {
                let number = first.map(|first| first + at as u64);
                self.tell(number, ':', line, "[Omitted long matching line]");
            }
            return;
        }
        for range in self.ranges(found) {
            let before = bytes.get(..range.start()).unwrap_or_default();
            let line = before.iter().filter(|byte| **byte == b'\n').count() as u64;
            let text = bytes.get(range.start()..range.end()).unwrap_or_default();
            self.tell(first.map(|first| first + line), ':', text, "[Omitted long matching line]");
        }
    }

    /// Where the pattern matches in what was found. Of matches over several lines, one that
    /// begins behind the last line is none of its own.
    fn ranges(&self, found: &SinkMatch<'_>) -> Vec<Match> {
        let bytes = match self.query.is_multiline {
            true => found.bytes(),
            false => found.bytes().strip_suffix(b"\n").unwrap_or(found.bytes()),
        };
        let mut ranges = Vec::new();
        let note = |range: Match| {
            let is_inside = !self.query.is_multiline || range.start() < bytes.len();
            if is_inside {
                ranges.push(range);
            }
            is_inside
        };
        grep_matcher::Matcher::find_iter(self.matcher, bytes, note).ok();
        ranges
    }

    fn count(&mut self, found: &SinkMatch<'_>) {
        if !self.query.is_multiline {
            self.matches += 1;
            return;
        }
        self.matches += self.ranges(found).len().max(1);
    }
}

impl Sink for Lines<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        match self.query.mode {
            Mode::Files => {
                self.matches = 1;
                Ok(false)
            }
            Mode::Count => {
                self.count(found);
                Ok(true)
            }
            Mode::Content => {
                self.matches += 1;
                // A line of a file that is searched whatever it is.
                if let Some(at) = found.bytes().iter().position(|byte| *byte == 0) {
                    self.binary_at.get_or_insert(found.absolute_byte_offset() + at as u64);
                    return Ok(true);
                }
                self.tell_matches(found);
                Ok(true)
            }
        }
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, Self::Error> {
        self.tell(context.line_number(), '-', context.bytes(), "[Omitted long context line]");
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, Self::Error> {
        self.push("--".to_owned());
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, offset: u64) -> Result<bool, Self::Error> {
        self.binary_at = Some(offset);
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> Result<(), Self::Error> {
        let Some(offset) = self.binary_at.or(finish.binary_byte_offset()) else { return Ok(()) };
        match self.query.mode {
            Mode::Content if self.matches > 0 => {
                let message =
                    format!("binary file matches (found \"\\0\" byte around offset {offset})");
                let is_one_file = self.query.is_one_file;
                let name = if is_one_file { String::new() } else { format!("{}:", self.name) };
                self.push(name + &message);
            }
            Mode::Content => {}
            // Lines before the byte that made it binary were not of a text.
            Mode::Files | Mode::Count if self.query.is_one_file => {}
            Mode::Files | Mode::Count => self.matches = 0,
        }
        Ok(())
    }
}
