//! `recto unpack`: sessions of an archive come into the home.

use std::path::PathBuf;

use clap::Args;
use recto_log::json::ObjectWriter;
use recto_session::edit::Comparison;
use recto_store::Home;
use recto_store::pack::Arrival;
use recto_store::pack::Extracted;
use recto_store::pack::Ids;
use recto_store::pack::UnpackedSession;
use recto_store::pack::read_manifest;
use recto_store::publish::Intent;
use recto_store::publish::Operation;

use crate::edit::editor::Report;
use crate::edit::journal;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::file_path;
use crate::terminal::output::Output;
use crate::terminal::text::bytes;
use crate::terminal::text::fit;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// Unpack sessions into the home
///
/// Checks the whole archive before writing to the home: it must be exactly what `recto pack`
/// wrote. Sessions keep their ids, and files keep their times. If the home already has a
/// session, recto skips it if it is identical, and refuses the whole archive if it differs.
///
/// Examples:
///   recto unpack app.recto --list
///   recto unpack app.recto
///   recto unpack app.recto --to ~/code/app --new-ids
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct UnpackArgs {
    /// The archive
    file: PathBuf,
    /// New project directory; sessions below the
    /// directory of the others stay below it
    #[arg(long, value_name = "DIRECTORY")]
    to: Option<PathBuf>,
    /// Give the sessions and their lines new ids, as `recto clone` does
    #[arg(long)]
    new_ids: bool,
    /// Show what would change, without changing anything
    #[arg(long)]
    dry_run: bool,
    /// Only list the contents of the archive
    #[arg(long, conflicts_with_all = ["to", "new_ids", "dry_run"])]
    list: bool,
}

pub(crate) fn cmd_unpack(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &UnpackArgs,
) -> Result<Outcome, CommandError> {
    if args.list {
        return list(output, args);
    }
    let to = args.to.as_deref().map(file_path::real_directory).transpose()?;
    // The folder is one for all, and so nobody else may unpack meanwhile.
    let mut journal = journal::open_journal(home, environment, output)?;
    let folder = environment.data_directory()?.root().join("unpacked");
    let extracted = Extracted::read(&args.file, &folder)?;
    let ids = if args.new_ids { Ids::New } else { Ids::Keep };
    let sessions = extracted.plan(home, to.as_deref(), ids)?;
    let mut comparisons = Vec::new();
    let is_new = |session: &UnpackedSession| !matches!(session.arrival, Arrival::AlreadyThere);
    let operation = if args.dry_run || !sessions.iter().any(is_new) {
        for session in &sessions {
            comparisons.push(extracted.preview(home, session)?);
        }
        None
    } else {
        let one = match sessions.as_slice() {
            [one] => Some(one.id),
            _ => None,
        };
        let mut arguments = vec![args.file.display().to_string()];
        if let Some(to) = &to {
            arguments.extend(["--to".to_owned(), to.clone()]);
        }
        if args.new_ids {
            arguments.push("--new-ids".to_owned());
        }
        let mut transaction = journal.begin(Intent {
            home,
            name: "unpack",
            arguments,
            time: environment.now(),
            source: one,
            result: one.map(|id| result_id(&sessions[0]).unwrap_or(id)),
        })?;
        for session in &sessions {
            comparisons.push(extracted.stage(home, session, &mut transaction)?);
        }
        Some(transaction.commit()?)
    };
    tell(output, args, &sessions, &comparisons, operation.as_ref())?;
    Ok(Outcome::Done)
}

/// The new id of a session that becomes a copy.
fn result_id(session: &UnpackedSession) -> Option<recto_log::SessionId> {
    match &session.arrival {
        Arrival::Copy(new) => Some(new.id),
        Arrival::AlreadyThere | Arrival::AsItIs(_) => None,
    }
}

fn list(output: &mut Output, args: &UnpackArgs) -> Result<Outcome, CommandError> {
    let manifest = read_manifest(&args.file)?;
    for session in &manifest.sessions {
        if output.json {
            output.json_line(session.json())?;
            continue;
        }
        let directory = one_line(session.directory.as_deref().unwrap_or("-"));
        let title = fit(&one_line(session.title.as_deref().unwrap_or_default()), 60);
        let size =
            format!("{}, {}", plural(session.files.len() as u64, "file"), bytes(session.bytes()));
        output.line(format!("{}  {directory}  {size}  {title}", session.id).trim_end())?;
    }
    Ok(if manifest.sessions.is_empty() { Outcome::Found } else { Outcome::Done })
}

fn tell(
    output: &mut Output,
    args: &UnpackArgs,
    sessions: &[UnpackedSession],
    comparisons: &[Comparison],
    operation: Option<&Operation>,
) -> Result<(), CommandError> {
    for (session, comparison) in sessions.iter().zip(comparisons) {
        if output.json {
            output.json_line(json(session, comparison, operation))?;
            continue;
        }
        let place = one_line(session.directory.as_deref().unwrap_or("-"));
        let title = fit(&one_line(session.title.as_deref().unwrap_or_default()), 60);
        let line = match &session.arrival {
            Arrival::AlreadyThere => format!("{}  already exists", session.id),
            Arrival::AsItIs(_) => format!("{}  {place}  {title}", session.id),
            Arrival::Copy(_) if operation.is_none() => {
                format!("{} -> (new)  {place}  {title}", session.id)
            }
            Arrival::Copy(new) => format!("{} -> {}  {place}  {title}", session.id, new.id),
        };
        output.line(line.trim_end())?;
    }
    if output.json {
        return Ok(());
    }
    let new = sessions.iter().filter(|session| !matches!(session.arrival, Arrival::AlreadyThere));
    let what = plural(new.count() as u64, "session");
    match operation {
        Some(operation) => output
            .line(&format!("unpacked {what} (operation {}; `recto undo` undoes it)", operation.id)),
        None if args.dry_run => {
            output.line(&format!("would unpack {what}; nothing was changed (--dry-run)"))
        }
        None => output.line("nothing was changed"),
    }
}

fn json(
    session: &UnpackedSession,
    comparison: &Comparison,
    operation: Option<&Operation>,
) -> ObjectWriter {
    let is_there = matches!(session.arrival, Arrival::AlreadyThere);
    let (result, changed) = match &session.arrival {
        Arrival::AlreadyThere => (session.id, 0),
        Arrival::AsItIs(moved) => (session.id, moved.changed_lines),
        Arrival::Copy(new) => (new.id, 0),
    };
    let notes = if is_there { vec!["already exists".to_owned()] } else { Vec::new() };
    let report = Report {
        session: result,
        path: session.log.clone(),
        is_in_place: is_there,
        is_final: false,
        counts: (0, changed, 0),
        copied_files: session.files as u64,
        comparison: comparison.clone(),
        operation: operation.map(|operation| operation.id),
        // No command is told here.
        home: None,
        directory: None,
    };
    report.json("unpack", session.id, &notes)
}
