//! `recto merge`: one session of two.

use std::sync::Arc;

use clap::Args;
use clap::ValueEnum;
use recto_log::json::write_string;
use recto_session::edit::EditError;
use recto_session::edit::merge;
use recto_store::Edit;
use recto_store::Home;
use recto_store::OpenedLog;
use recto_store::Prefer;
use recto_store::StoreError;

use crate::edit::editor::Editor;
use crate::edit::editor::Goal;
use crate::edit::editor::NewArgs;
use crate::edit::editor::Source;
use crate::edit::journal;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::target;
use crate::terminal::output::Output;
use crate::terminal::text::plural;

/// Join two halves of a split conversation
///
/// For a conversation that was split by accident: after a crash, when Claude Code started a
/// new session, or when the same session was resumed twice. The new session contains the lines
/// of the first one, then those lines of the second one that the first does not have; the
/// second conversation continues where the first one ends. Files of both are copied. Both
/// sessions stay unchanged.
///
/// Examples:
///   recto merge 3f2a 77c1
///   recto merge 3f2a 77c1 --dry-run
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct MergeArgs {
    /// The session that comes first
    first: String,
    /// The session that continues it
    second: String,
    /// Join them even if the second one started before the first one ended
    #[arg(long)]
    force: bool,
    /// Whose file to keep if both have a different file of the same name
    #[arg(long, value_name = "WHICH")]
    prefer: Option<Which>,
    #[command(flatten)]
    new: NewArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Which {
    First,
    Second,
}

pub(crate) fn cmd_merge(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &MergeArgs,
) -> Result<Outcome, CommandError> {
    let inventory = Arc::new(home.inventory());
    let find = |text: &str| {
        let target = target::find_to_change(home, &inventory, environment, text)?;
        let session = journal::session_of(&target)?;
        journal::may_edit(home, environment, &session)?;
        Ok::<_, CommandError>(session)
    };
    let (first, second) = (find(&args.first)?, find(&args.second)?);
    if first.path == second.path {
        return Err(StoreError::from(EditError::NothingToDo).into());
    }
    let (first_log, second_log) = (OpenedLog::read(&first.path)?, OpenedLog::read(&second.path)?);
    let opened = OpenedLog::join(&first, &second)?;
    let source = Source { inventory: Arc::clone(&inventory), session: first, opened };
    let merged = merge(&source.opened.manuscript, first_log.session(), second_log.session())
        .map_err(StoreError::from)?;
    if merged.is_out_of_order() && !args.force {
        let message = format!("{} began before {} ended", second.id, source.session.id);
        return Err(CommandError::user("out-of-order", message)
            .with_hint("name the session that begins first, or use --force"));
    }
    let mut draft = merged.draft;
    let prompt = source.opened.prompt_before(merged.leaf);
    draft.settle_leaf(merged.leaf, Some(source.session.id), &prompt);
    let Goal::New(new) = Goal::beside(&source, &args.new, "merged") else {
        return Err(StoreError::from(EditError::NothingToDo).into());
    };
    let mut edit =
        Edit::new_session(home, &inventory, &source.session, &source.opened, draft, new)?;
    let prefer = match args.prefer {
        None => Prefer::Neither,
        Some(Which::First) => Prefer::First,
        Some(Which::Second) => Prefer::Second,
    };
    edit.add_session(home, &inventory, &second, prefer)?;
    // In the lines of both, the first session may still name where to go on.
    edit.removed.extend(merged.unsent_of_first.iter().chain(&merged.unsent_of_second).cloned());
    edit.must_send(first_log.session(), merged.unsent_of_first);
    edit.must_send(second_log.session(), merged.unsent_of_second);
    let arguments = vec![args.first.clone(), args.second.clone()];
    let mut editor = Editor { home, environment, output, source: &source };
    let report = editor.publish(&edit, ("merge", arguments), args.new.mode())?;
    let lines = |log: &OpenedLog| log.manuscript.lines().len() as u64;
    let joined = lines(&source.opened);
    let added = joined.saturating_sub(lines(&first_log));
    let notes = vec![format!(
        "joined   {} of {}, {} of {} ({} in both)",
        plural(lines(&first_log), "line"),
        source.session.id,
        plural(added, "line"),
        second.id,
        lines(&second_log).saturating_sub(added)
    )];
    let mut second_id = Vec::new();
    write_string(&mut second_id, &second.id.to_string());
    let details = vec![("second", second_id)];
    editor.tell(&report, "merge", &notes, details)
}
