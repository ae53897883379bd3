//! `recto clone`: a copy of a session.

use std::path::PathBuf;

use clap::Args;
use recto_log::ProjectKey;
use recto_session::edit::Draft;
use recto_store::Home;
use recto_store::NewSession;
use recto_store::Uuids;
use recto_store::new_session_id;

use crate::edit::editor;
use crate::edit::editor::Editor;
use crate::edit::editor::Goal;
use crate::edit::editor::Job;
use crate::edit::editor::NewArgs;
use crate::edit::editor::Source;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::file_path;
use crate::terminal::output::Output;

/// Copy a session
///
/// The copy and all its lines get new ids; links between lines, compactions, snapshots and
/// subagents follow. recto also copies subagent logs, long results, tasks and file snapshots.
/// The text stays the same byte for byte, so Claude Code sends the same request for both.
///
/// With --to, the copy goes to another project, and that directory becomes its working
/// directory.
///
/// Examples:
///   recto clone latest
///   recto clone 3f2a --to ~/code/other --title "Second try"
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct CloneArgs {
    /// The session
    session: String,
    /// The project directory to copy it to
    #[arg(long, value_name = "DIRECTORY")]
    to: Option<PathBuf>,
    /// Keep the uuids of lines, as forks in Claude Code do
    #[arg(long)]
    keep_uuids: bool,
    #[command(flatten)]
    new: NewArgs,
}

pub(crate) fn cmd_clone(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &CloneArgs,
) -> Result<Outcome, CommandError> {
    let source = Source::open(home, environment, &args.session)?;
    let mut arguments = vec![args.session.clone()];
    let mut new = NewSession {
        id: new_session_id(),
        project: source.project(),
        title: source.title(args.new.title.as_deref(), "clone"),
        uuids: if args.keep_uuids { Uuids::Keep } else { Uuids::New },
        moved: None,
    };
    if let Some(to) = &args.to {
        arguments.extend(["--to".to_owned(), to.display().to_string()]);
        let directory = file_path::real_directory(to)?;
        new.project = home.project(&ProjectKey::of_path(&directory));
        let old = editor::directory_of(&source);
        new.moved = old.map(|old| (old, directory));
    }
    if args.keep_uuids {
        arguments.push("--keep-uuids".to_owned());
    }
    let job = Job::new("clone", arguments, Draft::new(&source.opened.manuscript));
    Editor { home, environment, output, source: &source }.finish(
        Goal::New(new),
        args.new.mode(),
        job,
    )
}
