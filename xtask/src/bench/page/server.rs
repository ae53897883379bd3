//! The servers whose pages are compared. Neither sees anything of the person who runs this.

use std::fs;
use std::io::BufRead as _;
use std::io::BufReader;
use std::path::Path;
use std::process::Child;
use std::process::Command;
use std::process::Stdio;

use anyhow::Context as _;
use anyhow::bail;

use super::log::SESSION;
use crate::bench::serve::TOKEN;

/// A server that ends with this.
pub(super) struct Server {
    pub(super) name: &'static str,
    base: String,
    sessions: &'static str,
    pub(super) token: Option<&'static str>,
    process: Child,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    pub(super) fn recto(program: &Path, home: &Path, scratch: &Path) -> anyhow::Result<Server> {
        let token = scratch.join("token");
        fs::write(&token, TOKEN)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            fs::set_permissions(&token, fs::Permissions::from_mode(0o600))?;
        }
        let mut command = clean(program, scratch);
        command.args(["serve", "--port", "0", "--json", "--home"]).arg(home);
        command.arg("--token-file").arg(&token);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let line = line_with(&mut process, "\"base\"")?;
        let value: serde_json::Value = serde_json::from_str(&line)?;
        let base = value["base"].as_str().context("no address")?.to_owned();
        Ok(Server { name: "recto", base, sessions: "session", token: Some(TOKEN), process })
    }

    /// It has read the logs when it listens.
    pub(super) fn agentsview(
        program: &Path,
        home: &Path,
        scratch: &Path,
    ) -> anyhow::Result<Server> {
        let mut command = clean(program, scratch);
        command.env("CLAUDE_PROJECTS_DIR", home.join("projects"));
        command.env("AGENTSVIEW_DATA_DIR", scratch.join("agentsview"));
        command.args(["serve", "--no-browser", "--no-update-check", "--port", "0"]);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let line = line_with(&mut process, "listening at ")?;
        let base = line.split("listening at ").nth(1).and_then(|rest| rest.split(' ').next());
        let base = base.context("no address")?.trim().to_owned();
        Ok(Server { name: "agentsview", base, sessions: "sessions", token: None, process })
    }

    pub(super) fn home(&self) -> String {
        format!("{}/", self.base)
    }

    pub(super) fn session(&self) -> String {
        format!("{}/{}/{SESSION}", self.base, self.sessions)
    }
}

fn clean(program: &Path, scratch: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", scratch.join("user")).stdin(Stdio::null());
    command
}

/// Waits for a line with a text; reads on behind it, so that the server can go on writing.
fn line_with(process: &mut Child, text: &str) -> anyhow::Result<String> {
    let output = process.stdout.take().context("no output")?;
    let mut lines = BufReader::new(output).lines();
    let Some(line) = lines.by_ref().map_while(Result::ok).find(|line| line.contains(text)) else {
        bail!("the server ended without a line with `{text}`");
    };
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
    Ok(line)
}
