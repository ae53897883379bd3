//! Where a follower is, to go on from there after a restart.
//!
//! As text it is JSON Lines: a head, then a line for each log. It is read with care,
//! because it lies in a file that anybody may have changed: it names logs of the home or
//! nothing.

use std::path::Component;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use recto_log::Lines;
use recto_log::json::ObjectWriter;
use recto_log::json::Value;

use super::FollowedFile;
use super::cursor::Cursor;
use super::cursor::Mark;
use super::tree::FIRST_GENERATION;
use super::tree::Tree;
use crate::StoreError;
use crate::log::file_state::FileState;
use crate::log::log_file::LogName;
use crate::place::platform::path_bytes;
use crate::place::platform::path_of_bytes;

/// The form that is written.
const FORM: u64 = 1;

/// Where a follower is.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    next_generation: u64,
    /// With paths below the home.
    cursors: Vec<Cursor>,
}

impl Checkpoint {
    /// Of a follower that has handed out nothing.
    pub(super) fn beginning() -> Checkpoint {
        Checkpoint { next_generation: FIRST_GENERATION, cursors: Vec::new() }
    }

    pub(super) fn of(tree: &Tree) -> Checkpoint {
        let mut cursors: Vec<Cursor> = tree.files.values().cloned().collect();
        for cursor in &mut cursors {
            let path = &cursor.file.path;
            let path = path.strip_prefix(tree.home.root()).unwrap_or(path).to_owned();
            cursor.file = Arc::new(FollowedFile { path, ..(*cursor.file).clone() });
        }
        Checkpoint { next_generation: tree.next_generation, cursors }
    }

    /// Puts the cursors in their places. What is there is looked at afterwards.
    pub(super) fn restore(&self, tree: &mut Tree) {
        tree.next_generation = self.next_generation;
        for cursor in &self.cursors {
            if !tree.options.scope.holds(cursor.file.session) {
                continue;
            }
            let mut cursor = cursor.clone();
            let path = tree.home.root().join(&cursor.file.path);
            cursor.file = Arc::new(FollowedFile { path, ..(*cursor.file).clone() });
            // What it was is not known any more: it is read to see.
            cursor.at.state = FileState::default();
            tree.insert(cursor);
        }
    }

    /// Writes it down.
    pub fn encode(&self) -> Vec<u8> {
        let head = ObjectWriter::new().number("form", FORM);
        let mut bytes = head.number("next_generation", self.next_generation).finish();
        bytes.push(b'\n');
        for cursor in &self.cursors {
            let mut line = match cursor.file.path.to_str() {
                Some(path) => ObjectWriter::new().string("path", path),
                None => {
                    ObjectWriter::new().string("path_hex", &hex(&path_bytes(&cursor.file.path)))
                }
            }
            .string("project", &cursor.file.project)
            .string("session", &cursor.file.session.to_string());
            if let Some(agent) = &cursor.file.agent {
                line = line.string("agent", agent.as_str());
            }
            let line = line
                .number("generation", cursor.generation)
                .number("device", cursor.at.identity.0)
                .number("number", cursor.at.identity.1)
                .number("offset", cursor.at.offset)
                .number("head", cursor.at.mark.head)
                .number("tail", cursor.at.mark.tail);
            bytes.extend(line.finish());
            bytes.push(b'\n');
        }
        bytes
    }

    /// Reads what was written down.
    pub fn decode(bytes: &[u8]) -> Result<Checkpoint, StoreError> {
        let bad = |why| StoreError::BadCheckpoint { why };
        let mut lines = Lines::new(bytes);
        let head = lines.next().ok_or(bad("it is empty"))?;
        let head = Value::parse(head.bytes).map_err(|_| bad("its first line is no JSON"))?;
        let number = |value: &Value<'_>, name: &str| value.get(name).and_then(Value::as_u64);
        if number(&head, "form") != Some(FORM) {
            return Err(bad("its form is not known"));
        }
        let next_generation =
            number(&head, "next_generation").ok_or(bad("its first line lacks a number"))?;
        let mut cursors = Vec::new();
        for line in lines {
            if !line.terminated {
                return Err(bad("its last line is cut"));
            }
            let value = Value::parse(line.bytes).map_err(|_| bad("a line is no JSON"))?;
            cursors.push(cursor(&value).ok_or(bad("a line says something impossible"))?);
        }
        if cursors.iter().any(|cursor| cursor.generation >= next_generation) {
            return Err(bad("a generation is not of its time"));
        }
        Ok(Checkpoint { next_generation, cursors })
    }
}

fn cursor(value: &Value<'_>) -> Option<Cursor> {
    let text = |name: &str| value.str(name).map(|text| text.into_owned());
    let number = |name: &str| value.get(name)?.as_u64();
    let path = match text("path") {
        Some(path) => PathBuf::from(path),
        None => path_of_bytes(&unhex(&text("path_hex")?)?),
    };
    if !is_path_of_log(&path) {
        return None;
    }
    let agent = match text("agent") {
        Some(agent) => Some(agent.parse().ok()?),
        None => None,
    };
    let session = text("session")?.parse().ok()?;
    let file = FollowedFile { path, project: text("project")?, session, agent };
    let identity = (number("device")?, number("number")?);
    let mut cursor = Cursor::new(Arc::new(file), number("generation")?, identity);
    cursor.at.offset = number("offset")?;
    cursor.at.mark = Mark { head: number("head")?, tail: number("tail")? };
    Some(cursor)
}

/// Whether a path leads nowhere but to a log below the home.
fn is_path_of_log(path: &Path) -> bool {
    let mut parts = path.components();
    let name = path.file_name().map(|name| name.to_string_lossy());
    parts.next() == Some(Component::Normal("projects".as_ref()))
        && parts.all(|part| matches!(part, Component::Normal(_)))
        && name.is_some_and(|name| LogName::of(&name).is_some())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|digit| digit.to_digit(16).map(|value| value as u8)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
