//! What a listing says of a session, from the head and the tail of its log.
//!
//! The head has the first prompt, the directory and the start; the tail has
//! the title and the last state, because the client appends them again and
//! again. The middle is never read.

mod elsewhere;
mod packed;
mod tail;

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use jiff::Timestamp;
use memchr::memchr;
use memchr::memmem;
use recto_log::Block;
use recto_log::Content;
use recto_log::Entry;
use recto_log::Kind;
use recto_log::Lines;
use recto_log::UserText;
use recto_log::classify_user;
use recto_log::decode;
use recto_log::json::Object;
use recto_log::said_text;
use recto_log::typed_text;
use recto_session::command_text;

use crate::LogFile;
use crate::StoreError;
use crate::place::open::open_known;
use crate::place::open::open_sized;
use crate::place::platform::read_fully;
use tail::digest_tail;

/// How much of the head is read at first, and at most.
const HEAD: usize = 4 * 1024;
const HEAD_MOST: usize = 1024 * 1024;
/// The largest head that is kept for the next log.
const HEAD_KEPT: usize = 64 * 1024;
/// How much of the tail is read.
const TAIL: usize = 32 * 1024;
/// The longest prompt or title that is kept.
pub(crate) const TEXT_MOST: usize = 400;

/// What a log is. All but [`FileKind::Session`] are hidden by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum FileKind {
    /// A conversation.
    #[default]
    Session,
    /// Nothing at all: `-p --resume` of old clients leaves such a file.
    Empty,
    /// Lines, but no conversation: titles of other sessions, snapshots, queue.
    Stub,
    /// The client warmed up its cache.
    Warmup,
    /// A helper of the client's (prompt suggestion, compaction).
    Helper,
    /// A subagent.
    Agent,
}

impl FileKind {
    /// The name, for people and machines.
    pub fn name(self) -> &'static str {
        match self {
            FileKind::Session => "session",
            FileKind::Empty => "empty",
            FileKind::Stub => "stub",
            FileKind::Warmup => "warmup",
            FileKind::Helper => "helper",
            FileKind::Agent => "agent",
        }
    }
}

/// Where a title is from, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TitleSource {
    /// The user gave it.
    Custom,
    /// A model gave it.
    Ai,
    /// An old client's helper gave it.
    Summary,
    /// The first prompt stands in for it.
    FirstPrompt,
}

impl TitleSource {
    /// The name, for machines.
    pub fn name(self) -> &'static str {
        match self {
            TitleSource::Custom => "custom",
            TitleSource::Ai => "ai",
            TitleSource::Summary => "summary",
            TitleSource::FirstPrompt => "first-prompt",
        }
    }
}

/// What the head and the tail of a log say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Digest {
    /// What the log is.
    pub kind: FileKind,
    /// The best title there is.
    pub title: Option<(String, TitleSource)>,
    /// The first prompt of a human.
    pub first_prompt: Option<String>,
    /// The last prompt that the client noted.
    pub last_prompt: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The git branch, as last seen.
    pub branch: Option<String>,
    /// The version of the client that wrote last.
    pub version: Option<String>,
    /// The model that answered last.
    pub model: Option<String>,
    /// The time of the first line that has one.
    pub started: Option<Timestamp>,
    /// The time of the last line that has one.
    pub ended: Option<Timestamp>,
}

impl Digest {
    /// Reads the head and the tail of a log.
    pub fn read(path: &Path, is_agent: bool) -> Result<Digest, StoreError> {
        let (file, length) = open_sized(path)?;
        Ok(Digest::of_file(&file, length, is_agent)?.with_title_elsewhere(path))
    }

    /// Reads the head and the tail of a log whose size is known from a listing.
    pub fn read_listed(log: &LogFile) -> Result<Digest, StoreError> {
        Ok(Digest::read_alone(log)?.with_title_elsewhere(&log.path))
    }

