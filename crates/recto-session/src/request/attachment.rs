//! What is sent for an attachment.

use std::borrow::Cow;

use recto_log::Entry;
use recto_log::json::Value;
use recto_log::json::write_string;

use super::Generation;
use super::client_text::AMBIENT;
use super::client_text::CONCURRENCY;
use super::client_text::DEFERRED_TOOLS;
use super::client_text::EDITED;
use super::client_text::EDITED_NEWEST;
use super::client_text::NOTIFICATION;
use super::client_text::PLAN_MODE;
use super::client_text::QUEUED;
use super::client_text::QUEUED_NEWEST;
use super::client_text::QUEUED_OLDEST;
use super::client_text::READING;
use super::client_text::TASK_REMINDER;
use super::client_text::TRUNCATED;
use super::client_text::wrap;
use super::render::Rules;

/// A text for the model.
pub(super) struct Told {
    /// Whether newer models get it as a message of the system.
    pub(super) is_for_system: bool,
    /// The text, as a reminder.
    pub(super) text: String,
}

/// The texts that are sent for an attachment.
pub(super) fn texts(entry: &Entry<'_>, rules: &Rules) -> Vec<Told> {
    let generation = rules.generation;
    match generation {
        Generation::V2_0_0 | Generation::V2_0_76 | Generation::V2_1_0 => {
            return texts_of_newer_log(entry, rules);
        }
        Generation::V2_1_100 | Generation::V2_1_200 | Generation::V2_1_300 => {}
    }
    let rendered = entry.get("rendered").filter(|value| value.is_array());
    if let (Generation::V2_1_300, Some(rendered)) = (generation, rendered) {
        let role = entry.str("renderedRole");
        let is_for_system = role.is_none_or(|role| role.is_empty() || role == "system");
        let texts = rendered.elements().filter_map(|text| text.get("content")?.as_str());
        return texts.map(|text| Told { is_for_system, text: text.into_owned() }).collect();
    }
    let text = entry.get("attachment").and_then(|attachment| text_of(attachment, rules));
    text.map(|text| Told { is_for_system: true, text: wrap(&text) }).into_iter().collect()
}

/// What clients know that write no attachments themselves.
fn texts_of_newer_log(entry: &Entry<'_>, rules: &Rules) -> Vec<Told> {
    let Some(attachment) = entry.get("attachment") else { return Vec::new() };
    let since = match entry.subtype().as_deref() {
        Some(
            "edited_text_file"
            | "file"
            | "hook_additional_context"
            | "hook_blocking_error"
            | "hook_success"
            | "plan_mode"
            | "queued_command",
        ) => Generation::V2_0_0,
        Some("plan_mode_exit") => Generation::V2_0_76,
        Some("skill_listing") => Generation::V2_1_0,
        Some(_) | None => return Vec::new(),
    };
    let texts: Vec<String> = match entry.subtype().as_deref() {
        Some(_) | None if rules.generation < since => Vec::new(),
        Some("file") => file_in_two_parts(attachment).into_iter().flatten().collect(),
        Some(_) | None => text_of(attachment, rules).into_iter().collect(),
    };
    texts.iter().map(|text| Told { is_for_system: false, text: wrap(text) }).collect()
}

/// The text for an attachment whose text the log does not keep.
fn text_of(attachment: Value<'_>, rules: &Rules) -> Option<String> {
    let is_newest = rules.generation == Generation::V2_1_300;
    let get = |name| attachment.str(name).unwrap_or_default();
    let is = |name| attachment.get(name).is_some_and(is_truthy);
    Some(match attachment.str("type")?.as_ref() {
        "agent_listing_delta" => agent_listing(attachment),
        "skill_listing" => format!(
            "The following skills are available for use with the Skill tool:\n\n{}",
            get("content")
        ),
        "deferred_tools_delta" => {
            let added = texts_of(attachment.get("addedLines"));
            if added.is_empty() || !texts_of(attachment.get("removedNames")).is_empty() {
                return None;
            }
            [DEFERRED_TOOLS, &added.join("\n")].concat()
        }
        // Newer models are not reminded any more.
        "task_reminder" if is_newest && rules.has_system_turns => return None,
        "task_reminder" => TASK_REMINDER.into(),
        "hook_success" => {
            let is_told = matches!(get("hookEvent").as_ref(), "SessionStart" | "UserPromptSubmit");
            let content = attachment.str("content").filter(|text| is_told && !text.is_empty())?;
            format!("{} hook success: {content}", get("hookName"))
        }
        "hook_additional_context" => {
            let content = texts_of(attachment.get("content")).join("\n");
            format!("{} hook additional context: {content}", get("hookName"))
        }
        "hook_blocking_error" => {
            let error = attachment.get("blockingError")?;
            format!(
                "{} hook blocking error from command: \"{}\": {}",
                get("hookName"),
                error.str("command").unwrap_or_default(),
                error.str("blockingError").unwrap_or_default()
            )
        }
        "edited_text_file" => {
            let edited = if is_newest { EDITED_NEWEST } else { EDITED };
            format!("Note: {}{edited}{}", get("filename"), get("snippet"))
        }
        "file" => file(attachment)?,
        "queued_command" if get("commandMode") == "task-notification" => {
            format!("{NOTIFICATION}\n{}", get("prompt"))
        }
        "queued_command" => {
            let [before, after] = match rules.generation {
                Generation::V2_0_0 | Generation::V2_0_76 => QUEUED_OLDEST,
                Generation::V2_1_0 | Generation::V2_1_100 | Generation::V2_1_200 => QUEUED,
                Generation::V2_1_300 => [QUEUED[0], QUEUED_NEWEST],
            };
            [before, &get("prompt"), after].concat()
        }
        "plan_mode" => PLAN_MODE.into(),
        "plan_mode_exit" => {
            let mut text = String::from(
                "## Exited Plan Mode\n\nYou have exited plan mode. You can now make edits, run tools, and take actions.",
            );
            if is("planExists") {
                let path = get("planFilePath");
                text +=
                    &format!(" The plan file is located at {path} if you need to reference it.");
            }
            text
        }
        _ => return None,
    })
}

