//! Tools that today's models are not offered: `BashOutput`, `TaskOutput`, `LS`, `MultiEdit`.
//! A session of an older client may still call them.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use serde_json::json;

use super::background::Status;
use super::background::Task;
use super::context::Call;
use super::edit;
use super::edit::Change;
use super::outcome::ToolOutcome;
use super::patch;
use super::path;
use super::schema::Field;
use super::schema::Kind;
use super::schema::Schema;
use super::write;
use super::write::Old;

pub(super) const BASH_OUTPUT_ABOUT: &str = "Shows the output of a background command.";
pub(super) const TASK_OUTPUT_ABOUT: &str = "Waits for a background task and shows its output.";
pub(super) const LS_ABOUT: &str = "Lists the files below a directory.";
pub(super) const MULTI_EDIT_ABOUT: &str = "Makes several replacements in one file, or none.";

pub(super) const BASH_OUTPUT: Schema = Schema::closed(&[
    Field::required("bash_id", Kind::String, ""),
    Field::optional("filter", Kind::String, "Only lines that match"),
]);

pub(super) const TASK_OUTPUT: Schema = Schema::open(&[
    Field::optional("task_id", Kind::String, ""),
    Field::optional("block", Kind::Boolean, "Wait for its end, unless false"),
    Field::optional("timeout", Kind::Number, "Milliseconds"),
]);

pub(super) const LS: Schema = Schema::closed(&[
    Field::required("path", Kind::String, ""),
    Field::optional("ignore", Kind::Array { of: &Kind::String, min: 0, max: usize::MAX }, ""),
]);

const EDIT: Schema = Schema::closed(&[
    Field::required("old_string", Kind::String, ""),
    Field::required("new_string", Kind::String, ""),
    Field::optional("replace_all", Kind::Boolean, ""),
]);

pub(super) const MULTI_EDIT: Schema = Schema::closed(&[
    Field::required("file_path", Kind::String, ""),
    Field::required("edits", Kind::Array { of: &Kind::Object(&EDIT), min: 1, max: usize::MAX }, ""),
]);

/// What is shown of an output at most.
const MOST: usize = 30_000;

/// Entries of a listing.
const MOST_ENTRIES: usize = 1000;

fn output_of(task: &Task) -> String {
    let bytes = fs::read(&task.output).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    // The last line that the end of a task adds is told in another place.
    let text = match text.rfind("\n[exited with code ").or_else(|| text.rfind("\n[killed]")) {
        Some(at) if task.status != Status::Running => text.get(..at).unwrap_or(&text),
        _ => &text,
    };
    let from = text.len().saturating_sub(MOST);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text.get(from..).unwrap_or_default().to_owned()
}

pub(super) fn bash_output(call: &Call<'_>) -> ToolOutcome {
    let id = call.text("bash_id");
    let Some(task) = call.session.background.task(id) else {
        return ToolOutcome::failed(format!("No shell found with ID: {id}"));
    };
    let mut output = output_of(&task).trim_end().to_owned();
    if let Some(filter) = call.optional("filter") {
        let Ok(filter) = regex::Regex::new(filter) else {
            return ToolOutcome::failed(format!(
                "The filter is not a regular expression: {filter}"
            ));
        };
        output = output.lines().filter(|line| filter.is_match(line)).collect::<Vec<_>>().join("\n");
    }
    let mut parts = vec![format!("<status>{}</status>", task.status.as_str())];
    if let Some(code) = task.code {
        parts.push(format!("<exit_code>{code}</exit_code>"));
    }
    if !output.is_empty() {
        parts.push(format!("<stdout>\n{output}\n</stdout>"));
    }
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
    parts.push(format!("<timestamp>{now}</timestamp>"));
    let structured = json!({
        "shellId": id,
        "command": task.command,
        "status": task.status.as_str(),
        "exitCode": task.code,
        "stdout": output,
        "stderr": "",
        "stdoutLines": output.split('\n').count(),
        "stderrLines": 1,
        "timestamp": now,
    });
    ToolOutcome::text(parts.join("\n\n"), structured)
}

pub(super) fn check_task_output(call: &Call<'_>) -> Result<(), ToolOutcome> {
    match call.optional("task_id") {
        Some(id) if call.session.background.task(id).is_some() => Ok(()),
        Some(id) => Err(ToolOutcome::refused(format!("No task found with ID: {id}"))),
        None => Err(ToolOutcome::refused("Task ID is required")),
    }
}

