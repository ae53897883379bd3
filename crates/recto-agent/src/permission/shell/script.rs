//! A command line as its simple commands.
//!
//! The parser is `tree-sitter-bash` (MIT). The others that were considered: `yash-syntax` is
//! under the GPL, `conch-parser` has not been maintained since 2019 and knows no Bash, and
//! `brush-parser` leaves words to a second parser and recurses, so that a deep command would
//! overflow the stack. Tree-sitter's parser is a table and a heap: it does not recurse, does not
//! panic, and gives a tree with positions for any text at all. It costs 1.5 MB and a C compiler,
//! which SQLite needs anyway.
//!
//! Its grammar is not Bash itself. So nothing is taken on trust: every node must be of a kind
//! listed here, the text between nodes must be blank, and words are read again by a scanner of
//! our own. Whatever does not pass is asked about.

use tree_sitter::Node;
use tree_sitter::Parser;

use crate::permission::shell::torn::is_torn;
use crate::permission::shell::word::Word;
use crate::permission::shell::word::WordTrouble;
use crate::permission::shell::word::scan;

/// Longer commands are not parsed.
const LONGEST: usize = 64 * 1024;
/// Deeper commands are not understood.
const DEEPEST: usize = 60;

/// Why a command cannot be checked. The order is that of the parser's walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doubt {
    /// `$(..)` or backquotes.
    NestedCommand,
    /// `<(..)`.
    CommandAsFile,
    /// `{ ..; }` or `((..))`.
    Group,
    /// `$x`.
    Variable,
    /// `${x}`.
    VariableInBraces,
    /// `"$(..)"`.
    QuotedText,
    /// `$'..'`.
    EscapeCodes,
    /// `{a,b}`.
    Braces,
    /// `for x in ..; do ..; done > f`.
    ForLoop,
    /// `a\ b`.
    EscapedBlank,
    /// A blank that is none in ASCII.
    OddBlank,
    /// `'\n# ..'`.
    HiddenComment,
    /// `> $x/y`.
    RedirectTarget,
    /// `x=1 y=2`.
    Assignments,
    /// `x=(a b)`.
    List,
    /// What the shell would not read either.
    Broken,
    /// `while ..; do ..; done < x`.
    Loop,
    /// `f() { ..; }`.
    Function,
    /// `case x in ..`.
    Case,
    /// `for ((..))`.
    Counting,
    /// `(..)`.
    Subshell,
    /// `&`.
    Background,
    /// `<> x`, or `>` without a file.
    OddRedirect,
    /// `(ls`: the end is missing.
    Unfinished,
    /// `cat <<EOF | grep x`.
    HeredocPipeline,
    /// `cat <<EOF > x`.
    HeredocRedirect,
    /// `cat <<EOF && ls`.
    HeredocText,
    /// `<<EOF`.
    Heredoc,
    /// Characters that a shell and a reader see differently.
    OddCharacters,
    /// Anything else that is not understood.
    NotUnderstood,
}

/// A redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Redirect {
    /// Whether the file is written.
    pub(crate) writes: bool,
    /// The file.
    pub(crate) target: Word,
}

/// A simple command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Part {
    /// Its text without redirections.
    pub(crate) text: String,
    /// `A=1` before the name: name and text of the value.
    pub(crate) assignments: Vec<(String, Word)>,
    /// The name and the arguments.
    pub(crate) words: Vec<Word>,
    /// Where its input and output are.
    pub(crate) redirects: Vec<Redirect>,
}

/// A command line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Script {
    /// The simple commands that run in any case the shell can come to.
    pub(crate) parts: Vec<Part>,
    /// All simple commands that were found anywhere, also inside `$(..)`, for rules that forbid.
    pub(crate) everywhere: Vec<Part>,
    /// Why it cannot be checked.
    pub(crate) doubt: Option<Doubt>,
    /// Whether it is one pipeline and nothing else.
    pub(crate) is_pipeline: bool,
    /// Whether it has a loop that sets a variable.
    pub(crate) loops: bool,
    /// Whether such a loop moves, or has a pipeline in it.
    pub(crate) loops_oddly: bool,
    /// A variable of a loop that means something to the shell or to programs.
    pub(crate) odd_variable: Option<String>,
    /// Whether a part of it runs in the background.
    pub(crate) in_background: bool,
    /// Whether a `$(`, `${` or `$((` has no end, so that the shell may read all of it in another
    /// way.
    pub(crate) is_torn: bool,
}

