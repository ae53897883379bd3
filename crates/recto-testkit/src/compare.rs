//! Rebuilt messages against those that a client sent, after the normalisations
//! that `docs/concepts/request.md` lists.
//!
//! What was sent may have any shape: what is odd is a difference, not a panic.

use serde_json::Value;
use serde_json::json;
use sha2::Digest;
use sha2::Sha256;

const PLAN_MODE: &str = "[client text: plan mode]";
const READING: &str = "[client text: reading files]";

/// What the client says before everything else: date, instructions.
const FIRST: &str =
    "<system-reminder>\nAs you answer the user's questions, you can use the following context:";

/// What a resuming client announces in the last turn: in a message of the
/// system, or in reminders to the user if the model takes no such messages.
const FRESH: [&str; 18] = [
    "# Environment",
    "## Exited Plan Mode",
    "<total_tokens>",
    "Attribution for git commits",
    "Available agent types for the Agent tool",
    "Instruction files were re-read",
    "The TodoWrite tool hasn't been used recently",
    "The date has changed. Today's date is",
    "The following agent types are no longer available",
    "The following deferred tools are no longer available",
    "The following deferred tools are now available",
    "The following skills are available",
    "The task tools haven't been used recently",
    "Today's date is",
    "You are powered by the model",
    "[client attribution text",
    "[SYSTEM NOTIFICATION - NOT USER INPUT]",
    "[client todo reminder",
];

/// What is different, if anything is: the `messages` that a client sent, and
/// those that were rebuilt.
///
/// ```
/// use recto_testkit::difference;
/// use serde_json::json;
///
/// let sent = json!([{"role": "user", "content": "Hello"}]);
/// let rebuilt = json!([{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]);
/// assert_eq!(difference(&sent, &rebuilt), None);
/// assert!(difference(&sent, &json!([])).is_some());
/// ```
pub fn difference(recorded: &Value, rebuilt: &Value) -> Option<String> {
    let got = normal(rebuilt);
    let want = without_fresh(normal(recorded), &got);
    for at in 0..want.len().max(got.len()) {
        let (want, got) = (want.get(at), got.get(at));
        let is_same = want.zip(got).is_some_and(|(want, got)| same(want, got));
        if !is_same {
            let text = |value: Option<&Value>| value.map_or("nothing".into(), brief);
            return Some(format!("[{at}]\n  want {}\n  got  {}", text(want), text(got)));
        }
    }
    None
}

fn brief(value: &Value) -> String {
    let text = value.to_string();
    if text.len() < 1500 { text } else { text.chars().take(1500).collect::<String>() + "…" }
}

/// N1: no `cache_control`. N2: a string is one text block. N3: the texts that
/// explain plan mode and how to read files have a name.
fn normal(messages: &Value) -> Vec<Value> {
    let mut messages = messages.as_array().cloned().unwrap_or_default();
    for message in &mut messages {
        let Some(content) = message.get_mut("content") else { continue };
        if let Value::String(text) = content {
            *content = json!([{"type": "text", "text": text}]);
        }
        for block in content.as_array_mut().into_iter().flatten() {
            if let Some(block) = block.as_object_mut() {
                block.remove("cache_control");
            }
            if block["type"] == "text" {
                let text = name_plan_mode(text_of(block));
                block["text"] = name_reading(&text).into();
            }
        }
    }
    messages
}

fn name_plan_mode(text: &str) -> String {
    let Some(start) = text.find("Plan mode is active. ") else { return text.into() };
    let last_words = [
        "tie any loose ends before implementation begins.",
        "until the user has confirmed the plan.",
    ];
    let end_of = |words: &&str| Some(start + text[start..].find(words)? + words.len());
    let end = match last_words.iter().find_map(end_of) {
        Some(end) => Some(end),
        None => text[start..].rfind("[client plan mode text ").and_then(|placeholder| {
            let placeholder = start + placeholder;
            Some(placeholder + text[placeholder..].find(']')? + 1)
        }),
    };
    let Some(end) = end else { return text.into() };
    // The line end that joins it with the next text is not part of it.
    let end = end + usize::from(text[end..].starts_with("\n\n"));
    [&text[..start], PLAN_MODE, &text[end..]].concat()
}

/// It stands in a result that is told as a JSON string.
fn name_reading(text: &str) -> String {
    let Some(start) = text.find("Whenever you read a file, you should ") else {
        return text.into();
    };
    let Some(length) = text[start..].find("\\n</system-reminder>") else { return text.into() };
    [&text[..start], READING, &text[start + length..]].concat()
}

