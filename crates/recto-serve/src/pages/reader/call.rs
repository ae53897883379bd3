//! A tool call: folded, with what it was given and what came of it.

use maud::Markup;
use maud::html;
use serde_json::Value;

use super::items::rest;
use super::media::media;
use super::turn::Look;
use crate::pages::ansi;
use crate::pages::format::duration;
use crate::pages::format::plural;
use crate::pages::format::short;
use crate::pages::format::size;
use crate::pages::text::markdown;
use crate::pages::text::one_line;
use crate::pages::text::shown;
use recto_view::DiffRow;
use recto_view::Input;
use recto_view::ItemKind;
use recto_view::ItemRow;
use recto_view::ResultRow;
use recto_view::encoded;

pub(super) fn call(look: &Look<'_>, item: &ItemRow) -> Markup {
    let ItemKind::Call { tool, about, input, input_rest, outcome, .. } = &item.what else {
        return html! {};
    };
    let came = outcome.as_ref().and_then(|outcome| outcome.result.as_ref());
    let duration_ms = outcome.as_ref().and_then(|outcome| outcome.duration_ms);
    let agent = outcome.as_ref().and_then(|outcome| outcome.agent.as_ref());
    let failed = came.is_some_and(|came| came.is_error);
    let diff = came.and_then(|came| came.diff.as_ref());
    html! {
        details.fold.call .failed[failed] .is-error[failed] data-line=(item.line) data-tool=(shown(tool)) open[item.media.iter().any(|one| one.is_image)] {
            summary {
                span.fold-name { bdi { (shown(tool)) } }
                code.cut.about { bdi { (one_line(about, 240)) } }
                span.call-facts {
                    @if let Some(diff) = diff {
                        span.ins-count { "+" (diff.added) }
                        span.del-count { "−" (diff.removed) }
                    }
                    @if let Some(milliseconds) = duration_ms {
                        span { (duration(milliseconds)) }
                    }
                    @match came {
                        None => span.tag.warn { "no result" },
                        Some(came) if came.is_error => span.tag.bad { "failed" },
                        Some(came) => span { (size(came.text.bytes as u64)) },
                    }
                }
            }
            div.fold-body {
                (given(tool, about, input, input_rest.as_deref(), diff.is_some() && !failed))
                @if let Some(agent) = agent {
                    (thread(look, agent))
                }
                @if let Some(came) = came {
                    (result(came, language_of(input).as_deref()))
                    (media(&item.media, came.pictures))
                }
            }
        }
        @if let Some(agent) = agent {
            (card(look, agent, input))
        }
    }
}

/// A subagent at a glance: its name, what it did, and the way to its thread.
fn card(look: &Look<'_>, agent: &str, input: &Input) -> Markup {
    let given = serde_json::from_str::<Value>(&input.text).unwrap_or_default();
    let text = |name: &str| given[name].as_str().map(|text| one_line(text, 120));
    let mut runs = look.reading.session().facts().agents.iter();
    let run = runs.find(|run| run.agent.as_ref().is_some_and(|id| id.as_str() == agent));
    html! {
        div.agent-card {
            span.tag.violet { bdi { (text("subagent_type").unwrap_or_else(|| "Subagent".to_owned())) } }
            strong.cut { bdi { (text("description").unwrap_or_else(|| shown(agent))) } }
            span.agent-facts {
                @if let Some(calls) = run.and_then(|run| run.tools) { span { (plural(calls, "call")) } }
                @if let Some(milliseconds) = run.and_then(|run| run.milliseconds) { span { (duration(milliseconds)) } }
                @if let Some(tokens) = run.and_then(|run| run.tokens) { span { (short(tokens)) " tokens" } }
                span data-cost-agent=(shown(agent)) {}
            }
            a.button.small href=(format!("/session/{}/agent/{}", look.log.session, encoded(agent))) { "Open thread" }
        }
    }
}

/// A subagent, as a thread inside the call that started it.
fn thread(look: &Look<'_>, agent: &str) -> Markup {
    let address = format!("/session/{}/agent/{}", look.log.session, encoded(agent));
    html! {
        details.thread {
            summary { span.fold-name { "Subagent" } code.cut { bdi { (shown(agent)) } } }
            div.thread-body {
                a.more href=(address) data-more=(format!("{address}/turns")) { "Read its log" }
            }
        }
    }
}

/// Arguments that a diff says again.
const IN_DIFF: [&str; 4] = ["old_string", "new_string", "content", "edits"];

