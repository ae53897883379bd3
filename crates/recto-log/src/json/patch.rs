//! Changing single values of a line and nothing else.

use std::fmt;
use std::ops::Range;

use super::SyntaxError;
use super::Value;
use super::string::write_string;

/// One step of the way to a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// The member with this key.
    Key(&'a str),
    /// The element at this place, from 0.
    Index(usize),
}

impl<'a> From<&'a str> for Step<'a> {
    fn from(key: &'a str) -> Step<'a> {
        Step::Key(key)
    }
}

impl From<usize> for Step<'_> {
    fn from(index: usize) -> Self {
        Step::Index(index)
    }
}

/// Why a change was refused. The line is as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatchError {
    /// There is no such place in the line.
    NoSuchPath,
    /// The new text is not JSON.
    NotJson(SyntaxError),
}

impl fmt::Display for PatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PatchError::NoSuchPath => f.write_str("there is no such place in the line"),
            PatchError::NotJson(error) => write!(f, "the new value is not JSON: {error}"),
        }
    }
}

impl std::error::Error for PatchError {}

/// A line that is being changed.
///
/// Every change replaces the bytes of one value; order, spelling and white
/// space of everything else stay.
///
/// ```
/// use recto_log::Patch;
///
/// let mut patch = Patch::new(br#"{"b" : 1e5, "a":{"x":"\u0041"}}"#)?;
/// patch.set_string(&["a".into(), "x".into()], "new\n")?;
/// patch.set(&["c".into()], b"[true]")?;
/// patch.remove(&["b".into()])?;
/// assert_eq!(patch.finish(), br#"{"a":{"x":"new\n"},"c":[true]}"#);
/// # Ok::<(), recto_log::json::PatchError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Patch {
    bytes: Vec<u8>,
}

impl Patch {
    /// Starts from a line, which must be JSON.
    pub fn new(line: &[u8]) -> Result<Patch, PatchError> {
        Value::parse(line).map_err(PatchError::NotJson)?;
        Ok(Patch { bytes: line.to_vec() })
    }

