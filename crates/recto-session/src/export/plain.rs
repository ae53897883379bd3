//! Plain text.

use super::Head;
use super::Placed;
use super::who;
use crate::Item;
use crate::NoteKind;
use crate::hostile::clean;

pub(super) struct Text;

impl Text {
    pub(super) fn begin(head: &Head, out: &mut String) -> Text {
        out.push_str(&clean(&head.title));
        out.push('\n');
        for (name, value) in &head.facts {
            out.push_str(&format!("{name}: {}\n", clean(value)));
        }
        Text
    }

    pub(super) fn add(&mut self, placed: Placed<'_>, out: &mut String) {
        match placed.item {
            Item::Prompt { text, kind, is_queued, .. } => {
                let who = who(*kind, *is_queued);
                out.push_str(&format!("\n[{}] {who}:\n", placed.turn));
                push_block(out, text);
            }
            Item::Answer { text } => {
                out.push_str("\nClaude:\n");
                push_block(out, text);
            }
            Item::Call { name, about, .. } => {
                out.push_str(&format!("\n> {} {}\n", clean(name), clean(about)));
            }
            Item::Result { is_error, .. } => {
                if *is_error {
                    out.push_str("(failed)\n");
                }
                push_block(out, &placed.item.result_text());
            }
            Item::Note { kind: NoteKind::Meta, .. } | Item::Thinking { .. } => {}
            Item::Note { text, .. } => out.push_str(&format!("\n({})\n", clean(text).trim())),
        }
    }
}

fn push_block(out: &mut String, text: &str) {
    for line in clean(text.trim_end()).lines() {
        out.push_str("  ");
        out.push_str(line);
        out.push('\n');
    }
}
