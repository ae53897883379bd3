//! `recto replay`: a session as a regression test.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::Args;
use recto_agent::api::ApiError;
use recto_agent::api::ApiEvent;
use recto_agent::api::Client;
use recto_agent::api::Endpoint;
use recto_agent::replay::Compared;
use recto_agent::replay::compare;
use recto_agent::replay::question;
use recto_agent::wire::Answer;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_session::request::Recording;
use recto_session::request::recording;
use recto_session::turns;
use recto_store::Home;
use recto_store::Loaded;

use crate::commands::replay_tools;
use crate::commands::replay_tools::Tools;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::running;
use crate::select::target;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::count;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;
use crate::terminal::text::safe;

/// Check that recto rebuilds a session's requests
///
/// Claude Code 2.1.300 and later note the hash of every message they send. This command
/// rebuilds each request from the log and compares it with those hashes, turn by turn.
/// Older logs have no hashes: recto counts their answers, and compares nothing.
///
/// With --endpoint, recto sends the request of one turn to another model or endpoint, and
/// shows both answers. The request offers no tools, because none would run. The key comes
/// from ANTHROPIC_API_KEY, or ANTHROPIC_AUTH_TOKEN for a bearer token.
///
/// With --tools, recto repeats the session's tool calls in the working directory: run repeats
/// them, diff also compares the results with the recorded ones, stub runs nothing and shows
/// the recorded results. Your permission rules decide which calls run; calls that would need
/// your approval do not.
///
/// Exit code 1 means that a request or, with --tools diff, a result differs.
///
/// Examples:
///   recto replay latest
///   recto replay 3f2a1b4c --at 3 --json
///   recto replay latest --tools diff --allowedTools 'Bash(cargo test:*)'
///   recto replay latest --at 2 --endpoint http://127.0.0.1:7780 --model claude-opus-5-5
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ReplayArgs {
    /// The session
    #[arg(default_value = "latest")]
    session: String,
    /// Only this turn, by its number in `recto turns`
    #[arg(long, value_name = "TURN")]
    at: Option<u32>,
    /// Repeat the tool calls
    #[arg(long, value_name = "HOW", value_enum, conflicts_with = "endpoint")]
    tools: Option<Tools>,
    /// Calls that may run, such as 'Bash(git log:*)' Edit
    #[arg(long = "allowedTools", alias = "allowed-tools", value_name = "RULE", num_args = 1.., requires = "tools")]
    allowed_tools: Vec<String>,
    /// Ask this endpoint the same question
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    /// The model to ask [default: the model of the log]
    #[arg(long, value_name = "MODEL", requires = "endpoint")]
    model: Option<String>,
    /// Also trust the certificates in this PEM file
    #[arg(long, value_name = "FILE", requires = "endpoint")]
    ca: Option<PathBuf>,
}

/// A turn and the lines that belong to it.
struct TurnLines {
    number: u32,
    lines: RangeInclusive<u64>,
}

pub(crate) fn cmd_replay(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &ReplayArgs,
) -> Result<Outcome, CommandError> {
    let found = target::find(home, &home.inventory(), environment, &args.session)?;
    let loaded = Loaded::read(&found.path)?;
    let turns = turn_lines(&loaded);
    if let Some(at) = args.at
        && turns.iter().all(|turn| turn.number != at)
    {
        let message = format!("the session has no turn {at}");
        let last = turns.last().map_or(0, |turn| turn.number);
        return Err(CommandError::user("not-found", message)
            .with_hint(format!("turns are 1 to {last}; `recto turns` lists them")));
    }
    if let Some(tools) = args.tools {
        let wanted = |line: u64| {
            Some(turn_of(&turns, line)).filter(|turn| args.at.is_none_or(|at| at == *turn))
        };
        let what = (tools, args.allowed_tools.as_slice());
        return replay_tools::run(home, environment, output, &loaded, what, &wanted);
    }
    let recording = recording(&loaded.session, &loaded);
    match &args.endpoint {
        Some(url) => ask(&loaded, &recording, &turns, environment, output, args, url),
        None => report(&recording, &turns, output, args.at),
    }
}

