//! `recto complete`: the sessions that a shell offers. The scripts of `recto completions` ask it.
//!
//! It runs at every press of a key, so it opens only the logs whose titles are shown.

use std::path::PathBuf;

use clap::Arg;
use clap::Args;
use clap::Command;
use clap::CommandFactory;
use clap_complete::Shell;
use recto_session::usage::PriceTable;
use recto_store::Inventory;
use recto_view::Library;
use recto_view::ListedLog;
use recto_view::Listing;

use crate::cli::Cli;
use crate::commands::ls::title;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::global::Global;
use crate::select::target::open_home;
use crate::terminal::output::Output;
use crate::terminal::text::fit;

/// How many sessions are offered.
const MOST: usize = 50;
/// How long a title is.
const TITLE: usize = 60;
/// The positional arguments that are sessions.
const SESSIONS: [&str; 4] = ["session", "sessions", "first", "second"];

/// List sessions for a shell that completes a word
#[derive(Debug, Args)]
pub(crate) struct CompleteArgs {
    /// The shell
    shell: Shell,
    /// What was typed, with the name of the program and the word to complete
    #[arg(last = true)]
    words: Vec<String>,
}

/// A word that can be typed, and what it means.
#[derive(Debug, PartialEq, Eq)]
struct Candidate {
    word: String,
    about: String,
}

pub(crate) fn cmd_complete(
    global: &Global,
    environment: &Environment,
    output: &mut Output,
    args: &CompleteArgs,
) -> Result<Outcome, CommandError> {
    let Some(wanted) = Wanted::read(&args.words) else { return Ok(Outcome::Done) };
    let home = wanted.home.or_else(|| global.home.clone());
    let home = open_home(&Global { home, ..global.clone() }, environment)?;
    let library = environment.library(&home, PriceTable::default());
    for candidate in candidates(&library, &wanted.word, args.shell) {
        output.line(&line(&candidate, args.shell))?;
    }
    Ok(Outcome::Done)
}

/// What is completed.
#[derive(Debug, PartialEq, Eq)]
struct Wanted {
    home: Option<PathBuf>,
    /// The word, without the marks of the shell.
    word: String,
}

impl Wanted {
    /// Finds out whether the last word is a session.
    fn read(words: &[String]) -> Option<Wanted> {
        let (current, before) = words.split_last()?;
        let mut cli = Cli::command();
        cli.build();
        let (mut command, mut home) = (None, None);
        let mut place = 0;
        let mut rest = before.iter().skip(1);
        while let Some(word) = rest.next() {
            if word.starts_with('-') {
                let value = value_of(word, command.unwrap_or(&cli), &mut rest)?;
                if let ("--home", Some(path)) = (word.split('=').next().unwrap_or(word), value) {
                    home = Some(PathBuf::from(path));
                }
            } else if command.is_none() {
                command = Some(cli.find_subcommand(word)?);
            } else {
                place += 1;
            }
        }
        if current.starts_with('-') {
            return None;
        }
        let positionals: Vec<&Arg> = command?.get_positionals().collect();
        // The last one may take many words.
        let takes_many =
            |last: &&&Arg| last.get_num_args().is_some_and(|range| range.max_values() > 1);
        let argument = positionals.get(place).or(positionals.last().filter(takes_many))?;
        let is_session = SESSIONS.contains(&argument.get_id().as_str());
        let word = current.trim_start_matches(['"', '\'']).replace('\\', "");
        is_session.then_some(Wanted { home, word })
    }
}

/// The value of an option, which may be the next word. None if that is the word to complete.
fn value_of<'w>(
    word: &'w str,
    command: &Command,
    rest: &mut impl Iterator<Item = &'w String>,
) -> Option<Option<&'w str>> {
    if let Some((_, value)) = word.split_once('=') {
        return Some(Some(value));
    }
    let is_it = |argument: &&Arg| match word.strip_prefix("--") {
        Some(long) => argument.get_long() == Some(long),
        None => argument.get_short().is_some_and(|short| word.ends_with(short)),
    };
    let takes_value = command.get_arguments().find(is_it).is_some_and(|argument| {
        let least = argument.get_num_args().map_or(0, |range| range.min_values());
        argument.get_action().takes_values() && least > 0
    });
    match takes_value {
        true => rest.next().map(|value| Some(value.as_str())),
        false => Some(None),
    }
}

