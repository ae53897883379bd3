//! Lines of subagents inside the `progress` lines of their parent's log.
//!
//! Clients 2.1.0 to 2.1.99 report what a subagent says in the log of the session that
//! started it. Where the subagent's own log is gone, this is all that is left of it.

use std::borrow::Cow;

use crate::AgentId;
use crate::Entry;
use crate::Kind;
use crate::RawLine;
use crate::json::Value;

/// What a `progress` line tells of a subagent.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AgentProgress<'a> {
    /// The subagent.
    pub agent: AgentId,
    /// The call that started it.
    pub call: Option<Cow<'a, str>>,
    /// The subagent's line, as a line of its own: it has the number of the line that holds
    /// it, and its own place in the file.
    pub line: RawLine<'a>,
}

impl<'a> Entry<'a> {
    /// What a progress line tells of a subagent.
    pub fn agent_progress(&self) -> Option<AgentProgress<'a>> {
        AgentProgress::of(self)
    }
}

impl<'a> AgentProgress<'a> {
    fn of(entry: &Entry<'a>) -> Option<AgentProgress<'a>> {
        if entry.kind() != Kind::Progress {
            return None;
        }
        let (mut agent, mut message) = (None, None);
        for member in entry.progress()?.members() {
            match member.raw_key {
                b"agentId" => agent = member.value.as_str(),
                b"message" => message = Some(member.value).filter(|value| value.is_object()),
                _ => {}
            }
        }
        Some(AgentProgress {
            agent: agent?.parse().ok()?,
            call: entry.str("parentToolUseID").filter(|call| !call.is_empty()),
            line: line_inside(entry.line(), message?)?,
        })
    }
}

/// A value of a line as a line of its own.
fn line_inside<'a>(line: RawLine<'a>, value: Value<'a>) -> Option<RawLine<'a>> {
    let bytes = value.bytes();
    let start = (bytes.as_ptr() as usize).checked_sub(line.bytes.as_ptr() as usize)?;
    // The value is a part of the line, unless something made it anew.
    let is_inside = line.bytes.get(start..start + bytes.len()) == Some(bytes);
    is_inside.then_some(RawLine {
        bytes,
        length: bytes.len() as u64,
        offset: line.offset + start as u64,
        ..line
    })
}

#[cfg(test)]
mod tests {
    use crate::Lines;
    use crate::decode;

    #[test]
    fn a_line_inside_progress_has_its_own_place() {
        let inner = r#"{"type":"assistant","uuid":"i","message":{"id":"m"}}"#;
        let log = format!(
            "{{}}\n{{\"type\":\"progress\",\"parentToolUseID\":\"t\",\"data\":{{\"message\":{inner},\"type\":\"agent_progress\",\"agentId\":\"a1\"}}}}\n"
        );
        let line = Lines::new(log.as_bytes()).nth(1).unwrap();
        let entry = decode(line).0;
        let told = entry.agent_progress().unwrap();
        assert_eq!(told.agent.as_str(), "a1");
        assert_eq!(told.call.as_deref(), Some("t"));
        assert_eq!(told.line.bytes, inner.as_bytes());
        assert_eq!(told.line.number, 2);
        let place = told.line.offset as usize;
        assert_eq!(&log[place..place + told.line.length as usize], inner);
    }

    #[test]
    fn other_progress_tells_nothing_of_a_subagent() {
        for line in [
            r#"{"type":"progress","data":{"type":"bash_progress","output":"x"}}"#,
            r#"{"type":"progress","data":{"type":"agent_progress","message":{}}}"#,
            r#"{"type":"progress","data":{"type":"agent_progress","message":"x","agentId":"a"}}"#,
            r#"{"type":"progress","data":{"agentId":"../a","message":{}}}"#,
            r#"{"type":"user","data":{"agentId":"a","message":{}}}"#,
            r#"{"type":"progress"}"#,
        ] {
            let entry = decode(crate::RawLine::alone(line.as_bytes())).0;
            assert!(entry.agent_progress().is_none(), "{line}");
        }
    }
}
