//! `@path` in instructions: other files that belong to them.

/// The paths that a text imports, in their order. What is in code is not an import.
pub(crate) fn imports(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let trimmed = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            // A line that is indented like code is code.
            (None, None) if line.starts_with("    ") || line.starts_with('\t') => {}
            (None, None) => in_line(line, &mut found),
        }
    }
    found
}

fn in_line<'a>(line: &'a str, found: &mut Vec<&'a str>) {
    let mut rest = line;
    let mut before = None;
    while let Some(character) = rest.chars().next() {
        if character == '`' {
            let ticks = rest.len() - rest.trim_start_matches('`').len();
            let (open, after) = rest.split_at(ticks);
            match after.find(open) {
                Some(end) => rest = after.get(end + ticks..).unwrap_or_default(),
                None => rest = after,
            }
            before = Some('`');
            continue;
        }
        // `me@example.org` is an address.
        let starts = before.is_none_or(|c: char| c.is_whitespace() || "([{-*>\"'".contains(c));
        if character == '@' && starts {
            let path = rest.get(1..).unwrap_or_default();
            let end = path.find(|c: char| c.is_whitespace() || c == '`').unwrap_or(path.len());
            let path = path.get(..end).unwrap_or_default();
            let path = path.trim_end_matches(|c: char| ",;:)]}\"'!?.".contains(c));
            if is_path(path) {
                found.push(path);
            }
        }
        before = Some(character);
        rest = rest.get(character.len_utf8()..).unwrap_or_default();
    }
}

/// `@someone` without a dot and a slash is a person.
fn is_path(path: &str) -> bool {
    !path.is_empty() && !path.contains('\0') && (path.contains('.') || path.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::imports;

    #[test]
    fn paths_outside_code_are_imports() {
        let text = "See @docs/a.md, and (@~/b.md).\n- @./c.md\n@/abs/d.md\n";
        assert_eq!(imports(text), ["docs/a.md", "~/b.md", "./c.md", "/abs/d.md"]);
    }

    #[test]
    fn code_people_and_addresses_are_not() {
        let text = "`@a.md` ``x ` @b.md`` @someone me@example.org\n```\n@c.md\n```\n    @d.md\n~~~\n@e.md\n```\n@f.md\n~~~\n@g.md";
        assert_eq!(imports(text), ["g.md"]);
        assert_eq!(imports("` @open.md"), ["open.md"]);
    }
}
