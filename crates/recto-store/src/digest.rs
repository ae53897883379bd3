//! What a listing says of a session, from the head and the tail of its log.
//!
//! The head has the first prompt, the directory and the start; the tail has
//! the title and the last state, because the client appends them again and
//! again. The middle is never read.

use std::fs::File;
use std::io;
use std::path::Path;

use jiff::Timestamp;
use memchr::memchr;
use memchr::memmem;
use memchr::memrchr;
use recto_log::Block;
use recto_log::Content;
use recto_log::Entry;
use recto_log::Kind;
use recto_log::Lines;
use recto_log::RawLine;
use recto_log::UserText;
use recto_log::classify_user;
use recto_log::decode;
use recto_log::json::Object;
use recto_session::command_text;

use crate::StoreError;
use crate::open::open_sized;
use crate::platform::read_at;

/// How much of the head is read at first, and at most.
const HEAD: usize = 4 * 1024;
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
        let (file, length) = open_sized(path)?;
        let mut digest = Digest::default();
        if length == 0 {
            digest.kind = FileKind::Empty;
            return Ok(digest);
        }
        let mut parts = Parts::default();
        let head = read_head(&file, length, &mut digest, &mut parts)?;
        let tail = read_tail(&file, length, &head)?;
        digest_tail(&tail, &mut digest, &mut parts);
        digest.first_prompt = digest.first_prompt.take().or(parts.first_command.take());
        parts.find_own_summary(&head.bytes, &tail);
        digest.kind = parts.kind(&digest, is_agent, head.looked >= length);
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
    assistant_lines: usize,
    /// A slash command, which stands in where no prompt was typed.
    first_command: Option<String>,
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

    /// Notes a title; the head is read before the tail, and the tail backwards.
    fn note_title(&mut self, entry: &Entry<'_>, side: Side) {
        let Some(title) = entry.title() else { return };
        let title = shortened(&title);
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
struct Head {
    bytes: Vec<u8>,
    looked: u64,
}

/// Reads the head in growing pieces until it says everything.
fn read_head(
    file: &File,
    length: u64,
    digest: &mut Digest,
    parts: &mut Parts,
) -> Result<Head, StoreError> {
    let mut head = Head { bytes: Vec::new(), looked: 0 };
    loop {
        let wanted =
            if head.bytes.is_empty() { HEAD } else { (head.bytes.len() * 4).min(HEAD_MOST) };
        let wanted = wanted.min(usize::try_from(length).unwrap_or(usize::MAX));
        grow(file, &mut head.bytes, wanted)?;
        let is_whole = head.bytes.len() as u64 >= length;
        for line in Lines::new(&head.bytes[head.looked as usize..]).starting_at(head.looked, 1) {
            if !line.terminated && !is_whole {
                // The last line of the piece is cut; what is whole in it still counts.
                if head.bytes.len() >= HEAD_MOST {
                    digest_cut_line(line.bytes, digest);
                }
                break;
            }
            head.looked = line.end();
            digest_line(&decode(line).0, digest, parts);
            if digest.first_prompt.is_some() && digest.cwd.is_some() {
                return Ok(head);
            }
        }
        if is_whole || head.bytes.len() >= HEAD_MOST {
            return Ok(head);
        }
    }
}

/// The end of the log, as far as the head has not looked at it.
fn read_tail(file: &File, length: u64, head: &Head) -> Result<Vec<u8>, StoreError> {
    if head.looked >= length {
        return Ok(Vec::new());
    }
    let start = head.looked.max(length.saturating_sub(TAIL as u64));
    if length <= head.bytes.len() as u64 {
        return Ok(head.bytes[start as usize..].to_vec());
    }
    let mut tail = vec![0; (length - start) as usize];
    let read = read_fully(file, &mut tail, start)?;
    tail.truncate(read);
    if start > head.looked {
        // The first line of the piece has lost its beginning.
        let first = memchr(b'\n', &tail).map_or(tail.len(), |at| at + 1);
        tail.drain(..first);
    }
    Ok(tail)
}

/// Looks at the lines of the tail, the last one first, and only at those that
/// can still say something new.
fn digest_tail(tail: &[u8], digest: &mut Digest, parts: &mut Parts) {
    let mut last = Digest::default();
    let mut titles = Parts::default();
    let finders = TELLING.map(memmem::Finder::new);
    let mut end = tail.len();
    while end > 0 {
        let stop = if tail[end - 1] == b'\n' { end - 1 } else { end };
        let start = memrchr(b'\n', &tail[..stop]).map_or(0, |at| at + 1);
        let line = &tail[start..stop];
        end = start;
        let says_state = last.ended.is_none() || last.version.is_none() || last.model.is_none();
        if !says_state && !may_tell(line, &finders) {
            continue;
        }
        let (entry, _) = decode(RawLine::alone(line));
        digest_line_backwards(&entry, &mut last, &mut titles);
    }
    parts.has_conversation |= titles.has_conversation;
    parts.assistant_lines += titles.assistant_lines;
    parts.custom = titles.custom.or(parts.custom.take());
    parts.ai = titles.ai.or(parts.ai.take());
    titles.summaries.append(&mut parts.summaries);
    parts.summaries = titles.summaries;
    digest.ended = last.ended.or(digest.ended);
    // The branch belongs to the line that tells the version.
    if last.version.is_some() {
        digest.version = last.version;
        digest.branch = last.branch;
    }
    digest.model = last.model.or(digest.model.take());
    digest.last_prompt = last.last_prompt.or(digest.last_prompt.take());
}

/// What marks a line of the tail that must be looked at in any case.
const TELLING: [&[u8]; 3] = [b"-title\"", b"\"summary\"", b"\"last-prompt\""];

/// Whether a line may hold a title or the last prompt. Clients write the type of
/// such a line first; of others, only short ones are searched.
fn may_tell(line: &[u8], finders: &[memmem::Finder<'_>]) -> bool {
    const SHORT: usize = 1024;
    let start = match line.strip_prefix(b"{\"type\":") {
        Some(rest) => &rest[..rest.len().min(32)],
        None if line.len() <= SHORT => line,
        None => return false,
    };
    finders.iter().any(|finder| finder.find(start).is_some())
}

/// The last line of each kind counts, which is the first one seen backwards.
fn digest_line_backwards(entry: &Entry<'_>, last: &mut Digest, parts: &mut Parts) {
    last.ended = last.ended.or_else(|| entry.timestamp());
    // Requests tell a version too, but no branch.
    if last.version.is_none()
        && entry.kind().in_chain()
        && let Some(version) = entry.version()
    {
        last.version = Some(version.into_owned());
        last.branch = entry.git_branch().map(|branch| branch.into_owned());
    }
    match entry.kind() {
        Kind::CustomTitle if parts.custom.is_none() => parts.note_title(entry, Side::Tail),
        Kind::AiTitle if parts.ai.is_none() => parts.note_title(entry, Side::Tail),
        Kind::Summary => parts.note_title(entry, Side::Tail),
        Kind::LastPrompt if last.last_prompt.is_none() => {
            last.last_prompt = last_prompt_text(entry);
        }
        Kind::User => parts.has_conversation = true,
        Kind::Assistant => {
            parts.has_conversation = true;
            parts.assistant_lines += 1;
            last.model = last.model.take().or_else(|| model_of(entry));
        }
        _ => {}
    }
}

fn last_prompt_text(entry: &Entry<'_>) -> Option<String> {
    Some(shortened(&entry.last_prompt()?.prompt?.as_str()?))
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
                } else if !prompt.is_empty() && digest.first_prompt.is_none() {
                    digest.first_prompt = Some(prompt);
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
