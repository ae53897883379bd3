//! `recto man`: the manual page.

use clap::Args;
use clap::Command;
use clap::CommandFactory;

use crate::cli::Cli;
use crate::commands::help;
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
            return Err(help::unknown_command(&command, name));
        };
        command = found.clone();
    }
    let mut page = Vec::new();
    let (synopsis, has_commands) = (synopsis(&command), command.has_subcommands());
    let has_version = command.get_version().is_some();
    let man = clap_mangen::Man::new(command);
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    page.extend(synopsis.into_bytes());
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if has_commands {
        man.render_subcommands_section(&mut page)?;
    }
    if has_version {
        man.render_version_section(&mut page)?;
    }
    output.bytes(&page)?;
    Ok(Outcome::Done)
}

/// The synopsis with the value of every option, which that of the library lacks.
fn synopsis(command: &Command) -> String {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let mut text = format!(".SH SYNOPSIS\n\\fB{}\\fR", escaped(name));
    for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
        let values = argument.get_value_names().unwrap_or_default().iter();
        let mut values: Vec<String> =
            values.map(|value| format!("\\fI{}\\fR", escaped(value))).collect();
        if !argument.get_action().takes_values() {
            values.clear();
        }
        let more = match argument.get_num_args() {
            Some(range) if range.max_values() > values.len().max(1) => "...",
            _ => "",
        };
        let flag = match (argument.get_long(), argument.get_short()) {
            (Some(long), _) => Some(format!("--{long}")),
            (None, short) => short.map(|short| format!("-{short}")),
        };
        let flag = flag.map(|flag| format!("\\fB{}\\fR", escaped(&flag)));
        let words: Vec<String> = flag.into_iter().chain(values).collect();
        let words = format!("{}{more}", words.join(" "));
        text += &match argument.is_required_set() {
            true => format!(" {words}"),
            false => format!(" [{words}]"),
        };
    }
    if command.has_subcommands() {
        text += " [\\fICOMMAND\\fR]";
    }
    text + "\n"
}

/// A hyphen is a character of its own in a manual page.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('-', "\\-")
}
