//! From what was typed to a [`Query`].

use super::TextRole;
use super::query::BRANCH;
use super::query::Limit;
use super::query::MODEL;
use super::query::Node;
use super::query::Query;
use super::query::QueryError;
use super::query::TOOL;
use super::query::Term;
use super::query::any_term;
use super::query::error_term;
use super::query::named_term;
use super::query::path_term;
use super::query::role_term;
use super::query::squeezed_term;
use super::query::text_term;

/// Brackets in brackets, at most. FTS5 takes a few more.
const DEEPEST: usize = 10;

/// The names that stand before a colon. Any other name is a word of the text.
const FIELDS: [&str; 11] = [
    "tool", "role", "file", "model", "project", "branch", "is", "before", "after", "session", "tag",
];

impl Query {
    /// Reads a query.
    ///
    /// Words must all be there. `"…"` is a phrase, `word*` a beginning, `OR` joins
    /// two of which one is enough, `-` refuses what follows, brackets group, and a
    /// field asks for something else than text. Words without letters and digits, as
    /// in what was copied from a terminal, are left out.
    pub fn parse(text: &str) -> Result<Query, QueryError> {
        let mut parser = Parser { rest: text, depth: 0, limits: Vec::new(), sign: None };
        let node = parser.or()?;
        let Parser { limits, sign, .. } = parser;
        match (node, sign) {
            (Some(node), _) => Ok(Query { node, limits }),
            (None, Some(sign)) => Err(QueryError::new(
                format!("`{sign}` has no letters and no digits"),
                "`recto search -e` also finds punctuation",
            )),
            (None, None) if !limits.is_empty() => {
                Ok(Query { node: Node::Term(any_term()), limits })
            }
            (None, None) => Err(QueryError::new(
                "the query is empty",
                "give a word, a \"phrase\", or a field such as tool:Bash or role:user",
            )),
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
    depth: usize,
    limits: Vec<Limit>,
    /// What was typed and has no letters and no digits.
    sign: Option<&'a str>,
}

/// A piece of a query.
enum Piece<'a> {
    Open,
    Close,
    Or,
    And,
    Not,
    Phrase(&'a str),
    Word(&'a str),
    Field(&'static str, &'a str),
}

impl<'a> Parser<'a> {
    /// Alternatives up to the end or a closing bracket.
    fn or(&mut self) -> Result<Option<Node>, QueryError> {
        let mut branches = Vec::new();
        loop {
            let limits = self.limits.len();
            let (node, goes_on) = self.and()?;
            let is_alternative = goes_on || !branches.is_empty();
            if is_alternative && self.limits.len() > limits {
                return Err(QueryError::new(
                    "project:, session:, tag:, is:starred, before: and after: apply to the whole query",
                    "write them outside of OR",
                ));
            }
            match node {
                Some(node) => branches.push(node),
                None if is_alternative => {
                    return Err(QueryError::new(
                        "OR has nothing to look for on one side",
                        "write `one OR other`; for the word itself, write \"OR\"",
                    ));
                }
                None => return Ok(None),
            }
            if !goes_on {
                break;
            }
        }
        Ok(match branches.len() {
            1 => branches.pop(),
            _ => Some(Node::Or(branches)),
        })
    }

    /// What must all hold, and whether `OR` follows.
    fn and(&mut self) -> Result<(Option<Node>, bool), QueryError> {
        let (mut all, mut none) = (Vec::new(), Vec::new());
        let mut is_not = false;
        let goes_on = loop {
            let Some(piece) = self.next()? else {
                if self.depth > 0 {
                    return Err(QueryError::new(
                        "a bracket is not closed",
                        "add `)`, or put the text in quotes",
                    ));
                }
                break false;
            };
            let node = match piece {
                Piece::Or => break true,
                Piece::Close => {
                    if self.depth == 0 {
                        continue;
                    }
                    break false;
                }
                Piece::And => continue,
                Piece::Not => {
                    is_not = !is_not;
                    continue;
                }
                Piece::Open => {
                    self.depth += 1;
                    if self.depth > DEEPEST {
                        return Err(QueryError::new("too many brackets", "use fewer"));
                    }
                    let limits = self.limits.len();
                    let inner = self.or()?;
                    self.depth -= 1;
                    if is_not && self.limits.len() > limits {
                        return Err(QueryError::new(
                            "project:, session:, tag:, is:starred, before: and after: apply to the whole query",
                            "write them outside of -( ); -project:NAME refuses a project",
                        ));
                    }
                    inner
                }
                Piece::Phrase(text) | Piece::Word(text) => {
                    let (begin, is_prefix) = prefix_of(text);
                    let term = text_term(begin, is_prefix);
                    if term.is_none() {
                        self.sign = Some(text);
                    }
                    term.map(Node::Term)
                }
                Piece::Field(name, value) => self.field(name, value, is_not)?,
            };
            if let Some(node) = node {
                if is_not { none.push(node) } else { all.push(node) }
            }
            is_not = false;
        };
        if all.is_empty() {
            if none.is_empty() {
                return Ok((None, goes_on));
            }
            all.push(Node::Term(any_term()));
        }
        let node = match (all.len(), none.len()) {
            (1, 0) => all.pop(),
            _ => Some(Node::And { all, none }),
        };
        Ok((node, goes_on))
    }

    fn field(
        &mut self,
        name: &'static str,
        value: &str,
        is_not: bool,
    ) -> Result<Option<Node>, QueryError> {
        if value.is_empty() {
            let example = example_of(name);
            return Err(QueryError::new(
                format!("{name}: needs a value"),
                format!("for example {name}:{example}"),
            ));
        }
        let (begin, is_prefix) = prefix_of(value);
        let term = match name {
            "project" => {
                self.limits.push(Limit::Project { name: value.to_owned(), is_not });
                return Ok(None);
            }
            "session" => {
                self.limits.push(Limit::Session { id: value.to_ascii_lowercase(), is_not });
                return Ok(None);
            }
            "tag" => {
                self.limits.push(Limit::Tag { name: value.to_owned(), is_not });
                return Ok(None);
            }
            "is" if value.eq_ignore_ascii_case("starred") => {
                self.limits.push(Limit::Starred { is_not });
                return Ok(None);
            }
            "before" | "after" if is_not => {
                return Err(QueryError::new(
                    format!("-{name}: is not supported"),
                    "use before: for the opposite of after:",
                ));
            }
            "before" => {
                self.limits.push(Limit::Before(value.to_owned()));
                return Ok(None);
            }
            "after" => {
                self.limits.push(Limit::After(value.to_owned()));
                return Ok(None);
            }
            "role" => role_term(role_of(value)?),
            "is" if value.eq_ignore_ascii_case("error") => error_term(),
            "is" => {
                return Err(QueryError::new(
                    format!("invalid value `{value}` for is:"),
                    "use is:error or is:starred",
                ));
            }
            "tool" => squeezed_term(begin, TOOL, is_prefix),
            "file" => term_of(value, path_term(begin, is_prefix))?,
            "model" => term_of(value, named_term(begin, MODEL, is_prefix))?,
            _ => term_of(value, named_term(begin, BRANCH, is_prefix))?,
        };
        Ok(Some(Node::Term(term)))
    }

    /// The next piece, or nothing at the end.
    fn next(&mut self) -> Result<Option<Piece<'a>>, QueryError> {
        self.rest = self.rest.trim_start();
        let rest = self.rest;
        let Some(first) = rest.chars().next() else { return Ok(None) };
        match first {
            '(' => {
                self.rest = &rest[1..];
                return Ok(Some(Piece::Open));
            }
            ')' => {
                self.rest = &rest[1..];
                return Ok(Some(Piece::Close));
            }
            '"' | '“' | '”' => return Ok(Some(Piece::Phrase(self.quoted(first)?))),
            // Two of them are how options begin, which is text.
            '-' if rest[1..].starts_with(|c: char| !c.is_whitespace() && c != '-') => {
                self.rest = &rest[1..];
                return Ok(Some(Piece::Not));
            }
            _ => {}
        }
        for name in FIELDS {
            let Some(value) = strip_name(rest, name) else { continue };
            self.rest = value;
            let value = match value.chars().next() {
                Some(quote @ ('"' | '“' | '”')) => self.quoted(quote)?,
                _ => self.word(),
            };
            return Ok(Some(Piece::Field(name, value)));
        }
        Ok(Some(match self.word() {
            "OR" | "|" | "||" => Piece::Or,
            "AND" | "&&" => Piece::And,
            "NOT" => Piece::Not,
            word => Piece::Word(word),
        }))
    }

    /// A word up to white space, or to a bracket that closes an outer one.
    fn word(&mut self) -> &'a str {
        let mut open = 0_usize;
        let end = self.rest.find(|c: char| match c {
            '(' => {
                open += 1;
                false
            }
            ')' if open > 0 => {
                open -= 1;
                false
            }
            ')' => self.depth > 0,
            _ => c.is_whitespace(),
        });
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    /// What is between quotes. Those that some keyboards make count too.
    fn quoted(&mut self, quote: char) -> Result<&'a str, QueryError> {
        let inside = &self.rest[quote.len_utf8()..];
        let is_end = |c: char| if quote == '"' { c == '"' } else { matches!(c, '“' | '”') };
        let Some(end) = inside.find(is_end) else {
            return Err(QueryError::new(
                "a quote is not closed",
                "add the closing quote, or remove the opening one",
            ));
        };
        let length = inside[end..].chars().next().map_or(1, char::len_utf8);
        self.rest = &inside[end + length..];
        Ok(&inside[..end])
    }
}

/// What follows `name:`, in any case.
fn strip_name<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let begin = text.get(..name.len())?;
    let value = text[name.len()..].strip_prefix(':')?;
    // `file::read` is a name of code.
    (begin.eq_ignore_ascii_case(name) && !value.starts_with(':')).then_some(value)
}

