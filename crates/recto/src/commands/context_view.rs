//! What fills the context of a session, as a table with bars.

use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_session::NodeId;
use recto_session::context_fill::ContextFill;
use recto_session::context_fill::FilledPart;
use recto_session::context_fill::Filler;
use recto_session::context_fill::TurnFill;
use recto_session::context_fill::context_fill;
use recto_session::request::Generation;
use recto_session::request::history_to;
use recto_session::request::leaf as resumed_from;

use crate::error::CommandError;
use crate::error::Outcome;
use crate::reading::Reading;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::Column;
use crate::terminal::text::Column::Flexible;
use crate::terminal::text::Column::Left;
use crate::terminal::text::Column::Right;
use crate::terminal::text::Table;
use crate::terminal::text::bar;
use crate::terminal::text::count;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// How wide a bar is.
const BAR: usize = 24;

/// Shows what fills the context at a turn, or at all turns and the last one.
pub(crate) fn show_context(
    reading: &Reading,
    turn: Option<u32>,
    output: &mut Output,
) -> Result<Outcome, CommandError> {
    let fill = match leaf(reading, turn)? {
        Some(leaf) => context_fill(reading.session(), &reading.turns, leaf, turn, &reading.loaded),
        None => ContextFill::default(),
    };
    let shown = match turn {
        Some(turn) => fill.turns.iter().find(|one| one.turn == turn),
        None => fill.turns.last(),
    };
    if output.json {
        output.json_line(json(reading, &fill, shown))?;
    } else {
        if turn.is_none() {
            output.page();
            write_turns(&fill, output)?;
        }
        if let Some(shown) = shown {
            write_parts(shown, &fill.parts, output)?;
        }
    }
    if let Some(first) = fill.unreadable.first() {
        let number = plural(fill.unreadable.len() as u64, "line");
        let line = count(first.line);
        output.remark(&format!(
            "{number} could not be read, the first is line {line}: {}",
            first.error
        ));
    }
    if shown.is_none() {
        output.remark("no request at this turn");
    }
    Ok(if shown.is_some() { Outcome::Done } else { Outcome::Found })
}

/// The line to which the way leads: that of the session as it is now, or of a
/// turn that the session went away from.
fn leaf(reading: &Reading, turn: Option<u32>) -> Result<Option<NodeId>, CommandError> {
    let session = reading.session();
    let latest = Generation::latest();
    let newest = reading.turns().next_back().and_then(|turn| turn.nodes.last().copied());
    let leaf = resumed_from(session, latest).or(newest);
    let Some(number) = turn else { return Ok(leaf) };
    let Some(turn) = reading.turns.numbered(session, number) else {
        let message = format!("there is no turn {number}");
        return Err(CommandError::user("not-found", message)
            .with_hint(format!("the session has {}", plural(reading.turns.len() as u64, "turn"))));
    };
    let mut is_on_way = vec![false; session.node_count()];
    let way = leaf.map_or_else(Vec::new, |leaf| history_to(session, leaf, latest));
    for id in way.iter().flatten() {
        is_on_way[id.index()] = true;
    }
    let is_on_way = turn.nodes.iter().any(|id| is_on_way[id.index()]);
    Ok(if is_on_way { leaf } else { turn.nodes.last().copied() })
}

fn write_turns(fill: &ContextFill, output: &mut Output) -> Result<(), CommandError> {
    let sizes = fill.turns.iter().map(|turn| turn.measured.unwrap_or(turn.estimated()));
    let most = sizes.max().unwrap_or(0);
    let mut table = Table::new(&[Right, Right, Right, Column::Detail, Flexible]);
    table.row(["turn", "measured", "estimated", "", "most of it"].map(str::to_owned));
    for turn in &fill.turns {
        let size = turn.measured.unwrap_or(turn.estimated());
        let mut about = largest(turn);
        if turn.is_compacted {
            about = format!("[compacted] {about}");
        }
        table.row([
            turn.turn.to_string(),
            turn.measured.map(count).unwrap_or_default(),
            format!("~{}", count(turn.estimated())),
            bar(size, most, BAR),
            about,
        ]);
    }
    for (at, cells) in table.aligned(output.width).into_iter().enumerate() {
        let look = if at == 0 { Look::Faint } else { Look::Plain };
        output.line(&output.paint(look, cells.join("  ").trim_end()))?;
    }
    output.line("")
}

