//! Documents as tokens, and whether a query fits them.
//!
//! An index stores the same tokens that are compared here, so that a log that is
//! not in the index can be searched with the same result.

use std::collections::VecDeque;
use std::ops::Range;

use memchr::memmem;

use super::Document;
use super::TextRole;
use super::query::BRANCH;
use super::query::Column;
use super::query::ERROR;
use super::query::MODEL;
use super::query::Node;
use super::query::Phrase;
use super::query::Query;
use super::query::ROLE;
use super::query::TOOL;
use super::query::parts_with;
use super::query::squeezed;
use super::tokens::TokenKind;
use super::tokens::tokens;

/// How much of a tool's result, and of a text of the client, can be searched by
/// words, in bytes. The rest is found by expressions, straight in the log.
pub(crate) const MOST_OF_RESULT: usize = 64 * 1024;

/// The tokens of a document. Each column has a space before and after each token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Searchable {
    /// The text, cut into parts.
    pub text: String,
    /// Words in mixed case, as wholes.
    pub whole: String,
    /// The file that a call is about.
    pub path: String,
    /// TextRole, tool, failure, model and branch.
    pub about: String,
}

impl Searchable {
    /// Fills in the tokens of a document. The buffers are used again.
    pub fn fill(&mut self, document: &Document<'_>) {
        for column in [&mut self.text, &mut self.whole, &mut self.path, &mut self.about] {
            column.clear();
            column.push(' ');
        }
        let mut left = match document.role {
            TextRole::ToolResult | TextRole::System => MOST_OF_RESULT,
            _ => usize::MAX,
        };
        let (text, whole) = (&mut self.text, &mut self.whole);
        document.texts(&mut |piece| {
            let piece = first_bytes(piece, left);
            left -= piece.len();
            tokens(piece, |token, _, kind| match kind {
                TokenKind::Part => add(text, token),
                TokenKind::Whole => add(whole, token),
            });
            left > 0
        });
        parts_with(document.path, None, &mut |token| add(&mut self.path, token));
        let about = &mut self.about;
        add(about, &squeezed(document.role.name(), ROLE));
        if let Some(tool) = document.tool {
            add(about, &squeezed(tool, TOOL));
        }
        if document.is_error {
            add(about, ERROR);
        }
        if let Some(model) = document.model {
            parts_with(model, Some(MODEL), &mut |token| add(about, token));
        }
        if let Some(branch) = document.branch() {
            parts_with(&branch, Some(BRANCH), &mut |token| add(about, token));
        }
    }

    /// Whether a query fits, as far as the text goes.
    pub fn fits(&self, query: &Query) -> bool {
        self.fits_node(&query.node)
    }

    fn fits_node(&self, node: &Node) -> bool {
        match node {
            Node::Term(term) => term.phrases.iter().any(|phrase| self.has(phrase)),
            Node::And { all, none } => {
                all.iter().all(|node| self.fits_node(node))
                    && !none.iter().any(|node| self.fits_node(node))
            }
            Node::Or(nodes) => nodes.iter().any(|node| self.fits_node(node)),
        }
    }

    fn has(&self, phrase: &Phrase) -> bool {
        let mut wanted = format!(" {}", phrase.tokens.join(" "));
        if !phrase.is_prefix {
            wanted.push(' ');
        }
        phrase.columns.iter().any(|column| {
            let column = match column {
                Column::Text => &self.text,
                Column::Whole => &self.whole,
                Column::Path => &self.path,
                Column::About => &self.about,
            };
            memmem::find(column.as_bytes(), wanted.as_bytes()).is_some()
        })
    }
}

fn add(column: &mut String, token: &str) {
    column.push_str(token);
    column.push(' ');
}

