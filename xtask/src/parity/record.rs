//! `cargo xtask parity record`: what the real client does with cases, in the form of `fixtures/wire`.
//!
//! Owns: the command line, the sandbox, the files that are read and written. A case has no results
//! (`tools/*.jsonl`), no decision (`permissions.jsonl`) or no inputs (`hooks.jsonl`); what a row has
//! of these is replaced. The client is a black box: it runs in the oracle's sandbox, and a scripted
//! model on loopback calls the tools.

mod client;
mod hooks;
mod model;
mod neutral;
mod permissions;
mod tools;

use std::env;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::ExitCode;

use anyhow::Context as _;
use anyhow::bail;
use serde_json::Value;

use super::sandbox;
use crate::oracle;
use crate::oracle::Workspace;
use crate::repository::say;

const USAGE: &str =
    "usage: cargo xtask parity record --cases DIR --out DIR [--filter TEXT] [--client VERSION]

  --cases DIR       a folder with cases, in the form of fixtures/wire
  --out DIR         where the rows are written
  --filter TEXT     only cases with this in their id
  --client VERSION  the client (default: 2.1.325)";

/// The client whose rows the project has.
const VERSION: &str = "2.1.325";
/// Where the sandbox has cases.
const CASES: &str = "/opt/cases";

/// What is to be recorded.
pub(super) struct Order {
    pub(super) cases: PathBuf,
    pub(super) out: PathBuf,
    pub(super) filter: String,
    /// Of the client.
    pub(super) version: String,
}

impl Order {
    /// Reads the words after the name of a command that records.
    pub(super) fn read(words: &[String], usage: &str) -> anyhow::Result<Order> {
        let (mut cases, mut out) = (None, None);
        let (mut filter, mut version) = (String::new(), VERSION.to_owned());
        let mut rest = words.iter();
        while let Some(option) = rest.next() {
            let value = rest.next().with_context(|| format!("{option} needs a value\n{usage}"))?;
            match option.as_str() {
                "--cases" => cases = Some(PathBuf::from(value)),
                "--out" => out = Some(PathBuf::from(value)),
                "--filter" => filter.clone_from(value),
                "--client" => version.clone_from(value),
                _ => bail!("unknown option `{option}`\n{usage}"),
            }
        }
        let cases = cases.with_context(|| format!("--cases is missing\n{usage}"))?;
        let out = out.with_context(|| format!("--out is missing\n{usage}"))?;
        Ok(Order { cases, out, filter, version })
    }
}

/// Runs the command with the words after `record`.
pub(super) fn run(words: &[String]) -> anyhow::Result<ExitCode> {
    let Order { cases, out, filter, version } = Order::read(words, USAGE)?;
    let program = oracle::program_of(&version)?;
    // The folder in which `node_modules/.bin/claude` is.
    let client = program.ancestors().nth(3).context("the client has no folder")?;
    let workspace = Workspace::new()?;
    let work = workspace.path();
    for name in ["root/opt/bin", "root/opt/cases", "home"] {
        fs::create_dir_all(work.join(name))?;
    }
    let ourselves = env::current_exe().context("this program has no path")?;
    fs::copy(&ourselves, work.join("root/opt/bin/xtask"))?;
    for file in files(&cases)? {
        let to = work.join("root/opt/cases").join(&file);
        fs::create_dir_all(to.parent().context("a file has a folder")?)?;
        fs::copy(cases.join(&file), to)?;
    }
    let mut command = Command::new("unshare");
    command.args(oracle::namespaces());
    command.args(["sh", "-c", "umask 022; hostname devbox; ip link set lo up; exec sh -c \"$@\""]);
    command.args(["record", oracle::SANDBOX, "sandbox"]);
    command.args([work.join("root"), work.join("home"), client.to_owned()]);
    command.args([oracle::node_folder(), "/home/dev/app".into()]);
    command.args(["env", "-i"]).args(sandbox::environment());
    command.args(["/opt/bin/xtask", "parity", "record", "inside", &version, &filter]);
    // Calls may remove any file in there, so rows come back as what the recorder says.
    let recorded: Vec<(PathBuf, Vec<Value>, Vec<String>)> = oracle::finding(&mut command)?;
    let mut count = 0;
    for (file, rows, failures) in recorded {
        failures.iter().for_each(|failure| say(failure));
        let to = out.join(&file);
        fs::create_dir_all(to.parent().context("a file has a folder")?)?;
        let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
        fs::write(to, lines)?;
        count += rows.len();
    }
    say(&format!("recorded {count} rows in {}", out.display()));
    Ok(ExitCode::SUCCESS)
}

/// The files with cases in a folder, by their names in it.
fn files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for name in ["permissions.jsonl", "hooks.jsonl"] {
        if folder.join(name).is_file() {
            files.push(PathBuf::from(name));
        }
    }
    if folder.join("tools").is_dir() {
        for entry in fs::read_dir(folder.join("tools"))? {
            let path = entry?.path();
            if let Some(name) = path.file_name()
                && path.extension().is_some_and(|end| end == "jsonl")
            {
                files.push(Path::new("tools").join(name));
            }
        }
    }
    if files.is_empty() {
        bail!("{} has no cases", folder.display());
    }
    files.sort_unstable();
    Ok(files)
}

/// Records in the sandbox. A case that fails is named, and has no row.
pub(super) fn inside(version: &str, filter: &str) -> anyhow::Result<ExitCode> {
    let model = model::Model::start()?;
    let mut recorded = Vec::new();
    let files = files(Path::new(CASES))?;
    let texts: Vec<String> = files
        .iter()
        .map(|file| fs::read_to_string(Path::new(CASES).join(file)))
        .collect::<Result<_, _>>()?;
    for (file, text) in files.iter().zip(&texts) {
        let (mut rows, mut failures) = (Vec::new(), Vec::new());
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let case: Value = serde_json::from_str(line)
                .with_context(|| format!("{} has a line that is not JSON", file.display()))?;
            let id = case["id"].as_str().unwrap_or_default();
            if !id.contains(filter) || case.get("version").is_some_and(|of| of != version) {
                continue;
            }
            let row = match file.to_str() {
                Some("permissions.jsonl") => permissions::record(&case, &model),
                Some("hooks.jsonl") => hooks::record(&case, &model),
                _ => tools::record(&case, &model),
            };
            match row {
                Ok(mut row) => {
                    row["version"] = version.into();
                    rows.push(row);
                }
                Err(why) => failures.push(format!("{id}: {why:#}")),
            }
        }
        recorded.push((file, rows, failures));
    }
    say(&serde_json::to_string(&recorded)?);
    Ok(ExitCode::SUCCESS)
}
