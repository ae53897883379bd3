//! A first look at a command: its simple commands and their words.
//!
//! Enough to tell what the result of a command means. What a command may do is decided
//! elsewhere, by a parser of the shell's grammar.

/// A simple command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Simple {
    pub(super) words: Vec<String>,
    /// Whether it has redirections, substitutions or other things besides words.
    pub(super) has_more: bool,
    /// Whether it reads or writes files by `<` or `>`.
    pub(super) is_redirected: bool,
    /// The operators behind it, such as `&&`.
    pub(super) end: String,
}

impl Simple {
    /// The program.
    pub(super) fn program(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }
}

/// The simple commands of a text, in order.
pub(super) fn simple_commands(text: &str) -> Vec<Simple> {
    let mut commands = Vec::new();
    let mut current = Simple::default();
    let mut word: Option<String> = None;
    let mut chars = text.chars().peekable();
    let end_word = |word: &mut Option<String>, current: &mut Simple| {
        current.words.extend(word.take());
    };
    while let Some(c) = chars.next() {
        match c {
            '\'' => {
                let text: String = chars.by_ref().take_while(|c| *c != '\'').collect();
                word.get_or_insert_default().push_str(&text);
            }
            '"' => {
                let word = word.get_or_insert_default();
                while let Some(c) = chars.next().filter(|c| *c != '"') {
                    match c {
                        '\\' => word.extend(chars.next()),
                        '$' | '`' => {
                            current.has_more = true;
                            word.push(c);
                        }
                        other => word.push(other),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(chars.next()),
            '&' | '|' | ';' | '\n' => {
                // `2>&1` joins outputs and ends nothing.
                if c == '&'
                    && (chars.peek() == Some(&'>')
                        || current.has_more
                            && word.is_none()
                            && chars.peek().is_some_and(char::is_ascii_digit))
                {
                    current.has_more = true;
                    continue;
                }
                end_word(&mut word, &mut current);
                if !current.words.is_empty() || current.has_more {
                    commands.push(std::mem::take(&mut current));
                }
                if let Some(last) = commands.last_mut() {
                    last.end.push(c);
                }
            }
            '#' if word.is_none() => {
                // Up to the end of the line, which ends the command.
                while chars.next_if(|c| *c != '\n').is_some() {}
            }
            '>' | '<' => {
                current.has_more = true;
                current.is_redirected = true;
                // A number before it is part of the redirection.
                if word.as_ref().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit()))
                {
                    word = None;
                }
                end_word(&mut word, &mut current);
            }
            '$' | '`' | '(' | ')' | '*' | '?' | '#' => {
                current.has_more = true;
                word.get_or_insert_default().push(c);
            }
            c if c.is_whitespace() => end_word(&mut word, &mut current),
            other => word.get_or_insert_default().push(other),
        }
    }
    end_word(&mut word, &mut current);
    if !current.words.is_empty() || current.has_more {
        commands.push(current);
    }
    commands
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<Vec<String>> {
        simple_commands(text).into_iter().map(|command| command.words).collect()
    }

    #[test]
    fn a_command_is_cut_where_a_shell_cuts_it() {
        assert_eq!(
            words("echo 'a; b' && grep \"x y\" f|cat"),
            [vec!["echo", "a; b"], vec!["grep", "x y", "f"], vec!["cat"],]
        );
        assert_eq!(words("a\nb; c & d"), [["a"], ["b"], ["c"], ["d"]]);
        assert_eq!(words("ls 2>&1 x"), [["ls", "1", "x"]]);
        assert_eq!(words("# first\na # b; c\nd#e"), [["a"], ["d#e"]]);
        let ends: Vec<String> =
            simple_commands("a && b; c |d &\n").into_iter().map(|one| one.end).collect();
        assert_eq!(ends, ["&&", ";", "|", "&\n"]);
    }

    proptest! {
        #[test]
        fn any_text_is_cut_into_words(text in any::<String>()) {
            simple_commands(&text);
        }
    }
}
