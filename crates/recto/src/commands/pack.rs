//! `recto pack`: sessions as one file.

use std::io::BufWriter;
use std::path::Path;
use std::path::PathBuf;

use clap::Args;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_session::edit::LineFilter;
use recto_session::redact::Level;
use recto_session::redact::Options;
use recto_session::redact::Outcome as Redacted;
use recto_session::redact::Redactor;
use recto_session::usage::PriceTable;
use recto_store::EditError;
use recto_store::Home;
use recto_store::Inventory;
use recto_store::SessionFile;
use recto_store::StoreError;
use recto_store::open_file;
use recto_store::pack::Content;
use recto_store::pack::Package;
use recto_store::pack::Unreadable;
use recto_store::pack::memory_files;
use recto_view::Listing;

use crate::edit::journal;
use crate::edit::redaction::LevelArgs;
use crate::edit::redaction::collect;
use crate::edit::redaction::redact_text;
use crate::edit::redaction::refused;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::filter::FilterArgs;
use crate::select::target;
use crate::terminal::document_file::DocumentFile;
use crate::terminal::document_file::Existing;
use crate::terminal::output::Output;
use crate::terminal::text::bytes;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// Options that choose sessions without naming them.
const CHOOSERS: [&str; 6] = ["all", "project", "since", "until", "model", "branch"];

/// Pack sessions into one file
///
/// For another machine or account. The file contains the logs and everything that belongs to
/// them: subagents, long results, to-do lists, tasks, file snapshots. recto reads nothing
/// else, and skips files whose names suggest secrets. The text is unchanged: `recto unpack`
/// brings back every byte and timestamp.
///
/// With --redact, recto replaces secrets by `[REDACTED:rule:hash]` in logs, long results and
/// lists, and skips file versions. --strict and --plain choose how much counts as a secret,
/// and imply --redact. Thinking that contained a secret no longer matches its signature: to
/// resume such a session elsewhere, `recto redact` it first.
///
/// --all includes logs without a conversation. Memory belongs to a project, not to a session,
/// and stays; recto reports how much of it exists.
///
/// Examples:
///   recto pack latest
///   recto pack --project ~/code/app --output app.recto
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct PackArgs {
    /// The sessions
    #[arg(value_name = "SESSION", required_unless_present_any = CHOOSERS, conflicts_with_all = CHOOSERS)]
    sessions: Vec<String>,
    /// All sessions; with filters, those that match
    #[arg(long)]
    all: bool,
    /// The archive [default: ID.recto, or sessions.recto if there are more]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace secrets by placeholders
    #[arg(long)]
    redact: bool,
    #[command(flatten)]
    level: LevelArgs,
    #[command(flatten)]
    filter: FilterArgs,
}

pub(crate) fn cmd_pack(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &PackArgs,
) -> Result<Outcome, CommandError> {
    // Of many sessions those of the home are packed; one that is named and only archived is told.
    let inventory = match args.sessions.is_empty() {
        true => home.without_archive().inventory(),
        false => home.inventory(),
    };
    let sessions = chosen(home, &inventory, environment, args)?;
    if sessions.is_empty() {
        let error = CommandError::user("not-found", "no session matches the filters");
        return Err(error.with_hint("`recto ls` takes the same filters"));
    }
    let path = match (&args.output, sessions.as_slice()) {
        (Some(path), _) => path.clone(),
        (None, [one]) => PathBuf::from(format!("{}.recto", one.id)),
        (None, _) => PathBuf::from("sessions.recto"),
    };
    let existing = Existing::Keep { hint: "--output names another file" };
    let archive = DocumentFile::begin(&path, existing)?;
    // What was named must be there. Of many, one that cannot be read is no reason to go
    // without the others.
    let unreadable = match args.sessions.is_empty() {
        true => Unreadable::Skip,
        false => Unreadable::Fail,
    };
    let content = content(home, &inventory, &sessions, args, unreadable)?;
    let how = (unreadable, content);
    let package = Package::plan(home, &inventory, &sessions, how, environment.now())?;
    if package.manifest.sessions.is_empty() {
        tell_skipped(output, &package);
        return Err(CommandError::user("not-found", "no session could be packed"));
    }
    package.write(BufWriter::new(archive.file()))?;
    let size = archive.finish_durably()?;
    tell_skipped(output, &package);
    let memory = if args.all { memory_files(&sessions) } else { 0 };
    tell(home, output, &package, &Archive { path: &path, size, memory })?;
    Ok(if package.skipped.is_empty() { Outcome::Done } else { Outcome::Found })
}

