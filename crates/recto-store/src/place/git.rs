//! The remote of the repository that a directory is in.

use std::path::Path;
use std::path::PathBuf;

use crate::read_chosen;

/// The address of the remote `origin`, or of the first one; none if there is none, or if it
/// cannot be read.
pub fn git_remote(directory: &Path) -> Option<String> {
    let config = directory.ancestors().find_map(config_of)?;
    let text = String::from_utf8_lossy(&config).into_owned();
    let mut remotes: Vec<(String, String)> = Vec::new();
    let mut section: Option<String> = None;
    for line in text.lines().map(str::trim) {
        if let Some(head) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            let name = head.strip_prefix("remote \"").and_then(|rest| rest.strip_suffix('"'));
            section = name.map(str::to_owned);
        } else if let (Some(name), Some((key, value))) = (&section, line.split_once('='))
            && key.trim() == "url"
        {
            remotes.push((name.clone(), value.trim().to_owned()));
        }
    }
    let origin = remotes.iter().position(|(name, _)| name == "origin").unwrap_or(0);
    remotes.into_iter().nth(origin).map(|(_, url)| url)
}

/// The configuration of a repository at a directory. In a worktree `.git` is a file that says
/// where the repository is.
fn config_of(directory: &Path) -> Option<Vec<u8>> {
    let git = directory.join(".git");
    if let Ok(config) = read_chosen(&git.join("config")) {
        return Some(config);
    }
    let link = read_chosen(&git).ok()?;
    let link = String::from_utf8(link).ok()?;
    let folder = directory.join(link.trim().strip_prefix("gitdir:")?.trim());
    let common = read_chosen(&folder.join("commondir")).ok();
    let common = common.and_then(|text| String::from_utf8(text).ok());
    let folder: PathBuf = common.map_or(folder.clone(), |common| folder.join(common.trim()));
    read_chosen(&folder.join("config")).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_remote_is_found_from_below_and_from_worktrees() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("app");
        fs::create_dir_all(root.join("src/deep")).unwrap();
        fs::create_dir_all(root.join(".git/worktrees/w")).unwrap();
        let config = "[core]\n\tbare = false\n[remote \"fork\"]\n\turl = https://x/fork\n\
            [remote \"origin\"]\n\turl = git@host:team/app.git\n\tfetch = +refs\n";
        fs::write(root.join(".git/config"), config).unwrap();
        let origin = Some("git@host:team/app.git".to_owned());
        assert_eq!(git_remote(&root.join("src/deep")), origin);
        let tree = directory.path().join("w");
        fs::create_dir(&tree).unwrap();
        fs::write(tree.join(".git"), "gitdir: ../app/.git/worktrees/w\n").unwrap();
        fs::write(root.join(".git/worktrees/w/commondir"), "../..\n").unwrap();
        assert_eq!(git_remote(&tree), origin);
        assert_eq!(git_remote(directory.path()), None);
    }
}
