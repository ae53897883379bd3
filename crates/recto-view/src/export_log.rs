//! A log as a document, with what the files beside it hold.

use std::collections::HashMap;
use std::collections::HashSet;
use std::io;
use std::path::Path;

use recto_log::AgentId;
use recto_log::Entry;
use recto_log::EntryUuid;
use recto_log::LineReader;
use recto_log::decode;
use recto_session::Feed;
use recto_session::Item;
use recto_session::Shown;
use recto_session::export::Document;
use recto_session::export::Format;
use recto_session::export::Head;
use recto_session::export::Placed;
use recto_session::redact;
use recto_session::redact::Redactor;
use recto_store::Digest;
use recto_store::Home;
use recto_store::OverflowFiles;
use recto_store::OverflowWanted;
use recto_store::StoreError;
use recto_store::agent_log_beside;
use recto_store::open_file;
use serde::Serialize;

use crate::ItemRow;

/// How much of a file beside the log goes into a document at most.
const MOST_IN_DOCUMENT: u64 = 1024 * 1024;

/// What a log is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// A document to read.
    Document(Format),
    /// Its items as JSON, the rows of [`ItemRow`]: `{"recto":1,"session":{…},"items":[…]}`.
    Items,
}

impl ExportFormat {
    /// The ending of a file of this format.
    pub fn extension(self) -> &'static str {
        match self {
            ExportFormat::Document(format) => format.extension(),
            ExportFormat::Items => "json",
        }
    }

    /// The format of a page that lists many of these.
    pub fn index_format(self) -> Format {
        match self {
            ExportFormat::Document(format) => format,
            ExportFormat::Items => Format::Markdown,
        }
    }
}

/// A document that is being written.
enum Writer {
    Document(Document),
    Items { is_first: bool },
}

impl Writer {
    fn begin(format: ExportFormat, head: &Head, out: &mut String) -> Result<Writer, StoreError> {
        Ok(match format {
            ExportFormat::Document(format) => Writer::Document(Document::begin(format, head, out)),
            ExportFormat::Items => {
                let named = [("id", head.id.as_str()), ("title", head.title.as_str())];
                let facts = head.facts.iter().map(|(name, fact)| (*name, fact.as_str()));
                let all = named.into_iter().chain(facts);
                let session: serde_json::Map<String, serde_json::Value> =
                    all.map(|(name, fact)| (name.to_owned(), fact.into())).collect();
                out.push_str("{\"recto\":1,\"session\":");
                out.push_str(&json(&session)?);
                out.push_str(",\"items\":[");
                Writer::Items { is_first: true }
            }
        })
    }

    fn add(&mut self, shown: &Shown, out: &mut String) -> Result<(), StoreError> {
        match self {
            Writer::Document(document) => {
                let Shown { turn, origin, item } = shown;
                document.add(Placed { turn: *turn, origin, item }, out);
            }
            Writer::Items { is_first } => {
                out.push_str(if std::mem::take(is_first) { "\n" } else { ",\n" });
                out.push_str(&json(&ItemRow::whole(shown))?);
            }
        }
        Ok(())
    }

    fn end(self, out: &mut String) {
        match self {
            Writer::Document(document) => document.end(out),
            Writer::Items { .. } => out.push_str("\n]}\n"),
        }
    }
}

fn json(row: &impl Serialize) -> Result<String, StoreError> {
    serde_json::to_string(row).map_err(|error| io::Error::from(error).into())
}

/// What to make a document of.
#[derive(Clone, Copy)]
pub struct ExportSource<'a> {
    /// The log.
    pub path: &'a Path,
    /// What it is called in the document.
    pub name: &'a str,
    /// Whether it is that of a subagent.
    pub is_agent: bool,
    /// What replaces secrets, if they are to be replaced.
    pub redactor: Option<&'a Redactor>,
}

/// How much was read, and how many secrets were replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exported {
    /// Bytes of the log.
    pub read: u64,
    /// Secrets that were replaced.
    pub replaced: u64,
}

