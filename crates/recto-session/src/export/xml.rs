//! A compact form for feeding a model: what was said and done, once.
//!
//! Thinking and the client's own texts are dropped, and a result that was seen
//! before is named instead of repeated.

use std::collections::HashMap;

use super::Head;
use super::Placed;
use crate::Item;
use crate::NoteKind;
use crate::hostile::push_escaped;

/// Shorter results are repeated: naming them takes as much room.
const WORTH_NAMING: usize = 200;

pub(super) struct Xml {
    turn: Option<u32>,
    results: u32,
    seen: HashMap<String, u32>,
}

impl Xml {
    pub(super) fn begin(head: &Head, out: &mut String) -> Xml {
        out.push_str("<session");
        attribute(out, "id", &head.id);
        attribute(out, "title", &head.title);
        for (name, value) in head.facts.iter().filter(|(_, value)| *value != head.id) {
            attribute(out, name, value);
        }
        out.push_str(">\n");
        Xml { turn: None, results: 0, seen: HashMap::new() }
    }

    pub(super) fn add(&mut self, placed: Placed<'_>, out: &mut String) {
        if matches!(placed.item, Item::Thinking { .. } | Item::Note { kind: NoteKind::Meta, .. }) {
            return;
        }
        if self.turn != Some(placed.turn) {
            self.close_turn(out);
            self.turn = Some(placed.turn);
            out.push_str(&format!("<turn n=\"{}\">\n", placed.turn));
        }
        match placed.item {
            Item::Prompt { text, .. } => element(out, "user", text),
            Item::Answer { text } => element(out, "assistant", text),
            Item::Call { name, input, .. } => {
                out.push_str("<call");
                attribute(out, "tool", name);
                out.push('>');
                push_escaped(out, &String::from_utf8_lossy(input));
                out.push_str("</call>\n");
            }
            // The text that the model got; the whole output is what it could not take.
            Item::Result { text, is_error, .. } => self.result(text, *is_error, out),
            Item::Note { kind, text } => {
                out.push_str("<note");
                attribute(out, "kind", kind.name());
                out.push('>');
                push_escaped(out, text.trim());
                out.push_str("</note>\n");
            }
            Item::Thinking { .. } => {}
        }
    }

    fn result(&mut self, text: &str, is_error: bool, out: &mut String) {
        self.results += 1;
        let tag = if is_error { "failed" } else { "result" };
        if text.len() >= WORTH_NAMING {
            if let Some(first) = self.seen.get(text) {
                out.push_str(&format!("<{tag} same-as=\"{first}\"/>\n"));
                return;
            }
            self.seen.insert(text.to_owned(), self.results);
            out.push_str(&format!("<{tag} n=\"{}\">", self.results));
        } else {
            out.push_str(&format!("<{tag}>"));
        }
        push_escaped(out, text.trim_end());
        out.push_str(&format!("</{tag}>\n"));
    }

    fn close_turn(&mut self, out: &mut String) {
        if self.turn.is_some() {
            out.push_str("</turn>\n");
        }
    }

    pub(super) fn end(mut self, out: &mut String) {
        self.close_turn(out);
        out.push_str("</session>\n");
    }
}

fn attribute(out: &mut String, name: &str, value: &str) {
    out.push_str(&format!(" {}=\"", name.replace(' ', "-")));
    push_escaped(out, &value.replace(['\n', '\t', '\r'], " "));
    out.push('"');
}

fn element(out: &mut String, name: &str, text: &str) {
    out.push_str(&format!("<{name}>"));
    push_escaped(out, text.trim_end());
    out.push_str(&format!("</{name}>\n"));
}
