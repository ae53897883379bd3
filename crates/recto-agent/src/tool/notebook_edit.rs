//! `NotebookEdit`: one cell of a notebook.

use std::fs;
use std::io;
use std::path::PathBuf;

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::context::Call;
use super::outcome::ToolOutcome;
use super::path;
use super::read::notebook;
use super::schema::Field;
use super::schema::Kind;
use super::schema::Schema;
use super::session::Seen;
use super::text_file;
use super::text_file::TextFile;
use super::write;

pub(super) const ABOUT: &str = "Replaces, inserts or deletes a cell of a Jupyter notebook. Read \
the notebook first.";

pub(super) const SCHEMA: Schema = Schema::closed(&[
    Field::required("notebook_path", Kind::String, "The absolute path of the notebook"),
    Field::optional("cell_id", Kind::String, "The cell; an insert goes after it"),
    Field::required("new_source", Kind::String, "The new text of the cell"),
    Field::optional("cell_type", Kind::OneOf(&["code", "markdown"]), "Needed for an insert"),
    Field::optional("edit_mode", Kind::OneOf(&["replace", "insert", "delete"]), ""),
]);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Replace,
    Insert,
    Delete,
}

struct Plan {
    target: PathBuf,
    old: TextFile,
    notebook: Value,
    mode: Mode,
    /// The cell, or where the new one goes.
    at: usize,
}

fn plan(call: &Call<'_>) -> Result<Plan, ToolOutcome> {
    let refuse = |text: &str| Err(ToolOutcome::refused(text));
    let target = path::expand(call.text("notebook_path"), call.session);
    if target.extension().is_none_or(|end| end != "ipynb") {
        return refuse(
            "File must be a Jupyter notebook (.ipynb file). For editing other file types, use \
             the FileEdit tool.",
        );
    }
    let mode = match call.optional("edit_mode") {
        Some("insert") => Mode::Insert,
        Some("delete") => Mode::Delete,
        _ => Mode::Replace,
    };
    if mode == Mode::Insert && call.optional("cell_type").is_none() {
        return refuse("Cell type is required when using edit_mode=insert.");
    }
    let Some(seen) = call.session.state().seen.get(&target).cloned() else {
        return refuse("File has not been read yet. Read it first before writing to it.");
    };
    let bytes = match fs::read(&target) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return refuse("Notebook file does not exist.");
        }
        Err(error) => return refuse(&path::worded(&error, "open", &target)),
    };
    let old = TextFile::decode(&bytes);
    if old.hash != seen.hash {
        return refuse(write::MODIFIED);
    }
    let text = old.text.trim_start_matches('\u{feff}');
    let Ok(notebook) = serde_json::from_str::<Value>(text) else {
        return refuse("Notebook is not valid JSON.");
    };
    let at = place(call, &notebook, mode)?;
    Ok(Plan { target, notebook, mode, at, old })
}

/// The position of the cell that a call means.
fn place(call: &Call<'_>, notebook: &Value, mode: Mode) -> Result<usize, ToolOutcome> {
    let cells = notebook.get("cells").and_then(Value::as_array).map(Vec::as_slice);
    let cells = cells.unwrap_or_default();
    let Some(id) = call.optional("cell_id").filter(|id| !id.is_empty()) else {
        return match mode {
            Mode::Insert => Ok(0),
            Mode::Replace | Mode::Delete => Err(ToolOutcome::refused(
                "Cell ID must be specified when not inserting a new cell.",
            )),
        };
    };
    let by_id = cells.iter().position(|cell| cell.get("id").and_then(Value::as_str) == Some(id));
    let at = match (by_id, id.strip_prefix("cell-").and_then(|at| at.parse::<usize>().ok())) {
        (Some(at), _) => at,
        (None, Some(at)) if at < cells.len() => at,
        (None, Some(at)) => {
            return Err(ToolOutcome::refused(format!(
                "Cell with index {at} does not exist in notebook."
            )));
        }
        (None, None) => {
            return Err(ToolOutcome::refused(format!(
                "Cell with ID \"{id}\" not found in notebook."
            )));
        }
    };
    Ok(if mode == Mode::Insert { at + 1 } else { at })
}

pub(super) fn check(call: &Call<'_>) -> Result<(), ToolOutcome> {
    plan(call).map(|_| ())
}

