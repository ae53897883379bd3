//! `recto compress`: a summary in place of older turns.

use std::io;
use std::io::Read;

use clap::Args;
use recto_session::edit::CompressOptions;
use recto_session::edit::OldLines;
use recto_session::edit::SummaryText;
use recto_session::edit::ToolDetail;
use recto_session::edit::compress;
use recto_store::Home;
use recto_store::StoreError;
use recto_store::read_chosen;

use crate::edit::editor::EditArgs;
use crate::edit::editor::Editor;
use crate::edit::editor::Goal;
use crate::edit::editor::Job;
use crate::edit::editor::Source;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;

/// Replace older turns with a summary
///
/// Works like /compact in Claude Code, without a model: recto writes the summary from prompts,
/// last answers, and the files and tools that were used. --summary uses your own text instead.
/// The old lines stay in the log, where Claude Code does not look for them; --drop-old removes
/// them.
///
/// Examples:
///   recto compress latest --before 20
///   recto compress 3f2a --before 8 --summary notes.md
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct CompressArgs {
    /// The session
    session: String,
    /// The first turn to keep unchanged
    #[arg(long, value_name = "TURN")]
    before: u32,
    /// The summary, from a file or, with `-`, from standard input
    #[arg(long, value_name = "FILE")]
    summary: Option<String>,
    /// Mention the last tool calls in the summary
    #[arg(long, conflicts_with = "summary")]
    keep_tools: bool,
    /// Remove the old lines from the log
    #[arg(long)]
    drop_old: bool,
    #[command(flatten)]
    edit: EditArgs,
}

impl CompressArgs {
    fn words(&self) -> Vec<String> {
        let mut words = vec![self.session.clone(), "--before".to_owned(), self.before.to_string()];
        if let Some(summary) = &self.summary {
            words.extend(["--summary".to_owned(), summary.clone()]);
        }
        words.extend(self.keep_tools.then(|| "--keep-tools".to_owned()));
        words.extend(self.drop_old.then(|| "--drop-old".to_owned()));
        words
    }

    fn summary(&self) -> Result<SummaryText, CommandError> {
        const MOST: u64 = 16 * 1024 * 1024;
        let mut bytes = Vec::new();
        match self.summary.as_deref() {
            None if self.keep_tools => return Ok(SummaryText::Made(ToolDetail::Calls)),
            None => return Ok(SummaryText::Made(ToolDetail::Counts)),
            Some("-") => {
                io::stdin().take(MOST).read_to_end(&mut bytes)?;
            }
            Some(path) => bytes = read_chosen(path.as_ref())?,
        }
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        if text.is_empty() {
            return Err(CommandError::user("no-summary", "the summary is empty"));
        }
        Ok(SummaryText::Given(text))
    }
}

pub(crate) fn cmd_compress(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &CompressArgs,
) -> Result<Outcome, CommandError> {
    let source = Source::open(home, environment, &args.session)?;
    let goal = Goal::of(&source, &args.edit, "compressed");
    let options = CompressOptions {
        before: args.before,
        summary: args.summary()?,
        old: if args.drop_old { OldLines::Drop } else { OldLines::Keep },
        seed: goal.session(&source),
        source: source.session.id.to_string(),
    };
    let plan =
        compress(&source.opened.manuscript, &options, &source.opened).map_err(StoreError::from)?;
    let job = Job::of_plan("compress", args.words(), plan, output);
    Editor { home, environment, output, source: &source }.finish(goal, args.edit.new.mode(), job)
}
