//! Reads a log from where it was left, and makes batches of its documents.

use std::fs::File;
use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;

use recto_log::Entry;
use recto_log::LineReader;
use recto_log::decode;
use recto_session::search::Document;
use recto_session::search::Extractor;
use recto_session::search::Searchable;
use recto_session::search::State;
use recto_session::search::TextRole;

use super::compare::Change;
use super::compare::IngestPosition;
use super::facts::see_facts;
use super::rollups::UsageOnTheWay;
use crate::Cursor;
use crate::Digest;
use crate::LogFile;
use crate::StoreError;
use crate::log::chain::short_hash;
use crate::log::file_state::FileState;
use crate::place::error::PlaceError;
use crate::place::open::open_known;
use crate::read::load::FileLines;

/// A batch goes to the writer when it has this many bytes of tokens.
const BATCH: usize = if cfg!(test) { 64 * 1024 } else { 2 * 1024 * 1024 };

/// The place of a document, without its tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) line: u64,
    /// Milliseconds since 1970; 0 where no line so far had a time.
    pub(super) time: i64,
    pub(super) turn: u32,
    pub(super) role: TextRole,
    pub(super) is_error: bool,
    /// Which document of its line it is.
    pub(super) part: u32,
    /// The tool, by its place in [`Batch::tools`].
    pub(super) tool: Option<usize>,
}

/// Documents of one log, in the order in which they stand in it.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) places: Vec<Place>,
    /// The tokens of all documents, one column after the other.
    tokens: String,
    /// Where the columns of each document end.
    ends: Vec<[usize; 4]>,
    pub(super) tools: Vec<String>,
    /// Where the log must have been read to, so that this batch fits.
    pub(super) from: u64,
    /// The first batch of a log that must be forgotten before.
    pub(super) is_anew: bool,
    pub(super) end: IngestPosition,
    /// How many documents at the end may be gone when the log has grown.
    pub(super) tentative: usize,
    /// What the file was when it was opened.
    pub(super) file: FileState,
    /// Whether the log was read to its end.
    pub(super) is_last: bool,
    /// What the whole log adds to the usage, if that was counted on the way.
    pub(super) usage: Option<Vec<u8>>,
    /// What a listing says of the log, with its last batch.
    pub(super) digest: Option<Vec<u8>>,
}

impl Batch {
    /// The tokens of a document: text, wholes, path, and what it is about.
    pub(super) fn columns(&self, number: usize) -> [&str; 4] {
        let [a, b, c, d] = self.ends[number];
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before][3]);
        [&self.tokens[start..a], &self.tokens[a..b], &self.tokens[b..c], &self.tokens[c..d]]
    }

    /// A number that differs where the tokens of a document do.
    pub(super) fn sum(&self, number: usize) -> i64 {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before][3]);
        let end = self.ends[number][3];
        short_hash(&self.tokens.as_bytes()[start..end])
    }

    /// The tokens of a document, to compare them with a query.
    pub(super) fn searchable(&self, number: usize) -> Searchable {
        let [text, whole, path, about] = self.columns(number).map(str::to_owned);
        Searchable { text, whole, path, about }
    }

    pub(super) fn bytes(&self) -> usize {
        self.tokens.len()
    }

    fn push(&mut self, place: Place, searchable: &Searchable) {
        let Searchable { text, whole, path, about } = searchable;
        let ends = [text, whole, path, about].map(|column| {
            self.tokens.push_str(column);
            self.tokens.len()
        });
        self.ends.push(ends);
        self.places.push(place);
    }

    fn tool(&mut self, name: &str) -> usize {
        self.tools.iter().position(|known| known == name).unwrap_or_else(|| {
            self.tools.push(name.to_owned());
            self.tools.len() - 1
        })
    }
}

/// Buffers that are used for one log after the other.
#[derive(Default)]
pub(super) struct Buffers {
    line: Vec<u8>,
    searchable: Searchable,
    /// Whether the usage of logs is counted on the way, if they are read as a whole.
    with_usage: bool,
}

impl Buffers {
    /// For who wants to know what logs add to the usage, too.
    pub(super) fn with_usage() -> Buffers {
        Buffers { with_usage: true, ..Buffers::default() }
    }
}

/// Reads a log and gives batches to `give`, until it says `false`. The last one
/// says so.
pub(super) fn ingest(
    log: &LogFile,
    change: Change,
    from: IngestPosition,
    buffers: &mut Buffers,
    give: &mut dyn FnMut(Batch) -> bool,
) -> Result<(), StoreError> {
    let mut file = open_known(&log.path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(PlaceError::NotAFile { path: log.path.clone() }.into());
    }
    let state = FileState::now(&metadata);
    let goes_on = matches!(change, Change::Touched | Change::Moved | Change::Doubtful)
        && from.cursor.as_ref().map_or(Ok(false), |cursor| cursor.is_intact(&file))?;
    let is_anew = !goes_on && change != Change::New;
    let from = if goes_on { from } else { IngestPosition::start() };
    let extractor = Extractor::resume(State::decode(&from.state), &FileLines(&file));
    file.seek(SeekFrom::Start(from.offset))?;
    let reader = file.try_clone()?.take(state.size - from.offset);
    let lines = LineReader::with_buffer(reader, std::mem::take(&mut buffers.line))
        .starting_at(from.offset, from.line);
    let usage = (buffers.with_usage && from.offset == 0).then(|| UsageOnTheWay::new(log));
    let batch = Batch { from: from.offset, is_anew, end: from, file: state, ..Batch::default() };
    let is_agent = log.is_agent();
    let mut reading =
        Reading { file, is_agent, extractor, batch, usage, searchable: &mut buffers.searchable };
    buffers.line = reading.read(lines, give)?;
    Ok(())
}

