//! `Bash(..)` rules: exact texts, prefixes and patterns.

/// Whether the content of a rule is a pattern, or a text.
pub(crate) fn is_pattern(content: &str) -> bool {
    content.contains('*')
}

/// Programs that run whatever they are given.
const RUNNERS: &[&str] = &[
    "bash", "bun run", "bunx", "deno", "env", "eval", "exec", "fish", "lua", "node", "npm run",
    "npx", "perl", "php", "pnpm run", "python", "python2", "python3", "ruby", "sh", "ssh", "sudo",
    "tsx", "xargs", "yarn run", "zsh",
];

/// Whether a rule about a command is one about every command: `python3:*`, `node`, `bash -*`.
pub(crate) fn allows_anything(content: &str) -> bool {
    let content = content.trim();
    let ends = [":*", " -*", " *", "*"];
    let base = ends.iter().find_map(|end| content.strip_suffix(end)).unwrap_or(content);
    base.trim_matches(['*', ' ']).is_empty() || RUNNERS.contains(&base.trim())
}

/// Whether the content of a rule matches the text of a command.
pub(crate) fn matches(content: &str, text: &str) -> bool {
    let text = text.trim();
    if let Some(prefix) = content.strip_suffix(":*") {
        return !prefix.is_empty() && has_prefix(prefix, text);
    }
    if !is_pattern(content) {
        return content == text;
    }
    // `git log *` is `git log` too.
    if let Some(prefix) = content.strip_suffix(" *")
        && matches_pattern(prefix, text)
    {
        return true;
    }
    matches_pattern(content, text)
}

/// Whether the content of a rule is this text and nothing else.
pub(crate) fn is_exactly(content: &str, text: &str) -> bool {
    !is_pattern(content) && content == text.trim()
}

fn has_prefix(prefix: &str, text: &str) -> bool {
    if prefix.contains('*') {
        return matches_pattern(prefix, text) || matches_pattern(&format!("{prefix} *"), text);
    }
    text.strip_prefix(prefix)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(|c: char| c.is_ascii_whitespace()))
}

/// A pattern in which `*` is any text. Linear in time for every pattern: each star takes the
/// first place where the next piece stands, and only the last one looks further.
pub(crate) fn matches_pattern(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = pieces.collect();
    let Some(last) = pieces.pop() else { return rest.is_empty() };
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = rest.get(at + piece.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn rules_match_exact_texts_prefixes_and_patterns() {
        for (rule, text) in [
            ("npm test", " npm test "),
            ("npm run:*", "npm run"),
            ("npm run:*", "npm run build -x"),
            ("git log *", "git log"),
            ("git log *", "git log -1"),
            ("git * main", "git push origin main"),
            ("make*", "makefile"),
            ("* foo", "ls -la foo"),
            ("a*b*c", "a1b2c"),
        ] {
            assert!(matches(rule, text), "{rule} {text}");
        }
        for (rule, text) in [
            ("npm test", "npm  test"),
            ("npm run:*", "npm running"),
            (":*", "rm x"),
            ("git log *", "git logx"),
            ("git * main", "git main"),
            ("a*b*c", "acb"),
            ("NPM", "npm"),
        ] {
            assert!(!matches(rule, text), "{rule} {text}");
        }
    }
}
