//! `cargo xtask sdk upstream DIR`: the end-to-end tests of the Python SDK, with the real client
//! and with recto.
//!
//! Owns: the runs of pytest and the table. The tests are in the SDK's repository, which the
//! caller gets; what the model says in them is in `xtask/sdk/upstream.toml`.

use std::collections::BTreeMap;
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

use crate::oracle;
use crate::programs;
use crate::repository;
use crate::repository::say;

const TABLE: &str = "bench/SDK-UPSTREAM.md";

/// Tests by name, with the last line of what went wrong; empty if nothing did.
type Seen = BTreeMap<String, String>;

/// What came of the tests.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Judged {
    /// None without a real client.
    client: Option<Seen>,
    recto: Seen,
}

pub(super) fn run(words: &[String]) -> anyhow::Result<ExitCode> {
    if let [inside, recto, client, sdks, tests] = words
        && inside == "inside"
    {
        let paths = [recto, client, sdks, tests].map(Path::new);
        say(&serde_json::to_string(&judge(paths)?)?);
        return Ok(ExitCode::SUCCESS);
    }
    let (mut tests, mut client, mut writes) = (None, super::CLIENT.to_owned(), false);
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--client" => rest.next().context(super::USAGE)?.clone_into(&mut client),
            "--write" => writes = true,
            path if !path.starts_with('-') && tests.is_none() => {
                tests = Some(fs::canonicalize(path).with_context(|| path.to_owned())?);
            }
            _ => bail!("unknown option `{word}`\n{}", super::USAGE),
        }
    }
    let tests = tests.context(super::USAGE)?;
    let program = match client.as_str() {
        "none" => PathBuf::new(),
        version => oracle::program_of(version)?,
    };
    let judged = off_the_network(&program, &tests)?;
    for (test, why) in judged.recto.iter().filter(|(_, why)| !why.is_empty()) {
        say(&format!("{test}: {why}"));
    }
    if let Some(seen) = &judged.client {
        say(&format!("client: {} of {} tests pass", passed(seen), seen.len()));
    }
    let (good, all) = (passed(&judged.recto), judged.recto.len());
    say(&format!("recto: {good} of {all} tests pass"));
    if writes {
        fs::write(repository::root().join(TABLE), table(&judged, &client))?;
    }
    Ok(if good == all && all > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn passed(seen: &Seen) -> usize {
    seen.values().filter(|why| why.is_empty()).count()
}

fn off_the_network(client: &Path, tests: &Path) -> anyhow::Result<Judged> {
    super::build()?;
    let sdks = programs::find_agent_sdks().context("the Agent SDKs are not there")?;
    programs::find_pytest(&sdks).context("pytest is not there")?;
    oracle::check_namespaces()?;
    let program = env::current_exe()?;
    let mut command = Command::new("unshare");
    command.args(oracle::namespaces());
    command.args(["sh", "-c", "ip link set lo up; exec \"$@\"", "sdk"]);
    command.arg(&program).args(["sdk", "upstream", "inside"]);
    command.arg(program.with_file_name("recto")).arg(client).arg(sdks).arg(tests);
    oracle::finding(&mut command)
}

fn judge([recto, client, sdks, tests]: [&Path; 4]) -> anyhow::Result<Judged> {
    let place = tempfile::tempdir()?;
    // Under this name it takes the client's command line.
    let link = place.path().join("claude");
    std::os::unix::fs::symlink(recto, &link)?;
    let client = match client.as_os_str().is_empty() {
        true => None,
        false => Some(observe(client, sdks, tests)?),
    };
    Ok(Judged { client, recto: observe(&link, sdks, tests)? })
}

/// Runs all tests with a CLI.
fn observe(cli: &Path, sdks: &Path, tests: &Path) -> anyhow::Result<Seen> {
    let place = tempfile::tempdir()?;
    let (work, home) = (place.path().join("work"), place.path().join("home"));
    fs::create_dir_all(&work)?;
    fs::create_dir_all(home.join(".claude"))?;
    let own = repository::root().join("xtask/sdk");
    let script = fs::read_to_string(own.join("upstream.toml"))?;
    let script = Script::parse(&script).map_err(|error| anyhow::anyhow!("{error}"))?;
    let options = MockOptions { script: Some(script), ..MockOptions::default() };
    let mock = Mock::start(options).map_err(|error| anyhow::anyhow!("{error}"))?;
    let seen = place.path().join("seen.jsonl");
    let python = env::join_paths([&sdks.join("python"), &sdks.join("pytest"), &own])?;
    let mut command = Command::new("python3");
    command.args(["-m", "pytest", "-q", "-p", "upstream", "-p", "no:cacheprovider"]).arg(tests);
    command.current_dir(&work).stdin(Stdio::null());
    command.env("PYTHONPATH", python).env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("RECTO_CLI", cli).env("RECTO_SEEN", &seen);
    command.env("HOME", &home).env_remove("CLAUDE_CONFIG_DIR");
    command.env("ANTHROPIC_BASE_URL", mock.base_url()).env("ANTHROPIC_API_KEY", "sk-test");
    command.env("IS_SANDBOX", "1").env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
    let output = command.output().context("cannot run pytest")?;
    let text = fs::read_to_string(&seen)
        .with_context(|| format!("no test ran: {}", String::from_utf8_lossy(&output.stdout)))?;
    let mut tests = Seen::new();
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line)?;
        let field = |name: &str| line[name].as_str().unwrap_or_default().to_owned();
        let why = match line["outcome"] == "passed" {
            true => String::new(),
            false => format!("{}: {}", field("outcome"), field("why")),
        };
        tests.insert(field("test"), why);
    }
    Ok(tests)
}

fn table(judged: &Judged, client: &str) -> String {
    let versions = programs::agent_sdk_versions();
    let (good, all) = (passed(&judged.recto), judged.recto.len());
    let mut text = format!(
        "# The Python SDK's own end-to-end tests\n\n`cargo xtask sdk upstream DIR --write` runs the tests in `DIR`, which is `e2e-tests` of the SDK's repository, against `recto mock`: with the real client {client} and with recto as CLI. The model's words are in `xtask/sdk/upstream.toml`. {versions}.\n\nrecto passes {good} of {all} tests.\n\n| test | client | recto |\n|---|---|---|\n"
    );
    for (test, why) in &judged.recto {
        let word = |why: Option<&String>| match why {
            None => "not run".to_owned(),
            Some(why) if why.is_empty() => "passes".to_owned(),
            Some(why) => why.replace('|', "\\|"),
        };
        let theirs = judged.client.as_ref().map(|seen| word(seen.get(test)));
        let theirs = theirs.unwrap_or_else(|| "not run".to_owned());
        let _ = writeln!(text, "| `{test}` | {theirs} | {} |", word(Some(why)));
    }
    text
}
