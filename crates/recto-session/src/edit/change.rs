//! Changes of single values of a line.

use jiff::Timestamp;
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
///
/// A repair may change every line of a log, so what it changes most takes no memory of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change(Kind);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Parent(Option<EntryUuid>),
    /// In milliseconds.
    Time(i64),
    Value(Box<(Vec<PathStep>, Option<Vec<u8>>)>),
}

impl Change {
    /// Sets a value, as JSON text.
    pub fn set(path: impl IntoIterator<Item = PathStep>, json: Vec<u8>) -> Change {
        Change(Kind::Value(Box::new((path.into_iter().collect(), Some(json)))))
    }

    /// Sets a string.
    pub fn set_string(path: impl IntoIterator<Item = PathStep>, text: &str) -> Change {
        Change::set(path, string(text))
    }

    /// Removes a member or an element. One that is not there is no error.
    pub fn remove(path: impl IntoIterator<Item = PathStep>) -> Change {
        Change(Kind::Value(Box::new((path.into_iter().collect(), None))))
    }

    /// Sets the parent of a line.
    pub fn parent(parent: Option<&EntryUuid>) -> Change {
        Change(Kind::Parent(parent.cloned()))
    }

    /// Sets the time of a line, to the millisecond.
    pub fn time(time: Timestamp) -> Change {
        Change(Kind::Time(time.as_millisecond()))
    }

    /// Removes a block of the message's content.
    pub(crate) fn remove_block(block: usize) -> Change {
        Change::remove(["message".into(), "content".into(), block.into()])
    }

    pub(in crate::edit) fn apply(&self, patch: &mut Patch) -> Result<(), PatchError> {
        match &self.0 {
            Kind::Parent(None) => patch.set(&[Step::Key("parentUuid")], b"null"),
            Kind::Parent(Some(uuid)) => {
                patch.set(&[Step::Key("parentUuid")], &string(&uuid.to_string()))
            }
            Kind::Time(time) => {
                let time = Timestamp::from_millisecond(*time).unwrap_or_default();
                patch.set(&[Step::Key("timestamp")], &string(&written(time)))
            }
            Kind::Value(change) => {
                let (path, value) = &**change;
                set_value(patch, path, value.as_deref())
            }
        }
    }
}

fn set_value(patch: &mut Patch, path: &[PathStep], value: Option<&[u8]>) -> Result<(), PatchError> {
    let path: Vec<Step<'_>> = path
        .iter()
        .map(|step| match step {
            PathStep::Key(key) => Step::Key(key),
            PathStep::Index(index) => Step::Index(*index),
        })
        .collect();
    match value {
        Some(json) => patch.set(&path, json),
        None => match patch.remove(&path) {
            Err(PatchError::NoSuchPath) | Ok(()) => Ok(()),
            Err(error) => Err(error),
        },
    }
}

/// A time as clients write it.
pub(super) fn written(time: Timestamp) -> String {
    format!("{time:.3}")
}

fn string(text: &str) -> Vec<u8> {
    let mut json = Vec::new();
    write_string(&mut json, text);
    json
}

/// So many lists of changes are looked through for those of a line.
const MOST_LAYERS: usize = 8;

/// The changes of the lines of a log, in as little memory as they need: those that are asked for
/// in the order of the lines are kept in that order, and those that come later in another list.
#[derive(Debug, Clone, Default)]
pub(in crate::edit) struct Changes {
    /// Each sorted by lines.
    layers: Vec<Vec<(u32, Change)>>,
}

impl Changes {
    pub(in crate::edit) fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// Adds a change to those of a line, by its place.
    pub(in crate::edit) fn add(&mut self, line: usize, change: Change) {
        let line = short(line);
        match self.layers.last_mut() {
            Some(last) if last.last().is_none_or(|(before, _)| *before <= line) => {
                last.push((line, change));
            }
            Some(_) | None => {
                self.merge();
                self.layers.push(vec![(line, change)]);
            }
        }
    }

    fn merge(&mut self) {
        if self.layers.len() >= MOST_LAYERS {
            let mut all: Vec<_> = self.layers.drain(..).flatten().collect();
            all.sort_by_key(|(line, _)| *line);
            self.layers.push(all);
        }
    }

    /// The changes of a line, in the order in which they were asked for.
    pub(in crate::edit) fn of(&self, line: usize) -> Vec<&Change> {
        let line = short(line);
        let of_layer = |layer: &'_ Vec<(u32, Change)>| {
            let start = layer.partition_point(|(other, _)| *other < line);
            let length = layer[start..].partition_point(|(other, _)| *other == line);
            start..start + length
        };
        self.layers
            .iter()
            .flat_map(|layer| layer[of_layer(layer)].iter().map(|(_, change)| change))
            .collect()
    }

    /// The places of lines that change; one that changes several times is named as often.
    pub(in crate::edit) fn lines(&self) -> impl Iterator<Item = usize> + '_ {
        self.layers.iter().flatten().map(|(line, _)| *line as usize)
    }
}

fn short(line: usize) -> u32 {
    u32::try_from(line).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_changed_most_takes_no_memory_of_its_own() {
        assert_eq!(size_of::<(u32, Change)>(), 32);
    }

    #[test]
    fn changes_of_a_line_stay_in_their_order_however_many_there_are() {
        let mut changes = Changes::default();
        let mut expected: Vec<Vec<Change>> = vec![Vec::new(); 10];
        // Backwards, so that each is in a list of its own.
        for round in 0..5 {
            for line in (0..10).rev().filter(|line| line % 3 != round % 3) {
                let change = Change(Kind::Time(round as i64));
                changes.add(line, change.clone());
                expected[line].push(change);
            }
        }
        for (line, expected) in expected.iter().enumerate() {
            assert_eq!(changes.of(line), expected.iter().collect::<Vec<_>>(), "{line}");
        }
        let all: usize = expected.iter().map(Vec::len).sum();
        assert_eq!(changes.lines().count(), all);
    }
}
