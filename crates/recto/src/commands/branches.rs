//! `recto branches`: the ways that a session went.

use clap::Args;
use recto_store::Home;
use recto_view::BranchRow;

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
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// List the branches of a session
///
/// A session branches after a rewind, or when two clients resume it at once. Shows for each
/// branch when it was last written, what only it contains, which client versions resume from
/// it, its last prompt, and where it diverged. Parallel tool calls are not branches.
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
    // A cell of a table holds less of a prompt than a prompt may have.
    let most_prompt = if output.json { usize::MAX } else { MOST_IN_CELL };
    let mut branches = recto_view::branch_rows(&reading, most_prompt);
    let count = branches.len();
    if output.json {
        branches.try_for_each(|branch| output.row(&branch))?;
    } else {
        if count > 30 {
            output.page();
        }
        output.blocks(branches, write_table)?;
    }
    Ok(if count == 0 { Outcome::Found } else { Outcome::Done })
}

fn write_table(branches: &[BranchRow], output: &mut Output) -> Result<(), CommandError> {
    use Column::Detail;
    use Column::DetailRight;
    use Column::Flexible;
    use Column::Left;
    let mut table = Table::new(&[Detail, DetailRight, DetailRight, Left, Flexible, Flexible]);
    for branch in branches {
        let fork = branch.fork.as_ref();
        let fork = fork.map(|fork| format!("from turn {}: {}", fork.turn, one_line(&fork.prompt)));
        table.row([
            branch.time.map(|time| clock(time.0)).unwrap_or_default(),
            plural(u64::from(branch.turns), "turn"),
            plural(u64::from(branch.messages), "message"),
            branch.resumed_by.join(", "),
            one_line(&branch.last_prompt),
            fork.unwrap_or_default(),
        ]);
    }
    for (branch, cells) in branches.iter().zip(table.layout(output.width)) {
        let look = if branch.is_current { Look::Strong } else { Look::Plain };
        output.line(&output.paint(look, cells.join(output.gap()).trim_end()))?;
    }
    Ok(())
}