/// What the tool was given. Arguments are JSON of the model's; where they are cut,
/// or are no object, they are shown as they are.
fn given(tool: &str, about: &str, input: &Input, whole: Option<&str>, has_diff: bool) -> Markup {
    let object = match serde_json::from_str::<Value>(&input.text) {
        Ok(Value::Object(object)) if whole.is_none() => object,
        _ => {
            return html! { pre.scroll tabindex="0" { (shown(&input.text)) } (rest(whole, input.bytes)) };
        }
    };
    let is_told = |name: &str| has_diff && IN_DIFF.contains(&name);
    // What is in the line above is not said again.
    let is_above = |value: &Value| {
        value.as_str().is_some_and(|text| text == about && !text.contains('\n') && text.len() < 200)
    };
    if object.values().all(is_above) {
        return html! {};
    }
    let list = |told: bool| {
        html! {
            dl.given {
                @for (name, value) in object.iter().filter(|(name, value)| is_told(name) == told && !is_above(value)) {
                    div .long[is_long(value)] {
                        dt { bdi { (shown(name)) } }
                        dd { (argument(tool, name, value, &object)) }
                    }
                }
            }
        }
    };
    html! {
        (list(false))
        @if object.keys().any(|name| is_told(name)) {
            details.fold { summary { span.faint { "Raw input" } } (list(true)) }
        }
    }
}

fn is_long(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\n') || text.len() > 90,
        Value::Array(_) | Value::Object(_) => true,
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn argument(tool: &str, name: &str, value: &Value, all: &serde_json::Map<String, Value>) -> Markup {
    if name == "todos"
        && let Value::Array(todos) = value
    {
        return todo_list(todos);
    }
    match value {
        Value::String(text) if name == "plan" || (name == "prompt" && is_long(value)) => html! {
            div.prose { (markdown(text)) }
        },
        Value::String(text) if name == "command" => html! {
            pre.scroll tabindex="0" { code data-language="sh" { (shown(text)) } }
        },
        Value::String(text) if ["content", "old_string", "new_string"].contains(&name) => {
            let language = language_in(all);
            html! { pre.scroll tabindex="0" { code data-language=[language.filter(|_| tool != "Bash")] { (shown(text)) } } }
        }
        Value::String(text) if is_long(value) => {
            html! { pre.scroll tabindex="0" { (shown(text)) } }
        }
        Value::String(text) => html! { code { (shown(text)) } },
        Value::Array(_) | Value::Object(_) => {
            let text = serde_json::to_string_pretty(value).unwrap_or_default();
            html! { pre.scroll tabindex="0" { code data-language="json" { (shown(&text)) } } }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => html! { code { (value.to_string()) } },
    }
}

fn todo_list(todos: &[Value]) -> Markup {
    let text = |todo: &Value, name: &str| todo[name].as_str().unwrap_or_default().to_owned();
    html! {
        ul.todos {
            @for todo in todos {
                @let status = text(todo, "status");
                li data-status=(shown(&status)) {
                    span.unseen { (shown(&status)) ": " }
                    bdi { (shown(&text(todo, "content"))) }
                }
            }
        }
    }
}

/// What came of a call.
pub(super) fn result(result: &ResultRow, language: Option<&str>) -> Markup {
    html! {
        @if let Some(diff) = &result.diff {
            (diff_markup(diff))
        }
        @if result.diff.is_none() || result.is_error {
            @if result.text.text.is_empty() && result.pictures == 0 {
                p.faint.no-output { "No output" }
            } @else if !result.text.text.is_empty() {
                pre.output.scroll tabindex="0" .failed[result.is_error] {
                    code data-language=[language.filter(|_| !result.is_error)] { (ansi::coloured(&result.text.text)) }
                }
            }
            (rest(result.text.rest.as_deref(), result.text.bytes))
        }
        @if let Some(overflow) = &result.overflow {
            p.faint {
                "The whole text was too long for the log"
                @if let Some(bytes) = overflow.bytes { " (" (size(bytes)) ")" }
                @if overflow.path.is_some() { "; its file still exists." } @else { "; its file no longer exists." }
            }
        }
    }
}

fn diff_markup(diff: &DiffRow) -> Markup {
    html! {
        figure.diff {
            figcaption {
                // The path is in the line above.
                a href=(format!("/file?path={}", encoded(&diff.path))) title=(shown(&diff.path)) { "History of this file" }
                span.ins-count { "+" (diff.added) }
                span.del-count { "−" (diff.removed) }
            }
            pre.scroll tabindex="0" {
                @for line in &diff.lines {
                    span .ins[line.starts_with('+')] .del[line.starts_with('-')] { (shown(line)) "\n" }
                }
                @if diff.more > 0 {
                    span.faint { "… " (diff.more) " more lines\n" }
                }
            }
        }
    }
}

/// The language of the file that a call is about, by the end of its name.
fn language_of(input: &Input) -> Option<String> {
    match serde_json::from_str::<Value>(&input.text) {
        Ok(Value::Object(object)) => language_in(&object),
        _ => None,
    }
}

fn language_in(object: &serde_json::Map<String, Value>) -> Option<String> {
    let path = ["file_path", "notebook_path", "path"].iter().find_map(|name| object.get(*name));
    let name = path.and_then(Value::as_str)?.rsplit(['/', '\\']).next()?;
    let (_, end) = name.rsplit_once('.')?;
    let is_plain = end.len() <= 12 && end.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_plain.then(|| end.to_ascii_lowercase())
}
