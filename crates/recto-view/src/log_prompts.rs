//! The prompts in a main log, without reading it as a session.
//!
//! Few lines of a log are prompts. Which ones can be is told from raw bytes, so
//! that only those are decoded and all logs of a home are asked in little time.

use std::path::Path;

use jiff::Timestamp;
use memchr::memmem;
use recto_log::EntryUuid;
use recto_log::LineReader;
use recto_log::RawLine;
use recto_log::UserText;
use recto_log::classify_user;
use recto_log::decode;
use recto_log::typed_text;
use recto_session::PromptQueue;
use recto_session::QueuedPrompt;
use recto_session::Span;
use recto_store::StoreError;
use recto_store::each_line_at;
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
///
/// Those that are `known` are the only lines that are read. Gives the lines that count, for
/// the next time; none if a line is too long to be read again.
pub(crate) fn read_prompts(
    path: &Path,
    known: Option<&[Span]>,
    take: &mut dyn FnMut(LogPrompt),
) -> Result<Option<Vec<Span>>, StoreError> {
    let mut finder = Finder::new();
    if let Some(known) = known {
        each_line_at(path, known, &mut |line| finder.line(line, take))?;
    } else {
        let mut lines = LineReader::new(open_file(path)?);
        while let Some(line) = lines.next_line()? {
            finder.line(line, take);
        }
    }
    Ok(finder.end(take))
}

/// Finds prompts, line by line.
struct Finder {
    user: memmem::Finder<'static>,
    result: memmem::Finder<'static>,
    operation: memmem::Finder<'static>,
    queue: PromptQueue,
    project: Option<String>,
    /// The last prompt, which the next line may continue.
    begun: Option<LogPrompt>,
    /// The lines that were more than passed over.
    lines: Option<Vec<Span>>,
}

impl Finder {
    fn new() -> Finder {
        Finder {
            user: memmem::Finder::new(br#""type":"user""#),
            // In a text the quotation marks have backslashes before them.
            result: memmem::Finder::new(br#""type":"tool_result""#),
            operation: memmem::Finder::new(br#""type":"queue-operation""#),
            queue: PromptQueue::default(),
            project: None,
            begun: None,
            lines: Some(Vec::new()),
        }
    }

    fn line(&mut self, line: RawLine<'_>, take: &mut dyn FnMut(LogPrompt)) {
        let has = |finder: &memmem::Finder<'_>| finder.find(line.bytes).is_some();
        let is_user = has(&self.user) && !has(&self.result);
        if !is_user && self.queue.is_empty() && !has(&self.operation) {
            return;
        }
        if line.is_cut() {
            self.lines = None;
        }
        if let Some(lines) = &mut self.lines {
            lines.push(Span { offset: line.offset, length: line.length });
        }
        let (entry, _) = decode(line);
        for prompt in self.queue.next(&entry) {
            self.begun.take().into_iter().for_each(&mut *take);
            take(of_queue(prompt, &self.project));
        }
        if let Some(cwd) = entry.str("cwd") {
            self.project = Some(cwd.into_owned());
        }
        if !is_user || classify_user(&entry) != UserText::Human {
            return;
        }
        let Some(message) = entry.message() else { return };
        let text = typed_text(&message.content().text()).into_owned();
        // A prompt that was written as several lines is one.
        if let Some(begun) = &mut self.begun
            && begun.time.is_some()
            && (&begun.uuid, begun.time) == (&entry.parent_uuid(), entry.timestamp())
        {
            begun.text = format!("{}\n{text}", begun.text);
            begun.uuid = entry.uuid();
            return;
        }
        let next = LogPrompt {
            uuid: entry.uuid(),
            time: entry.timestamp(),
            project: entry.str("cwd").map(|cwd| cwd.into_owned()),
            text,
        };
        self.begun.replace(next).into_iter().for_each(take);
    }

    fn end(self, take: &mut dyn FnMut(LogPrompt)) -> Option<Vec<Span>> {
        self.begun.into_iter().for_each(&mut *take);
        for prompt in self.queue.rest() {
            take(of_queue(prompt, &self.project));
        }
        self.lines
    }
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
        let lines_of_log = lines.len();
        let mut prompts = Vec::new();
        let lines = read_prompts(&path, None, &mut |prompt| prompts.push(prompt)).unwrap();
        // The lines that count say the same as all of them.
        let read = lines.unwrap();
        assert!(read.len() < lines_of_log, "{read:?}");
        let mut again = Vec::new();
        read_prompts(&path, Some(&read), &mut |prompt| again.push(prompt)).unwrap();
        assert_eq!(again, prompts);
        let [prompt, queued] = &prompts[..] else { panic!("{prompts:?}") };
        assert_eq!((queued.text.as_str(), queued.project.as_deref()), ("more", Some("/app")));
        assert_eq!(queued.time, Some("2026-11-16T08:01:00Z".parse().unwrap()));
        assert_eq!(prompt.text, "write \"type\":\"tool_result\"");
        assert_eq!(prompt.project.as_deref(), Some("/app"));
        assert_eq!(prompt.time, Some("2026-11-16T08:00:00Z".parse().unwrap()));
    }
}
