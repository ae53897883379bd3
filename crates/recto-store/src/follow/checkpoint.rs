//! Where a follower is, to go on from there after a restart.
//!
//! As text it is JSON Lines: a head, then a line for each log. It is read with care,
//! because it lies in a file that anybody may have changed: it names logs of the home or
//! nothing.

use std::collections::BTreeMap;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use recto_log::Lines;
use recto_log::json::ObjectWriter;
use recto_log::json::Value;

use super::Batch;
use super::Change;
use super::FollowError;
use super::FollowedFile;
use super::tree::Tail;
use super::tree::Tree;
use crate::Cursor;
use crate::Home;
use crate::log::file_state::FileState;
use crate::log::log_file::LogName;
use crate::place::platform::path_bytes;
use crate::place::platform::path_of_bytes;

/// The form that is written.
const FORM: u64 = 2;

/// Where a follower is, or what of its work is done.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    root: PathBuf,
    /// By the number of their life.
    logs: BTreeMap<u64, Progress>,
}

/// How much of a log is done.
#[derive(Debug, Clone)]
struct Progress {
    file: Arc<FollowedFile>,
    /// None if nothing is.
    cursor: Option<Cursor>,
    /// What is done behind something that is not.
    early: Vec<Batch>,
}

impl Checkpoint {
    /// Of a follower that has handed out nothing.
    pub(super) fn beginning(home: &Home) -> Checkpoint {
        Checkpoint { root: home.root().to_owned(), logs: BTreeMap::new() }
    }

    pub(super) fn of(tree: &Tree) -> Checkpoint {
        let mut checkpoint = Checkpoint::beginning(&tree.home);
        for Tail { file, life, cursor } in tree.files.values() {
            let (file, cursor) = (Arc::clone(file), Some(cursor.clone()));
            checkpoint.logs.insert(*life, Progress { file, cursor, early: Vec::new() });
        }
        checkpoint
    }

    /// Puts the cursors in their places. What is there is looked at afterwards.
    pub(super) fn restore(&self, tree: &mut Tree) {
        for (life, progress) in &self.logs {
            let Some(mut cursor) = progress.cursor.clone() else { continue };
            if !tree.options.scope.holds(progress.file.session) {
                continue;
            }
            if cursor.is_behind() {
                // More was there than is done: it is read even if nothing has changed.
                cursor.note_state(FileState::default());
            }
            tree.next_life = tree.next_life.max(life + 1);
            tree.insert(Tail { file: Arc::clone(&progress.file), life: *life, cursor });
        }
    }

    /// Takes in a change that is not about lines: a log that moved, is gone, or was rewritten.
    pub fn note(&mut self, change: &Change) {
        match change {
            Change::Moved { from, to } => {
                for progress in self.logs.values_mut().filter(|known| known.file == *from) {
                    progress.file = Arc::clone(to);
                }
            }
            Change::Removed(file) | Change::Restarted(file) => {
                self.logs.retain(|_, known| known.file.path != file.path);
            }
            Change::Appeared(_)
            | Change::Lines { .. }
            | Change::LongLine { .. }
            | Change::File(_)
            | Change::FileRemoved(_)
            | Change::Announcements => {}
        }
    }

    /// The work on a batch is done. In any order: the checkpoint moves on when nothing
    /// before is missing.
    pub fn acknowledge(&mut self, batch: &Batch) {
        let known = self.logs.entry(batch.life).or_insert_with(|| Progress {
            file: Arc::clone(&batch.file),
            cursor: None,
            early: Vec::new(),
        });
        known.early.push(batch.clone());
        let end = |known: &Progress| known.cursor.as_ref().map_or(0, Cursor::offset);
        while let Some(at) = known.early.iter().position(|batch| batch.range.start == end(known)) {
            known.cursor = Some(known.early.swap_remove(at).cursor);
        }
    }

    /// Writes it down.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = ObjectWriter::new().number("form", FORM).finish();
        bytes.push(b'\n');
        for Progress { file, cursor, .. } in self.logs.values() {
            let Some(cursor) = cursor else { continue };
            let path = file.path.strip_prefix(&self.root).unwrap_or(&file.path);
            let mut line = match path.to_str() {
                Some(path) => ObjectWriter::new().string("path", path),
                None => ObjectWriter::new().string("path_hex", &hex(&path_bytes(path))),
            }
            .string("project", &file.project)
            .string("session", &file.session.to_string());
            if let Some(agent) = &file.agent {
                line = line.string("agent", agent.as_str());
            }
            bytes.extend(line.string("cursor", &hex(&cursor.encode())).finish());
            bytes.push(b'\n');
        }
        bytes
    }

    /// Reads what was written down.
    pub fn decode(home: &Home, bytes: &[u8]) -> Result<Checkpoint, FollowError> {
        let bad = |why| FollowError::BadCheckpoint { why };
        let mut lines = Lines::new(bytes);
        let head = lines.next().ok_or(bad("it is empty"))?;
        let head = Value::parse(head.bytes).map_err(|_| bad("its first line is not JSON"))?;
        if head.get("form").and_then(Value::as_u64) != Some(FORM) {
            return Err(bad("its form is not known"));
        }
        let mut checkpoint = Checkpoint::beginning(home);
        for (life, line) in (1..).zip(lines) {
            if !line.terminated {
                return Err(bad("its last line is cut"));
            }
            let value = Value::parse(line.bytes).map_err(|_| bad("a line is not JSON"))?;
            let progress = progress(home, &value).ok_or(bad("a line says something impossible"))?;
            checkpoint.logs.insert(life, progress);
        }
        Ok(checkpoint)
    }
}

fn progress(home: &Home, value: &Value<'_>) -> Option<Progress> {
    let text = |name: &str| value.str(name).map(|text| text.into_owned());
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
    let path = home.root().join(path);
    let file = Arc::new(FollowedFile { path, project: text("project")?, session, agent });
    let cursor = Cursor::decode(&unhex(&text("cursor")?)?)?;
    Some(Progress { file, cursor: Some(cursor), early: Vec::new() })
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
