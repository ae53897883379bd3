//! Running hooks: `/bin/sh -c`, the input on standard input, and no longer than allowed.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;
use std::time::Instant;

use serde_json::Value;
use tokio::io::AsyncRead;
use tokio::io::AsyncReadExt as _;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Child;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use crate::hook::answer::Ran;
use crate::hook::config::HookCommand;
use crate::hook::effect::Exit;
use crate::hook::effect::interpret;

/// More output than this is read and forgotten.
const MOST_OUTPUT: usize = 4 * 1024 * 1024;
/// How long output is waited for after the shell has left: its children may hold it open.
const GRACE: Duration = Duration::from_millis(500);

/// Where hooks run.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The session's directory.
    pub cwd: PathBuf,
    /// Variables besides those of the process: `CLAUDE_PROJECT_DIR` and those of the settings.
    pub environment: Vec<(String, String)>,
}

/// Runs all hooks of an event at the same time, and returns what they did in the order of their
/// settings. Those that nobody waits for are started and left alone.
pub async fn run_all(
    hooks: &[&HookCommand],
    input: &Value,
    surroundings: &Surroundings,
    interrupt: &CancellationToken,
) -> Vec<Ran> {
    let input = format!("{input}\n");
    let mut running = Vec::new();
    for hook in hooks {
        let (hook, input) = ((*hook).clone(), input.clone());
        let (surroundings, interrupt) = (surroundings.clone(), interrupt.clone());
        let is_async = hook.is_async;
        let task = tokio::spawn(async move { run(&hook, &input, &surroundings, &interrupt).await });
        if !is_async {
            running.push(task);
        }
    }
    let mut ran = Vec::new();
    for task in running {
        // A task that failed has no result, and there is none to make up.
        ran.extend(task.await.ok());
    }
    ran
}

async fn run(
    hook: &HookCommand,
    input: &str,
    surroundings: &Surroundings,
    interrupt: &CancellationToken,
) -> Ran {
    let started = Instant::now();
    let (exit, stdout, stderr) = match start(hook, surroundings) {
        Ok(child) => finish(child, hook, input, interrupt).await,
        Err(error) => (Exit::Code(1), String::new(), format!("Failed to run: {error}")),
    };
    let code = match exit {
        Exit::Code(code) => code,
        Exit::Killed | Exit::TimedOut(_) | Exit::Interrupted => 1,
    };
    let effect = interpret(hook.event, &hook.command, exit, &stdout, &stderr);
    Ran {
        command: hook.command.clone(),
        stdout,
        stderr,
        code,
        duration: started.elapsed(),
        effect,
        is_callback: false,
    }
}

fn start(hook: &HookCommand, surroundings: &Surroundings) -> std::io::Result<Child> {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(&hook.command);
    command.current_dir(&surroundings.cwd);
    command.envs(surroundings.environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.kill_on_drop(!hook.is_async);
    // A group of its own, so that what it started ends with it.
    #[cfg(unix)]
    command.process_group(0);
    command.spawn()
}

async fn finish(
    mut child: Child,
    hook: &HookCommand,
    input: &str,
    interrupt: &CancellationToken,
) -> (Exit, String, String) {
    let group = child.id();
    let stdin = child.stdin.take();
    let input = input.to_owned();
    // A hook that does not read its input must not be waited for.
    let writing = tokio::spawn(async move {
        if let Some(mut stdin) = stdin {
            let _ = stdin.write_all(input.as_bytes()).await;
            let _ = stdin.shutdown().await;
        }
    });
    let stdout = tokio::spawn(read(child.stdout.take()));
    let stderr = tokio::spawn(read(child.stderr.take()));
    let exit = tokio::select! {
        status = child.wait() => exit_of(status),
        () = tokio::time::sleep(hook.timeout) => Exit::TimedOut(hook.timeout),
        () = interrupt.cancelled() => Exit::Interrupted,
    };
    if !matches!(exit, Exit::Code(_) | Exit::Killed) {
        end_group(group);
        let _ = child.kill().await;
    }
    writing.abort();
    (exit, collected(stdout).await, collected(stderr).await)
}

fn exit_of(status: std::io::Result<std::process::ExitStatus>) -> Exit {
    match status {
        Ok(status) => status.code().map_or(Exit::Killed, Exit::Code),
        Err(_) => Exit::Code(1),
    }
}

#[cfg(unix)]
fn end_group(group: Option<u32>) {
    let group = group.and_then(|id| i32::try_from(id).ok());
    if let Some(group) = group.and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

#[cfg(not(unix))]
fn end_group(_group: Option<u32>) {}

async fn collected(task: tokio::task::JoinHandle<Shared>) -> String {
    let abort = task.abort_handle();
    match tokio::time::timeout(GRACE, task).await {
        Ok(Ok(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
        _ => {
            abort.abort();
            String::new()
        }
    }
}

type Shared = Vec<u8>;

/// Reads to the end, and keeps the beginning.
async fn read(stream: Option<impl AsyncRead + Unpin>) -> Shared {
    let mut kept = Vec::new();
    let Some(mut stream) = stream else { return kept };
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(length) = stream.read(&mut buffer).await {
        if length == 0 {
            break;
        }
        let room = MOST_OUTPUT.saturating_sub(kept.len());
        kept.extend(buffer.iter().take(length.min(room)));
    }
    kept
}
