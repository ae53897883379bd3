//! `TaskCreate`, `TaskGet`, `TaskList`, `TaskUpdate`: the to-do list of a session.
//!
//! Owns: one file for each task, as the client keeps them, so that both see the same list.

use std::fs;
use std::path::PathBuf;

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::context::Call;
use super::outcome::ToolOutcome;
use super::schema::Field;
use super::schema::Kind;
use super::schema::Schema;

pub(super) const CREATE_ABOUT: &str = "Adds a task to the session's to-do list.";
pub(super) const GET_ABOUT: &str = "Shows one task of the to-do list with its description.";
pub(super) const LIST_ABOUT: &str = "Lists the tasks of the to-do list.";
pub(super) const UPDATE_ABOUT: &str =
    "Changes a task of the to-do list: its status, its texts, its owner, what blocks it.";

const IDS: Kind = Kind::Array { of: &Kind::String, min: 0, max: usize::MAX };

pub(super) const CREATE: Schema = Schema::open(&[
    Field::required("subject", Kind::String, "The task in a few words"),
    Field::required("description", Kind::String, "What has to be done"),
    Field::optional("activeForm", Kind::String, "What to show while it is in progress"),
    Field::optional("metadata", Kind::Record, "Any data to keep with it"),
]);

/// The input that was meant: one of the two texts stands for both, and what cannot be kept is
/// left out.
pub(super) fn meant(input: &Value) -> Value {
    let mut meant = input.clone();
    let Some(fields) = meant.as_object_mut() else { return meant };
    for (name, other) in [("subject", "description"), ("description", "subject")] {
        if let (None, Some(text)) = (fields.get(name), fields.get(other).cloned()) {
            fields.insert(name.into(), text);
        }
    }
    if !fields.get("metadata").is_some_and(Value::is_object) {
        fields.remove("metadata");
    }
    if !fields.get("activeForm").is_some_and(Value::is_string) {
        fields.remove("activeForm");
    }
    meant
}

pub(super) const GET: Schema =
    Schema::closed(&[Field::required("taskId", Kind::String, "The number of the task")]);

pub(super) const LIST: Schema = Schema::closed(&[]);

pub(super) const UPDATE: Schema = Schema::closed(&[
    Field::required("taskId", Kind::String, "The number of the task"),
    Field::optional("subject", Kind::String, ""),
    Field::optional("description", Kind::String, ""),
    Field::optional("activeForm", Kind::String, ""),
    Field::optional(
        "status",
        Kind::AnyOf(&[&["pending", "in_progress", "completed"], &["deleted"]]),
        "deleted removes it from the list",
    ),
    Field::optional("addBlocks", IDS, "Tasks that wait for this one"),
    Field::optional("addBlockedBy", IDS, "Tasks that this one waits for"),
    Field::optional("owner", Kind::String, "Who does it"),
    Field::optional("metadata", Kind::Record, "null removes a key"),
]);

/// The fields that a file has when it is rewritten, in the client's order.
const ORDER: [&str; 9] = [
    "id",
    "subject",
    "description",
    "activeForm",
    "owner",
    "status",
    "blocks",
    "blockedBy",
    "metadata",
];

type Task = Map<String, Value>;

/// The list on the disk.
struct List {
    directory: PathBuf,
}

impl List {
    fn of(call: &Call<'_>) -> List {
        List { directory: call.session.places.task_list() }
    }

    fn file(&self, id: &str) -> Option<PathBuf> {
        // An id names a file, so it may not be a path.
        let is_id =
            !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        is_id.then(|| self.directory.join(format!("{id}.json")))
    }

    /// The highest number of a task that was removed: it is not given again.
    fn highest(&self) -> u64 {
        let text = fs::read_to_string(self.directory.join(".highwatermark"));
        text.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    }

    fn read(&self, id: &str) -> Option<Task> {
        let text = fs::read_to_string(self.file(id)?).ok()?;
        let task: Task = serde_json::from_str(&text).ok()?;
        // Files are rewritten in one order, whatever they had.
        let mut ordered = Task::new();
        for name in ORDER {
            if let Some(value) = task.get(name) {
                ordered.insert(name.to_owned(), value.clone());
            }
        }
        Some(ordered)
    }

    fn write(&self, id: &str, task: &Task) -> std::io::Result<()> {
        let Some(file) = self.file(id) else { return Ok(()) };
        fs::create_dir_all(&self.directory)?;
        let lock = self.directory.join(".lock");
        if !lock.exists() {
            fs::write(lock, "")?;
        }
        fs::write(file, serde_json::to_string_pretty(task)?)
    }