fn tell_skipped(output: &mut Output, package: &Package) {
    for error in &package.skipped {
        output.remark(&format!("skipped: {}", one_line(&error.to_string())));
    }
}

/// What becomes of the content: secrets are those of all the sessions together.
fn content(
    home: &Home,
    inventory: &Inventory,
    sessions: &[SessionFile],
    args: &PackArgs,
    unreadable: Unreadable,
) -> Result<Content, CommandError> {
    let level = args.level.given().or(args.redact.then_some(Level::default()));
    let Some(level) = level else { return Ok(Content::AsItIs) };
    let redactor = Redactor::new(Options { level, ..Options::default() }).map_err(refused)?;
    let mut files = Vec::new();
    for session in sessions {
        let parts = home.parts_of(inventory, session)?.files;
        files.extend(parts.into_iter().filter(|path| !path.starts_with(home.file_history())));
    }
    // What cannot be read is skipped, and said, when it is packed.
    if unreadable == Unreadable::Skip {
        files.retain(|path| open_file(path).is_ok());
    }
    let redactor = collect(redactor, &files)?;
    Ok(Content::Filtered(LineFilter::new(move |line| match redactor.line(line) {
        Redacted::Changed(change) => Some(change.bytes),
        Redacted::Unchanged => redact_text(&redactor, line),
    })))
}

/// What was written, and what was not.
struct Archive<'a> {
    path: &'a Path,
    size: u64,
    memory: u64,
}

fn chosen(
    home: &Home,
    inventory: &Inventory,
    environment: &Environment,
    args: &PackArgs,
) -> Result<Vec<SessionFile>, CommandError> {
    if args.sessions.is_empty() {
        let filter = args.filter.read(environment.now())?;
        let library = environment.library(home, PriceTable::default());
        let rows =
            library.listed(&Listing { filter, all: args.all, ..Listing::default() }, inventory);
        return Ok(rows.into_iter().map(|row| row.session).collect());
    }
    let mut sessions: Vec<SessionFile> = Vec::new();
    for text in &args.sessions {
        let target = target::find(home, inventory, environment, text)?;
        let session = &journal::session_of(&target)?;
        if session.is_archived() {
            return Err(StoreError::from(EditError::Archived { session: session.id }).into());
        }
        if !sessions.iter().any(|other| other.path == session.path) {
            sessions.push(session.clone());
        }
    }
    Ok(sessions)
}

fn tell(
    home: &Home,
    output: &mut Output,
    package: &Package,
    archive: &Archive<'_>,
) -> Result<(), CommandError> {
    let manifest = &package.manifest;
    let Archive { path, size, memory } = *archive;
    if output.json {
        let sessions = manifest.sessions.iter();
        let sessions =
            sessions.fold(ArrayWriter::new(), |all, session| all.string(&session.id.to_string()));
        let left_out = package.left_out.iter();
        let left_out =
            left_out.fold(ArrayWriter::new(), |all, path| all.string(&path.to_string_lossy()));
        let object = ObjectWriter::new()
            .string("archive", &path.to_string_lossy())
            .json("sessions", &sessions.finish())
            .number("files", manifest.file_count() as u64)
            .number("bytes", manifest.bytes())
            .number("archive_bytes", size)
            .json("left_out", &left_out.finish())
            .number("skipped", package.skipped.len() as u64)
            .number("memory_left_out", memory);
        return output.json_line(object);
    }
    for path in &package.left_out {
        let path = one_line(&home.relative(path).to_string_lossy());
        output.remark(&format!("skipped, may contain a secret: {path}"));
    }
    if memory > 0 {
        output.remark(&format!(
            "not packed: {}, which belong to projects and not to sessions",
            plural(memory, "memory file")
        ));
    }
    output.line(&format!(
        "packed {} ({}, {}) into {} ({})",
        plural(manifest.sessions.len() as u64, "session"),
        plural(manifest.file_count() as u64, "file"),
        bytes(manifest.bytes()),
        one_line(&path.display().to_string()),
        bytes(size)
    ))
}
