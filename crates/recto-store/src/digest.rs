//! What a listing says of a session, from the head and the tail of its log.
//!
//! The head has the first prompt, the directory and the start; the tail has
//! the title and the last state, because the client appends them again and
//! again. The middle is never read.

use std::fs::File;
use std::io;
use std::path::Path;

use jiff::Timestamp;
use recto_log::Block;
use recto_log::Content;
use recto_log::Entry;
use recto_log::Kind;
use recto_log::Lines;
use recto_log::UserText;
use recto_log::classify_user;
use recto_log::decode;
use recto_log::json::Object;

use crate::StoreError;
use crate::open_file;
use crate::platform::read_at;

/// How much of the head is read at first, and at most.
const HEAD: usize = 16 * 1024;
const HEAD_MOST: usize = 1024 * 1024;
/// How much of the tail is read.
const TAIL: usize = 32 * 1024;
/// The longest prompt or title that is kept.
const TEXT_MOST: usize = 400;

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
        let file = open_file(path)?;
        let length = file.metadata()?.len();
        let mut digest = Digest::default();
        if length == 0 {
            digest.kind = FileKind::Empty;
            return Ok(digest);
        }
        let mut parts = Parts::default();
        let head_end = read_head(&file, length, &mut digest, &mut parts)?;
        if head_end < length {
            let tail = read_tail(&file, length, head_end)?;
            parts.has_conversation |= digest_tail(&tail, &mut digest, &mut parts);
        }
        digest.kind = parts.kind(&digest, is_agent, head_end >= length);
        digest.title = parts.title(&digest);
        Ok(digest)
    }
}

/// What was seen on the way.
#[derive(Default)]
struct Parts {
    has_conversation: bool,
    is_warmup: bool,
    /// A user line that could have been a prompt has been seen.
    seen_prompt: bool,
    /// The only conversation lines are one assistant line without a prompt (2.0.50's warm-up).
    assistant_lines: usize,
    custom: Option<String>,
    ai: Option<String>,
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

    fn kind(&self, digest: &Digest, is_agent: bool, is_whole: bool) -> FileKind {
        if is_agent {
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

    fn note_title(&mut self, entry: &Entry<'_>) {
        let Some(title) = entry.title() else { return };
        let title = Some(shortened(&title));
        match entry.kind() {
            Kind::CustomTitle => self.custom = title,
            Kind::AiTitle => self.ai = title,
            // In 2.0.50 a summary names a line of another session's log.
            Kind::Summary => {}
            _ => {}
        }
    }
}

/// Reads the head in growing pieces until it says everything. Returns the
/// offset up to which lines were looked at.
fn read_head(
    file: &File,
    length: u64,
    digest: &mut Digest,
    parts: &mut Parts,
) -> Result<u64, StoreError> {
    let mut head = Vec::new();
    let mut looked = 0;
    let mut summaries: Vec<(String, String)> = Vec::new();
    let mut uuids = Vec::new();
    loop {
        let wanted = if head.is_empty() { HEAD } else { (head.len() * 4).min(HEAD_MOST) };
        grow(file, &mut head, wanted)?;
        let is_whole = head.len() as u64 >= length;
        let lines = Lines::new(&head[looked..]).starting_at(looked as u64, 1);
        for line in lines {
            if !line.terminated && !is_whole {
                // The last line of the piece is cut; what is whole in it still counts.
                if head.len() >= HEAD_MOST {
                    digest_cut_line(line.bytes, digest);
                }
                break;
            }
            looked = line.end() as usize;
            let (entry, _) = decode(line);
            if entry.kind() == Kind::Summary
                && let (Some(text), Some(leaf)) = (entry.title(), entry.str("leafUuid"))
            {
                summaries.push((shortened(&text), leaf.into_owned()));
            }
            if let Some(uuid) = entry.str("uuid") {
                uuids.push(uuid.into_owned());
            }
            digest_line(&entry, digest, parts, Side::Head);
        }
        let done = digest.first_prompt.is_some() && digest.cwd.is_some();
        if is_whole || done || head.len() >= HEAD_MOST {
            // A summary is this session's title if it names one of its lines.
            let own = summaries.iter().rev().find(|(_, leaf)| uuids.contains(leaf));
            parts.summary = own.map(|(text, _)| text.clone());
            return Ok(if is_whole { length } else { looked as u64 });
        }
    }
}

fn read_tail(file: &File, length: u64, head_end: u64) -> Result<Vec<u8>, StoreError> {
    let start = head_end.max(length.saturating_sub(TAIL as u64));
    let mut tail = vec![0; (length - start) as usize];
    let read = read_fully(file, &mut tail, start)?;
    tail.truncate(read);
    if start > head_end {
        // The first line of the piece has lost its beginning.
        let first = memchr_newline(&tail).map_or(tail.len(), |at| at + 1);
        tail.drain(..first);
    }
    Ok(tail)
}

/// Looks at the lines of the tail. Returns whether there is conversation in it.
fn digest_tail(tail: &[u8], digest: &mut Digest, parts: &mut Parts) -> bool {
    let before = parts.has_conversation;
    for line in Lines::new(tail) {
        let (entry, _) = decode(line);
        if entry.kind() == Kind::Summary {
            // At the end of a log only 2.1.29 writes it, and of its own session.
            parts.summary = entry.title().map(|title| shortened(&title));
        }
        digest_line(&entry, digest, parts, Side::Tail);
    }
    parts.has_conversation || before
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Head,
    Tail,
}

fn digest_line(entry: &Entry<'_>, digest: &mut Digest, parts: &mut Parts, side: Side) {
    let time = entry.timestamp();
    if time.is_some() {
        digest.started = digest.started.or(time);
        digest.ended = time;
    }
    let text = |name: &str| entry.str(name).map(|text| text.into_owned());
    if digest.cwd.is_none() {
        digest.cwd = text("cwd");
    }
    digest.version = text("version").or(digest.version.take());
    digest.branch = entry.git_branch().map(|branch| branch.into_owned()).or(digest.branch.take());
    parts.note_title(entry);
    match entry.kind() {
        Kind::User => {
            parts.has_conversation = true;
            let kind = classify_user(entry);
            let human = matches!(kind, UserText::Human | UserText::AgentTask);
            parts.seen_prompt |= human;
            if human && side == Side::Head && digest.first_prompt.is_none() {
                let prompt = prompt_text(entry);
                if prompt == "Warmup" {
                    parts.is_warmup = true;
                } else if !prompt.is_empty() {
                    digest.first_prompt = Some(prompt);
                }
            }
        }
        Kind::Assistant => {
            parts.has_conversation = true;
            parts.assistant_lines += 1;
            if let Some(message) = entry.message()
                && !message.is_synthetic()
            {
                digest.model =
                    message.model().map(|model| model.into_owned()).or(digest.model.take());
            }
        }
        Kind::LastPrompt => {
            let prompt = entry.last_prompt().and_then(|last| last.prompt?.as_str());
            digest.last_prompt = prompt.map(|text| shortened(&text)).or(digest.last_prompt.take());
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
        return "[picture]".into();
    }
    shortened(&text)
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

fn memchr_newline(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n')
}

/// Reads more of the start of a file, up to `wanted` bytes in all.
fn grow(file: &File, buffer: &mut Vec<u8>, wanted: usize) -> io::Result<()> {
    let before = buffer.len();
    buffer.resize(wanted.max(before), 0);
    let read = read_fully(file, &mut buffer[before..], before as u64)?;
    buffer.truncate(before + read);
    Ok(())
}

fn read_fully(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match read_at(file, &mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

#[cfg(test)]
#[path = "digest_tests.rs"]
mod tests;
