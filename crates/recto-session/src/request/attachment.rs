//! What is sent for an attachment.

use std::borrow::Cow;

use recto_log::Entry;
use recto_log::json::Value;
use recto_log::json::write_string;

use super::Generation;
use super::client_text::AMBIENT;
use super::client_text::CONCURRENCY;
use super::client_text::DATE;
use super::client_text::DATE_NEWEST;
use super::client_text::DEFERRED_TOOLS;
use super::client_text::DISCREET;
use super::client_text::EDITED;
use super::client_text::EDITED_NEWEST;
use super::client_text::NOTIFICATION;
use super::client_text::PLAN_MODE;
use super::client_text::QUEUED;
use super::client_text::QUEUED_NEWEST;
use super::client_text::QUEUED_OLDEST;
use super::client_text::READING;
use super::client_text::RELATED;
use super::client_text::SERVER_INSTRUCTIONS;
use super::client_text::SERVERS_GONE;
use super::client_text::TASK_REMINDER;
use super::client_text::TODO_REMINDER;
use super::client_text::TOOLS_GONE;
use super::client_text::TOOLS_GONE_NEWEST;
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
            "agent_mention"
            | "compact_file_reference"
            | "edited_text_file"
            | "file"
            | "hook_additional_context"
            | "hook_blocking_error"
            | "hook_stopped_continuation"
            | "hook_success"
            | "nested_memory"
            | "opened_file_in_ide"
            | "output_style"
            | "plan_mode"
            | "queued_command"
            | "selected_lines_in_ide"
            | "todo_reminder"
            | "token_usage",
        ) => Generation::V2_0_0,
        Some("plan_mode_exit") => Generation::V2_0_76,
        Some("critical_system_reminder" | "plan_file_reference" | "skill_listing") => {
            Generation::V2_1_0
        }
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
            let removed = match rules.generation {
                Generation::V2_1_300 => TOOLS_GONE_NEWEST,
                _ => TOOLS_GONE,
            };
            let added = texts_of(attachment.get("addedLines"));
            delta(DEFERRED_TOOLS, &added, removed, attachment, rules.generation)?
        }
        "mcp_instructions_delta" => {
            let added = texts_of(attachment.get("addedBlocks"));
            let added = if added.is_empty() { added } else { vec![added.join("\n\n").into()] };
            delta(SERVER_INSTRUCTIONS, &added, SERVERS_GONE, attachment, rules.generation)?
        }
        // Newer models are not reminded any more.
        "task_reminder" if is_newest && rules.model.has_system_turns() => return None,
        "task_reminder" => {
            let tasks = attachment.get("content").into_iter().flat_map(Value::elements);
            let tasks = tasks.map(|task| {
                let get = |name| task.str(name).unwrap_or_default();
                format!("#{}. [{}] {}", get("id"), get("status"), get("subject"))
            });
            with_list(TASK_REMINDER, "\n\nHere are the existing tasks:\n\n", tasks.collect(), "")
        }
        // The newest clients have no such list.
        "todo_reminder" if is_newest => return None,
        "todo_reminder" => {
            let is_discreet = rules.generation < Generation::V2_1_200;
            let reminder = [TODO_REMINDER, if is_discreet { DISCREET } else { "" }, "\n"].concat();
            let todos = attachment.get("content").into_iter().flat_map(Value::elements);
            let todos = todos.zip(1..).map(|(todo, number)| {
                let get = |name| todo.str(name).unwrap_or_default();
                format!("{number}. [{}] {}", get("status"), get("content"))
            });
            let head = "\n\nHere are the existing contents of your todo list:\n\n[";
            with_list(&reminder, head, todos.collect(), "]")
        }
        "date_change" => {
            let after = if is_newest { DATE_NEWEST } else { DATE };
            format!("The date has changed. Today's date is now {}. {after}", get("newDate"))
        }
        "nested_memory" => {
            let memory = attachment.get("content")?;
            let get = |name| memory.str(name).unwrap_or_default();
            format!("Contents of {}:\n\n{}", get("path"), get("content"))
        }
        "compact_file_reference" => format!(
            "Note: {} was read before the last conversation was summarized, but the contents are too large to include. Use Read tool if you need to access it.",
            get("filename")
        ),
        "opened_file_in_ide" => {
            format!("The user opened the file {} in the IDE. {RELATED}", get("filename"))
        }
        "selected_lines_in_ide" => {
            let number = |name| attachment.get(name).and_then(Value::as_u64).unwrap_or_default();
            format!(
                "The user selected the lines {} to {} from {}:\n{}\n\n{RELATED}",
                number("lineStart"),
                number("lineEnd"),
                get("filename"),
                get("content")
            )
        }
        "plan_file_reference" => format!(
            "A plan file exists from plan mode at: {}\n\nPlan contents:\n\n{}\n\nIf this plan is relevant to the current work and not already complete, continue working on it.",
            get("planFilePath"),
            get("planContent")
        ),
        "output_style" => format!(
            "{} output style is active. Remember to follow the specific guidelines for this style.",
            get("style")
        ),
        "agent_mention" => format!(
            "The user has expressed a desire to invoke the agent \"{}\". Please invoke the agent appropriately, passing in the required context to it. ",
            get("agentType")
        ),
        "critical_system_reminder" => get("content").into_owned(),
        "token_usage" => {
            let number = |name| attachment.get(name).and_then(Value::as_u64).unwrap_or_default();
            let (used, total) = (number("used"), number("total"));
            format!("Token usage: {used}/{total}; {} remaining", number("remaining"))
        }
        "hook_stopped_continuation" => {
            format!("{} hook stopped continuation: {}", get("hookName"), get("message"))
        }
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

/// What came and what went, each under its head; `None` if neither did.
fn delta(
    added_head: &str,
    added: &[Cow<'_, str>],
    removed_head: &str,
    attachment: Value<'_>,
    generation: Generation,
) -> Option<String> {
    let removed = texts_of(attachment.get("removedNames"));
    let mut parts = Vec::new();
    if !added.is_empty() {
        parts.push([added_head, &added.join("\n")].concat());
    }
    if !removed.is_empty() {
        parts.push([removed_head, &removed.join("\n")].concat());
    }
    let is_ambient = !removed.is_empty() && generation >= Generation::V2_1_200;
    let ambient = if is_ambient { AMBIENT } else { "" };
    (!parts.is_empty()).then(|| parts.join("\n\n") + ambient)
}

/// A reminder, and what it is about, if that is anything.
fn with_list(reminder: &str, head: &str, list: Vec<String>, end: &str) -> String {
    match list.is_empty() {
        true => reminder.to_owned(),
        false => [reminder, head, &list.join("\n"), end].concat(),
    }
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
