//! `recto rm`: sessions with all that belongs to them.

use clap::Args;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_store::Digest;
use recto_store::Home;
use recto_store::Removal;
use recto_store::SessionFile;

use crate::edit::journal;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::target;
use crate::terminal::output::Output;
use crate::terminal::text::bytes;
use crate::terminal::text::fit;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// Delete sessions
///
/// With everything that belongs to them: the log, subagent logs, long results, tasks, to-do
/// lists and file snapshots. recto backs all of it up, and `recto undo` brings it back byte
/// for byte. Prompt history, plans and memory stay.
///
/// A session is an id, its first characters, or a whole title; part of a title is not enough.
///
/// Examples:
///   recto rm 3f2a
///   recto rm 3f2a 0e63 --yes
///   recto rm latest --dry-run
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct RmArgs {
    /// The sessions
    #[arg(required = true, value_name = "SESSION")]
    sessions: Vec<String>,
    /// Do not ask for confirmation
    #[arg(long, short = 'y')]
    yes: bool,
    /// Show what would be removed, without removing anything
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn cmd_rm(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &RmArgs,
) -> Result<Outcome, CommandError> {
    let now = environment.now();
    if !args.dry_run {
        // What was interrupted is put right before anything is looked at. The
        // journal is not held while somebody is asked.
        drop(journal::open_journal(home, environment, output)?);
    }
    let inventory = home.inventory();
    let mut sessions: Vec<SessionFile> = Vec::new();
    for text in &args.sessions {
        let target = target::find_to_change(home, &inventory, environment, text)?;
        let session = &journal::session_of(&target)?;
        journal::may_edit(home, environment, session)?;
        if !sessions.iter().any(|other| other.path == session.path) {
            sessions.push(session.clone());
        }
    }
    let removal = Removal::plan(home, &inventory, sessions)?;
    let (sessions, files) = (&removal.sessions, &removal.files);
    let total = removal.bytes();
    let what = format!(
        "{} ({}, {})",
        plural(sessions.len() as u64, "session"),
        plural(files.len() as u64, "file"),
        bytes(total)
    );
    if !output.json && (args.dry_run || !args.yes) {
        for session in sessions {
            let title = Digest::read(&session.path, false).ok().and_then(|digest| digest.title);
            let title = title.map_or(String::new(), |(title, _)| fit(&one_line(&title), 60));
            output.line(format!("{}  {title}", session.id).trim_end())?;
        }
        for (path, identity) in files {
            let path = one_line(&home.relative(path).to_string_lossy());
            output.line(&format!("  {path}  {}", bytes(identity.bytes)))?;
        }
        output.flush()?;
    }
    if !args.dry_run && !args.yes && !journal::confirm(&format!("remove {what}?"), output)? {
        output.remark("nothing was removed");
        return Ok(Outcome::Found);
    }
    let operation = if args.dry_run {
        None
    } else {
        let mut journal = journal::open_journal(home, environment, output)?;
        Some(journal.remove(home, &removal, args.sessions.clone(), now)?)
    };
    if output.json {
        let mut removed = ArrayWriter::new();
        for session in sessions {
            removed = removed.string(&session.id.to_string());
        }
        let mut paths = ArrayWriter::new();
        for (path, _) in files {
            paths = paths.string(&path.to_string_lossy());
        }
        let id = operation.as_ref().map(|operation| operation.id.to_string());
        let object = ObjectWriter::new()
            .json("sessions", &removed.finish())
            .json("files", &paths.finish())
            .number("bytes", total)
            .json("operation", id.as_deref().unwrap_or("null").as_bytes())
            .boolean("dry_run", args.dry_run);
        output.json_line(object)?;
    } else if let Some(operation) = operation {
        output.line(&format!("removed {what}; `recto undo {}` brings it back", operation.id))?;
    } else {
        output.line(&format!("would remove {what}"))?;
    }
    Ok(Outcome::Done)
}
