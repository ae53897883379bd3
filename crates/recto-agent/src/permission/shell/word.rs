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
    /// `${x}`.
    VariableInBraces,
    /// `"$(..)"`, and variables of the shell in quotes.
    QuotedText,
    /// `$'..'`.
    EscapeCodes,
    /// `{a,b}`.
    Braces,
    /// `a\ b`.
    EscapedBlank,
    /// A line that starts with `#` inside quotes.
    HiddenComment,
    /// Something that the scanner does not know: an open quote.
    Unknown,
}

/// Variables that every shell has.
const OF_THE_SHELL: &[&str] =
    &["PATH", "PWD", "USER", "LOGNAME", "SHELL", "HOSTNAME", "TMPDIR", "?", "$", "#", "!"];

/// Reads a word. `home` is the value of `$HOME` and of a leading `~`.
pub(crate) fn scan(raw: &str, home: &str) -> (Word, Option<WordTrouble>) {
    let mut scan = Scan { value: String::new(), known: true, glob: false, trouble: None };
    let bytes: Vec<char> = raw.chars().collect();
    if has_hidden_comment(raw) {
        scan.trouble = Some(WordTrouble::HiddenComment);
    }
    let mut at = scan.tilde(&bytes, home);
    while let Some(&character) = bytes.get(at) {
        at = match character {
            '\'' => scan.single_quoted(&bytes, at + 1),
            '"' => scan.double_quoted(&bytes, at + 1, home),
            '\\' => scan.escaped(&bytes, at + 1),
            '$' => scan.bare_dollar(&bytes, at + 1, home),
            _ => {
                scan.bare(&bytes, at, character);
                at + 1
            }
        };
    }
    let value = (scan.known && scan.trouble.is_none()).then_some(scan.value);
    (Word { raw: raw.to_owned(), value, glob: scan.glob }, scan.trouble)
}

/// Whether a reader could take the rest of a word for a comment.
fn has_hidden_comment(raw: &str) -> bool {
    raw.split('\n').skip(1).any(|line| line.trim_start().starts_with('#'))
}

/// The name of the variable that starts here.
fn name_at(text: &[char], start: usize) -> String {
    let mut rest = text.iter().skip(start);
    let is_name = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    match rest.clone().next() {
        Some(special @ ('?' | '$' | '#' | '!')) => special.to_string(),
        _ => rest.by_ref().take_while(|c| is_name(c)).collect(),
    }
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
                '`' => self.trouble(WordTrouble::QuotedText),
                other => self.value.push(other),
            }
        }
        self.unknown();
        at
    }

    fn quoted_variable(&mut self, text: &[char], start: usize, home: &str) -> usize {
        let name = name_at(text, start);
        match (name.as_str(), text.get(start)) {
            ("HOME", _) => self.value.push_str(home),
            ("", None | Some('"' | ' ')) => self.value.push('$'),
            ("", Some('{')) => self.trouble(WordTrouble::VariableInBraces),
            ("", Some('(')) => self.trouble(WordTrouble::QuotedText),
            (name, _) if OF_THE_SHELL.contains(&name) => self.trouble(WordTrouble::QuotedText),
            _ => self.trouble(WordTrouble::Variable),
        }
        start + name.chars().count()
    }

    /// `$` outside quotes. The home directory is known, and numbers are words.
    fn bare_dollar(&mut self, text: &[char], start: usize, home: &str) -> usize {
        let name = name_at(text, start);
        let is_one_word = home.chars().all(|c| c.is_alphanumeric() || "/_.-".contains(c));
        match (name.as_str(), text.get(start)) {
            ("HOME", _) if is_one_word => self.value.push_str(home),
            ("", Some('\'')) => self.trouble(WordTrouble::EscapeCodes),
            ("", Some('(')) => match end_of_sum(text, start) {
                Some(end) => {
                    self.known = false;
                    return end;
                }
                None => self.unknown(),
            },
            ("", Some('"' | '[')) => self.unknown(),
            ("", Some('{')) => self.trouble(WordTrouble::VariableInBraces),
            _ => self.trouble(WordTrouble::Variable),
        }
        start + name.chars().count()
    }

    fn escaped(&mut self, text: &[char], at: usize) -> usize {
        match text.get(at) {
            Some(&blank @ (' ' | '\t' | '\n')) => {
                self.value.push(blank);
                self.trouble(WordTrouble::EscapedBlank);
            }
            Some(&character) => self.value.push(character),
            None => self.unknown(),
        }
        at + 1
    }

    fn bare(&mut self, text: &[char], at: usize, character: char) {
        match character {
            // What ends a word outside quotes cannot be in one: the parser was wrong.
            '`' | ';' | '|' | '&' | '(' | ')' | '<' | '>' | ' ' | '\t' | '\n' => self.unknown(),
            '{' if is_expanded(text.get(at + 1..).unwrap_or_default()) => {
                self.trouble(WordTrouble::Braces);
            }
            '*' | '?' | '[' => self.glob = true,
            // After `:` and `=` the shell expands it as well.
            '~' if at > 0 && matches!(text.get(at - 1), Some(':' | '=')) => self.unknown(),
            _ => {}
        }
        self.value.push(character);
    }

    fn unknown(&mut self) {
        self.trouble(WordTrouble::Unknown);
    }

    fn trouble(&mut self, trouble: WordTrouble) {
        self.known = false;
        self.trouble = self.trouble.or(Some(trouble));
    }
}

/// Whether braces around this text stand for several words: `{}` and `HEAD@{1}` do not.
fn is_expanded(text: &[char]) -> bool {
    let inner: String = text.iter().take_while(|c| **c != '}').collect();
    inner.chars().count() < text.len() && (inner.contains(',') || inner.contains(".."))
}

/// Where `((1+2))` ends: a sum of numbers, and nothing that has a name.
fn end_of_sum(text: &[char], start: usize) -> Option<usize> {
    let inner = text.get(start..)?.strip_prefix(&['(', '('])?;
    let length = inner.windows(2).position(|pair| pair == [')', ')'])?;
    let is_sum = |c: &char| c.is_ascii_digit() || " +-*/%".contains(*c);
    inner.get(..length)?.iter().all(is_sum).then_some(start + length + 4)
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
            ("'a'\"b\"c", "abc"),
            ("\\rm", "rm"),
            ("\"\\n\\$\"", "\\n$"),
            ("~/x", "/home/dev/x"),
            ("\"$HOME/x\"", "/home/dev/x"),
            ("{}", "{}"),
            ("HEAD@{1}", "HEAD@{1}"),
            ("$HOME/x", "/home/dev/x"),
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
            "{a{b,c}}",
            "~root/x",
            "'open",
            "\"open",
            "a;b",
            "x=~/y",
            "\"$(ls)\"",
            "\"${x}\"",
            "\"$USER\"",
            "a\\",
            "a\\ b",
            "a\\\nb",
            "'a\n# b'",
            "$((1+1))",
            "$((x))",
            "\"$?\"",
        ] {
            assert_eq!(value(raw), None, "{raw}");
        }
        assert_eq!(scan("$((1+1))", "/").1, None);
        assert_eq!(scan("$((x+1))", "/").1, Some(WordTrouble::Unknown));
        assert!(scan("*.txt", "/").0.glob);
        assert!(!scan("'*.txt'", "/").0.glob);
    }
}
