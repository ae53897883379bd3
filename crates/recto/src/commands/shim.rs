//! `recto shim`: recto under the name of the client.

use std::path::PathBuf;

use clap::Args;
use clap::Subcommand;
use recto_log::json::ObjectWriter;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;
use crate::terminal::text::one_line;

/// Run recto in scripts that call `claude`
///
/// Creates a link named `claude` to this program in a directory. Invoked by that name, recto
/// accepts Claude Code's command line, so scripts and SDKs that start `claude` run recto.
/// Never replaces an existing file.
///
/// Examples:
///   recto shim install ~/recto-bin
///   PATH=~/recto-bin:$PATH ./script-that-calls-claude
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ShimArgs {
    #[command(subcommand)]
    command: ShimCommand,
}

#[derive(Debug, Subcommand)]
enum ShimCommand {
    /// Create the link
    Install {
        /// The directory
        directory: PathBuf,
    },
}

pub(crate) fn cmd_shim(output: &mut Output, args: &ShimArgs) -> Result<Outcome, CommandError> {
    let ShimCommand::Install { directory } = &args.command;
    let program = Environment::program()?;
    let link = directory.join(if cfg!(windows) { "claude.exe" } else { "claude" });
    make_link(&program, &link).map_err(|error| {
        let path = one_line(&link.display().to_string());
        match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                CommandError::user("link-exists", format!("{path} already exists"))
                    .with_hint("choose another directory, or remove the file first")
            }
            std::io::ErrorKind::NotFound => CommandError::user(
                "no-directory",
                format!("cannot create {path}: its directory does not exist"),
            )
            .with_hint("create the directory first"),
            _ => CommandError::Io(error),
        }
    })?;
    let link = link.display().to_string();
    if output.json {
        output.json_line(ObjectWriter::new().string("link", &link))?;
    } else {
        output.line(&format!("{} now runs recto", one_line(&link)))?;
    }
    Ok(Outcome::Done)
}

#[cfg(unix)]
fn make_link(program: &std::path::Path, link: &std::path::Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(program, link)
}

#[cfg(windows)]
fn make_link(program: &std::path::Path, link: &std::path::Path) -> std::io::Result<()> {
    std::os::windows::fs::symlink_file(program, link)
}
