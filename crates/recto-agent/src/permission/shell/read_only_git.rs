//! `git` commands that only look.

use crate::permission::shell::flags::GIT;
use crate::permission::shell::flags::Sorted;

/// Whether the words after `git` only look.
pub(crate) fn is_read_only(words: &[&str]) -> bool {
    GIT.iter().any(|(command, flags)| {
        let names: Vec<&str> = command.split(' ').collect();
        let sorted = words.strip_prefix(names.as_slice()).and_then(|rest| flags.sort(rest));
        sorted.is_some_and(|sorted| operands_only_look(command, &sorted))
    })
}

/// Whether the words that are no flags ask for nothing else.
fn operands_only_look(command: &str, sorted: &Sorted<'_>) -> bool {
    let lists =
        |flags: &[&str]| sorted.flags.iter().take(sorted.before).any(|flag| flags.contains(flag));
    match command {
        // A name makes a branch, unless it says which ones are listed.
        "branch" => {
            sorted.operands.is_empty() || lists(&["-l", "--list", "--merged", "--no-merged"])
        }
        "tag" => sorted.operands.is_empty() || lists(&["-l", "--list"]),
        // Others change or name a remote, and a remote can be a program.
        "remote" | "ls-remote" => sorted.operands.is_empty(),
        "reflog" => matches!(sorted.operands.first(), None | Some(&"show" | &"list")),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_makes_a_branch_unless_branches_are_listed() {
        let looks = |text: &str| is_read_only(&text.split(' ').collect::<Vec<_>>());
        for text in [
            "status -s",
            "log --oneline -5 main..HEAD -- a.txt",
            "branch -avv",
            "branch --list x",
            "branch --contains HEAD",
            "tag -l v1",
            "stash list",
            "remote -v",
            "rev-parse --abbrev-ref HEAD",
            "reflog show HEAD",
            "config --get user.name",
        ] {
            assert!(looks(text), "{text}");
        }
        for text in [
            "",
            "log --output=x",
            "log -n3",
            "diff -w",
            "branch x",
            "branch -a x",
            "branch -d x",
            "branch --contains x y",
            "tag v1",
            "tag v1 --list",
            "stash",
            "remote add x y",
            "ls-remote ext::sh",
            "reflog expire",
            "config user.name",
            "-C src status",
        ] {
            assert!(!looks(text), "{text}");
        }
    }
}
