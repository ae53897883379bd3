//! `recto man`: the manual page.

use clap::Args;
use clap::CommandFactory;

use crate::cli::Cli;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;

/// Print the manual page
///
/// Example:
///   recto man > ~/.local/share/man/man1/recto.1
///   recto man ls | man -l -
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ManArgs {
    /// The command whose page to print [default: recto itself]
    command: Option<String>,
}

pub(crate) fn cmd_man(args: &ManArgs, output: &mut Output) -> Result<Outcome, CommandError> {
    let mut command = Cli::command();
    command.build();
    if let Some(name) = &args.command {
        let Some(found) = command.find_subcommand(name) else {
            let message = format!("there is no command `{name}`");
            return Err(CommandError::user("no-such-command", message)
                .with_hint("`recto --help` lists the commands"));
        };
        command = found.clone();
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    output.bytes(&page)?;
    Ok(Outcome::Done)
}
