//! The browser in which exported pages are opened by the tests.

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;

use crate::repository::say;

/// Finds a browser: `$CHROME`, one that is installed, or (as root on a system
/// with Debian's packages) one that is installed now.
pub(crate) fn find() -> Option<PathBuf> {
    if let Some(path) = env::var_os("CHROME").filter(|path| !path.is_empty()) {
        return Some(path.into());
    }
    installed().or_else(|| {
        install();
        installed()
    })
}

fn installed() -> Option<PathBuf> {
    const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders)
        .flat_map(|folder| NAMES.map(|name| folder.join(name)))
        .find(|path| path.is_file())
}

fn install() {
    say("no browser found: trying Debian's package chromium");
    for words in [&["update"][..], &["install", "--yes", "--no-install-recommends", "chromium"]] {
        let mut command = Command::new("apt-get");
        command.args(words).env("DEBIAN_FRONTEND", "noninteractive");
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !status.is_ok_and(|status| status.success()) {
            say("chromium could not be installed; tests in a browser are left out");
            return;
        }
    }
}
