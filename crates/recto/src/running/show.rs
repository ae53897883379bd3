//! What is printed.

use std::io::IsTerminal as _;

use recto_agent::headless::StreamLines;
use recto_agent::headless::StreamOptions;
use recto_agent::headless::text_of;
use recto_agent::turn::End;
use recto_agent::turn::State;
use recto_agent::turn::TurnEvent;
use serde_json::Value;

use super::debug::Debug;
use crate::commands::run::RunOptions;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::terminal::output::Output;
use crate::terminal::output::remark;
use crate::terminal::text::one_line;
use crate::terminal::text::safe;

/// The version of the client whose protocol is spoken.
pub(crate) const COMPATIBLE: &str = "2.1.325";

/// Prints events in the format that was asked for.
pub(super) struct Surface {
    format: Format,
    lines: StreamLines,
    /// All lines so far, for `json` with `--verbose`.
    kept: Vec<Value>,
    /// Whether a program speaks with the session; otherwise a script waits for its end.
    is_hosted: bool,
    /// Results of a script's run, while subagents still work.
    held: Vec<Value>,
    /// What the last turn said.
    text: Option<String>,
    is_terminal: bool,
    is_quiet: bool,
    was_interrupted: bool,
    debug: Option<Debug>,
}

enum Format {
    Text,
    Json { is_verbose: bool },
    Stream,
}

impl Surface {
    pub(super) fn new(
        options: &RunOptions,
        environment: &Environment,
        session: &str,
        key_source: &'static str,
    ) -> Surface {
        let run = &environment.run;
        let states = match (run.reads_state, run.emits_state) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        };
        let stream = StreamOptions {
            partial: options.include_partial_messages,
            hooks: options.include_hook_events,
            replays: options.replay_user_messages,
            forwards_subagents: false,
            states,
            key_source,
            version: COMPATIBLE.to_owned(),
        };
        Surface {
            format: match options.output_format.as_str() {
                "json" => Format::Json { is_verbose: options.verbose },
                "stream-json" => Format::Stream,
                _ => Format::Text,
            },
            lines: StreamLines::new(session, stream),
            kept: Vec::new(),
            is_hosted: options.input_format == "stream-json",
            held: Vec::new(),
            text: None,
            is_terminal: std::io::stdout().is_terminal(),
            is_quiet: run.is_client,
            was_interrupted: false,
            debug: Debug::new(options),
        }
    }

    /// Whether the last turn was cut short by the user, which is no failure.
    pub(super) fn was_interrupted(&self) -> bool {
        self.was_interrupted
    }

    pub(super) fn show(
        &mut self,
        event: &TurnEvent,
        output: &mut Output,
    ) -> Result<(), CommandError> {
        if let TurnEvent::Ended(ended) = event {
            self.was_interrupted =
                matches!(ended.end, End::InterruptedText | End::InterruptedTools);
        }
        if let Some(debug) = &self.debug {
            debug.tell(event);
        }
        if let TurnEvent::Told(text) = event
            && !self.is_quiet
        {
            remark(&one_line(text));
        }
        // Whoever waits at a terminal or reads a log of errors sees why nothing happens.
        if let TurnEvent::Retry { attempt, most, wait, error } = event
            && !self.is_quiet
            && matches!(self.format, Format::Text)
        {
            let seconds = wait.as_secs_f64();
            remark(&one_line(&format!("{error}; retry {attempt} of {most} in {seconds:.1} s")));
        }
        match &self.format {
            Format::Text => {
                // A subagent that reports later may change what there is to say.
                if let TurnEvent::Ended(ended) = event {
                    self.text = Some(text_of(ended));
                }
            }
            Format::Json { is_verbose } => {
                if *is_verbose || matches!(event, TurnEvent::Ended(_)) {
                    self.kept.extend(self.lines.lines(event));
                }
            }
            Format::Stream => {
                let lines = self.lines.lines(event);
                match event {
                    TurnEvent::Ended(_) if !self.is_hosted => self.held.extend(lines),
                    TurnEvent::State(State::Idle) => {
                        print_lines(&self.take_held(), output)?;
                        print_lines(&lines, output)?;
                    }
                    _ => print_lines(&lines, output)?,
                }
            }
        }
        Ok(())
    }

    /// Results that were held back. What the process cost is what it cost by now.
    fn take_held(&mut self) -> Vec<Value> {
        let mut held = std::mem::take(&mut self.held);
        let Some(last) = held.last().cloned() else { return held };
        for line in &mut held {
            for total in ["total_cost_usd", "modelUsage"] {
                line[total] = last[total].clone();
            }
        }
        held
    }

    pub(super) fn finish(&mut self, output: &mut Output) -> Result<(), CommandError> {
        print_lines(&self.take_held(), output)?;
        if let Some(text) = self.text.take() {
            let text = if self.is_terminal {
                text.lines().map(safe).collect::<Vec<_>>().join("\n")
            } else {
                text
            };
            output.bytes(format!("{text}\n").as_bytes())?;
        }
        if let Format::Json { is_verbose } = self.format {
            let kept = std::mem::take(&mut self.kept);
            let text = match is_verbose {
                true => Value::Array(kept).to_string(),
                false => kept.last().map(Value::to_string).unwrap_or_default(),
            };
            if !text.is_empty() {
                output.bytes(format!("{text}\n").as_bytes())?;
            }
        }
        output.flush()
    }
}

fn print_lines(lines: &[Value], output: &mut Output) -> Result<(), CommandError> {
    for line in lines {
        output.bytes(format!("{line}\n").as_bytes())?;
    }
    if lines.is_empty() { Ok(()) } else { output.flush() }
}