/// Writes a log as a document, piece by piece.
pub fn export_log<E: From<StoreError>>(
    home: &Home,
    source: ExportSource<'_>,
    format: ExportFormat,
    write: &mut dyn FnMut(&str) -> Result<(), E>,
) -> Result<Exported, E> {
    const PIECE: usize = 64 * 1024;
    let mut done = Exported::default();
    let redactor = source.redactor;
    let digest = Digest::read(source.path, source.is_agent)?;
    let mut lines = LineReader::new(open_file(source.path)?);
    let mut text = String::new();
    let mut head = head(source.name, &digest);
    if let Some(redactor) = redactor {
        let texts = head.facts.iter_mut().map(|(_, text)| text).chain([&mut head.title]);
        for text in texts {
            *text = redactor.text(text).text.into_owned();
        }
    }
    let mut document = Writer::begin(format, &head, &mut text)?;
    let mut feed = Feed::default();
    let files = OverflowFiles::new(home, source.path);
    let mut told_agents = ToldAgents::of(source);
    // What the model could not take is nothing for feeding a model.
    let wanted = match format {
        ExportFormat::Document(Format::Xml) => OverflowWanted::Nothing,
        _ => OverflowWanted::Bytes(MOST_IN_DOCUMENT),
    };
    let mut replaced = 0;
    let mut add = |shown: Vec<Shown>, document: &mut Writer, text: &mut String| {
        shown.into_iter().try_for_each(|mut shown| {
            files.complete(&mut shown.item, wanted);
            if let Some(redactor) = redactor {
                replaced += redact_overflow(redactor, &mut shown.item);
            }
            document.add(&shown, text)
        })
    };
    while let Some(mut line) = lines.next_line().map_err(StoreError::from)? {
        done.read = line.end();
        // Every format is made of what is decoded below; only files beside the
        // log come in later, and are cleaned there.
        let outcome = redactor.map(|redactor| redactor.line(line.bytes));
        if let Some(redact::Outcome::Changed(change)) = &outcome {
            done.replaced += change.findings.len() as u64;
            line.length = line.length - line.bytes.len() as u64 + change.bytes.len() as u64;
            line.bytes = &change.bytes;
        }
        let (entry, _) = decode(line);
        add(feed.next(&entry), &mut document, &mut text)?;
        // What subagents said is in documents only where no log has it.
        if let Some(told) = entry.agent_progress()
            && told_agents.is_without_log(&told.agent)
        {
            let (line, _) = decode(told.line);
            if told_agents.is_new(&line) {
                add(feed.told(&line), &mut document, &mut text)?;
            }
        }
        if text.len() >= PIECE {
            write(&text)?;
            text.clear();
        }
    }
    add(feed.rest(), &mut document, &mut text)?;
    document.end(&mut text);
    write(&text)?;
    done.replaced += replaced;
    Ok(done)
}

/// Which subagents have no log beside the one that tells of them.
struct ToldAgents<'a> {
    log: &'a Path,
    without_log: HashMap<AgentId, bool>,
    /// The lines that were told; progress can say one again.
    seen: HashSet<EntryUuid>,
}

impl<'a> ToldAgents<'a> {
    fn of(source: ExportSource<'a>) -> ToldAgents<'a> {
        ToldAgents { log: source.path, without_log: HashMap::new(), seen: HashSet::new() }
    }

    fn is_without_log(&mut self, agent: &AgentId) -> bool {
        if let Some(known) = self.without_log.get(agent) {
            return *known;
        }
        let is_gone = agent_log_beside(self.log, agent).is_none();
        self.without_log.insert(agent.clone(), is_gone);
        is_gone
    }

    fn is_new(&mut self, line: &Entry<'_>) -> bool {
        line.uuid().is_none_or(|uuid| self.seen.insert(uuid))
    }
}

/// Replaces the secrets in what a result's file says.
fn redact_overflow(redactor: &Redactor, item: &mut Item) -> u64 {
    let Item::Result { overflow: Some(overflow), .. } = item else { return 0 };
    let Some(text) = &mut overflow.text else { return 0 };
    let redacted = redactor.text(text);
    let count = redacted.findings.len() as u64;
    let clean = redacted.text.into_owned();
    *text = clean;
    count
}

fn head(name: &str, digest: &Digest) -> Head {
    let title = digest.title.as_ref().map_or_else(|| name.to_owned(), |(title, _)| title.clone());
    let time = |time: Option<jiff::Timestamp>| time.map(|time| format!("{time:.0}"));
    let facts = [
        ("session", Some(name.to_owned())),
        ("directory", digest.cwd.clone()),
        ("branch", digest.branch.clone()),
        ("model", digest.model.clone()),
        ("client", digest.version.clone()),
        ("started", time(digest.started)),
        ("ended", time(digest.ended)),
    ];
    let facts = facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    Head { id: name.to_owned(), title, facts }
}
