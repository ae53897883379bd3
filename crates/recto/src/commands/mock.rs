//! `recto mock`: a strict Messages API on this machine.

use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;

use clap::Args;
use recto_agent::mock::FAULTS;
use recto_agent::mock::Fault;
use recto_agent::mock::Mock;
use recto_agent::mock::MockError;
use recto_agent::mock::MockEvent;
use recto_agent::mock::MockOptions;
use recto_agent::mock::Personality;
use recto_agent::mock::Script;
use recto_agent::replay::Replay;
use recto_log::json::ObjectWriter;
use recto_session::request::recording;
use recto_store::Loaded;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::global::Global;
use crate::select::target;
use crate::terminal::document_file;
use crate::terminal::output::Output;
use crate::terminal::text::one_line;

/// The port that is used if none is asked for.
const USUAL_PORT: u16 = 7780;

/// Run a strict Messages API for tests
///
/// Listens on 127.0.0.1 and answers POST /v1/messages (streamed or not),
/// /v1/messages/count_tokens and /v1/models as the real API does. It refuses what the
/// real API refuses, with the same error types, and fails on command. Any API key is
/// accepted. Ctrl-C stops it.
///
/// Without a script, a personality answers: `echo` repeats the prompt, `tools` calls
/// a tool and reports its result, `thinker` thinks first and signs its thinking.
///
/// A script is TOML or JSON Lines; see docs/guides/mock.md. With --replay, the mock
/// gives the answers recorded in a session: by the hash of the request where the log
/// has hashes, in their order where it has none. It reports where a request first
/// differs from the recorded one; with --exact it refuses such a request.
///
/// Faults: 400 to 599 (options: 429,retry-after=2), slow-start:MS, slow-bytes:MS,
/// chunks:N, cut-byte:N, cut-event:N, error-event:N, garbage, wrong-type, hang:N, reset.
///
/// Exit code 1 means that a request differed from the recorded one.
///
/// Examples:
///   recto mock
///   ANTHROPIC_BASE_URL=http://127.0.0.1:7780 ANTHROPIC_API_KEY=x claude -p hello
///   recto mock --script answers.toml --record asked.jsonl
///   recto mock --fault 529 --fault cut-event:3
///   recto mock --replay latest --exact
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct MockArgs {
    /// The port on 127.0.0.1; 0 for any free one
    #[arg(long, value_name = "PORT", default_value_t = USUAL_PORT)]
    port: u16,
    /// Rules that answer requests, as TOML or JSON Lines
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    script: Option<PathBuf>,
    /// How to answer requests that no rule matches
    #[arg(long, value_name = "NAME", value_parser = ["echo", "tools", "thinker"], default_value = "echo")]
    personality: String,
    /// Give the answers recorded in a session
    #[arg(long, value_name = "SESSION")]
    replay: Option<String>,
    /// Refuse a request that differs from the recorded one
    #[arg(long, requires = "replay")]
    exact: bool,
    /// Make the next request fail; repeat for later requests
    #[arg(long = "fault", value_name = "FAULT")]
    faults: Vec<String>,
    /// Append every exchange to a file that --script can play back
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Seed for everything generated: ids, signatures, which tool is called
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    seed: u64,
}

/// What the main thread waits for.
enum Told {
    Event(MockEvent),
    End(std::io::Result<()>),
}

pub(crate) fn cmd_mock(
    global: &Global,
    environment: &Environment,
    output: &mut Output,
    args: &MockArgs,
) -> Result<Outcome, CommandError> {
    let (sender, told) = mpsc::channel();
    let mut options = read_options(global, environment, args)?;
    let listener = sender.clone();
    options.listener = Some(Box::new(move |event: &MockEvent| {
        // After the end nobody listens.
        let _ = listener.send(Told::Event(event.clone()));
    }));
    let mock = Arc::new(Mock::start(options)?);
    let url = mock.base_url();
    if output.json {
        let port = u64::from(mock.port());
        output.json_line(ObjectWriter::new().string("url", &url).number("port", port))?;
    } else {
        output.line(&url)?;
        output.remark(&format!(
            "set ANTHROPIC_BASE_URL={url} and any API key; Ctrl-C stops the mock"
        ));
    }
    output.flush()?;
    let waiting = Arc::clone(&mock);
    std::thread::spawn(move || sender.send(Told::End(waiting.wait())));
    for told in told {
        match told {
            Told::Event(event) if output.json => {
                output.json_line(event_json(&event))?;
                output.flush()?;
            }
            Told::Event(event) => output.remark(&event_text(&event)),
            Told::End(ended) => {
                ended?;
                break;
            }
        }
    }
    Ok(if mock.differences() == 0 { Outcome::Done } else { Outcome::Found })
}

