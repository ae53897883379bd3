//! Records of operations as JSON, which a person can read.

use std::path::Path;
use std::path::PathBuf;

use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_log::json::Value;

use super::OperationId;
use super::PublishError;
use super::operation::Change;
use super::operation::Operation;
use super::operation::Pending;
use super::operation::Status;
use super::operation::Step;
use super::state::FileVersion;
use super::state::State;

/// The form of the records that is written.
const FORM: u64 = 1;

/// A path as text. One that is none could not be read back.
pub(crate) fn text(path: &Path) -> Result<&str, PublishError> {
    path.to_str().ok_or_else(|| PublishError::NotText { path: path.to_owned() })
}

/// Writes a record.
pub(crate) fn write(operation: &Operation) -> Result<Vec<u8>, PublishError> {
    let mut bytes = object(operation)?.finish();
    bytes.push(b'\n');
    Ok(bytes)
}

fn object(operation: &Operation) -> Result<ObjectWriter, PublishError> {
    let mut arguments = ArrayWriter::new();
    for argument in &operation.arguments {
        arguments = arguments.string(argument);
    }
    let mut changes = Vec::new();
    for change in &operation.changes {
        let object = ObjectWriter::new()
            .string("path", text(&change.path)?)
            .json("before", &state(change.before.as_ref()))
            .json("after", &state(change.after.as_ref()));
        changes.push(object.finish());
    }
    let id = |id: Option<recto_log::SessionId>| id.map(|id| id.to_string());
    let mut object = ObjectWriter::new()
        .number("form", FORM)
        .number("id", operation.id.number())
        .number("sequence", operation.sequence)
        .string("time", &operation.time.to_string())
        .string("name", &operation.name)
        .json("arguments", &arguments.finish())
        .string("recto", &operation.version)
        .string("home", text(&operation.home)?)
        // Earlier versions could allow others than the home, and want the list.
        .json("directories", b"[]")
        .string_or_null("source", id(operation.source).as_deref())
        .string_or_null("result", id(operation.result).as_deref())
        .string_or_null("title", operation.title.as_deref())
        .string("status", operation.status.name())
        .json("changes", &lines(changes));
    if let Some(pending) = &operation.pending {
        let previous = match &pending.previous {
            Some(previous) => self::object(previous)?.finish(),
            None => b"null".to_vec(),
        };
        let mut steps = Vec::new();
        for step in &pending.steps {
            let temporary = step.temporary.as_deref().map(text).transpose()?;
            let object = ObjectWriter::new()
                .string("path", text(&step.path)?)
                .json("from", &state(step.from.as_ref()))
                .json("to", &state(step.to.as_ref()))
                .string_or_null("temporary", temporary);
            steps.push(object.finish());
        }
        let pending = ObjectWriter::new().json("steps", &lines(steps)).json("previous", &previous);
        object = object.json("pending", &pending.finish());
    }
    Ok(object)
}

/// An array with a line for each item.
fn lines(items: Vec<Vec<u8>>) -> Vec<u8> {
    if items.is_empty() {
        return b"[]".to_vec();
    }
    let mut text = b"[\n".to_vec();
    text.extend(items.join(&b",\n"[..]));
    text.extend(b"\n]");
    text
}

fn state(state: Option<&State>) -> Vec<u8> {
    let mode = |object: ObjectWriter, mode: Option<u32>| match mode {
        Some(mode) => object.string("mode", &format!("{mode:04o}")),
        None => object,
    };
    match state {
        None => b"null".to_vec(),
        Some(State::Directory { mode: bits }) => {
            mode(ObjectWriter::new().string("kind", "directory"), *bits).finish()
        }
        Some(State::File(file)) => {
            let object = ObjectWriter::new()
                .string("sha256", &file.sha256)
                .number("bytes", file.bytes)
                .string("modified", &file.modified.to_string());
            mode(object, file.mode).finish()
        }
    }
}

/// Reads a record; `None` if it is none.
pub(crate) fn read(bytes: &[u8]) -> Option<Operation> {
    let value = Value::parse(bytes).ok()?;
    let operation = read_object(&value)?;
    let Some(pending) = value.get("pending") else { return Some(operation) };
    let previous = pending.get("previous")?;
    let previous = if previous.is_null() { None } else { Some(Box::new(read_object(&previous)?)) };
    let steps: Option<Vec<Step>> = pending
        .get("steps")?
        .elements()
        .map(|step| {
            Some(Step {
                path: absolute(&step.str("path")?)?,
                from: read_state(&step.get("from")?)?,
                to: read_state(&step.get("to")?)?,
                temporary: match step.str("temporary") {
                    Some(path) => Some(absolute(&path)?),
                    None => None,
                },
            })
        })
        .collect();
    Some(Operation { pending: Some(Pending { previous, steps: steps? }), ..operation })
}

