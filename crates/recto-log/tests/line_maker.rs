//! Makes lines that are JSON objects and otherwise as odd as can be.
//!
//! Known and unknown types and fields, every escape, lone surrogates, bytes
//! that are no UTF-8, numbers that no machine type holds, keys that occur
//! twice, white space everywhere, deep nesting, a `\r` at the end.

use recto_log::Kind;

use crate::random::Random;

const FIELDS: [&str; 30] = [
    "type",
    "uuid",
    "parentUuid",
    "timestamp",
    "sessionId",
    "version",
    "message",
    "content",
    "usage",
    "toolUseResult",
    "isSidechain",
    "isMeta",
    "subtype",
    "attachment",
    "rendered",
    "snapshot",
    "customTitle",
    "leafUuid",
    "operation",
    "modelUsage",
    "tail",
    "role",
    "id",
    "text",
    "input",
    "stdout",
    "structuredPatch",
    "agentId",
    "compactMetadata",
    "origin",
];

const NUMBERS: [&str; 18] = [
    "0",
    "-0",
    "7",
    "1e5",
    "1E+4",
    "-0.0",
    "0.1",
    "-1.5E-3",
    "1e-400",
    "1E+400",
    "-1e999",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775809",
    "9007199254740993",
    "123456789012345678901234567890",
    "-999999999999999999999999999999",
    "0.30000000000000000000000000000000000000004",
];

const SIMPLE_ESCAPES: &[u8; 8] = b"\"\\/bfnrt";

const TEXTS: [&str; 10] = [
    "a",
    "fix the bug in parser.rs",
    "é",
    "日本語",
    "😀",
    "\u{7f}",
    "\u{2028}",
    "\u{feff}",
    " {[,:]} ",
    "0123456789abcdef0123456789abcdef",
];

/// Makes one line after the other.
pub(crate) struct LineMaker {
    random: Random,
    types: Vec<&'static str>,
    out: Vec<u8>,
}

impl LineMaker {
    pub(crate) fn new(seed: u64) -> LineMaker {
        let types = Kind::all().map(Kind::name).chain(["not-known"; 4]).collect();
        LineMaker { random: Random::new(seed), types, out: Vec::new() }
    }

    /// The next line, without a line end.
    pub(crate) fn line(&mut self) -> &[u8] {
        self.out.clear();
        if self.random.one_in(300) {
            self.out.extend_from_slice("\u{feff}".as_bytes());
        }
        self.space();
        self.out.push(b'{');
        if !self.random.one_in(8) {
            self.type_field();
        }
        let fields = self.random.within(0..10);
        for _ in 0..fields {
            self.comma();
            self.key();
            self.value(3);
        }
        if self.random.one_in(400) {
            self.comma();
            self.key();
            self.deep_value();
        }
        self.space();
        self.out.push(b'}');
        if self.random.one_in(20) {
            self.out.push(b'\r');
        }
        &self.out
    }

    fn type_field(&mut self) {
        let name = *self.random.pick(&self.types);
        let field = if self.random.one_in(20) { "\"t\\u0079pe\":\"" } else { "\"type\":\"" };
        self.out.extend_from_slice(field.as_bytes());
        self.out.extend_from_slice(name.as_bytes());
        self.out.push(b'"');
    }

    fn comma(&mut self) {
        self.space();
        if !matches!(self.out.iter().rfind(|byte| !byte.is_ascii_whitespace()), Some(b'{' | b'[')) {
            self.out.push(b',');
            self.space();
        }
    }

    fn key(&mut self) {
        if self.random.one_in(4) {
            self.string();
        } else {
            let name = *self.random.pick(&FIELDS);
            self.out.push(b'"');
            self.out.extend_from_slice(name.as_bytes());
            self.out.push(b'"');
        }
        self.space();
        self.out.push(b':');
        self.space();
    }

    fn value(&mut self, depth: usize) {
        let choices = if depth == 0 { 6 } else { 9 };
        match self.random.within(0..choices) {
            0..3 => self.string(),
            3 => self.number(),
            4 => {
                let word = *self.random.pick(&["true", "false", "null"]);
                self.out.extend_from_slice(word.as_bytes());
            }
            5 => {
                let empty = *self.random.pick(&["{}", "[]", "\"\"", "[ ]", "{\t}"]);
                self.out.extend_from_slice(empty.as_bytes());
            }
            6 => {
                self.out.push(b'[');
                for _ in 0..self.random.within(1..4) {
                    self.comma();
                    self.value(depth - 1);
                }
                self.space();
                self.out.push(b']');
            }
            _ => {
                self.out.push(b'{');
                for _ in 0..self.random.within(1..5) {
                    self.comma();
                    self.key();
                    self.value(depth - 1);
                }
                self.space();
                self.out.push(b'}');
            }
        }
    }

    fn deep_value(&mut self) {
        let mut closing = Vec::new();
        for _ in 0..self.random.within(50..400) {
            let array = self.random.one_in(2);
            self.out.extend_from_slice(if array { b"[" } else { b"{\"d\":" });
            closing.push(if array { b']' } else { b'}' });
        }
        self.number();
        self.out.extend(closing.iter().rev());
    }

    fn number(&mut self) {
        match self.random.within(0..3) {
            0 => {
                let number = *self.random.pick(&NUMBERS);
                self.out.extend_from_slice(number.as_bytes());
            }
            1 => {
                let number = self.random.next() >> self.random.within(0..64);
                self.out.extend_from_slice(number.to_string().as_bytes());
            }
            _ => {
                let number = (self.random.next() >> 32) as f64 / 4096.0 - 1000.0;
                self.out.extend_from_slice(number.to_string().as_bytes());
            }
        }
    }

    fn string(&mut self) {
        self.out.push(b'"');
        for _ in 0..self.random.within(0..5) {
            match self.random.within(0..80) {
                0..8 => {
                    let escaped = *self.random.pick(SIMPLE_ESCAPES);
                    self.out.extend_from_slice(&[b'\\', escaped]);
                }
                8..14 => self.character_escape(),
                14 => self.unit_escape(0xd800..0xe000),
                15 => self.out.extend_from_slice(b"\xff\xfe"),
                16 => self.out.extend_from_slice(b"\xe2\x82"),
                _ => {
                    let text = *self.random.pick(&TEXTS);
                    self.out.extend_from_slice(text.as_bytes());
                }
            }
        }
        self.out.push(b'"');
    }

    /// A character that is spelled as one escape, or as a pair of them.
    fn character_escape(&mut self) {
        match self.random.within(0..3) {
            0 => self.unit_escape(0..0x80),
            1 => self.unit_escape(0x80..0xd800),
            _ => {
                self.unit_escape(0xd800..0xdc00);
                self.unit_escape(0xdc00..0xe000);
            }
        }
    }

    fn unit_escape(&mut self, units: std::ops::Range<usize>) {
        let unit = self.random.within(units);
        let spelled =
            if self.random.one_in(2) { format!("\\u{unit:04x}") } else { format!("\\u{unit:04X}") };
        self.out.extend_from_slice(spelled.as_bytes());
    }

    fn space(&mut self) {
        if self.random.one_in(10) {
            let space = *self.random.pick(&[" ", "\t", "\r", "  ", " \t "]);
            self.out.extend_from_slice(space.as_bytes());
        }
    }
}
