//! `recto rename`: another title for a session.

use clap::Args;
use recto_log::json::ObjectWriter;
use recto_store::Home;
use recto_store::Renaming;
use recto_store::Title;

use crate::edit::journal;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::target;
use crate::terminal::output::Output;
use crate::terminal::text::one_line;

/// Rename a session
///
/// Adds the line that /rename in Claude Code adds. The log keeps its time, so `claude
/// --continue` still picks the same session. recto refuses a session that is open in Claude
/// Code: rename it there. An empty title removes the one you gave.
///
/// Examples:
///   recto rename 3f2a "Repair the parser"
///   recto rename latest "" && recto undo
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct RenameArgs {
    /// The session
    session: String,
    /// The title
    title: String,
    /// Show what would change, without changing anything
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn cmd_rename(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &RenameArgs,
) -> Result<Outcome, CommandError> {
    let title = Title::new(&args.title)?;
    // What was interrupted is put right before anything is looked at.
    let mut journal = journal::open_journal(home, environment, output)?;
    let inventory = home.inventory();
    let target = target::find_to_change(home, &inventory, environment, &args.session)?;
    let session = &journal::session_of(&target)?;
    let renamed = journal.rename(Renaming {
        home,
        data: &environment.data_directory()?,
        session,
        title: &title,
        arguments: vec![args.session.clone(), args.title.clone()],
        time: environment.now(),
        is_dry: args.dry_run,
    })?;
    let (title, operation) = (title.as_str(), renamed.operation);
    let shown = if title.is_empty() {
        "its own title".to_owned()
    } else {
        format!("`{}`", one_line(title))
    };
    if output.json {
        let id = operation.as_ref().map(|operation| operation.id.to_string());
        let object = ObjectWriter::new()
            .string("session", &session.id.to_string())
            .string("title", title)
            .json("operation", id.as_deref().unwrap_or("null").as_bytes())
            .boolean("dry_run", args.dry_run)
            .json("changes", &journal::changes_json(&renamed.changes)?);
        output.json_line(object)?;
    } else if let Some(operation) = operation {
        output.line(&format!("renamed {} to {shown} (operation {})", session.id, operation.id))?;
    } else {
        output.line(&format!("would rename {} to {shown}", session.id))?;
    }
    Ok(Outcome::Done)
}
