//! `recto pack`: sessions as one file.

use std::io::BufWriter;
use std::path::Path;
use std::path::PathBuf;

use clap::Args;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_session::usage::PriceTable;
use recto_store::Home;
use recto_store::Inventory;
use recto_store::SessionFile;
use recto_store::pack::Package;
use recto_view::Listing;

use crate::edit::journal;
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

/// Put sessions into one file, for another machine or account
///
/// The archive holds the logs and all that belongs to them: subagents, long
/// results, lists of things to do, tasks, versions of files. Nothing else is
/// read, and files that can hold secrets by their names are left out. What was
/// said is in it as it is: `recto unpack` brings back every byte and every time.
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
    /// All sessions; with filters, those that fit
    #[arg(long)]
    all: bool,
    /// The archive [default: ID.recto, or sessions.recto if there are more]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    filter: FilterArgs,
}

pub(crate) fn cmd_pack(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &PackArgs,
) -> Result<Outcome, CommandError> {
    let inventory = home.inventory();
    let sessions = chosen(home, &inventory, environment, args)?;
    if sessions.is_empty() {
        let error = CommandError::user("not-found", "no session fits the filters");
        return Err(error.with_hint("`recto ls` takes the same filters"));
    }
    let path = match (&args.output, sessions.as_slice()) {
        (Some(path), _) => path.clone(),
        (None, [one]) => PathBuf::from(format!("{}.recto", one.id)),
        (None, _) => PathBuf::from("sessions.recto"),
    };
    let existing = Existing::Keep { hint: "--output names another file" };
    let archive = DocumentFile::begin(&path, existing)?;
    let package = Package::plan(home, &inventory, &sessions, environment.now())?;
    package.write(BufWriter::new(archive.file()))?;
    let size = archive.finish_durably()?;
    tell(home, output, &package, &path, size)?;
    Ok(Outcome::Done)
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
        let rows = library.listed(&Listing { filter, ..Listing::default() }, inventory);
        return Ok(rows.into_iter().map(|row| row.session).collect());
    }
    let mut sessions: Vec<SessionFile> = Vec::new();
    for text in &args.sessions {
        let target = target::find(home, inventory, environment, text)?;
        let session = journal::session_of(&target)?;
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
    path: &Path,
    size: u64,
) -> Result<(), CommandError> {
    let manifest = &package.manifest;
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
            .json("left_out", &left_out.finish());
        return output.json_line(object);
    }
    for path in &package.left_out {
        let path = one_line(&home.relative(path).to_string_lossy());
        output.remark(&format!("left out, because it can hold a secret: {path}"));
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
