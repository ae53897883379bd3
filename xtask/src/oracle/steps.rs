//! Programs that go on with one session in turns: recto, and a real client.
//!
//! Owns: one start of one of them in the home that they share, off the network, against the
//! strict mock. Like a resume, a step takes two processes; see `resume.rs`.

use std::cell::Cell;
use std::fs;
use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use recto_agent::mock::Mock;
use recto_agent::mock::MockOptions;
use recto_agent::mock::Personality;
use recto_agent::mock::Script;
use serde_json::Value;
use serde_json::json;
use tempfile::TempDir;

use super::client;
use super::resume;

/// Who goes on with a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Player {
    Recto,
    Client,
}

impl Player {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Player::Recto => "recto",
            Player::Client => "client",
        }
    }
}

/// How a program is ended before it ends by itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    pub(crate) after: Duration,
    /// As `kill` names it.
    pub(crate) signal: &'static str,
}

/// Where programs take turns.
#[derive(Clone, Debug)]
pub(crate) struct Table<'a> {
    recto: &'a Path,
    /// The version of the client.
    version: &'a str,
    /// What the model says.
    script: &'a str,
    /// `/home/dev` of all steps.
    home: &'a Path,
    workspace: &'a Path,
    /// How many steps there were: their mocks make up different ids.
    steps: Cell<u64>,
}

/// What came of a step.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turn {
    pub(crate) rc: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) requests: Vec<Value>,
    /// Why the API did not take a request.
    pub(crate) refusals: Vec<String>,
}

impl<'a> Table<'a> {
    pub(crate) fn new(
        recto: &'a Path,
        version: &'a str,
        script: &'a str,
        home: &'a Path,
        workspace: &'a Path,
    ) -> Table<'a> {
        Table { recto, version, script, home, workspace, steps: Cell::new(0) }
    }

    /// Starts a program and waits for its end.
    pub(crate) fn take(
        &self,
        player: Player,
        words: &[&str],
        stop: Option<Stop>,
    ) -> anyhow::Result<Turn> {
        let work = TempDir::with_prefix_in("step-", self.workspace)?;
        let root = work.path().join("root");
        fs::create_dir_all(root.join("opt/bin"))?;
        let program = root.join("opt/bin/recto");
        // It is large, and the same for all steps.
        if fs::hard_link(self.recto, &program).is_err() {
            fs::copy(self.recto, &program).context("cannot copy recto")?;
        }
        self.steps.set(self.steps.get() + 1);
        let request = json!({
            "seed": self.steps.get(), "root": root, "home": self.home, "client": client::installed(self.version)?,
            "player": player.name(), "words": words, "script": self.script,
            "stop": stop.map(|stop| json!({
                "after": stop.after.as_millis().min(60_000) as u64, "signal": stop.signal,
            })),
        });
        let seen = resume::in_namespaces("step", &request)?;
        let text = |name: &str| seen[name].as_str().unwrap_or_default().to_owned();
        let list = |name: &str| seen[name].as_array().cloned().unwrap_or_default();
        Ok(Turn {
            rc: seen["rc"].as_i64().and_then(|rc| rc.try_into().ok()),
            stdout: text("stdout"),
            stderr: text("stderr"),
            requests: list("requests"),
            refusals: list("refusals")
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
        })
    }
}

/// The second process of a step.
pub(crate) fn inside(request: &str) -> anyhow::Result<()> {
    resume::settle()?;
    let request: Value = serde_json::from_str(request)?;
    let text = |name: &str| request[name].as_str().unwrap_or_default();
    let script = Script::parse(text("script")).context("the script")?;
    let options = MockOptions {
        personality: Personality::Constant("Done.".into()),
        script: Some(script),
        seed: request["seed"].as_u64().unwrap_or_default(),
        keep: usize::MAX,
        ..MockOptions::default()
    };
    let api = Mock::start(options)?;
    let root = Path::new(text("root"));
    let said = root.parent().context("the root has no parent")?;
    let (stdout, stderr) = (said.join("stdout"), said.join("stderr"));
    let program = match text("player") {
        "recto" => vec!["/opt/bin/recto".into(), "run".into()],
        _ => vec![client::program(Path::new("/opt/client"))],
    };
    let words = request["words"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut child = Command::new("sh")
        .args(["-c", resume::SANDBOX, "sandbox"])
        .args([root, Path::new(text("home")), Path::new(text("client"))])
        .args([resume::node_folder(), resume::USUAL_CWD.into()])
        .args(["env", "-i"])
        .args(resume::environment(api.port()))
        .args(program)
        .args(words)
        .stdin(Stdio::null())
        .stdout(File::create(&stdout)?)
        .stderr(File::create(&stderr)?)
        .spawn()?;
    if let Some(after) = request["stop"]["after"].as_u64() {
        thread::sleep(Duration::from_millis(after));
        let signal = request["stop"]["signal"].as_str().unwrap_or("KILL");
        // It may have ended before.
        Command::new("kill").args(["-s", signal, &child.id().to_string()]).output()?;
    }
    let status = resume::wait_for(&mut child, resume::LIMIT)?;
    let asked = api.asked();
    let refusals = asked.iter().filter_map(|asked| Some(asked.refusal.as_ref()?.message.clone()));
    let refusals: Vec<String> = refusals.collect();
    let requests: Vec<Value> = asked.into_iter().map(|asked| asked.body).collect();
    let read =
        |path: &Path| fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    crate::repository::say(
        &json!({
            "rc": status.map(|status| status.code().unwrap_or(-1)),
            "stdout": read(&stdout)?, "stderr": read(&stderr)?.trim(),
            "requests": requests, "refusals": refusals,
        })
        .to_string(),
    );
    Ok(())
}
