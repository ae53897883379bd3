//! What is printed.

use std::io::IsTerminal as _;

use recto_agent::headless::StreamLines;
use recto_agent::headless::StreamOptions;
use recto_agent::headless::text_of;
use recto_agent::turn::End;
use recto_agent::turn::TurnEvent;
use serde_json::Value;

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
    is_terminal: bool,
    is_quiet: bool,
    was_interrupted: bool,
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
            is_terminal: std::io::stdout().is_terminal(),
            is_quiet: run.is_client,
            was_interrupted: false,
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
                let TurnEvent::Ended(ended) = event else { return Ok(()) };
                let text = text_of(ended);
                let text = if self.is_terminal {
                    text.lines().map(safe).collect::<Vec<_>>().join("\n")
                } else {
                    text
                };
                output.bytes(format!("{text}\n").as_bytes())?;
            }
            Format::Json { is_verbose } => {
                if *is_verbose || matches!(event, TurnEvent::Ended(_)) {
                    self.kept.extend(self.lines.lines(event));
                }
            }
            Format::Stream => {
                for line in self.lines.lines(event) {
                    output.bytes(format!("{line}\n").as_bytes())?;
                }
                output.flush()?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(&mut self, output: &mut Output) -> Result<(), CommandError> {
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
