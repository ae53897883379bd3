//! Lines to entries.

use std::borrow::Cow;

use jiff::Timestamp;
use memchr::memchr;

use crate::AgentId;
use crate::Attachment;
use crate::EntryUuid;
use crate::Kind;
use crate::Message;
use crate::Problem;
use crate::ProblemKind;
use crate::RawLine;
use crate::RequestId;
use crate::System;
use crate::ToolResult;
use crate::json::Object;
use crate::json::SyntaxError;
use crate::json::Value;
use crate::json::byte_kinds;
use crate::json::skip_space;
use crate::schema;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Why a line is [`Kind::Opaque`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OpaqueReason {
    /// It is no JSON.
    NotJson,
    /// It is JSON, but no object.
    NotObject,
    /// It is longer than the cap, or has more keys than are held.
    TooLong,
}

/// One line of a log, whatever it is.
///
/// An entry borrows the line and keeps it whole: [`Entry::bytes`] is always
/// what was read.
#[derive(Debug, Clone)]
pub struct Entry<'a> {
    line: RawLine<'a>,
    kind: Kind,
    object: Object<'a>,
    opaque: Option<OpaqueReason>,
    is_utf8: bool,
}

/// Reads a line. It never fails: what is wrong comes as a list beside the entry.
pub fn decode(line: RawLine<'_>) -> (Entry<'_>, Vec<Problem>) {
    let mut problems = Problems { line, found: Vec::new() };
    let entry = decode_line(line, &mut problems);
    (entry, problems.found)
}

/// The problems of one line. Most lines have none and allocate nothing.
struct Problems<'a> {
    line: RawLine<'a>,
    found: Vec<Problem>,
}

impl Problems<'_> {
    fn add(&mut self, kind: ProblemKind, detail: impl Into<String>) {
        let RawLine { number, offset, .. } = self.line;
        self.found.push(Problem { line: number, offset, kind, detail: detail.into() });
    }
}

fn decode_line<'a>(line: RawLine<'a>, problems: &mut Problems<'a>) -> Entry<'a> {
    let empty =
        |kind, opaque| Entry { line, kind, object: Object::default(), opaque, is_utf8: true };
    let opaque = |reason| empty(Kind::Opaque, Some(reason));
    if line.is_cut() {
        problems.add(ProblemKind::LineTooLong, format!("{} bytes", line.length));
        return opaque(OpaqueReason::TooLong);
    }
    let mut text = line.bytes;
    if let Some(rest) = text.strip_prefix(BYTE_ORDER_MARK) {
        problems.add(ProblemKind::ByteOrderMark, "");
        text = rest;
    }
    if skip_space(text, 0) == text.len() {
        return empty(Kind::Blank, None);
    }
    let kinds = byte_kinds(text);
    let object = match Object::parse_by_kinds(text, kinds) {
        Ok(object) => object,
        Err(error) => {
            if let Ok(value) = Value::parse(text) {
                if value.is_object() {
                    let most = Object::MOST_MEMBERS;
                    problems.add(ProblemKind::LineTooLong, format!("more than {most} keys"));
                    return opaque(OpaqueReason::TooLong);
                }
                problems.add(ProblemKind::NotObject, "");
                return opaque(OpaqueReason::NotObject);
            }
            let kind = if memchr(0, text).is_some() {
                ProblemKind::NulBytes
            } else if second_object(text, error).is_some() {
                ProblemKind::GluedLine
            } else if line.terminated {
                ProblemKind::NotJson
            } else {
                ProblemKind::TornLine
            };
            problems.add(kind, error.to_string());
            return opaque(OpaqueReason::NotJson);
        }
    };
    let utf8 = if kinds.is_ascii { Ok("") } else { std::str::from_utf8(text) };
    if let Err(error) = utf8 {
        problems.add(ProblemKind::InvalidUtf8, format!("at byte {}", error.valid_up_to()));
    }
    if let Some(key) = object.duplicate_key() {
        problems.add(ProblemKind::DuplicateKey, key);
    }
    let kind = match object.str("type") {
        Some(name) => {
            let kind = Kind::from_type(&name);
            if kind == Kind::Unknown {
                problems.add(ProblemKind::UnknownType, name);
            }
            kind
        }
        None => {
            problems.add(ProblemKind::NoType, "");
            Kind::Unknown
        }
    };
    let entry = Entry { line, kind, object, opaque: None, is_utf8: utf8.is_ok() };
    if let Some(subtype) = entry.subtype()
        && !schema::is_known_subtype(kind, &subtype)
    {
        problems.add(ProblemKind::UnknownSubtype, format!("{}/{subtype}", kind.name()));
    }
    if matches!(kind, Kind::User | Kind::Assistant)
        && !entry.get("message").is_some_and(Value::is_object)
    {
        problems.add(ProblemKind::NoMessage, "");
    }
    entry
}

