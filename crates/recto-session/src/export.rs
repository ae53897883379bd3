//! A session as a document.
//!
//! Each format takes the same items one by one and appends text, so that a log
//! of any size can be written as it is read.

mod html;
mod markdown;
mod plain;
mod xml;

use recto_log::UserText;

use crate::Item;
use crate::Origin;
use crate::hostile::clean;

/// A format that a session can be written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Markdown.
    Markdown,
    /// One HTML file that needs nothing else.
    Html,
    /// A compact form for feeding a model.
    Xml,
    /// Plain text.
    Text,
}

impl Format {
    /// The ending of a file of this format.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Markdown => "md",
            Format::Html => "html",
            Format::Xml => "xml",
            Format::Text => "txt",
        }
    }
}

/// What stands at the top of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// The session's id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Its facts, each with its name: directory, branch, model, version, times.
    pub facts: Vec<(&'static str, String)>,
}

/// An item with where it stands.
#[derive(Debug, Clone, Copy)]
pub struct Placed<'a> {
    /// The number of its turn.
    pub turn: u32,
    /// Its line.
    pub origin: &'a Origin,
    /// The item.
    pub item: &'a Item,
}

/// A document that is being written.
pub struct Document {
    writer: Writer,
}

enum Writer {
    Markdown(markdown::Markdown),
    Html(html::Html),
    Xml(xml::Xml),
    Text(plain::Text),
}

impl Document {
    /// Begins a document.
    pub fn begin(format: Format, head: &Head, out: &mut String) -> Document {
        let writer = match format {
            Format::Markdown => Writer::Markdown(markdown::Markdown::begin(head, out)),
            Format::Html => Writer::Html(html::Html::begin(head, out)),
            Format::Xml => Writer::Xml(xml::Xml::begin(head, out)),
            Format::Text => Writer::Text(plain::Text::begin(head, out)),
        };
        Document { writer }
    }

    /// Adds an item.
    pub fn add(&mut self, placed: Placed<'_>, out: &mut String) {
        match &mut self.writer {
            Writer::Markdown(writer) => writer.add(placed, out),
            Writer::Html(writer) => writer.add(placed, out),
            Writer::Xml(writer) => writer.add(placed, out),
            Writer::Text(writer) => writer.add(placed, out),
        }
    }

    /// Ends the document.
    pub fn end(self, out: &mut String) {
        match self.writer {
            Writer::Markdown(_) | Writer::Text(_) => {}
            Writer::Html(writer) => writer.end(out),
            Writer::Xml(writer) => writer.end(out),
        }
    }
}

/// A line of an index: title, file and time of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexRow {
    /// The title.
    pub title: String,
    /// The file beside the index.
    pub file: String,
    /// When the session was written last.
    pub time: String,
}

/// The page that lists many documents: its name and its text. It is HTML where
/// the documents are, else Markdown.
pub fn index_page(format: Format, rows: &[IndexRow]) -> (&'static str, String) {
    if format == Format::Html {
        return ("index.html", html::index(rows));
    }
    let mut page = format!("# {} sessions\n\n", rows.len());
    for row in rows {
        let title = clean(&row.title).replace(['[', ']', '<', '>', '`', '\n'], " ");
        page.push_str(&format!("- [{title}]({}) {}\n", row.file, row.time));
    }
    ("index.md", page)
}

/// Markdown of a log as HTML in which nothing can act: raw HTML is text, pictures
/// are their description, and links lead to web pages and mails only.
pub fn markdown_html(text: &str) -> String {
    let mut out = String::new();
    html::push_markdown(&mut out, text);
    out
}

/// Whose prompt it is.
fn who(kind: UserText, is_queued: bool) -> &'static str {
    match (kind, is_queued) {
        (UserText::AgentTask, _) => "Task",
        (_, true) => "You (queued)",
        (_, false) => "You",
    }
}

/// A fence of backticks that the text does not break.
fn fence(text: &str) -> String {
    let mut longest = 2;
    let mut run = 0;
    for c in text.chars() {
        run = if c == '`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    "`".repeat(longest + 1)
}

#[cfg(test)]
#[path = "export/tests.rs"]
mod tests;