fn read_object(value: &Value<'_>) -> Option<Operation> {
    if value.get("form")?.as_u64()? != FORM {
        return None;
    }
    let session = |name: &str| match value.str(name) {
        Some(id) => id.parse().ok().map(Some),
        None => Some(None),
    };
    let changes: Option<Vec<Change>> = value
        .get("changes")?
        .elements()
        .map(|change| {
            Some(Change {
                path: absolute(&change.str("path")?)?,
                before: read_state(&change.get("before")?)?,
                after: read_state(&change.get("after")?)?,
            })
        })
        .collect();
    let arguments = value.get("arguments")?.elements();
    // Nothing is changed outside of the home, whatever a record says.
    if value.get("directories")?.elements().next().is_some() {
        return None;
    }
    Some(Operation {
        id: OperationId(value.get("id")?.as_u64()?),
        sequence: value.get("sequence")?.as_u64()?,
        time: value.str("time")?.parse().ok()?,
        name: value.str("name")?.into_owned(),
        arguments: arguments
            .map(|argument| Some(argument.as_str()?.into_owned()))
            .collect::<Option<_>>()?,
        version: value.str("recto")?.into_owned(),
        home: absolute(&value.str("home")?)?,
        source: session("source")?,
        result: session("result")?,
        title: value.str("title").map(|title| title.into_owned()),
        status: match &*value.str("status")? {
            "done" => Status::Done,
            "undone" => Status::Undone,
            _ => return None,
        },
        changes: changes?,
        pending: None,
    })
}

fn absolute(text: &str) -> Option<PathBuf> {
    Some(PathBuf::from(text)).filter(|path| path.is_absolute())
}

fn read_state(value: &Value<'_>) -> Option<Option<State>> {
    if value.is_null() {
        return Some(None);
    }
    let mode = match value.str("mode") {
        Some(mode) => Some(u32::from_str_radix(&mode, 8).ok()?),
        None => None,
    };
    if value.str("kind").as_deref() == Some("directory") {
        return Some(Some(State::Directory { mode }));
    }
    let sha256 = value.str("sha256")?.into_owned();
    // It names a file.
    if sha256.len() != 64 || !sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    Some(Some(State::File(FileVersion {
        sha256,
        bytes: value.get("bytes")?.as_u64()?,
        modified: value.str("modified")?.parse().ok()?,
        mode,
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_reads_back_as_it_was() {
        let file = |byte: &str| {
            Some(State::File(FileVersion {
                sha256: byte.repeat(64),
                bytes: 7,
                modified: "2026-11-16T09:00:00.123456789Z".parse().unwrap(),
                mode: Some(0o600),
            }))
        };
        let path: PathBuf = "/home/dev/.claude/projects/-w/x.jsonl".into();
        let mut operation = Operation {
            id: OperationId(12),
            sequence: 14,
            time: "2026-11-16T12:00:00Z".parse().unwrap(),
            name: "rename".into(),
            arguments: vec!["3f2a".into(), "a \"title\"\n".into()],
            version: "0.1.0".into(),
            home: "/home/dev/.claude".into(),
            source: "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718".parse().ok(),
            result: None,
            title: Some("Old \u{1f980}".into()),
            status: Status::Undone,
            changes: vec![
                Change { path: path.clone(), before: file("a"), after: None },
                Change {
                    path: "/home/dev/.claude/d".into(),
                    before: None,
                    after: Some(State::Directory { mode: Some(0o700) }),
                },
            ],
            pending: None,
        };
        assert_eq!(read(&write(&operation).unwrap()).as_ref(), Some(&operation));
        let previous = Some(Box::new(operation.clone()));
        let temporary = Some(PathBuf::from("/home/dev/.claude/projects/-w/.recto-1.tmp"));
        let step = Step { path, from: file("a"), to: file("b"), temporary };
        operation.pending = Some(Pending { previous, steps: vec![step] });
        let bytes = write(&operation).unwrap();
        assert_eq!(read(&bytes).as_ref(), Some(&operation));
        for end in 1..bytes.len() - 1 {
            assert_eq!(read(&bytes[..end]), None, "cut after {end} bytes");
        }
    }

    #[test]
    fn a_record_that_names_no_hash_or_no_absolute_path_is_none() {
        let state = |text: &str| read_state(&Value::parse(text.as_bytes()).unwrap());
        let time = "2026-11-16T09:00:00Z";
        let with = |hash: &str| format!(r#"{{"sha256":"{hash}","bytes":1,"modified":"{time}"}}"#);
        assert!(state(&with(&"a".repeat(64))).is_some());
        assert!(state(&with("../../x")).is_none());
        assert!(state(&with(&"/".repeat(64))).is_none());
        assert!(absolute("x/y").is_none());
    }
}
