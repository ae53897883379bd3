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
use recto_session::export::Format;
use recto_session::export::IndexRow;
use recto_session::export::index_page;
use recto_session::redact::Level;
use recto_session::redact::Options;
use recto_session::redact::RedactError;
use recto_session::redact::Redactor;
use recto_session::redact::ThinkingPolicy;
use recto_session::usage::PriceTable;
use recto_store::Home;
use recto_store::LogFile;
use recto_store::open_file;
use recto_view::ExportFormat;
use recto_view::ExportSource;
use recto_view::ItemRow;
use recto_view::Listing;

use crate::commands::ls;
use crate::edit::redaction::LevelArgs;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::target;
use crate::terminal::document_file::DocumentFile;
use crate::terminal::document_file::Existing;
use crate::terminal::output::Output;
use crate::terminal::output::Progress;
use crate::terminal::overflow::OverflowFiles;
use crate::terminal::overflow::Wanted;
use crate::terminal::text::bytes;
use crate::terminal::text::json_for_terminal;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// Write a session as Markdown, HTML or text
///
/// Or as XML or JSON. HTML is one file without scripts or remote resources that reads well on
/// a phone. XML is a compact form to give to a model: it drops thinking and the texts Claude
/// Code adds, and marks repeated results. JSON contains the items that every other format
/// shows.
///
/// Without --output the document goes to standard output.
///
/// With --redact, recto replaces secrets such as keys, tokens and passwords by
/// `[REDACTED:rule:hash]`. The hash shows which of them are the same. --strict and --plain
/// choose how much counts as a secret, and imply --redact. A secret of an unknown form, with
/// nothing beside it that says what it is, stays: look through the document before you share
/// it.
///
/// Examples:
///   recto export latest --to html --output session.html
///   recto export latest --to xml | wc -c
///   recto export --all --to md --output notes/
///   recto export latest --redact --to html --output share.html
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
    #[arg(long, short, alias = "out", value_name = "PATH")]
    output: Option<PathBuf>,
    /// Write every session of the home, and an index page
    #[arg(long, requires = "output")]
    all: bool,
    /// Replace existing files
    #[arg(long)]
    force: bool,
    /// Replace secrets by placeholders
    #[arg(long)]
    redact: bool,
    #[command(flatten)]
    level: LevelArgs,
}

impl ExportArgs {
    fn existing(&self) -> Existing {
        Existing::forced(self.force)
    }

    fn secrets(&self) -> Secrets {
        match self.level.given() {
            Some(level) => Secrets::Redact(level),
            None if self.redact => Secrets::Redact(self.level.level()),
            None => Secrets::Show,
        }
    }
}

/// What becomes of secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Secrets {
    Show,
    Redact(Level),
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
    fn format(self) -> ExportFormat {
        match self {
            To::Md => ExportFormat::Document(Format::Markdown),
            To::Html => ExportFormat::Document(Format::Html),
            To::Xml => ExportFormat::Document(Format::Xml),
            To::Json => ExportFormat::Items,
            To::Txt => ExportFormat::Document(Format::Text),
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
        let directory = args.output.clone().unwrap_or_default();
        return export_all(home, environment, output, &directory, args);
    }
    let inventory = home.inventory();
    let found = target::find(home, &inventory, environment, &args.session)?;
    let redactor = redactor(&found, args.secrets())?;
    match &args.output {
        Some(path) => {
            let to = Place { format, path, existing: args.existing() };
            let done = export_to_file(home, &found, redactor.as_ref(), to)?;
            output.remark(&format!(
                "wrote {}: {} from a log of {} ({} %)",
                path.display(),
                bytes(done.written),
                bytes(done.read),
                (done.written * 100).checked_div(done.read).unwrap_or(0)
            ));
            tell_replaced(output, args, done.replaced);
        }
        None => {
            // On a terminal the document is text like any other: made safe.
            let is_terminal = output.is_terminal;
            output.page();
            let done = export(home, &found, format, redactor.as_ref(), &mut |text| {
                if is_terminal {
                    output.bytes(crate::terminal::text::safe(text).as_bytes())
                } else {
                    output.bytes(text.as_bytes())
                }
            })?;
            tell_replaced(output, args, done.replaced);
        }
    }
    Ok(Outcome::Done)
}

fn tell_replaced(output: &mut Output, args: &ExportArgs, replaced: u64) {
    match args.secrets() {
        Secrets::Show => {}
        Secrets::Redact(_) => output.remark(&format!("replaced {}", plural(replaced, "secret"))),
    }
}

/// How much was read and written, and how many secrets were replaced.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Done {
    read: u64,
    pub(crate) written: u64,
    replaced: u64,
}

