//! `recto branches`: the ways that a session went.

use clap::Args;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_session::Branch;
use recto_session::NodeId;
use recto_session::branches;
use recto_session::request::Generation;
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
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// List the branches of a session
///
/// A session goes two ways after a rewind, and where two clients went on with it
/// at once. For each branch: when it was written last, what is on it alone,
/// which clients go on from it, the last prompt, and where it left the others.
/// Parallel tool calls are no branches.
///
/// Examples:
///   recto branches latest
///   recto branches 3f2a1b4c --json | jq .resumed_by
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct BranchesArgs {
    /// The session
    #[arg(default_value = "latest")]
    session: String,
}

pub(crate) fn cmd_branches(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &BranchesArgs,
) -> Result<Outcome, CommandError> {
    let reading = Reading::open(home, environment, &args.session)?;
    let branches = branches(reading.session());
    if output.json {
        for branch in &branches {
            output.json_line(json(&reading, branch))?;
        }
    } else {
        write_table(&reading, &branches, output)?;
    }
    Ok(if branches.is_empty() { Outcome::Found } else { Outcome::Done })
}

/// A client, as `recto request --as` understands it.
fn client(generation: &Generation) -> &'static str {
    if *generation == Generation::latest() { "latest" } else { generation.observed() }
}

/// What began the turn of a line.
fn prompt_of(reading: &Reading, id: NodeId) -> String {
    let number = reading.turn_number(id);
    let turn = reading.turns.iter().find(|turn| turn.number == number);
    turn.map(|turn| reading.prompt(turn)).unwrap_or_default()
}

fn last_prompt(reading: &Reading, branch: &Branch) -> String {
    branch.last_prompt.map(|id| reading.text(id)).unwrap_or_default()
}

fn json(reading: &Reading, branch: &Branch) -> ObjectWriter {
    let node = |id: NodeId| reading.session().node(id);
    let time = branch.time.map(|time| format!("{time:.3}"));
    let clients = branch.generations.iter().map(client);
    let clients = clients.fold(ArrayWriter::new(), |array, client| array.string(client));
    let object = ObjectWriter::new()
        .string("tip", &node(branch.tip).uuid.to_string())
        .number("line", node(branch.tip).line)
        .string_or_null("time", time.as_deref());
    let object = match branch.fork {
        None => object.json("fork", b"null"),
        Some(fork) => {
            let place = ObjectWriter::new()
                .string("uuid", &node(fork).uuid.to_string())
                .number("line", node(fork).line)
                .number("turn", u64::from(reading.turn_number(fork)))
                .string("prompt", &prompt_of(reading, fork));
            object.json("fork", &place.finish())
        }
    };
    object
        .number("turns", u64::from(branch.turns))
        .number("messages", u64::from(branch.messages))
        .string("last_prompt", &last_prompt(reading, branch))
        .json("resumed_by", &clients.finish())
}

fn write_table(
    reading: &Reading,
    branches: &[Branch],
    output: &mut Output,
) -> Result<(), CommandError> {
    use Column::Flexible;
    use Column::Left;
    use Column::Right;
    if branches.len() > 30 {
        output.page();
    }
    let mut table = Table::new(&[Left, Right, Right, Left, Flexible, Flexible]);
    for branch in branches {
        let clients: Vec<&str> = branch.generations.iter().map(client).collect();
        let fork = branch.fork.map(|fork| {
            let prompt = one_line(&prompt_of(reading, fork));
            format!("from turn {}: {prompt}", reading.turn_number(fork))
        });
        table.row([
            branch.time.map(clock).unwrap_or_default(),
            plural(u64::from(branch.turns), "turn"),
            plural(u64::from(branch.messages), "message"),
            clients.join(", "),
            one_line(&last_prompt(reading, branch)),
            fork.unwrap_or_default(),
        ]);
    }
    for (branch, cells) in branches.iter().zip(table.layout(output.width)) {
        let is_current = branch.generations.contains(&Generation::latest());
        let look = if is_current { Look::Strong } else { Look::Plain };
        output.line(&output.paint(look, cells.join("  ").trim_end()))?;
    }
    Ok(())
}
