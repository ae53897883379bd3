//! One run of the real client, in the sandbox.
//!
//! Owns: its home, its environment, what it printed, and the host that answers its questions.

use std::fs;
use std::io::BufRead as _;
use std::io::BufReader;
use std::io::Read as _;
use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;

use anyhow::Context as _;
use serde_json::Value;
use serde_json::json;

use super::model::MARK;
use crate::parity::tools::files::APP;
use crate::parity::tools::files::HOME;

const PROGRAM: &str = "/opt/client/node_modules/.bin/claude";
/// Made up; clients only look at its shape.
const KEY: &str = "sk-ant-api03-recto-oracle-this-is-not-a-key-AAAAAAAAAAAAAAAA";
/// After which time a run is ended, in seconds.
const LIMIT: &str = "90";

/// How the client is started.
#[derive(Debug, Default)]
pub(super) struct Start {
    /// The port of the model.
    pub(super) port: u16,
    /// The id of the session.
    pub(super) session: String,
    /// Whether that session goes on.
    pub(super) is_resumed: bool,
    /// What is asked; the mark of a case by default.
    pub(super) prompt: Option<String>,
    pub(super) words: Vec<String>,
    pub(super) environment: Vec<(String, String)>,
    /// Whether the run ends with its result, without waiting for background tasks.
    pub(super) is_short: bool,
    /// Whether a host answers questions.
    pub(super) is_attended: bool,
}

/// What came of a run.
#[derive(Debug, Default)]
pub(super) struct Ended {
    pub(super) rc: i32,
    pub(super) lines: Vec<Value>,
    pub(super) stderr: String,
}

/// Writes what the client finds about its user: no first questions, a trusted directory.
pub(super) fn write_home(settings: &Value) -> anyhow::Result<()> {
    let project = json!({"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true,
        "projectOnboardingSeenCount": 9, "allowedTools": []});
    let config = json!({"hasCompletedOnboarding": true, "autoUpdates": false,
        "bypassPermissionsModeAccepted": true, "projects": {APP: project}});
    fs::write(Path::new(HOME).join(".claude.json"), config.to_string())?;
    let folder = Path::new(HOME).join(".claude");
    fs::create_dir_all(&folder)?;
    if settings.is_object() {
        fs::write(folder.join("settings.json"), settings.to_string())?;
    }
    Ok(())
}

/// Runs the client; `answer` is asked what the host says to a question.
pub(super) fn run(start: Start, mut answer: impl FnMut(&Value) -> Value) -> anyhow::Result<Ended> {
    let prompt = start.prompt.unwrap_or_else(|| format!("{MARK} go"));
    let mut command = Command::new("timeout");
    command.args([
        "-s",
        "KILL",
        LIMIT,
        PROGRAM,
        "-p",
        "--output-format",
        "stream-json",
        "--verbose",
    ]);
    if start.is_attended {
        command.args(["--input-format", "stream-json", "--permission-prompt-tool", "stdio"]);
    }
    let which = if start.is_resumed { "--resume" } else { "--session-id" };
    command.args([which, &start.session]).args(&start.words);
    if !start.is_attended {
        command.args(["--", &prompt]);
    }
    command.env("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{}", start.port));
    command.env("ANTHROPIC_API_KEY", KEY);
    for name in [
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "DISABLE_TELEMETRY",
        "DISABLE_ERROR_REPORTING",
        "DISABLE_AUTOUPDATER",
        "DISABLE_BUG_COMMAND",
    ] {
        command.env(name, "1");
    }
    command.envs(start.environment);
    command.current_dir(APP).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.stdin(if start.is_attended { Stdio::piped() } else { Stdio::null() });
    let mut child = command.spawn().context("the client cannot be started")?;
    let mut input = child.stdin.take();
    if let Some(input) = &mut input {
        let message = json!({"role": "user", "content": prompt});
        writeln!(input, "{}", json!({"type": "user", "message": message}))?;
    }
    let mut stderr = child.stderr.take().context("no errors")?;
    let errors = std::thread::spawn(move || {
        let mut text = Vec::new();
        stderr.read_to_end(&mut text).ok();
        String::from_utf8_lossy(&text).into_owned()
    });
    let mut ended = Ended::default();
    let stdout = child.stdout.take().context("no output")?;
    for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
        let Ok(line) = serde_json::from_slice::<Value>(&line) else { continue };
        if line["type"] == "control_request"
            && let Some(input) = &mut input
        {
            let response = answer(&line["request"]);
            let response = json!({"subtype": "success", "request_id": line["request_id"], "response": response});
            writeln!(input, "{}", json!({"type": "control_response", "response": response}))?;
        }
        let is_result = line["type"] == "result";
        ended.lines.push(line);
        if is_result && start.is_short {
            break;
        }
        if is_result {
            input = None;
        }
    }
    end_all_else();
    ended.rc = child.wait()?.code().unwrap_or(-9);
    ended.stderr = errors.join().unwrap_or_default().trim().to_owned();
    Ok(ended)
}

/// Ends what calls have left running. The recorder is the first process of a namespace of its own,
/// which this neither reaches out of nor ends.
fn end_all_else() {
    if std::process::id() == 1 {
        Command::new("sh").args(["-c", "kill -KILL -1"]).current_dir("/").status().ok();
    }
}

/// The lines of all logs of sessions, without those of subagents.
pub(super) fn log_lines() -> Vec<Value> {
    lines_of(&logs())
}

/// The lines of all logs, those of subagents after those of their session.
pub(super) fn all_log_lines() -> Vec<Value> {
    let mut logs = logs();
    let folders: Vec<PathBuf> =
        logs.iter().map(|log| log.with_extension("").join("subagents")).collect();
    logs.extend(folders.iter().flat_map(|folder| logs_in(folder)));
    lines_of(&logs)
}

fn logs() -> Vec<PathBuf> {
    let folders = fs::read_dir(Path::new(HOME).join(".claude/projects"));
    let folders = folders.into_iter().flatten().flatten();
    folders.flat_map(|folder| logs_in(&folder.path())).collect()
}

fn logs_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut logs: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
    logs.sort();
    logs
}

fn lines_of(logs: &[PathBuf]) -> Vec<Value> {
    let mut lines = Vec::new();
    for log in logs {
        let Ok(text) = fs::read_to_string(log) else { continue };
        let of_subagent = log.to_string_lossy().contains("/subagents/");
        let read = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.extend(read.map(|mut line| {
            if of_subagent {
                line["_file"] = "subagent".into();
            }
            line
        }));
    }
    lines
}
