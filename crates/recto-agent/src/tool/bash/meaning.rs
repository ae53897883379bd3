//! What a command's end means.

use super::words::Simple;
use super::words::simple_commands;

/// Commands that say nothing when they work.
const SILENT: [&str; 14] = [
    "mkdir", "touch", "rm", "rmdir", "mv", "cp", "chmod", "chown", "chgrp", "ln", "cd", "export",
    "unset", "wait",
];

/// Whether nobody expects output.
pub(super) fn is_silent(command: &str) -> bool {
    let commands = simple_commands(command);
    let is_silent = |one: &Simple| SILENT.contains(&one.program());
    !commands.is_empty() && commands.iter().all(is_silent)
}

/// What an exit code of one means where it is no error.
pub(super) fn of_exit(command: &str, code: i32) -> Option<&'static str> {
    if code != 1 {
        return None;
    }
    let commands = simple_commands(command);
    let last = commands.last()?;
    match last.program() {
        "grep" | "egrep" | "fgrep" | "rg" => Some("No matches found"),
        "find" => Some("Some directories were inaccessible"),
        "diff" => Some("Files differ"),
        "git" if git_command(&last.words) == Some("diff") => Some("Files differ"),
        "test" | "[" => Some("Condition is false"),
        _ => None,
    }
}

/// The command of git, behind options such as `-c name=value`.
fn git_command(words: &[String]) -> Option<&str> {
    let mut words = words.iter().skip(1).map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "-c" | "-C" => _ = words.next(),
            option if option.starts_with('-') => {}
            command => return Some(command),
        }
    }
    None
}

/// A file that a command shows from its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shown {
    /// As the command names it.
    pub(super) name: String,
    /// The directory that the command goes to first.
    pub(super) directory: Option<String>,
    /// The lines that are shown, if not all.
    pub(super) lines: Option<usize>,
}

/// The files that a command shows, if it does nothing else but say something.
pub(super) fn shown_files(command: &str) -> Vec<Shown> {
    let mut commands = simple_commands(command);
    let mut directory = None;
    if let Some([cd, to]) = commands.first().map(|first| first.words.as_slice())
        && cd == "cd"
        && to.starts_with('/')
        && commands.first().is_some_and(|first| first.end == "&&" && !first.has_more)
    {
        directory = Some(to.clone());
        commands.remove(0);
    }
    let mut shown = Vec::new();
    for one in &commands {
        let is_plain = matches!(one.end.trim_end_matches('\n'), "" | ";" | "&&");
        if !is_plain {
            return Vec::new();
        }
        match (one.program(), view(one)) {
            (_, Some((name, lines))) => {
                shown.push(Shown { name, directory: directory.clone(), lines });
            }
            ("echo" | "printf" | "true", None) if !one.is_redirected => {}
            _ => return Vec::new(),
        }
    }
    shown
}

/// The file that a simple command shows, and how many of its lines.
fn view(one: &Simple) -> Option<(String, Option<usize>)> {
    if one.has_more {
        return None;
    }
    let is_set = |word: &&String| word.contains('=') && !word.starts_with('-');
    let words: Vec<&str> = one.words.iter().skip_while(is_set).map(String::as_str).collect();
    let (program, words) = words.split_first()?;
    let (name, options) = words.split_last()?;
    let lines = match (*program, options) {
        ("cat", [] | ["-n"]) | ("nl", []) => None,
        ("head", []) => Some(10),
        ("head", ["-n", count]) => Some(count.parse().ok()?),
        ("head", [option]) => {
            let count = option.strip_prefix("--lines=").or_else(|| option.strip_prefix("-n"));
            Some(count.or_else(|| option.strip_prefix('-'))?.parse().ok()?)
        }
        ("sed", ["-n", range]) => Some(range.strip_prefix("1,")?.strip_suffix('p')?.parse().ok()?),
        _ => return None,
    };
    (!name.starts_with('-')).then(|| ((*name).to_owned(), lines))
}

/// Programs that change files in place, as commands name them.
const IN_PLACE: [&[&str]; 5] = [
    &["prettier", "--write"],
    &["eslint", "--fix"],
    &["ruff", "format"],
    &["cargo", "fmt"],
    &["black"],
];

