//! `git` commands that only look.

const LOOKS: &[&str] = &["status", "log", "diff", "show", "branch"];

/// Flags that choose what is shown and how. Others can start programs (`--ext-diff`), write
/// files (`--output`) or change branches (`-d`).
const FLAGS: &[&str] = &[
    "--all",
    "--oneline",
    "--graph",
    "--stat",
    "--shortstat",
    "--numstat",
    "--name-only",
    "--name-status",
    "--patch",
    "-p",
    "--no-patch",
    "-s",
    "--short",
    "--branch",
    "--porcelain",
    "--cached",
    "--staged",
    "--decorate",
    "--no-merges",
    "--merges",
    "--first-parent",
    "--reverse",
    "--summary",
    "--word-diff",
    "--no-color",
    "--abbrev-commit",
    "--follow",
    "--date-order",
    "--topo-order",
    "--ignored",
    "--show-current",
    "-v",
    "-vv",
    "--verbose",
    "--remotes",
    "-r",
    "-a",
    "--list",
    "-b",
    "-u",
    "--raw",
    "-w",
    "-z",
];

const FLAGS_WITH_VALUE: &[&str] = &[
    "--max-count=",
    "--since=",
    "--until=",
    "--after=",
    "--before=",
    "--author=",
    "--grep=",
    "--format=",
    "--pretty=",
    "--date=",
    "--unified=",
    "--diff-filter=",
    "--skip=",
    "--sort=",
    "--untracked-files=",
    "--porcelain=",
    "--color=",
    "--stat=",
    "--decorate=",
];

/// Whether the words after `git` only look.
pub(crate) fn is_read_only(words: &[&str]) -> bool {
    let Some((command, rest)) = words.split_first() else { return false };
    if !LOOKS.contains(command) {
        return false;
    }
    let mut only_paths = false;
    let mut value = false;
    for word in rest {
        if std::mem::take(&mut value) || only_paths {
            continue;
        }
        match *word {
            "--" => only_paths = true,
            "-n" => value = true,
            word if word.starts_with('-') => {
                let number = word.strip_prefix('-').is_some_and(|n| n.parse::<u32>().is_ok())
                    || word.strip_prefix("-n").is_some_and(|n| n.parse::<u32>().is_ok())
                    || word.strip_prefix("-U").is_some_and(|n| n.parse::<u32>().is_ok());
                let known = FLAGS.contains(&word)
                    || FLAGS_WITH_VALUE.iter().any(|flag| word.starts_with(flag));
                if !number && !known {
                    return false;
                }
            }
            // `git branch NAME` creates one.
            _ if *command == "branch" => return false,
            _ => {}
        }
    }
    true
}
