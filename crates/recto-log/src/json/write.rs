//! Writing new JSON: objects and arrays, key by key, in the given order.

use std::borrow::Cow;
use std::fmt::Display;

use jiff::Timestamp;
use memchr::memchr2;

use super::Value;
use super::compact;
use super::number;
use super::string::write_string;

/// Writes one object. Nothing is escaped twice and nothing is reordered.
#[derive(Debug, Clone)]
pub struct ObjectWriter {
    out: Vec<u8>,
}

impl Default for ObjectWriter {
    fn default() -> ObjectWriter {
        ObjectWriter { out: b"{".to_vec() }
    }
}

impl ObjectWriter {
    /// An empty object.
    pub fn new() -> ObjectWriter {
        ObjectWriter::default()
    }

    fn key(&mut self, key: &str) {
        if self.out.len() > 1 {
            self.out.push(b',');
        }
        write_string(&mut self.out, key);
        self.out.push(b':');
    }

    /// Adds a string.
    pub fn string(mut self, key: &str, text: &str) -> ObjectWriter {
        self.key(key);
        write_string(&mut self.out, text);
        self
    }

    /// Adds a string, or `null` if there is none.
    pub fn string_or_null(self, key: &str, text: Option<&str>) -> ObjectWriter {
        match text {
            Some(text) => self.string(key, text),
            None => self.json(key, b"null"),
        }
    }

    /// Adds a string if there is one.
    pub fn string_if_any(self, key: &str, text: Option<&str>) -> ObjectWriter {
        match text {
            Some(text) => self.string(key, text),
            None => self,
        }
    }

    /// Adds an identifier, or anything else that has a text.
    pub fn id(self, key: &str, id: &impl Display) -> ObjectWriter {
        self.string(key, &id.to_string())
    }

    /// Adds an identifier, or `null` if there is none.
    pub fn id_or_null(self, key: &str, id: Option<&impl Display>) -> ObjectWriter {
        match id {
            Some(id) => self.id(key, id),
            None => self.json(key, b"null"),
        }
    }

    /// Adds an identifier if there is one.
    pub fn id_if_any(self, key: &str, id: Option<&impl Display>) -> ObjectWriter {
        match id {
            Some(id) => self.id(key, id),
            None => self,
        }
    }

    /// Adds a time as clients write it: UTC, milliseconds.
    pub fn time(self, key: &str, time: Timestamp) -> ObjectWriter {
        self.string(key, &format!("{time:.3}"))
    }

    /// Adds a time, or `null` if there is none.
    pub fn time_or_null(self, key: &str, time: Option<Timestamp>) -> ObjectWriter {
        match time {
            Some(time) => self.time(key, time),
            None => self.json(key, b"null"),
        }
    }

    /// Adds an integer.
    pub fn number(self, key: &str, number: u64) -> ObjectWriter {
        self.json(key, number.to_string().as_bytes())
    }

    /// Adds an integer, or `null` if there is none.
    pub fn number_or_null(self, key: &str, number: Option<u64>) -> ObjectWriter {
        match number {
            Some(number) => self.number(key, number),
            None => self.json(key, b"null"),
        }
    }

    /// Adds an integer if there is one.
    pub fn number_if_any(self, key: &str, number: Option<u64>) -> ObjectWriter {
        match number {
            Some(number) => self.number(key, number),
            None => self,
        }
    }

    /// Adds a number, spelled as the client's `JSON.stringify` does.
    pub fn float(self, key: &str, number: f64) -> ObjectWriter {
        self.json(key, number::spelled(number).as_bytes())
    }

    /// Adds a boolean.
    pub fn boolean(self, key: &str, value: bool) -> ObjectWriter {
        self.json(key, if value { b"true" } else { b"false" })
    }

    /// Adds `true` if the value is true, and nothing otherwise.
    pub fn true_if(self, key: &str, value: bool) -> ObjectWriter {
        if value { self.boolean(key, true) } else { self }
    }

    /// Adds a value. It keeps its spelling, and never breaks the line.
    pub fn value(self, key: &str, value: Value<'_>) -> ObjectWriter {
        self.json(key, &on_one_line(value))
    }

    /// Adds a value if there is one.
    pub fn value_if_any(self, key: &str, value: Option<Value<'_>>) -> ObjectWriter {
        match value {
            Some(value) => self.value(key, value),
            None => self,
        }
    }

    /// Adds JSON text as it is. The caller answers for its form.
    pub fn json(mut self, key: &str, text: &[u8]) -> ObjectWriter {
        self.key(key);
        self.out.extend_from_slice(text);
        self
    }

    /// The text of the object.
    pub fn finish(mut self) -> Vec<u8> {
        self.out.push(b'}');
        self.out
    }
}

/// The text of a value, without line ends. Those inside strings are escapes.
fn on_one_line(value: Value<'_>) -> Cow<'_, [u8]> {
    match memchr2(b'\n', b'\r', value.bytes()) {
        Some(_) => Cow::Owned(compact(value)),
        None => Cow::Borrowed(value.bytes()),
    }
}

/// Writes one array.
#[derive(Debug, Clone)]
pub struct ArrayWriter {
    out: Vec<u8>,
}

impl Default for ArrayWriter {
    fn default() -> ArrayWriter {
        ArrayWriter { out: b"[".to_vec() }
    }
}

impl ArrayWriter {
    /// An empty array.
    pub fn new() -> ArrayWriter {
        ArrayWriter::default()
    }

    fn comma(&mut self) {
        if self.out.len() > 1 {
            self.out.push(b',');
        }
    }

    /// Adds a string.
    pub fn string(mut self, text: &str) -> ArrayWriter {
        self.comma();
        write_string(&mut self.out, text);
        self
    }

    /// Adds strings.
    pub fn strings(self, texts: impl IntoIterator<Item = impl AsRef<str>>) -> ArrayWriter {
        texts.into_iter().fold(self, |array, text| array.string(text.as_ref()))
    }

    /// Adds a value. It keeps its spelling, and never breaks the line.
    pub fn value(self, value: Value<'_>) -> ArrayWriter {
        self.json(&on_one_line(value))
    }

    /// Adds JSON text as it is. The caller answers for its form.
    pub fn json(mut self, text: &[u8]) -> ArrayWriter {
        self.comma();
        self.out.extend_from_slice(text);
        self
    }

    /// The text of the array.
    pub fn finish(mut self) -> Vec<u8> {
        self.out.push(b']');
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_and_arrays_are_written_compactly() {
        let list = ArrayWriter::new().string("a\"").json(b"1").finish();
        let text = ObjectWriter::new()
            .string("s", "x")
            .number("n", 7)
            .boolean("b", false)
            .string_or_null("p", None)
            .json("l", &list)
            .finish();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            r#"{"s":"x","n":7,"b":false,"p":null,"l":["a\"",1]}"#
        );
        let value = Value::parse(b"[1,\n\t\"a b\"]").unwrap();
        let text = ObjectWriter::new()
            .time_or_null("t", Some(Timestamp::UNIX_EPOCH))
            .number_or_null("n", None)
            .true_if("yes", true)
            .true_if("no", false)
            .float("f", 0.5)
            .value("v", value)
            .string_if_any("s", None)
            .finish();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            r#"{"t":"1970-01-01T00:00:00.000Z","n":null,"yes":true,"f":0.5,"v":[1,"a b"]}"#
        );
        assert_eq!(ObjectWriter::new().finish(), b"{}");
        assert_eq!(ArrayWriter::new().finish(), b"[]");
    }
}