fn candidates(library: &Library, word: &str, shell: Shell) -> Vec<Candidate> {
    let mut found = Vec::new();
    if !word.is_empty() && "latest".starts_with(word) {
        found.push(Candidate { word: "latest".into(), about: "the newest session".into() });
    }
    let inventory = library.inventory();
    let typed = word.to_ascii_lowercase();
    let is_id = typed.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    let mut named = Inventory::clone(&inventory);
    named.sessions.retain(|log| is_id && log.bytes() > 0 && log.name().starts_with(&typed));
    let wanted = Listing { limit: Some(MOST), ..Listing::default() };
    match named.sessions.is_empty() {
        false => {
            let id = |name: String| short_id(&name, &typed, &inventory);
            match shell {
                // It shows no titles, so that no log need be opened.
                Shell::Bash if !typed.is_empty() => {
                    let names = named.sessions.iter().take(MOST).map(|log| id(log.name()));
                    found.extend(names.map(|word| Candidate { word, about: String::new() }));
                }
                _ => found.extend(
                    library
                        .listed(&wanted, &named)
                        .iter()
                        .map(|log| Candidate { word: id(log.log().name()), about: title(log) }),
                ),
            }
        }
        true => {
            let words = Some(word.to_owned());
            let listed = library.listed(&Listing { words, ..wanted }, &inventory);
            found.extend(listed.iter().filter_map(|log| by_title(log, word)));
        }
    }
    found
}

/// A session by its whole title, if the word is the beginning of it.
fn by_title(log: &ListedLog, word: &str) -> Option<Candidate> {
    let (whole, _) = log.digest.title.as_ref()?;
    let is_plain = !whole.chars().any(char::is_control);
    let begins = whole.to_lowercase().starts_with(&word.to_lowercase());
    let about = log.log().name().chars().take(8).collect();
    (is_plain && begins).then(|| Candidate { word: whole.clone(), about })
}

/// The beginning of an id that no other session has, with what was typed.
fn short_id(name: &str, typed: &str, inventory: &Inventory) -> String {
    let short = &name[..name.len().min(8)];
    let sessions = inventory.sessions.iter();
    let is_alone = sessions.filter(|log| log.name().starts_with(short)).count() == 1;
    if is_alone && typed.len() <= short.len() { short.to_owned() } else { name.to_owned() }
}

/// A candidate in the form that the script of a shell reads.
fn line(candidate: &Candidate, shell: Shell) -> String {
    let Candidate { word, about } = candidate;
    let about = fit(about, TITLE);
    match shell {
        Shell::Bash => bash_word(word),
        Shell::Zsh => format!("{}:{about}", word.replace('\\', "\\\\").replace(':', "\\:")),
        _ => format!("{word}\t{about}"),
    }
}

/// A text as bash would have to be given it without quotes.
fn bash_word(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./+@%".contains(c);
    let quoted = text.chars().map(|c| match is_plain(c) {
        true => c.to_string(),
        false => format!("\\{c}"),
    });
    quoted.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(line: &str) -> Option<(Option<String>, String)> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let wanted = Wanted::read(&words)?;
        Some((wanted.home.map(|home| home.display().to_string()), wanted.word))
    }

    #[test]
    fn a_session_is_completed_where_one_is_named() {
        let plain = |word: &str| Some((None, word.to_owned()));
        assert_eq!(wanted("recto show "), plain(""));
        assert_eq!(wanted("recto cat 3f"), plain("3f"), "an alias");
        assert_eq!(wanted("recto rm 3f2a 0e"), plain("0e"), "many");
        assert_eq!(wanted("recto merge 3f2a 0e"), plain("0e"));
        assert_eq!(wanted("recto -q show --tools full 3"), plain("3"));
        assert_eq!(wanted("recto --home /x show \"Fix"), Some((Some("/x".into()), "Fix".into())));
        assert_eq!(wanted("recto show --home=/x Fix\\"), Some((Some("/x".into()), "Fix".into())));
        assert_eq!(wanted("recto show --json 3"), plain("3"), "an option without a value");
    }

    #[test]
    fn nothing_is_completed_elsewhere() {
        for line in [
            "recto",
            "recto sh",
            "recto show --to",
            "recto show --tools ",
            "recto show 3f2a ",
            "recto rename 3f2a Ti",
            "recto ls 3",
            "recto search 3",
            "recto nosuch 3",
            "recto collect status 3",
        ] {
            assert_eq!(wanted(line), None, "{line}");
        }
    }

    #[test]
    fn words_are_what_the_shells_read() {
        let candidate = Candidate { word: "a: b'c".into(), about: "3f2a1b4c".into() };
        assert_eq!(line(&candidate, Shell::Bash), r"a\:\ b\'c");
        assert_eq!(line(&candidate, Shell::Zsh), r"a\: b'c:3f2a1b4c");
        assert_eq!(line(&candidate, Shell::Fish), "a: b'c\t3f2a1b4c");
    }
}
