//! One resume by a real client: in a copy of a home, off the network.
//!
//! Owns: the copy, the namespaces, what came of it. Does not own: what should
//! have come of it; see `check.rs`.
//!
//! A resume takes two processes. The first copies the home and starts the second
//! in new namespaces, where it is the API and starts the client.

use std::fs;
use std::fs::File;
use std::path::Path;
use std::path::PathBuf;
use std::process::Child;
use std::process::Command;
use std::process::ExitStatus;
use std::process::Stdio;
use std::thread;
use std::time::Duration;
use std::time::Instant;

use anyhow::Context as _;
use anyhow::bail;
use recto_agent::mock::Mock;
use recto_agent::mock::MockOptions;
use recto_agent::mock::Personality;
use recto_agent::mock::Script;
use recto_log::ProjectKey;
use serde_json::Value;
use serde_json::json;
use tempfile::TempDir;

use super::client;

/// What the client is told.
pub(crate) const PROMPT: &str = "NEXT";
/// What the model says, always.
const ANSWER: &str = "Resumed answer.";
const HOME: &str = "/home/dev";
pub(crate) const USUAL_CWD: &str = "/home/dev/app";
/// How long a client may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);
pub(crate) const SANDBOX: &str = include_str!("sandbox.sh");
/// Made up; clients only look at its shape.
const KEY: &str = "sk-ant-api03-recto-oracle-this-is-not-a-key-AAAAAAAAAAAAAAAA";

/// What of a home belongs to sessions. Settings and secrets stay where they are.
pub(crate) const COPIED: [&str; 6] =
    ["projects", "todos", "tasks", "plans", "file-history", "history.jsonl"];

/// A session to go on with.
#[derive(Clone, Debug)]
pub(crate) struct Resume<'a> {
    pub(crate) version: &'a str,
    /// The home, as `recto --home` takes it.
    pub(crate) home: &'a Path,
    pub(crate) session: &'a str,
    /// Where the client is started.
    pub(crate) cwd: &'a str,
    /// After which time it is ended.
    pub(crate) limit: Duration,
    pub(crate) environment: Vec<(String, String)>,
    /// Where the copy of the home is made.
    pub(crate) workspace: &'a Path,
}

/// What came of a resume.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// The exit code; none if the client was ended after the time limit.
    pub(crate) rc: Option<i32>,
    pub(crate) stderr: String,
    /// What was sent with the prompt, if it was sent.
    pub(crate) messages: Option<Value>,
    /// Why the API did not take that.
    pub(crate) refused: Option<String>,
    /// The lines that the client added to the log.
    pub(crate) appended: Vec<String>,
    /// Whether the log still begins with what was there before.
    pub(crate) prefix_kept: bool,
}

impl Outcome {
    pub(crate) fn json(&self) -> Value {
        json!({
            "rc": self.rc, "stderr": self.stderr, "refused": self.refused,
            "prefix_kept": self.prefix_kept, "appended": self.appended, "messages": self.messages,
        })
    }

    /// What [`Outcome::json`] gave.
    pub(crate) fn of_json(json: &Value) -> Option<Outcome> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Some(Outcome {
            rc: json["rc"].as_i64().and_then(|rc| rc.try_into().ok()),
            stderr: text(&json["stderr"])?,
            messages: Some(json["messages"].clone()).filter(|messages| !messages.is_null()),
            refused: text(&json["refused"]),
            appended: json["appended"].as_array()?.iter().filter_map(text).collect(),
            prefix_kept: json["prefix_kept"].as_bool()?,
        })
    }

    /// What the client did, in the words of `recto request`.
    pub(crate) fn name(&self) -> &'static str {
        match (&self.messages, self.rc) {
            (Some(_), _) => "resumed",
            (None, Some(_)) => "refused",
            (None, None) => "hangs",
        }
    }
}

/// Resumes a session with a real client.
pub(crate) fn resume(what: &Resume<'_>) -> anyhow::Result<Outcome> {
    let folder = client::installed(what.version)?;
    let work = TempDir::with_prefix_in("resume-", what.workspace)?;
    let home = work.path().join("home");
    let copy = home.join(".claude");
    for name in COPIED {
        copy_tree(&what.home.join(name), &copy.join(name))?;
    }
    write_config(&home)?;
    let log = find_log(&copy, what.session)?;
    let before = fs::read(&log)?;
    let request = json!({
        "work": work.path(), "client": folder, "session": what.session, "cwd": what.cwd,
        "seconds": what.limit.as_secs(),
        "environment": what.environment.iter().map(|(name, value)| format!("{name}={value}"))
            .collect::<Vec<_>>(),
    });
    let seen = in_namespaces("inside", &request)?;
    let after = fs::read(&log).unwrap_or_default();
    let prefix_kept = after.starts_with(&before);
    let appended = after.get(before.len()..).filter(|_| prefix_kept).unwrap_or_default();
    // A client that gives up may have asked the model something else before.
    let has_given_up =
        |request: &&Value| seen["rc"] != 0 && !seen["rc"].is_null() && request["refusal"].is_null();
    let request = main_request(&seen["requests"]).filter(|request| !has_given_up(request));
    Ok(Outcome {
        rc: seen["rc"].as_i64().and_then(|rc| rc.try_into().ok()),
        stderr: seen["stderr"].as_str().unwrap_or_default().to_owned(),
        messages: request.map(|request| request["body"]["messages"].clone()),
        refused: request.and_then(|request| request["refusal"].as_str()).map(str::to_owned),
        appended: String::from_utf8_lossy(appended).lines().map(str::to_owned).collect(),
        prefix_kept,
    })
}

