//! `cargo xtask sdk`: programs on the Agent SDKs, once with the real client and once with recto.
//!
//! Owns: the command line, the runs and the table. The programs are in `xtask/sdk`.
//! Everything runs off the network, in a namespace that has loopback only, against a mock of
//! its own for each run.

mod upstream;

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
       cargo xtask sdk upstream DIR [--client VERSION|none] [--write]

  upstream DIR      the SDK's own end-to-end tests: DIR is `e2e-tests` of its repository
  --filter TEXT     only programs with this in their names
  --client VERSION  the real client to compare with (default: 2.1.325); none runs recto alone
  --write           write bench/SDK.md";

const CLIENT: &str = "2.1.325";
const TABLE: &str = "bench/SDK.md";

pub(crate) fn run(words: &[String]) -> anyhow::Result<ExitCode> {
    if let [inside, recto, client, sdks, filter] = words
        && inside == "inside"
    {
        let rows = judge(Path::new(recto), Path::new(client), Path::new(sdks), filter)?;
        say(&serde_json::to_string(&rows)?);
        return Ok(ExitCode::SUCCESS);
    }
    if words.first().is_some_and(|word| word == "upstream") {
        return upstream::run(&words[1..]);
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
    for language in Language::ALL {
        let (equal, all) = counts(&rows, Some(language));
        say(&format!("{} SDK: {equal} of {all} programs equal", language.name()));
    }
    if writes {
        fs::write(repository::root().join(TABLE), text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The languages that there is an SDK for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
enum Language {
    Python,
    TypeScript,
}

impl Language {
    const ALL: [Language; 2] = [Language::Python, Language::TypeScript];

    fn name(self) -> &'static str {
        match self {
            Language::Python => "Python",
            Language::TypeScript => "TypeScript",
        }
    }

    /// What runs its programs, in a directory.
    fn command(self, sdks: &Path, directory: &Path) -> Command {
        let programs = repository::root().join("xtask/sdk");
        let mut command = match self {
            Language::Python => {
                let mut command = Command::new("python3");
                command.arg(programs.join("programs.py"));
                command.env("PYTHONPATH", sdks.join("python"));
                command.env("PYTHONDONTWRITEBYTECODE", "1");
                command
            }
            Language::TypeScript => {
                let mut command = Command::new("node");
                command.arg(programs.join("programs.mjs"));
                command.env("AGENT_SDK", sdks.join("node"));
                command
            }
        };
        command.current_dir(directory).stdin(Stdio::null());
        command
    }

    fn ask(self, sdks: &Path, directory: &Path, words: &[&str]) -> anyhow::Result<String> {
        let output = self.command(sdks, directory).args(words).output()?;
        if !output.status.success() {
            bail!("{}: {}", self.name(), String::from_utf8_lossy(&output.stderr));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// What came of a program.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Row {
    language: Language,
    program: String,
    /// How recto differs; empty if it does not.
    how: String,
}

fn build() -> anyhow::Result<()> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "-p", "recto"]).current_dir(repository::root());
    if !build.status().context("cannot run cargo")?.success() {
        bail!("recto does not build");
    }
    Ok(())
}

fn judge_off_the_network(client: &Path, filter: &str) -> anyhow::Result<Vec<Row>> {
    build()?;
    let sdks = programs::find_agent_sdks().context("the Agent SDKs are not there")?;
    oracle::check_namespaces()?;
    let program = env::current_exe()?;
    let mut command = Command::new("unshare");
    command.args(oracle::namespaces());
    command.args(["sh", "-c", "ip link set lo up; exec \"$@\"", "sdk"]);
    command.arg(&program).args(["sdk", "inside"]).arg(program.with_file_name("recto"));
    command.arg(client).arg(sdks).arg(filter);
    oracle::finding(&mut command)
}

fn judge(recto: &Path, client: &Path, sdks: &Path, filter: &str) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for language in Language::ALL {
        let listed = language.ask(sdks, Path::new("/"), &["list"])?;
        for name in listed.lines().filter(|name| name.contains(filter)) {
            let place = tempfile::tempdir()?;
            // Under this name it takes the client's command line.
            let link = place.path().join("claude");
            std::os::unix::fs::symlink(recto, &link)?;
            let ours = observe(language, name, &link, sdks)?;
            let how = match client.as_os_str().is_empty() {
                true => String::new(),
                false => difference(&observe(language, name, client, sdks)?, &ours),
            };
            rows.push(Row { language, program: name.to_owned(), how });
        }
    }
    Ok(rows)
}

/// Runs a program with a CLI; what it saw.
fn observe(language: Language, name: &str, cli: &Path, sdks: &Path) -> anyhow::Result<Value> {
    let place = tempfile::tempdir()?;
    let (work, home) = (place.path().join("work"), place.path().join("home"));
    fs::create_dir_all(&work)?;
    fs::create_dir_all(home.join(".claude"))?;
    let script = language.ask(sdks, &work, &["script", name])?;
    let script = Script::parse(&script).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
    let options = MockOptions { script: Some(script), ..MockOptions::default() };
    let mock = Mock::start(options).map_err(|error| anyhow::anyhow!("{error}"))?;
    let mut command = language.command(sdks, &work);
    command.args(["run", name]).arg(cli);
    command.env("HOME", &home).env("CLAUDE_CONFIG_DIR", home.join(".claude"));
    command.env("ANTHROPIC_BASE_URL", mock.base_url()).env("ANTHROPIC_API_KEY", "sk-test");
    command.env("IS_SANDBOX", "1").env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
    let output = command.output().context("cannot run a program")?;
    let text = String::from_utf8_lossy(&output.stdout);
    let last = text.lines().next_back().unwrap_or_default();
    serde_json::from_str(last).with_context(|| {
        format!("{name} printed nothing: {}", String::from_utf8_lossy(&output.stderr))
    })
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

/// How many programs are equal, and how many there are.
fn counts(rows: &[Row], language: Option<Language>) -> (usize, usize) {
    let of = |row: &&Row| language.is_none_or(|language| language == row.language);
    let rows: Vec<&Row> = rows.iter().filter(of).collect();
    (rows.iter().filter(|row| row.how.is_empty()).count(), rows.len())
}

fn table(rows: &[Row], client: &str) -> String {
    let (equal, all) = counts(rows, None);
    let versions = programs::agent_sdk_versions();
    let mut text = format!(
        "# Programs on the Agent SDKs\n\n`cargo xtask sdk --write` runs each program of `xtask/sdk` twice against `recto mock`: with the real client {client} and with recto as CLI. Equal means: the same messages with the same fields in the same order, the same calls of callbacks, hooks and tools, the same files. {versions}.\n\n{equal} of {all} programs are equal.\n\n| program | recto |\n|---|---|\n"
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
