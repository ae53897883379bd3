//! A folder for all that a task writes, which goes when the task ends.
//!
//! Owns: that it goes, however the task ends. A task that is stopped cannot clean
//! up itself; so a shell waits for its end, and does.

use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;

use anyhow::Context as _;
use tempfile::TempDir;

/// Clients that still run are killed at the same time, and may write until then.
const CLEANER: &str = r#"
cat >/dev/null
for _ in 1 2 3 4 5 6 7 8 9 10; do
    rm -rf -- "$1" && exit
    sleep 0.3
done 2>/dev/null
"#;

/// A folder that goes when this is dropped, or when the process ends in any way.
#[derive(Debug)]
pub(crate) struct Workspace {
    folder: TempDir,
    cleaner: Child,
}

impl Workspace {
    pub(crate) fn new() -> anyhow::Result<Workspace> {
        let folder = TempDir::with_prefix("recto-oracle-")?;
        let mut cleaner = Command::new("sh");
        cleaner.args(["-c", CLEANER, "cleaner"]).arg(folder.path());
        // Control-C is for all processes of a group.
        cleaner.process_group(0);
        cleaner.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let cleaner = cleaner.spawn().context("cannot run sh")?;
        Ok(Workspace { folder, cleaner })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        drop(self.cleaner.stdin.take());
        self.cleaner.wait().ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_goes_with_all_that_is_in_it() {
        let workspace = Workspace::new().unwrap();
        let path = workspace.path().to_owned();
        std::fs::create_dir_all(path.join("a/b")).unwrap();
        std::fs::write(path.join("a/b/c"), "c").unwrap();
        drop(workspace);
        assert!(!path.exists());
    }

    #[test]
    fn a_workspace_goes_when_nothing_can_be_dropped_any_more() {
        let mut workspace = Workspace::new().unwrap();
        let path = workspace.path().to_owned();
        std::fs::write(path.join("a"), "a").unwrap();
        // What the system does with a process that ends.
        drop(workspace.cleaner.stdin.take());
        workspace.cleaner.wait().unwrap();
        assert!(!path.exists());
    }
}