/// Whether a variable means something to the shell or to programs, as far as its name tells.
fn is_odd_variable(name: &str) -> bool {
    name.starts_with('_') || (name.len() > 1 && !name.contains(|c: char| c.is_ascii_lowercase()))
}

/// Whether there is a pipeline below a node. Without recursion: a command can be nested deeply.
fn has_pipeline(node: Node<'_>) -> bool {
    let mut cursor = node.walk();
    loop {
        if cursor.node().kind() == "pipeline" {
            return true;
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return false;
            }
        }
    }
}

/// Parses a command line. Never fails: what is not understood is a doubt.
pub(crate) fn parse(text: &str, home: &str) -> Script {
    let whole = parse_plain(text, home);
    match without_quoted_heredoc(text) {
        // Rules that forbid still see all of it.
        Some(line) if whole.doubt.is_some() => {
            Script { everywhere: whole.everywhere, ..parse_plain(line, home) }
        }
        _ => whole,
    }
}

/// The command of `command <<'WORD'` whose text ends with the command line: it is plain text for
/// the shell. What the grammar says about such text is not taken on trust, so the line has
/// nothing in it that could hide the operator: neither a quote nor a comment nor an escape.
fn without_quoted_heredoc(text: &str) -> Option<&str> {
    let (line, rest) = text.split_once('\n')?;
    let (command, delimiter) = line.split_once("<<")?;
    let delimiter = delimiter.trim_matches(' ');
    let quoted = |quote| delimiter.strip_prefix(quote)?.strip_suffix(quote);
    let word = quoted('\'').or_else(|| quoted('"'))?;
    let is_word = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_plain = command.chars().all(|c| c.is_ascii_alphanumeric() || " _./=:,@%+->".contains(c));
    let rest = rest.strip_suffix('\n').unwrap_or(rest);
    let end = rest.split('\n').position(|line| line == word)?;
    let ends_there = end + 1 == rest.split('\n').count();
    // A digit before the operator is part of it.
    let is_apart = command.ends_with(' ');
    (is_word && is_plain && ends_there && is_apart && !has_odd_characters(text))
        .then(|| command.trim_end())
}

fn parse_plain(text: &str, home: &str) -> Script {
    let mut script = Script::default();
    if text.len() > LONGEST {
        script.doubt = Some(Doubt::NotUnderstood);
        return script;
    }
    let mut parser = Parser::new();
    let language = tree_sitter_bash::LANGUAGE.into();
    let tree = match parser.set_language(&language) {
        Ok(()) => parser.parse(text, None),
        Err(_) => None,
    };
    let Some(tree) = tree else {
        script.doubt = Some(Doubt::NotUnderstood);
        return script;
    };
    let mut walk = Walk { text, home, script, odd: has_odd_characters(text) };
    walk.everywhere(tree.root_node());
    let root = tree.root_node();
    walk.gap(0, root.start_byte(), true);
    walk.statements(root, 0);
    walk.gap(root.end_byte(), text.len(), true);
    if root.has_error() {
        let opens = |open: &str| {
            let rest = text.trim().strip_prefix(open);
            rest.is_some_and(|rest| rest.starts_with(' ') || open == "(" && !rest.is_empty())
        };
        let unfinished = (opens("(") && !text.contains(')')) || opens("{") || opens("[[");
        let vague = matches!(
            walk.script.doubt,
            None | Some(Doubt::NotUnderstood | Doubt::Subshell | Doubt::Group)
        );
        if vague {
            walk.script.doubt = Some(if unfinished { Doubt::Unfinished } else { Doubt::Broken });
        }
        walk.after_keywords();
        let ends_open = text.trim_end().ends_with(['<', '>']) || text.trim_end().ends_with(">|");
        if walk.script.doubt == Some(Doubt::Broken)
            && (ends_open || text.contains("<>") || text.trim_end().ends_with(">&"))
        {
            walk.script.doubt = Some(Doubt::OddRedirect);
        }
        walk.script.is_torn = is_torn(text);
    }
    // A keyword where a command should be.
    if text.trim_start().starts_with(['}', 't', 'd', 'e']) {
        walk.after_keywords();
    }
    walk.use_variables();
    if walk.odd {
        let is_blank =
            |c: char| !c.is_ascii() && (c.is_whitespace() || c == '\u{200b}' || c == '\u{feff}');
        let doubt = if text.contains(is_blank) { Doubt::OddBlank } else { Doubt::OddCharacters };
        walk.script.doubt = Some(doubt);
    }
    walk.script.is_pipeline = is_one_pipeline(tree.root_node());
    walk.script
}

