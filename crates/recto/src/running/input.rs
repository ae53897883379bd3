//! What comes in: a prompt, lines of a stream, signals.

use std::io::BufRead as _;
use std::io::IsTerminal as _;
use std::io::Read as _;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc;
use std::time::Duration;

use recto_agent::headless::Input;
use recto_agent::headless::read_line;
use recto_agent::turn::Control;
use recto_agent::turn::Desk;

use super::Refused;
use crate::commands::run::RunOptions;

/// How long a prompt waits for the first byte of standard input.
const FIRST_BYTE: Duration = Duration::from_secs(3);

/// What is left of a session that was told to end.
pub(super) const LAST_MOMENT: Duration = Duration::from_millis(1500);

/// The exit code of a process that was told to end.
pub(super) const ENDED: u8 = 143;

/// A prompt may have so many bytes.
const MOST_INPUT: u64 = 64 << 20;

/// The prompt of the command line and of standard input.
pub(super) fn prompt(options: &RunOptions) -> Result<String, Refused> {
    let typed = options.prompt.clone().unwrap_or_default();
    let piped = piped(!typed.is_empty());
    let prompt = match (typed.is_empty(), piped.is_empty()) {
        (false, false) => format!("{typed}\n{piped}"),
        (false, true) => typed,
        (true, _) => piped,
    };
    if prompt.is_empty() {
        let text = "Error: Input must be provided either through stdin or as a prompt argument when using --print";
        return Err(Refused::Usage(text.to_owned()));
    }
    if prompt.trim().is_empty() {
        return Err(Refused::Usage("Error: the prompt is blank".to_owned()));
    }
    Ok(prompt)
}

/// What is on standard input. Somebody who typed a prompt may have left it open.
fn piped(has_prompt: bool) -> String {
    let input = std::io::stdin();
    if input.is_terminal() {
        return String::new();
    }
    let (sender, read) = mpsc::channel();
    std::thread::spawn(move || {
        let mut first = [0];
        let mut input = std::io::stdin().lock();
        let has_some = input.read(&mut first).is_ok_and(|count| count > 0);
        let _ = sender.send(None);
        let mut bytes = Vec::new();
        if has_some {
            bytes.push(first[0]);
            let _ = input.take(MOST_INPUT).read_to_end(&mut bytes);
        }
        let _ = sender.send(Some(bytes));
    });
    let began = match has_prompt {
        true => read.recv_timeout(FIRST_BYTE).is_ok(),
        false => read.recv().is_ok(),
    };
    match began.then(|| read.recv()) {
        Some(Ok(Some(bytes))) => String::from_utf8_lossy(&bytes).into_owned(),
        _ => String::new(),
    }
}

/// Lines of standard input on their way to a session.
pub(super) struct Reading(Arc<Mutex<Option<String>>>);

impl Reading {
    /// Reads until the end, or a line that cannot be understood.
    pub(super) fn start(control: Control, mut desk: Desk) -> Reading {
        let problem = Arc::new(Mutex::new(None));
        let told = Arc::clone(&problem);
        let link = desk.link();
        let (sender, mut taken) = tokio::sync::mpsc::unbounded_channel();
        // One after the other, so that a request counts for the prompt behind it.
        tokio::spawn(async move {
            while let Some(input) = taken.recv().await {
                match input {
                    Input::Prompt(prompt) => desk.prompt(prompt).await,
                    Input::Request(request) => desk.request(&request).await,
                    Input::Answer(_) | Input::Nothing => {}
                }
            }
            desk.close();
        });
        std::thread::spawn(move || {
            let mut input = std::io::stdin().lock();
            let mut line = Vec::new();
            loop {
                line.clear();
                match input.read_until(b'\n', &mut line) {
                    Ok(0) | Err(_) => break,
                    Ok(_) => {}
                }
                match read_line(&line) {
                    // Somebody waits for it, perhaps the request before.
                    Ok(Input::Answer(answer)) => link.take_answer(&answer),
                    Ok(Input::Nothing) => {}
                    Ok(input) => {
                        if sender.send(input).is_err() {
                            break;
                        }
                    }
                    Err(text) => {
                        *told.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
                        control.interrupt();
                        break;
                    }
                }
            }
        });
        Reading(problem)
    }

    /// What was wrong with a line.
    pub(super) fn problem(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What the system tells.
pub(super) enum Signal {
    Interrupt,
    End,
}

/// Signals to this process.
#[cfg(unix)]
pub(super) struct Signals {
    interrupt: tokio::signal::unix::Signal,
    end: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    pub(super) fn new() -> std::io::Result<Signals> {
        use tokio::signal::unix::SignalKind;
        use tokio::signal::unix::signal;
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            end: signal(SignalKind::terminate())?,
        })
    }

    pub(super) async fn next(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Interrupt,
            _ = self.end.recv() => Signal::End,
        }
    }
}

/// Signals to this process.
#[cfg(not(unix))]
pub(super) struct Signals;

#[cfg(not(unix))]
impl Signals {
    pub(super) fn new() -> std::io::Result<Signals> {
        Ok(Signals)
    }

    pub(super) async fn next(&mut self) -> Signal {
        let _ = tokio::signal::ctrl_c().await;
        Signal::Interrupt
    }
}
