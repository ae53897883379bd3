//! Messages that endpoints accept, whatever happened to the blocks of a log.
//!
//! A repair looks at lines and at the links between them. It cannot see a byte that changed inside
//! a block: the line is still JSON, but a field has an unknown name or a value of another type, and
//! every request with it would be rejected.

use std::collections::BTreeSet;

use recto_log::Role;
use recto_log::json::Member;
use recto_log::json::ObjectWriter;

use super::sentence::CALL_LOST;
use crate::wire::Block;
use crate::wire::Json;
use crate::wire::KINDS;
use crate::wire::Message;

/// Fields of blocks that endpoints reject with any other.
const TEXT: [&str; 4] = ["type", "text", "citations", "cache_control"];
const RESULT: [&str; 5] = ["type", "tool_use_id", "content", "is_error", "cache_control"];
const CALL: [&str; 6] = ["type", "id", "name", "input", "caller", "cache_control"];

/// The messages without what endpoints reject, and how many blocks that changed. Undamaged
/// messages stay as they are, to the byte.
pub(super) fn sound(messages: Vec<Message>) -> (Vec<Message>, usize) {
    let mut changed = 0;
    let mut sound = Vec::with_capacity(messages.len());
    for message in messages {
        if !matches!(message.role(), Some(Role::User | Role::Assistant)) {
            sound.push(message);
            continue;
        }
        let before = message.blocks();
        let is_prompt = message.role() == Some(Role::User);
        let is_damaged = |block: &Block| is_damaged_kind(&block.kind(), is_prompt);
        let kinds = before.iter().filter(|block| !is_damaged(block));
        let after: Vec<Block> = kinds.filter_map(sound_block).collect();
        let differing = before.len() - after.len()
            + after.iter().filter(|block| !before.contains(block)).count();
        changed += differing;
        match differing {
            0 => sound.push(message),
            // An empty one may have to answer calls: pairing removes it otherwise.
            _ => sound.push(message.with_blocks(&after)),
        }
    }
    if changed > 0 {
        sound = paired(sound);
    }
    (sound, changed)
}

/// Whether a kind cannot be one that an endpoint knows: answers have new kinds as endpoints
/// learn them, but none of one letter's difference; to the model clients send known kinds only.
fn is_damaged_kind(kind: &str, is_prompt: bool) -> bool {
    !KINDS.contains(&kind) && (is_prompt || KINDS.iter().any(|known| is_misspelt(kind, known)))
}

/// Whether one character was changed, lost or added.
fn is_misspelt(kind: &str, known: &str) -> bool {
    let same = |one: &mut dyn Iterator<Item = (u8, u8)>| one.take_while(|(a, b)| a == b).count();
    let first = same(&mut kind.bytes().zip(known.bytes()));
    let last = same(&mut kind.bytes().rev().zip(known.bytes().rev()));
    let longer = kind.len().max(known.len());
    kind.len().abs_diff(known.len()) <= 1 && first + last + 1 >= longer
}

/// The block as an endpoint accepts it; none if too little is left of it.
fn sound_block(block: &Block) -> Option<Block> {
    let json = block.json();
    match block.kind().as_ref() {
        "text" => {
            let is_empty = json.str("text").is_none_or(|text| text.trim().is_empty());
            (!is_empty).then(|| only(json, &TEXT).into())
        }
        "tool_use" => sound_call(json),
        "tool_result" => sound_result(json),
        "server_tool_use" => {
            let has = |name: &str| json.str(name).is_some_and(|text| !text.is_empty());
            (has("id") && has("name")).then(|| block.clone())
        }
        "image" => has_image(json).then(|| block.clone()),
        "" => None,
        _ => Some(block.clone()),
    }
}

fn sound_call(json: &Json) -> Option<Block> {
    let has_name = json.str("name").is_some_and(|name| !name.is_empty());
    if !has_name || !has_id(json, "id") {
        return None;
    }
    let has_input = json.get("input").is_some_and(|input| input.value().is_object());
    Some(match has_input {
        true => json.clone().into(),
        // The input may be there under a name that nothing knows.
        false => only(json, &CALL).with("input", b"{}").into(),
    })
}

