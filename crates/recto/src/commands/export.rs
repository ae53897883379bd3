//! `recto export`: a session as a document.

use std::io::Write;
use std::path::Path;
use std::path::PathBuf;

use clap::Args;
use clap::ValueEnum;
use recto_log::LineReader;
use recto_log::decode;
use recto_session::Feed;
use recto_session::Shown;
use recto_session::export::Document;
use recto_session::export::Format;
use recto_session::export::Head;
use recto_session::export::IndexRow;
use recto_session::export::Placed;
use recto_session::export::index_page;
use recto_session::export::item_json;
use recto_store::Digest;
use recto_store::Home;
use recto_store::open_file;

use crate::commands::ls::Listing;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::output::Output;
use crate::output::Progress;
use crate::overflow::MOST_IN_DOCUMENT;
use crate::overflow::OverflowFiles;
use crate::overflow::Wanted;
use crate::target;
use crate::target::Target;
use crate::text::bytes;
use crate::text::json_for_terminal;
use crate::text::plural;

/// Write a session as Markdown, HTML, XML, JSON or text
///
/// HTML is one file without scripts or remote loads that reads well on a phone.
/// XML is a compact form for feeding a model: thinking and the client's own
/// texts are dropped and repeated results are named. JSON holds the items that
/// every other form shows.
///
/// Without --out the document goes to standard output.
///
/// Examples:
///   recto export latest --to html --out session.html
///   recto export latest --to xml | wc -c
///   recto export --all --to md --out notes/
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ExportArgs {
    /// The session
    #[arg(default_value = "latest", conflicts_with = "all")]
    session: String,
    /// The format
    #[arg(long, value_name = "FORMAT", default_value = "md")]
    to: To,
    /// The file to write, or the directory with --all
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Write every session of the home, and an index page
    #[arg(long, requires = "out")]
    all: bool,
    /// Replace files that are there
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum To {
    /// Markdown
    Md,
    /// One HTML file
    Html,
    /// Compact, for a model
    Xml,
    /// The items as JSON
    Json,
    /// Plain text
    Txt,
}

impl To {
    fn format(self) -> Format {
        match self {
            To::Md => Format::Markdown,
            To::Html => Format::Html,
            To::Xml => Format::Xml,
            To::Json => Format::Json,
            To::Txt => Format::Text,
        }
    }
}

pub(crate) fn cmd_export(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &ExportArgs,
) -> Result<Outcome, CommandError> {
    let format = args.to.format();
    if args.all {
        let directory = args.out.clone().unwrap_or_default();
        return export_all(home, output, &directory, format, args.force);
    }
    let inventory = home.inventory();
    let found = target::find(home, &inventory, environment, &args.session)?;
    match &args.out {
        Some(path) => {
            let (read, written) = export_to_file(home, &found, format, path, args.force)?;
            output.remark(&format!(
                "wrote {}: {} from a log of {} ({} %)",
                path.display(),
                bytes(written),
                bytes(read),
                (written * 100).checked_div(read).unwrap_or(0)
            ));
        }
        None => {
            // On a terminal the document is text like any other: made safe.
            let is_terminal = output.is_terminal;
            output.page();
            export(home, &found, format, &mut |text| {
                if is_terminal {
                    output.bytes(crate::text::safe(text).as_bytes())
                } else {
                    output.bytes(text.as_bytes())
                }
            })?;
        }
    }
    Ok(Outcome::Done)
}

/// Writes the document piece by piece. Returns the size of the log.
fn export(
    home: &Home,
    found: &Target,
    format: Format,
    write: &mut dyn FnMut(&str) -> Result<(), CommandError>,
) -> Result<u64, CommandError> {
    const PIECE: usize = 64 * 1024;
    let digest = Digest::read(&found.path, found.is_agent)?;
    let file = open_file(&found.path)?;
    let mut text = String::new();
    let mut document = Document::begin(format, &head(found, &digest), &mut text);
    let mut lines = LineReader::new(file);
    let mut feed = Feed::default();
    let files = OverflowFiles::new(home, &found.path);
    // What the model could not take is nothing for feeding a model.
    let wanted = match format {
        Format::Xml => Wanted::Nothing,
        Format::Markdown | Format::Html | Format::Json | Format::Text => {
            Wanted::Bytes(MOST_IN_DOCUMENT)
        }
    };
    let add = |shown: Vec<Shown>, document: &mut Document, text: &mut String| {
        for Shown { turn, origin, mut item } in shown {
            files.complete(&mut item, wanted);
            document.add(Placed { turn, origin: &origin, item: &item }, text);
        }
    };
    // The other formats are cleaned as they are written; JSON keeps its values.
    let mut write_piece = |text: &str| match format {
        Format::Json => write(&json_for_terminal(text.as_bytes())),
        _ => write(text),
    };
    let mut end = 0;
    while let Some(line) = lines.next_line()? {
        end = line.end();
        let (entry, _) = decode(line);
        add(feed.next(&entry), &mut document, &mut text);
        if text.len() >= PIECE {
            write_piece(&text)?;
            text.clear();
        }
    }
    add(feed.rest(), &mut document, &mut text);
    document.end(&mut text);
    write_piece(&text)?;
    Ok(end)
}

/// Writes the items of a log as JSON lines.
pub(crate) fn write_items(
    found: &Target,
    files: OverflowFiles<'_>,
    wanted: Wanted,
    output: &mut Output,
) -> Result<Outcome, CommandError> {
    let mut lines = LineReader::new(open_file(&found.path)?);
    let mut feed = Feed::default();
    while let Some(line) = lines.next_line()? {
        for shown in feed.next(&decode(line).0) {
            write_item(shown, files, wanted, output)?;
        }
    }
    for shown in feed.rest() {
        write_item(shown, files, wanted, output)?;
    }
    Ok(Outcome::Done)
}

/// Writes one item as a line of JSON.
pub(crate) fn write_item(
    shown: Shown,
    files: OverflowFiles<'_>,
    wanted: Wanted,
    output: &mut Output,
) -> Result<(), CommandError> {
    let Shown { turn, origin, mut item } = shown;
    files.complete(&mut item, wanted);
    output.json_line(item_json(Placed { turn, origin: &origin, item: &item }))
}

fn head(found: &Target, digest: &Digest) -> Head {
    let title =
        digest.title.as_ref().map_or_else(|| found.name.clone(), |(title, _)| title.clone());
    let time = |time: Option<jiff::Timestamp>| time.map(|time| format!("{time:.0}"));
    let facts = [
        ("session", Some(found.name.clone())),
        ("directory", digest.cwd.clone()),
        ("branch", digest.branch.clone()),
        ("model", digest.model.clone()),
        ("client", digest.version.clone()),
        ("started", time(digest.started)),
        ("ended", time(digest.ended)),
    ];
    let facts = facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    Head { id: found.name.clone(), title, facts }
}

/// Writes beside the place and moves there at the end, so that a half-written
/// document is never found under its name.
fn export_to_file(
    home: &Home,
    found: &Target,
    format: Format,
    path: &Path,
    force: bool,
) -> Result<(u64, u64), CommandError> {
    if path.is_dir() {
        let message = format!("{} is a directory", path.display());
        return Err(
            CommandError::user("is-a-directory", message).with_hint("name a file, or use --all")
        );
    }
    if path.exists() && !force {
        let message = format!("{} exists", path.display());
        return Err(CommandError::user("exists", message).with_hint("--force replaces it"));
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let mut file = tempfile::NamedTempFile::new_in(directory.unwrap_or(Path::new(".")))?;
    let mut written = 0;
    let read = export(home, found, format, &mut |text| {
        written += text.len() as u64;
        Ok(file.write_all(text.as_bytes())?)
    })?;
    file.persist(path).map_err(|error| CommandError::from(error.error))?;
    Ok((read, written))
}

fn export_all(
    home: &Home,
    output: &mut Output,
    directory: &Path,
    format: Format,
    force: bool,
) -> Result<Outcome, CommandError> {
    fs_err::create_dir_all(directory)?;
    let inventory = home.inventory();
    let rows = Listing::default().rows(home, &inventory);
    let progress = Progress::new("writing", output);
    let (mut all_read, mut all_written) = (0, 0);
    let mut index = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let found = Target {
            path: row.session.path.clone(),
            session: Some(row.session.clone()),
            name: row.session.id.to_string(),
            is_agent: false,
        };
        let name = format!("{}.{}", row.session.id, format.extension());
        let (read, written) = export_to_file(home, &found, format, &directory.join(&name), force)?;
        all_read += read;
        all_written += written;
        let time = crate::text::clock(row.session.modified);
        index.push(IndexRow { title: row.title(), file: name, time });
        progress.tell(at as u64, rows.len() as u64);
    }
    progress.done();
    let (index_name, index) = index_page(format, &index);
    let index_path = directory.join(index_name);
    if index_path.exists() && !force {
        let message = format!("{} exists", index_path.display());
        return Err(CommandError::user("exists", message).with_hint("--force replaces it"));
    }
    fs_err::write(&index_path, index)?;
    output.remark(&format!(
        "wrote {} to {}: {} from logs of {}",
        plural(rows.len() as u64, "session"),
        directory.display(),
        bytes(all_written),
        bytes(all_read)
    ));
    Ok(if rows.is_empty() { Outcome::Found } else { Outcome::Done })
}
