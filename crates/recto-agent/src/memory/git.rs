//! The state of a Git repository at the start of a session.

use std::path::Path;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use recto_store::read_small;
use tokio::process::Command;

/// A slow repository is described without its status.
const LONGEST: Duration = Duration::from_secs(3);
/// As much of a status as a model reads.
const LONGEST_STATUS: usize = 2000;

/// A Git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Git {
    /// Its top directory.
    pub top: PathBuf,
    /// The branch, if one is checked out.
    pub branch: Option<String>,
    /// Whether it is a worktree of another repository.
    pub is_worktree: bool,
}

impl Git {
    /// Finds the repository of a directory, by its files and without `git`.
    pub fn find(directory: &Path) -> Option<Git> {
        directory.ancestors().find_map(|top| {
            let entry = top.join(".git");
            let kind = std::fs::metadata(&entry).ok()?;
            let folder = match kind.is_dir() {
                true => entry,
                false => {
                    let text = read_small(&entry).ok()?;
                    let text = String::from_utf8_lossy(&text);
                    top.join(text.strip_prefix("gitdir:")?.trim())
                }
            };
            let head = read_small(&folder.join("HEAD")).ok()?;
            let head = String::from_utf8_lossy(&head);
            let branch = head.trim().strip_prefix("ref: refs/heads/").map(str::to_owned);
            Some(Git { top: top.to_owned(), branch, is_worktree: !kind.is_dir() })
        })
    }

    /// What a model reads about the state: branch, status and the last commits.
    pub async fn status(&self) -> String {
        let filters = self.filters().await;
        let status = self.ask(&["status", "--short"], &filters);
        let commits = self.ask(&["log", "--oneline", "-n", "5"], &[]);
        let (status, commits) = tokio::join!(status, commits);
        let branch = self.branch.as_deref().unwrap_or("(detached)");
        let status = match status {
            Some(status) if status.trim().is_empty() => "(clean)".to_owned(),
            Some(status) => cut(&status),
            None => "(unknown)".to_owned(),
        };
        let mut text = format!(
            "This is the git status at the start of the conversation. It is a snapshot and does not update.\n\nCurrent branch: {branch}\n\nStatus:\n{status}"
        );
        if let Some(commits) = commits.filter(|commits| !commits.trim().is_empty()) {
            text.push_str(&format!("\n\nRecent commits:\n{}", commits.trim_end()));
        }
        text
    }

    /// Names of settings that make `git status` run programs on files that changed, where the
    /// repository itself chose the programs. The filters of the user stay.
    async fn filters(&self) -> Vec<String> {
        let words = ["config", "--show-scope", "--name-only", "--get-regexp", "^filter\\."];
        let found = self.ask(&words, &[]).await.unwrap_or_default();
        let own = found.lines().filter_map(|line| {
            let (scope, name) = line.split_once('\t')?;
            (!matches!(scope, "system" | "global" | "command")).then(|| name.to_owned())
        });
        own.collect()
    }

    /// Asks git something, with some settings left empty.
    async fn ask(&self, words: &[&str], without: &[String]) -> Option<String> {
        let mut command = Command::new("git");
        // Settings of a repository can name programs; none of them runs because a session starts.
        command.args(["--no-optional-locks", "--no-pager"]);
        command.args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]);
        command.args(["-c", "diff.external=", "-c", "log.showSignature=false"]);
        // Not as options: there a name ends at its first `=`.
        command.env("GIT_CONFIG_COUNT", without.len().to_string());
        for (at, name) in without.iter().enumerate() {
            let value = if name.ends_with(".required") { "false" } else { "" };
            command.env(format!("GIT_CONFIG_KEY_{at}"), name);
            command.env(format!("GIT_CONFIG_VALUE_{at}"), value);
        }
        command.args(words).current_dir(&self.top);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.kill_on_drop(true);
        let output = tokio::time::timeout(LONGEST, command.output()).await.ok()?.ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

fn cut(status: &str) -> String {
    let status = status.trim_end();
    match status.char_indices().nth(LONGEST_STATUS) {
        Some((at, _)) => {
            format!("{}\n... (run `git status` for the rest)", status.get(..at).unwrap_or_default())
        }
        None => status.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test]
    async fn asking_for_the_status_runs_no_program_that_the_repository_names() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path();
        let run = |words: &[&str]| {
            let mut command = std::process::Command::new("git");
            command.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]);
            let output = command.args(words).current_dir(top).output().unwrap();
            assert!(output.status.success(), "{words:?}: {output:?}");
        };
        run(&["init", "-q"]);
        fs::write(top.join("a.txt"), "one\n").unwrap();
        fs::write(top.join("b.txt"), "one\n").unwrap();
        run(&["add", "."]);
        run(&["commit", "-q", "-m", "first"]);
        for (name, value) in [
            ("core.fsmonitor", "touch ran-monitor; false"),
            ("core.pager", "touch ran-pager"),
            ("filter.evil.clean", "touch ran-clean; cat"),
            ("filter.evil.process", "touch ran-process"),
            ("filter.evil.required", "true"),
            ("filter.a=b.clean", "touch ran-other; cat"),
        ] {
            run(&["config", name, value]);
        }
        fs::write(top.join(".gitattributes"), "* filter=evil\nb.txt filter=a=b\n").unwrap();
        // The same size, so that its content is compared.
        fs::write(top.join("a.txt"), "two\n").unwrap();
        fs::write(top.join("b.txt"), "two\n").unwrap();
        let git = Git::find(top).unwrap();
        let status = git.status().await;
        assert!(status.contains(" M a.txt") && status.contains(" M b.txt"), "{status}");
        for name in ["ran-monitor", "ran-pager", "ran-clean", "ran-process", "ran-other"] {
            assert!(!top.join(name).exists(), "{name}");
        }
    }

    #[test]
    fn a_repository_is_found_from_below_and_by_a_worktrees_file() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().join("main");
        fs::create_dir_all(top.join(".git/worktrees/w")).unwrap();
        fs::create_dir_all(top.join("src")).unwrap();
        fs::write(top.join(".git/HEAD"), "ref: refs/heads/a/b\n").unwrap();
        let git = Git::find(&top.join("src")).unwrap();
        assert_eq!((git.branch.as_deref(), git.is_worktree), (Some("a/b"), false));
        assert_eq!(git.top, top);
        let tree = directory.path().join("tree");
        fs::create_dir(&tree).unwrap();
        let folder = top.join(".git/worktrees/w");
        fs::write(tree.join(".git"), format!("gitdir: {}\n", folder.display())).unwrap();
        fs::write(folder.join("HEAD"), "0123456789\n").unwrap();
        let git = Git::find(&tree).unwrap();
        assert_eq!((git.branch, git.is_worktree), (None, true));
    }
}