fn first_bytes(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// So many places of a text are marked: nobody looks at more, and a text may have millions.
const MOST_MARKS: usize = 100_000;

/// Where in a text the words and phrases of a query are, in order.
pub fn highlights(query: &Query, text: &str) -> Vec<Range<usize>> {
    let phrases = query.wanted();
    let longest = phrases.iter().map(|phrase| phrase.tokens.len()).max().unwrap_or(0);
    let (mut parts, mut wholes) = (Recent::new(longest), Recent::new(longest));
    let mut found: Vec<Range<usize>> = Vec::new();
    tokens(text, |token, range, kind| {
        let recent = match kind {
            TokenKind::Part => &mut parts,
            TokenKind::Whole => &mut wholes,
        };
        recent.push(token, range);
        if found.len() >= MOST_MARKS {
            return;
        }
        found.extend(phrases.iter().filter_map(|phrase| recent.ends_with(phrase)));
    });
    found.sort_by_key(|range| (range.start, range.end));
    // Phrases may overlap; each place is marked once.
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in found {
        match merged.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// The last tokens of a text, as many as the longest phrase has. A text may be of many
/// megabytes, so that not all of them are held.
struct Recent {
    tokens: VecDeque<(String, Range<usize>)>,
    most: usize,
}

impl Recent {
    fn new(most: usize) -> Recent {
        Recent { tokens: VecDeque::with_capacity(most), most }
    }

    fn push(&mut self, token: &str, range: Range<usize>) {
        let is_full = self.tokens.len() >= self.most;
        let oldest = if is_full { self.tokens.pop_front() } else { None };
        let mut text = oldest.map(|(text, _)| text).unwrap_or_default();
        text.clear();
        text.push_str(token);
        self.tokens.push_back((text, range));
    }

    /// Where the phrase is, if the last tokens are its.
    fn ends_with(&self, phrase: &Phrase) -> Option<Range<usize>> {
        let first = self.tokens.len().checked_sub(phrase.tokens.len())?;
        let last = phrase.tokens.len() - 1;
        let is_there = phrase.tokens.iter().enumerate().all(|(place, wanted)| {
            let (token, _) = &self.tokens[first + place];
            match place == last && phrase.is_prefix {
                true => token.starts_with(wanted.as_str()),
                false => token == wanted,
            }
        });
        is_there.then(|| self.tokens[first].1.start..self.tokens[first + last].1.end)
    }
}

#[cfg(test)]
mod tests {
    use recto_log::RawLine;
    use recto_log::decode;

    use super::*;
    use crate::search::Extractor;

    fn fits(line: &str, query: &str) -> bool {
        let query = Query::parse(query).unwrap();
        let mut searchable = Searchable::default();
        let mut fits = false;
        Extractor::default().next(&decode(RawLine::alone(line.as_bytes())).0, &mut |document| {
            searchable.fill(document);
            fits |= searchable.fits(&query);
        });
        fits
    }

    const CALL: &str = r#"{"type":"assistant","gitBranch":"feature/tide-gauge","message":{"model":"claude-opus-5-5","content":[{"type":"tool_use","id":"t","name":"Read","input":{"file_path":"/app/src/main.rs"}},{"type":"text","text":"parseJSONLine and read_all_lines give E0308; 検索エンジン"}]}}"#;

    #[test]
    fn names_are_found_as_people_type_them() {
        for query in [
            "parseJSONLine",
            "parsejsonline",
            "parseJsonLine",
            "parse_json_line",
            "json",
            "parsej*",
            "read_all_lines",
            "ReadAllLines",
            "all_lines",
            "e0308",
            "E0308",
            "E03*",
            "検索",
            "エンジ",
            "\"and read all\"",
            "json OR nothing",
            "lines -nothing",
            "main.rs",
            "src/main.rs",
            "app/src",
            "(nothing OR e0308) role:assistant",
            "branch:tide-gauge lines",
            "model:opus lines",
            "model:opus-5 branch:feature/tide*",
        ] {
            assert!(fits(CALL, query), "{query}");
        }
        for query in [
            "readalllines",
            "jsonl",
            "linesread",
            "\"read and\"",
            "lines -json",
            "検エ",
            "E030",
            "main.rs lines",
            "role:user",
            "branch:gauge-tide",
            "model:sonnet",
            "rread",
            "tread",
        ] {
            assert!(!fits(CALL, query), "{query}");
        }
    }

    #[test]
    fn fields_are_not_text_and_text_is_no_field() {
        assert!(fits(CALL, "tool:Read") && fits(CALL, "tool:read file:main.rs"));
        assert!(fits(CALL, "file:src/ma*") && !fits(CALL, "file:tide"));
        assert!(!fits(CALL, "tool:Rea") && fits(CALL, "tool:Rea*"));
        assert!(!fits(CALL, "is:error") && !fits(CALL, "feature"));
    }

    #[test]
    fn the_end_of_a_long_result_is_not_in_the_index() {
        let line = |role: &str, text: &str| match role {
            "user" => format!(r#"{{"type":"user","message":{{"content":"{text}"}}}}"#),
            _ => format!(
                r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t","content":"{text}"}}]}}}}"#
            ),
        };
        let text = format!("begin {} end", "x ".repeat(MOST_OF_RESULT / 2));
        assert!(fits(&line("user", &text), "begin end"));
        assert!(fits(&line("result", &text), "begin -end"));
    }

    #[test]
    fn what_fits_is_marked() {
        let marked = |query: &str, text: &str| {
            let mut marked = String::new();
            let mut at = 0;
            for range in highlights(&Query::parse(query).unwrap(), text) {
                marked += &format!("{}<{}>", &text[at..range.start], &text[range.clone()]);
                at = range.end;
            }
            marked + &text[at..]
        };
        assert_eq!(
            marked("json -line", "a JSON line, parseJSONLine"),
            "a <JSON> line, parse<JSON>Line"
        );
        assert_eq!(marked("parsejson*", "parseJSONLine parse"), "<parseJSONLine> parse");
        assert_eq!(marked("\"a b\" b", "a  b, b"), "<a  b>, <b>");
        assert_eq!(marked("検索 tool:Bash", "全文検索は"), "全文<検索>は");
        assert_eq!(marked("ete", "l'e\u{301}te\u{301}!"), "l'<e\u{301}te\u{301}>!");
    }
}
