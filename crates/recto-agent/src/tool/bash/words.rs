//! A first look at a command: its simple commands and their words.
//!
//! Enough to tell what the result of a command means. What a command may do is decided
//! elsewhere, by a parser of the shell's grammar.

/// A simple command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Simple {
    pub(super) words: Vec<String>,
    /// Whether the program is written with quotes or backslashes, which hide its name.
    is_program_hidden: bool,
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
        self.words.first().filter(|_| !self.is_program_hidden).map_or("", String::as_str)
    }
}

/// How a text in the command ends that a program reads.
struct Delimiter {
    line: String,
    /// `<<-`: tabs before lines do not count.
    is_indented: bool,
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

impl Delimiter {
    /// The word behind `<<`.
    fn take(chars: &mut Chars<'_>) -> Delimiter {
        let is_indented = chars.next_if_eq(&'-').is_some();
        while chars.next_if(|c| *c == ' ' || *c == '\t').is_some() {}
        let mut line = String::new();
        let ends = |c: &char| !(c.is_whitespace() || ";&|<>()".contains(*c));
        while let Some(c) = chars.next_if(ends) {
            match c {
                '\'' | '"' => line.extend(chars.by_ref().take_while(|other| *other != c)),
                '\\' => line.extend(chars.next()),
                other => line.push(other),
            }
        }
        Delimiter { line, is_indented }
    }

    /// Goes behind the text.
    fn skip(&self, chars: &mut Chars<'_>) {
        while chars.peek().is_some() {
            let line: String = chars.by_ref().take_while(|c| *c != '\n').collect();
            let line = if self.is_indented { line.trim_start_matches('\t') } else { &line };
            if line == self.line {
                break;
            }
        }
    }
}

/// The simple commands of a text, in order.
pub(super) fn simple_commands(text: &str) -> Vec<Simple> {
    let mut commands = Vec::new();
    let mut current = Simple::default();
    let mut word: Option<String> = None;
    let mut chars = text.chars().peekable();
    let mut bodies: Vec<Delimiter> = Vec::new();
    let mut depth = 0_u32;
    let end_word = |word: &mut Option<String>, current: &mut Simple| {
        current.words.extend(word.take());
    };
    while let Some(c) = chars.next() {
        if matches!(c, '\'' | '"' | '\\') && current.words.is_empty() {
            current.is_program_hidden = true;
        }
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
            // What is in parentheses is a command of its own.
            '&' | '|' | ';' | '\n' if depth > 0 => {
                end_word(&mut word, &mut current);
                current.has_more = true;
            }
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
                if c == '\n' {
                    bodies.drain(..).for_each(|body| body.skip(&mut chars));
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
                let is_here = c == '<' && chars.next_if_eq(&'<').is_some();
                if is_here && chars.next_if_eq(&'<').is_none() {
                    bodies.push(Delimiter::take(&mut chars));
                }
            }
            '$' | '`' | '(' | ')' | '*' | '?' | '#' => {
                current.has_more = true;
                match c {
                    '(' => depth += 1,
                    ')' => depth = depth.saturating_sub(1),
                    _ => {}
                }
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
        assert_eq!(words("(cd x && y); z"), [vec!["(cd", "x", "y)"], vec!["z"]]);
        assert_eq!(words("ls 2>&1 x"), [["ls", "1", "x"]]);
        assert_eq!(words("# first\na # b; c\nd#e"), [["a"], ["d#e"]]);
        assert_eq!(words("cat <<E && b\nrm x\nE\nc"), [vec!["cat"], vec!["b"], vec!["c"]]);
        assert_eq!(words("cat <<-'E F'\n\trm\n\tE F\nc"), [["cat"], ["c"]]);
        assert_eq!(words("cat <<< x\nc"), [vec!["cat", "x"], vec!["c"]]);
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
