//! JSON text that is known to be well formed, owned and cheap to clone.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use recto_log::json::Patch;
use recto_log::json::SyntaxError;
use recto_log::json::Value;
use recto_log::json::write_string;

/// The text of one JSON value. Its spelling stays: key order, numbers, escapes, lone surrogates.
#[derive(Clone, PartialEq, Eq)]
pub struct Json(Bytes);

impl Json {
    /// Takes a text that is one JSON value.
    pub fn parse(bytes: impl Into<Bytes>) -> Result<Json, SyntaxError> {
        let bytes = bytes.into();
        let value = Value::parse(&bytes)?.bytes();
        let trimmed = bytes.slice_ref(value);
        Ok(Json(trimmed))
    }

    /// A string.
    pub fn string(text: &str) -> Json {
        let mut bytes = Vec::with_capacity(text.len() + 2);
        write_string(&mut bytes, text);
        Json(bytes.into())
    }

    /// A part of this text. The part shares its memory.
    pub(crate) fn part(&self, value: Value<'_>) -> Json {
        Json(self.0.slice_ref(value.bytes()))
    }

    /// Text that a writer of `recto-log` finished.
    pub(crate) fn written(bytes: Vec<u8>) -> Json {
        Json(bytes.into())
    }

    /// The text as a value to read.
    pub fn value(&self) -> Value<'_> {
        // The text was checked when it was taken.
        Value::parse(&self.0).unwrap_or(Value::NULL)
    }

    /// The text.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The member of an object; of members with the same key, the last.
    pub fn get(&self, name: &str) -> Option<Json> {
        self.value().get(name).map(|value| self.part(value))
    }

    /// The text of a string member.
    pub fn str(&self, name: &str) -> Option<Cow<'_, str>> {
        self.value().str(name)
    }

    /// The same object with one member set, at the end if it is new. Anything else stays as it is.
    #[must_use]
    pub fn with(&self, name: &str, value: &[u8]) -> Json {
        self.patched(|patch| patch.set(&[name.into()], value).is_ok())
    }

    /// The same object without a member.
    #[must_use]
    pub fn without(&self, name: &str) -> Json {
        self.patched(|patch| patch.remove(&[name.into()]).is_ok())
    }

    fn patched(&self, change: impl FnOnce(&mut Patch) -> bool) -> Json {
        let Ok(mut patch) = Patch::new(&self.0) else { return self.clone() };
        if change(&mut patch) { Json(patch.finish().into()) } else { self.clone() }
    }

    /// The value as `serde_json` has it. Lone surrogates are U+FFFD.
    pub fn to_serde(&self) -> serde_json::Value {
        let whole = recto_log::json::replace_lone_surrogates(self.0.to_vec());
        // Deeper than `serde_json` reads, or a number beyond its range: nothing a tool could use.
        serde_json::from_str(&String::from_utf8_lossy(&whole)).unwrap_or_default()
    }
}

impl From<&serde_json::Value> for Json {
    fn from(value: &serde_json::Value) -> Json {
        Json(value.to_string().into())
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Json {
        Json::from(&value)
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spelling_stays_and_one_member_changes() {
        let text = br#" {"b":1e5, "a":"\ud83d","b":2} "#;
        let json = Json::parse(text.to_vec()).unwrap();
        assert_eq!(json.bytes(), text.trim_ascii());
        assert_eq!(json.get("b").unwrap().bytes(), b"2");
        assert_eq!(json.with("c", b"[]").to_string(), r#"{"b":1e5, "a":"\ud83d","b":2,"c":[]}"#);
        assert_eq!(json.to_serde()["a"], "\u{fffd}");
        assert_eq!(Json::string("a\"\n").to_string(), r#""a\"\n""#);
        assert!(Json::parse(b"{".to_vec()).is_err());
    }
}