fn sound_result(json: &Json) -> Option<Block> {
    if !has_id(json, "tool_use_id") {
        return None;
    }
    let mut result = only(json, &RESULT);
    if json.get("is_error").is_some_and(|flag| flag.value().as_bool().is_none()) {
        result = result.without("is_error");
    }
    let Some(content) = json.get("content") else { return Some(result.into()) };
    let value = content.value();
    if value.is_array() {
        let inner: Vec<Block> = value.elements().map(|part| content.part(part).into()).collect();
        let sound: Vec<Block> = inner.iter().filter(|block| is_content(block)).cloned().collect();
        if sound.len() < inner.len() {
            let array = Message::user(sound).json().get("content");
            result = result.with("content", array.as_ref().map_or(b"[]", Json::bytes));
        }
    } else if value.as_str().is_none() {
        result = result.without("content");
    }
    Some(result.into())
}

/// Whether a block can be part of a result.
fn is_content(block: &Block) -> bool {
    match block.kind().as_ref() {
        "text" => block.json().str("text").is_some(),
        "image" => has_image(block.json()),
        "document" | "search_result" | "tool_reference" => true,
        _ => false,
    }
}

fn has_image(json: &Json) -> bool {
    let Some(source) = json.get("source") else { return false };
    match source.str("type").as_deref() {
        Some("base64") => {
            source.str("media_type").is_some_and(|kind| kind.starts_with("image/"))
                && source.str("data").is_some_and(|data| !data.is_empty())
        }
        Some("url") => source.str("url").is_some(),
        Some("file") => source.str("file_id").is_some(),
        _ => false,
    }
}

/// Whether a member is an id that endpoints accept.
fn has_id(json: &Json, name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    json.str(name).is_some_and(|id| !id.is_empty() && id.bytes().all(is_plain))
}

/// The object with no members but these.
fn only(json: &Json, known: &[&str]) -> Json {
    let is_known = |member: &Member<'_>| known.contains(&member.key().as_ref());
    if json.value().members().all(|member| is_known(&member)) {
        return json.clone();
    }
    let kept = json.value().members().filter(is_known);
    let object = kept.fold(ObjectWriter::new(), |object, member| {
        object.json(&member.key(), member.value.bytes())
    });
    Json::written(object.finish())
}

/// The messages with one result for every call, and one call for every result.
fn paired(messages: Vec<Message>) -> Vec<Message> {
    let mut paired: Vec<Message> = Vec::with_capacity(messages.len());
    let mut pairing = Pairing::default();
    for (at, message) in messages.iter().enumerate() {
        let blocks = message.blocks();
        let kept = match message.role() {
            Some(Role::Assistant) => pairing.calls(&blocks),
            Some(Role::User) => pairing.results(&blocks, &messages[at..]),
            Some(Role::System) | None => blocks.clone(),
        };
        if kept.is_empty() {
            continue;
        }
        if matches!(message.role(), Some(Role::Assistant | Role::User)) {
            pairing.speaker = message.role();
        }
        paired.push(if kept == blocks { message.clone() } else { message.with_blocks(&kept) });
    }
    if pairing.speaker == Some(Role::Assistant) && !pairing.open.is_empty() {
        paired.push(Message::user(pairing.open.iter().map(|id| lost(id))));
    }
    paired
}

/// What is known of calls while messages are read.
#[derive(Default)]
struct Pairing {
    /// The ids of all calls.
    seen: BTreeSet<String>,
    /// The calls of the last answer without a result.
    open: Vec<String>,
    /// Who spoke last.
    speaker: Option<Role>,
}

impl Pairing {
    /// The blocks of an answer, each call once.
    fn calls(&mut self, blocks: &[Block]) -> Vec<Block> {
        if self.speaker == Some(Role::User) {
            self.open.clear();
        }
        let mut kept = Vec::new();
        for block in blocks {
            if let Some(id) = call_of(block) {
                if !self.seen.insert(id.clone()) {
                    continue;
                }
                self.open.push(id);
            }
            kept.push(block.clone());
        }
        kept
    }

