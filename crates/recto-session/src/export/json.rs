//! The items as JSON: `{"recto":1,"session":{…},"items":[…]}`.

use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_log::json::Value;

use super::Head;
use super::Placed;
use crate::Item;
use crate::Overflow;

pub(super) struct Json {
    is_first: bool,
}

impl Json {
    pub(super) fn begin(head: &Head, out: &mut String) -> Json {
        let mut session = ObjectWriter::new().string("id", &head.id).string("title", &head.title);
        for (name, value) in &head.facts {
            session = session.string(name, value);
        }
        out.push_str("{\"recto\":1,\"session\":");
        push(out, &session.finish());
        out.push_str(",\"items\":[");
        Json { is_first: true }
    }

    pub(super) fn add(&mut self, placed: Placed<'_>, out: &mut String) {
        out.push_str(if self.is_first { "\n" } else { ",\n" });
        self.is_first = false;
        push(out, &item_json(placed).finish());
    }

    pub(super) fn end(self, out: &mut String) {
        out.push_str("\n]}\n");
    }
}

fn push(out: &mut String, json: &[u8]) {
    out.push_str(&String::from_utf8_lossy(json));
}

/// One item as an object.
pub fn item_json(placed: Placed<'_>) -> ObjectWriter {
    let object = ObjectWriter::new()
        .string("item", name_of(placed.item))
        .number("turn", u64::from(placed.turn))
        .number("line", placed.origin.line)
        .string_or_null("uuid", placed.origin.uuid.as_deref())
        .time_or_null("time", placed.origin.time);
    match placed.item {
        Item::Prompt { text, pictures, is_queued, .. } => object
            .string("text", text)
            .number("pictures", *pictures as u64)
            .boolean("queued", *is_queued),
        Item::Answer { text } | Item::Thinking { text } => object.string("text", text),
        Item::Call { id, name, input, .. } => {
            let input = if Value::parse(input).is_ok() { input.as_slice() } else { b"null" };
            object.string("id", id).string("tool", name).json("input", input)
        }
        Item::Result { id, text, pictures, is_error, diff, overflow } => {
            let object = object
                .string("id", id)
                .string("text", text)
                .number("pictures", *pictures as u64)
                .boolean("is_error", *is_error);
            let object = match overflow {
                None => object.json("overflow", b"null"),
                Some(overflow) => object.json("overflow", &overflow_json(overflow).finish()),
            };
            match diff {
                None => object.json("diff", b"null"),
                Some(diff) => {
                    let lines = ArrayWriter::new().strings(&diff.lines);
                    let diff = ObjectWriter::new()
                        .string("path", &diff.path)
                        .number("added", diff.added)
                        .number("removed", diff.removed)
                        .json("lines", &lines.finish());
                    object.json("diff", &diff.finish())
                }
            }
        }
        Item::Note { kind, text } => object.string("kind", kind.name()).string("text", text),
    }
}

/// The file with the whole text of a result, as an object.
fn overflow_json(overflow: &Overflow) -> ObjectWriter {
    ObjectWriter::new()
        .string("name", &overflow.name)
        .string_or_null("path", overflow.path.as_deref())
        .number_or_null("bytes", overflow.bytes)
        .string_or_null("text", overflow.text.as_deref())
}

fn name_of(item: &Item) -> &'static str {
    match item {
        Item::Prompt { .. } => "prompt",
        Item::Answer { .. } => "answer",
        Item::Thinking { .. } => "thinking",
        Item::Call { .. } => "call",
        Item::Result { .. } => "result",
        Item::Note { .. } => "note",
    }
}