/// Whether a command may change files in place. A look at its words is enough: what did change
/// is looked for where this says yes.
pub(super) fn is_in_place(command: &str) -> bool {
    let words: Vec<&str> = command
        .split(|c: char| !(c.is_alphanumeric() || "-_=.".contains(c)))
        .filter(|word| !word.is_empty())
        .collect();
    let has = |wanted: &str| words.contains(&wanted);
    let is_option = |word: &&str| {
        word.starts_with("--in-place")
            || (word.starts_with('-') && !word.starts_with("--") && word.contains('i'))
    };
    let is_sed = words.iter().any(|word| *word == "sed" || word.ends_with("=sed"));
    (is_sed && words.iter().any(is_option))
        || IN_PLACE.iter().any(|wanted| wanted.iter().all(|word| has(word)))
}

/// Whether a command changes its directory.
pub(super) fn changes_directory(command: &str) -> bool {
    let goes = |one: &Simple| {
        ["cd", "pushd", "popd"].contains(&one.program().trim_start_matches(['(', '{']))
    };
    simple_commands(command).iter().any(goes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_command_says_what_one_means() {
        assert_eq!(of_exit("echo x | grep y", 1), Some("No matches found"));
        assert_eq!(of_exit("grep y f; ls x", 1), None);
        assert_eq!(of_exit("timeout 5 grep y f", 1), None);
        assert_eq!(of_exit("git diff --quiet", 1), Some("Files differ"));
        assert_eq!(of_exit("git -c a.b=c --no-pager diff", 1), Some("Files differ"));
        assert_eq!(of_exit("grep y <<E\nx\nE", 1), Some("No matches found"));
        assert_eq!(of_exit("\\grep y f", 1), None);
        assert_eq!(of_exit("'grep' y f", 1), None);
        assert_eq!(of_exit("grep y f", 2), None);
    }

    #[test]
    fn files_are_shown_by_commands_that_show_nothing_else() {
        let shown = |command: &str| {
            let all = shown_files(command).into_iter();
            all.map(|shown| (shown.name, shown.lines)).collect::<Vec<_>>()
        };
        let whole = |name: &str| (name.to_owned(), None);
        assert_eq!(shown("X=1 cat -n 'a b'; echo $X"), [whole("a b")]);
        assert_eq!(shown("cat a && cat b\n"), [whole("a"), whole("b")]);
        assert_eq!(shown("head -50 a; sed -n '1,9p' b").len(), 2);
        assert_eq!(shown_files("cd /x && cat a")[0].directory.as_deref(), Some("/x"));
        for other in [
            "cat a b",
            "cat a | head",
            "cat a || true",
            "cat a &",
            "cat a > b",
            "cat -- a",
            "cat -A a",
            "ls; cat a",
            "cd x && cat a",
            "cat $a",
            "cat *",
            "sed -n '2,9p' a",
            "tail a",
            "echo x > a; cat a",
        ] {
            assert_eq!(shown(other), [], "{other}");
        }
    }

    #[test]
    fn commands_that_change_files_in_place_are_known_by_their_words() {
        for yes in [
            "sed -i s/a/b/ f",
            "find . -exec sed -ni p {} +",
            "npx prettier --write .",
            "sed a f -i",
        ] {
            assert!(is_in_place(yes), "{yes}");
        }
        for no in ["sed -n p f", "perl -i -pe x f", "echo prettier", "gofmt -w f"] {
            assert!(!is_in_place(no), "{no}");
        }
    }

    #[test]
    fn a_change_of_directory_is_seen_in_any_part() {
        assert!(changes_directory("ls; (cd x; pwd)") && changes_directory("pushd x"));
        assert!(!changes_directory("echo 'a; cd b'"));
    }

    #[test]
    fn silence_is_expected_if_all_parts_are_silent() {
        assert!(is_silent("mkdir a && touch a/b; rm -r a"));
        assert!(!is_silent("true && mkdir a"));
        assert!(!is_silent("echo x > y"));
        assert!(!is_silent(""));
    }
}