/// Blanks and control characters that the grammar takes for a blank and the shell does not, or
/// that a reader does not see.
fn has_odd_characters(text: &str) -> bool {
    text.chars().any(|c| match c {
        '\n' | '\t' | ' ' => false,
        c if c.is_ascii() => c.is_ascii_control(),
        c => {
            c.is_whitespace()
                || c.is_control()
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{ad}')
        }
    })
}

fn is_one_pipeline(root: Node<'_>) -> bool {
    let mut cursor = root.walk();
    let mut children = root.named_children(&mut cursor).filter(|node| node.kind() != "comment");
    let first = children.next();
    children.next().is_none() && first.is_some_and(|node| node.kind() == "pipeline")
}

/// A text with the value of a variable in its place.
fn with_value(text: &str, name: &str, value: &str) -> String {
    let text = text.replace(&format!("${{{name}}}"), value);
    let sign = format!("${name}");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find(&sign) {
        let (before, after) = rest.split_at(at);
        let after = after.get(sign.len()..).unwrap_or_default();
        let longer = after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        out.push_str(before);
        out.push_str(if longer { &sign } else { value });
        rest = after;
    }
    out + rest
}

struct Walk<'a> {
    text: &'a str,
    home: &'a str,
    script: Script,
    odd: bool,
}

impl<'a> Walk<'a> {
    /// Keeps the first doubt: it names what a reader meets first.
    fn doubt(&mut self, doubt: Doubt) {
        self.script.doubt.get_or_insert(doubt);
    }