    /// Sets a value. A key that is not there is added as the last one.
    pub fn set(&mut self, path: &[Step<'_>], json: &[u8]) -> Result<(), PatchError> {
        let value = Value::parse(json).map_err(PatchError::NotJson)?;
        if let Some(place) = self.find(path) {
            self.bytes.splice(place, value.bytes().iter().copied());
            return Ok(());
        }
        let Some((Step::Key(key), parent)) = path.split_last() else {
            return Err(PatchError::NoSuchPath);
        };
        let place = self.find(parent).ok_or(PatchError::NoSuchPath)?;
        let object = self.value_at(&place).ok_or(PatchError::NoSuchPath)?;
        if !object.is_object() {
            return Err(PatchError::NoSuchPath);
        }
        let mut added = Vec::new();
        // The place to write is after the last value, before any white space.
        let end = match object.members().last() {
            Some(last) => {
                added.push(b',');
                offset_in(&self.bytes, last.value.bytes()) + last.value.bytes().len()
            }
            None => place.end - 1,
        };
        write_string(&mut added, key);
        added.push(b':');
        added.extend_from_slice(value.bytes());
        self.bytes.splice(end..end, added);
        Ok(())
    }

    /// Sets a string.
    pub fn set_string(&mut self, path: &[Step<'_>], text: &str) -> Result<(), PatchError> {
        let mut json = Vec::new();
        write_string(&mut json, text);
        self.set(path, &json)
    }

    /// Removes a member (every member of that name) or an element.
    pub fn remove(&mut self, path: &[Step<'_>]) -> Result<(), PatchError> {
        let Some((last, parent)) = path.split_last() else { return Err(PatchError::NoSuchPath) };
        let mut removed = false;
        while let Some(range) = self.find(parent).and_then(|place| self.item(&place, last)) {
            self.bytes.drain(range);
            removed = true;
            if matches!(last, Step::Index(_)) {
                break;
            }
        }
        if removed { Ok(()) } else { Err(PatchError::NoSuchPath) }
    }

    /// The line as it is now.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }

    fn value_at(&self, place: &Range<usize>) -> Option<Value<'_>> {
        Value::parse(&self.bytes[place.clone()]).ok()
    }

    /// Where the value at `path` is.
    fn find(&self, path: &[Step<'_>]) -> Option<Range<usize>> {
        let mut value = Value::parse(&self.bytes).ok()?;
        for step in path {
            value = match step {
                Step::Key(key) => value.get(key)?,
                Step::Index(index) => value.elements().nth(*index)?,
            };
        }
        let start = offset_in(&self.bytes, value.bytes());
        Some(start..start + value.bytes().len())
    }

    /// Where one item of a container is, with one of the commas beside it.
    fn item(&self, place: &Range<usize>, step: &Step<'_>) -> Option<Range<usize>> {
        let container = self.value_at(place)?;
        let mut items: Vec<Range<usize>> = Vec::new();
        let mut wanted = None;
        let mut note = |start: usize, value: Value<'_>, hit: bool| {
            if hit {
                wanted = Some(items.len());
            }
            items.push(start..offset_in(&self.bytes, value.bytes()) + value.bytes().len());
        };
        match step {
            Step::Key(key) => {
                for member in container.members() {
                    let start = offset_in(&self.bytes, member.raw_key) - 1;
                    note(start, member.value, member.is(key));
                }
            }
            Step::Index(index) => {
                for (at, element) in container.elements().enumerate() {
                    note(offset_in(&self.bytes, element.bytes()), element, at == *index);
                }
            }
        }
        let wanted = wanted?;
        let item = items[wanted].clone();
        Some(match (wanted.checked_sub(1), items.get(wanted + 1)) {
            (Some(before), _) => items[before].end..item.end,
            (None, Some(after)) => item.start..after.start,
            (None, None) => item,
        })
    }
}

/// Where `part`, a piece of `whole`, starts in it.
fn offset_in(whole: &[u8], part: &[u8]) -> usize {
    part.as_ptr() as usize - whole.as_ptr() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patched(line: &str, change: impl FnOnce(&mut Patch) -> Result<(), PatchError>) -> String {
        let mut patch = Patch::new(line.as_bytes()).unwrap();
        change(&mut patch).unwrap();
        String::from_utf8(patch.finish()).unwrap()
    }

    #[test]
    fn one_value_changes_and_the_rest_stays() {
        let line =
            r#" {"z":1e5 ,"a" : {"b":[0, "\ud83d"]} , "big":123456789012345678901234567890} "#;
        let path: [Step<'_>; 3] = ["a".into(), "b".into(), 1.into()];
        assert_eq!(
            patched(line, |patch| patch.set_string(&path, "ok")),
            r#" {"z":1e5 ,"a" : {"b":[0, "ok"]} , "big":123456789012345678901234567890} "#
        );
        assert_eq!(
            patched(line, |patch| patch.set(&["n".into()], b" null ")),
            r#" {"z":1e5 ,"a" : {"b":[0, "\ud83d"]} , "big":123456789012345678901234567890,"n":null} "#
        );
    }

    #[test]
    fn items_are_removed_with_their_comma() {
        let line = r#"{"a":1, "b":2, "c":3}"#;
        let remove = |key: &'static str| patched(line, |patch| patch.remove(&[key.into()]));
        assert_eq!(remove("a"), r#"{"b":2, "c":3}"#);
        assert_eq!(remove("b"), r#"{"a":1, "c":3}"#);
        assert_eq!(remove("c"), r#"{"a":1, "b":2}"#);
        assert_eq!(patched(r#"{"a":1}"#, |patch| patch.remove(&["a".into()])), "{}");
        assert_eq!(
            patched(r#"{"a":[1,2,3]}"#, |patch| patch.remove(&["a".into(), 1.into()])),
            r#"{"a":[1,3]}"#
        );
    }

    #[test]
    fn of_duplicate_keys_the_last_is_set_and_all_are_removed() {
        let line = r#"{"a":1,"b":0,"a":2}"#;
        assert_eq!(patched(line, |patch| patch.set(&["a".into()], b"3")), r#"{"a":1,"b":0,"a":3}"#);
        assert_eq!(patched(line, |patch| patch.remove(&["a".into()])), r#"{"b":0}"#);
    }

    #[test]
    fn refusals_change_nothing() {
        let line = br#"{"a":[1],"s":"x"}"#;
        let mut patch = Patch::new(line).unwrap();
        assert_eq!(patch.set(&["s".into(), "x".into()], b"1"), Err(PatchError::NoSuchPath));
        assert_eq!(patch.set(&["a".into(), 4.into()], b"1"), Err(PatchError::NoSuchPath));
        assert!(matches!(patch.set(&["a".into()], b"{"), Err(PatchError::NotJson(_))));
        assert_eq!(patch.remove(&["q".into()]), Err(PatchError::NoSuchPath));
        assert_eq!(patch.finish(), line);
        assert!(Patch::new(b"nope").is_err());
    }
}
