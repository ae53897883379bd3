//! What the end of a hook means. Pure: the event, the exit and the output in, the effect out.

use std::time::Duration;

use crate::hook::event::Event;
use crate::hook::output;
use crate::hook::output::Choice;
use crate::hook::output::Output;
use crate::hook::output::Printed;

/// How a hook ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// It was stopped because it took longer than this.
    TimedOut(Duration),
    /// A signal ended it.
    Killed,
    /// The session was interrupted.
    Interrupted,
}

/// What a hook says about the event.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Nothing.
    Silent,
    /// It did its work, and printed this text for whoever reads it.
    Success {
        /// Plain text without the blanks around it; empty if it printed JSON.
        content: String,
    },
    /// It failed, and nothing is stopped by that.
    Failed {
        /// What the log says.
        stderr: String,
        /// What the log says that it printed.
        stdout: String,
        /// The code for the log.
        code: i32,
        /// Whether the log says how long it took.
        timed: bool,
        /// Whether it said nothing that could be understood. A program that complains in its exit
        /// code did its work.
        unusable: bool,
    },
    /// It forbids what the event is about.
    Block {
        /// Why.
        message: String,
        /// Why, without the command: what the user is told.
        reason: Option<String>,
        /// Whether it printed that, or left with 2.
        by_json: bool,
    },
    /// It was stopped.
    Cancelled {
        /// After this time, if it took too long.
        timeout: Option<Duration>,
    },
}

/// What a hook did.
#[derive(Debug, Clone, PartialEq)]
pub struct HookEffect {
    /// What it says about the event.
    pub outcome: Outcome,
    /// What else it wants, if it printed an object.
    pub output: Output,
    /// Whether it printed an object.
    pub is_object: bool,
}

/// What the end of a hook means.
pub fn interpret(
    event: Event,
    command: &str,
    exit: Exit,
    stdout: &str,
    stderr: &str,
) -> HookEffect {
    let code = match exit {
        Exit::Code(code) => code,
        Exit::Killed => 1,
        Exit::TimedOut(timeout) => return only(Outcome::Cancelled { timeout: Some(timeout) }),
        Exit::Interrupted => return only(Outcome::Cancelled { timeout: None }),
    };
    match output::read(event, stdout) {
        Printed::Json(output) => of_json(event, command, code, stderr, *output),
        Printed::Async => only(Outcome::Silent),
        Printed::Broken(_) if code == 2 => only(block_by_code(event, command, stderr)),
        Printed::Broken(what) => only(unusable(what, stdout.to_owned(), 0)),
        Printed::Invalid(text) => only(unusable(text, stdout.to_owned(), 0)),
        Printed::WrongEvent(text) => only(unusable(text, String::new(), 1)),
        Printed::Text(content) => only(match code {
            0 if content.is_empty() && stderr.is_empty() => Outcome::Silent,
            0 => Outcome::Success { content },
            2 => block_by_code(event, command, stderr),
            code => Outcome::Failed {
                stderr: format!(
                    "Failed with non-blocking status code: {}",
                    no_stderr(stderr.trim())
                ),
                stdout: stdout.to_owned(),
                code,
                timed: true,
                // The shell did not find it or may not run it, or it did not come to its end.
                unusable: (code >= 126 && code != 128) || exit == Exit::Killed,
            },
        }),
    }
}

fn only(outcome: Outcome) -> HookEffect {
    HookEffect { outcome, output: Output::default(), is_object: false }
}

fn unusable(stderr: String, stdout: String, code: i32) -> Outcome {
    Outcome::Failed { stderr, stdout, code, timed: true, unusable: true }
}

fn no_stderr(stderr: &str) -> &str {
    if stderr.is_empty() { "No stderr output" } else { stderr }
}

fn block_by_code(event: Event, command: &str, stderr: &str) -> Outcome {
    let message = format!("[{command}]: {}", no_stderr(stderr));
    let reason = Some(stderr.trim()).filter(|reason| !reason.is_empty()).map(str::to_owned);
    block(event, message, reason, false)
}

/// Some events cannot be stopped: the hook failed, then.
fn block(event: Event, message: String, reason: Option<String>, by_json: bool) -> Outcome {
    match event {
        Event::SessionStart | Event::SubagentStart => {
            let stdout = String::new();
            Outcome::Failed { stderr: message, stdout, code: 2, timed: false, unusable: false }
        }
        _ => Outcome::Block { message, reason, by_json },
    }
}

fn of_json(event: Event, command: &str, code: i32, stderr: &str, output: Output) -> HookEffect {
    let reason = match (&output.block, output.choice) {
        (Some(reason), _) => Some(reason.clone()),
        (None, Some(Choice::Deny)) if event == Event::PreToolUse => {
            Some(output.choice_reason.clone())
        }
        _ => None,
    };
    let decides = output.choice.is_some() || output.permission.is_some() || output.stop.is_some();
    let outcome = match reason {
        Some(reason) => {
            let said = reason.clone().filter(|reason| !reason.is_empty());
            let message = said.unwrap_or_else(|| "Blocked by hook".to_owned());
            block(event, message, reason, true)
        }
        // An object that decides nothing does not take the meaning of 2 away.
        None if code == 2 && !decides => block_by_code(event, command, stderr),
        None => Outcome::Success { content: String::new() },
    };
    HookEffect { outcome, output, is_object: true }
}