    /// What the log itself says, whatever logs beside it do.
    pub(crate) fn read_alone(log: &LogFile) -> Result<Digest, StoreError> {
        Digest::of_file(&open_known(&log.path)?, log.bytes(), log.is_agent())
    }

    /// Reads the head and the tail of what is in a file up to some length.
    pub(crate) fn of_file(file: &File, length: u64, is_agent: bool) -> Result<Digest, StoreError> {
        BUFFERS.with_borrow_mut(|buffers| read(file, length, is_agent, buffers))
    }
}

/// Where heads and tails are read into: thousands of logs are read in a row.
#[derive(Default)]
struct Buffers {
    head: Vec<u8>,
    tail: Vec<u8>,
}

thread_local! {
    static BUFFERS: RefCell<Buffers> = RefCell::default();
}

fn read(
    file: &File,
    length: u64,
    is_agent: bool,
    buffers: &mut Buffers,
) -> Result<Digest, StoreError> {
    let mut digest = Digest::default();
    if length == 0 {
        digest.kind = FileKind::Empty;
        return Ok(digest);
    }
    let mut parts = Parts { is_agent, ..Parts::default() };
    let head = read_head(file, length, &mut buffers.head, &mut digest, &mut parts)?;
    let tail = read_tail(file, length, &head, &mut buffers.tail)?;
    digest_tail(tail, &mut digest, &mut parts);
    let instead = parts.first_command.take().or(parts.first_task.take());
    digest.first_prompt = digest.first_prompt.take().or(instead);
    parts.find_own_summary(head.bytes, tail);
    digest.kind = parts.kind(&digest, head.looked >= length);
    digest.title = parts.title(&digest);
    if buffers.head.capacity() > HEAD_KEPT {
        buffers.head = Vec::new();
    }
    Ok(digest)
}

/// What was seen on the way.
#[derive(Default)]
struct Parts {
    /// The log is that of a subagent.
    is_agent: bool,
    has_conversation: bool,
    is_warmup: bool,
    /// A user line that could have been a prompt has been seen.
    seen_prompt: bool,
    assistant_lines: usize,
    /// A slash command, which stands in where no prompt was typed.
    first_command: Option<String>,
    /// The task of a subagent whose lines are inside its parent's log, which is in
    /// where there is no command either.
    first_task: Option<String>,
    custom: Option<String>,
    ai: Option<String>,
    /// Titles of old clients with the line that they belong to, the last one first.
    summaries: Vec<(String, String)>,
    summary: Option<String>,
}

impl Parts {
    fn title(&self, digest: &Digest) -> Option<(String, TitleSource)> {
        let given = |title: &Option<String>| title.clone().filter(|title| !title.is_empty());
        given(&self.custom)
            .map(|title| (title, TitleSource::Custom))
            .or_else(|| given(&self.ai).map(|title| (title, TitleSource::Ai)))
            .or_else(|| given(&self.summary).map(|title| (title, TitleSource::Summary)))
            .or_else(|| given(&digest.first_prompt).map(|title| (title, TitleSource::FirstPrompt)))
            .or_else(|| given(&digest.last_prompt).map(|title| (title, TitleSource::FirstPrompt)))
    }

    fn kind(&self, digest: &Digest, is_whole: bool) -> FileKind {
        if self.is_agent {
            // 2.0.50 writes only the answer of a warm-up, without its prompt.
            let answer_only = is_whole && !self.seen_prompt && self.assistant_lines == 1;
            return if self.is_warmup || answer_only { FileKind::Warmup } else { FileKind::Agent };
        }
        if self.is_warmup && is_whole && digest.first_prompt.is_none() {
            FileKind::Warmup
        } else if self.has_conversation || !is_whole {
            FileKind::Session
        } else {
            FileKind::Stub
        }
    }

