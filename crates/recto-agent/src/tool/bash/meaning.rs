//! What a command's end means.

use super::words::Simple;
use super::words::simple_commands;

/// Commands that say nothing when they work.
const SILENT: [&str; 16] = [
    "mkdir", "touch", "rm", "rmdir", "mv", "cp", "chmod", "chown", "chgrp", "ln", "cd", "export",
    "unset", "wait", "popd", "pushd",
];

/// Whether nobody expects output.
pub(super) fn is_silent(command: &str) -> bool {
    let commands = simple_commands(command);
    let is_silent =
        |one: &Simple| SILENT[..14].contains(&one.program()) && one.program() != "rmdir";
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
        "git" if last.words.get(1).is_some_and(|word| word == "diff") => Some("Files differ"),
        "test" | "[" => Some("Condition is false"),
        _ => None,
    }
}

/// The files that a command shows whole: `cat` and nothing but names.
pub(super) fn shown_files(command: &str) -> Vec<String> {
    match simple_commands(command).as_slice() {
        [only] if only.program() == "cat" && !only.has_more => {
            only.words.iter().skip(1).filter(|word| !word.starts_with('-')).cloned().collect()
        }
        _ => Vec::new(),
    }
}

/// The files that a command changes in place.
pub(super) fn changed_files(command: &str) -> Vec<String> {
    let commands = simple_commands(command);
    let in_place = commands.iter().filter(|one| {
        let is_in_place = |word: &String| word.starts_with("-i") || word.starts_with("--in-place");
        one.program() == "sed" && one.words.iter().any(is_in_place)
    });
    in_place.flat_map(|one| one.words.iter().skip(1).cloned()).collect()
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
        assert_eq!(of_exit("grep y f", 2), None);
    }

    #[test]
    fn silence_is_expected_if_all_parts_are_silent() {
        assert!(is_silent("mkdir a && touch a/b; rm -r a"));
        assert!(!is_silent("true && mkdir a"));
        assert!(!is_silent("echo x > y"));
        assert!(!is_silent(""));
    }
}
