//! The prompts in a main log, without reading it as a session.
//!
//! Few lines of a log are prompts. Which ones can be is told from raw bytes, so
//! that only those are decoded and all logs of a home are asked in little time.

use std::path::Path;

use jiff::Timestamp;
use memchr::memmem;
use recto_log::EntryUuid;
use recto_log::LineReader;
use recto_log::UserText;
use recto_log::classify_user;
use recto_log::decode;
use recto_log::typed_text;
use recto_session::PromptQueue;
use recto_session::QueuedPrompt;
use recto_store::StoreError;
use recto_store::open_file;

/// A prompt as its log has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LogPrompt {
    /// The line's id, which a copy of the log shares.
    pub(crate) uuid: Option<EntryUuid>,
    /// When it was written.
    pub(crate) time: Option<Timestamp>,
    /// The working directory.
    pub(crate) project: Option<String>,
    /// The whole text.
    pub(crate) text: String,
}

/// Gives the prompts of a log to `take`, in the order of the log. Only what a
/// person or a script asked is a prompt: no commands, results or subagents' tasks.
/// What was typed while the model worked is one too, where only the queue tells it.
pub(crate) fn read_prompts(path: &Path, mut take: impl FnMut(LogPrompt)) -> Result<(), StoreError> {
    let user = memmem::Finder::new(br#""type":"user""#);
    // In a text the quotation marks have backslashes before them.
    let result = memmem::Finder::new(br#""type":"tool_result""#);
    let operation = memmem::Finder::new(br#""type":"queue-operation""#);
    let mut queue = PromptQueue::default();
    let mut project = None;
    // The last prompt, which the next line may continue.
    let mut begun: Option<LogPrompt> = None;
    let mut lines = LineReader::new(open_file(path)?);
    while let Some(line) = lines.next_line()? {
        let is_user = user.find(line.bytes).is_some() && result.find(line.bytes).is_none();
        if !is_user && queue.is_empty() && operation.find(line.bytes).is_none() {
            continue;
        }
        let (entry, _) = decode(line);
        for prompt in queue.next(&entry) {
            begun.take().into_iter().for_each(&mut take);
            take(of_queue(prompt, &project));
        }
        if let Some(cwd) = entry.str("cwd") {
            project = Some(cwd.into_owned());
        }
        if !is_user || classify_user(&entry) != UserText::Human {
            continue;
        }
        let Some(message) = entry.message() else { continue };
        let text = typed_text(&message.content().text()).into_owned();
        // A prompt that was written as several lines is one.
        if let Some(begun) = &mut begun
            && begun.time.is_some()
            && (&begun.uuid, begun.time) == (&entry.parent_uuid(), entry.timestamp())
        {
            begun.text = format!("{}\n{text}", begun.text);
            begun.uuid = entry.uuid();
            continue;
        }
        let next = LogPrompt {
            uuid: entry.uuid(),
            time: entry.timestamp(),
            project: entry.str("cwd").map(|cwd| cwd.into_owned()),
            text,
        };
        begun.replace(next).into_iter().for_each(&mut take);
    }
    begun.into_iter().for_each(&mut take);
    for prompt in queue.rest() {
        take(of_queue(prompt, &project));
    }
    Ok(())
}

/// Lines of the queue have no id and no directory.
fn of_queue(prompt: QueuedPrompt, project: &Option<String>) -> LogPrompt {
    let QueuedPrompt { time, text, .. } = prompt;
    LogPrompt { uuid: None, time, project: project.clone(), text }
}

#[cfg(test)]
mod tests {
    use fs_err as fs;

    use super::*;

    #[test]
    fn only_prompts_are_given() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log.jsonl");
        let lines = [
            r#"{"type":"mode","mode":"x"}"#,
            r#"{"type":"user","uuid":"u1","cwd":"/app","timestamp":"2026-11-16T08:00:00Z","message":{"content":"write \"type\":\"tool_result\""}}"#,
            r#"{"type":"user","uuid":"u2","message":{"content":[{"type":"tool_result","tool_use_id":"t"}]}}"#,
            r#"{"type":"user","uuid":"u3","message":{"content":"<command-name>/cost</command-name>"}}"#,
            r#"{"type":"user","uuid":"u4","isMeta":true,"message":{"content":"meta"}}"#,
            r#"{"type":"user","uuid":"u5","isSidechain":true,"message":{"content":"task"}}"#,
            r#"{"type":"assistant","uuid":"u6","message":{"content":"\"type\":\"user\""}}"#,
            r#"{"type":"queue-operation","operation":"enqueue","content":"more","timestamp":"2026-11-16T08:01:00Z"}"#,
            r#"{"type":"queue-operation","operation":"remove"}"#,
            r#"{"type":"queue-operation","operation":"enqueue","content":"told"}"#,
            r#"{"type":"queue-operation","operation":"remove"}"#,
            r#"{"type":"attachment","uuid":"q","attachment":{"type":"queued_command","prompt":"told"}}"#,
            r#"{"type":"assistant","uuid":"u7","message":{"content":"x"}}"#,
            r#"{"type":"user","#,
        ];
        fs::write(&path, lines.join("\n")).unwrap();
        let mut prompts = Vec::new();
        read_prompts(&path, |prompt| prompts.push(prompt)).unwrap();
        let [prompt, queued] = &prompts[..] else { panic!("{prompts:?}") };
        assert_eq!((queued.text.as_str(), queued.project.as_deref()), ("more", Some("/app")));
        assert_eq!(queued.time, Some("2026-11-16T08:01:00Z".parse().unwrap()));
        assert_eq!(prompt.text, "write \"type\":\"tool_result\"");
        assert_eq!(prompt.project.as_deref(), Some("/app"));
        assert_eq!(prompt.time, Some("2026-11-16T08:00:00Z".parse().unwrap()));
    }
}
