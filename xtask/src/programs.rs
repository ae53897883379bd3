//! Programs that some tests need: found, or installed where that is allowed.

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;

use crate::repository::say;

/// Finds one of the programs, or (as root on a system with Debian's packages)
/// installs the package that has it.
pub(crate) fn find(names: &[&str], package: &str) -> Option<PathBuf> {
    installed(names).or_else(|| {
        install(package);
        installed(names)
    })
}

/// Finds a program that can make calls to the system fail. Some machines have it
/// and do not let it work.
pub(crate) fn find_strace() -> Option<PathBuf> {
    let strace = find(&["strace"], "strace")?;
    let mut probe = Command::new(&strace);
    probe.args(["-f", "-qq", "-o", "/dev/null", "-e", "inject=fsync:error=EIO", "true"]);
    let status = probe.stdout(Stdio::null()).stderr(Stdio::null()).status();
    if status.is_ok_and(|status| status.success()) {
        return Some(strace);
    }
    say("strace may not trace here; tests of crashes are left out");
    None
}

fn installed(names: &[&str]) -> Option<PathBuf> {
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders)
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
        .find(|path| path.is_file())
}

fn install(package: &str) {
    say(&format!("trying Debian's package {package}"));
    for words in [&["update"][..], &["install", "--yes", "--no-install-recommends", package]] {
        let mut command = Command::new("apt-get");
        command.args(words).env("DEBIAN_FRONTEND", "noninteractive");
        let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        if !status.is_ok_and(|status| status.success()) {
            say(&format!("{package} could not be installed; tests that need it are left out"));
            return;
        }
    }
}
