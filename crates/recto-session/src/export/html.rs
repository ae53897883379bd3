//! One HTML file that needs nothing else: no script, no remote load.
//!
//! Everything from the log is escaped. Markdown of answers is rendered with raw
//! HTML turned into text, pictures turned into their description and links kept
//! only where they lead to a web page. A policy in the file forbids the rest.

use pulldown_cmark::CowStr;
use pulldown_cmark::Event;
use pulldown_cmark::Options;
use pulldown_cmark::Parser;
use pulldown_cmark::Tag;
use pulldown_cmark::TagEnd;

use super::Head;
use super::IndexRow;
use super::Placed;
use super::who;
use crate::Diff;
use crate::Item;
use crate::NoteKind;
use crate::hostile::clean;
use crate::hostile::push_escaped;

const STYLE: &str = include_str!("style.css");

pub(super) struct Html {
    turn: Option<u32>,
}

impl Html {
    pub(super) fn begin(head: &Head, out: &mut String) -> Html {
        push_top(&head.title, out);
        out.push_str("<body>\n<header>\n<h1>");
        push_escaped(out, &head.title);
        out.push_str("</h1>\n<dl>\n");
        for (name, value) in &head.facts {
            out.push_str("<div><dt>");
            push_escaped(out, name);
            out.push_str("</dt><dd>");
            push_escaped(out, value);
            out.push_str("</dd></div>\n");
        }
        out.push_str("</dl>\n</header>\n<main>\n");
        Html { turn: None }
    }

    pub(super) fn add(&mut self, placed: Placed<'_>, out: &mut String) {
        if matches!(placed.item, Item::Note { kind: NoteKind::Meta, .. }) {
            return;
        }
        if self.turn != Some(placed.turn) {
            self.close_turn(out);
            self.turn = Some(placed.turn);
            // After a rewind a turn can come up again; only its first part is the anchor.
            out.push_str(&format!(
                "<section id=\"turn-{}-{}\">\n",
                placed.turn, placed.origin.line
            ));
        }
        match placed.item {
            Item::Prompt { text, kind, pictures, is_queued } => {
                // Only the prompt that begins the turn is its anchor.
                let anchor = (!is_queued).then_some(placed.turn);
                prompt(anchor, text, who(*kind, *is_queued), *pictures, out)
            }
            Item::Answer { text } => {
                out.push_str("<div class=\"answer\">");
                push_markdown(out, text);
                out.push_str("</div>\n");
            }
            Item::Thinking { text } => {
                let text = if text.is_empty() { "(not shown by the model)" } else { text };
                folded("thinking", "Thinking", text, out);
            }
            Item::Call { name, about, input, .. } => call(name, about, input, out),
            Item::Result { diff: Some(diff), .. } => push_diff(diff, out),
            Item::Result { is_error: true, .. } => {
                folded("result failed", "Failed", &placed.item.result_text(), out)
            }
            Item::Result { .. } => folded("result", "Result", &placed.item.result_text(), out),
            Item::Note { kind: NoteKind::Summary, text } => {
                folded("note", "Summary of the conversation so far", text, out);
            }
            Item::Note { kind, text } => {
                out.push_str(&format!("<p class=\"note {}\">", kind.name()));
                push_escaped(out, text);
                out.push_str("</p>\n");
            }
        }
    }

    fn close_turn(&mut self, out: &mut String) {
        if self.turn.is_some() {
            out.push_str("</section>\n");
        }
    }

    pub(super) fn end(mut self, out: &mut String) {
        self.close_turn(out);
        out.push_str("</main>\n</body>\n</html>\n");
    }
}