fn read_options(
    global: &Global,
    environment: &Environment,
    args: &MockArgs,
) -> Result<MockOptions, CommandError> {
    let faults = args.faults.iter().map(|text| {
        text.parse::<Fault>().map_err(|error| {
            let names: Vec<&str> = FAULTS.iter().map(|(name, _)| *name).collect();
            CommandError::user("bad-fault", one_line(&error.to_string()))
                .with_hint(format!("valid faults: {}", names.join(", ")))
        })
    });
    let faults = faults.collect::<Result<Vec<Fault>, CommandError>>()?;
    let script = args.script.as_deref().map(read_script).transpose()?;
    let replay = match &args.replay {
        None => None,
        Some(session) => Some(read_replay(global, environment, session)?),
    };
    let record = match &args.record {
        None => None,
        Some(path) => {
            let file: Box<dyn std::io::Write + Send> = Box::new(document_file::append(path)?);
            Some(file)
        }
    };
    let personality = args.personality.parse::<Personality>();
    let personality = personality.map_err(|why| CommandError::user("bad-personality", why))?;
    Ok(MockOptions {
        port: args.port,
        personality,
        script,
        replay,
        exact: args.exact,
        faults,
        seed: args.seed,
        record,
        ..MockOptions::default()
    })
}

fn read_script(path: &Path) -> Result<Script, CommandError> {
    let bytes = recto_store::read_small(path)?;
    let text = String::from_utf8_lossy(&bytes);
    Script::parse(&text).map_err(|error| {
        let message = format!("{}: {error}", path.display());
        CommandError::user("bad-script", one_line(&message))
            .with_hint("docs/guides/mock.md lists what a rule may contain")
    })
}

fn read_replay(
    global: &Global,
    environment: &Environment,
    session: &str,
) -> Result<Replay, CommandError> {
    let home = target::open_home(global, environment)?;
    let found = target::find(&home, &home.inventory(), environment, session)?;
    let loaded = Loaded::read(&found.path)?;
    let replay = Replay::new(&recording(&loaded.session, &loaded));
    if replay.is_empty() {
        let message = "the session has no answers";
        return Err(CommandError::user("nothing-recorded", message)
            .with_hint("`recto ls` lists sessions; choose one with at least one turn"));
    }
    Ok(replay)
}

fn event_json(event: &MockEvent) -> ObjectWriter {
    let refusal = event.refusal.as_ref();
    ObjectWriter::new()
        .number("request", event.number)
        .string("what", &event.what)
        .number_or_null("status", event.status.map(u64::from))
        .string_or_null("error", refusal.map(|(kind, _)| kind.as_str()))
        .string_or_null("message", refusal.map(|(_, message)| message.as_str()))
        .string_or_null("fault", event.fault.as_deref())
        .string_or_null("difference", event.difference.as_deref())
}

fn event_text(event: &MockEvent) -> String {
    let status = event.status.map_or_else(|| "reset".to_owned(), |status| status.to_string());
    let mut text = format!("{} {} {status}", event.number, one_line(&event.what));
    if let Some((kind, message)) = &event.refusal {
        text += &format!(" {kind}: {}", one_line(message));
    }
    if let Some(fault) = &event.fault {
        text += &format!(" (fault {})", one_line(fault));
    }
    if let Some(difference) = event.difference.as_ref().filter(|_| event.refusal.is_none()) {
        text += &format!(" {}", one_line(difference));
    }
    text
}

impl From<MockError> for CommandError {
    fn from(error: MockError) -> CommandError {
        let told = CommandError::user(error.name(), error.to_string());
        match error.hint() {
            Some(hint) => told.with_hint(hint),
            None => told,
        }
    }
}