/// What keeps a client from asking questions before it begins.
pub(crate) fn write_config(home: &Path) -> anyhow::Result<()> {
    let config = json!({"hasCompletedOnboarding": true, "autoUpdates": false});
    Ok(fs::write(home.join(".claude.json"), config.to_string())?)
}

/// Has a second process do a task (`inside` or `step`) as a request says, and gives what it saw.
pub(crate) fn in_namespaces(task: &str, request: &Value) -> anyhow::Result<Value> {
    let mut child = Command::new("unshare")
        .args(client::namespaces())
        .arg(std::env::current_exe()?)
        .args(["oracle", task, &request.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("cannot run unshare")?;
    // It is open as long as this process is there; see `end_with_parent`.
    let lifeline = child.stdin.take();
    let output = child.wait_with_output()?;
    drop(lifeline);
    if !output.status.success() {
        bail!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    serde_json::from_slice(&output.stdout).context("inside the namespaces")
}

/// Copies a file or a tree; what is not there is not copied. Links are left out.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> anyhow::Result<()> {
    let Ok(metadata) = fs::symlink_metadata(from) else { return Ok(()) };
    let failed = || format!("cannot copy {}", from.display());
    if metadata.is_dir() {
        fs::create_dir_all(to).with_context(failed)?;
        for entry in fs::read_dir(from).with_context(failed)? {
            let entry = entry.with_context(failed)?;
            copy_tree(&entry.path(), &to.join(entry.file_name()))?;
        }
    } else if metadata.is_file() {
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).with_context(failed)?;
        }
        fs::copy(from, to).with_context(failed)?;
    }
    Ok(())
}

/// The log of a session in a home.
pub(crate) fn find_log(home: &Path, session: &str) -> anyhow::Result<PathBuf> {
    let name = format!("{session}.jsonl");
    for project in fs::read_dir(home.join("projects")).context("there are no projects")? {
        let log = project?.path().join(&name);
        if log.is_file() {
            return Ok(log);
        }
    }
    bail!("there is no session `{session}` in {}", home.display())
}

/// Where a client has to be started to find a session: the directory that its
/// lines name and that its log is filed under, else the first that they name.
pub(crate) fn working_directory(home: &Path, session: &str) -> anyhow::Result<String> {
    let log = find_log(home, session)?;
    let project = project_of(&log);
    let bytes = fs::read(log)?;
    let lines = bytes.split(|byte| *byte == b'\n');
    let mut named = lines.filter_map(|line| {
        let line: Value = serde_json::from_slice(line).ok()?;
        Some(line.get("cwd")?.as_str()?.to_owned())
    });
    let Some(first) = named.next() else { return Ok(USUAL_CWD.into()) };
    let is_home = |cwd: &String| ProjectKey::of_path(cwd).to_string() == project;
    Ok(if is_home(&first) { first } else { named.find(is_home).unwrap_or(first) })
}

/// The directory that a log is filed under.
pub(crate) fn project_of(log: &Path) -> String {
    let name = log.parent().and_then(Path::file_name);
    name.map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

/// The first request with tools whose newest turn holds the prompt.
fn main_request(requests: &Value) -> Option<&Value> {
    requests.as_array()?.iter().find(|request| {
        let body = &request["body"];
        let has_tools = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
        let newest = messages.iter().rev().take_while(|message| message["role"] != "assistant");
        has_tools && newest.into_iter().any(|message| says(&message["content"], PROMPT))
    })
}

fn says(content: &Value, words: &str) -> bool {
    match content {
        Value::String(text) => text.contains(words),
        Value::Array(blocks) => blocks.iter().any(|block| says(&block["text"], words)),
        _ => false,
    }
}

/// Ends this process when the one that started it is gone. It is the first of its
/// namespace, so that the system ends the client with it.
#[expect(clippy::exit, reason = "nothing is left to be cleaned up here")]
fn end_with_parent() {
    thread::spawn(|| {
        std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).ok();
        std::process::exit(1);
    });
}

/// Begins the second process: it ends with the first, and has loopback and another name.
pub(super) fn settle() -> anyhow::Result<()> {
    end_with_parent();
    let up = Command::new("ip").args(["link", "set", "lo", "up"]).output()?;
    if !up.status.success() {
        bail!("cannot bring loopback up: {}", String::from_utf8_lossy(&up.stderr));
    }
    // The name of this machine is not the client's business.
    Command::new("hostname").arg("devbox").status().ok();
    Ok(())
}