/// What replaces the secrets of a log, if they are to be replaced. Goes through the
/// log, so that a secret is known where it stands alone.
fn redactor(found: &LogFile, secrets: Secrets) -> Result<Option<Redactor>, CommandError> {
    let level = match secrets {
        Secrets::Show => return Ok(None),
        Secrets::Redact(level) => level,
    };
    let refused = |error: RedactError| CommandError::user("redact", error.to_string());
    // A document is not sent to the API: that thinking was signed does not matter.
    let options = Options { level, thinking: ThinkingPolicy::Replace, ..Options::default() };
    let mut collector = Redactor::new(options).map_err(refused)?.collector();
    let mut lines = LineReader::new(open_file(&found.path)?);
    while let Some(line) = lines.next_line()? {
        collector.line(line.bytes);
    }
    collector.finish().map(Some).map_err(refused)
}

/// Writes the document piece by piece.
fn export(
    home: &Home,
    found: &LogFile,
    format: ExportFormat,
    redactor: Option<&Redactor>,
    write: &mut dyn FnMut(&str) -> Result<(), CommandError>,
) -> Result<Done, CommandError> {
    let source = ExportSource {
        path: &found.path,
        name: &found.name(),
        is_agent: found.is_agent(),
        redactor,
    };
    // The other formats are cleaned as they are written; JSON keeps its values.
    let done = recto_view::export_log(home, source, format, &mut |text: &str| match format {
        ExportFormat::Items => write(&json_for_terminal(text.as_bytes())),
        _ => write(text),
    })?;
    Ok(Done { read: done.read, written: 0, replaced: done.replaced })
}

/// Writes the items of a log as JSON lines.
pub(crate) fn write_items(
    found: &LogFile,
    files: &OverflowFiles<'_>,
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
    mut shown: Shown,
    files: &OverflowFiles<'_>,
    wanted: Wanted,
    output: &mut Output,
) -> Result<(), CommandError> {
    files.complete(&mut shown.item, wanted);
    output.row(&ItemRow::whole(&shown))
}

/// Where a document goes, and as what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) format: ExportFormat,
    pub(crate) path: &'a Path,
    pub(crate) existing: Existing,
}

/// Writes the document of a log to its place.
pub(crate) fn export_to_file(
    home: &Home,
    found: &LogFile,
    redactor: Option<&Redactor>,
    to: Place<'_>,
) -> Result<Done, CommandError> {
    let mut file =
        DocumentFile::begin(to.path, to.existing).map_err(|error| match error.kind() {
            "is-a-directory" => error.with_hint("name a file, or use --all"),
            _ => error,
        })?;
    let mut written = 0;
    let done = export(home, found, to.format, redactor, &mut |text| {
        written += text.len() as u64;
        Ok(file.write_all(text.as_bytes())?)
    })?;
    file.finish()?;
    Ok(Done { written, ..done })
}

fn export_all(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    directory: &Path,
    args: &ExportArgs,
) -> Result<Outcome, CommandError> {
    let format = args.to.format();
    fs_err::create_dir_all(directory)?;
    let inventory = home.inventory();
    let library = environment.library(home, PriceTable::default());
    let rows = library.listed(&Listing::default(), &inventory);
    let progress = Progress::new("writing", output);
    let mut all = Done::default();
    let mut index = Vec::new();
    let mut skipped = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        let found: &LogFile = &row.session;
        let name = format!("{}.{}", row.session.id, format.extension());
        let path = directory.join(&name);
        let to = Place { format, path: &path, existing: args.existing() };
        let exported = redactor(found, args.secrets()).and_then(|redactor| {
            Ok((export_to_file(home, found, redactor.as_ref(), to)?, redactor))
        });
        let (done, redactor) = match exported {
            Ok(exported) => exported,
            // One log that cannot be read is no reason to go without the others.
            Err(CommandError::Store(error)) => {
                skipped.push(one_line(&error.to_string()));
                continue;
            }
            Err(error) => return Err(error),
        };
        all.read += done.read;
        all.written += done.written;
        all.replaced += done.replaced;
        let time = crate::terminal::text::clock(row.session.modified());
        let title = match &redactor {
            None => ls::title(row),
            Some(redactor) => redactor.text(&ls::title(row)).text.into_owned(),
        };
        index.push(IndexRow { title, file: name, time });
        progress.tell(at as u64, rows.len() as u64);
    }
    progress.done();
    for skipped in &skipped {
        output.remark(&format!("skipped: {skipped}"));
    }
    let written = index.len() as u64;
    let (index_name, index) = index_page(format.index_format(), &index);
    let index_path = directory.join(index_name);
    DocumentFile::write(&index_path, args.existing(), &index)?;
    output.remark(&format!(
        "wrote {} to {}: {} from logs of {}",
        plural(written, "session"),
        directory.display(),
        bytes(all.written),
        bytes(all.read)
    ));
    tell_replaced(output, args, all.replaced);
    Ok(if rows.is_empty() || !skipped.is_empty() { Outcome::Found } else { Outcome::Done })
}
