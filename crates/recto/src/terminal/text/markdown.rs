//! Markdown of answers, for a terminal with colours.
//!
//! On a pipe the text stays as the model wrote it; only where a person looks
//! are headings, code, lists and emphasis shown as what they are. Code whose
//! fence names a known language is coloured by `highlight`; tables are put in
//! columns by `grid`.

mod grid;

use pulldown_cmark::CodeBlockKind;
use pulldown_cmark::Event;
use pulldown_cmark::Options;
use pulldown_cmark::Parser;
use pulldown_cmark::Tag;
use pulldown_cmark::TagEnd;
use unicode_width::UnicodeWidthStr;

use super::highlight::highlight;
use super::safe::one_line;
use super::safe::safe;
use crate::terminal::output::Look;
use grid::Grid;

/// A piece of a line, and how it looks.
pub(crate) type Span = (String, Look);

/// Renders Markdown that has been made safe into lines of at most `width`.
///
/// An entity such as `&#27;` becomes a character only here, so what comes out
/// is made safe again.
pub(crate) fn markdown(text: &str, width: usize) -> Vec<Vec<Span>> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut page = Page::new(width.max(16));
    for event in Parser::new_ext(text, options) {
        page.event(event);
    }
    page.end_line();
    while page.lines.last().is_some_and(Vec::is_empty) {
        page.lines.pop();
    }
    page.lines
}

/// The blocks of code in Markdown, as they were written: language and text.
pub(crate) fn code_blocks(text: &str) -> Vec<(String, String)> {
    let mut blocks: Vec<(String, String)> = Vec::new();
    let mut is_code = false;
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                is_code = true;
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                blocks.push((language, String::new()));
            }
            Event::End(TagEnd::CodeBlock) => is_code = false,
            Event::Text(piece) if is_code => {
                if let Some((_, block)) = blocks.last_mut() {
                    block.push_str(&piece);
                }
            }
            _ => {}
        }
    }
    blocks
}

/// A block of code, whose text comes in pieces.
#[derive(Default)]
struct Code {
    language: String,
    text: String,
}

struct Page {
    width: usize,
    lines: Vec<Vec<Span>>,
    /// The line that is being put together.
    current: Vec<Span>,
    /// What stands before each line: quotes and the insides of lists.
    indents: Vec<String>,
    /// What stands before the next line only: the mark of a list's item.
    mark: Option<String>,
    /// The numbers of the lists that are open; none for a list without.
    lists: Vec<Option<u64>>,
    looks: Vec<Look>,
    /// The block of code that is being gathered.
    code: Option<Code>,
    /// The table that is being gathered.
    table: Option<Grid>,
    link: Option<String>,
}

