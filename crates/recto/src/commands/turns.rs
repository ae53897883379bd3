//! `recto turns`: the turns of a session.

use clap::Args;
use recto_store::Home;
use recto_view::TurnRow;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::reading::Reading;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::Column;
use crate::terminal::text::MOST_IN_CELL;
use crate::terminal::text::Table;
use crate::terminal::text::clock;
use crate::terminal::text::count;
use crate::terminal::text::duration;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// List a session's turns
///
/// A turn is a prompt and everything that follows from it: answers, tool calls and their
/// results. Tokens of each API message count once. Turns on branches that the newest clients
/// would not resume are marked (see `recto branches`).
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
    // A cell of a table holds less of a prompt than a prompt may have.
    let most_prompt = if output.json { usize::MAX } else { MOST_IN_CELL };
    let mut turns = recto_view::turn_rows(&reading, most_prompt);
    let count = turns.len();
    if output.json {
        turns.try_for_each(|turn| output.row(&turn))?;
    } else {
        if count > 30 {
            output.page();
        }
        output.blocks(turns, write_table)?;
    }
    Ok(if count == 0 { Outcome::Found } else { Outcome::Done })
}

fn write_table(turns: &[TurnRow], output: &mut Output) -> Result<(), CommandError> {
    use Column::Detail;
    use Column::DetailRight;
    let columns = [Column::Right, Detail, DetailRight, DetailRight, DetailRight, Column::Flexible];
    let mut table = Table::new(&columns);
    for turn in turns {
        let calls = match (turn.tool_calls, turn.failed_tool_calls) {
            (0, _) => String::new(),
            (calls, 0) => plural(u64::from(calls), "call"),
            (calls, failed) => format!("{} ({failed} failed)", plural(u64::from(calls), "call")),
        };
        let tokens = if turn.messages == 0 {
            String::new()
        } else {
            format!("{} out", count(turn.tokens.output_tokens))
        };
        let mut about = one_line(&turn.prompt);
        if about.is_empty() {
            about = format!("({})", turn.kind);
        }
        let blocked: u32 = turn.hooks.iter().map(|hook| hook.blocked).sum();
        if blocked > 0 {
            about = format!("[blocked by a hook] {about}");
        }
        if turn.queued_prompts > 0 {
            about = format!("[{} queued] {about}", count(turn.queued_prompts as u64));
        }
        if turn.interrupted {
            about = format!("[interrupted] {about}");
        }
        if !turn.current {
            about = format!("[other branch] {about}");
        }
        table.row([
            turn.turn.to_string(),
            turn.started.map(|time| clock(time.0)).unwrap_or_default(),
            turn.duration_ms.map(duration).unwrap_or_default(),
            calls,
            tokens,
            about,
        ]);
    }
    for cells in table.layout(output.width) {
        let mut cells = cells.into_iter();
        let number = output.paint(Look::Strong, &cells.next().unwrap_or_default());
        let rest: Vec<String> = cells.collect();
        let gap = output.gap();
        output.line(format!("{number}{gap}{}", rest.join(gap)).trim_end())?;
    }
    Ok(())
}
