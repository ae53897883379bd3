//! `EnterPlanMode` and `ExitPlanMode`.

use std::fs;
use std::path::Path;

use serde_json::Value;
use serde_json::json;

use super::context::Call;
use super::outcome::Note;
use super::outcome::ToolOutcome;
use super::schema::Field;
use super::schema::Kind;
use super::schema::Schema;

pub(super) const ENTER_ABOUT: &str = "Turns plan mode on: look around and write a plan before \
anything is changed.";

pub(super) const EXIT_ABOUT: &str = "Shows the plan to the user for approval, and turns plan \
mode off if they agree.";

pub(super) const ENTER: Schema = Schema::closed(&[]);

pub(super) const EXIT: Schema = Schema::open(&[
    Field::optional("plan", Kind::String, "The plan, unless a file contains it"),
    Field::optional("planFilePath", Kind::String, "Set by the program: do not pass it"),
]);

const APPROVED: &str = "User has approved your plan. You can now start coding. Start with updating \
your todo list if applicable";

pub(super) fn enter(call: &Call<'_>) -> ToolOutcome {
    let session = call.session;
    session.set_planning(true, None);
    let message = "Entered plan mode. You should now focus on exploring the codebase and \
                   designing an implementation approach.";
    let file = session.state().plan_file.clone();
    let file =
        file.map_or_else(String::new, |file| format!(" Write the plan to {}.", file.display()));
    let text = format!(
        "{message}\n\nIn plan mode nothing but the plan is written: read, search, ask. Settle \
         how it will be done and how it will be tested.{file} Call ExitPlanMode when the plan is \
         ready for the user."
    );
    ToolOutcome::text(text, json!({"message": message}))
}

/// Outside plan mode there is nothing to approve.
pub(super) fn check_exit(call: &Call<'_>) -> Result<(), ToolOutcome> {
    if call.session.is_planning() {
        return Ok(());
    }
    Err(ToolOutcome::refused(
        "You are not in plan mode. To enter plan mode, call the EnterPlanMode tool first. If your \
         plan was already approved, continue with implementation.",
    ))
}

/// The plan is that of the file, unless whoever approved it wrote another one.
pub(super) fn exit(call: &Call<'_>) -> ToolOutcome {
    let session = call.session;
    let file = session.state().plan_file.clone();
    let written = file.as_ref().and_then(|file| fs::read_to_string(file).ok());
    session.set_planning(false, None);
    let Some(file) = file else {
        let plan = call.optional("plan").unwrap_or_default();
        let structured = json!({"plan": plan, "isAgent": false, "filePath": Value::Null});
        return ToolOutcome::text(format!("{APPROVED}\n\n## Approved Plan:\n{plan}"), structured);
    };
    let edited = call.optional("plan").filter(|_| call.is_answered);
    let edited = edited.filter(|plan| written.as_deref() != Some(*plan)).map(str::to_owned);
    let is_edited = edited.as_ref().is_some_and(|plan| keep(&file, plan));
    let plan = edited.or(written);
    let file = file.display();
    let mut structured = json!({"plan": plan, "isAgent": false, "filePath": file.to_string()});
    if is_edited {
        structured["planWasEdited"] = json!(true);
    }
    let Some(plan) = plan.filter(|plan| !plan.trim().is_empty()) else {
        let text = "User has approved exiting plan mode. You can now proceed.";
        return ToolOutcome::text(text, structured).with_note(Note::System(
            "## Exited Plan Mode\n\nPlan mode is off: you may edit files and run tools again."
                .to_owned(),
        ));
    };
    let by = if is_edited { " (edited by user)" } else { "" };
    let text = format!(
        "{APPROVED}\n\nYour plan has been saved to: {file}\nYou can refer back to it if needed \
         during implementation.\n\n## Approved Plan{by}:\n{plan}"
    );
    ToolOutcome::text(text, structured).with_note(Note::System(format!(
        "## Exited Plan Mode\n\nPlan mode is off: you may edit files and run tools again. The \
         plan is in {file}."
    )))
}

/// Whether a plan is in its file now.
fn keep(file: &Path, plan: &str) -> bool {
    let folder = file.parent().map(fs::create_dir_all);
    folder.is_some_and(|made| made.is_ok()) && fs::write(file, plan).is_ok()
}
