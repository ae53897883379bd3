//! What was typed wrong, in recto's own words: what happened, and one thing to do.
//!
//! The library that reads the command line knows what is wrong; its messages have another form
//! than all other errors, and offer hidden names.

use clap::Command;
use clap::Error;
use clap::error::ContextKind;
use clap::error::ContextValue;
use clap::error::ErrorKind;

use crate::error::CommandError;

/// How many commands are offered in place of one that does not exist.
const MOST_OFFERED: usize = 2;

/// The error for something that was typed wrong. `root` is the command line.
pub(crate) fn explain(error: &Error, root: &Command) -> CommandError {
    let command = command_of(error);
    let (message, hint) = match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let typed = first(error, ContextKind::InvalidSubcommand);
            (format!("unknown command `{command} {typed}`"), offered(root, &command, &typed))
        }
        ErrorKind::UnknownArgument => unknown(error, &command),
        ErrorKind::MissingRequiredArgument => {
            let missing = all(error, ContextKind::InvalidArg);
            let missing = missing.iter().map(|one| bare(one)).collect::<Vec<_>>().join(" and ");
            (format!("`{command}` needs {missing}"), format!("`{command} --help` has an example"))
        }
        ErrorKind::MissingSubcommand => {
            let known = all(error, ContextKind::ValidSubcommand).join(", ");
            (format!("`{command}` needs a command"), format!("use one of {known}"))
        }
        ErrorKind::InvalidValue => invalid(error),
        ErrorKind::ValueValidation => {
            let why = std::error::Error::source(error).map(|why| match why.to_string().as_str() {
                "invalid digit found in string" => "it is not a whole number".to_owned(),
                other => other.to_owned(),
            });
            let value = first(error, ContextKind::InvalidValue);
            let option = option_of(error);
            let message = format!("invalid value `{value}` for {option}");
            (why.map_or(message.clone(), |why| format!("{message}: {why}")), String::new())
        }
        ErrorKind::ArgumentConflict => {
            let others = all(error, ContextKind::PriorArg);
            let others = others.iter().map(|one| bare(one)).collect::<Vec<_>>().join(", ");
            let option = option_of(error);
            match others.is_empty() || others == option {
                true => (format!("{option} may appear only once"), String::new()),
                false => (format!("{option} and {others} cannot be combined"), String::new()),
            }
        }
        _ => (first_paragraph(error), String::new()),
    };
    let hint = match (hint.is_empty(), command.as_str()) {
        (false, _) => Some(hint),
        // The library does not say which command it was.
        (true, "") => None,
        (true, "recto") => Some("`recto help` lists the commands".to_owned()),
        (true, command) => Some(format!("`{command} --help` lists the options")),
    };
    hint.into_iter().fold(CommandError::user("usage", message), CommandError::with_hint)
}

/// An option or a word that the command does not take.
fn unknown(error: &Error, command: &str) -> (String, String) {
    let typed = first(error, ContextKind::InvalidArg);
    // What people type most often without quotes.
    if command == "recto search" && typed.starts_with('-') {
        let hint = "put the query in quotes: recto search 'error -warning'".to_owned();
        return (format!("unknown option `{typed}`"), hint);
    }
    let near = first(error, ContextKind::SuggestedArg);
    let hint = match near.is_empty() {
        true => String::new(),
        false => format!("did you mean `{near}`?"),
    };
    match typed.starts_with('-') {
        true => (format!("unknown option `{typed}`"), hint),
        false => (format!("`{command}` does not accept `{typed}`"), hint),
    }
}

/// A value that is none of those that exist, or missing.
fn invalid(error: &Error) -> (String, String) {
    let option = option_of(error);
    let value = first(error, ContextKind::InvalidValue);
    let known = all(error, ContextKind::ValidValue).join(", ");
    let message = match value.is_empty() {
        true => format!("{option} needs a value"),
        false => format!("invalid value `{value}` for {option}"),
    };
    (message, if known.is_empty() { known } else { format!("use one of {known}") })
}