    /// Notes a title; the head is read before the tail, and the tail backwards.
    fn note_title(&mut self, entry: &Entry<'_>, side: Side) {
        let Some(title) = entry.title() else { return };
        let said = shortened(&said_text(&title));
        // An empty title takes the one before back; one of nothing but tags is none.
        if said.is_empty() && !title.trim().is_empty() {
            return;
        }
        let title = said;
        let slot = match entry.kind() {
            Kind::CustomTitle => &mut self.custom,
            Kind::AiTitle => &mut self.ai,
            _ => {
                if let Some(leaf) = entry.str("leafUuid") {
                    let at = if side == Side::Head { 0 } else { self.summaries.len() };
                    self.summaries.insert(at, (title, leaf.into_owned()));
                }
                return;
            }
        };
        *slot = Some(title);
    }

    /// 2.0.50 writes the title of a session into the log of the next one, so a
    /// title counts only if the line that it names is in this log.
    fn find_own_summary(&mut self, head: &[u8], tail: &[u8]) {
        let own = self.summaries.iter().find(|(_, leaf)| {
            let line = format!("\"uuid\":\"{leaf}\"");
            [head, tail].iter().any(|part| memmem::find(part, line.as_bytes()).is_some())
        });
        self.summary = own.map(|(title, _)| title.clone());
    }
}

/// The start of a log, and up to where its lines were looked at.
struct Head<'a> {
    bytes: &'a [u8],
    looked: u64,
}

/// Reads the head in growing pieces until it says everything.
fn read_head<'a>(
    file: &File,
    length: u64,
    bytes: &'a mut Vec<u8>,
    digest: &mut Digest,
    parts: &mut Parts,
) -> Result<Head<'a>, StoreError> {
    let mut filled = 0;
    let mut looked = 0;
    loop {
        let wanted = if filled == 0 { HEAD } else { (filled * 4).min(HEAD_MOST) };
        let wanted = wanted.min(usize::try_from(length).unwrap_or(usize::MAX));
        let before = filled;
        filled += read_into(file, bytes, filled..wanted.max(filled), filled as u64)?;
        // A log that was cut meanwhile ends where it ends now.
        let is_whole = filled as u64 >= length || filled == before;
        for line in Lines::new(&bytes[looked as usize..filled]).starting_at(looked, 1) {
            if !line.terminated && !is_whole {
                // The last line of the piece is cut; what is whole in it still counts.
                if filled >= HEAD_MOST {
                    digest_cut_line(line.bytes, digest);
                }
                break;
            }
            looked = line.end();
            digest_line(&decode(line).0, digest, parts);
            if digest.first_prompt.is_some() && digest.cwd.is_some() {
                return Ok(Head { bytes: &bytes[..filled], looked });
            }
        }
        if is_whole || filled >= HEAD_MOST {
            return Ok(Head { bytes: &bytes[..filled], looked });
        }
    }
}

/// The end of the log, as far as the head has not looked at it.
fn read_tail<'a>(
    file: &File,
    length: u64,
    head: &Head<'a>,
    bytes: &'a mut Vec<u8>,
) -> Result<&'a [u8], StoreError> {
    if head.looked >= length {
        return Ok(&[]);
    }
    let start = head.looked.max(length.saturating_sub(TAIL as u64));
    if length <= head.bytes.len() as u64 {
        return Ok(&head.bytes[start as usize..]);
    }
    let read = read_into(file, bytes, 0..(length - start) as usize, start)?;
    let tail = &bytes[..read];
    if start > head.looked {
        // The first line of the piece has lost its beginning.
        let first = memchr(b'\n', tail).map_or(tail.len(), |at| at + 1);
        return Ok(&tail[first..]);
    }
    Ok(tail)
}

fn last_prompt_text(entry: &Entry<'_>) -> Option<String> {
    let prompt = entry.last_prompt()?.prompt?;
    Some(shortened(&said_text(&prompt))).filter(|prompt| !prompt.is_empty())
}

/// The model that answered; none where the client made the line up.
fn model_of(entry: &Entry<'_>) -> Option<String> {
    let message = entry.message().filter(|message| !message.is_synthetic())?;
    message.model().map(|model| model.into_owned())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Head,
    Tail,
}