impl Page {
    fn new(width: usize) -> Page {
        Page {
            width,
            lines: Vec::new(),
            current: Vec::new(),
            indents: Vec::new(),
            mark: None,
            lists: Vec::new(),
            looks: Vec::new(),
            code: None,
            table: None,
            link: None,
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.text.push_str(&text),
                None => self.push(&text, self.look()),
            },
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.push(&text, Look::Tool);
            }
            Event::Html(text) | Event::InlineHtml(text) => self.push(text.trim_end(), Look::Faint),
            Event::FootnoteReference(name) => self.push(&format!("[{name}]"), Look::Faint),
            Event::SoftBreak => self.push(" ", self.look()),
            Event::HardBreak => self.end_line(),
            Event::Rule => {
                self.end_line();
                self.lines.push(vec![("─".repeat(self.width.min(40)), Look::Faint)]);
                self.lines.push(Vec::new());
            }
            Event::TaskListMarker(done) => {
                self.push(if done { "[x] " } else { "[ ] " }, Look::Strong)
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { .. } => self.looks.push(Look::Strong),
            Tag::BlockQuote(_) => self.indents.push("│ ".into()),
            Tag::CodeBlock(kind) => {
                self.end_line();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => one_line(&language),
                    CodeBlockKind::Indented => String::new(),
                };
                if !language.is_empty() {
                    self.lines.push(vec![(format!("  {language}"), Look::Faint)]);
                }
                self.code = Some(Code { language, text: String::new() });
            }
            Tag::List(first) => {
                self.end_line();
                self.lists.push(first);
            }
            Tag::Item => {
                self.end_line();
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let mark = format!("{number}. ");
                        *number += 1;
                        mark
                    }
                    _ => "• ".to_owned(),
                };
                self.indents.push(" ".repeat(mark.width()));
                self.mark = Some(mark);
            }
            Tag::Strong | Tag::Emphasis => self.looks.push(Look::Strong),
            Tag::Strikethrough => self.looks.push(Look::Faint),
            Tag::Table(alignments) => {
                self.end_line();
                self.table = Some(Grid::new(alignments));
            }
            Tag::TableHead => self.looks.push(Look::Strong),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some(dest_url.into_string());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => {
                self.end_line();
                self.blank();
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let lines = table.lines(self.room());
                    self.push_lines(lines);
                }
                self.blank();
            }
            TagEnd::TableHead => {
                self.looks.pop();
                self.end_row();
            }
            TagEnd::TableRow => self.end_row(),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.current);
                if let Some(table) = &mut self.table {
                    table.push_cell(cell);
                }
            }
            TagEnd::Heading(_) => {
                self.looks.pop();
                self.end_line();
                self.blank();
            }
            TagEnd::BlockQuote(_) => {
                self.end_line();
                self.indents.pop();
            }
            TagEnd::CodeBlock => {
                let code = self.code.take().unwrap_or_default();
                self.push_code(&code);
                self.blank();
            }
            TagEnd::List(_) => {
                self.lists.pop();
                if self.lists.is_empty() {
                    self.blank();
                }
            }
            TagEnd::Item => {
                self.end_line();
                self.indents.pop();
            }
            TagEnd::Strong | TagEnd::Emphasis | TagEnd::Strikethrough => drop(self.looks.pop()),
            TagEnd::Link | TagEnd::Image => {
                let url = self.link.take().unwrap_or_default();
                let shown: String = self.current.iter().map(|(text, _)| text.as_str()).collect();
                if !url.is_empty() && !shown.ends_with(&url) {
                    self.push(&format!(" ({url})"), Look::Faint);
                }
            }
            _ => {}
        }
    }

    fn look(&self) -> Look {
        self.looks.last().copied().unwrap_or(Look::Plain)
    }

    fn push(&mut self, text: &str, look: Look) {
        self.current.push((safe(text), look));
    }

    fn push_code(&mut self, code: &Code) {
        let text = safe(&code.text);
        let indent = format!("{}  ", self.indents.concat());
        let plain = || text.lines().map(|line| vec![(line.to_owned(), Look::Tool)]).collect();
        let lines = highlight(&text, &code.language).unwrap_or_else(plain);
        for line in lines {
            let spans = line.into_iter().map(|(text, look)| (text.replace('\t', "    "), look));
            let lead = std::iter::once((indent.clone(), Look::Faint));
            self.lines.push(lead.chain(spans).collect());
        }
    }

    /// An empty line, but never two, and none inside a list.
    fn blank(&mut self) {
        if self.lists.is_empty() && self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(Vec::new());
        }
    }

    fn end_row(&mut self) {
        if let Some(table) = &mut self.table {
            table.end_row();
        }
    }

    /// How wide a line is beside what stands before it.
    fn room(&self) -> usize {
        let lead: usize = self.indents.iter().map(|indent| indent.width()).sum();
        self.width.saturating_sub(lead)
    }

    /// Breaks the current line into as many as are needed.
    fn end_line(&mut self) {
        let spans = std::mem::take(&mut self.current);
        if spans.iter().all(|(text, _)| text.trim().is_empty()) {
            return;
        }
        self.push_lines(fill(spans, self.room()));
    }

    /// Adds lines, each behind the quotes and lists that it is in.
    fn push_lines(&mut self, lines: Vec<Vec<Span>>) {
        let rest = self.indents.concat();
        for mut line in lines {
            let lead = match self.mark.take() {
                Some(mark) => {
                    let outer = &self.indents[..self.indents.len().saturating_sub(1)];
                    outer.concat() + &mark
                }
                None => rest.clone(),
            };
            line.insert(0, (lead, Look::Faint));
            self.lines.push(line);
        }
    }
}

/// Spans in lines of at most `room`, broken between words.
fn fill(spans: Vec<Span>, room: usize) -> Vec<Vec<Span>> {
    let (mut lines, mut line, mut used) = (Vec::new(), Vec::new(), 0);
    for (text, look) in spans {
        for word in text.replace('\n', " ").split_inclusive(' ') {
            if used > 0 && used + word.trim_end().width() > room {
                without_last_space(&mut line);
                lines.push(std::mem::take(&mut line));
                used = 0;
            }
            used += word.width();
            line.push((word.to_owned(), look));
        }
    }
    lines.push(line);
    lines
}

