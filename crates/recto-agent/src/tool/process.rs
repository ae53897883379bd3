//! Commands of a shell as processes.
//!
//! Owns: starting one with its output in a file, its end, and killing everything that it
//! started. Output never passes through this process, so its size costs no memory.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::sync::watch;

use crate::sandbox::Sandbox;
use crate::sandbox::is_secret_variable;

/// The variable that every process of a command inherits: a process that left the group and
/// the tree is found by it.
const MARKER: &str = "RECTO_COMMAND";

/// How long processes have between being asked to end and being ended.
const GRACE: Duration = Duration::from_millis(90);

/// How often they are ended, before one that the system does not end is left to it.
const ROUNDS: usize = 8;

/// What is run.
#[derive(Debug)]
pub(super) struct Script<'a> {
    pub(super) id: &'a str,
    pub(super) shell: &'a Path,
    pub(super) text: &'a str,
    pub(super) cwd: &'a Path,
    pub(super) environment: &'a BTreeMap<String, String>,
    pub(super) output: &'a File,
    /// What it is confined to.
    pub(super) sandbox: Option<&'a Sandbox>,
}

/// A command that runs, or has ended.
#[derive(Debug, Clone)]
pub(super) struct Running {
    pid: Option<u32>,
    id: String,
    end: watch::Receiver<Option<i32>>,
}

impl Running {
    /// Starts a command. It gets nothing to read, and both its outputs are one file.
    pub(super) fn start(script: &Script<'_>) -> io::Result<Running> {
        let mut command = match script.sandbox {
            Some(sandbox) => {
                let (program, arguments) = sandbox.wrap(script.shell, script.text);
                let mut command = Command::new(program);
                command.args(arguments);
                for (name, _) in std::env::vars_os() {
                    if name.to_str().is_none_or(is_secret_variable) {
                        command.env_remove(name);
                    }
                }
                command
            }
            None => {
                let mut command = Command::new(script.shell);
                command.arg("-c").arg(script.text);
                command
            }
        };
        command.current_dir(script.cwd);
        command.envs(script.environment).env(MARKER, script.id);
        command.stdin(Stdio::null());
        command.stdout(script.output.try_clone()?).stderr(script.output.try_clone()?);
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn()?;
        let (sender, end) = watch::channel(None);
        let running = Running { pid: child.id(), id: script.id.to_owned(), end };
        tokio::spawn(async move {
            let code = child.wait().await.map_or(1, exit_code);
            sender.send_replace(Some(code));
        });
        Ok(running)
    }

    /// Waits for the end of the shell, and tells its exit code. What it left in the
    /// background may go on.
    pub(super) async fn ended(&mut self) -> i32 {
        match self.end.wait_for(Option::is_some).await {
            Ok(code) => code.unwrap_or(1),
            Err(_) => 1,
        }
    }

    /// The exit code, if it has ended.
    pub(super) fn exit(&self) -> Option<i32> {
        *self.end.borrow()
    }

    /// Ends the shell and all that it started, and returns when they are gone.
    pub(super) async fn kill(&mut self) {
        let mut found = self.signal(Ask::ToEnd);
        let is_over = tokio::time::timeout(GRACE, self.all_gone(&found)).await.is_ok();
        if is_over && marked(&self.id).is_empty() {
            return;
        }
        // What was started meanwhile is found by looking again.
        for _ in 0..ROUNDS {
            found.append(&mut self.signal(Ask::Now));
            let is_over = tokio::time::timeout(GRACE, self.all_gone(&found)).await.is_ok();
            if is_over && marked(&self.id).is_empty() {
                return;
            }
        }
    }

    async fn all_gone(&mut self, found: &BTreeSet<u32>) {
        self.ended().await;
        while found.iter().any(|pid| is_alive(*pid)) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn signal(&self, ask: Ask) -> BTreeSet<u32> {
        let mut found = marked(&self.id);
        if let Some(pid) = self.pid {
            if self.exit().is_none() {
                found.insert(pid);
            }
            send_to_group(pid, ask);
        }
        for pid in &found {
            send(*pid, ask);
        }
        found
    }
}

#[derive(Debug, Clone, Copy)]
enum Ask {
    ToEnd,
    Now,
}

/// As clients count: one of their own for a signal, but for the polite one.
fn exit_code(status: ExitStatus) -> i32 {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        const TERMINATE: i32 = 15;
        if let Some(signal) = status.signal() {
            return if signal == TERMINATE { 144 } else { 1 };
        }
    }
    status.code().unwrap_or(1)
}

#[cfg(unix)]
fn named(ask: Ask) -> rustix::process::Signal {
    match ask {
        Ask::ToEnd => rustix::process::Signal::TERM,
        Ask::Now => rustix::process::Signal::KILL,
    }
}

#[cfg(unix)]
fn raw(pid: u32) -> Option<rustix::process::Pid> {
    rustix::process::Pid::from_raw(i32::try_from(pid).ok()?)
}

#[cfg(unix)]
fn send(pid: u32, ask: Ask) {
    if let Some(pid) = raw(pid) {
        rustix::process::kill_process(pid, named(ask)).ok();
    }
}

#[cfg(unix)]
fn send_to_group(pid: u32, ask: Ask) {
    if let Some(pid) = raw(pid) {
        rustix::process::kill_process_group(pid, named(ask)).ok();
    }
}

#[cfg(unix)]
fn is_alive(pid: u32) -> bool {
    raw(pid).is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok()) && !is_zombie(pid)
}

/// A process that nobody waits for is no process any more.
#[cfg(unix)]
fn is_zombie(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    status.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
}

/// The processes that inherited the marker of a command.
#[cfg(target_os = "linux")]
fn marked(id: &str) -> BTreeSet<u32> {
    let wanted = format!("{MARKER}={id}").into_bytes();
    let has_marker = |pid: &u32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted)
    };
    let Ok(entries) = std::fs::read_dir("/proc") else { return BTreeSet::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(has_marker).collect()
}

#[cfg(not(target_os = "linux"))]
fn marked(_id: &str) -> BTreeSet<u32> {
    BTreeSet::new()
}

#[cfg(not(unix))]
fn send(_pid: u32, _ask: Ask) {}

#[cfg(not(unix))]
fn send_to_group(_pid: u32, _ask: Ask) {}

#[cfg(not(unix))]
fn is_alive(_pid: u32) -> bool {
    false
}
