//! `EnterPlanMode` and `ExitPlanMode`.

use std::fs;

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

pub(super) fn exit(call: &Call<'_>) -> ToolOutcome {
    let session = call.session;
    let file = session.state().plan_file.clone();
    let written = file.as_ref().and_then(|file| fs::read_to_string(file).ok());
    let plan = written.or_else(|| call.optional("plan").map(str::to_owned)).unwrap_or_default();
    session.set_planning(false, None);
    let approved = "User has approved your plan. You can now start coding. Start with updating \
                    your todo list if applicable";
    let Some(file) = file else {
        let structured = json!({"plan": plan, "isAgent": false, "filePath": Value::Null});
        return ToolOutcome::text(format!("{approved}\n\n## Approved Plan:\n{plan}"), structured);
    };
    let file = file.display();
    let text = format!(
        "{approved}\n\nYour plan has been saved to: {file}\nYou can refer back to it if needed \
         during implementation.\n\n## Approved Plan:\n{plan}"
    );
    let structured = json!({"plan": plan, "isAgent": false, "filePath": file.to_string()});
    ToolOutcome::text(text, structured).with_note(Note::System(format!(
        "## Exited Plan Mode\n\nPlan mode is off: you may edit files and run tools again. The \
         plan is in {file}."
    )))
}
