//! A log as a document, with what the files beside it hold.

use std::path::Path;

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
use recto_store::open_file;

/// How much of a file beside the log goes into a document at most.
const MOST_IN_DOCUMENT: u64 = 1024 * 1024;

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
    format: Format,
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
    let mut document = Document::begin(format, &head, &mut text);
    let mut feed = Feed::default();
    let files = OverflowFiles::new(home, source.path);
    // What the model could not take is nothing for feeding a model.
    let wanted = match format {
        Format::Xml => OverflowWanted::Nothing,
        Format::Markdown | Format::Html | Format::Json | Format::Text => {
            OverflowWanted::Bytes(MOST_IN_DOCUMENT)
        }
    };
    let mut replaced = 0;
    let mut add = |shown: Vec<Shown>, document: &mut Document, text: &mut String| {
        for Shown { turn, origin, mut item } in shown {
            files.complete(&mut item, wanted);
            if let Some(redactor) = redactor {
                replaced += redact_overflow(redactor, &mut item);
            }
            document.add(Placed { turn, origin: &origin, item: &item }, text);
        }
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
        add(feed.next(&entry), &mut document, &mut text);
        if text.len() >= PIECE {
            write(&text)?;
            text.clear();
        }
    }
    add(feed.rest(), &mut document, &mut text);
    document.end(&mut text);
    write(&text)?;
    done.replaced += replaced;
    Ok(done)
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
