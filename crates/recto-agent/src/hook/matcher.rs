//! Matchers: which calls, sources and agents the hooks of a group are for.

use regex::RegexBuilder;

/// Whether a matcher means a subject: the tool's name, where a session comes from, an agent's
/// kind. No matcher means all.
pub(crate) fn matches(matcher: Option<&str>, subject: &str) -> bool {
    let Some(matcher) = matcher.filter(|matcher| !matcher.is_empty() && *matcher != "*") else {
        return true;
    };
    let is_list = matcher
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '|' | ',' | ' '));
    if is_list {
        return matcher.split(['|', ',']).any(|name| is_name_of(name.trim(), subject));
    }
    // Flags inside a pattern, which the client's patterns do not have.
    if matcher.split("(?").skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase())) {
        return false;
    }
    // `^(?!Read)..`: anything but what would match in its place.
    let (except, rest) = match matcher.strip_prefix("^(?!").and_then(|rest| rest.split_once(')')) {
        Some((except, rest)) if !except.contains('(') => {
            (Some(format!("^(?:{except})")), format!("^{rest}"))
        }
        _ => (None, matcher.to_owned()),
    };
    let names = [subject, "Task"];
    let names = if subject == "Agent" { names.as_slice() } else { &names[..1] };
    // A pattern that is not one matches nothing; a large one is not compiled.
    let compiled = |pattern: &str| RegexBuilder::new(pattern).size_limit(1 << 20).build();
    let Ok(pattern) = compiled(&rest) else { return false };
    match except.map(|except| compiled(&except)) {
        None => names.iter().any(|name| pattern.is_match(name)),
        Some(Err(_)) => false,
        Some(Ok(except)) => {
            names.iter().any(|name| pattern.is_match(name) && !except.is_match(name))
        }
    }
}

fn is_name_of(name: &str, subject: &str) -> bool {
    name == subject || (name == "Task" && subject == "Agent")
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn plain_words_are_whole_names_and_everything_else_is_a_pattern() {
        for matcher in
            ["Bash", "Bash|Read", "Read, Bash", "*", "", ".*", "^Ba", "B.*", "Bash$", "^(?!Read)"]
        {
            assert!(matches(Some(matcher), "Bash"), "{matcher}");
        }
        for matcher in
            ["bash", "Ba", "Read", "!Read", "[", "Task", "Bash(ls)", "^(?!Bash|Read).*", "(?i)bash"]
        {
            assert!(!matches(Some(matcher), "Bash"), "{matcher}");
        }
        assert!(matches(None, "Bash"));
        assert!(matches(Some("Task"), "Agent"));
        assert!(matches(Some("startup|clear"), "startup"));
    }
}
