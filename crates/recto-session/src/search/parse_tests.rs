//! What queries mean.

use super::*;
use crate::search::Column;
use crate::search::Phrase;

fn shown(text: &str) -> String {
    match Query::parse(text) {
        Ok(query) => {
            let mut shown = show_node(&query.node);
            for limit in &query.limits {
                shown.push_str(&match limit {
                    Limit::Project { name, is_not: false } => format!(" [project {name}]"),
                    Limit::Session { id, is_not } => {
                        format!(" [{}session {id}]", if *is_not { "not " } else { "" })
                    }
                    Limit::Tag { name, is_not } => {
                        format!(" [{}tag {name}]", if *is_not { "not " } else { "" })
                    }
                    Limit::Starred { is_not } => {
                        format!(" [{}starred]", if *is_not { "not " } else { "" })
                    }
                    Limit::Project { name, is_not: true } => format!(" [not project {name}]"),
                    Limit::Before(time) => format!(" [before {time}]"),
                    Limit::After(time) => format!(" [after {time}]"),
                });
            }
            shown
        }
        Err(error) => format!("error: {error}; {}", error.hint),
    }
}

fn show_node(node: &Node) -> String {
    let join = |nodes: &[Node], by: &str| nodes.iter().map(show_node).collect::<Vec<_>>().join(by);
    match node {
        Node::Term(term) => term.phrases.iter().map(show_phrase).collect::<Vec<_>>().join("|"),
        Node::And { all, none } if none.is_empty() => format!("({})", join(all, " & ")),
        Node::And { all, none } => format!("({} !{})", join(all, " & "), join(none, " !")),
        Node::Or(nodes) => format!("({})", join(nodes, " or ")),
    }
}

fn show_phrase(phrase: &Phrase) -> String {
    let column = match phrase.columns[..] {
        [Column::Text] | [Column::Text, Column::Whole] => "",
        [Column::Path] => "path:",
        _ => "about:",
    };
    let star = if phrase.is_prefix { "*" } else { "" };
    format!("{column}{}{star}", phrase.tokens.join("+"))
}

#[test]
fn words_phrases_and_beginnings() {
    assert_eq!(shown("borrow checker"), "(borrow & checker)");
    assert_eq!(shown("\"Borrow checker\" rust*"), "(borrow+checker & rust*)");
    assert_eq!(shown("“smart quotes”"), "smart+quotes");
    assert_eq!(shown("\"borrow check*\""), "borrow+check*");
    assert_eq!(shown("src/main.rs"), "src+main+rs");
    assert_eq!(shown("parseLine"), "parse+line|parseline");
    assert_eq!(shown("parseLi*"), "parse+li*|parseli*");
    assert_eq!(shown("read_parseLine"), "read+parse+line");
    assert_eq!(shown("縫い針"), "縫+い+針");
    assert_eq!(shown("--release main() std::fs error:x"), "(release & main & std+fs & error+x)");
}

#[test]
fn or_not_and_brackets() {
    assert_eq!(shown("a b OR c"), "((a & b) or c)");
    assert_eq!(shown("a (b OR c) -d"), "(a & (b or c) !d)");
    assert_eq!(shown("a AND NOT \"b c\""), "(a !b+c)");
    assert_eq!(shown("a -(b c)"), "(a !(b & c))");
    assert_eq!(shown("(f(x) OR g(y)) or"), "((f+x or g+y) & or)");
    assert_eq!(shown("a)"), "a");
    // Every text has a role.
    assert_eq!(shown("-a"), "(about:r* !a)");
    assert_eq!(shown("a OR -b"), "(a or (about:r* !b))");
}

#[test]
fn signs_between_words_are_left_out() {
    assert_eq!(shown("a - b"), "(a & b)");
    assert_eq!(
        shown("error[E0308]: mismatched types --> src/main.rs:12:5"),
        "(error+e0308 & mismatched & types & src+main+rs+12+5)"
    );
    assert_eq!(shown("\"->\" a -=> b"), "(a & b)");
}

#[test]
fn fields_ask_for_other_things() {
    assert_eq!(shown("tool:Bash x"), "(about:tbash & x)");
    assert_eq!(shown("TOOL:mcp__git*"), "about:tmcpgit*");
    assert_eq!(shown("role:user"), "about:ruser");
    assert_eq!(shown("role:result is:error"), "(about:rtoolresult & about:xerror)");
    assert_eq!(shown("file:\"my src/main.rs\""), "path:my+src+main+rs");
    assert_eq!(shown("model:opus-5 branch:feature/x"), "(about:mopus+m5 & about:bfeature+bx)");
    assert_eq!(
        shown("x project:app -project:/w after:7d before:2026-11-01"),
        "x [project app] [not project /w] [after 7d] [before 2026-11-01]"
    );
    assert_eq!(shown("file::read"), "file+read");
    assert_eq!(
        shown("x session:3F2A -tag:old is:starred"),
        "x [session 3f2a] [not tag old] [starred]"
    );
    // Of a project, or of a time, everything.
    assert_eq!(shown("project:app after:7d"), "about:r* [project app] [after 7d]");
}

#[test]
fn what_cannot_be_read_is_told_with_a_hint() {
    for (query, expected) in [
        (
            "",
            "error: the query is empty; give a word, a \"phrase\", or a field such as tool:Bash or role:user",
        ),
        (
            "a OR",
            "error: OR has nothing to look for on one side; write `one OR other`; for the word itself, write \"OR\"",
        ),
        (
            "OR a",
            "error: OR has nothing to look for on one side; write `one OR other`; for the word itself, write \"OR\"",
        ),
        (
            "a -(b project:x)",
            "error: project:, session:, tag:, is:starred, before: and after: apply to the whole query; write them outside of -( ); -project:NAME refuses a project",
        ),
        ("(a b", "error: a bracket is not closed; add `)`, or put the text in quotes"),
        ("\"a b", "error: a quote is not closed; add the closing quote, or remove the opening one"),
        ("tool: x", "error: tool: needs a value; for example tool:Bash"),
        ("is:new", "error: invalid value `new` for is:; use is:error or is:starred"),
        (
            "role:me",
            "error: invalid value `me` for role:; use one of user, assistant, thinking, tool-input, tool-result, summary, title, plan, system",
        ),
        (
            "a OR b before:1d",
            "error: project:, session:, tag:, is:starred, before: and after: apply to the whole query; write them outside of OR",
        ),
        (
            "-before:1d a",
            "error: -before: is not supported; use before: for the opposite of after:",
        ),
        (
            "!!",
            "error: `!!` has no letters and no digits; `recto search -e` also finds punctuation",
        ),
    ] {
        assert_eq!(shown(query), expected, "{query}");
    }
    assert!(shown(&"(".repeat(10_000)).starts_with("error: too many brackets"));
}

#[test]
fn any_text_is_a_query_or_an_error() {
    // What people paste: every slice of an odd text, at every boundary.
    let text = "a\"b) (OR -tool:“x” fi*le:é針 NOT AND | is: -- \t";
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let mut read = 0;
    for from in &places {
        for to in &places {
            if from < to && Query::parse(&text[*from..*to]).is_ok() {
                read += 1;
            }
        }
    }
    assert!(read > 50, "{read}");
}
