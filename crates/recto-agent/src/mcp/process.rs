//! A server that is a process: messages are lines on its standard input and output.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use serde_json::Value;
use serde_json::json;
use tokio::io::AsyncBufReadExt as _;
use tokio::io::AsyncReadExt as _;
use tokio::io::AsyncWriteExt as _;
use tokio::io::BufReader;
use tokio::process::Child;
use tokio::process::ChildStdout;
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::sync::oneshot;

/// The longest line that a server may write.
const LONGEST_LINE: u64 = 64 << 20;

#[derive(Debug, Default)]
struct Open {
    waiting: HashMap<u64, oneshot::Sender<Value>>,
    is_gone: bool,
}

#[derive(Debug, Default)]
struct Shared {
    open: Mutex<Open>,
    changed: AtomicBool,
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A server that runs. Dropping it ends the process and what it started.
#[derive(Debug)]
pub(super) struct Process {
    lines: mpsc::UnboundedSender<Vec<u8>>,
    shared: Arc<Shared>,
    group: Option<u32>,
    _child: Child,
}

impl Process {
    pub(super) fn start(
        command: &str,
        args: &[String],
        env: &BTreeMap<String, String>,
        directory: &Path,
    ) -> Result<Process, String> {
        let mut process = Command::new(command);
        process.args(args).envs(env).current_dir(directory);
        process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        process.kill_on_drop(true);
        #[cfg(unix)]
        process.process_group(0);
        let mut child = process.spawn().map_err(|error| format!("{command}: {error}"))?;
        let (lines, mut written) = mpsc::unbounded_channel::<Vec<u8>>();
        let shared = Arc::new(Shared::default());
        if let Some(mut stdin) = child.stdin.take() {
            tokio::spawn(async move {
                while let Some(line) = written.recv().await {
                    if stdin.write_all(&line).await.is_err() || stdin.flush().await.is_err() {
                        break;
                    }
                }
            });
        }
        if let Some(stdout) = child.stdout.take() {
            tokio::spawn(read(stdout, Arc::clone(&shared), lines.downgrade()));
        }
        let group = child.id();
        Ok(Process { lines, shared, group, _child: child })
    }

    /// Writes a message.
    pub(super) fn write(&self, message: &Value) -> Result<(), String> {
        let line = format!("{message}\n").into_bytes();
        self.lines.send(line).map_err(|_| "the server has exited".to_owned())
    }

    /// Asks, and waits for the answer.
    pub(super) async fn ask(&self, id: u64, message: &Value) -> Result<Value, String> {
        let (answer, answered) = oneshot::channel();
        {
            let mut open = self.shared.open();
            if open.is_gone {
                return Err("the server has exited".to_owned());
            }
            open.waiting.insert(id, answer);
        }
        self.write(message)?;
        answered.await.map_err(|_| "the server has exited".to_owned())
    }

    pub(super) fn take_changed(&self) -> bool {
        self.shared.changed.swap(false, Ordering::Relaxed)
    }

    pub(super) fn is_gone(&self) -> bool {
        self.shared.open().is_gone
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        #[cfg(unix)]
        {
            let group = self.group.and_then(|id| i32::try_from(id).ok());
            if let Some(group) = group.and_then(rustix::process::Pid::from_raw) {
                let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            }
        }
    }
}

async fn read(stdout: ChildStdout, shared: Arc<Shared>, lines: mpsc::WeakUnboundedSender<Vec<u8>>) {
    let mut reader = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        let mut limited = (&mut reader).take(LONGEST_LINE);
        match limited.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => break,
            Ok(_) if !line.ends_with(b"\n") && line.len() as u64 >= LONGEST_LINE => break,
            Ok(_) => {}
        }
        // What is no message is noise of the program.
        let Ok(message) = serde_json::from_slice::<Value>(&line) else { continue };
        let id = message.get("id").and_then(Value::as_u64);
        match (message.get("method").and_then(Value::as_str), id) {
            (Some(method), _) if is_list_changed(method) => {
                shared.changed.store(true, Ordering::Relaxed);
            }
            (Some(method), Some(_)) => {
                if let Some(lines) = lines.upgrade() {
                    let _ = lines.send(format!("{}\n", reply(method, &message["id"])).into_bytes());
                }
            }
            (None, Some(id)) => {
                if let Some(waiting) = shared.open().waiting.remove(&id) {
                    let _ = waiting.send(message);
                }
            }
            _ => {}
        }
    }
    let mut open = shared.open();
    open.is_gone = true;
    open.waiting.clear();
}

/// Whether a server says that a list of its own is another one now.
pub(super) fn is_list_changed(method: &str) -> bool {
    method.starts_with("notifications/") && method.ends_with("/list_changed")
}

/// What a server gets that asks something.
fn reply(method: &str, id: &Value) -> Value {
    match method {
        "ping" => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
        _ => json!({
            "jsonrpc": "2.0",
            "id": id,
            "error": {"code": -32601, "message": format!("{method} is not supported")},
        }),
    }
}
