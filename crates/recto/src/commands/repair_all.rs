//! `recto repair --all`: every session of the home, as a table.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

use rayon::prelude::*;
use recto_log::json::ObjectWriter;
use recto_session::edit::EditError as PlanError;
use recto_store::EditError;
use recto_store::Home;
use recto_store::Inventory;
use recto_store::SessionFile;
use recto_store::StoreError;
use recto_store::each_alone;

use crate::commands::repair::RepairArgs;
use crate::commands::repair::job;
use crate::commands::repair::plan;
use crate::edit::editor::Editor;
use crate::edit::editor::Goal;
use crate::edit::editor::Mode;
use crate::edit::editor::Report;
use crate::edit::editor::Source;
use crate::edit::journal;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::output::Progress;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// What became of one session.
enum Fate {
    /// It is mended, or would be.
    Mended { fixes: usize, report: Box<Report> },
    /// It cannot be mended, or not now.
    Left { why: String },
}

/// Looks at all sessions; with `--in-place` they are mended.
pub(crate) fn run(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &RepairArgs,
) -> Result<Outcome, CommandError> {
    let inventory = Arc::new(home.without_archive().inventory());
    let sessions = &inventory.sessions;
    let mode = if args.edit.in_place { args.edit.new.mode() } else { Mode::Preview };
    let is_dry = mode == Mode::Preview;
    let progress = Progress::new("checking sessions", output);
    let done = AtomicU64::new(0);
    // Most sessions are whole: that is found out in parallel.
    let broken: Vec<&SessionFile> = each_alone(sessions)
        .filter(|session| {
            progress.tell(done.fetch_add(1, Ordering::Relaxed), sessions.len() as u64);
            !is_whole(home, args, &inventory, session)
        })
        .collect();
    let mut rows = Vec::new();
    for session in broken {
        let fate = one(home, environment, output, args, &inventory, session, mode);
        let fate = fate.unwrap_or_else(|error| Some(Fate::Left { why: error.to_string() }));
        rows.extend(fate.map(|fate| (session.clone(), fate)));
    }
    progress.done();
    tell(output, &rows, is_dry)?;
    let repaired = rows.iter().filter(|(_, fate)| matches!(fate, Fate::Mended { .. })).count();
    if !output.json {
        let left = rows.len() - repaired;
        let whole = sessions.len() - rows.len();
        let verb = if is_dry { "can be repaired" } else { "repaired" };
        output.line(&format!(
            "{}: {whole} intact, {repaired} {verb}, {left} unchanged",
            plural(sessions.len() as u64, "session")
        ))?;
        if is_dry && repaired > 0 {
            output
                .line("nothing was changed; --in-place repairs them, and `recto undo` undoes it")?;
        }
    }
    Ok(if rows.is_empty() || (!is_dry && repaired == rows.len()) {
        Outcome::Done
    } else {
        Outcome::Found
    })
}

/// Whether there is nothing to mend. What cannot be read is looked at again.
fn is_whole(
    home: &Home,
    args: &RepairArgs,
    inventory: &Arc<Inventory>,
    session: &SessionFile,
) -> bool {
    session.bytes() == 0
        || Source::read(inventory, session).is_ok_and(|source| match plan(home, &source, args) {
            Err(StoreError::Edit(EditError::Plan(
                PlanError::NothingToDo | PlanError::NoConversation,
            ))) => true,
            Ok(_) | Err(_) => false,
        })
}

/// Mends one session. `None` if nothing is wrong with it.
fn one(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &RepairArgs,
    inventory: &Arc<Inventory>,
    session: &SessionFile,
    mode: Mode,
) -> Result<Option<Fate>, CommandError> {
    let source = Source::read(inventory, session)?;
    let plan = match plan(home, &source, args) {
        Err(StoreError::Edit(EditError::Plan(
            PlanError::NothingToDo | PlanError::NoConversation,
        ))) => {
            return Ok(None);
        }
        other => other?,
    };
    if plan.draft.is_unchanged() {
        return Ok(Some(Fate::Left { why: plan.left.join("; ") }));
    }
    if mode == Mode::Publish {
        journal::may_edit(home, environment, session)?;
    }
    let fixes = plan.fixes.len();
    let job = job(plan, vec![session.id.to_string()], false);
    let editor = Editor { home, environment, output, source: &source };
    let report = editor.carry_out(Goal::InPlace, mode, job)?;
    Ok(Some(Fate::Mended { fixes, report: Box::new(report) }))
}

fn tell(
    output: &mut Output,
    rows: &[(SessionFile, Fate)],
    is_dry: bool,
) -> Result<(), CommandError> {
    if output.json {
        for (session, fate) in rows {
            let object = ObjectWriter::new()
                .string("operation", "repair")
                .string("source", &session.id.to_string());
            let object = match fate {
                Fate::Mended { fixes, report } => {
                    let object = object.number("fixed", *fixes as u64).boolean("dry_run", is_dry);
                    report.add_to(object)
                }
                Fate::Left { why } => object.number("fixed", 0).string("why", why),
            };
            output.json_line(object)?;
        }
        return Ok(());
    }
    use Column::Flexible;
    use Column::Left;
    use Column::Right;
    let mut table = Table::new(&[Left, Right, Left, Right, Flexible]);
    for (session, fate) in rows {
        let id: String = session.id.to_string().chars().take(8).collect();
        match fate {
            Fate::Mended { fixes, report } => table.row([
                id,
                format!("{:.1} %", report.percent_before()),
                "->".to_owned(),
                format!("{:.1} %", report.percent_after()),
                plural(*fixes as u64, "fix"),
            ]),
            Fate::Left { why } => {
                table.row([id, String::new(), String::new(), String::new(), one_line(why)]);
            }
        }
    }
    for ((_, fate), cells) in rows.iter().zip(table.layout(output.width)) {
        let look = match fate {
            Fate::Mended { .. } => Look::Plain,
            Fate::Left { .. } => Look::Warning,
        };
        output.line(&output.paint(look, cells.join(output.gap()).trim_end()))?;
    }
    Ok(())
}
