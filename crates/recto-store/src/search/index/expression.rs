//! A query as an expression of FTS5.

use recto_session::search::Column;
use recto_session::search::Node;
use recto_session::search::Phrase;
use recto_session::search::Query;

/// What to give to `MATCH`.
pub(super) fn expression(query: &Query) -> String {
    let mut out = String::new();
    write_node(&query.node, &mut out);
    out
}

fn write_node(node: &Node, out: &mut String) {
    match node {
        Node::Term(term) => write_all(&term.phrases, " OR ", out, write_phrase),
        Node::Or(nodes) => write_all(nodes, " OR ", out, write_node),
        Node::And { all, none } if none.is_empty() => write_all(all, " AND ", out, write_node),
        Node::And { all, none } => {
            out.push('(');
            write_all(all, " AND ", out, write_node);
            out.push_str(" NOT ");
            write_all(none, " OR ", out, write_node);
            out.push(')');
        }
    }
}

fn write_all<T>(items: &[T], between: &str, out: &mut String, write: fn(&T, &mut String)) {
    out.push('(');
    for (number, item) in items.iter().enumerate() {
        if number > 0 {
            out.push_str(between);
        }
        write(item, out);
    }
    out.push(')');
}

fn write_phrase(phrase: &Phrase, out: &mut String) {
    let names = phrase.columns.iter().map(|column| match column {
        Column::Text => "text",
        Column::Whole => "whole",
        Column::Path => "path",
        Column::About => "about",
    });
    let names: Vec<&str> = names.collect();
    // Tokens are letters and digits, so that no quote can be among them.
    out.push_str(&format!("{{{}}} : \"{}\"", names.join(" "), phrase.tokens.join(" ")));
    if phrase.is_prefix {
        out.push_str(" *");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(query: &str) -> String {
        expression(&Query::parse(query).unwrap())
    }

    #[test]
    fn queries_become_expressions() {
        assert_eq!(shown("word"), r#"({text whole} : "word")"#);
        assert_eq!(shown("a_b c*"), r#"(({text} : "a b") AND ({text whole} : "c" *))"#);
        assert_eq!(
            shown("(a OR tool:Bash) -file:x -is:error"),
            concat!(
                r#"(((({text whole} : "a") OR ({about} : "tbash"))) NOT "#,
                r#"(({path} : "x") OR ({about} : "xerror")))"#
            )
        );
    }
}
