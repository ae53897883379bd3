//! `recto plans`: the plans that were made in plan mode.

use std::path::Path;

use clap::Args;
use recto_log::json::ObjectWriter;
use recto_store::Home;
use recto_store::Inventory;
use recto_store::LogFile;
use recto_store::PLAN_TOOL;
use recto_store::PlanFile;
use recto_store::logged_plans;
use recto_store::plan_file_named;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::target;
use crate::sweep::Place;
use crate::sweep::Swept;
use crate::sweep::sweep;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::clock;
use crate::terminal::text::one_line;
use crate::terminal::text::safe;

/// List the plans that were made in plan mode, newest first
///
/// Plans of a session and its subagents; without SESSION, those of all sessions
/// and the files in `plans/` that belong to none of them. A plan was agreed to,
/// refused, or has no answer in the log. The turn of a subagent's plan is a turn
/// of the subagent's log.
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

/// A plan, wherever it was found.
struct Plan {
    /// None for a file that no session names.
    place: Option<Place>,
    time: Option<jiff::Timestamp>,
    /// Whether the user agreed; unknown without an answer. A call that failed
    /// counts as refused, because the log does not tell by whom in all clients.
    agreed: Option<bool>,
    /// The file that keeps it.
    file: Option<String>,
    text: String,
}

impl Plan {
    fn answer(&self) -> &'static str {
        match (&self.place, self.agreed) {
            (None, _) => "file",
            (_, Some(true)) => "agreed",
            (_, Some(false)) => "refused",
            (_, None) => "open",
        }
    }

    /// The first line that says something, without the marks of a heading.
    fn title(&self) -> String {
        let mut lines = self.text.lines().map(|line| line.trim_start_matches('#').trim());
        one_line(lines.find(|line| !line.is_empty()).unwrap_or_default())
    }
}

pub(crate) fn cmd_plans(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &PlansArgs,
) -> Result<Outcome, CommandError> {
    let inventory = home.inventory();
    let logs = match &args.session {
        Some(session) => logs_of(home, &inventory, environment, session)?,
        None => {
            target::tell_skipped(&inventory, output);
            home.logs_with(&inventory, PLAN_TOOL)
        }
    };
    let files = home.plan_files();
    let found = sweep(&logs, output, plans_of);
    let mut plans: Vec<Plan> = found.into_iter().map(|(_, plan)| plan).collect();
    for plan in &mut plans {
        // Some clients leave the text to the file. Only a file of the home's
        // own directory is opened, whatever path the log names.
        let kept = plan.file.as_deref().and_then(|named| plan_file_named(&files, named));
        if let Some(file) = kept.filter(|_| plan.text.is_empty()) {
            plan.text = file.text();
        }
    }
    if args.session.is_none() {
        add_files(&mut plans, &files);
    }
    plans.reverse();
    plans.sort_by_key(|plan| std::cmp::Reverse(plan.time));
    if args.latest {
        plans.truncate(1);
    }
    match plans.first() {
        None if !output.json => output.remark("there is no plan"),
        Some(plan) if args.latest && !output.json => write_text(plan, output)?,
        _ if output.json => {
            for plan in &plans {
                output.json_line(json(plan))?;
            }
        }
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
    Ok(match &target.session {
        Some(session) => home.logs_of(inventory, session),
        None => {
            let agent = target.agent();
            vec![LogFile::alone(target.path, agent)]
        }
    })
}

fn plans_of(swept: &Swept<'_>) -> Vec<(Place, Plan)> {
    let plans = logged_plans(&swept.loaded).into_iter();
    plans
        .map(|plan| {
            let place = swept.place(plan.call);
            let plan = Plan {
                time: place.time,
                place: Some(place.clone()),
                agreed: plan.agreed,
                file: plan.file,
                text: plan.text,
            };
            (place, plan)
        })
        .collect()
}

/// Adds the files that are the text of no plan so far.
fn add_files(plans: &mut Vec<Plan>, files: &[PlanFile]) {
    for file in files {
        let is_named = |plan: &Plan| {
            let named = plan.file.as_deref().and_then(|named| Path::new(named).file_name());
            named.is_some() && named == file.path.file_name()
        };
        let text = file.text();
        if plans.iter().any(|plan| is_named(plan) || plan.text.trim() == text.trim()) {
            continue;
        }
        plans.push(Plan {
            place: None,
            time: Some(file.modified),
            agreed: None,
            file: Some(file.path.to_string_lossy().into_owned()),
            text,
        });
    }
}

fn json(plan: &Plan) -> ObjectWriter {
    let place = plan.place.as_ref();
    let time = plan.time.map(|time| format!("{time:.3}"));
    let object = ObjectWriter::new()
        .string_or_null("session", place.and_then(Place::session).as_deref())
        .string_or_null("agent", place.and_then(Place::agent))
        .number("turn", place.map_or(0, |place| u64::from(place.turn)))
        .string_or_null("time", time.as_deref());
    let object = match plan.agreed {
        Some(agreed) => object.boolean("agreed", agreed),
        None => object.json("agreed", b"null"),
    };
    object.string_or_null("file", plan.file.as_deref()).string("text", &plan.text)
}

fn write_text(plan: &Plan, output: &mut Output) -> Result<(), CommandError> {
    output.page();
    for line in safe(&plan.text).lines() {
        output.line(line)?;
    }
    Ok(())
}

fn write_table(plans: &[Plan], output: &mut Output) -> Result<(), CommandError> {
    if plans.len() > 30 {
        output.page();
    }
    let mut table = Table::new(&[
        Column::Left,
        Column::Left,
        Column::Left,
        Column::Left,
        Column::Flexible,
        Column::Flexible,
    ]);
    for plan in plans {
        let name = plan.file.as_deref().and_then(|file| file.rsplit(['/', '\\']).next());
        table.row([
            plan.time.map(clock).unwrap_or_default(),
            plan.place.as_ref().map(|place| one_line(&place.short_name())).unwrap_or_default(),
            plan.place.as_ref().map(|place| format!("turn {}", place.turn)).unwrap_or_default(),
            plan.answer().to_owned(),
            plan.title(),
            one_line(name.unwrap_or_default()),
        ]);
    }
    for (plan, cells) in plans.iter().zip(table.layout(output.width)) {
        let look = if plan.agreed == Some(false) { Look::Faint } else { Look::Plain };
        output.line(&output.paint(look, cells.join("  ").trim_end()))?;
    }
    Ok(())
}
