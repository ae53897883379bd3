//! Words of a command: what is left of them when the shell has taken the quotes away.
//!
//! The scanner knows less than the shell and says so: a word with anything else than quotes,
//! escapes and a few known variables has no value.

/// A word as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    /// The text of the command.
    pub(crate) raw: String,
    /// The text that a program gets, when it is known.
    pub(crate) value: Option<String>,
    /// Whether it has a pattern that the shell replaces by file names.
    pub(crate) glob: bool,
}

impl Word {
    /// Whether it is written without quotes, escapes and patterns.
    pub(crate) fn is_plain(&self) -> bool {
        self.value.as_deref() == Some(self.raw.as_str()) && !self.glob
    }

    /// The value, or the text where it has none.
    pub(crate) fn text(&self) -> &str {
        self.value.as_deref().unwrap_or(&self.raw)
    }
}

/// Why a word cannot be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordTrouble {
    /// A variable.
    Variable,
    /// Something that the scanner does not know: `{a,b}`, `$'..'`, an open quote.
    Unknown,
}

/// Variables that hold no words and start nothing, where quotes keep their value together.
const HARMLESS: &[&str] =
    &["HOME", "PWD", "USER", "LOGNAME", "SHELL", "HOSTNAME", "TMPDIR", "LANG"];

/// Reads a word. `home` is the value of `$HOME` and of a leading `~`.
pub(crate) fn scan(raw: &str, home: &str) -> (Word, Option<WordTrouble>) {
    let mut scan = Scan { value: String::new(), known: true, glob: false, trouble: None };
    let bytes: Vec<char> = raw.chars().collect();
    let mut at = scan.tilde(&bytes, home);
    while let Some(&character) = bytes.get(at) {
        at = match character {
            '\'' => scan.single_quoted(&bytes, at + 1),
            '"' => scan.double_quoted(&bytes, at + 1, home),
            '\\' => scan.escaped(&bytes, at + 1),
            _ => {
                scan.bare(&bytes, at, character);
                at + 1
            }
        };
    }
    let value = (scan.known && scan.trouble.is_none()).then_some(scan.value);
    (Word { raw: raw.to_owned(), value, glob: scan.glob }, scan.trouble)
}

struct Scan {
    value: String,
    known: bool,
    glob: bool,
    trouble: Option<WordTrouble>,
}

impl Scan {
    fn tilde(&mut self, text: &[char], home: &str) -> usize {
        if text.first() != Some(&'~') {
            return 0;
        }
        match text.get(1) {
            None | Some('/') => self.value.push_str(home),
            // The home of another user, or a directory of the stack.
            Some(_) => self.unknown(),
        }
        1
    }

    fn single_quoted(&mut self, text: &[char], start: usize) -> usize {
        let Some(length) = text.iter().skip(start).position(|c| *c == '\'') else {
            self.unknown();
            return text.len();
        };
        self.value.extend(text.iter().skip(start).take(length));
        start + length + 1
    }

    fn double_quoted(&mut self, text: &[char], start: usize, home: &str) -> usize {
        let mut at = start;
        while let Some(&character) = text.get(at) {
            at += 1;
            match character {
                '"' => return at,
                '\\' => match text.get(at) {
                    Some('\n') => at += 1,
                    Some(&escaped @ ('$' | '`' | '"' | '\\')) => {
                        self.value.push(escaped);
                        at += 1;
                    }
                    _ => self.value.push('\\'),
                },
                '$' => at = self.quoted_variable(text, at, home),
                '`' => self.unknown(),
                other => self.value.push(other),
            }
        }
        self.unknown();
        at
    }

    fn quoted_variable(&mut self, text: &[char], start: usize, home: &str) -> usize {
        let name: String = text
            .iter()
            .skip(start)
            .take_while(|c| c.is_ascii_alphanumeric() || **c == '_')
            .collect();
        match name.as_str() {
            "HOME" => self.value.push_str(home),
            known if HARMLESS.contains(&known) => self.known = false,
            "" if matches!(text.get(start), None | Some('"' | ' ')) => self.value.push('$'),
            "" => self.trouble = self.trouble.or(Some(WordTrouble::Variable)),
            _ => self.trouble = self.trouble.or(Some(WordTrouble::Variable)),
        }
        start + name.chars().count()
    }

    fn escaped(&mut self, text: &[char], at: usize) -> usize {
        match text.get(at) {
            Some('\n') => {}
            Some(&character) => self.value.push(character),
            None => self.unknown(),
        }
        at + 1
    }

    fn bare(&mut self, text: &[char], at: usize, character: char) {
        match character {
            '$' if matches!(text.get(at + 1), Some('\'' | '"' | '(' | '[')) => self.unknown(),
            '$' => self.trouble = self.trouble.or(Some(WordTrouble::Variable)),
            // What ends a word outside quotes cannot be in one: the parser was wrong.
            '`' | ';' | '|' | '&' | '(' | ')' | '<' | '>' | ' ' | '\t' | '\n' => self.unknown(),
            // `{}` alone is what `find` and `xargs` take; everything else may be expanded.
            '{' if text.get(at + 1) != Some(&'}') => self.unknown(),
            '*' | '?' | '[' => self.glob = true,
            // After `:` and `=` the shell expands it as well.
            '~' if at > 0 && matches!(text.get(at - 1), Some(':' | '=')) => self.unknown(),
            _ => {}
        }
        self.value.push(character);
    }

    fn unknown(&mut self) {
        self.known = false;
        self.trouble = self.trouble.or(Some(WordTrouble::Unknown));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(raw: &str) -> Option<String> {
        scan(raw, "/home/dev").0.value
    }

    #[test]
    fn quotes_and_escapes_are_taken_away() {
        for (raw, expected) in [
            ("ls", "ls"),
            ("'a b'", "a b"),
            ("\"a b\"", "a b"),
            ("a\\ b", "a b"),
            ("'a'\"b\"c", "abc"),
            ("\\rm", "rm"),
            ("\"\\n\\$\"", "\\n$"),
            ("~/x", "/home/dev/x"),
            ("\"$HOME/x\"", "/home/dev/x"),
            ("{}", "{}"),
            ("a\\\nb", "ab"),
            ("\"5$\"", "5$"),
        ] {
            assert_eq!(value(raw).as_deref(), Some(expected), "{raw}");
        }
    }

    #[test]
    fn a_word_that_the_shell_expands_has_no_value() {
        for raw in [
            "$x",
            "\"$x\"",
            "${x}",
            "$(ls)",
            "`ls`",
            "\"`ls`\"",
            "$'a'",
            "$\"a\"",
            "{a,b}",
            "a{1..3}",
            "~root/x",
            "'open",
            "\"open",
            "a;b",
            "x=~/y",
            "\"$(ls)\"",
            "\"${x}\"",
            "\"$USER\"",
            "a\\",
        ] {
            assert_eq!(value(raw), None, "{raw}");
        }
        assert!(scan("*.txt", "/").0.glob);
        assert!(!scan("'*.txt'", "/").0.glob);
    }
}