/// N4: without what the client says first. N5: without what it announces in
/// the last turn, unless that was rebuilt too.
fn without_fresh(mut messages: Vec<Value>, rebuilt: &[Value]) -> Vec<Value> {
    if let Some(first) = messages.first_mut().filter(|first| first["role"] == "user") {
        let blocks = blocks_mut(first);
        blocks.retain(|block| !text_of(block).starts_with(FIRST));
        if blocks.is_empty() {
            messages.remove(0);
        }
    }
    let is_rebuilt = |block: &Value| {
        let mut blocks = rebuilt.iter().flat_map(blocks);
        blocks.any(|other| same(block, other))
    };
    let is_fresh = |block: &Value, before: &str| {
        let text = text_of(block).strip_prefix(before);
        let is_known = text.is_some_and(|text| FRESH.iter().any(|start| text.starts_with(start)));
        is_known && !is_rebuilt(block)
    };
    let Some(last) = messages.iter().rposition(|message| message["role"] == "user") else {
        return messages;
    };
    let own = blocks_mut(&mut messages[last]);
    for block in own.iter_mut() {
        cut_announcements(block, rebuilt);
    }
    // A text gets a line end where it meets another text, and none where it meets what is
    // announced: with that taken out it meets the other.
    for at in 0..own.len() {
        if is_fresh(&own[at], "<system-reminder>\n") {
            continue;
        }
        let meets_fresh = own.get(at + 1).is_some_and(|next| is_fresh(next, "<system-reminder>\n"));
        let is_plain = !text_of(&own[at]).is_empty() && !text_of(&own[at]).ends_with('\n');
        let text = format!("{}\n", text_of(&own[at]));
        let is_meant = rebuilt.iter().flat_map(blocks).any(|other| text_of(other) == text);
        if meets_fresh && is_plain && is_meant {
            own[at]["text"] = text.into();
        }
    }
    own.retain(|block| !is_fresh(block, "<system-reminder>\n"));
    let tail = messages.split_off(last + 1);
    for mut message in tail {
        if message["role"] == "system" {
            for block in blocks_mut(&mut message) {
                if let Some(text) = rebuilt_part(text_of(block), rebuilt) {
                    block["text"] = text.into();
                }
            }
        }
        let is_first_fresh = blocks(&message).first().is_some_and(|block| is_fresh(block, ""));
        if message["role"] == "system" && is_first_fresh {
            if message.get("output_config").is_none() {
                continue;
            }
            message["content"] = json!([]);
        }
        messages.push(message);
    }
    messages
}

/// Takes what is announced out of a result at the end of a log: the client puts it into its
/// text, and takes white space off both ends before.
fn cut_announcements(block: &mut Value, rebuilt: &[Value]) {
    let is_start = |text: &str| FRESH.iter().any(|start| text.starts_with(start));
    let cut = |text: &str| {
        let mark = "\n\n<system-reminder>\n";
        let place = text.match_indices(mark).map(|(at, _)| at);
        place
            .into_iter()
            .find(|at| is_start(&text[at + mark.len()..]))
            .map(|at| text[..at].to_owned())
    };
    if block["type"] != "tool_result" {
        return;
    }
    let Some(text) = block["content"].as_str().and_then(cut) else { return };
    let id = block["tool_use_id"].clone();
    let mut results = rebuilt.iter().flat_map(blocks).filter(|other| other["tool_use_id"] == id);
    let whole = results.find_map(|other| other["content"].as_str());
    let is_meant = whole.is_some_and(|whole| whole.trim() == text.trim());
    block["content"] = if is_meant { whole.unwrap_or_default().into() } else { text.into() };
}

/// The part of a text that was rebuilt, if all after it is announced afresh.
fn rebuilt_part(text: &str, rebuilt: &[Value]) -> Option<String> {
    let mut known = rebuilt.iter().flat_map(blocks).map(text_of).filter(|known| !known.is_empty());
    let known = known.find(|known| {
        let rest = text.strip_prefix(known).and_then(|rest| rest.strip_prefix("\n\n"));
        rest.is_some_and(|rest| FRESH.iter().any(|start| rest.starts_with(start)))
    });
    known.map(str::to_owned)
}

fn blocks(message: &Value) -> &[Value] {
    message["content"].as_array().map_or(&[], Vec::as_slice)
}

/// The blocks of a message; content of another shape counts as none.
fn blocks_mut(message: &mut Value) -> &mut Vec<Value> {
    let content = &mut message["content"];
    if !content.is_array() {
        *content = json!([]);
    }
    match content {
        Value::Array(blocks) => blocks,
        _ => unreachable!("it was just made an array"),
    }
}

fn text_of(block: &Value) -> &str {
    block["text"].as_str().unwrap_or_default()
}

