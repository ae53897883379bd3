//! `recto context`: what fills the context of a session.

use clap::Args;
use recto_store::Home;

use crate::commands::context_view::show_context;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::reading::Reading;
use crate::terminal::output::Output;

/// Show what fills a session's context window
///
/// For each turn, what the model saw in its last request: prompts, answers, thinking, calls
/// and results by tool, attachments, memory files, summaries. These token counts are estimates
/// (a quarter of the text's bytes). Beside them is the API's own count if the log has it; the
/// difference is the system prompt, the tool descriptions, and the error of the estimate.
///
/// Examples:
///   recto context latest
///   recto context latest --turn 12
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ContextArgs {
    /// The session
    #[arg(default_value = "latest")]
    session: String,
    /// Show what is in the context at this turn [default: the last one]
    #[arg(long, value_name = "N")]
    turn: Option<u32>,
}

pub(crate) fn cmd_context(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &ContextArgs,
) -> Result<Outcome, CommandError> {
    let reading = Reading::open(home, environment, &args.session)?;
    show_context(&reading, args.turn, output)
}
