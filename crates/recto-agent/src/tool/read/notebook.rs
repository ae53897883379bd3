//! Notebooks as cells.

use std::fs;
use std::path::Path;

use serde_json::Map;
use serde_json::Value;
use serde_json::json;
use sha2::Digest as _;

use super::json_error;
use super::note_seen;
use super::path;
use crate::tool::outcome::ToolOutcome;
use crate::tool::session::Session;

/// Outputs of a cell that are longer are left out.
const MOST_OUTPUT: usize = 10_000;

/// The lines of a `source` or an output, however the notebook has them.
pub(in crate::tool) fn joined(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(lines)) => {
            lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().concat()
        }
        _ => String::new(),
    }
}

/// The language of the code of a notebook.
pub(in crate::tool) fn language(notebook: &Value) -> String {
    let name = notebook.pointer("/metadata/language_info/name").and_then(Value::as_str);
    name.unwrap_or("python").to_owned()
}

/// What is wrong with a text that should be a notebook.
fn invalid(text: &str) -> String {
    let why = json_error::first(text).unwrap_or_else(|| "Unable to parse JSON string".to_owned());
    format!(
        "Notebook file is not valid JSON (it may be truncated, corrupted, or still being \
         written): JSON Parse error: {why}"
    )
}

pub(super) fn read(given: &str, target: &Path, session: &Session) -> ToolOutcome {
    let bytes = match fs::read(target) {
        Ok(bytes) => bytes,
        Err(error) => return ToolOutcome::failed(path::worded(&error, "open", target)),
    };
    let text = String::from_utf8_lossy(&bytes);
    let notebook: Value = match serde_json::from_str(&text) {
        Ok(notebook) => notebook,
        Err(_) => return ToolOutcome::failed(invalid(&text)),
    };
    let is_cell = |cell: &Value| {
        let lines = cell.get("source").and_then(Value::as_array);
        lines.is_some_and(|lines| lines.iter().all(Value::is_string))
            || cell.get("source").is_some_and(Value::is_string)
    };
    let cells = notebook.get("cells").and_then(Value::as_array);
    let Some(cells) = cells.filter(|cells| cells.iter().all(is_cell)) else {
        return ToolOutcome::failed(
            "Notebook file is not a valid Jupyter notebook (top-level \"cells\" must be an array \
             of cell objects, each with a string or string-array \"source\").",
        );
    };
    note_seen(session, target, sha2::Sha256::digest(&bytes).into(), true);
    let language = language(&notebook);
    let cells: Vec<Cell> =
        cells.iter().enumerate().map(|(at, cell)| Cell::of(at, cell, &language)).collect();
    let rows: Vec<Value> = cells.iter().map(Cell::to_json).collect();
    let structured = json!({"type": "notebook", "file": {"filePath": given, "cells": rows}});
    ToolOutcome::blocks(blocks(&cells), structured)
}

struct Image {
    data: String,
    media_type: &'static str,
}

struct Output {
    kind: String,
    text: String,
    image: Option<Image>,
}

struct Cell {
    kind: String,
    /// As the notebook has it, or by its place.
    id: Value,
    source: String,
    count: Option<Value>,
    language: Option<String>,
    outputs: Vec<Output>,
}

impl Cell {
    fn of(at: usize, cell: &Value, language: &str) -> Cell {
        let kind = cell.get("cell_type").and_then(Value::as_str).unwrap_or("code").to_owned();
        let id = cell.get("id").filter(|id| id.is_string() || id.is_number());
        let is_code = kind == "code";
        let outputs = cell.get("outputs").and_then(Value::as_array).cloned().unwrap_or_default();
        let mut outputs: Vec<Output> = outputs.iter().map(Output::of).collect();
        let length: usize = outputs.iter().map(|output| output.text.len()).sum();
        if length > MOST_OUTPUT {
            outputs = vec![Output {
                kind: "stream".to_owned(),
                text: format!(
                    "Outputs are too large to include. Use Bash with: cat <notebook_path> | jq \
                     '.cells[{at}].outputs'"
                ),
                image: None,
            }];
        }
        Cell {
            id: id.cloned().unwrap_or_else(|| json!(format!("cell-{at}"))),
            source: joined(cell.get("source")),
            count: cell
                .get("execution_count")
                .filter(|count| is_code && !count.is_null() && **count != 0)
                .cloned(),
            language: is_code.then(|| language.to_owned()),
            outputs: if is_code { outputs } else { Vec::new() },
            kind,
        }
    }