/// The commands that may have been meant, by the names that help shows.
pub(crate) fn offered(root: &Command, command: &str, typed: &str) -> String {
    let mut group = command.split_whitespace().skip(1);
    let group = group.try_fold(root, |at, name| at.find_subcommand(name));
    let mut near: Vec<(bool, usize, &str)> = group
        .into_iter()
        .flat_map(Command::get_subcommands)
        .filter(|known| !known.is_hide_set())
        .filter_map(|known| {
            let names = std::iter::once(known.get_name()).chain(known.get_all_aliases());
            let distance = names.map(|name| recto_store::distance(typed, name)).min()?;
            let is_other = !known.get_name().starts_with(typed);
            let is_near = distance <= typed.chars().count().div_ceil(3);
            is_near.then(|| (is_other, distance, known.get_name()))
        })
        .collect();
    near.sort_unstable();
    let best = near.iter().map(|(_, distance, _)| *distance).min().unwrap_or(0);
    near.retain(|(is_other, distance, _)| !is_other || *distance <= best);
    let names: Vec<String> =
        near.iter().take(MOST_OFFERED).map(|(_, _, name)| format!("`{command} {name}`")).collect();
    match (names.is_empty(), command) {
        (false, _) => format!("did you mean {}?", names.join(" or ")),
        (true, "recto") => String::new(),
        (true, _) => format!("`{command} --help` lists the commands"),
    }
}

/// The command and its subcommands, as its usage begins.
fn command_of(error: &Error) -> String {
    let usage = first(error, ContextKind::Usage);
    let usage = usage.strip_prefix("Usage:").unwrap_or(&usage).lines().next().unwrap_or_default();
    let words = usage.split_whitespace().take_while(|word| !word.starts_with(['-', '[', '<']));
    words.collect::<Vec<_>>().join(" ")
}

/// The option of a value: by its name where it has one, as the other messages say it.
fn option_of(error: &Error) -> String {
    bare(&first(error, ContextKind::InvalidArg))
}

/// An argument without its value and brackets: `--limit`, `SESSION`.
fn bare(argument: &str) -> String {
    match argument.split_once([' ', '[', '=']) {
        Some((name, _)) if name.starts_with("--") => name.to_owned(),
        _ => argument.trim_end_matches("...").trim_matches(['<', '>', '[', ']']).to_owned(),
    }
}

fn first(error: &Error, kind: ContextKind) -> String {
    all(error, kind).into_iter().next().unwrap_or_default()
}

fn all(error: &Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        Some(ContextValue::StyledStr(text)) => vec![text.to_string()],
        Some(ContextValue::StyledStrs(texts)) => texts.iter().map(ToString::to_string).collect(),
        Some(ContextValue::Number(number)) => vec![number.to_string()],
        _ => Vec::new(),
    }
}

/// The message of the library, where there is no better one.
fn first_paragraph(error: &Error) -> String {
    let message = error.render().to_string();
    let first = message.trim().split("\n\n").next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    first.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    fn told(words: &[&str]) -> String {
        let root = Cli::command();
        let error = root.clone().try_get_matches_from(words).unwrap_err();
        let error = explain(&error, &root);
        format!("{error}; {}", error.hints().join("; "))
    }

    #[test]
    fn a_mistyped_command_leads_to_the_names_that_help_shows() {
        for (typed, said) in [
            ("lst", "unknown command `recto lst`; did you mean `recto ls`?"),
            ("stat", "unknown command `recto stat`; did you mean `recto stats` or `recto status`?"),
            ("sho", "unknown command `recto sho`; did you mean `recto show`?"),
            ("serach", "unknown command `recto serach`; did you mean `recto search`?"),
            ("open", "unknown command `recto open`; `recto help` lists the commands"),
        ] {
            assert_eq!(told(&["recto", typed]), said);
        }
        assert_eq!(
            told(&["recto", "index", "updat"]),
            "invalid value `updat` for WHAT; use one of status, update, rebuild, verify"
        );
    }

    #[test]
    fn a_mistyped_option_or_value_says_what_there_is() {
        for (words, said) in [
            (
                &["ls", "--projekt", "x"][..],
                "unknown option `--projekt`; did you mean `--project`?",
            ),
            (
                &["status", "-n", "5"],
                "unknown option `-n`; `recto status --help` lists the options",
            ),
            (
                &["watch", "x"],
                "`recto watch` does not accept `x`; `recto watch --help` lists the options",
            ),
            (&["query"], "`recto query` needs SQL|@FILE|NAME; `recto query --help` has an example"),
            (
                &["show", "--raw", "--turn", "2"],
                "--raw and --turn cannot be combined; `recto show --help` lists the options",
            ),
            (&["show", "--turn", "x"], "invalid value `x` for --turn: it is not a whole number; "),
            (
                &["ls", "--color", "blue"],
                "invalid value `blue` for --color; use one of auto, always, never",
            ),
            (&["ls", "-n"], "--limit needs a value; "),
            (
                &["search", "error", "-warning"],
                "unknown option `-a`; put the query in quotes: recto search 'error -warning'",
            ),
            (&["--watch"], "unknown option `--watch`; `recto help` lists the commands"),
        ] {
            assert_eq!(told(&[&["recto"], words].concat()), said);
        }
    }
}