pub(super) async fn task_output(call: &Call<'_>) -> ToolOutcome {
    let id = call.text("task_id");
    let background = &call.session.background;
    let limit = call.number("timeout").filter(|limit| *limit > 0.0).unwrap_or(30_000.0);
    if call.input.get("block") != Some(&json!(false)) {
        let wait = background.ended(id);
        tokio::select! {
            () = wait => {}
            () = tokio::time::sleep(Duration::from_millis(limit as u64)) => {}
            () = call.cancel.cancelled() => {}
        }
    }
    let Some(task) = background.task(id) else {
        return ToolOutcome::refused(format!("No task found with ID: {id}"));
    };
    let output = output_of(&task);
    let retrieval = if task.status == Status::Running { "timeout" } else { "success" };
    let kind = if task.command.is_some() { "local_bash" } else { "local_agent" };
    let mut parts = vec![
        format!("<retrieval_status>{retrieval}</retrieval_status>"),
        format!("<task_id>{id}</task_id>"),
        format!("<task_type>{kind}</task_type>"),
        format!("<status>{}</status>", task.status.as_str()),
    ];
    if let Some(code) = task.code {
        parts.push(format!("<exit_code>{code}</exit_code>"));
    }
    if !output.trim().is_empty() {
        parts.push(format!("<output>\n{}\n</output>", output.trim_end()));
    }
    let structured = json!({
        "retrieval_status": retrieval,
        "task": {
            "task_id": id,
            "task_type": kind,
            "status": task.status.as_str(),
            "description": task.description,
            "output": output,
            "exitCode": task.code,
        },
    });
    ToolOutcome::text(parts.join("\n\n"), structured)
}

pub(super) fn ls(call: &Call<'_>) -> ToolOutcome {
    let root = path::expand(call.text("path"), call.session);
    if !root.is_dir() {
        return ToolOutcome::failed(path::missing("Directory does not exist", &root, call.session));
    }
    let mut lines = vec![format!("- {}/", root.display())];
    let mut walk = ignore::WalkBuilder::new(&root);
    walk.standard_filters(false).hidden(true).sort_by_file_name(std::cmp::Ord::cmp);
    let ignored = call.input.get("ignore").and_then(Value::as_array).into_iter().flatten();
    let mut globs = ignore::overrides::OverrideBuilder::new(&root);
    for glob in ignored.filter_map(Value::as_str) {
        globs.add(&format!("!{glob}")).ok();
    }
    if let Ok(globs) = globs.build() {
        walk.overrides(globs);
    }
    let mut is_cut = false;
    for entry in walk.build().flatten().filter(|entry| entry.depth() > 0) {
        if lines.len() > MOST_ENTRIES {
            is_cut = true;
            break;
        }
        let slash = if entry.file_type().is_some_and(|kind| kind.is_dir()) { "/" } else { "" };
        let name = entry.file_name().to_string_lossy().into_owned();
        lines.push(format!("{}- {name}{slash}", "  ".repeat(entry.depth())));
    }
    if is_cut {
        lines.push(format!("(More than {MOST_ENTRIES} entries; list a directory below.)"));
    }
    let text = lines.join("\n");
    ToolOutcome::text(text.clone(), json!(text))
}

/// The text of a file after all edits, or why not all can be made.
fn edited(call: &Call<'_>, text: &str, target: &Path) -> Result<String, ToolOutcome> {
    let is_markdown = target.extension().is_some_and(|end| end == "md" || end == "mdx");
    let mut text = text.to_owned();
    let edits = call.input.get("edits").and_then(Value::as_array).into_iter().flatten();
    for one in edits {
        let word = |name: &str| one.get(name).and_then(Value::as_str).unwrap_or_default();
        let wanted = Change {
            old: word("old_string"),
            new: word("new_string"),
            is_all: one.get("replace_all") == Some(&json!(true)),
        };
        if wanted.old == wanted.new {
            return Err(ToolOutcome::refused(
                "No changes to make: old_string and new_string are exactly the same.",
            ));
        }
        if wanted.old.is_empty() {
            if !text.trim().is_empty() {
                return Err(ToolOutcome::refused("Cannot create new file - file already exists."));
            }
            text = wanted.new.to_owned();
            continue;
        }
        let changed = edit::change(&text, &wanted, is_markdown);
        text =
            changed.map_err(|mismatch| ToolOutcome::refused(mismatch.sentence(wanted.old)))?.text;
    }
    Ok(text)
}

pub(super) fn multi_edit(call: &Call<'_>) -> ToolOutcome {
    let given = call.text("file_path");
    let target = path::expand(given, call.session);
    let old = match write::old("MultiEdit", &target) {
        Ok(Old::There(old)) => Some(old),
        Ok(Old::Missing) => None,
        Err(outcome) => return outcome,
    };
    if let Some(problem) = old.as_ref().and_then(|old| old.problem) {
        return ToolOutcome::refused(problem.refusal());
    }
    if let Err(refusal) = write::refuse_link(given, &target) {
        return refusal;
    }
    let original = old.as_ref().map(super::text_file::TextFile::unix_text).unwrap_or_default();
    let text = match edited(call, &original, &target) {
        Ok(text) => text,
        Err(outcome) => return outcome,
    };
    let seen = call.session.state().seen.get(&target).cloned();
    let is_known = old.is_none() || seen.is_some_and(|seen| seen.is_whole);
    if let Err(text) = edit::store(call, &target, old.as_ref(), &text, is_known) {
        return ToolOutcome::failed(text);
    }
    let edits = call.input.get("edits").cloned().unwrap_or_default();
    let count = edits.as_array().map_or(0, Vec::len);
    let noun = if count == 1 { "edit" } else { "edits" };
    let structured = json!({
        "filePath": given,
        "edits": edits,
        "originalFileContents": original,
        "structuredPatch": patch::hunks(&original, &text),
        "userModified": false,
    });
    ToolOutcome::text(format!("Applied {count} {noun} to {given}"), structured)
}
