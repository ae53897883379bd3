//! Colours for code, by its language.
//!
//! Owns: which part of code gets which look. Syntaxes are loaded when the first
//! block with a known language is printed, and never otherwise: loading them
//! takes longer than everything else that a start does.

use std::sync::LazyLock;

use syntect::parsing::ParseState;
use syntect::parsing::Scope;
use syntect::parsing::ScopeStack;
use syntect::parsing::SyntaxReference;
use syntect::parsing::SyntaxSet;

use super::markdown::Span;
use crate::terminal::output::Look;

/// A block with more lines stays plain: nobody reads it on a screen, and the
/// lines after it must not wait for it.
const MOST_LINES: usize = 2000;
/// A block with a longer line stays plain: such lines are data or minified, and
/// patterns that look back take a time that grows faster than the line.
const LONGEST_LINE: usize = 2000;

static SYNTAXES: LazyLock<SyntaxSet> = LazyLock::new(two_face::syntax::extra_newlines);

/// What a part of code looks like, by how its scope begins; the first that fits
/// counts. Only colours of the terminal's own palette are used, so that code is
/// as readable as the rest on a dark and on a light background.
static RULES: LazyLock<Vec<(Scope, Look)>> = LazyLock::new(|| {
    let rules = [
        ("comment", Look::Faint),
        ("string", Look::Literal),
        ("constant", Look::Constant),
        ("keyword.operator", Look::Plain),
        ("keyword", Look::Keyword),
        // A type is a name in some syntaxes and a word of the language in others.
        ("storage", Look::Keyword),
        ("entity.name.tag", Look::Keyword),
        ("entity", Look::Name),
        ("support", Look::Name),
        ("variable.function", Look::Name),
        ("markup.inserted", Look::Good),
        ("markup.deleted", Look::Bad),
        ("markup.heading", Look::Strong),
        ("meta.diff", Look::Faint),
        // Code inside a text is code again.
        ("meta.interpolation", Look::Plain),
        ("source", Look::Plain),
    ];
    rules.iter().filter_map(|(name, look)| Some((Scope::new(name).ok()?, *look))).collect()
});

/// The lines of code in colours. None if the language is not known, or if the
/// block is too large.
pub(crate) fn highlight(code: &str, language: &str) -> Option<Vec<Vec<Span>>> {
    let name = language_name(language)?;
    let is_large =
        code.lines().count() > MOST_LINES || code.lines().any(|line| line.len() > LONGEST_LINE);
    if is_large {
        return None;
    }
    let syntax = syntax_of(name)?;
    let mut state = ParseState::new(syntax);
    let mut scopes = ScopeStack::new();
    let mut lines = Vec::new();
    for line in code.lines() {
        // The syntaxes expect the line's end.
        let line = format!("{line}\n");
        let changes = state.parse_line(&line, &SYNTAXES).ok()?;
        let mut spans: Vec<Span> = Vec::new();
        let mut from = 0;
        for (at, change) in changes {
            push(&mut spans, line.get(from..at)?, look_of(&scopes));
            scopes.apply(&change).ok()?;
            from = at;
        }
        push(&mut spans, line.get(from..)?, look_of(&scopes));
        lines.push(spans);
    }
    Some(lines)
}

/// The first word of what stands behind the fence, such as `rust` of
/// `rust,ignore` or `rust {1-3}`.
fn language_name(language: &str) -> Option<&str> {
    let end = |c: char| c.is_whitespace() || matches!(c, ',' | '{' | ':');
    language.split(end).next().filter(|name| !name.is_empty())
}

fn syntax_of(name: &str) -> Option<&'static SyntaxReference> {
    // Names that people write and syntaxes do not have.
    let name = match name.to_ascii_lowercase().as_str() {
        "text" | "txt" | "plain" | "plaintext" | "output" => return None,
        "shell" | "console" | "shell-session" | "terminal" => "sh",
        "jsonc" | "json5" | "jsonl" => "json",
        "jsx" => "tsx",
        "golang" => "go",
        "dockerfile" => "Dockerfile",
        "csharp" => "cs",
        _ => name,
    };
    SYNTAXES.find_syntax_by_token(name)
}