fn prefix_of(word: &str) -> (&str, bool) {
    match word.strip_suffix('*') {
        Some(begin) => (begin, true),
        None => (word, false),
    }
}

fn term_of(typed: &str, term: Option<Term>) -> Result<Term, QueryError> {
    term.ok_or_else(|| {
        QueryError::new(
            format!("`{typed}` has no letters and no digits"),
            "`recto search -e` also finds punctuation",
        )
    })
}

fn role_of(name: &str) -> Result<TextRole, QueryError> {
    let name = name.to_lowercase();
    let known = match name.as_str() {
        "human" | "prompt" => Some(TextRole::User),
        "model" | "answer" => Some(TextRole::Assistant),
        "input" | "call" | "tool" | "tool-use" => Some(TextRole::ToolInput),
        "result" | "output" => Some(TextRole::ToolResult),
        other => TextRole::from_name(other),
    };
    known.ok_or_else(|| {
        let all = TextRole::ALL.map(TextRole::name).join(", ");
        QueryError::new(format!("invalid value `{name}` for role:"), format!("use one of {all}"))
    })
}

fn example_of(name: &str) -> &'static str {
    match name {
        "tool" => "Bash",
        "role" => "user",
        "file" => "src/main.rs",
        "model" => "opus",
        "project" => "app",
        "branch" => "main",
        "is" => "error",
        "session" => "3f2a1b4c",
        "tag" => "release",
        _ => "2026-11-16",
    }
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