/// Everything before the body.
fn push_top(title: &str, out: &mut String) {
    out.push_str("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    out.push_str("<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
    push_escaped(out, title);
    out.push_str("</title>\n<style>\n");
    out.push_str(STYLE);
    out.push_str("</style>\n</head>\n");
}

/// A page that leads to many others.
pub(super) fn index(rows: &[IndexRow]) -> String {
    let mut out = String::new();
    push_top("Sessions", &mut out);
    out.push_str(&format!("<body>\n<h1>{} sessions</h1>\n<ul>\n", rows.len()));
    for row in rows {
        out.push_str("<li><a href=\"");
        push_escaped(&mut out, &row.file);
        out.push_str("\">");
        push_escaped(&mut out, &row.title);
        out.push_str("</a> <small>");
        push_escaped(&mut out, &row.time);
        out.push_str("</small></li>\n");
    }
    out.push_str("</ul>\n</body>\n</html>\n");
    out
}

fn prompt(anchor: Option<u32>, text: &str, who: &str, pictures: usize, out: &mut String) {
    match anchor {
        Some(turn) => out.push_str(&format!(
            "<h2 id=\"turn-{turn}\"><a href=\"#turn-{turn}\">{turn}</a> {who}</h2>\n"
        )),
        None => out.push_str(&format!("<h2>{who}</h2>\n")),
    }
    out.push_str("<div class=\"prompt\">");
    push_escaped(out, text.trim_end());
    out.push_str("</div>\n");
    if pictures > 0 {
        out.push_str(&format!("<p class=\"note\">{pictures} images</p>\n"));
    }
}

fn call(name: &str, about: &str, input: &[u8], out: &mut String) {
    out.push_str("<details class=\"call\"><summary><b>");
    push_escaped(out, name);
    out.push_str("</b> <code>");
    let short: String =
        about.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(200).collect();
    push_escaped(out, &short);
    out.push_str("</code></summary><pre>");
    push_escaped(out, &String::from_utf8_lossy(input));
    out.push_str("</pre></details>\n");
}

fn folded(class: &str, label: &str, text: &str, out: &mut String) {
    let lines = text.lines().count();
    let word = if lines == 1 { "line" } else { "lines" };
    out.push_str(&format!(
        "<details class=\"{class}\"><summary>{label} <small>{lines} {word}</small></summary><pre>"
    ));
    push_escaped(out, text.trim_end());
    out.push_str("</pre></details>\n");
}

fn push_diff(diff: &Diff, out: &mut String) {
    out.push_str("<details class=\"diff\" open><summary>");
    push_escaped(out, &diff.path);
    out.push_str(&format!(" <small>+{} −{}</small></summary><pre>", diff.added, diff.removed));
    for line in &diff.lines {
        let class = match line.chars().next() {
            Some('+') => "ins",
            Some('-') => "del",
            _ => "same",
        };
        out.push_str(&format!("<span class=\"{class}\">"));
        push_escaped(out, line);
        out.push_str("</span>\n");
    }
    out.push_str("</pre></details>\n");
}

/// The start of a link. Only what leads to a web page or a mail leads anywhere.
fn link(address: &str) -> CowStr<'static> {
    const SAFE: [&str; 3] = ["https://", "http://", "mailto:"];
    let mut html = String::from("<a");
    if SAFE.iter().any(|start| address.starts_with(start)) {
        html.push_str(" href=\"");
        push_escaped(&mut html, address);
        html.push_str("\" rel=\"noopener noreferrer\"");
    }
    html.push('>');
    CowStr::from(html)
}

/// Renders Markdown so that nothing in it can act.
pub(super) fn push_markdown(out: &mut String, text: &str) {
    let text = clean(text);
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let events = Parser::new_ext(&text, options).filter_map(harmless);
    let mut html = String::new();
    pulldown_cmark::html::push_html(&mut html, events);
    // An entity (`&#27;`) is a character only now.
    out.push_str(&clean(&html));
}

fn harmless(event: Event<'_>) -> Option<Event<'_>> {
    match event {
        Event::Html(html) | Event::InlineHtml(html) => Some(Event::Text(html)),
        Event::Start(Tag::Image { dest_url, .. }) => {
            Some(Event::Text(CowStr::from(format!("[image {dest_url}] "))))
        }
        Event::End(TagEnd::Image) => None,
        Event::Start(Tag::Link { dest_url, .. }) => Some(Event::InlineHtml(link(&dest_url))),
        Event::End(TagEnd::Link) => Some(Event::InlineHtml(CowStr::from("</a>"))),
        // Text of a log must not make an anchor that covers one of ours.
        Event::Start(Tag::Heading { level, .. }) => Some(Event::Start(Tag::Heading {
            level,
            id: None,
            classes: Vec::new(),
            attrs: Vec::new(),
        })),
        other => Some(other),
    }
}
