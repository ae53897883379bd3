//! One thing in a turn.

use maud::Markup;
use maud::html;

use super::call;
use super::media::media;
use super::turn::Look;
use crate::pages::ansi;
use crate::pages::format::size;
use crate::pages::text::markdown;
use crate::pages::text::one_line;
use crate::pages::text::shown;
use recto_view::ItemKind;
use recto_view::ItemRow;
use recto_view::Text;

/// Each has the number of its line, so that a link to a line finds it.
pub(super) fn item(look: &Look<'_>, item: &ItemRow) -> Markup {
    let line = item.line;
    match &item.what {
        ItemKind::Prompt { text, pictures, kind, queued } => html! {
            div.prompt data-kind=(kind) data-line=(line) { (prompt(text, kind, *queued)) (media(&item.media, *pictures)) }
        },
        ItemKind::Answer { text } => html! {
            div.answer.prose data-line=(line) { (markdown(&text.text)) (rest_of(text)) }
        },
        ItemKind::Thinking { text } if text.text.is_empty() => html! {
            p.thinking.faint data-line=(line) { "Thinking, hidden by the model" }
        },
        ItemKind::Thinking { text } => html! {
            details.fold.thinking data-line=(line) {
                summary { span.fold-name { "Thinking" } span.cut.faint { (one_line(&text.text, 160)) } }
                div.fold-body.plain dir="auto" { (shown(&text.text)) (rest_of(text)) }
            }
        },
        ItemKind::Call { .. } => call::call(look, item),
        ItemKind::Result { result, .. } => html! {
            details.fold.call .failed[result.is_error] data-line=(line) {
                summary { span.fold-name { "Result without a call" } }
                div.fold-body { (call::result(result, None)) (media(&item.media, result.pictures)) }
            }
        },
        ItemKind::Note { kind, text } => {
            html! { div.noted data-line=(line) { (note(look, kind, text)) (media(&item.media, 0)) } }
        }
    }
}

fn prompt(text: &Text, kind: &str, queued: bool) -> Markup {
    let who = match kind {
        "agent" => "Task",
        "command" => "Command",
        "bash" => "Shell",
        _ => "You",
    };
    html! {
        span.who { (who) @if queued { " · typed while it worked" } }
        @if kind == "bash" || kind == "command" {
            code.plain { (shown(&text.text)) }
        } @else {
            div.plain dir="auto" { (shown(text.text.trim_end())) }
        }
        (rest_of(text))
    }
}

fn note(look: &Look<'_>, kind: &str, text: &Text) -> Markup {
    match kind {
        "compaction" => html! {
            div.compaction role="separator" { span { (shown(&text.text)) } }
        },
        "summary" => html! {
            details.fold.summary-note {
                summary { span.fold-name { "Summary" } span.cut.faint { "the summary that the model got of the conversation so far" } }
                div.fold-body.prose { (markdown(&text.text)) (rest_of(text)) }
            }
        },
        "output" => html! {
            pre.output.scroll tabindex="0" { (ansi::coloured(&text.text)) }
            (rest_of(text))
        },
        _ => html! {
            p.note data-kind=(kind) .is-error[kind == "api-error" || kind == "damage"] {
                @if kind == "damage" {
                    a.tag.bad href=(format!("/health#{}", look.log.session)) title="Problems in this log" { "damage" }
                } @else {
                    span.tag .bad[kind == "api-error"] .warn[kind == "interrupt" || kind == "hook"] { (kind.replace('-', " ")) }
                }
                span.plain dir="auto" { (shown(&text.text)) }
                (rest_of(text))
            }
        },
    }
}

fn rest_of(text: &Text) -> Markup {
    rest(text.rest.as_deref(), text.bytes)
}

/// A link to the whole of a text that is cut. The script puts it into the page.
pub(super) fn rest(address: Option<&str>, bytes: usize) -> Markup {
    html! {
        @if let Some(address) = address {
            a.rest href=(address) data-rest { "Show all, " (size(bytes as u64)) }
        }
    }
}
