//! Cache breakpoints.

use serde_json::Value;

const MOST: usize = 4;

pub(super) fn check(body: &Value) -> Result<(), String> {
    let mut found = Vec::new();
    let list = |value: &'_ Value| value.as_array().cloned().unwrap_or_default();
    for (at, tool) in list(&body["tools"]).iter().enumerate() {
        found.extend(one(&format!("tools.{at}"), tool)?);
    }
    for (at, block) in list(&body["system"]).iter().enumerate() {
        found.extend(one(&format!("system.{at}"), block)?);
    }
    for (number, message) in body["messages"].as_array().into_iter().flatten().enumerate() {
        for (at, block) in message["content"].as_array().into_iter().flatten().enumerate() {
            let place = format!("messages.{number}.content.{at}");
            found.extend(one(&place, block)?);
            for (inner, block) in block["content"].as_array().into_iter().flatten().enumerate() {
                found.extend(one(&format!("{place}.content.{inner}"), block)?);
            }
        }
    }
    found.extend(one("", body)?);
    if found.len() > MOST {
        return Err(format!(
            "A maximum of {MOST} blocks with cache_control may be provided. Found {}.",
            found.len()
        ));
    }
    let first_short = found.iter().position(|lifetime| *lifetime == Lifetime::Minutes);
    let last_long = found.iter().rposition(|lifetime| *lifetime == Lifetime::Hour);
    match (first_short, last_long) {
        (Some(short), Some(long)) if long > short => {
            Err("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block"
                .into())
        }
        _ => Ok(()),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lifetime {
    Minutes,
    Hour,
}

fn one(place: &str, block: &Value) -> Result<Option<Lifetime>, String> {
    let control = &block["cache_control"];
    if control.is_null() {
        return Ok(None);
    }
    let place = format!("{place}.cache_control");
    let place = place.trim_start_matches('.');
    if control["type"] != "ephemeral" {
        return Err(format!("{place}.type: Input should be 'ephemeral'"));
    }
    match &control["ttl"] {
        Value::Null => Ok(Some(Lifetime::Minutes)),
        Value::String(ttl) if ttl == "5m" => Ok(Some(Lifetime::Minutes)),
        Value::String(ttl) if ttl == "1h" => Ok(Some(Lifetime::Hour)),
        _ => Err(format!("{place}.ephemeral.ttl: Input should be '5m' or '1h'")),
    }
}
