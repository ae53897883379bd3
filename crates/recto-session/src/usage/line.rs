//! What one line says about usage, and which lines need not be looked at.

use std::borrow::Cow;

use jiff::Timestamp;
use memchr::memmem::Finder;
use recto_log::AgentId;
use recto_log::AgentProgress;
use recto_log::Block;
use recto_log::Entry;
use recto_log::Kind;
use recto_log::decode;
use recto_log::json::Value;
use sha2::Digest as _;
use sha2::Sha256;

use super::Counts;
use super::RecordFlags;
use super::Seen;

/// In every key that counts tokens, of messages (`input_tokens`) and of
/// `cost-state` lines (`inputTokens`), and not in `message`, as `usage` nearly is.
const IN_EVERY_COUNT: &[u8] = b"okens\"";

/// Finds lines that can matter. The bytes alone do not tell, so what is found is decoded
/// and its type looked at.
pub fn may_matter() -> Finder<'static> {
    Finder::new(IN_EVERY_COUNT)
}

/// What an assistant line says about its message.
#[derive(Debug, Clone)]
pub struct UsageLine<'a> {
    /// The same for all lines and copies of a message, and for no other.
    pub key: u128,
    /// The model.
    pub model: Option<Cow<'a, str>>,
    /// The time.
    pub time: Option<Timestamp>,
    /// The numbers.
    pub counts: Counts,
    /// What is to be said about them.
    pub flags: RecordFlags,
    /// The working directory.
    pub cwd: Option<Cow<'a, str>>,
    /// The git branch.
    pub branch: Option<Cow<'a, str>>,
    /// The session, by the line's own word.
    pub session: Option<Cow<'a, str>>,
    /// The subagent, if a progress line of its parent tells of the message.
    pub agent: Option<AgentId>,
    /// The id of the message, as the log has it.
    pub id: Option<Cow<'a, str>>,
    /// How many bytes the blocks take.
    pub content_bytes: u32,
}

impl<'a> UsageLine<'a> {
    /// `None` for a line that stands for no answer of a model: of another kind,
    /// of an API error, made up by the client, or without usage. A progress line can hold
    /// the answer of a subagent, which then counts like a line of its own log.
    pub fn of(entry: &Entry<'a>) -> Option<UsageLine<'a>> {
        match entry.agent_progress() {
            Some(told) => UsageLine::told(entry, told),
            None => UsageLine::own(entry, entry),
        }
    }

    /// What a progress line tells of a message. It says where and for whom, the line inside
    /// does not.
    fn told(entry: &Entry<'a>, told: AgentProgress<'a>) -> Option<UsageLine<'a>> {
        let mut line = UsageLine::own(&decode(told.line).0, entry)?;
        line.time = line.time.or_else(|| entry.timestamp());
        line.agent = Some(told.agent);
        line.flags.add(RecordFlags::TOLD);
        Some(line)
    }

    /// What a line says; `around` is the line of the log, which can hold it.
    fn own(entry: &Entry<'a>, around: &Entry<'a>) -> Option<UsageLine<'a>> {
        if entry.kind() != Kind::Assistant || entry.is_api_error() {
            return None;
        }
        let message = entry.message()?;
        if message.is_synthetic() {
            return None;
        }
        let (counts, mut flags) = Counts::of(message.usage_value()?)?;
        let object = message.object();
        let id = object.str("id").filter(|id| !id.is_empty());
        if id.is_none() {
            flags.add(RecordFlags::NO_ID);
        }
        match object.get("stop_reason").is_some_and(Value::is_string) {
            true => flags.add(RecordFlags::HAS_STOP),
            false if around.version().is_some_and(|version| is_under_reporting(&version)) => {
                flags.add(RecordFlags::UNDER_REPORTED);
            }
            false => {}
        }
        let content = object.get("content").map_or(0, |content| content.bytes().len());
        Some(UsageLine {
            key: key(entry, id.as_deref()),
            model: message.model(),
            time: entry.timestamp(),
            counts,
            flags,
            cwd: around.cwd(),
            branch: around.git_branch(),
            session: around.session_id(),
            agent: None,
            id,
            content_bytes: u32::try_from(content).unwrap_or(u32::MAX),
        })
    }

    /// How far the message had come.
    pub(crate) fn seen(&self) -> Seen {
        Seen {
            has_stop: self.flags.has(RecordFlags::HAS_STOP),
            output: u64::from(self.counts.output),
        }
    }
}

/// The tools that a line calls.
pub(super) fn tools_of(entry: &Entry<'_>) -> Vec<String> {
    let told = entry.agent_progress().map(|told| decode(told.line).0);
    let Some(message) = told.as_ref().unwrap_or(entry).message() else { return Vec::new() };
    let blocks = message.content().blocks();
    let calls = blocks.filter(|block| matches!(block, Block::ToolUse { .. }));
    calls.filter_map(|call| call.name().map(Cow::into_owned)).collect()
}