/// The turns in the order of the log. Notes of requests lie between the lines of a turn, so a
/// turn reaches to the start of the next one.
fn turn_lines(loaded: &Loaded) -> Vec<TurnLines> {
    let turns = turns(&loaded.session);
    let start = |nodes: &[recto_session::NodeId]| {
        nodes.iter().map(|node| loaded.session.node(*node).line).min()
    };
    let mut starts: Vec<(u64, u32)> = (0..turns.len())
        .zip(1..)
        .filter_map(|(at, number)| Some((start(turns.nodes(at))?, number)))
        .collect();
    starts.sort_unstable();
    let ends = starts.iter().skip(1).map(|(line, _)| line - 1).chain([u64::MAX]);
    let lines = starts.iter().zip(ends).enumerate().map(|(place, ((line, number), end))| {
        // What comes before the first prompt belongs to its turn.
        let line = if place == 0 { 0 } else { *line };
        TurnLines { number: *number, lines: line..=end }
    });
    lines.collect()
}

fn turn_of(turns: &[TurnLines], line: u64) -> u32 {
    turns.iter().find(|turn| turn.lines.contains(&line)).map_or(0, |turn| turn.number)
}

fn report(
    recording: &Recording,
    turns: &[TurnLines],
    output: &mut Output,
    at: Option<u32>,
) -> Result<Outcome, CommandError> {
    let is_wanted = |line: u64| at.is_none_or(|at| turn_of(turns, line) == at);
    let compared = compare(recording);
    let compared: Vec<Compared> = compared.into_iter().filter(|one| is_wanted(one.line)).collect();
    let answers = recording.answers.iter().filter(|one| is_wanted(one.line)).count() as u64;
    let differing = compared.iter().filter(|one| !one.missing.is_empty()).count() as u64;
    let has_hashes = !recording.requests.is_empty();
    if output.json {
        let rows = compared.iter().fold(ArrayWriter::new(), |rows, one| {
            rows.json(&row_json(one, turn_of(turns, one.line)).finish())
        });
        output.json_line(
            ObjectWriter::new()
                .string("matched_by", if has_hashes { "hash" } else { "position" })
                .number("requests", compared.len() as u64)
                .number("differing", differing)
                .number("answers", answers)
                .json("turns", &rows.finish()),
        )?;
    } else if !has_hashes {
        output.line(&format!(
            "{} in order; this client logged no hashes, so there is nothing to compare",
            plural(answers, "recorded answer")
        ))?;
    } else {
        write_rows(&compared, turns, output)?;
        let same = compared.len() as u64 - differing;
        let look = if differing == 0 { Look::Good } else { Look::Bad };
        let text =
            format!("{} of {} reproduced", count(same), plural(compared.len() as u64, "request"));
        output.line(&output.paint(look, &text))?;
    }
    let is_empty = compared.is_empty() && answers == 0;
    Ok(if differing > 0 || is_empty { Outcome::Found } else { Outcome::Done })
}

fn row_json(one: &Compared, turn: u32) -> ObjectWriter {
    let missing = one.missing.iter().fold(ArrayWriter::new(), |array, message| {
        let row = ObjectWriter::new()
            .number("message", message.index as u64)
            .string("recorded_hash", &message.recorded)
            .string_or_null("rebuilt", message.rebuilt.as_deref());
        array.json(&row.finish())
    });
    ObjectWriter::new()
        .number("turn", u64::from(turn))
        .number("line", one.line)
        .number("messages", one.messages as u64)
        .boolean("same", one.missing.is_empty())
        .boolean("answered", one.is_answered)
        .json("differences", &missing.finish())
}

fn write_rows(
    compared: &[Compared],
    turns: &[TurnLines],
    output: &mut Output,
) -> Result<(), CommandError> {
    if compared.len() > 30 {
        output.page();
    }
    use Column::Flexible;
    use Column::Left;
    use Column::Right;
    let mut table = Table::new(&[Left, Left, Right, Flexible]);
    for one in compared {
        let turn = format!("turn {}", turn_of(turns, one.line));
        let state = match one.missing.first() {
            None if one.is_answered => "same".to_owned(),
            None => "same, no answer recorded".to_owned(),
            Some(first) => {
                let rebuilt = first.rebuilt.as_deref().unwrap_or("nothing");
                format!("differs at messages.{}: the log gives {}", first.index, one_line(rebuilt))
            }
        };
        let messages = plural(one.messages as u64, "message");
        table.row([turn, format!("line {}", count(one.line)), messages, state]);
    }
    for cells in table.aligned(output.width) {
        output.line(cells.join("  ").trim_end())?;
    }
    Ok(())
}

