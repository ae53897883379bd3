//! Markdown.

use super::Head;
use super::Placed;
use super::fence;
use super::who;
use crate::Item;
use crate::NoteKind;
use crate::hostile::clean;

pub(super) struct Markdown;

impl Markdown {
    pub(super) fn begin(head: &Head, out: &mut String) -> Markdown {
        out.push_str(&format!("# {}\n\n", one_line(&head.title)));
        for (name, value) in &head.facts {
            out.push_str(&format!("- {name}: `{}`\n", one_line(value).replace('`', "'")));
        }
        Markdown
    }

    pub(super) fn add(&mut self, placed: Placed<'_>, out: &mut String) {
        match placed.item {
            Item::Prompt { text, kind, pictures, is_queued } => {
                let who = who(*kind, *is_queued);
                out.push_str(&format!("\n## {}. {who}\n\n", placed.turn));
                // A quote keeps headings and fences of the prompt inside.
                for line in clean(text.trim_end()).lines() {
                    out.push_str(format!("> {line}").trim_end());
                    out.push('\n');
                }
                if *pictures > 0 {
                    out.push_str(&format!("\n*({pictures} images)*\n"));
                }
            }
            Item::Answer { text } => out.push_str(&format!("\n{}\n", clean(text.trim_end()))),
            Item::Thinking { text } if !text.is_empty() => {
                out.push_str(&folded("thinking", &clean(text)));
            }
            Item::Thinking { .. } => {}
            Item::Call { name, about, .. } => {
                out.push_str(&format!(
                    "\n**{}** `{}`\n",
                    one_line(name),
                    one_line(about).replace('`', "'")
                ));
            }
            Item::Result { diff: Some(diff), .. } => {
                let lines = diff.lines.join("\n");
                let text = clean(&lines);
                let fence = fence(&text);
                out.push_str(&format!("\n{fence}diff\n{text}\n{fence}\n"));
            }
            Item::Result { is_error, .. } => {
                let text = placed.item.result_text();
                let label = if *is_error { "failed" } else { "result" };
                out.push_str(&folded(label, &clean(&text)));
            }
            Item::Note { kind: NoteKind::Meta, .. } => {}
            Item::Note { kind: NoteKind::Summary, text } => {
                out.push_str(&folded("summary of the conversation so far", &clean(text)));
            }
            Item::Note { text, .. } => {
                out.push_str(&format!("\n*{}*\n", one_line(text).replace('*', "·")))
            }
        }
    }
}

/// Text that opens on demand, in a fence that it cannot break.
fn folded(label: &str, text: &str) -> String {
    let fence = fence(text);
    format!(
        "\n<details><summary>{label}</summary>\n\n{fence}\n{}\n{fence}\n\n</details>\n",
        text.trim_end()
    )
}

fn one_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}