/// A log that is being read.
struct Reading<'a> {
    file: File,
    is_agent: bool,
    extractor: Extractor,
    batch: Batch,
    usage: Option<UsageOnTheWay>,
    searchable: &'a mut Searchable,
}

impl Reading<'_> {
    fn read(
        &mut self,
        mut lines: LineReader<impl Read>,
        give: &mut dyn FnMut(Batch) -> bool,
    ) -> Result<Vec<u8>, StoreError> {
        let mut last = None;
        let mut end = None;
        while let Some(line) = lines.next_line()? {
            let (entry, _) = decode(line);
            if let Some(usage) = &mut self.usage {
                usage.push(&entry);
            }
            if !line.terminated {
                // Not finished, or never to be: it counts until the log grows.
                let mut extractor = self.extractor.clone();
                let before = self.batch.places.len();
                end = Some(self.batch.end.clone());
                self.add_line(&mut extractor, &entry);
                last = Some((extractor, self.batch.places.len() - before));
                break;
            }
            let mut extractor = std::mem::take(&mut self.extractor);
            self.add_line(&mut extractor, &entry);
            self.extractor = extractor;
            self.batch.end.offset = line.end();
            self.batch.end.line = line.number + 1;
            if self.batch.bytes() >= BATCH {
                self.finish()?;
                let end = self.batch.end.clone();
                let file = self.batch.file;
                let next = Batch { from: end.offset, end, file, ..Batch::default() };
                if !give(std::mem::replace(&mut self.batch, next)) {
                    return Ok(lines.into_buffer());
                }
            }
        }
        let (extractor, tentative) = last.unwrap_or_else(|| (self.extractor.clone(), 0));
        let end = end.unwrap_or_else(|| self.batch.end.clone());
        let before = self.batch.places.len();
        let mut adding =
            Adding { batch: &mut self.batch, searchable: self.searchable, line: 0, part: 0 };
        extractor.rest(&mut |document| adding.add(document));
        self.batch.tentative = tentative + self.batch.places.len() - before;
        // What may go again must not be known when the log is gone on with.
        self.batch.end = end;
        self.finish()?;
        self.batch.is_last = true;
        self.batch.usage = self.usage.take().map(UsageOnTheWay::finish);
        let digest = Digest::of_file(&self.file, self.batch.file.size, self.is_agent)?;
        self.batch.digest = Some(digest.encode());
        give(std::mem::take(&mut self.batch));
        Ok(lines.into_buffer())
    }

    fn add_line(&mut self, extractor: &mut Extractor, entry: &Entry<'_>) {
        let line = entry.line().number;
        let mut adding =
            Adding { batch: &mut self.batch, searchable: self.searchable, line, part: 0 };
        extractor.next(entry, &mut |document| adding.add(document));
    }

    /// Notes how far the batch goes.
    fn finish(&mut self) -> Result<(), StoreError> {
        self.batch.end.state = self.extractor.state().encode();
        // A file that was cut meanwhile has no such place; it is read again then.
        self.batch.end.cursor = Cursor::at(&self.file, self.batch.end.offset).ok();
        Ok(())
    }
}

/// Adds documents of a line to a batch.
struct Adding<'a> {
    batch: &'a mut Batch,
    searchable: &'a mut Searchable,
    line: u64,
    part: u32,
}

impl Adding<'_> {
    fn add(&mut self, document: &Document<'_>) {
        let end = &mut self.batch.end;
        if let Some(time) = document.time {
            end.time = time.as_millisecond();
        }
        see_facts(document, &mut end.cwd, &mut end.model, &mut end.branch);
        let time = end.time;
        // A prompt of the queue has a line of its own.
        let is_of_line = document.line == self.line;
        let part = if is_of_line { self.part } else { 0 };
        self.part += u32::from(is_of_line);
        self.searchable.fill(document);
        let is_of_tool = matches!(document.role, TextRole::ToolInput | TextRole::ToolResult);
        if !is_of_tool && self.searchable.text.len() < 2 {
            return;
        }
        let tool = document.tool.map(|tool| self.batch.tool(tool));
        let place = Place {
            offset: document.span.offset,
            line: document.line,
            time,
            turn: document.turn,
            role: document.role,
            is_error: document.is_error,
            part,
            tool,
        };
        self.batch.push(place, self.searchable);
    }
}
