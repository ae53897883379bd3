//! A place like the one in which cases were recorded: `/home/dev`, user `dev`, no network.
//!
//! Owns: running this program again in there. The script is the oracle's.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

use super::Selection;
use super::tools::Judged;
use crate::oracle;
use crate::oracle::Workspace;

/// Judges tools in the sandbox.
pub(super) fn judge(selection: &Selection) -> anyhow::Result<Judged> {
    judge_in("inside", selection, |program| {
        fs::create_dir_all(program.join("cases/tools"))?;
        copy_cases(&selection.cases, &program.join("cases"))
    })
}

/// Judges in the sandbox; `prepare` puts what is needed into the folder of the program.
pub(super) fn judge_in(
    kind: &str,
    selection: &Selection,
    prepare: impl FnOnce(&Path) -> anyhow::Result<()>,
) -> anyhow::Result<Judged> {
    run_in(kind, selection, prepare, |_| Ok(()))
}

/// Runs this program in the sandbox; `collect` takes from the home what it has written.
pub(super) fn run_in(
    kind: &str,
    selection: &Selection,
    prepare: impl FnOnce(&Path) -> anyhow::Result<()>,
    collect: impl FnOnce(&Path) -> anyhow::Result<()>,
) -> anyhow::Result<Judged> {
    oracle::check_namespaces()
        .context("cases ran at /home/dev/app as user dev, which needs namespaces of their own")?;
    let workspace = Workspace::new()?;
    let work = workspace.path();
    for name in ["root", "home", "program"] {
        fs::create_dir_all(work.join(name))?;
    }
    let program = env::current_exe().context("this program has no path")?;
    fs::copy(&program, work.join("program/xtask"))?;
    prepare(&work.join("program"))?;
    let mut command = Command::new("unshare");
    command.args(oracle::namespaces());
    // Loopback is up, so that connections are refused and do not hang.
    command.args(["sh", "-c", "umask 022; hostname devbox; ip link set lo up; exec sh -c \"$@\""]);
    command.args(["parity", oracle::SANDBOX, "sandbox"]);
    command.args([work.join("root"), work.join("home"), work.join("program")]);
    command.args(["-", "/home/dev/app", "env", "-i"]).args(environment());
    command.args(["/opt/client/xtask", "parity", kind, "/opt/client/cases"]);
    command.arg(&selection.filter);
    let found = oracle::finding(&mut command)?;
    collect(&work.join("home"))?;
    Ok(found)
}

fn copy_cases(from: &Path, to: &Path) -> anyhow::Result<()> {
    let tools = from.join("tools");
    let entries =
        fs::read_dir(&tools).with_context(|| format!("no cases in {}", tools.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "jsonl")
            && let Some(name) = path.file_name()
        {
            fs::copy(&path, to.join("tools").join(name))?;
        }
    }
    Ok(())
}

/// The variables of the recorded runs.
pub(super) fn environment() -> Vec<String> {
    let path = "/opt/bin:/usr/local/bin:/usr/bin:/bin";
    let variables = [
        ("HOME", "/home/dev"),
        ("USER", "dev"),
        ("LOGNAME", "dev"),
        ("SHELL", "/bin/bash"),
        ("LANG", "C.UTF-8"),
        ("TERM", "xterm-256color"),
        ("PATH", path),
        ("CI", ""),
    ];
    variables.iter().map(|(name, value)| format!("{name}={value}")).collect()
}
