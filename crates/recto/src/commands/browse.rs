//! `recto browse`: sessions and transcripts on the whole terminal.

use std::io;
use std::io::IsTerminal;

use clap::Args;
use recto_store::Home;

use crate::browser;
use crate::browser::Opening;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;
use crate::terminal::screen::signals::Signals;

/// Browse sessions full-screen
///
/// The list is on the left, the selected session on the right. Type to filter the list, `/` to
/// search the text of all sessions, enter to read, `?` for all keys. On a terminal, `recto`
/// without a command does the same.
///
/// Resume a session in Claude Code from here; set RECTO_CLIENT if the program is not
/// named `claude`.
///
/// Examples:
///   recto browse
///   recto browse parser
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct BrowseArgs {
    /// The initial filter
    #[arg(value_name = "WORDS")]
    filter: Vec<String>,
}

/// Whether a person sits at a terminal that can show the browser.
pub(crate) fn is_possible(environment: &Environment, output: &Output) -> bool {
    let is_terminal = output.is_terminal && io::stdin().is_terminal();
    is_terminal && !output.json && !environment.dumb_terminal
}

pub(crate) fn cmd_browse(
    home: &Home,
    environment: &Environment,
    output: &Output,
    args: &BrowseArgs,
) -> Result<Outcome, CommandError> {
    if !is_possible(environment, output) {
        return Err(CommandError::user("no-terminal", "the browser needs a terminal")
            .with_hint("`recto ls` lists the sessions, `recto show` reads one"));
    }
    open(home, environment, output, args.filter.join(" "))
}

/// Opens the browser on the terminal.
pub(crate) fn open(
    home: &Home,
    environment: &Environment,
    output: &Output,
    filter: String,
) -> Result<Outcome, CommandError> {
    let has_colour = output.has_colour();
    let signals = Signals::watch()?;
    browser::browse(Opening { home, environment, has_colour, filter, session: None, signals })
}