    fn text_of(&self, node: Node<'_>) -> &'a str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Finds every simple command, however deep, without recursion.
    fn everywhere(&mut self, root: Node<'_>) {
        let mut cursor = root.walk();
        loop {
            let node = cursor.node();
            match node.kind() {
                "command" => {
                    let part = self.loose_part(node);
                    self.script.everywhere.push(part);
                }
                "file_redirect" => {
                    let redirects = self.loose_redirect(node).into_iter().collect();
                    self.script.everywhere.push(Part { redirects, ..Part::default() });
                }
                _ => {}
            }
            if cursor.goto_first_child() || cursor.goto_next_sibling() {
                continue;
            }
            loop {
                if !cursor.goto_parent() {
                    return;
                }
                if cursor.goto_next_sibling() {
                    break;
                }
            }
        }
    }

    /// The words of a command, whatever they are.
    fn loose_part(&self, node: Node<'_>) -> Part {
        let mut part = Part::default();
        let mut cursor = node.walk();
        let (mut start, mut end) = (None, node.start_byte());
        for child in node.named_children(&mut cursor) {
            match child.kind() {
                "variable_assignment" => {
                    let (name, value) =
                        self.text_of(child).split_once('=').unwrap_or((self.text_of(child), ""));
                    part.assignments.push((name.to_owned(), scan(value, self.home).0));
                }
                "file_redirect" | "herestring_redirect" | "heredoc_redirect" => continue,
                _ => part.words.push(scan(self.text_of(child), self.home).0),
            }
            start.get_or_insert(child.start_byte());
            end = child.end_byte();
        }
        let range = start.unwrap_or(end)..end;
        part.text = self.text.get(range).unwrap_or_default().to_owned();
        part
    }

    /// The file of a redirection, whatever it is.
    fn loose_redirect(&self, node: Node<'_>) -> Option<Redirect> {
        let target = node.child_by_field_name("destination")?;
        let target = scan(self.text_of(target), self.home).0;
        Some(Redirect { writes: !self.text_of(node).starts_with('<'), target })
    }

    /// A list of statements: the whole, the body of a loop, a pipeline.
    fn statements(&mut self, node: Node<'_>, depth: usize) {
        if depth > DEEPEST {
            return self.doubt(Doubt::NotUnderstood);
        }
        let mut cursor = node.walk();
        let mut end = node.start_byte();
        for child in node.children(&mut cursor) {
            self.gap(end, child.start_byte(), true);
            end = child.end_byte();
            self.statement(child, depth);
        }
        self.gap(end, node.end_byte(), true);
    }

    fn statement(&mut self, node: Node<'_>, depth: usize) {
        match node.kind() {
            "command" => self.command(node, &[]),
            "list" | "pipeline" | "negated_command" | "if_statement" | "elif_clause"
            | "else_clause" | "while_statement" | "do_group" => self.statements(node, depth + 1),
            "for_statement" => {
                self.script.loops = true;
                self.for_statement(node, depth);
            }
            "redirected_statement" => self.redirected(node, depth),
            "test_command" => self.test_command(node),
            "comment" => self.comment(node),
            "subshell" => self.doubt(Doubt::Subshell),
            "compound_statement" => self.doubt(Doubt::Group),
            "function_definition" => self.doubt(Doubt::Function),
            "case_statement" => self.doubt(Doubt::Case),
            "c_style_for_statement" => self.doubt(Doubt::Counting),
            "&" => self.script.in_background = true,
            // They set and unset variables: listed as a command, and always asked about.
            "declaration_command" | "unset_command" => self.declaration(node),
            "&&" | "||" | ";" | "\n" | "|" | "|&" | "!" | "if" | "then" | "fi" | "elif"
            | "else" | "while" | "until" | "do" | "done" => {}
            "variable_assignment" => {
                let mut part = Part { text: self.text_of(node).to_owned(), ..Part::default() };
                self.assignment(node, &mut part);
                self.script.parts.push(part);
            }
            "variable_assignments" => self.doubt(Doubt::Assignments),
            _ => self.inner_doubt(node, Doubt::NotUnderstood),
        }
    }

    /// `export x=1`, `unset x`.
    fn declaration(&mut self, node: Node<'_>) {
        let text = self.text_of(node).to_owned();
        let mut cursor = node.walk();
        let mut words = Vec::new();
        for child in node.children(&mut cursor) {
            let (word, trouble) = scan(self.text_of(child), self.home);
            if let Some(trouble) = trouble {
                self.word_doubt(child, trouble);
            }
            words.push(word);
        }
        self.script.parts.push(Part { text, words, ..Part::default() });
    }

    /// `for x in a b; do ..; done` with literal words.
    fn for_statement(&mut self, node: Node<'_>, depth: usize) {
        let mut cursor = node.walk();
        let mut end = node.start_byte();
        for child in node.children(&mut cursor) {
            self.gap(end, child.start_byte(), true);
            end = child.end_byte();
            match child.kind() {
                "variable_name" if is_odd_variable(self.text_of(child)) => {
                    self.script.odd_variable = Some(self.text_of(child).to_owned());
                }
                "for" | "in" | ";" | "\n" | "variable_name" => {}
                "do_group" => {
                    let first = self.script.parts.len();
                    self.statements(child, depth + 1);
                    let inside = self.script.parts.get(first..).unwrap_or_default();
                    let moves = |part: &Part| {
                        part.words
                            .first()
                            .is_some_and(|word| ["cd", "pushd", "popd"].contains(&word.text()))
                    };
                    self.script.loops_oddly |= inside.iter().any(moves) || has_pipeline(child);
                }
                _ => {
                    self.word(child);
                }
            }
        }
    }

    fn redirected(&mut self, node: Node<'_>, depth: usize) {
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
        let mut redirects = Vec::new();
        let mut end = node.start_byte();
        for child in &children {
            self.gap(end, child.start_byte(), false);
            end = child.end_byte();
            match child.kind() {
                "file_redirect" => redirects.extend(self.file_redirect(*child)),
                "heredoc_redirect" => self.heredoc(*child),
                "herestring_redirect" => self.herestring(*child),
                _ => {}
            }
        }
        let body = children.iter().find(|child| !child.kind().ends_with("_redirect"));
        match body {
            Some(body) if body.kind() == "command" => {
                self.command(*body, &redirects);
            }
            Some(body) if body.kind() == "while_statement" => self.doubt(Doubt::Loop),
            Some(body) if body.kind() == "for_statement" => {
                self.statement(*body, depth + 1);
                self.doubt(Doubt::ForLoop);
            }
            Some(body) => {
                self.script.parts.push(Part { redirects, ..Part::default() });
                self.statement(*body, depth + 1);
            }
            None => self.script.parts.push(Part { redirects, ..Part::default() }),
        }
    }

    fn command(&mut self, node: Node<'_>, redirects: &[Redirect]) {
        let mut part = self.loose_part(node);
        part.redirects = redirects.to_vec();
        part.words.clear();
        part.assignments.clear();
        let mut cursor = node.walk();
        let mut end = node.start_byte();
        let mut blank_before = true;
        for child in node.children(&mut cursor) {
            self.gap(end, child.start_byte(), false);
            blank_before |= child.start_byte() > end;
            end = child.end_byte();
            match child.kind() {
                "variable_assignment" => self.assignment(child, &mut part),
                "file_redirect" => part.redirects.extend(self.file_redirect(child)),
                "herestring_redirect" => self.herestring(child),
                "heredoc_redirect" => self.heredoc(child),
                // Two nodes without a blank between them are one word for the shell.
                _ if !blank_before => self.doubt(Doubt::NotUnderstood),
                "command_name" => {
                    let inner = child.named_child(0).filter(|_| child.child_count() == 1);
                    part.words.extend(inner.and_then(|inner| self.word(inner)));
                    if inner.is_none() {
                        self.doubt(Doubt::NotUnderstood);
                    }
                }
                _ => part.words.extend(self.word(child)),
            }
            blank_before = child.kind().ends_with("_redirect");
        }
        self.script.parts.push(part);
    }

    fn assignment(&mut self, node: Node<'_>, part: &mut Part) {
        let text = self.text_of(node);
        let Some((name, value)) = text.split_once('=') else {
            return self.doubt(Doubt::NotUnderstood);
        };
        let is_name =
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let (word, trouble) = scan(value, self.home);
        if value.starts_with('(') {
            self.doubt(Doubt::List);
        } else if !is_name {
            self.inner_doubt(node, Doubt::Variable);
        } else if let Some(trouble) = trouble {
            self.word_doubt(node, trouble);
        }
        part.assignments.push((name.to_owned(), word));
    }

    fn word(&mut self, node: Node<'_>) -> Option<Word> {
        let (word, trouble) = scan(self.text_of(node), self.home);
        let is_word = matches!(
            node.kind(),
            "word"
                | "raw_string"
                | "string"
                | "concatenation"
                | "number"
                | "simple_expansion"
                | "expansion"
                | "command_substitution"
                | "process_substitution"
                | "ansi_c_string"
                | "translated_string"
                | "arithmetic_expansion"
                | "brace_expression"
                | "extglob_pattern"
                | "regex"
                | "variable_name"
        );
        if !is_word {
            self.inner_doubt(node, Doubt::NotUnderstood);
            return None;
        }
        if let Some(trouble) = trouble {
            self.word_doubt(node, trouble);
        }
        Some(word)
    }

    fn word_doubt(&mut self, node: Node<'_>, trouble: WordTrouble) {
        match trouble {
            WordTrouble::Variable => self.inner_doubt(node, Doubt::Variable),
            WordTrouble::VariableInBraces => self.doubt(Doubt::VariableInBraces),
            WordTrouble::QuotedText => self.doubt(Doubt::QuotedText),
            WordTrouble::EscapeCodes => self.doubt(Doubt::EscapeCodes),
            WordTrouble::Braces => self.doubt(Doubt::Braces),
            WordTrouble::EscapedBlank => self.doubt(Doubt::EscapedBlank),
            WordTrouble::HiddenComment => self.doubt(Doubt::HiddenComment),
            WordTrouble::Unknown => self.inner_doubt(node, Doubt::NotUnderstood),
        }
    }

    /// The doubt about a node: what is inside it says more than the node itself.
    fn inner_doubt(&mut self, node: Node<'_>, otherwise: Doubt) {
        let mut cursor = node.walk();
        let mut level = 0usize;
        loop {
            let kind = match cursor.node().kind() {
                "command_substitution" => Some(Doubt::NestedCommand),
                "process_substitution" => Some(Doubt::CommandAsFile),
                "compound_statement" => Some(Doubt::Group),
                "simple_expansion" | "expansion" => Some(Doubt::Variable),
                _ => None,
            };
            // `${x:-$(ls)}` is a nested command, not a variable.
            if let Some(kind) = kind
                && (kind != Doubt::Variable || cursor.node().child_count() < 3)
            {
                return self.doubt(kind);
            }
            if cursor.goto_first_child() {
                level += 1;
                continue;
            }
            while !cursor.goto_next_sibling() {
                if level == 0 || !cursor.goto_parent() {
                    return self.doubt(otherwise);
                }
                level -= 1;
            }
            if level == 0 {
                return self.doubt(otherwise);
            }
        }
    }

    fn file_redirect(&mut self, node: Node<'_>) -> Option<Redirect> {
        let mut cursor = node.walk();
        let mut writes = None;
        let mut duplicates = false;
        let mut target = None;
        for child in node.children(&mut cursor) {
            match child.kind() {
                "file_descriptor" => {}
                "<" => writes = Some(false),
                ">" | ">>" | ">|" | "&>" | "&>>" => writes = Some(true),
                ">&" | "<&" => {
                    writes = Some(child.kind() == ">&");
                    duplicates = true;
                }
                _ if target.is_some() => self.doubt(Doubt::NotUnderstood),
                _ => target = self.word(child),
            }
        }
        let (Some(writes), Some(target)) = (writes, target) else {
            self.doubt(Doubt::OddRedirect);
            return None;
        };
        if target.raw.is_empty() {
            self.doubt(Doubt::OddRedirect);
        }
        if duplicates && target.raw.chars().all(|c| c.is_ascii_digit()) {
            return None;
        }
        if target.raw.starts_with('$') {
            self.doubt(Doubt::RedirectTarget);
        }
        if target.value.is_none() || target.glob {
            self.doubt(Doubt::NotUnderstood);
        }
        Some(Redirect { writes, target })
    }

    fn herestring(&mut self, node: Node<'_>) {
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            self.word(child);
        }
    }

