//! Clients of given versions, installed with npm.
//!
//! Owns: the cache, and what must be on the machine. Does not own: running one.

use std::env;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;

use anyhow::Context as _;
use anyhow::bail;
use serde::de::DeserializeOwned;

use crate::repository;

const PACKAGE: &str = "@anthropic-ai/claude-code";

/// What is needed, and for what.
const TOOLS: [(&str, &str); 5] = [
    ("node", "clients are written for it"),
    ("npm", "it installs clients"),
    ("unshare", "it keeps the client off the network (package util-linux)"),
    ("mount", "it gives the client a root of its own (package util-linux)"),
    ("ip", "it brings loopback up (package iproute2)"),
];

/// Fails with the names of all that is missing.
pub(crate) fn check_tools() -> anyhow::Result<()> {
    if !cfg!(target_os = "linux") {
        bail!("the oracle needs Linux: it runs clients in namespaces");
    }
    let missing: Vec<String> = TOOLS
        .iter()
        .filter(|(name, _)| find(name).is_none())
        .map(|(name, purpose)| format!("`{name}` is not in the path: {purpose}"))
        .collect();
    if !missing.is_empty() {
        bail!("{}", missing.join("\n"));
    }
    check_namespaces()
}

/// Fails if this user may not make namespaces.
pub(crate) fn check_namespaces() -> anyhow::Result<()> {
    let mut unshare = Command::new("unshare");
    unshare.args(namespaces()).arg("true").stdin(Stdio::null());
    let output = unshare.output().context("cannot run unshare")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        bail!(
            "this user may not make namespaces: {said}\nrun it as root, or allow user namespaces"
        );
    }
    Ok(())
}

/// The options of `unshare` for a place with nothing but loopback, which ends
/// with its first process.
pub(crate) fn namespaces() -> Vec<&'static str> {
    let mut options = vec!["--net", "--pid", "--uts", "--ipc", "--mount", "--fork", "--kill-child"];
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
    if !is_root {
        options.extend(["--user", "--map-root-user"]);
    }
    options
}

/// What a judge in such a place found: the last line that it says.
pub(crate) fn finding<T: DeserializeOwned>(judge: &mut Command) -> anyhow::Result<T> {
    judge.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let output = judge.output().context("cannot run unshare")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let Some(last) = text.lines().next_back().filter(|_| output.status.success()) else {
        bail!("the judge did not come to an end: {}", output.status);
    };
    serde_json::from_str(last).context("the judge said something else than its finding")
}

/// Where a program is.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Where clients are kept, and what they did.
pub(crate) fn cache() -> PathBuf {
    env::var_os("RECTO_ORACLE_CACHE")
        .map_or_else(|| repository::target().join("oracle"), |path| repository::root().join(path))
}

/// The directory of a client, which is installed if it is not there yet.
pub(crate) fn installed(version: &str) -> anyhow::Result<PathBuf> {
    let is_version = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if version.split('.').count() != 3 || !version.split('.').all(is_version) {
        bail!("`{version}` is no version of a client; versions look like 2.1.325");
    }
    let cache = cache();
    let folder = cache.join(version);
    if !program(&folder).exists() {
        install(version, &cache, &folder)?;
    }
    folder.canonicalize().with_context(|| format!("cannot find {}", folder.display()))
}

/// The program of an installed client.
pub(crate) fn program(folder: &Path) -> PathBuf {
    folder.join("node_modules/.bin/claude")
}

fn install(version: &str, cache: &Path, folder: &Path) -> anyhow::Result<()> {
    repository::say(&format!("installing {PACKAGE} {version}"));
    std::fs::create_dir_all(cache).with_context(|| format!("cannot create {}", cache.display()))?;
    // Half an installation must not be taken for a whole one.
    let half = tempfile::Builder::new().prefix(".install-").tempdir_in(cache)?;
    let status = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"])
        .arg(half.path())
        .arg(format!("{PACKAGE}@{version}"))
        .stdin(Stdio::null())
        .status()
        .context("cannot run npm")?;
    if !status.success() || !program(half.path()).exists() {
        bail!("npm could not install {PACKAGE}@{version} ({status})");
    }
    std::fs::rename(half.keep(), folder)
        .with_context(|| format!("cannot create {}", folder.display()))
}