/// The look of the innermost scope that has one.
fn look_of(scopes: &ScopeStack) -> Look {
    let by_rule = |scope: &Scope| RULES.iter().find(|(start, _)| start.is_prefix_of(*scope));
    let found = scopes.scopes.iter().rev().find_map(by_rule);
    found.map_or(Look::Plain, |(_, look)| *look)
}

/// Adds a piece, to the one before it if both look the same.
fn push(spans: &mut Vec<Span>, text: &str, look: Look) {
    let text = text.trim_end_matches('\n');
    if text.is_empty() {
        return;
    }
    match spans.last_mut() {
        Some((last, known)) if *known == look => last.push_str(text),
        _ => spans.push((text.to_owned(), look)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pieces that have a look of their own.
    fn looks(code: &str, language: &str) -> Vec<(String, Look)> {
        let lines = highlight(code, language).unwrap_or_else(|| panic!("{language} is not known"));
        let shown: Vec<String> =
            lines.iter().map(|line| line.iter().map(|(text, _)| text.as_str()).collect()).collect();
        assert_eq!(shown.join("\n"), code, "not a character is lost");
        let pieces = lines.into_iter().flatten();
        let pieces = pieces.map(|(text, look)| (text.trim().to_owned(), look));
        pieces.filter(|(text, look)| *look != Look::Plain && !text.is_empty()).collect()
    }

    fn has(code: &str, language: &str, text: &str, look: Look) {
        let found = looks(code, language);
        assert!(found.contains(&(text.to_owned(), look)), "{language}: {found:?}");
    }

    #[test]
    fn words_texts_numbers_names_and_remarks_look_different() {
        let code = "fn main() {\n    // why\n    let x = 42;\n    call(\"text\");\n}";
        has(code, "rust", "fn", Look::Keyword);
        has(code, "rust", "main", Look::Name);
        has(code, "rust", "// why", Look::Faint);
        has(code, "rust", "42", Look::Constant);
        has(code, "rust", "\"text\"", Look::Literal);
    }

    #[test]
    fn the_languages_of_everyday_work_are_known() {
        has("def f():\n    return \"x\"", "python", "\"x\"", Look::Literal);
        has("const x: number = 1", "ts", "1", Look::Constant);
        has("const x = <a/>", "tsx", "const", Look::Keyword);
        has("echo \"a b\"", "bash", "\"a b\"", Look::Literal);
        has("echo 'a'", "console", "'a'", Look::Literal);
        has("{\"a\": 1}", "json", "1", Look::Constant);
        has("[a]\nb = 'c'", "toml", "'c'", Look::Literal);
        has("a: 1 # why", "yaml", "# why", Look::Faint);
        has("FROM x\n# why", "dockerfile", "# why", Look::Faint);
        has("package main // why", "golang", "// why", Look::Faint);
        has("SELECT 1 FROM t", "sql", "SELECT", Look::Keyword);
        has("+new\n-old\n same", "diff", "+new", Look::Good);
        has("+new\n-old\n same", "diff", "-old", Look::Bad);
        for other in ["js", "jsx", "html", "css", "c", "cpp", "java", "rb", "md", "xml", "make"] {
            assert!(highlight("x", other).is_some(), "{other}");
        }
    }

    #[test]
    fn what_stands_behind_the_language_is_passed_over() {
        for language in ["rust,ignore", "rust {1-3}", "Rust", "rust:src/main.rs"] {
            has("fn f() {}", language, "fn", Look::Keyword);
        }
        for language in ["", " ", ",", "nothing-of-the-kind", "text"] {
            assert!(highlight("fn f() {}", language).is_none(), "{language:?}");
        }
    }

    #[test]
    fn large_blocks_stay_plain() {
        assert!(highlight(&"x\n".repeat(MOST_LINES), "rust").is_some());
        assert!(highlight(&"x\n".repeat(MOST_LINES + 1), "rust").is_none());
        assert!(highlight(&"x".repeat(LONGEST_LINE + 1), "rust").is_none());
    }
}
