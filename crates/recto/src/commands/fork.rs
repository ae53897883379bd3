//! `recto fork`: a session up to some point.

use clap::Args;
use recto_log::EntryUuid;
use recto_session::edit::ForkPoint;
use recto_session::edit::fork;
use recto_store::Home;
use recto_store::StoreError;

use crate::commands::run::RunOptions;
use crate::edit::editor::Editor;
use crate::edit::editor::Goal;
use crate::edit::editor::Job;
use crate::edit::editor::NewArgs;
use crate::edit::editor::Source;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::running;
use crate::terminal::output::Output;

/// Branch off a session at an earlier turn
///
/// The new session contains the conversation up to the end of a turn, or up to a line, without
/// other branches. Every version of Claude Code resumes it at that point.
///
/// Examples:
///   recto fork latest --at 12
///   recto fork 3f2a --at 9a2e259c-2f58-4aae-944c-a96598d0a94c
///   recto fork latest --at 12 --run 'Try it without the cache'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ForkArgs {
    /// The session
    session: String,
    /// The last turn to keep, by its number, or the last line, by its uuid
    #[arg(long, value_name = "TURN|UUID")]
    at: String,
    #[command(flatten)]
    new: NewArgs,
    /// Continue the new session with this prompt
    #[arg(long, value_name = "PROMPT", conflicts_with = "dry_run")]
    run: Option<String>,
}

pub(crate) fn cmd_fork(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &ForkArgs,
) -> Result<Outcome, CommandError> {
    let source = Source::open(home, environment, &args.session)?;
    let point = match args.at.parse::<u32>() {
        Ok(turn) => ForkPoint::Turn(turn),
        Err(_) => ForkPoint::Line(EntryUuid::new(&args.at)),
    };
    let (mut draft, leaf) = fork(&source.opened.manuscript, &point).map_err(StoreError::from)?;
    draft.settle_leaf(leaf, Some(source.session.id), &source.opened.prompt_before(leaf));
    let goal = Goal::beside(&source, &args.new, "fork");
    let job =
        Job::new("fork", vec![args.session.clone(), "--at".to_owned(), args.at.clone()], draft);
    let mut editor = Editor { home, environment, output, source: &source };
    let (name, notes, details) = (job.name, job.notes.clone(), job.details.clone());
    let report = editor.carry_out(goal, args.new.mode(), job)?;
    let outcome = editor.tell(&report, name, &notes, details)?;
    let Some(prompt) = &args.run else { return Ok(outcome) };
    let options = RunOptions {
        prompt: Some(prompt.clone()),
        resume: Some(report.session.to_string()),
        ..RunOptions::printing()
    };
    running::run(home, environment, output, &options)
}