    /// The numbers of all tasks, smallest first.
    fn ids(&self) -> Vec<u64> {
        let Ok(entries) = fs::read_dir(&self.directory) else { return Vec::new() };
        let mut ids: Vec<u64> = entries
            .filter_map(|entry| {
                let name = entry.ok()?.file_name();
                name.to_str()?.strip_suffix(".json")?.parse().ok()
            })
            .collect();
        ids.sort_unstable();
        ids
    }
}

fn failed(error: &std::io::Error) -> ToolOutcome {
    ToolOutcome::failed(format!("The task list cannot be written: {error}"))
}

pub(super) fn create(call: &Call<'_>) -> ToolOutcome {
    let list = List::of(call);
    let id = (list.ids().last().copied().unwrap_or(0).max(list.highest()) + 1).to_string();
    let mut task = Task::new();
    task.insert("id".into(), json!(id));
    for name in ["subject", "description", "activeForm"] {
        if let Some(value) = call.input.get(name) {
            task.insert(name.into(), value.clone());
        }
    }
    task.insert("status".into(), json!("pending"));
    task.insert("blocks".into(), json!([]));
    task.insert("blockedBy".into(), json!([]));
    if let Some(value) = call.input.get("metadata") {
        task.insert("metadata".into(), value.clone());
    }
    if let Err(error) = list.write(&id, &task) {
        return failed(&error);
    }
    let subject = call.text("subject");
    ToolOutcome::text(
        format!("Task #{id} created successfully: {subject}"),
        json!({"task": {"id": id, "subject": subject, "description": call.text("description")}}),
    )
}

