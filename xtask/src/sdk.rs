//! `cargo xtask sdk`: programs on an Agent SDK, once with the real client and once with recto.
//!
//! Owns: the command line, the runs and the table. The programs are in `xtask/sdk/programs.py`.
//! Everything runs off the network, in a namespace that has loopback only, against a mock of
//! its own for each run.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::ExitCode;
use std::process::Stdio;

use anyhow::Context as _;
use anyhow::bail;
use recto_agent::mock::Mock;
use recto_agent::mock::MockOptions;
use recto_agent::mock::Script;
use serde_json::Value;

use crate::oracle;
use crate::programs;
use crate::repository;
use crate::repository::say;

const USAGE: &str = "usage: cargo xtask sdk [--filter TEXT] [--client VERSION|none] [--write]

  --filter TEXT     only programs with this in their names
  --client VERSION  the real client to compare with (default: 2.1.325); none runs recto alone
  --write           write bench/SDK.md";

const CLIENT: &str = "2.1.325";
const TABLE: &str = "bench/SDK.md";

pub(crate) fn run(words: &[String]) -> anyhow::Result<ExitCode> {
    if let [inside, recto, client, sdk, filter] = words
        && inside == "inside"
    {
        let rows = judge(Path::new(recto), Path::new(client), Path::new(sdk), filter)?;
        say(&serde_json::to_string(&rows)?);
        return Ok(ExitCode::SUCCESS);
    }
    let (mut filter, mut client, mut writes) = (String::new(), CLIENT.to_owned(), false);
    let mut rest = words.iter();
    while let Some(option) = rest.next() {
        let mut value = || rest.next().with_context(|| format!("{option} needs a value\n{USAGE}"));
        match option.as_str() {
            "--filter" => value()?.clone_into(&mut filter),
            "--client" => value()?.clone_into(&mut client),
            "--write" => writes = true,
            _ => bail!("unknown option `{option}`\n{USAGE}"),
        }
    }
    let program = match client.as_str() {
        "none" => PathBuf::new(),
        version => oracle::program_of(version)?,
    };
    let rows = judge_off_the_network(&program, &filter)?;
    let text = table(&rows, &client);
    for row in rows.iter().filter(|row| !row.how.is_empty()) {
        say(&format!("{}: {}", row.program, row.how));
    }
    let equal = rows.iter().filter(|row| row.how.is_empty()).count();
    say(&format!("Python SDK: {equal} of {} programs equal", rows.len()));
    if writes {
        fs::write(repository::root().join(TABLE), text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What came of a program.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Row {
    program: String,
    /// How recto differs; empty if it does not.
    how: String,
}

fn judge_off_the_network(client: &Path, filter: &str) -> anyhow::Result<Vec<Row>> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "-p", "recto"]).current_dir(repository::root());
    if !build.status().context("cannot run cargo")?.success() {
        bail!("recto does not build");
    }
    let sdk = programs::find_agent_sdk().context("the Agent SDK for Python is not there")?;
    oracle::check_namespaces()?;
    let program = env::current_exe()?;
    let mut command = Command::new("unshare");
    command.args(oracle::namespaces());
    command.args(["sh", "-c", "ip link set lo up; exec \"$@\"", "sdk"]);
    command.arg(&program).args(["sdk", "inside"]).arg(program.with_file_name("recto"));
    command.arg(client).arg(sdk).arg(filter);
    oracle::finding(&mut command)
}

fn judge(recto: &Path, client: &Path, sdk: &Path, filter: &str) -> anyhow::Result<Vec<Row>> {
    let listed = python(sdk, Path::new("/"), &["list"])?;
    let names: Vec<&str> = listed.lines().filter(|name| name.contains(filter)).collect();
    let mut rows = Vec::new();
    for name in names {
        let place = tempfile::tempdir()?;
        // Under this name it takes the client's command line.
        let link = place.path().join("claude");
        std::os::unix::fs::symlink(recto, &link)?;
        let ours = observe(name, &link, sdk)?;
        let how = match client.as_os_str().is_empty() {
            true => String::new(),
            false => difference(&observe(name, client, sdk)?, &ours),
        };
        rows.push(Row { program: name.to_owned(), how });
    }
    Ok(rows)
}

/// Runs a program with a CLI; what it saw.
fn observe(name: &str, cli: &Path, sdk: &Path) -> anyhow::Result<Value> {
    let place = tempfile::tempdir()?;
    let (work, home) = (place.path().join("work"), place.path().join("home"));
    fs::create_dir_all(&work)?;
    fs::create_dir_all(home.join(".claude"))?;
    let script = python(sdk, &work, &["script", name])?;
    let script = Script::parse(&script).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
    let options = MockOptions { script: Some(script), ..MockOptions::default() };
    let mock = Mock::start(options).map_err(|error| anyhow::anyhow!("{error}"))?;
    let mut command = python_command(sdk, &work);
    command.args(["run", name]).arg(cli);
    command.env("HOME", &home).env("CLAUDE_CONFIG_DIR", home.join(".claude"));
    command.env("ANTHROPIC_BASE_URL", mock.base_url()).env("ANTHROPIC_API_KEY", "sk-test");
    command.env("IS_SANDBOX", "1").env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
    let output = command.output().context("cannot run python3")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().next_back().unwrap_or_default();
    serde_json::from_str(last).with_context(|| {
        format!("{name} printed nothing: {}", String::from_utf8_lossy(&output.stderr))
    })
}

fn python_command(sdk: &Path, directory: &Path) -> Command {
    let mut command = Command::new("python3");
    command.arg(repository::root().join("xtask/sdk/programs.py"));
    command.env("PYTHONPATH", sdk).env("PYTHONDONTWRITEBYTECODE", "1");
    command.current_dir(directory).stdin(Stdio::null());
    command
}

fn python(sdk: &Path, directory: &Path, words: &[&str]) -> anyhow::Result<String> {
    let output = python_command(sdk, directory).args(words).output()?;
    if !output.status.success() {
        bail!("programs.py: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The first thing that differs, in words.
fn difference(theirs: &Value, ours: &Value) -> String {
    if theirs["files"] != ours["files"] {
        return format!("files {}, not {}", ours["files"], theirs["files"]);
    }
    let events = |seen: &Value| seen["events"].as_array().cloned().unwrap_or_default();
    let (theirs, ours) = (events(theirs), events(ours));
    for at in 0..theirs.len().max(ours.len()) {
        let (theirs, ours) = (theirs.get(at), ours.get(at));
        if theirs != ours {
            let shown = |event: Option<&Value>| {
                let text = event.map_or_else(|| "nothing".to_owned(), Value::to_string);
                text.chars().take(400).collect::<String>()
            };
            return format!("event {at}: {}, not {}", shown(ours), shown(theirs));
        }
    }
    String::new()
}

fn table(rows: &[Row], client: &str) -> String {
    let equal = rows.iter().filter(|row| row.how.is_empty()).count();
    let mut text = format!(
        "# Programs on the Agent SDK\n\n`cargo xtask sdk --write` runs each program of `xtask/sdk/programs.py` twice against `recto mock`: with the real client {client} and with recto as CLI. Equal means: the same messages with the same fields in the same order, the same calls of callbacks, hooks and tools, the same files.\n\n{equal} of {} programs are equal.\n\n| program | recto |\n|---|---|\n",
        rows.len()
    );
    for row in rows {
        let how = match row.how.as_str() {
            "" => "equal".to_owned(),
            how => how.replace('|', "\\|").chars().take(300).collect(),
        };
        let _ = writeln!(text, "| `{}` | {how} |", row.program);
    }
    text
}