/// Whether two values are the same, but for texts of the client that fixtures
/// give by their hash (N6).
fn same(want: &Value, got: &Value) -> bool {
    match (want, got) {
        (Value::String(want), Value::String(got)) => same_text(want, got),
        (Value::Array(want), Value::Array(got)) => {
            want.len() == got.len() && want.iter().zip(got).all(|(want, got)| same(want, got))
        }
        (Value::Object(want), Value::Object(got)) => {
            want.len() == got.len()
                && want.iter().all(|(key, want)| got.get(key).is_some_and(|got| same(want, got)))
        }
        _ => want == got,
    }
}

fn same_text(want: &str, got: &str) -> bool {
    if want == got {
        return true;
    }
    let Some(start) = want.find("[client ") else { return false };
    let Some(end) = want[start..].find(']').map(|end| start + end + 1) else { return false };
    let Some(got) = got.strip_prefix(&want[..start]) else { return false };
    let (placeholder, rest) = (&want[start..end], &want[end..]);
    if got.strip_prefix(placeholder).is_some_and(|got| same_text(rest, got)) {
        return true;
    }
    let words = placeholder.trim_end_matches(']');
    let hash = words.rsplit_once(' ').map_or(words, |(_, hash)| hash);
    let ends = got.char_indices().map(|(at, _)| at).chain([got.len()]);
    ends.filter(|end| got[*end..].is_empty() || got[*end..].starts_with('\n'))
        .any(|end| sha256(&got[..end]).starts_with(hash) && same_text(rest, &got[end..]))
}

fn sha256(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_seen() {
        let messages =
            |text: &str| json!([{"role": "user", "content": [{"type": "text", "text": text}]}]);
        assert_eq!(difference(&messages("a"), &messages("a")), None);
        assert_eq!(difference(&json!([{"role": "user", "content": "a"}]), &messages("a")), None);
        assert!(difference(&messages("a"), &messages("a\n")).is_some());
        assert!(difference(&messages("a"), &json!([])).is_some());
        let placeholder = format!("Note: [client text {}]\nx", &sha256("long words")[..6]);
        assert_eq!(difference(&messages(&placeholder), &messages("Note: long words\nx")), None);
        assert!(difference(&messages(&placeholder), &messages("Note: other words\nx")).is_some());
    }

    #[test]
    fn what_is_announced_afresh_in_the_last_turn_is_not_compared() {
        let system = |text: &str| json!([{"role": "user", "content": "a"}, {"role": "system", "content": text}]);
        assert_eq!(difference(&system("b\n\n# Environment\nc"), &system("b")), None);
        assert!(difference(&system("b\n\nelse"), &system("b")).is_some());
        assert_eq!(
            difference(&system("# Environment"), &json!([{"role": "user", "content": "a"}])),
            None
        );
        let user = |blocks: &[&str]| json!([{"role": "user", "content": blocks.iter().map(|text| json!({"type": "text", "text": text})).collect::<Vec<_>>()}]);
        let fresh = "<system-reminder>\nToday's date is 1 May.\n</system-reminder>";
        assert_eq!(difference(&user(&[fresh, "a"]), &user(&["a"])), None);
        assert!(difference(&user(&["<system-reminder>\nelse", "a"]), &user(&["a"])).is_some());
        assert!(difference(&user(&["Today's date is 1 May.", "a"]), &user(&["a"])).is_some());
        // What it meets has no line end, and what it is put into no white space around.
        assert_eq!(difference(&user(&["a", fresh, "b"]), &user(&["a\n", "b"])), None);
        assert!(difference(&user(&["a", "b"]), &user(&["a\n", "b"])).is_some());
        let result = |text: &str| json!([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": text}]}]);
        assert_eq!(difference(&result(&format!("x\n\n{fresh}")), &result("  x")), None);
        assert!(difference(&result(&format!("y\n\n{fresh}")), &result("  x")).is_some());
    }

    #[test]
    fn long_texts_of_the_client_are_compared_by_name() {
        let result = |note: &str| {
            let file = format!("     1→a\n\n<system-reminder>\n{note}\n</system-reminder>\n");
            let text = format!("Result of calling the Read tool: {}", json!(file));
            json!([{"role": "user", "content": text}])
        };
        let said = result("Whenever you read a file, you should be careful.\nVery.");
        assert_eq!(difference(&said, &result(READING)), None);
        assert!(difference(&result("Something else."), &result(READING)).is_some());
    }

    #[test]
    fn odd_shapes_differ_and_do_not_panic() {
        let usual = json!([{"role": "user", "content": "a"}]);
        for odd in [
            json!(null),
            json!(1),
            json!([1]),
            json!([{"role": "user"}]),
            json!([{"role": "user", "content": [1]}]),
            json!([{"role": "assistant", "content": 1}]),
        ] {
            assert!(difference(&odd, &usual).is_some(), "{odd}");
            assert!(difference(&usual, &odd).is_some(), "{odd}");
        }
    }
}
