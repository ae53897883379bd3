//! What is wrong with a text that is not JSON, in the words that models know.

/// The first thing that is wrong, or nothing if the text is JSON.
pub(super) fn first(text: &str) -> Option<String> {
    let mut parser = Parser { rest: text };
    match parser.value(0) {
        Err(error) => Some(error),
        Ok(()) => {
            parser.skip();
            (!parser.rest.is_empty()).then(|| "Unable to parse JSON string".to_owned())
        }
    }
}

/// Nesting that is followed. What is deeper is taken for right.
const DEEPEST: usize = 200;

struct Parser<'a> {
    rest: &'a str,
}

impl<'a> Parser<'a> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    fn take(&mut self, c: char) -> bool {
        self.skip();
        match self.rest.strip_prefix(c) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: usize) -> Result<(), String> {
        self.skip();
        if depth > DEEPEST {
            self.rest = "";
            return Ok(());
        }
        match self.rest.chars().next() {
            None => Err("Unexpected EOF".to_owned()),
            Some('{') => self.object(depth),
            Some('[') => self.array(depth),
            Some('"') => self.string(),
            Some('\'') => Err("Single quotes (') are not allowed in JSON".to_owned()),
            Some(c) if c == '-' || c.is_ascii_digit() => {
                let number = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
                self.rest = self.rest.trim_start_matches(number);
                Ok(())
            }
            Some(c) if c.is_alphabetic() || c == '_' || c == '$' => self.word(),
            Some(c) if "{}[]:,".contains(c) => Err(format!("Unexpected token '{c}'")),
            Some(c) => Err(format!("Unrecognized token '{c}'")),
        }
    }

    fn word(&mut self) -> Result<(), String> {
        let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let length = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        match word {
            "true" | "false" | "null" => Ok(()),
            _ => Err(format!("Unexpected identifier \"{word}\"")),
        }
    }

    fn string(&mut self) -> Result<(), String> {
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = self.rest.get(at + 1..).unwrap_or_default();
                    return Ok(());
                }
                '\\' => {
                    chars.next();
                }
                '\n' | '\r' => break,
                _ => {}
            }
        }
        Err("Unterminated string".to_owned())
    }

    fn array(&mut self, depth: usize) -> Result<(), String> {
        self.take('[');
        if self.take(']') {
            return Ok(());
        }
        loop {
            self.value(depth + 1)?;
            if self.take(']') {
                return Ok(());
            }
            if !self.take(',') {
                return Err("Expected ']'".to_owned());
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<(), String> {
        self.take('{');
        if self.take('}') {
            return Ok(());
        }
        let mut is_first = true;
        loop {
            self.skip();
            match self.rest.chars().next() {
                Some('"') => self.string()?,
                Some('\'') => return Err("Single quotes (') are not allowed in JSON".to_owned()),
                _ if is_first => return Err("Expected '}'".to_owned()),
                _ => return Err("Property name must be a string literal".to_owned()),
            }
            is_first = false;
            if !self.take(':') {
                return Err("Expected ':' before value in object property definition".to_owned());
            }
            self.value(depth + 1)?;
            if self.take('}') {
                return Ok(());
            }
            if !self.take(',') {
                return Err("Expected '}'".to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_wrong_is_named() {
        let cases = [
            ("", "Unexpected EOF"),
            ("{ not", "Expected '}'"),
            ("nul", "Unexpected identifier \"nul\""),
            ("{\"a\":}", "Unexpected token '}'"),
            ("{\"a\":1,}", "Property name must be a string literal"),
            ("[1,2", "Expected ']'"),
            ("\"abc", "Unterminated string"),
            ("{}x", "Unable to parse JSON string"),
        ];
        for (text, error) in cases {
            assert_eq!(first(text).as_deref(), Some(error), "{text}");
        }
        assert_eq!(first("{\"a\": [1, \"b\", null, {}]} "), None);
    }

    proptest! {
        #[test]
        fn any_text_is_judged(text in any::<String>(), marks in "[\\[\\]{}:,\"'\\\\a0 ]{0,60}") {
            first(&text);
            first(&marks);
        }
    }

    #[test]
    fn deep_nesting_costs_no_stack() {
        first(&"[".repeat(1_000_000));
    }
}
