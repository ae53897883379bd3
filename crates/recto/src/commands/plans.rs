//! `recto plans`: the plans that were made in plan mode.

use clap::Args;
use recto_session::usage::PriceTable;
use recto_store::Home;
use recto_store::Inventory;
use recto_store::LogFile;
use recto_view::PlanRow;
use recto_view::PlanScope;
use recto_view::Plans;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::target;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::output::Progress;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::clock;
use crate::terminal::text::one_line;
use crate::terminal::text::safe;

/// List plans, newest first
///
/// Plans of a session and its subagents; without SESSION, those of all sessions and the files
/// in `plans/` that belong to none of them. A plan was approved, rejected, or has no answer in
/// the log. The turn of a subagent's plan is a turn of the subagent's log.
///
/// Examples:
///   recto plans
///   recto plans latest
///   recto plans --latest > plan.md
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct PlansArgs {
    /// The session [default: all sessions]
    session: Option<String>,
    /// Print the text of the newest plan
    #[arg(long)]
    latest: bool,
}

fn answer(plan: &PlanRow) -> &'static str {
    match (&plan.place.name, plan.agreed) {
        (None, _) => "file",
        (_, Some(true)) => "approved",
        (_, Some(false)) => "rejected",
        (_, None) => "open",
    }
}

pub(crate) fn cmd_plans(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &PlansArgs,
) -> Result<Outcome, CommandError> {
    let library = environment.library(home, PriceTable::default());
    let inventory = library.inventory();
    let scope = match &args.session {
        Some(session) => PlanScope::Logs(logs_of(home, &inventory, environment, session)?),
        None => {
            target::tell_skipped(&inventory, output);
            PlanScope::Home
        }
    };
    let progress = Progress::new("reading", output);
    let Plans { rows: mut plans, skipped } =
        library.plans(scope, &|done, all| progress.tell(done, all));
    progress.done();
    skipped.iter().for_each(|why| output.remark(&format!("skipped: {why}")));
    if args.latest {
        plans.truncate(1);
    }
    match plans.first() {
        None if !output.json => output.remark("no plans"),
        Some(plan) if args.latest && !output.json => write_text(plan, output)?,
        _ if output.json => output.rows(&plans)?,
        _ => write_table(&plans, output)?,
    }
    Ok(if plans.is_empty() { Outcome::Found } else { Outcome::Done })
}

/// The logs that belong to what the user means.
fn logs_of(
    home: &Home,
    inventory: &Inventory,
    environment: &Environment,
    text: &str,
) -> Result<Vec<LogFile>, CommandError> {
    let target = target::find(home, inventory, environment, text)?;
    Ok(match target.main() {
        Some(session) => home.logs_of(inventory, &session),
        None => vec![target],
    })
}

fn write_text(plan: &PlanRow, output: &mut Output) -> Result<(), CommandError> {
    output.page();
    for line in safe(&plan.text).lines() {
        output.line(line)?;
    }
    Ok(())
}

fn write_table(plans: &[PlanRow], output: &mut Output) -> Result<(), CommandError> {
    if plans.len() > 30 {
        output.page();
    }
    let mut table = Table::new(&[
        Column::Left,
        Column::Left,
        Column::Left,
        Column::Left,
        Column::Flexible,
        Column::Optional,
    ]);
    for plan in plans {
        let name = plan.place.name.as_deref();
        table.row([
            plan.place.time.map(|time| clock(time.0)).unwrap_or_default(),
            name.map(one_line).unwrap_or_default(),
            name.map(|_| format!("turn {}", plan.place.turn)).unwrap_or_default(),
            answer(plan).to_owned(),
            one_line(plan.title()),
            plan.file_name().map(one_line).unwrap_or_default(),
        ]);
    }
    for (plan, cells) in plans.iter().zip(table.layout(output.width)) {
        let look = if plan.agreed == Some(false) { Look::Faint } else { Look::Plain };
        output.line(&output.paint(look, cells.join(output.gap()).trim_end()))?;
    }
    Ok(())
}
