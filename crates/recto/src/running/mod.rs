//! Running a session: options in, a `Setup` for the loop, events out.

mod choose;
mod debug;
mod endpoint;
mod input;
mod servers;
mod show;
mod start;

use recto_agent::turn::Control;
use recto_agent::turn::DeskFacts;
use recto_agent::turn::Prompt;
use recto_store::Home;

use crate::commands::run::RunOptions;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;
use crate::terminal::output::complain;

pub(crate) use endpoint::endpoint;
use input::Reading;
pub(crate) use show::COMPATIBLE;
use show::Surface;
pub(crate) use start::prepare;

/// Why a run does not start, in the words that scripts know.
#[derive(Debug)]
pub(crate) enum Refused {
    /// A sentence for standard error.
    Usage(String),
    /// The same, and a result line for those who read a stream.
    Session(String),
    /// Another error of recto.
    Command(CommandError),
}

impl<E: Into<CommandError>> From<E> for Refused {
    fn from(error: E) -> Refused {
        Refused::Command(error.into())
    }
}

/// Runs a session.
pub(crate) fn run(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    options: &RunOptions,
) -> Result<Outcome, CommandError> {
    match try_run(home, environment, output, options) {
        Ok(outcome) => Ok(outcome),
        Err(Refused::Usage(text)) => {
            complain(&format!("{}\n", crate::terminal::text::safe(&text)));
            Ok(Outcome::Found)
        }
        Err(Refused::Session(text)) => {
            complain(&format!("{}\n", crate::terminal::text::safe(&text)));
            if options.output_format == "stream-json" {
                let session = options.session_id.clone();
                let session = session.unwrap_or_else(|| recto_store::new_session_id().to_string());
                let line = recto_agent::headless::refused(&text, &session).to_string();
                output.bytes(format!("{line}\n").as_bytes())?;
            }
            Ok(Outcome::Found)
        }
        Err(Refused::Command(error)) => Err(error),
    }
}

fn try_run(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    options: &RunOptions,
) -> Result<Outcome, Refused> {
    let is_stream_in = options.input_format == "stream-json";
    let is_stream_out = options.output_format == "stream-json";
    if is_stream_in && !is_stream_out {
        let text = "Error: --input-format=stream-json requires output-format=stream-json.";
        return Err(Refused::Usage(text.to_owned()));
    }
    if options.print && is_stream_out && !options.verbose {
        let text = "Error: When using --print, --output-format=stream-json requires --verbose";
        return Err(Refused::Usage(text.to_owned()));
    }
    if options.include_partial_messages && !is_stream_out {
        let text =
            "Error: --include-partial-messages requires --print and --output-format=stream-json.";
        return Err(Refused::Usage(text.to_owned()));
    }
    if options.replay_user_messages && !(is_stream_in && is_stream_out) {
        let text = "Error: --replay-user-messages requires both --input-format=stream-json and --output-format=stream-json.";
        return Err(Refused::Usage(text.to_owned()));
    }
    if !options.print && !is_stream_in && !is_stream_out {
        return crate::console::open(home, environment, output, options);
    }
    let mut prepared = start::prepare(home, environment, options)?;
    let prompt = match is_stream_in {
        true => None,
        false => Some(input::prompt(options)?),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let session = prepared.session.to_string();
    let surface = Surface::new(options, environment, &session, prepared.key_source);
    runtime.block_on(async {
        let setup = prepared.setup.take();
        let Some(setup) = setup else { return Ok(Outcome::Found) };
        if let Some(why) = setup.unknown_agent() {
            return Err(Refused::Usage(why));
        }
        let (runner, control, events) = setup.start();
        let reading = match prompt {
            Some(prompt) => {
                control.prompt(Prompt::text(prompt));
                control.close();
                None
            }
            None => {
                let facts = DeskFacts {
                    version: COMPATIBLE.to_owned(),
                    key_source: prepared.key_source,
                    may_bypass: options.dangerously_skip_permissions
                        || options.allow_dangerously_skip_permissions,
                    may_rewind: environment.run.may_rewind,
                };
                runner.desk(facts).map(|desk| Reading::start(control.clone(), desk))
            }
        };
        steer(runner, control, events, reading, surface, output).await
    })
}

/// Shows what happens until the session is over.
async fn steer(
    runner: recto_agent::turn::Runner,
    control: Control,
    mut events: tokio::sync::mpsc::Receiver<recto_agent::turn::TurnEvent>,
    reading: Option<Reading>,
    mut surface: Surface,
    output: &mut Output,
) -> Result<Outcome, Refused> {
    let mut running = tokio::spawn(runner.run());
    let mut signals = input::Signals::new()?;
    let mut broken = None;
    let end = loop {
        tokio::select! {
            biased;
            event = events.recv() => {
                if let Some(event) = event
                    && broken.is_none()
                    && let Err(error) = surface.show(&event, output)
                {
                    // Nobody reads any more.
                    broken = Some(error);
                    control.stop();
                }
            }
            signal = signals.next() => match signal {
                input::Signal::Interrupt => control.stop(),
                input::Signal::End => {
                    control.terminate();
                    let _ = tokio::time::timeout(input::LAST_MOMENT, &mut running).await;
                    while let Ok(event) = events.try_recv() {
                        let _ = surface.show(&event, output);
                    }
                    let _ = output.flush();
                    return Ok(Outcome::Code(input::ENDED));
                }
            },
            end = &mut running => break end,
        }
    };
    while let Ok(event) = events.try_recv() {
        if broken.is_none() {
            surface.show(&event, output)?;
        }
    }
    surface.finish(output)?;
    let end = end.map_err(|error| {
        Refused::Command(CommandError::user("run-failed", format!("the session failed: {error}")))
    })?;
    for complaint in &end.complaints {
        complain(&format!("{}\n", crate::terminal::text::safe(complaint)));
    }
    let reading_is_none = reading.is_none();
    if let Some(text) = reading.and_then(|reading| reading.problem()) {
        return Err(Refused::Usage(text));
    }
    if let Some(error) = broken {
        return Err(Refused::Command(error));
    }
    // A host that interrupts hears that the last turn failed; a person knows.
    let was_interrupted = surface.was_interrupted() && reading_is_none;
    Ok(if end.is_error && !was_interrupted { Outcome::Found } else { Outcome::Done })
}

/// How commands are confined, in a line for people.
pub(crate) fn sandbox_line(environment: &Environment, options: &RunOptions) -> String {
    if !start::wants_sandbox(environment, options) {
        return "sandbox off: commands run unconfined; recto asks before each".to_owned();
    }
    let confinement = match Environment::program() {
        Ok(program) => recto_agent::sandbox::probe(&program),
        Err(_) => recto_agent::sandbox::Confinement::None,
    };
    match (confinement, options.allow_domain.is_empty()) {
        (recto_agent::sandbox::Confinement::Full, false) => {
            let domains = options.allow_domain.join(", ");
            format!(
                "sandbox on: commands write only here and in temp, without keys, and reach only {domains}"
            )
        }
        (confinement, _) => confinement.line().to_owned(),
    }
}