/// Where another object begins after one that is whole.
fn second_object(text: &[u8], error: SyntaxError) -> Option<usize> {
    let is_whole = error.is_after_the_end();
    (is_whole && text.get(error.at) == Some(&b'{')).then_some(error.at)
}

impl<'a> Entry<'a> {
    /// Whether two objects stand on the line, of which some clients read the first.
    pub fn is_glued(&self) -> bool {
        self.first_of_glued().is_some()
    }

    /// Of two objects on the line, the first as a line of its own.
    pub fn first_of_glued(&self) -> Option<RawLine<'a>> {
        let first = self.first_object()?;
        (self.bytes().get(first.bytes.len()) == Some(&b'{')).then_some(first)
    }

    /// The object that begins the line, as a line of its own, if something else follows
    /// it there.
    pub fn first_object(&self) -> Option<RawLine<'a>> {
        if self.opaque != Some(OpaqueReason::NotJson) {
            return None;
        }
        let bytes = self.bytes();
        let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        let error = Object::parse(text).err().filter(SyntaxError::is_after_the_end)?;
        let first = &bytes[..bytes.len() - text.len() + error.at];
        Some(RawLine { bytes: first, length: first.len() as u64, ..self.line })
    }

    /// What the line is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Why the line is opaque, if it is.
    pub fn opaque_reason(&self) -> Option<OpaqueReason> {
        self.opaque
    }

    /// The line that was read.
    pub fn line(&self) -> RawLine<'a> {
        self.line
    }

    /// The bytes that were read, without the line end. This is also how an
    /// untouched entry is written.
    pub fn bytes(&self) -> &'a [u8] {
        self.line.bytes
    }

    /// Whether the line is UTF-8 throughout. An opaque line is not looked at.
    pub fn is_utf8(&self) -> bool {
        self.is_utf8
    }

    /// All fields of the line, in order.
    pub fn object(&self) -> &Object<'a> {
        &self.object
    }

    /// One field of the line, as it is in the log.
    pub fn get(&self, name: &str) -> Option<Value<'a>> {
        self.object.get(name)
    }

    /// One string field of the line.
    pub fn str(&self, name: &str) -> Option<Cow<'a, str>> {
        self.object.str(name)
    }

    /// The `type` as it is in the log.
    pub fn type_name(&self) -> Option<Cow<'a, str>> {
        self.str("type")
    }

    /// What the line is in more detail: `subtype` of a system line, the type of
    /// an attachment or of progress data, the operation of a queue line.
    pub fn subtype(&self) -> Option<Cow<'a, str>> {
        match self.kind {
            Kind::System => self.str("subtype"),
            Kind::Attachment => self.get("attachment")?.str("type"),
            Kind::Progress => self.progress()?.str("type"),
            Kind::QueueOperation => self.str("operation"),
            _ => None,
        }
    }

    /// The payload of a progress line; old descriptions call it `progressData`.
    pub fn progress(&self) -> Option<Value<'a>> {
        self.get("data").or_else(|| self.get("progressData"))
    }

    /// The id of the line.
    pub fn uuid(&self) -> Option<EntryUuid> {
        self.uuid_field("uuid")
    }

    /// The line that this one follows. `None` for a root and for lines outside
    /// the chain.
    pub fn parent_uuid(&self) -> Option<EntryUuid> {
        self.uuid_field("parentUuid")
    }

    /// A field that names a line.
    pub fn uuid_field(&self, name: &str) -> Option<EntryUuid> {
        EntryUuid::of(self.get(name)?)
    }

    /// The session that the line says it belongs to. Not reliable: the name of
    /// the file is (forks of old clients keep the old id).
    pub fn session_id(&self) -> Option<Cow<'a, str>> {
        self.str("sessionId")
    }

    /// When the line was written.
    pub fn timestamp(&self) -> Option<Timestamp> {
        crate::timestamp_of(self)
    }

    /// The version of the client that wrote the line.
    pub fn version(&self) -> Option<Cow<'a, str>> {
        self.str("version")
    }

    /// The working directory.
    pub fn cwd(&self) -> Option<Cow<'a, str>> {
        self.str("cwd")
    }

    /// The git branch; `None` where there is none.
    pub fn git_branch(&self) -> Option<Cow<'a, str>> {
        self.str("gitBranch").filter(|branch| !branch.is_empty())
    }

    /// The subagent that the line belongs to.
    pub fn agent_id(&self) -> Option<AgentId> {
        self.str("agentId")?.parse().ok()
    }

    /// The API call that gave the line.
    pub fn request_id(&self) -> Option<RequestId> {
        self.str("requestId").map(|text| RequestId::new(&text))
    }

    /// Whether the line belongs to a subagent.
    pub fn is_sidechain(&self) -> bool {
        self.object.is_true("isSidechain")
    }

    /// Whether the client, not the user, wrote the text. Such lines are sent all the same.
    pub fn is_meta(&self) -> bool {
        self.object.is_true("isMeta")
    }

    /// Whether the line is the summary of a compaction.
    pub fn is_compact_summary(&self) -> bool {
        self.object.is_true("isCompactSummary")
    }

    /// Whether the line stands for a failed API call.
    pub fn is_api_error(&self) -> bool {
        self.object.is_true("isApiErrorMessage")
    }

    /// The API message of a user or assistant line.
    pub fn message(&self) -> Option<Message<'a>> {
        Message::of(self)
    }

    /// What a tool gave, as the client keeps it for itself. The name of the
    /// tool, where the caller knows it, decides between shapes that look alike.
    pub fn tool_result(&self, tool: Option<&str>) -> Option<ToolResult<'a>> {
        Some(ToolResult::of(self.get("toolUseResult")?, tool))
    }

    /// The view of a system line.
    pub fn system(&self) -> Option<System<'a>> {
        System::of(self)
    }

    /// The view of an attachment.
    pub fn attachment(&self) -> Option<Attachment<'a>> {
        Attachment::of(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(line: &[u8]) -> Vec<&'static str> {
        decode(RawLine::alone(line)).1.iter().map(|problem| problem.kind.name()).collect()
    }

    #[test]
    fn each_kind_of_damage_has_its_name() {
        let check = |line: &[u8], expected: &[&str]| {
            assert_eq!(problems(line), expected, "{}", String::from_utf8_lossy(line));
        };
        check(br#"{"type":"summary","summary":"x"}"#, &[]);
        check(b"", &[]);
        check(b" \t\r", &[]);
        check(b"{not json", &["not-json"]);
        check(br#"{"type":"mode"}{"type":"mode"}"#, &["glued-line"]);
        check(br#"{"type":"mode"} {"type":"#, &["glued-line"]);
        check(br#"{"type":"mode"}]"#, &["not-json"]);
        check(br#"{"a":{}{}}"#, &["not-json"]);
        check(b"null", &["not-object"]);
        check(b"[]", &["not-object"]);
        check(b"42\r", &["not-object"]);
        check(b"\0\0\0", &["nul-bytes"]);
        check(b"\xef\xbb\xbf{\"type\":\"mode\"}", &["byte-order-mark"]);
        check(b"{\"type\":\"mode\",\"x\":\"\xff\"}", &["invalid-utf8"]);
        check(br#"{"type":"mode","type":"mode"}"#, &["duplicate-key"]);
        check(br#"{"type":"away_summary"}"#, &["unknown-type"]);
        check(br#"{"type":"system","subtype":"new"}"#, &["unknown-subtype"]);
        check(br#"{"type":"attachment","attachment":{"type":"new"}}"#, &["unknown-subtype"]);
        check(br#"{"a":1}"#, &["no-type"]);
        check(br#"{"type":7}"#, &["no-type"]);
        check(br#"{"type":"user","message":"hi"}"#, &["no-message"]);
    }

    #[test]
    fn a_torn_tail_and_a_long_line_are_told_apart_from_garbage() {
        let torn = RawLine { terminated: false, ..RawLine::alone(b"{\"type\":") };
        assert_eq!(decode(torn).1[0].kind, ProblemKind::TornLine);
        let long = RawLine { length: 1 << 40, ..RawLine::alone(b"{\"type\":") };
        let (entry, problems) = decode(long);
        assert_eq!(entry.opaque_reason(), Some(OpaqueReason::TooLong));
        assert_eq!(problems[0].kind, ProblemKind::LineTooLong);
    }

    #[test]
    fn the_envelope_is_read() {
        let line = br#"{"parentUuid":null,"isSidechain":true,"cwd":"/a\u002fb","gitBranch":"","agentId":"a1b2","type":"user","uuid":"3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718","message":{"role":"user","content":"hi"}}"#;
        let (entry, problems) = decode(RawLine::alone(line));
        assert_eq!(problems, []);
        assert_eq!(entry.kind(), Kind::User);
        assert_eq!(entry.parent_uuid(), None);
        assert_eq!(entry.uuid().unwrap().to_string(), "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718");
        assert_eq!(entry.cwd().unwrap(), "/a/b");
        assert_eq!(entry.git_branch(), None);
        assert!(entry.is_sidechain());
        assert_eq!(entry.agent_id().unwrap().as_str(), "a1b2");
        assert_eq!(entry.bytes(), line);
    }
}