/// Asks another endpoint the question of one turn.
fn ask(
    loaded: &Loaded,
    recording: &Recording,
    turns: &[TurnLines],
    environment: &Environment,
    output: &mut Output,
    args: &ReplayArgs,
    url: &str,
) -> Result<Outcome, CommandError> {
    let turn = match args.at {
        Some(at) => turns.iter().find(|turn| turn.number == at),
        None => turns.last(),
    };
    let asked =
        turn.and_then(|turn| question(&loaded.session, loaded, recording, turn.lines.clone()));
    let Some(asked) = asked else {
        let message = "this turn has no recorded answer, so there is no question to ask";
        return Err(CommandError::user("not-found", message)
            .with_hint("choose another turn with --at; `recto turns` lists them"));
    };
    if asked.missing > 0 {
        let missing = plural(asked.missing as u64, "message");
        output.remark(&format!("the log does not contain {missing} of this request"));
    }
    let mut request = asked.request;
    if let Some(model) = &args.model {
        request.model.clone_from(model);
    }
    let client = Client::new(endpoint(environment, args, url)?)?;
    let remarks = |event: &ApiEvent| match event {
        ApiEvent::Adapted(change) => {
            crate::terminal::output::remark(&one_line(&change.to_string()))
        }
        ApiEvent::Retry { attempt, most, wait, error } => crate::terminal::output::remark(
            &one_line(&format!("attempt {attempt} of {}: {error}; next in {wait:.1?}", most + 1)),
        ),
        _ => {}
    };
    let answer = client.ask(request, remarks).map_err(|failure| {
        let error = CommandError::from(failure.error);
        match failure.request_id {
            Some(id) => {
                error.with_hint(format!("the endpoint calls the request {}", one_line(&id)))
            }
            None => error,
        }
    })?;
    let recorded = asked.recorded.map(Answer::of);
    if output.json {
        let line = ObjectWriter::new().number("line", asked.line);
        let line = match &recorded {
            Some(recorded) => line.json("recorded", recorded.message.bytes()),
            None => line.json("recorded", b"null"),
        };
        output.json_line(line.json("answer", answer.message.bytes()))?;
        return Ok(Outcome::Done);
    }
    if let Some(recorded) = &recorded {
        write_answer("recorded", recorded, output)?;
    }
    write_answer("now", &answer, output)?;
    Ok(Outcome::Done)
}

fn write_answer(when: &str, answer: &Answer, output: &mut Output) -> Result<(), CommandError> {
    let head = format!("{when}: {}", one_line(&answer.model()));
    output.line(&output.paint(Look::Strong, &head))?;
    for finished in &answer.blocks {
        let block = finished.block.view();
        match (block.text(), block.name()) {
            (Some(text), _) => {
                for line in text.lines() {
                    output.line(&format!("  {}", safe(line)))?;
                }
            }
            (None, Some(name)) => {
                let input = block.input().map(|input| String::from_utf8_lossy(input.bytes()));
                let call = format!("{name} {}", input.unwrap_or_default());
                output.line(&format!("  {}", one_line(&call)))?;
            }
            (None, None) => output.line(&format!("  ({})", one_line(&finished.block.kind())))?,
        }
    }
    Ok(())
}

/// The endpoint, with the key of the environment.
fn endpoint(
    environment: &Environment,
    args: &ReplayArgs,
    url: &str,
) -> Result<Endpoint, CommandError> {
    let (mut endpoint, _) = running::endpoint(environment, url, args.ca.as_deref())?;
    // A person waits for the answer.
    endpoint.retries.most = 3;
    Ok(endpoint)
}

impl From<ApiError> for CommandError {
    fn from(error: ApiError) -> CommandError {
        let told = CommandError::user(error.name(), one_line(&error.to_string()));
        match error.hint() {
            Some(hint) => told.with_hint(hint),
            None => told,
        }
    }
}
