//! Single fixes, on logs of a few lines.

use std::collections::BTreeSet;

use recto_session::edit::Rewrite;
use recto_session::edit::repair::Clients;
use recto_session::edit::repair::Fix;
use recto_session::edit::repair::FoundLine;
use recto_session::edit::repair::RepairOptions;
use recto_session::edit::repair::repair;
use serde_json::Value;
use serde_json::json;

use crate::edit::manuscript;
use crate::edit::written;

const OWN: &str = "22222222-2222-4222-8222-222222222222";

fn log(lines: &[Value]) -> Vec<u8> {
    lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes()
}

/// A user line at a second.
fn user(uuid: &str, parent: &str, second: u32, content: Value) -> Value {
    let parent = if parent.is_empty() { Value::Null } else { parent.into() };
    json!({"type": "user", "uuid": uuid, "parentUuid": parent, "version": "2.0.50",
        "timestamp": format!("2026-01-01T00:00:{second:02}.000Z"), "sessionId": OWN,
        "message": {"role": "user", "content": content}})
}

/// An assistant line at a second.
fn answer(uuid: &str, parent: &str, second: u32, message: &str, content: Value) -> Value {
    let mut line = user(uuid, parent, second, content);
    line["type"] = "assistant".into();
    line["message"]["role"] = "assistant".into();
    line["message"]["id"] = message.into();
    line["message"]["model"] = "claude".into();
    line
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

fn call(id: &str) -> Value {
    json!([{"type": "tool_use", "id": id, "name": "Bash", "input": {}}])
}

fn result(id: &str) -> Value {
    json!([{"type": "tool_result", "tool_use_id": id, "content": "ok"}])
}

/// The fixes that are made, and the lines of the new log.
fn fixed(log: &[u8], only: &[Fix], elsewhere: &[Value]) -> (Vec<Fix>, Vec<Value>) {
    let source = manuscript(log);
    let found = |uuid: &recto_log::EntryUuid| {
        let line = elsewhere.iter().find(|line| line["uuid"] == uuid.to_string())?;
        Some(FoundLine { bytes: line.to_string().into_bytes(), place: "other".into() })
    };
    let options = RepairOptions {
        only: (!only.is_empty()).then(|| only.iter().copied().collect()),
        except: BTreeSet::new(),
        clients: Clients::All,
        own: OWN.parse().unwrap(),
        written: "2026-01-01T00:00:00Z".parse().unwrap(),
        elsewhere: &found,
    };
    let plan = repair(&source, &options, &log).unwrap();
    let bytes = written(&plan.draft, &Rewrite::none(), log);
    let lines = std::str::from_utf8(&bytes).unwrap().lines();
    let lines = lines.map(|line| serde_json::from_str(line).unwrap()).collect();
    (plan.fixes.iter().map(|made| made.fix).collect(), lines)
}

/// The uuids of lines and of what they follow.
fn links(lines: &[Value]) -> Vec<(String, String)> {
    let name = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let lines = lines.iter().filter(|line| line["uuid"].is_string());
    lines.map(|line| (name(&line["uuid"]), name(&line["parentUuid"]))).collect()
}

fn pairs(links: &[(&str, &str)]) -> Vec<(String, String)> {
    links.iter().map(|(uuid, parent)| ((*uuid).into(), (*parent).into())).collect()
}

#[test]
fn an_orphan_is_hung_on_the_line_before_it_of_the_same_answer() {
    let log = log(&[
        user("p", "", 0, "x".into()),
        answer("t", "p", 10, "m", text("a")),
        user("q", "p", 20, "left".into()),
        answer("u", "gone", 30, "m", text("b")),
    ]);
    let (fixes, lines) = fixed(&log, &[Fix::MissingParent], &[]);
    assert_eq!(fixes, [Fix::MissingParent]);
    assert_eq!(links(&lines), pairs(&[("p", ""), ("t", "p"), ("q", "p"), ("u", "t")]));
}

#[test]
fn a_result_is_hung_on_its_call() {
    let log = log(&[
        user("p", "", 0, "x".into()),
        answer("u", "p", 10, "m", call("c1")),
        answer("v", "u", 11, "m", call("c2")),
        user("r", "v", 20, result("c2")),
        user("s", "gone", 40, result("c1")),
    ]);
    let (_, lines) = fixed(&log, &[Fix::MissingParent], &[]);
    assert_eq!(links(&lines)[4], ("s".into(), "u".into()));
}

#[test]
fn a_line_of_this_session_is_put_back_and_one_of_a_subagent_is_passed() {
    let source = log(&[user("p", "", 0, "x".into()), user("q", "gone", 30, "y".into())]);
    let own = answer("gone", "p", 10, "m", text("a"));
    let (_, lines) = fixed(&source, &[], std::slice::from_ref(&own));
    assert_eq!(links(&lines), pairs(&[("p", ""), ("gone", "p"), ("q", "gone")]));
    let mut other = own;
    other["isSidechain"] = true.into();
    other["agentId"] = "a123".into();
    let (_, lines) = fixed(&source, &[], &[other]);
    assert_eq!(links(&lines), pairs(&[("p", ""), ("q", "p")]));
}

#[test]
fn lines_with_one_uuid_stay_if_they_are_different() {
    let log = log(&[
        user("p", "", 0, "x".into()),
        answer("d", "p", 1, "m", text("one")),
        user("q", "d", 2, "y".into()),
        answer("d", "q", 3, "n", text("two")),
        user("e", "d", 4, "z".into()),
    ]);
    let (fixes, lines) = fixed(&log, &[], &[]);
    assert_eq!(fixes, [Fix::RepeatedUuid]);
    let new = lines[1]["uuid"].as_str().unwrap();
    let expected = [("p", ""), (new, "p"), ("q", new), ("d", "q"), ("e", "d")];
    assert_eq!(links(&lines), pairs(&expected));
}

#[test]
fn of_two_forms_of_a_line_the_later_stays_at_the_place_of_the_first() {
    let log = log(&[
        user("p", "", 0, "old".into()),
        answer("a", "p", 1, "m", text("one")),
        user("p", "", 0, "new".into()),
    ]);
    let (fixes, lines) = fixed(&log, &[], &[]);
    assert_eq!(fixes, [Fix::RepeatedUuid]);
    assert_eq!(links(&lines), pairs(&[("p", ""), ("a", "p")]));
    assert_eq!(lines[0]["message"]["content"], "new");
}

#[test]
fn a_line_without_a_uuid_comes_back_into_the_chain() {
    let mut nameless = answer("", "p", 1, "m", text("one"));
    nameless.as_object_mut().unwrap().remove("uuid");
    let log = log(&[user("p", "", 0, "x".into()), nameless, user("q", "gone", 2, "y".into())]);
    let (_, lines) = fixed(&log, &[], &[]);
    let new = lines[1]["uuid"].as_str().unwrap();
    assert_eq!(links(&lines), pairs(&[("p", ""), (new, "p"), ("q", new)]));
}

#[test]
fn fields_that_a_client_needs_are_filled_in() {
    let mut timeless = answer("b", "a", 0, "m", text("two"));
    timeless.as_object_mut().unwrap().remove("timestamp");
    timeless["message"].as_object_mut().unwrap().remove("model");
    timeless["message"].as_object_mut().unwrap().remove("id");
    let mut silent = user("s", "b", 2, Value::Null);
    silent.as_object_mut().unwrap().remove("message");
    let log = log(&[
        user("p", "", 0, "x".into()),
        answer("a", "p", 1, "m", "a string".into()),
        timeless,
        silent,
        user("q", "s", 3, "y".into()),
    ]);
    let (fixes, lines) = fixed(&log, &[], &[]);
    let expected = [Fix::NoContent, Fix::TextAnswer, Fix::MissingTime, Fix::MessageId, Fix::Model];
    assert_eq!(fixes, expected);
    assert_eq!(links(&lines), pairs(&[("p", ""), ("a", "p"), ("b", "a"), ("q", "b")]));
    assert_eq!(lines[1]["message"]["content"], text("a string"));
    assert_eq!(lines[2]["timestamp"], "2026-01-01T00:00:01.001Z");
    assert_eq!(lines[2]["message"]["id"], "m");
    assert_eq!(lines[2]["message"]["model"], "claude");
}

#[test]
fn blocks_that_the_api_refuses_go() {
    let thinking = json!({"type": "thinking", "thinking": "hm"});
    let log = log(&[
        user("p", "", 0, "x".into()),
        answer("a", "p", 1, "m", json!([thinking, {"type": "text", "text": "said"}])),
        answer("b", "a", 2, "m", json!([{"type": "text", "text": " "}, call("c")[0]])),
        user("r", "b", 3, result("c")),
        user("s", "r", 4, result("c")),
        user("t", "s", 5, result("unknown")),
        answer("d", "t", 6, "n", text("done")),
    ]);
    let (fixes, lines) = fixed(&log, &[], &[]);
    let fixes: BTreeSet<Fix> = fixes.into_iter().collect();
    let expected =
        [Fix::ResultWithoutCall, Fix::SecondResult, Fix::BlankText, Fix::UnsignedThinking];
    assert_eq!(fixes, expected.into());
    let links_left = [("p", ""), ("a", "p"), ("b", "a"), ("r", "b"), ("d", "r")];
    assert_eq!(links(&lines), pairs(&links_left));
    assert_eq!(lines[1]["message"]["content"], text("said"));
    assert_eq!(lines[2]["message"]["content"], call("c"));
}

#[test]
fn open_calls_and_other_sessions_are_changed_only_if_asked_for() {
    let mut foreign = user("p", "", 0, "x".into());
    foreign["sessionId"] = "11111111-1111-4111-8111-111111111111".into();
    let lines = [
        foreign,
        answer("u", "p", 1, "m", call("c")),
        user("q", "u", 2, "y".into()),
        answer("a", "q", 3, "n", text("z")),
    ];
    let (fixes, lines) = fixed(&log(&lines), &[Fix::OtherSession, Fix::CallWithoutResult], &[]);
    assert_eq!(fixes, [Fix::OtherSession, Fix::CallWithoutResult]);
    assert_eq!(lines[0]["sessionId"], OWN);
    assert_eq!(links(&lines), pairs(&[("p", ""), ("q", "p"), ("a", "q")]));
}

#[test]
fn half_characters_and_marks_go() {
    let text = String::from_utf8(log(&[user("p", "", 0, "x HALF".into())])).unwrap();
    let marked = format!("{{}}\n\u{feff}{}", text.replace("HALF", "\\ud83d"));
    let (fixes, lines) = fixed(marked.as_bytes(), &[], &[]);
    assert_eq!(fixes, [Fix::ByteOrderMark, Fix::LoneSurrogate]);
    assert_eq!(lines[1]["message"]["content"], "x \u{fffd}");
}

#[test]
fn every_fix_has_a_name_of_its_own() {
    let names: BTreeSet<&str> = Fix::ALL.iter().map(|fix| fix.name()).collect();
    assert_eq!(names.len(), Fix::ALL.len());
    for fix in Fix::ALL {
        assert_eq!(Fix::from_name(fix.name()), Some(fix));
    }
    assert_eq!(Fix::from_name("other"), None);
}
