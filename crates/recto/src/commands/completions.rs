//! `recto completions`: for shells.

use clap::Args;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;

/// Print completions for a shell
///
/// Examples:
///   recto completions bash > ~/.local/share/bash-completion/completions/recto
///   recto completions zsh > ~/.zfunc/_recto
///   recto completions fish > ~/.config/fish/completions/recto.fish
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn cmd_completions(
    args: &CompletionsArgs,
    output: &mut Output,
) -> Result<Outcome, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "recto", &mut script);
    output.bytes(&script)?;
    Ok(Outcome::Done)
}
