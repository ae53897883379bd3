//! Substitutions without an end.

/// What is open at some place of a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    /// `$(` or `$((`.
    Substitution,
    /// `${`.
    Variable,
    /// A parenthesis inside a substitution.
    Parenthesis,
    /// A double quote.
    Quote,
}

/// Whether a `$(`, `${` or `$((` has no end, so that the shell may read all that follows in
/// another way.
pub(crate) fn is_torn(text: &str) -> bool {
    let mut open: Vec<Open> = Vec::new();
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let last = open.last().copied();
        match c {
            '\\' => {
                characters.next();
            }
            '\'' if last != Some(Open::Quote) => {
                characters.by_ref().find(|c| *c == '\'');
            }
            '"' if last == Some(Open::Quote) => {
                open.pop();
            }
            '"' => open.push(Open::Quote),
            '$' if characters.next_if_eq(&'(').is_some() => open.push(Open::Substitution),
            '$' if characters.next_if_eq(&'{').is_some() => open.push(Open::Variable),
            '(' if matches!(last, Some(Open::Substitution | Open::Parenthesis)) => {
                open.push(Open::Parenthesis);
            }
            ')' if matches!(last, Some(Open::Substitution | Open::Parenthesis)) => {
                open.pop();
            }
            '}' if last == Some(Open::Variable) => {
                open.pop();
            }
            _ => {}
        }
    }
    open.iter().any(|open| matches!(open, Open::Substitution | Open::Variable))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_substitution_without_an_end_is_torn() {
        for text in ["ls $(x", "ls ${x", "ls $((1", "ls $((1)", "$(", "a \"$(b\" c", "$(a \"b)\""] {
            assert!(is_torn(text), "{text}");
        }
    }

    #[test]
    fn other_mistakes_are_not() {
        let whole =
            ["exec 9<>/dev/tcp/$(echo ${x#http://} | tr : /)", "echo $(date) )", "echo ${a} ("];
        for text in
            whole.into_iter().chain(["echo '$('", "echo \\$(", "echo \"$(a \"b\")\"", "$((1+(2)))"])
        {
            assert!(!is_torn(text), "{text}");
        }
    }
}