fn digest_line(entry: &Entry<'_>, digest: &mut Digest, parts: &mut Parts) {
    let time = entry.timestamp();
    digest.started = digest.started.or(time);
    digest.ended = time.or(digest.ended);
    let text = |name: &str| entry.str(name).map(|text| text.into_owned());
    digest.cwd = digest.cwd.take().or_else(|| text("cwd"));
    digest.version = text("version").or(digest.version.take());
    digest.branch = entry.git_branch().map(|branch| branch.into_owned()).or(digest.branch.take());
    parts.note_title(entry, Side::Head);
    match entry.kind() {
        Kind::User => {
            parts.has_conversation = true;
            let kind = classify_user(entry);
            if kind == UserText::Command && parts.first_command.is_none() {
                let text = entry.message().map(|message| message.content().text().into_owned());
                parts.first_command = text.map(|text| shortened(&command_text(&text)));
            }
            if matches!(kind, UserText::Human | UserText::AgentTask) {
                parts.seen_prompt = true;
                let prompt = prompt_text(entry);
                if prompt == "Warmup" {
                    parts.is_warmup = true;
                } else if !prompt.is_empty() {
                    let is_own = kind == UserText::Human || parts.is_agent;
                    let first =
                        if is_own { &mut digest.first_prompt } else { &mut parts.first_task };
                    first.get_or_insert(prompt);
                }
            }
        }
        Kind::Assistant => {
            parts.has_conversation = true;
            parts.assistant_lines += 1;
            digest.model = model_of(entry).or(digest.model.take());
        }
        Kind::LastPrompt => {
            digest.last_prompt = last_prompt_text(entry).or(digest.last_prompt.take());
        }
        _ => {}
    }
}

/// The envelope of a line that is longer than what is read of the head.
fn digest_cut_line(bytes: &[u8], digest: &mut Digest) {
    let object = Object::parse_prefix(bytes);
    let text = |name: &str| object.str(name).map(|text| text.into_owned());
    digest.cwd = digest.cwd.take().or_else(|| text("cwd"));
    digest.version = digest.version.take().or_else(|| text("version"));
    digest.branch = digest.branch.take().or_else(|| text("gitBranch").filter(|b| !b.is_empty()));
    let time = text("timestamp").and_then(|text| text.parse().ok());
    digest.started = digest.started.or(time);
}

/// The text of a prompt, on one line.
fn prompt_text(entry: &Entry<'_>) -> String {
    let Some(message) = entry.message() else { return String::new() };
    let content = message.content();
    let text = content.text();
    if text.is_empty() && has_picture(content) {
        return "[image]".into();
    }
    shortened(&typed_text(&text))
}

fn has_picture(content: Content<'_>) -> bool {
    content.blocks().any(|block| matches!(block, Block::Image { .. }))
}

/// The beginning of a text, white space folded.
fn shortened(text: &str) -> String {
    let mut short = String::new();
    for word in text.split_whitespace() {
        if short.len() + word.len() > TEXT_MOST {
            let room = TEXT_MOST.saturating_sub(short.len());
            short.push(' ');
            short.extend(word.chars().scan(0, |used, c| {
                *used += c.len_utf8();
                (*used < room).then_some(c)
            }));
            short.push('…');
            break;
        }
        if !short.is_empty() {
            short.push(' ');
        }
        short.push_str(word);
    }
    short.trim_start().to_owned()
}

/// Reads into a part of a buffer, which grows if it has to. What it held
/// before stays, so that it is not zeroed for every log.
fn read_into(
    file: &File,
    buffer: &mut Vec<u8>,
    range: Range<usize>,
    offset: u64,
) -> io::Result<usize> {
    if buffer.len() < range.end {
        buffer.resize(range.end, 0);
    }
    read_fully(file, &mut buffer[range], offset)
}

#[cfg(test)]
#[path = "digest_tests.rs"]
mod tests;