pub(super) fn run(call: &Call<'_>) -> ToolOutcome {
    let Plan { target, old, mut notebook, mode, at } = match plan(call) {
        Ok(plan) => plan,
        Err(outcome) => return outcome,
    };
    if let Err(refusal) = write::refuse_link(call.text("notebook_path"), &target) {
        return refusal;
    }
    let source = call.text("new_source");
    let kind = call.optional("cell_type").unwrap_or("code");
    let language = notebook::language(&notebook);
    let has_ids = has_ids(&notebook);
    let new_id = (mode == Mode::Insert && has_ids).then(|| call.session.ids.cell());
    let Some(cells) = notebook.get_mut("cells").and_then(Value::as_array_mut) else {
        return ToolOutcome::failed("The notebook has no cells.");
    };
    let old_source = cells.get(at).map(|cell| notebook::joined(cell.get("source")));
    match mode {
        Mode::Insert => {
            cells.insert(at.min(cells.len()), new_cell(kind, new_id.as_deref(), source))
        }
        Mode::Delete => {
            cells.remove(at);
        }
        Mode::Replace => {
            if let Some(cell) = cells.get_mut(at).and_then(Value::as_object_mut) {
                replace(cell, source, call.optional("cell_type"));
            }
        }
    }
    plain_numbers(&mut notebook);
    let updated = indented(&notebook);
    let ends = if old.is_crlf() { "\r\n" } else { "\n" };
    let bytes = text_file::encode(&updated.replace('\n', ends), old.encoding);
    if let Err(text) = text_file::replace(&target, &bytes, call.session) {
        return ToolOutcome::failed(text);
    }
    let seen = Seen { hash: TextFile::decode(&bytes).hash, is_whole: true, is_read: false };
    call.session.state().seen.insert(target.clone(), seen);

    let id =
        if mode == Mode::Insert { new_id } else { call.optional("cell_id").map(str::to_owned) };
    let text = match (mode, &id) {
        (Mode::Replace, _) => {
            format!("Updated cell {} with {source}", id.as_deref().unwrap_or_default())
        }
        (Mode::Insert, Some(id)) => format!("Inserted cell {id} with {source}"),
        (Mode::Insert, None) => format!("Inserted a new cell with {source}"),
        (Mode::Delete, _) => format!("Deleted cell {}", id.as_deref().unwrap_or_default()),
    };
    let mut fields = Map::new();
    let mut set = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    set("new_source", json!(source));
    if mode != Mode::Insert {
        set("old_source", json!(old_source.unwrap_or_default()));
    }
    set("cell_type", json!(kind));
    set("language", json!(language));
    let mode = match mode {
        Mode::Replace => "replace",
        Mode::Insert => "insert",
        Mode::Delete => "delete",
    };
    set("edit_mode", json!(mode));
    if let Some(id) = id {
        set("cell_id", json!(id));
    }
    set("error", json!(""));
    set("notebook_path", json!(target.display().to_string()));
    set("original_file", json!(old.unix_text()));
    set("updated_file", json!(updated));
    ToolOutcome::text(text, Value::Object(fields))
}

/// Cells have ids since version 4.5 of the format.
fn has_ids(notebook: &Value) -> bool {
    let number = |name: &str| notebook.get(name).and_then(Value::as_u64).unwrap_or_default();
    number("nbformat") > 4 || (number("nbformat") == 4 && number("nbformat_minor") >= 5)
}

fn new_cell(kind: &str, id: Option<&str>, source: &str) -> Value {
    let mut cell = Map::new();
    cell.insert("cell_type".into(), json!(kind));
    if let Some(id) = id {
        cell.insert("id".into(), json!(id));
    }
    cell.insert("source".into(), json!(source));
    cell.insert("metadata".into(), json!({}));
    if kind == "code" {
        cell.insert("execution_count".into(), Value::Null);
        cell.insert("outputs".into(), json!([]));
    }
    Value::Object(cell)
}

/// Sets the text of a cell. What code printed is no longer what it prints.
fn replace(cell: &mut Map<String, Value>, source: &str, kind: Option<&str>) {
    cell.insert("source".into(), json!(source));
    if cell.get("cell_type") == Some(&json!("code")) {
        cell.insert("execution_count".into(), Value::Null);
        cell.insert("outputs".into(), json!([]));
    }
    if let Some(kind) = kind {
        cell.insert("cell_type".into(), json!(kind));
    }
}

/// Writes numbers without a fraction as such: `1.0` is `1` in what other programs write.
fn plain_numbers(value: &mut Value) {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) if number.is_f64() => {
            let whole = number.as_f64().filter(|it| it.fract() == 0.0 && it.abs() < EXACT);
            if let Some(whole) = whole {
                *value = json!(whole as i64);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(plain_numbers),
        Value::Object(fields) => fields.values_mut().for_each(plain_numbers),
        _ => {}
    }
}

/// JSON with one blank for each level, as notebooks are kept.
fn indented(notebook: &Value) -> String {
    use serde::Serialize as _;
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b" ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    // Writing a value to memory cannot fail.
    notebook.serialize(&mut serializer).ok();
    String::from_utf8(bytes).unwrap_or_default()
}