fn words(task: &Task, name: &str) -> String {
    task.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn numbers(task: &Task, name: &str) -> Vec<String> {
    let ids = task.get(name).and_then(Value::as_array).into_iter().flatten();
    ids.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn hashed(ids: &[String]) -> String {
    ids.iter().map(|id| format!("#{id}")).collect::<Vec<_>>().join(", ")
}

pub(super) fn get(call: &Call<'_>) -> ToolOutcome {
    let id = call.text("taskId");
    let Some(task) = List::of(call).read(id) else {
        return ToolOutcome::text("Task not found", json!({"task": null}));
    };
    let mut text = format!(
        "Task #{id}: {}\nStatus: {}\nDescription: {}",
        words(&task, "subject"),
        words(&task, "status"),
        words(&task, "description")
    );
    let (blocked_by, blocks) = (numbers(&task, "blockedBy"), numbers(&task, "blocks"));
    if !blocked_by.is_empty() {
        text += &format!("\nBlocked by: {}", hashed(&blocked_by));
    }
    if !blocks.is_empty() {
        text += &format!("\nBlocks: {}", hashed(&blocks));
    }
    let structured = json!({"task": {
        "id": id,
        "subject": words(&task, "subject"),
        "description": words(&task, "description"),
        "status": words(&task, "status"),
        "blocks": blocks,
        "blockedBy": blocked_by,
    }});
    ToolOutcome::text(text, structured)
}

pub(super) fn list(call: &Call<'_>) -> ToolOutcome {
    let list = List::of(call);
    let tasks: Vec<Task> = list.ids().iter().filter_map(|id| list.read(&id.to_string())).collect();
    let done: Vec<String> = tasks
        .iter()
        .filter(|task| words(task, "status") == "completed")
        .map(|task| words(task, "id"))
        .collect();
    let mut lines = Vec::new();
    let mut rows = Vec::new();
    for task in &tasks {
        // What is done blocks nothing.
        let mut blocked_by = numbers(task, "blockedBy");
        blocked_by.retain(|id| !done.contains(id));
        let owner = words(task, "owner");
        let mut line = format!(
            "#{} [{}] {}",
            words(task, "id"),
            words(task, "status"),
            words(task, "subject")
        );
        let mut row = Map::new();
        for name in ["id", "subject", "status"] {
            row.insert(name.into(), json!(words(task, name)));
        }
        if task.contains_key("owner") {
            row.insert("owner".into(), json!(owner));
        }
        if !owner.is_empty() {
            line += &format!(" ({owner})");
        }
        if !blocked_by.is_empty() {
            line += &format!(" [blocked by {}]", hashed(&blocked_by));
        }
        row.insert("blockedBy".into(), json!(blocked_by));
        lines.push(line);
        rows.push(Value::Object(row));
    }
    let text = if lines.is_empty() { "No tasks found".to_owned() } else { lines.join("\n") };
    ToolOutcome::text(text, json!({"tasks": rows}))
}

pub(super) fn update(call: &Call<'_>) -> ToolOutcome {
    let list = List::of(call);
    let id = call.text("taskId");
    let Some(mut task) = list.read(id) else {
        return ToolOutcome::text(
            "Task not found",
            json!({"success": false, "taskId": id, "updatedFields": [], "error": "Task not found"}),
        );
    };
    let status = call.optional("status");
    let old_status = words(&task, "status");
    if status == Some("deleted") {
        return delete(&list, id, &old_status);
    }
    let mut fields = change(&mut task, call.input);
    let changed = status.filter(|status| *status != old_status);
    if let Some(status) = changed {
        task.insert("status".into(), json!(status));
        fields.push("status");
    }
    for (name, field, other) in
        [("addBlocks", "blocks", "blockedBy"), ("addBlockedBy", "blockedBy", "blocks")]
    {
        if link(&list, id, &mut task, call.input.get(name), (field, other)) {
            fields.push(field);
        }
    }
    if !fields.is_empty()
        && let Err(error) = list.write(id, &task)
    {
        return failed(&error);
    }
    let mut structured = json!({"success": true, "taskId": id, "updatedFields": fields});
    if let (Some(status), Some(structured)) = (changed, structured.as_object_mut()) {
        structured.insert("statusChange".into(), json!({"from": old_status, "to": status}));
    }
    ToolOutcome::text(format!("Updated task #{id} {}", fields.join(", ")), structured)
}

/// Sets the texts that changed, and names them.
fn change(task: &mut Task, input: &Value) -> Vec<&'static str> {
    let mut fields = Vec::new();
    for name in ["subject", "description", "activeForm", "owner"] {
        if let Some(value) = input.get(name).filter(|value| task.get(name) != Some(value)) {
            task.insert(name.into(), value.clone());
            fields.push(name);
        }
    }
    if let Some(given) = input.get("metadata").and_then(Value::as_object) {
        let mut metadata =
            task.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
        for (key, value) in given {
            if value.is_null() {
                metadata.remove(key);
            } else {
                metadata.insert(key.clone(), value.clone());
            }
        }
        task.insert("metadata".into(), Value::Object(metadata));
        fields.push("metadata");
    }
    fields
}

/// Notes on both sides that one task waits for another.
fn link(
    list: &List,
    id: &str,
    task: &mut Task,
    given: Option<&Value>,
    (field, other): (&str, &str),
) -> bool {
    let mut is_changed = false;
    let given = given.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    for one in given {
        if numbers(task, field).iter().any(|known| known == one) {
            continue;
        }
        is_changed = true;
        // A task that is not there is no reason to wait.
        let Some(mut opposite) = list.read(one) else { continue };
        add(task, field, one);
        if one == id {
            add(task, other, id);
        } else if add(&mut opposite, other, id) {
            list.write(one, &opposite).ok();
        }
    }
    is_changed
}

/// Adds an id to a list of a task, if it is not there yet.
fn add(task: &mut Task, field: &str, id: &str) -> bool {
    let mut ids = numbers(task, field);
    if ids.iter().any(|known| known == id) {
        return false;
    }
    ids.push(id.to_owned());
    task.insert(field.to_owned(), json!(ids));
    true
}

fn delete(list: &List, id: &str, old_status: &str) -> ToolOutcome {
    if let Some(file) = list.file(id) {
        if id.parse::<u64>().is_ok_and(|id| id > list.highest()) {
            fs::write(list.directory.join(".highwatermark"), id).ok();
        }
        fs::remove_file(file).ok();
    }
    for other in list.ids() {
        let other = other.to_string();
        let Some(mut task) = list.read(&other) else { continue };
        let mut is_changed = false;
        for name in ["blocks", "blockedBy"] {
            let mut ids = numbers(&task, name);
            let before = ids.len();
            ids.retain(|known| known != id);
            if ids.len() != before {
                task.insert(name.into(), json!(ids));
                is_changed = true;
            }
        }
        if is_changed {
            list.write(&other, &task).ok();
        }
    }
    let structured = json!({
        "success": true,
        "taskId": id,
        "updatedFields": ["deleted"],
        "statusChange": {"from": old_status, "to": "deleted"},
    });
    ToolOutcome::text(format!("Updated task #{id} deleted"), structured)
}
