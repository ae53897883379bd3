//! The chain of a log: sound, and reached from the leaf.

use std::collections::HashMap;
use std::collections::HashSet;

use recto_testkit::generate::SessionRow;
use serde_json::Value;

use super::Line;
use super::blocks;

fn links(lines: &[Line]) -> Vec<&Value> {
    lines
        .iter()
        .filter_map(|line| line.value.as_ref())
        .filter(|value| value["uuid"].is_string())
        .collect()
}

fn text<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value[name].as_str()
}

/// Every parent stands earlier in the same file, and no uuid twice: no gaps, no cycles.
pub(super) fn check(lines: &[Line]) {
    let mut seen = HashSet::new();
    for value in links(lines) {
        for name in ["parentUuid", "logicalParentUuid", "sourceToolAssistantUUID"] {
            if let Some(parent) = text(value, name) {
                assert!(seen.contains(parent), "{name} {parent} of {}", lines[0].path);
            }
        }
        assert!(seen.insert(text(value, "uuid").unwrap()), "a uuid twice in {}", lines[0].path);
    }
}

/// Finds the leaf and what belongs to its conversation.
pub(super) fn reach(lines: &[Line], row: &mut SessionRow) {
    let links = links(lines);
    row.chain_lines = links.len() as u64;
    let parents: HashSet<&str> =
        links.iter().filter_map(|value| text(value, "parentUuid")).collect();
    let tips =
        links.iter().filter_map(|value| text(value, "uuid")).filter(|id| !parents.contains(id));
    let tips: Vec<&str> = tips.collect();
    let values = lines.iter().filter_map(|line| line.value.as_ref());
    let mut named = values
        .filter_map(|value| text(value, "leafUuid").filter(|_| value["type"] == "last-prompt"));
    let Some(leaf) = named.next_back().filter(|leaf| tips.contains(leaf)).or(tips.last().copied())
    else {
        return;
    };
    row.leaf = leaf.to_string();
    let by_uuid: HashMap<&str, &Value> =
        links.iter().map(|value| (text(value, "uuid").unwrap(), *value)).collect();
    let mut reached = HashSet::new();
    let mut messages = HashSet::new();
    let mut next = Some(leaf);
    let mut past_boundary = false;
    while let Some(uuid) = next {
        let value = by_uuid[uuid];
        reached.insert(uuid);
        messages.extend(value["message"]["id"].as_str());
        row.walk_lines += u64::from(!past_boundary);
        let parent = text(value, "parentUuid");
        past_boundary |= parent.is_none();
        next = parent.or(text(value, "logicalParentUuid"));
    }
    let mut calls = HashSet::new();
    for value in &links {
        if value["message"]["id"].as_str().is_some_and(|id| messages.contains(id)) {
            reached.insert(text(value, "uuid").unwrap());
            calls.extend(blocks(value).filter_map(|block| block["id"].as_str()));
        }
    }
    for value in &links {
        let mut results = blocks(value).filter_map(|block| block["tool_use_id"].as_str());
        if results.any(|id| calls.contains(id)) {
            reached.insert(text(value, "uuid").unwrap());
        }
    }
    row.reachable_lines = reached.len() as u64;
}
