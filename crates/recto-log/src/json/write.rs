//! Writing new JSON: objects and arrays, key by key, in the given order.

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

    /// Adds an integer.
    pub fn number(self, key: &str, number: u64) -> ObjectWriter {
        self.json(key, number.to_string().as_bytes())
    }

    /// Adds a boolean.
    pub fn boolean(self, key: &str, value: bool) -> ObjectWriter {
        self.json(key, if value { b"true" } else { b"false" })
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
        assert_eq!(ObjectWriter::new().finish(), b"{}");
        assert_eq!(ArrayWriter::new().finish(), b"[]");
    }
}