    /// The blocks of a message to the model: results of open calls only, and one for each call
    /// whose result is lost. `rest` begins with the message.
    fn results(&mut self, blocks: &[Block], rest: &[Message]) -> Vec<Block> {
        let mut kept = Vec::new();
        if self.speaker == Some(Role::Assistant) {
            let answered = answered_from(rest);
            let is_lost = |id: &&String| !answered.contains(*id);
            kept.extend(self.open.iter().filter(is_lost).map(|id| lost(id)));
            self.open.retain(|id| answered.contains(id));
        }
        for block in blocks {
            if let Some(id) = result_of(block) {
                let Some(place) = self.open.iter().position(|call| *call == id) else { continue };
                self.open.remove(place);
            }
            kept.push(block.clone());
        }
        kept
    }
}

fn lost(id: &str) -> Block {
    Block::tool_result(id, CALL_LOST, true)
}

/// The calls that messages answer before the model speaks again.
fn answered_from(messages: &[Message]) -> BTreeSet<String> {
    let turn = messages.iter().take_while(|message| message.role() != Some(Role::Assistant));
    turn.flat_map(Message::blocks).filter_map(|block| result_of(&block)).collect()
}

fn call_of(block: &Block) -> Option<String> {
    let id = block.json().str("id").filter(|_| block.kind() == "tool_use")?;
    Some(id.into_owned())
}

fn result_of(block: &Block) -> Option<String> {
    let id = block.json().str("tool_use_id").filter(|_| block.kind() == "tool_result")?;
    Some(id.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(json: &str) -> Vec<Message> {
        Message::all_of(json.as_bytes().to_vec()).unwrap()
    }

    fn text(messages: &[Message]) -> String {
        let lines = messages.iter().map(|message| format!("{}\n", message.json()));
        lines.collect::<String>().replace(CALL_LOST, "LOST")
    }

    const WHOLE: &str = r#"[
        {"role":"user","content":"go"},
        {"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Read","input":{},"new":1}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"a"}]}]},
        {"role":"assistant","content":[{"type":"new_kind","x":1}]}
    ]"#;

    #[test]
    fn whole_messages_stay_as_they_are() {
        let before = messages(WHOLE);
        assert_eq!(sound(before.clone()), (before, 0));
    }

    #[test]
    fn a_field_that_lost_its_name_goes() {
        let damaged =
            WHOLE.replace("\"content\":[{\"type\":\"text\"", "\"c?ntent\":[{\"type\":\"text\"");
        let (sound, changed) = sound(messages(&damaged));
        assert_eq!(changed, 1);
        assert_eq!(
            sound[2].json().to_string(),
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1"}]}"#
        );
    }

    #[test]
    fn a_kind_that_no_endpoint_knows_goes() {
        for (damaged, rest) in [
            (WHOLE.replace("tool_result", "tool_reselt"), "is_error"),
            (WHOLE.replace("tool_result", "tool_renullsult"), "is_error"),
        ] {
            let (sound, changed) = sound(messages(&damaged));
            assert_eq!(changed, 1);
            assert!(text(&sound).contains(rest), "{}", text(&sound));
            assert!(text(&sound).contains("new_kind"));
        }
        let damaged = WHOLE.replace("tool_use\"", "tol_use\"");
        assert!(!text(&sound(messages(&damaged)).0).contains("t1"));
    }

    #[test]
    fn calls_and_results_stay_paired_when_one_is_lost() {
        let call = WHOLE.replace(r#""id":"t1""#, r#""id":"t 1""#);
        let result = WHOLE.replace(r#""tool_use_id":"t1""#, r#""tool_use_id":7"#);
        let input = WHOLE.replace(r#""input":{}"#, r#""inpu":{}"#);
        let (call, result, input) =
            (sound(messages(&call)), sound(messages(&result)), sound(messages(&input)));
        assert_eq!((call.1, result.1, input.1), (1, 1, 1));
        assert_eq!(
            text(&call.0),
            r#"{"role":"user","content":"go"}
{"role":"assistant","content":[{"type":"new_kind","x":1}]}
"#
        );
        assert_eq!(
            text(&result.0[2..3]),
            r#"{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"LOST","is_error":true}]}
"#
        );
        assert_eq!(
            text(&input.0[1..2]),
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Read","input":{}}]}
"#
        );
    }
}
