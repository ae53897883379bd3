//! `recto help`: the commands in groups, or one of them.
//!
//! Owns which command is in which group. The summaries are those of the commands.

use clap::Args;
use clap::Command;
use clap::CommandFactory;

use crate::cli::Cli;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::misuse;
use crate::terminal::output::Output;

/// The groups, the everyday one first.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Everyday",
        &["ls", "show", "search", "resume", "run", "status", "watch", "usage", "export", "serve"],
    ),
    (
        "Inspect",
        &[
            "browse", "stats", "turns", "tools", "files", "agents", "plans", "todos", "branches",
            "context", "history", "blame", "query",
        ],
    ),
    (
        "Edit",
        &[
            "fork",
            "clone",
            "trim",
            "strip",
            "compress",
            "redact",
            "anonymize",
            "merge",
            "rename",
            "rm",
            "move",
            "undo",
            "redo",
            "log",
        ],
    ),
    ("Health", &["check", "repair", "home", "drift"]),
    ("Keep", &["collect", "restore", "fleet", "hub", "lake", "pack", "unpack"]),
    (
        "For programs",
        &[
            "mcp",
            "mock",
            "replay",
            "request",
            "statusline",
            "index",
            "prices",
            "scratch",
            "config",
            "shim",
            "completions",
            "man",
            "licenses",
            "help",
            "demo",
        ],
    ),
];

/// How wide the names of groups and commands are.
const NAMES: usize = 14;
/// How wide a line of names may be.
const WIDEST: usize = 80;

/// Show help for a command
///
/// Examples:
///   recto help search
///   recto help --all
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct HelpArgs {
    /// The command [default: recto itself]
    #[arg(value_name = "COMMAND", conflicts_with = "all")]
    command: Option<String>,
    /// List every command
    #[arg(long)]
    all: bool,
}

pub(crate) fn cmd_help(args: &HelpArgs, output: &mut Output) -> Result<Outcome, CommandError> {
    let mut root = grouped(Cli::command());
    if args.all {
        output.bytes(listing(&root).as_bytes())?;
        return Ok(Outcome::Done);
    }
    let help = match &args.command {
        None => root.render_help(),
        Some(name) => {
            root.build();
            if root.find_subcommand(name).is_none() {
                return Err(unknown_command(&root, name));
            }
            match root.find_subcommand_mut(name) {
                Some(found) => found.render_long_help(),
                None => root.render_help(),
            }
        }
    };
    let text = match output.has_colour() {
        true => help.ansi().to_string(),
        false => help.to_string(),
    };
    output.bytes(text.as_bytes())?;
    Ok(Outcome::Done)
}

/// No command has this name; one that is near, or where all are listed.
pub(super) fn unknown_command(root: &Command, name: &str) -> CommandError {
    let near = misuse::offered(root, "recto", name);
    let hint = if near.is_empty() { "`recto help --all` lists the commands" } else { &near };
    CommandError::user("no-such-command", format!("unknown command `{name}`")).with_hint(hint)
}

/// The command line, with its commands in groups: the library knows one list only.
pub(crate) fn grouped(command: Command) -> Command {
    let mut text = heading(&command, GROUPS[0].0);
    text += &summaries(&command, GROUPS[0].1);
    text += &format!("\n{}", heading(&command, "More commands"));
    for (name, members) in &GROUPS[1..] {
        let mut line = format!("  {name:NAMES$}");
        for member in *members {
            if line.len() + 1 + member.len() > WIDEST {
                text += &format!("{}\n", line.trim_end());
                line = format!("  {:NAMES$}", "");
            }
            line += &format!("{member} ");
        }
        text += &format!("{}\n", line.trim_end());
    }
    let options = heading(&command, "Options");
    let hint = "`recto help COMMAND` explains a command, `recto help --all` lists them all.";
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{text}\n{hint}\n\n{options}{{options}}"
    ))
}

/// Every command with its summary, in its group.
fn listing(command: &Command) -> String {
    let groups =
        GROUPS.iter().map(|(name, members)| format!("{name}:\n{}", summaries(command, members)));
    groups.collect::<Vec<_>>().join("\n")
}

fn summaries(command: &Command, names: &[&str]) -> String {
    let found = names.iter().filter_map(|name| command.find_subcommand(name));
    found
        .map(|found| {
            let about = found.get_about().map(ToString::to_string).unwrap_or_default();
            let about = about.lines().next().unwrap_or_default().to_owned();
            format!("  {:NAMES$}{about}\n", found.get_name())
        })
        .collect()
}

/// A heading as the library writes its own. Where there are no colours, it removes them.
fn heading(command: &Command, text: &str) -> String {
    let style = command.get_styles().get_header();
    format!("{style}{text}:{style:#}\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_command_is_in_one_group_and_has_a_short_summary() {
        let root = Cli::command();
        let shown = || root.get_subcommands().filter(|command| !command.is_hide_set());
        let known: BTreeSet<&str> = shown().map(Command::get_name).collect();
        let grouped: Vec<&str> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        assert_eq!(grouped.iter().copied().collect::<BTreeSet<_>>(), known);
        assert_eq!(grouped.len(), known.len(), "a command is in two groups");
        for command in shown() {
            let about = command.get_about().unwrap().to_string();
            let words = about.lines().next().unwrap().split_whitespace().count();
            assert!(words <= 8, "{}: {about}", command.get_name());
        }
    }

    #[test]
    fn names_that_people_type_lead_to_a_command() {
        let root = Cli::command();
        for (typed, name) in [
            ("list", "ls"),
            ("cat", "show"),
            ("find", "search"),
            ("cost", "usage"),
            ("doctor", "check"),
            ("delete", "rm"),
            ("mv", "move"),
        ] {
            assert_eq!(root.find_subcommand(typed).unwrap().get_name(), name);
        }
    }
}
