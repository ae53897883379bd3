//! `recto turns`: the turns of a session.

use clap::Args;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_session::Turn;
use recto_session::on_current_branch;
use recto_store::Home;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::reading::Reading;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::clock;
use crate::terminal::text::count;
use crate::terminal::text::duration;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// List the turns of a session
///
/// A turn is a prompt and everything that came of it: answers, tool calls and
/// their results. Tokens of each API message are counted once. Turns that the
/// newest clients would not go on from are marked (see `recto branches`).
///
/// Examples:
///   recto turns latest
///   recto turns 3f2a1b4c --json | jq .prompt
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct TurnsArgs {
    /// The session
    #[arg(default_value = "latest")]
    session: String,
}

pub(crate) fn cmd_turns(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &TurnsArgs,
) -> Result<Outcome, CommandError> {
    let reading = Reading::open(home, environment, &args.session)?;
    let current = on_current_branch(reading.session(), &reading.turns);
    let turns = reading.turns.iter().zip(current);
    if output.json {
        for (turn, is_current) in turns {
            output.json_line(json(&reading, turn).boolean("current", is_current))?;
        }
    } else {
        write_table(&reading, turns, output)?;
    }
    Ok(if reading.turns.is_empty() { Outcome::Found } else { Outcome::Done })
}

fn write_table<'a>(
    reading: &Reading,
    turns: impl Iterator<Item = (&'a Turn, bool)>,
    output: &mut Output,
) -> Result<(), CommandError> {
    use Column::Flexible;
    use Column::Left;
    use Column::Right;
    if reading.turns.len() > 30 {
        output.page();
    }
    let mut table = Table::new(&[Right, Left, Right, Right, Right, Flexible]);
    for (turn, is_current) in turns {
        let calls = match (turn.calls, turn.failed_calls) {
            (0, _) => String::new(),
            (calls, 0) => plural(u64::from(calls), "call"),
            (calls, failed) => format!("{} ({failed} failed)", plural(u64::from(calls), "call")),
        };
        let tokens = if turn.messages == 0 {
            String::new()
        } else {
            format!("{} out", count(turn.tokens.output))
        };
        let mut about = one_line(&reading.prompt(turn));
        if about.is_empty() {
            about = format!("({})", turn.kind.name());
        }
        let blocked: u32 = turn.hooks.iter().map(|hook| hook.blocked).sum();
        if blocked > 0 {
            about = format!("[blocked by a hook] {about}");
        }
        if queued_prompts(turn) > 0 {
            about = format!("[{} queued] {about}", count(queued_prompts(turn)));
        }
        if turn.is_interrupted {
            about = format!("[interrupted] {about}");
        }
        if !is_current {
            about = format!("[other branch] {about}");
        }
        table.row([
            turn.number.to_string(),
            turn.started.map(clock).unwrap_or_default(),
            turn.length().map(duration).unwrap_or_default(),
            calls,
            tokens,
            about,
        ]);
    }
    for cells in table.layout(output.width) {
        let mut cells = cells.into_iter();
        let number = output.paint(Look::Strong, &cells.next().unwrap_or_default());
        let rest: Vec<String> = cells.collect();
        output.line(format!("{number}  {}", rest.join("  ")).trim_end())?;
    }
    Ok(())
}

fn json(reading: &Reading, turn: &Turn) -> ObjectWriter {
    let time = |time: Option<jiff::Timestamp>| time.map(|time| format!("{time:.3}"));
    let uuid = turn.prompt.map(|id| reading.session().node(id).uuid.to_string());
    let line = turn.nodes.first().map_or(0, |id| reading.session().node(*id).line);
    let object = ObjectWriter::new()
        .number("turn", u64::from(turn.number))
        .string("kind", turn.kind.name())
        .string("prompt", &reading.prompt(turn))
        .string_or_null("uuid", uuid.as_deref())
        .number("line", line)
        .string_or_null("started", time(turn.started).as_deref())
        .string_or_null("ended", time(turn.ended).as_deref());
    let object = match turn.length() {
        Some(milliseconds) => object.number("duration_ms", milliseconds),
        None => object.json("duration_ms", b"null"),
    };
    object
        .number("messages", u64::from(turn.messages))
        .number("tool_calls", u64::from(turn.calls))
        .number("failed_tool_calls", u64::from(turn.failed_calls))
        .number("api_errors", u64::from(turn.api_errors))
        .number("queued_prompts", queued_prompts(turn))
        .json("hooks", &hooks_json(reading, turn))
        .boolean("interrupted", turn.is_interrupted)
        .number("input_tokens", turn.tokens.input)
        .number("output_tokens", turn.tokens.output)
        .number("cache_creation_input_tokens", turn.tokens.cache_creation)
        .number("cache_read_input_tokens", turn.tokens.cache_read)
}

/// Prompts that were typed while a turn went on.
fn queued_prompts(turn: &Turn) -> u64 {
    (turn.queued.len() + turn.queued_lines.len()) as u64
}

fn hooks_json(reading: &Reading, turn: &Turn) -> Vec<u8> {
    let hooks = turn.hooks.iter().fold(ArrayWriter::new(), |hooks, hook| {
        let object = ObjectWriter::new()
            .string("name", reading.name(Some(hook.name)))
            .number("runs", u64::from(hook.runs))
            .number("failed", u64::from(hook.failed))
            .number("blocked", u64::from(hook.blocked));
        hooks.json(&object.finish())
    });
    hooks.finish()
}