/// The space that a line was broken at is not part of it: it would be one column too many.
fn without_last_space(line: &mut Vec<Span>) {
    if let Some((word, _)) = line.last_mut() {
        word.truncate(word.trim_end_matches(' ').len());
    }
    line.pop_if(|(word, _)| word.is_empty());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, width: usize) -> Vec<String> {
        let lines = markdown(text, width);
        lines
            .iter()
            .map(|line| {
                line.iter().map(|(text, _)| text.as_str()).collect::<String>().trim_end().to_owned()
            })
            .collect()
    }

    #[test]
    fn blocks_are_shown_as_what_they_are() {
        let text = "# Head\n\nOne **two** `three` <b>.\n\n- a\n- b\n  1. c\n  2. d\n\n> quote\n\n```rust\nfn x() {\n\ty\n}\n```\n[l](http://x) end";
        assert_eq!(
            shown(text, 60),
            [
                "Head",
                "",
                "One two three <b>.",
                "",
                "• a",
                "• b",
                "  1. c",
                "  2. d",
                "",
                "│ quote",
                "",
                "  rust",
                "  fn x() {",
                "      y",
                "  }",
                "",
                "l (http://x) end",
            ]
        );
    }

    #[test]
    fn long_lines_wrap_below_their_mark() {
        assert_eq!(shown("- one two three four five", 16), ["• one two three", "  four five"]);
    }

    #[test]
    fn no_line_is_wider_than_the_page() {
        for text in ["four five sixe seven", "- four five sixe seven", "> four **five** sixe sev"] {
            for line in markdown(text, 16) {
                let wide: usize = line.iter().map(|(text, _)| text.width()).sum();
                assert!(wide <= 16, "{line:?}");
            }
        }
        assert_eq!(markdown("aaaa bbbb cccccc dddd", 16).len(), 2);
    }

    #[test]
    fn tables_have_columns() {
        let text = "| file | `n` | what |\n|---|--:|:-:|\n| src/a.rs | 7 | added **twice** |\n| b | 1234 | 日本 |\n";
        assert_eq!(
            shown(text, 40),
            [
                "file         n     what",
                "────────  ────  ───────────",
                "src/a.rs     7  added twice",
                "b         1234     日本",
            ]
        );
        let heads = &markdown(text, 40)[0];
        assert!(heads.contains(&("file".into(), Look::Strong)), "{heads:?}");
    }

    #[test]
    fn a_wide_table_wraps_in_its_columns() {
        let text = "|id|what|why|\n|-|-|-|\n|7|one two three|aVeryLongWordWithoutAnySpace|\n|8|x|";
        assert_eq!(
            shown(text, 24),
            [
                "id  what       why",
                "──  ─────────  ─────────",
                "7   one two    aVeryLong",
                "    three      WordWitho",
                "               utAnySpac",
                "               e",
                "8   x",
            ]
        );
        assert_eq!(
            shown(&format!("> - {}", text.replace('\n', "\n>   ")), 26),
            [
                "│ • id  what      why",
                "│   ──  ────────  ────────",
                "│   7   one two   aVeryLon",
                "│       three     gWordWit",
                "│                 houtAnyS",
                "│                 pace",
                "│   8   x",
            ]
        );
    }

    #[test]
    fn a_table_without_room_is_a_list() {
        let text =
            "|alpha|beta|gamma|\n|-|-|-|\n|a long cell|b|another cell|\n|x||longer than that|";
        assert_eq!(
            shown(text, 16),
            [
                "alpha: a long",
                "cell",
                "beta: b",
                "gamma: another",
                "cell",
                "",
                "alpha: x",
                "gamma: longer",
                "than that",
            ]
        );
        let heads = format!("|{}\n|{}", "long head|".repeat(9), "-|".repeat(9));
        assert_eq!(shown(&heads, 16), ["long head"; 9]);
    }

    #[test]
    fn looks_tell_code_from_text() {
        let lines = markdown("say `ls` **now**", 40);
        let looks: Vec<(&str, Look)> =
            lines[0].iter().map(|(text, look)| (text.as_str(), *look)).collect();
        assert_eq!(
            looks,
            [
                ("", Look::Faint),
                ("say ", Look::Plain),
                ("ls", Look::Tool),
                (" ", Look::Plain),
                ("now", Look::Strong)
            ]
        );
    }

    #[test]
    fn code_is_coloured_where_its_language_is_known() {
        let looks = |text: &str| -> Vec<(String, Look)> {
            let spans = markdown(text, 40).into_iter().flatten();
            spans.map(|(text, look)| (text.trim().to_owned(), look)).collect()
        };
        let known = looks("> ```rust\n> let x = 1;\n> ```");
        assert!(known.contains(&("let".into(), Look::Keyword)), "{known:?}");
        for other in ["```\nlet x = 1;\n```", "```what\nlet x = 1;\n```", "    let x = 1;"] {
            let plain = looks(other);
            assert!(plain.contains(&("let x = 1;".into(), Look::Tool)), "{plain:?}");
        }
        // A fence that is never closed holds code all the same.
        let open = looks("```rust\nlet x = 1;");
        assert!(open.contains(&("let".into(), Look::Keyword)), "{open:?}");
    }

    #[test]
    fn entities_do_not_bring_control_characters_back() {
        let escape = "&#27;[31m&#x9b;2J&#x202e;&#7;";
        let text = format!(
            "{escape}\n\n# {escape}\n\n`{escape}` <b>{escape}</b> [{escape}](http://x{escape})\n\n```{escape}\n{escape}\n```\n\n|{escape}|\n|-|\n|{escape}|\n\n[^{escape}]"
        );
        let shown = shown(&text, 60).join("\n");
        let found = shown.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
        assert_eq!(found, None, "{shown:?}");
        assert!(shown.contains("\u{fffd}"), "{shown:?}");
    }

    #[test]
    fn deep_nesting_and_broken_markdown_are_harmless() {
        for text in [
            "> ".repeat(2000),
            "- ".repeat(2000),
            "[".repeat(5000),
            "```".into(),
            "|a|\n|-|\n|b".into(),
            format!("|{}\n|{}\n|{}", "a|".repeat(3000), "-|".repeat(3000), "日|".repeat(3000)),
            format!("|{}|\n|-|", "日".repeat(3000)),
            String::new(),
        ] {
            let _ = markdown(&text, 20);
        }
    }
}
