//! Calls and their results: each call is answered once, in the next turn, before anything else
//! is said.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Turn;

pub(super) fn check(turns: &[Turn<'_>]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    let mut open: BTreeSet<&str> = BTreeSet::new();
    let mut asked_in = 0;
    let last = turns.len().saturating_sub(1);
    for (number, turn) in turns.iter().enumerate() {
        let answered = check_results(turn, &open)?;
        unanswered(asked_in, open.difference(&answered).copied())?;
        open.clear();
        for (number, at, block) in &turn.blocks {
            let Some(id) = id_of(block, "tool_use", "id") else { continue };
            if turn.role != "assistant" {
                let place = format!("messages.{number}.content.{at}");
                return Err(format!(
                    "{place}: `tool_use` blocks can only be in `assistant` messages"
                ));
            }
            if !seen.insert(id) {
                return Err(format!(
                    "messages.{number}.content.{at}: `tool_use` ids must be unique"
                ));
            }
            open.insert(id);
            asked_in = *number;
        }
        check_server_tools(turn, number == last)?;
    }
    unanswered(asked_in, open.iter().copied())
}

/// The calls that a turn answers.
fn check_results<'a>(turn: &Turn<'a>, open: &BTreeSet<&str>) -> Result<BTreeSet<&'a str>, String> {
    let mut answered = BTreeSet::new();
    let mut has_text = false;
    for (number, at, block) in &turn.blocks {
        let place = format!("messages.{number}.content.{at}");
        let Some(id) = id_of(block, "tool_result", "tool_use_id") else {
            has_text = true;
            continue;
        };
        if turn.role != "user" {
            return Err(format!("{place}: `tool_result` blocks can only be in `user` messages"));
        }
        if !answered.insert(id) {
            return Err(format!(
                "{place}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}"
            ));
        }
        if !open.contains(id) {
            return Err(format!(
                "{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            ));
        }
        if has_text {
            return unanswered(*number, std::iter::once(id)).map(|()| answered);
        }
    }
    Ok(answered)
}

/// A call of a tool of the endpoint has its result in the same answer; only the last answer may
/// still wait for it.
fn check_server_tools(turn: &Turn<'_>, is_last: bool) -> Result<(), String> {
    if turn.role != "assistant" || is_last {
        return Ok(());
    }
    let results: BTreeSet<&str> = turn
        .blocks
        .iter()
        .filter(|(_, _, block)| {
            block["type"].as_str().is_some_and(|kind| kind.ends_with("_tool_result"))
        })
        .filter_map(|(_, _, block)| block["tool_use_id"].as_str())
        .collect();
    for (number, _, block) in &turn.blocks {
        let Some(id) = id_of(block, "server_tool_use", "id") else { continue };
        if !results.contains(id) {
            let name = block["name"].as_str().unwrap_or_default();
            return Err(format!(
                "messages.{number}: `{name}` tool use with id `{id}` was found without a corresponding `{name}_tool_result` block"
            ));
        }
    }
    Ok(())
}

fn id_of<'a>(block: &'a Value, kind: &str, field: &str) -> Option<&'a str> {
    block[field].as_str().filter(|_| block["type"] == kind)
}

fn unanswered<'a>(number: usize, ids: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let ids: Vec<&str> = ids.collect();
    if ids.is_empty() {
        return Ok(());
    }
    Err(format!(
        "messages.{number}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        ids.join(", ")
    ))
}
