//! Writing JSON the way `JSON.stringify` does: compact, with the short escapes.
//!
//! Owns: commas, quotes and escapes. Does not own: which keys a line has.

/// A JSON text under construction. Keys and values are appended in order; commas come by themselves.
#[derive(Default)]
pub(super) struct Json {
    bytes: Vec<u8>,
    comma: bool,
}

impl Json {
    /// An empty text: the next call opens the outermost value.
    pub(super) fn new() -> Self {
        Json { bytes: Vec::with_capacity(1024), comma: false }
    }

    /// A text that starts with an open object.
    pub(super) fn line() -> Self {
        let mut json = Json::new();
        json.open();
        json
    }

    fn separate(&mut self) {
        if self.comma {
            self.bytes.push(b',');
        }
        self.comma = true;
    }

    /// Writes `"name":`.
    pub(super) fn key(&mut self, name: &str) -> &mut Self {
        self.string(name);
        self.bytes.push(b':');
        self.comma = false;
        self
    }

    pub(super) fn open(&mut self) -> &mut Self {
        self.separate();
        self.bytes.push(b'{');
        self.comma = false;
        self
    }

    pub(super) fn close(&mut self) -> &mut Self {
        self.bytes.push(b'}');
        self.comma = true;
        self
    }

    pub(super) fn open_list(&mut self) -> &mut Self {
        self.separate();
        self.bytes.push(b'[');
        self.comma = false;
        self
    }

    pub(super) fn close_list(&mut self) -> &mut Self {
        self.bytes.push(b']');
        self.comma = true;
        self
    }

    pub(super) fn string(&mut self, value: &str) -> &mut Self {
        self.separate();
        self.bytes.push(b'"');
        escape(&mut self.bytes, value);
        self.bytes.push(b'"');
        self
    }

    /// A string that was cut inside a surrogate pair: it ends with a lone `\ud83d`.
    pub(super) fn string_cut_in_pair(&mut self, value: &str) -> &mut Self {
        self.string(value);
        self.bytes.pop();
        self.bytes.extend_from_slice(b"\\ud83d\"");
        self
    }

    pub(super) fn integer(&mut self, value: u64) -> &mut Self {
        self.literal(&value.to_string())
    }

    /// A value that is JSON already.
    pub(super) fn literal(&mut self, value: &str) -> &mut Self {
        self.raw(value.as_bytes())
    }

    /// A value that is JSON already, as bytes.
    pub(super) fn raw(&mut self, value: &[u8]) -> &mut Self {
        self.separate();
        self.bytes.extend_from_slice(value);
        self
    }

    /// Members that are JSON already (`"a":1,"b":2`), without braces.
    pub(super) fn members(&mut self, members: &str) -> &mut Self {
        self.literal(members)
    }

    /// `"name":"value"`.
    pub(super) fn text(&mut self, name: &str, value: &str) -> &mut Self {
        self.key(name).string(value)
    }

    /// `"name":value` for a number.
    pub(super) fn number(&mut self, name: &str, value: u64) -> &mut Self {
        self.key(name).integer(value)
    }

    /// `"name":true` or `"name":false`.
    pub(super) fn flag(&mut self, name: &str, value: bool) -> &mut Self {
        self.key(name).literal(if value { "true" } else { "false" })
    }

    /// `"name":["a","b"]`.
    pub(super) fn texts<'a>(
        &mut self,
        name: &str,
        values: impl IntoIterator<Item = &'a str>,
    ) -> &mut Self {
        self.key(name).open_list();
        for value in values {
            self.string(value);
        }
        self.close_list()
    }

    /// A line break between members, for files that people read.
    pub(super) fn line_break(&mut self) -> &mut Self {
        if self.comma {
            self.bytes.push(b',');
            self.comma = false;
        }
        self.bytes.push(b'\n');
        self
    }

    /// Closes the outermost object and gives the text.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.close();
        self.bytes
    }

    /// Gives the text as it is.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

fn escape(out: &mut Vec<u8>, value: &str) {
    let bytes = value.as_bytes();
    let mut start = 0;
    for (index, &byte) in bytes.iter().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[start..index]);
        start = index + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0c => out.extend_from_slice(b"\\f"),
            _ => {
                out.extend_from_slice(b"\\u00");
                out.push(b"0123456789abcdef"[usize::from(byte >> 4)]);
                out.push(b"0123456789abcdef"[usize::from(byte & 15)]);
            }
        }
    }
    out.extend_from_slice(&bytes[start..]);
}

#[cfg(test)]
mod tests {
    use super::Json;

    #[test]
    fn writes_compact_json_with_short_escapes() {
        let mut json = Json::line();
        json.text("a", "x\"\\\n\u{1b}é").number("b", 7).texts("c", ["d", "e"]);
        json.key("f").open_list().open().flag("g", true).close().literal("null").close_list();
        let text = String::from_utf8(json.finish()).unwrap();
        assert_eq!(text, r#"{"a":"x\"\\\n\u001bé","b":7,"c":["d","e"],"f":[{"g":true},null]}"#);
    }
}