    fn to_json(&self) -> Value {
        let mut row = Map::new();
        row.insert("cellType".into(), json!(self.kind));
        row.insert("source".into(), json!(self.source));
        if let Some(count) = &self.count {
            row.insert("execution_count".into(), count.clone());
        }
        row.insert("cell_id".into(), json!(self.id));
        if let Some(language) = &self.language {
            row.insert("language".into(), json!(language));
        }
        if !self.outputs.is_empty() {
            let outputs: Vec<Value> = self.outputs.iter().map(Output::to_json).collect();
            row.insert("outputs".into(), json!(outputs));
        }
        Value::Object(row)
    }

    fn text(&self) -> String {
        let mut head = String::new();
        if self.kind != "code" {
            head += &format!("<cell_type>{}</cell_type>", self.kind);
        }
        if let Some(language) = self.language.as_ref().filter(|language| *language != "python") {
            head += &format!("<language>{language}</language>");
        }
        let id = self.id.as_str().map_or_else(|| self.id.to_string(), str::to_owned);
        format!("<cell id=\"{id}\">{head}{}</cell id=\"{id}\">", self.source)
    }
}

impl Output {
    fn of(output: &Value) -> Output {
        let kind = output.get("output_type").and_then(Value::as_str).unwrap_or_default();
        let data = output.get("data");
        let text = match kind {
            "stream" => joined(output.get("text")),
            "error" => {
                let text =
                    |name: &str| output.get(name).and_then(Value::as_str).unwrap_or_default();
                let trace = output.get("traceback").and_then(Value::as_array).cloned();
                let trace: Vec<String> = trace
                    .unwrap_or_default()
                    .iter()
                    .filter_map(Value::as_str)
                    .map(str::to_owned)
                    .collect();
                format!("{}: {}\n{}", text("ename"), text("evalue"), trace.join("\n"))
            }
            _ => joined(data.and_then(|data| data.get("text/plain"))),
        };
        let image = ["image/png", "image/jpeg"].into_iter().find_map(|media_type| {
            let data = data?.get(media_type)?.as_str()?;
            let data: String = data.chars().filter(|c| !c.is_whitespace()).collect();
            Some(Image { data, media_type })
        });
        Output { kind: kind.to_owned(), text, image }
    }

    fn to_json(&self) -> Value {
        let mut row = Map::new();
        row.insert("output_type".into(), json!(self.kind));
        row.insert("text".into(), json!(self.text));
        if let Some(image) = &self.image {
            let image = json!({"image_data": image.data, "media_type": image.media_type});
            row.insert("image".into(), image);
        }
        Value::Object(row)
    }
}

/// Texts of neighbours are one block; images stand between them.
fn blocks(cells: &[Cell]) -> Vec<Value> {
    let mut blocks = Vec::new();
    let mut texts: Vec<String> = Vec::new();
    let flush = |texts: &mut Vec<String>, blocks: &mut Vec<Value>| {
        if !texts.is_empty() {
            blocks.push(json!({"text": texts.join("\n"), "type": "text"}));
            texts.clear();
        }
    };
    for cell in cells {
        texts.push(cell.text());
        for output in &cell.outputs {
            if !output.text.is_empty() {
                texts.push(format!("\n{}", output.text));
            }
            if let Some(image) = &output.image {
                flush(&mut texts, &mut blocks);
                blocks.push(json!({
                    "type": "image",
                    "source": {"data": image.data, "media_type": image.media_type, "type": "base64"},
                }));
            }
        }
    }
    flush(&mut texts, &mut blocks);
    blocks
}