/// A message is known by its id and its request. Without an id each line counts
/// for itself, and copies of it are known by its uuid, or else by its bytes.
fn key(entry: &Entry<'_>, id: Option<&str>) -> u128 {
    let mut hash = Sha256::new();
    match (id, entry.str("uuid")) {
        (Some(id), _) => {
            hash.update(id.as_bytes());
            if let Some(request) = entry.str("requestId") {
                hash.update([0]);
                hash.update(request.as_bytes());
            }
        }
        (None, Some(uuid)) => hash.update(uuid.as_bytes()),
        (None, None) => hash.update(entry.bytes()),
    }
    let digest = hash.finalize();
    digest.iter().take(16).fold(0, |key, byte| (key << 8) | u128::from(*byte))
}

/// Whether a client of this version writes lines before it knows how many
/// tokens the answer has, and never writes them again.
fn is_under_reporting(version: &str) -> bool {
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().ok());
    let mut next = || numbers.next().flatten();
    let (Some(major), Some(minor), Some(patch)) = (next(), next(), next()) else { return false };
    ((2, 0, 50)..=(2, 1, 29)).contains(&(major, minor, patch))
}

#[cfg(test)]
mod tests {
    use recto_log::RawLine;
    use recto_log::decode;

    use super::*;

    #[test]
    fn versions_that_under_report_are_a_range() {
        for version in ["2.0.50", "2.0.76", "2.1.0", "2.1.29"] {
            assert!(is_under_reporting(version), "{version}");
        }
        for version in ["2.0.49", "1.0.128", "2.1.30", "2.1.325", "3.0.0", "", "2.1", "x.y.z"] {
            assert!(!is_under_reporting(version), "{version}");
        }
    }

    #[test]
    fn answers_of_a_model_count_and_nothing_else() {
        let read = |line: &str| {
            let line = line.replace("USAGE", r#""usage":{"input_tokens":1,"output_tokens":2}"#);
            assert!(may_matter().find(line.as_bytes()).is_some(), "{line}");
            UsageLine::of(&decode(RawLine::alone(line.as_bytes())).0).is_some()
        };
        assert!(read(r#"{"type":"assistant","message":{"id":"m","model":"claude-x",USAGE}}"#));
        assert!(read(r#"{"type":"assistant","message":{USAGE}}"#));
        assert!(read(r#"{"type":"assistant","message":{},USAGE}"#), "usage beside the message");
        assert!(!read(r#"{"type":"user","message":{USAGE}}"#));
        assert!(!read(r#"{"type":"assistant","message":{"model":"<synthetic>",USAGE}}"#));
        assert!(!read(r#"{"type":"assistant","isApiErrorMessage":true,"message":{USAGE}}"#));
        let embedded = r#"{"type":"assistant","message":{"id":"m",USAGE}}"#;
        let progress = |agent: &str| {
            format!(r#"{{"type":"progress","data":{{{agent}"message":{embedded}}}}}"#)
        };
        assert!(!read(&progress("")), "nobody's");
        assert!(read(&progress(r#""agentId":"a1","#)), "a subagent's");
        assert!(!read(r#"{"type":"assistant","message":{"id":"m",USAGE}"#), "torn");
    }

    #[test]
    fn a_message_inside_progress_is_that_of_the_subagents_log() {
        let inner = r#"{"type":"assistant","requestId":"r","timestamp":"2026-01-01T00:00:00Z","message":{"id":"m","model":"x","usage":{"output_tokens":7},"content":[{"type":"tool_use","name":"Glob"}]}}"#;
        let outer = format!(
            r#"{{"type":"progress","sessionId":"s","cwd":"/w","gitBranch":"b","version":"2.1.20","data":{{"message":{inner},"agentId":"a1"}}}}"#
        );
        let (outer, _) = decode(RawLine::alone(outer.as_bytes()));
        let told = UsageLine::of(&outer).unwrap();
        let own = UsageLine::of(&decode(RawLine::alone(inner.as_bytes())).0).unwrap();
        assert_eq!((told.key, told.time, told.counts), (own.key, own.time, own.counts));
        assert_eq!(told.agent.map(|agent| agent.to_string()).as_deref(), Some("a1"));
        assert_eq!((told.session.as_deref(), told.cwd.as_deref()), (Some("s"), Some("/w")));
        assert!(told.flags.has(RecordFlags::TOLD) && told.flags.has(RecordFlags::UNDER_REPORTED));
        assert_eq!(tools_of(&outer), ["Glob"]);
    }

    #[test]
    fn a_message_is_known_by_its_id_and_its_request() {
        let key = |about: &str| {
            let line = format!(r#"{{"type":"assistant",{about},"usage":{{"input_tokens":1}}}}"#);
            UsageLine::of(&decode(RawLine::alone(line.as_bytes())).0).unwrap().key
        };
        let first = key(r#""uuid":"a","requestId":"r","message":{"id":"m"}"#);
        assert_eq!(first, key(r#""uuid":"b","requestId":"r","message":{"id":"m"}"#));
        assert_ne!(first, key(r#""uuid":"a","requestId":"s","message":{"id":"m"}"#));
        assert_ne!(first, key(r#""uuid":"a","requestId":"r","message":{"id":"n"}"#));
        let bare = key(r#""uuid":"a","message":{}"#);
        assert_eq!(bare, key(r#""uuid":"a","cwd":"/other","message":{"id":""}"#));
        assert_ne!(bare, key(r#""uuid":"b","message":{}"#));
        assert_ne!(key(r#""cwd":"/a","message":{}"#), key(r#""cwd":"/b","message":{}"#));
    }
}