/// The three largest kinds of what is in the context, in percent of the estimate.
fn largest(turn: &TurnFill) -> String {
    let all = turn.estimated().max(1);
    let mut kinds: Vec<(Filler, u64)> = Filler::ALL.into_iter().zip(turn.tokens).collect();
    kinds.sort_by_key(|(_, tokens)| std::cmp::Reverse(*tokens));
    let kinds = kinds.iter().take(3).filter(|(_, tokens)| *tokens * 100 >= all);
    let kinds = kinds.map(|(filler, tokens)| format!("{} {} %", filler.name(), tokens * 100 / all));
    kinds.collect::<Vec<_>>().join(", ")
}

fn write_parts(
    turn: &TurnFill,
    parts: &[FilledPart],
    output: &mut Output,
) -> Result<(), CommandError> {
    let heading = format!("turn {}, at line {}", turn.turn, count(turn.line));
    output.line(&output.paint(Look::Strong, &heading))?;
    let rest = turn.measured.map(|measured| measured.saturating_sub(turn.estimated()));
    let most = parts.iter().map(|part| part.tokens).chain(rest).max().unwrap_or(0);
    let mut table = Table::new(&[Left, Flexible, Right, Right, Column::Detail]);
    table.row(["", "", "number", "tokens", ""].map(str::to_owned));
    for part in parts {
        table.row([
            part.filler.name().to_owned(),
            one_line(&part.name),
            count(part.count),
            format!("~{}", count(part.tokens)),
            bar(part.tokens, most, BAR),
        ]);
    }
    // An estimate can be too high as well.
    let excess = turn.estimated().saturating_sub(turn.measured.unwrap_or(u64::MAX));
    if let Some(rest) = rest {
        let (about, tokens) = match excess {
            0 => ("system prompt, tools, error", format!("~{}", count(rest))),
            _ => ("error", format!("~-{}", count(excess))),
        };
        let bar = bar(rest, most, BAR);
        table.row(["rest".to_owned(), about.to_owned(), String::new(), tokens, bar]);
    }
    let measured = turn.measured.map_or_else(|| format!("~{}", count(turn.estimated())), count);
    table.row(["all".to_owned(), String::new(), String::new(), measured, String::new()]);
    output.set_in("  ", |output| {
        for (at, cells) in table.aligned(output.width).into_iter().enumerate() {
            let look = if at == 0 { Look::Faint } else { Look::Plain };
            output.line(&output.paint(look, cells.join("  ").trim_end()))?;
        }
        Ok(())
    })
}

fn json(reading: &Reading, fill: &ContextFill, shown: Option<&TurnFill>) -> ObjectWriter {
    let number_or_null = |object: ObjectWriter, name: &str, number: Option<u64>| match number {
        Some(number) => object.number(name, number),
        None => object.json(name, b"null"),
    };
    let turns = fill.turns.iter().fold(ArrayWriter::new(), |array, turn| {
        let object = ObjectWriter::new()
            .number("turn", u64::from(turn.turn))
            .number("line", turn.line)
            .boolean("compacted", turn.is_compacted);
        let object = number_or_null(object, "measured_tokens", turn.measured);
        let mut object = object.number("estimated_tokens", turn.estimated());
        for (filler, tokens) in Filler::ALL.into_iter().zip(turn.tokens) {
            object = object.number(filler.name(), tokens);
        }
        array.json(&object.finish())
    });
    let parts = fill.parts.iter().fold(ArrayWriter::new(), |array, part| {
        let object = ObjectWriter::new()
            .string("kind", part.filler.name())
            .string("name", &part.name)
            .number("count", part.count)
            .number("estimated_tokens", part.tokens);
        array.json(&object.finish())
    });
    let object =
        ObjectWriter::new().string("id", &reading.log.name()).json("turns", &turns.finish());
    number_or_null(object, "turn", shown.map(|turn| u64::from(turn.turn)))
        .json("parts", &parts.finish())
}