    /// A heredoc whose delimiter is quoted is plain text for the shell, but its place in a
    /// pipeline is where the grammar and the shell differ most.
    fn heredoc(&mut self, node: Node<'_>) {
        let mut cursor = node.walk();
        let start = node.named_children(&mut cursor).find(|child| child.kind() == "heredoc_start");
        let quoted = start.is_some_and(|start| self.text_of(start).contains(['\'', '"', '\\']));
        // What follows on the same line.
        let mut cursor = node.walk();
        let after = node.children(&mut cursor).find_map(|child| match child.kind() {
            "pipeline" => Some(Doubt::HeredocPipeline),
            "file_redirect" => Some(Doubt::HeredocRedirect),
            "&&" | "||" | "list" | "command" => Some(Doubt::HeredocText),
            _ => None,
        });
        let plain = if quoted { Doubt::NotUnderstood } else { Doubt::Heredoc };
        self.doubt(after.unwrap_or(plain));
    }

    /// What the grammar gave up on: for rules that forbid, every command that could start there.
    fn after_keywords(&mut self) {
        const MOST: usize = 64;
        const KEYWORDS: &[&str] = &[
            "if", "then", "elif", "else", "while", "until", "do", "{", "}", "(", "!", ";", "|",
            "&", "&&", "||",
        ];
        let words: Vec<&str> = self.text.split_ascii_whitespace().collect();
        let at_keyword = |(_, word): &(usize, &&str)| KEYWORDS.contains(*word);
        for (at, _) in words.iter().enumerate().filter(at_keyword).take(MOST) {
            let rest = words.get(at + 1..).unwrap_or_default();
            let words = rest.iter().map(|word| scan(word, self.home).0).collect();
            self.script.everywhere.push(Part { text: rest.join(" "), words, ..Part::default() });
        }
    }

