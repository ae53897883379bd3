//! Changes of single values of a line.

use recto_log::EntryUuid;
use recto_log::Patch;
use recto_log::json::PatchError;
use recto_log::json::Step;
use recto_log::json::write_string;

/// One step of the way to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathStep {
    /// The member with this key.
    Key(String),
    /// The element at this place, from 0.
    Index(usize),
}

impl From<&str> for PathStep {
    fn from(key: &str) -> PathStep {
        PathStep::Key(key.to_owned())
    }
}

impl From<usize> for PathStep {
    fn from(index: usize) -> PathStep {
        PathStep::Index(index)
    }
}

/// A value of a line that becomes another one, or goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    path: Vec<PathStep>,
    value: Option<Vec<u8>>,
}

impl Change {
    /// Sets a value, as JSON text.
    pub fn set(path: impl IntoIterator<Item = PathStep>, json: Vec<u8>) -> Change {
        Change { path: path.into_iter().collect(), value: Some(json) }
    }

    /// Sets a string.
    pub fn set_string(path: impl IntoIterator<Item = PathStep>, text: &str) -> Change {
        let mut json = Vec::new();
        write_string(&mut json, text);
        Change::set(path, json)
    }

    /// Removes a member or an element. One that is not there is no error.
    pub fn remove(path: impl IntoIterator<Item = PathStep>) -> Change {
        Change { path: path.into_iter().collect(), value: None }
    }

    /// Sets the parent of a line.
    pub fn parent(parent: Option<&EntryUuid>) -> Change {
        match parent {
            Some(uuid) => Change::set_string(["parentUuid".into()], &uuid.to_string()),
            None => Change::set(["parentUuid".into()], b"null".to_vec()),
        }
    }

    /// Removes a block of the message's content.
    pub(crate) fn remove_block(block: usize) -> Change {
        Change::remove(["message".into(), "content".into(), block.into()])
    }

    pub(in crate::edit) fn apply(&self, patch: &mut Patch) -> Result<(), PatchError> {
        let path: Vec<Step<'_>> = self
            .path
            .iter()
            .map(|step| match step {
                PathStep::Key(key) => Step::Key(key),
                PathStep::Index(index) => Step::Index(*index),
            })
            .collect();
        match &self.value {
            Some(json) => patch.set(&path, json),
            None => match patch.remove(&path) {
                Err(PatchError::NoSuchPath) | Ok(()) => Ok(()),
                Err(error) => Err(error),
            },
        }
    }
}
