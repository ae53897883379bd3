//! Markdown of answers, for a terminal with colours.
//!
//! On a pipe the text stays as the model wrote it; only where a person looks
//! are headings, code, lists and emphasis shown as what they are.

use pulldown_cmark::CodeBlockKind;
use pulldown_cmark::Event;
use pulldown_cmark::Options;
use pulldown_cmark::Parser;
use pulldown_cmark::Tag;
use pulldown_cmark::TagEnd;
use unicode_width::UnicodeWidthStr;

use crate::output::Look;

/// A piece of a line, and how it looks.
pub(crate) type Span = (String, Look);

/// Renders Markdown that has been made safe into lines of at most `width`.
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
    in_code: bool,
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
            in_code: false,
            link: None,
        }
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.in_code => self.code(&text),
            Event::Text(text) => self.push(&text, self.look()),
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
                self.in_code = true;
                if let CodeBlockKind::Fenced(language) = kind
                    && !language.is_empty()
                {
                    self.lines.push(vec![(format!("  {language}"), Look::Faint)]);
                }
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
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some(dest_url.into_string());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::Table => {
                self.end_line();
                self.blank();
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
                self.in_code = false;
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
            TagEnd::TableHead | TagEnd::TableRow => self.end_line(),
            TagEnd::TableCell => self.push("  ", Look::Plain),
            _ => {}
        }
    }

    fn look(&self) -> Look {
        self.looks.last().copied().unwrap_or(Look::Plain)
    }

    fn push(&mut self, text: &str, look: Look) {
        self.current.push((text.to_owned(), look));
    }

    fn code(&mut self, text: &str) {
        let indent = self.indents.concat();
        for line in text.lines() {
            let line = format!("{indent}  {}", line.replace('\t', "    "));
            self.lines.push(vec![(line, Look::Tool)]);
        }
    }

    /// An empty line, but never two, and none inside a list.
    fn blank(&mut self) {
        if self.lists.is_empty() && self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(Vec::new());
        }
    }

    /// Breaks the current line into as many as are needed.
    fn end_line(&mut self) {
        let spans = std::mem::take(&mut self.current);
        if spans.iter().all(|(text, _)| text.trim().is_empty()) {
            return;
        }
        let rest = self.indents.concat();
        let first = match self.mark.take() {
            Some(mark) => {
                let outer = &self.indents[..self.indents.len().saturating_sub(1)];
                outer.concat() + &mark
            }
            None => rest.clone(),
        };
        let mut line: Vec<Span> = vec![(first.clone(), Look::Faint)];
        let mut used = first.width();
        for (text, look) in spans {
            for word in text.replace('\n', " ").split_inclusive(' ') {
                let wide = word.trim_end().width();
                if used + wide > self.width && used > rest.width() {
                    self.lines
                        .push(std::mem::replace(&mut line, vec![(rest.clone(), Look::Faint)]));
                    used = rest.width();
                }
                used += word.width();
                line.push((word.to_owned(), look));
            }
        }
        self.lines.push(line);
    }
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
    fn deep_nesting_and_broken_markdown_are_harmless() {
        for text in [
            "> ".repeat(2000),
            "- ".repeat(2000),
            "[".repeat(5000),
            "```".into(),
            "|a|\n|-|\n|b".into(),
            String::new(),
        ] {
            let _ = markdown(&text, 20);
        }
    }
}