/// What is told of a result that does not hold the whole of a file.
pub(super) fn truncation(entry: &Entry<'_>) -> Option<Told> {
    let file = entry.get("toolUseResult")?.get("file")?;
    if file.get("truncatedByTokenCap").and_then(Value::as_bool) != Some(true) {
        return None;
    }
    let number = |name| file.get(name).and_then(Value::as_u64);
    let text = format!(
        "[Truncated: PARTIAL view — {}: showing {} of {} lines. {TRUNCATED}]",
        file.str("filePath")?,
        number("numLines")?,
        number("totalLines")?
    );
    Some(Told { is_for_system: true, text: wrap(&text) })
}

fn agent_listing(attachment: Value<'_>) -> String {
    let is = |name| attachment.get(name).is_some_and(is_truthy);
    let is_initial = is("isInitial");
    let mut parts = Vec::new();
    let added = texts_of(attachment.get("addedLines"));
    if !added.is_empty() {
        let head = if is_initial {
            "Available agent types for the Agent tool:"
        } else {
            "New agent types are now available for the Agent tool:"
        };
        parts.push(format!("{head}\n{}", added.join("\n")));
    }
    let removed = texts_of(attachment.get("removedTypes"));
    if !removed.is_empty() {
        let removed: Vec<String> = removed.iter().map(|name| format!("- {name}")).collect();
        let head = "The following agent types are no longer available:";
        parts.push(format!("{head}\n{}", removed.join("\n")));
    }
    let mut text = parts.join("\n\n");
    if !is_initial {
        text += AMBIENT;
    } else if is("showConcurrencyNote") {
        text += CONCURRENCY;
    }
    text
}

/// A file that the user named in a prompt, as if the model had read it.
fn file(attachment: Value<'_>) -> Option<String> {
    let lines = file_lines(attachment, |number, line| format!("{number}\t{line}"))?;
    Some(format!("{}\n{RESULT_OF_READ}\n{}", call_of_read(attachment), lines.join("\n")))
}

/// The same in the words of clients before 2.1.100: the call, and the result as a
/// JSON string.
fn file_in_two_parts(attachment: Value<'_>) -> Option<[String; 2]> {
    let lines = file_lines(attachment, |number, line| format!("{number:>6}→{line}"))?;
    let result = json_string(&[&lines.join("\n"), "\n\n", &wrap(READING), "\n"].concat());
    Some([call_of_read(attachment), format!("{RESULT_OF_READ} {result}")])
}

fn call_of_read(attachment: Value<'_>) -> String {
    let path = json_string(&attachment.str("filename").unwrap_or_default());
    format!("Called the Read tool with the following input: {{\"file_path\":{path}}}")
}

const RESULT_OF_READ: &str = "Result of calling the Read tool:";

/// The lines of an attached file of text.
fn file_lines(
    attachment: Value<'_>,
    numbered: impl Fn(u64, &str) -> String,
) -> Option<Vec<String>> {
    let content = attachment
        .get("content")
        .filter(|content| content.str("type").is_some_and(|kind| kind == "text"))?;
    let file = content.get("file")?;
    let start = file.get("startLine").and_then(Value::as_u64).unwrap_or(1);
    let lines = file.str("content")?;
    Some(lines.split('\n').zip(start..).map(|(line, number)| numbered(number, line)).collect())
}

fn json_string(text: &str) -> String {
    let mut json = Vec::new();
    write_string(&mut json, text);
    String::from_utf8_lossy(&json).into_owned()
}

fn texts_of(list: Option<Value<'_>>) -> Vec<Cow<'_, str>> {
    list.into_iter().flat_map(Value::elements).filter_map(Value::as_str).collect()
}

/// Whether JavaScript takes a value for a yes.
fn is_truthy(value: Value<'_>) -> bool {
    !matches!(value.bytes(), b"false" | b"null" | b"0" | b"\"\"")
}
