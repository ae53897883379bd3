//! `recto move`: sessions of a directory that has another name now.

use std::path::PathBuf;

use clap::Args;
use recto_log::json::ObjectWriter;
use recto_session::edit::Comparison;
use recto_session::edit::EditError;
use recto_store::Home;
use recto_store::MovedSession;
use recto_store::Relocation;
use recto_store::StoreError;
use recto_store::publish::Intent;
use recto_store::publish::Operation;

use crate::edit::editor::Report;
use crate::edit::journal;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::file_path;
use crate::select::target;
use crate::terminal::output::Output;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// Move sessions to another directory
///
/// For a project that was renamed or moved: Claude Code finds its sessions again. The log
/// moves to the new directory's project, with the session's folder and the logs of its
/// subagents; the working directory in its lines becomes the new one. Ids, times and text
/// stay. Existing files are never replaced.
///
/// With --project, recto moves all sessions of a directory and of the directories below it,
/// worktrees included, with the project's memory.
///
/// Examples:
///   recto move 3f2a ~/code/new-name
///   recto move --project ~/code/old-name ~/code/new-name
#[derive(Debug, Args)]
#[command(verbatim_doc_comment, allow_missing_positional = true)]
pub(crate) struct MoveArgs {
    /// The session
    #[arg(required_unless_present = "project", conflicts_with = "project")]
    session: Option<String>,
    /// New project directory
    directory: PathBuf,
    /// Move all sessions of this directory, even if it no longer exists
    #[arg(long, value_name = "OLD_DIRECTORY")]
    project: Option<PathBuf>,
    /// Move them even if the new directory does not exist yet
    #[arg(long)]
    even_if_missing: bool,
    /// Show what would change, without changing anything
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn cmd_move(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &MoveArgs,
) -> Result<Outcome, CommandError> {
    let new = new_directory(environment, args)?;
    // A project is moved with what is in it; a session that is only in the archive is named so.
    let inventory = match args.project {
        Some(_) => home.without_archive().inventory(),
        None => home.inventory(),
    };
    let (relocation, arguments) = match (&args.session, &args.project) {
        (_, Some(old)) => {
            let old = file_path::directory_or_name(environment, old);
            if old == new {
                return Err(StoreError::from(EditError::NothingToDo).into());
            }
            let relocation = home.plan_project_move(&inventory, &old, &new)?;
            if relocation.sessions.is_empty() && relocation.memory.is_empty() {
                let message = format!("no session belongs to {}", one_line(&old));
                return Err(CommandError::user("not-found", message)
                    .with_hint("`recto ls --json` says which directory a session belongs to"));
            }
            (relocation, vec!["--project".to_owned(), old, new.clone()])
        }
        (session, None) => {
            let text = session.as_deref().unwrap_or_default();
            let target = target::find_to_change(home, &inventory, environment, text)?;
            let session = &journal::session_of(&target)?;
            let relocation = home.plan_move(&inventory, session, &new)?;
            let is_there = |moved: &MovedSession| {
                moved.old_directory.as_ref() == Some(&new) && moved.log() == moved.session.path
            };
            if relocation.sessions.iter().all(is_there) {
                return Err(StoreError::from(EditError::NothingToDo).into());
            }
            (relocation, vec![text.to_owned(), new.clone()])
        }
    };
    for moved in &relocation.sessions {
        journal::may_edit(home, environment, &moved.session)?;
    }
    let (comparisons, operation) = if args.dry_run {
        let all: Result<Vec<Comparison>, StoreError> =
            relocation.sessions.iter().map(MovedSession::preview).collect();
        (all?, None)
    } else {
        let (comparisons, operation) = publish(home, environment, output, &relocation, arguments)?;
        (comparisons, Some(operation))
    };
    tell(home, output, &relocation, &comparisons, operation.as_ref())?;
    Ok(Outcome::Done)
}

fn publish(
    home: &Home,
    environment: &Environment,
    output: &Output,
    relocation: &Relocation,
    arguments: Vec<String>,
) -> Result<(Vec<Comparison>, Operation), CommandError> {
    let mut journal = journal::open_journal(home, environment, output)?;
    let one = match relocation.sessions.as_slice() {
        [one] => Some(one.session.id),
        _ => None,
    };
    let mut transaction = journal.begin(Intent {
        home,
        name: "move",
        arguments,
        time: environment.now(),
        source: one,
        result: one,
    })?;
    let comparisons = relocation.stage(&mut transaction)?;
    // A client may have been started meanwhile.
    for moved in &relocation.sessions {
        journal::may_edit(home, environment, &moved.session)?;
    }
    Ok((comparisons, transaction.commit()?))
}

/// The new directory, as the client would name it.
fn new_directory(environment: &Environment, args: &MoveArgs) -> Result<String, CommandError> {
    if args.even_if_missing {
        return Ok(file_path::directory_or_name(environment, &args.directory));
    }
    file_path::real_directory(&args.directory).map_err(|error| {
        error.with_hint("--even-if-missing moves the sessions of a directory that comes later")
    })
}

fn tell(
    home: &Home,
    output: &mut Output,
    relocation: &Relocation,
    comparisons: &[Comparison],
    operation: Option<&Operation>,
) -> Result<(), CommandError> {
    let kept = relocation.kept_memory.iter();
    let notes: Vec<String> = kept
        .map(|path| {
            format!(
                "{} stays: other sessions still use it",
                one_line(&home.relative(path).to_string_lossy())
            )
        })
        .collect();
    for (moved, comparison) in relocation.sessions.iter().zip(comparisons) {
        if output.json {
            output.json_line(json(moved, comparison, operation, &notes))?;
        } else {
            let old = moved.old_directory.as_deref().unwrap_or("(unknown)");
            let (old, new) = (one_line(old), one_line(&moved.directory));
            output.line(&format!("{}  {old} -> {new}", moved.session.id))?;
        }
    }
    if output.json {
        return Ok(());
    }
    for note in &notes {
        output.line(note)?;
    }
    let files = relocation.sessions.iter().map(|moved| moved.files.len()).sum::<usize>();
    let what = format!(
        "{} ({})",
        plural(relocation.sessions.len() as u64, "session"),
        plural((files + relocation.memory.len()) as u64, "file")
    );
    match operation {
        Some(operation) => output
            .line(&format!("moved {what} (operation {}; `recto undo` undoes it)", operation.id)),
        None => output.line(&format!("would move {what}; nothing was changed (--dry-run)")),
    }
}

fn json(
    moved: &MovedSession,
    comparison: &Comparison,
    operation: Option<&Operation>,
    notes: &[String],
) -> ObjectWriter {
    let directories = ObjectWriter::new()
        .string_or_null("before", moved.old_directory.as_deref())
        .string("after", &moved.directory)
        .finish();
    let report = Report {
        session: moved.session.id,
        path: moved.log().to_owned(),
        is_in_place: false,
        is_final: false,
        counts: (0, moved.changed_lines, 0),
        copied_files: moved.files.len().saturating_sub(1) as u64,
        comparison: comparison.clone(),
        operation: operation.map(|operation| operation.id),
        // No command is told here.
        home: None,
        directory: None,
    };
    report.json("move", moved.session.id, notes).json("cwd", &directories)
}
