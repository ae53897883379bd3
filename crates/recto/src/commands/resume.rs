//! `recto resume`: go on with a session.

use clap::Args;
use recto_store::Home;

use crate::commands::run::RunOptions;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::running;
use crate::terminal::output::Output;

/// Go on with a session of any client
///
/// The same as `recto run --resume SESSION`. Every session that recto can read goes on, on
/// any endpoint: a broken log is put right for the run, open calls are answered first,
/// thinking that the endpoint cannot check is left out, and --fit makes notes of old results
/// and leaves out the oldest turns. What was done is told; lines of the log do not change. A
/// session that runs in another client is refused; --fork-session goes on in a copy.
///
/// Examples:
///   recto resume latest -p 'Go on'
///   recto resume 3f2a -p 'Try another way' --fork-session
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ResumeArgs {
    /// The session
    session: String,
    #[command(flatten)]
    options: RunOptions,
}

pub(crate) fn cmd_resume(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &ResumeArgs,
) -> Result<Outcome, CommandError> {
    let options = RunOptions { resume: Some(args.session.clone()), ..args.options.clone() };
    running::run(home, environment, output, &options)
}