    /// `x=ls; $x`: for rules that forbid, a variable that the command sets to plain text is that
    /// text.
    fn use_variables(&mut self) {
        const MOST: usize = 64;
        let set: Vec<(String, String)> = self
            .script
            .parts
            .iter()
            .filter(|part| part.words.is_empty())
            .flat_map(|part| &part.assignments)
            .filter_map(|(name, value)| Some((name.clone(), value.value.clone()?)))
            .collect();
        if set.is_empty() {
            return;
        }
        let mut known = Vec::new();
        for part in self.script.everywhere.iter().take(MOST) {
            let mut text = part.text.clone();
            for (name, value) in set.iter().take(MOST) {
                text = with_value(&text, name, value);
            }
            if text != part.text && text.len() <= LONGEST {
                let words = text.split_ascii_whitespace();
                let words = words.map(|word| scan(word, self.home).0).collect();
                known.push(Part { text, words, ..Part::default() });
            }
        }
        self.script.everywhere.extend(known);
    }

    /// `[ -f x ]` and `[[ -f x ]]`: tests of literal words. `-v` and arithmetic evaluate their words.
    fn test_command(&mut self, node: Node<'_>) {
        let text = self.text_of(node);
        let inner = text.strip_prefix("[ ").and_then(|text| text.strip_suffix(" ]"));
        let inner = inner.or_else(|| text.strip_prefix("[[ ")?.strip_suffix(" ]]"));
        let words: Vec<&str> = inner.unwrap_or_default().split_ascii_whitespace().collect();
        let plain = |word: &str| {
            !word.is_empty()
                && word.chars().all(|c| c.is_ascii_alphanumeric() || "._-/+,:@%".contains(c))
        };
        let number = |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_digit());
        let tested = words.strip_prefix(&["!"]).unwrap_or(&words);
        let harmless = match tested {
            [operator, word] => {
                matches!(
                    *operator,
                    "-e" | "-f" | "-d" | "-r" | "-w" | "-x" | "-s" | "-L" | "-h" | "-n" | "-z"
                ) && plain(word)
            }
            // In double brackets a word would be looked up as a variable.
            [left, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge", right] => {
                number(left) && number(right)
            }
            [left, operator, right] => {
                matches!(*operator, "=" | "!=" | "==") && plain(left) && plain(right)
            }
            _ => false,
        };
        if !harmless {
            return self.inner_doubt(node, Doubt::NotUnderstood);
        }
        let name = Word { raw: "[".to_owned(), value: Some("[".to_owned()), glob: false };
        let words = words.into_iter().map(|word| scan(word, self.home).0);
        self.script.parts.push(Part {
            text: text.to_owned(),
            words: std::iter::once(name).chain(words).collect(),
            ..Part::default()
        });
    }

    /// A comment starts where a word could start.
    fn comment(&mut self, node: Node<'_>) {
        let before = self.text.get(..node.start_byte()).and_then(|text| text.chars().next_back());
        if !matches!(before, None | Some(' ' | '\t' | '\n' | ';' | '&' | '|')) {
            self.doubt(Doubt::NotUnderstood);
        }
    }

    /// Only blanks may be between two nodes; everything else was left out by the grammar.
    fn gap(&mut self, start: usize, end: usize, lines: bool) {
        let Some(gap) = self.text.get(start..end) else {
            return if start != end {
                self.doubt(Doubt::NotUnderstood)
            };
        };
        // A line that goes on without a blank goes on in its last word.
        let glued =
            self.text.get(..start).is_some_and(|before| !before.ends_with([' ', '\t', '\n']));
        if glued && start > 0 && gap.starts_with("\\\n") {
            self.doubt(Doubt::EscapedBlank);
        }
        let rest = gap.replace("\\\n", "");
        if !rest.chars().all(|c| c == ' ' || c == '\t' || (lines && c == '\n')) {
            self.doubt(Doubt::NotUnderstood);
        }
    }
}
