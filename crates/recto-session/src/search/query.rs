//! What a query means: words, phrases and fields, joined by and, or and not.

use std::fmt;

use super::TextRole;
use super::tokens::TokenKind;
use super::tokens::tokens;

/// Where the tokens of a phrase are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Column {
    /// The text, cut into parts.
    Text,
    /// Words of the text in mixed case, as wholes.
    Whole,
    /// The file that a call is about.
    Path,
    /// TextRole, tool, failure, model and branch, each with a letter before it.
    About,
}

/// Tokens that follow one another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase {
    /// Where to look; any of them.
    pub columns: Vec<Column>,
    /// The tokens. There is one at least.
    pub tokens: Vec<String>,
    /// Whether the last token may go on.
    pub is_prefix: bool,
}

/// One thing that is looked for: any of its phrases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    /// The phrases. There is one at least.
    pub phrases: Vec<Phrase>,
}

/// A query as a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// One thing.
    Term(Term),
    /// All of `all` and none of `none`. There is one in `all` at least.
    And {
        /// What must be there.
        all: Vec<Node>,
        /// What must not be there.
        none: Vec<Node>,
    },
    /// One of them at least. There are two at least.
    Or(Vec<Node>),
}

/// What a query says of the log or the time, beside what it looks for in texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Limit {
    /// The project: a path, or a part of one.
    Project {
        /// What was typed.
        name: String,
        /// Whether the project must be another one.
        is_not: bool,
    },
    /// The session, by the beginning of its id.
    Session {
        /// What was typed.
        id: String,
        /// Whether the session must be another one.
        is_not: bool,
    },
    /// Sessions with a tag of recto's own data.
    Tag {
        /// The tag.
        name: String,
        /// Whether sessions must not have it.
        is_not: bool,
    },
    /// Sessions with a star of recto's own data.
    Starred {
        /// Whether sessions must not have one.
        is_not: bool,
    },
    /// Before a time, as it was typed.
    Before(String),
    /// Since a time, as it was typed.
    After(String),
}

/// What a user looks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// What is looked for in texts.
    pub node: Node,
    /// What else must hold.
    pub limits: Vec<Limit>,
}

/// Why a query cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryError {
    /// What is wrong.
    pub message: String,
    /// What to type instead.
    pub hint: String,
}

impl QueryError {
    pub(super) fn new(message: impl Into<String>, hint: impl Into<String>) -> QueryError {
        QueryError { message: message.into(), hint: hint.into() }
    }
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for QueryError {}

impl Query {
    /// All phrases that the query wants to be there and that stand in texts, for
    /// marking them.
    pub fn wanted(&self) -> Vec<&Phrase> {
        let mut found = Vec::new();
        collect(&self.node, &mut found);
        found.retain(|phrase| phrase.columns.contains(&Column::Text));
        found
    }
}

fn collect<'a>(node: &'a Node, found: &mut Vec<&'a Phrase>) {
    match node {
        Node::Term(term) => found.extend(&term.phrases),
        Node::And { all, .. } => all.iter().for_each(|node| collect(node, found)),
        Node::Or(nodes) => nodes.iter().for_each(|node| collect(node, found)),
    }
}

/// The letters before the tokens of [`Column::About`].
pub(super) const ROLE: char = 'r';
pub(super) const TOOL: char = 't';
pub(super) const ERROR: &str = "xerror";
pub(super) const MODEL: char = 'm';
pub(super) const BRANCH: char = 'b';

/// What is looked for when a word or a quoted phrase was typed.
pub(super) fn text_term(text: &str, is_prefix: bool) -> Option<Term> {
    let (mut parts, mut wholes, mut begin) = (Vec::new(), Vec::new(), None);
    tokens(text, |token, range, kind| match kind {
        TokenKind::Part => {
            begin.get_or_insert(range.start);
            parts.push(token.to_owned());
        }
        TokenKind::Whole => wholes.push((token.to_owned(), Some(range.start), parts.len())),
    });
    let count = parts.len();
    let mut phrases = match count {
        0 => return None,
        // A word in lower case may be the whole of one that was cut.
        1 => vec![Phrase { columns: vec![Column::Text, Column::Whole], tokens: parts, is_prefix }],
        _ => vec![Phrase { columns: vec![Column::Text], tokens: parts, is_prefix }],
    };
    // And one in mixed case, if that is all, may be written without.
    if let [(whole, start, end)] = &wholes[..]
        && *start == begin
        && *end == count
    {
        phrases.push(Phrase {
            columns: vec![Column::Text, Column::Whole],
            tokens: vec![whole.clone()],
            is_prefix,
        });
    }
    Some(Term { phrases })
}

/// A file, by the parts of its path.
pub(super) fn path_term(path: &str, is_prefix: bool) -> Option<Term> {
    about_or_path(path, None, Column::Path, is_prefix)
}

/// A model or a branch, by the parts of its name.
pub(super) fn named_term(name: &str, letter: char, is_prefix: bool) -> Option<Term> {
    about_or_path(name, Some(letter), Column::About, is_prefix)
}

fn about_or_path(
    text: &str,
    letter: Option<char>,
    column: Column,
    is_prefix: bool,
) -> Option<Term> {
    let mut found = Vec::new();
    parts_with(text, letter, &mut |token| found.push(token.to_owned()));
    let phrase = Phrase { columns: vec![column], tokens: found, is_prefix };
    (!phrase.tokens.is_empty()).then(|| Term { phrases: vec![phrase] })
}

/// The parts of a name, each with a letter before it.
pub(super) fn parts_with(text: &str, letter: Option<char>, see: &mut dyn FnMut(&str)) {
    let mut token = String::new();
    tokens(text, |part, _, kind| {
        if kind == TokenKind::Part {
            token.clear();
            token.extend(letter);
            token.push_str(part);
            see(&token);
        }
    });
}

/// A name as one token: letters and digits only, with a letter before them.
pub(super) fn squeezed(name: &str, letter: char) -> String {
    let kept = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase);
    std::iter::once(letter).chain(kept).take(64).collect()
}

/// A role or a tool, by its name as a whole.
pub(super) fn squeezed_term(name: &str, letter: char, is_prefix: bool) -> Term {
    let tokens = vec![squeezed(name, letter)];
    Term { phrases: vec![Phrase { columns: vec![Column::About], tokens, is_prefix }] }
}

pub(super) fn role_term(role: TextRole) -> Term {
    squeezed_term(role.name(), ROLE, /* is_prefix */ false)
}

/// Every text: each has a role.
pub(super) fn any_term() -> Term {
    squeezed_term("", ROLE, /* is_prefix */ true)
}

pub(super) fn error_term() -> Term {
    let phrase =
        Phrase { columns: vec![Column::About], tokens: vec![ERROR.to_owned()], is_prefix: false };
    Term { phrases: vec![phrase] }
}