/// Waits for the end of a program, and ends it after a time: then there is no status.
pub(super) fn wait_for(child: &mut Child, limit: Duration) -> anyhow::Result<Option<ExitStatus>> {
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() > end {
            child.kill()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// The second process, which is alone with the client.
pub(crate) fn inside(request: &str) -> anyhow::Result<()> {
    settle()?;
    let request: Value = serde_json::from_str(request)?;
    let text = |name: &str| request[name].as_str().unwrap_or_default();
    let personality = Personality::Constant(ANSWER.into());
    let script = match text("script") {
        "" => None,
        rules => Some(Script::parse(rules)?),
    };
    let options = MockOptions { personality, script, keep: usize::MAX, ..MockOptions::default() };
    let api = Mock::start(options)?;
    let resume = json!([["-p", "--resume", text("session"), PROMPT]]);
    let runs = request["runs"].as_array().or(resume.as_array());
    let mut ended = Ended::default();
    for (number, words) in runs.into_iter().flatten().enumerate() {
        // Each run has a root of its own: what is mounted stays until the end.
        let root = Path::new(text("work")).join(format!("root-{number}"));
        fs::create_dir(&root)?;
        ended = run_client(&request, &root, words, &api)?;
    }
    let requests: Vec<Value> = api
        .asked()
        .into_iter()
        .map(|asked| {
            let refusal = asked.refusal.map(|refusal| refusal.message);
            json!({"body": asked.body, "refusal": refusal})
        })
        .collect();
    let Ended { rc, stderr } = ended;
    crate::repository::say(&json!({"rc": rc, "stderr": stderr, "requests": requests}).to_string());
    Ok(())
}

/// How a client ended.
#[derive(Debug, Default)]
struct Ended {
    rc: Option<i32>,
    stderr: String,
}

/// Runs the client once, with some words, the last of which is the prompt.
fn run_client(request: &Value, root: &Path, words: &Value, api: &Mock) -> anyhow::Result<Ended> {
    let text = |name: &str| request[name].as_str().unwrap_or_default();
    let work = Path::new(text("work"));
    let (stdout, stderr) = (work.join("stdout"), work.join("stderr"));
    let mut child = Command::new("sh")
        .args(["-c", SANDBOX, "sandbox"])
        .args([root.into(), work.join("home"), text("client").into()])
        .args([node_folder(), text("cwd").into()])
        .args(["env", "-i"])
        .args(environment(api.port()))
        .args(request["environment"].as_array().into_iter().flatten().filter_map(Value::as_str))
        .arg(client::program(Path::new("/opt/client")))
        .args(["--output-format", "stream-json", "--verbose"])
        .args(words.as_array().into_iter().flatten().filter_map(Value::as_str))
        .stdin(Stdio::null())
        .stdout(File::create(&stdout)?)
        .stderr(File::create(&stderr)?)
        .spawn()?;
    let limit = request["seconds"].as_u64().map_or(LIMIT, Duration::from_secs);
    let status = wait_for(&mut child, limit)?;
    let mut said = String::from_utf8_lossy(&fs::read(stderr)?).trim().to_owned();
    if said.is_empty() && status.is_none_or(|status| !status.success()) {
        // Some versions tell what is wrong in their last event only.
        let events = fs::read(stdout)?;
        let events = String::from_utf8_lossy(&events);
        said = events.trim().lines().next_back().unwrap_or_default().to_owned();
    }
    let rc = status.map(|status| status.code().unwrap_or(-1));
    Ok(Ended { rc, stderr: said })
}

/// The directory above `bin/node`, unless the system's directories hold it.
pub(crate) fn node_folder() -> PathBuf {
    let node = client::find("node").and_then(|node| node.canonicalize().ok());
    let folder = node.as_deref().and_then(Path::parent).and_then(Path::parent);
    match folder {
        Some(folder) if !folder.starts_with("/usr") => folder.into(),
        _ => "-".into(),
    }
}

pub(super) fn environment(port: u16) -> Vec<String> {
    vec![
        format!("HOME={HOME}"),
        "USER=dev".into(),
        "LOGNAME=dev".into(),
        "SHELL=/bin/bash".into(),
        "LANG=C.UTF-8".into(),
        "TERM=dumb".into(),
        "PATH=/opt/bin:/opt/node/bin:/usr/local/bin:/usr/bin:/bin".into(),
        format!("ANTHROPIC_BASE_URL=http://127.0.0.1:{port}"),
        format!("ANTHROPIC_API_KEY={KEY}"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1".into(),
        "DISABLE_TELEMETRY=1".into(),
        "DISABLE_ERROR_REPORTING=1".into(),
        "DISABLE_AUTOUPDATER=1".into(),
    ]
}
