//! A log for a bug report: the shape stays, the content goes.
//!
//! Every word becomes another word of the same length, made from the seed and the
//! word, so that what was equal stays equal: ids still point to their lines, calls
//! still have their results, a path is the same path everywhere. Line ends, white
//! space, punctuation, numbers and the structure of the JSON stay. Times move by one
//! span. What is kept is listed; all else is replaced, also what recto does not know.

mod words;

use jiff::SignedDuration;
use jiff::Timestamp;
use recto_log::json::Value;
use recto_log::json::write_string;

use crate::redact::strings::Role;
use crate::redact::strings::Text;
use crate::redact::strings::decoded;
use crate::redact::strings::each_string;
use crate::redact::strings::split_mark;
use words::Words;

/// Members whose values come from a small set: what a line is, who speaks, which
/// client and model it was. Kept where they look like a word of such a set.
const SETS: &str = "type subtype role stop_reason stop_sequence userType entrypoint operation \
    permissionMode mode level kind status service_tier inference_geo speed effort perTurnEffort \
    madeBy renderedRole querySource display keep promptSource turnOrigin thinkingDisplay \
    contextRendering decision reasonType source trigger hookEvent platform shell media_type \
    promptCacheRequested toolDenialKind reason output_mode nameSource reminderType";

/// Members that hold the name of a model.
const MODELS: &str = "model modelId requestedModel fallbackModel";

/// Members that hold a version.
const VERSIONS: &str = "version";

/// Members that hold a time.
const TIMES: &str = "timestamp backupTime startTime endTime updatedAt created_at";

/// Tools of the client. Other tools may be named after what they are for.
const TOOLS: &str = "Agent AskUserQuestion Bash BashOutput CronCreate CronDelete CronList Edit \
    EnterPlanMode EnterWorktree ExitPlanMode ExitWorktree Glob Grep KillShell ListAgents LS \
    MultiEdit NotebookEdit NotebookRead Read ScheduleWakeup SendMessage Skill SlashCommand Task \
    TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate TodoRead TodoWrite ToolSearch \
    WebFetch WebSearch Write";

/// Keys that tools of the client use in what they are given and give back.
const TOOL_KEYS: &str = "activeForm agentId agentType answers args base64 bash_id cell_id code \
    command completed content description dimensions durationMs edits events file filePath \
    file_path filename filenames files glob header height id input interrupted is_error isImage \
    isAgent label limit lines matches message mode multiSelect name newLines newStart newString \
    newTodos new_string noOutputExpected notebook_path numFiles numLines offset oldLines oldStart \
    oldString oldTodos old_string options originalFile originalSize output output_mode path \
    pattern persistedOutputPath persistedOutputSize plan planFilePath priority prompt query \
    question questions replaceAll replace_all result results returnCodeInterpretation \
    run_in_background skill source startLine status stderr stdout structuredPatch subagent_type \
    subject success taskId task_id text timeout todos tool_use_id totalDurationMs totalLines \
    totalTokens totalToolUseCount truncated type url usage userModified value width";

/// Makes logs anonymous. The same seed gives the same result.
#[derive(Debug, Clone)]
pub struct Anonymizer {
    words: Words,
    shift: SignedDuration,
}

impl Anonymizer {
    /// With a seed, which should be kept secret: who knows it can try words.
    pub fn new(seed: u64) -> Anonymizer {
        const DAY: i64 = 24 * 60 * 60;
        let words = Words::new(seed);
        // Some years back, and not by whole days.
        let shift = (words.number(b"time") % (1000 * DAY as u64)) as i64 + 400 * DAY;
        Anonymizer { words, shift: SignedDuration::from_secs(-shift) }
    }

    /// The line with other words. A line that is no JSON is taken as text.
    pub fn line(&self, line: &[u8]) -> Vec<u8> {
        let (mark, line) = split_mark(line);
        let mut out = Vec::with_capacity(mark.len() + line.len());
        out.extend_from_slice(mark);
        if Value::parse(line).is_err() {
            let text = self.words.replaced(&String::from_utf8_lossy(line));
            out.extend_from_slice(text.as_bytes());
            return out;
        }
        let mut done = 0;
        each_string(line, |text| {
            let inside = &line[text.inside.clone()];
            let bytes = decoded(inside);
            let value = String::from_utf8_lossy(&bytes);
            if let Some(other) = self.other(&text, &value) {
                // With the quotes, which the new string brings along.
                out.extend_from_slice(&line[done..text.inside.start - 1]);
                write_string(&mut out, &other);
                done = text.inside.end + 1;
            }
        });
        out.extend_from_slice(&line[done..]);
        out
    }

    /// A text that is no line of a log, with other words.
    pub fn text(&self, text: &str) -> String {
        self.words.replaced(text)
    }

    /// What takes the place of a string, unless it stays.
    fn other(&self, text: &Text<'_>, value: &str) -> Option<String> {
        let key = String::from_utf8_lossy(text.key);
        let is_kept = match text.role {
            Role::Key if text.is_free => is_in(TOOL_KEYS, value),
            Role::Key => is_identifier(value) || is_model(value),
            Role::Value if is_in(TOOLS, value) => true,
            Role::Value if is_in(TIMES, &key) => return Some(self.time(value)),
            // Of what tools have, only the type of a result is one of a set.
            Role::Value if text.is_free => key == "type" && is_of_set(value),
            Role::Value if is_in(MODELS, &key) => is_model(value),
            Role::Value if is_in(VERSIONS, &key) => is_version(value),
            Role::Value => is_in(SETS, &key) && is_of_set(value),
        };
        (!is_kept).then(|| self.words.replaced(value))
    }

    fn time(&self, value: &str) -> String {
        let moved = value
            .parse::<Timestamp>()
            .ok()
            .and_then(|time| time.checked_add(self.shift).ok().map(|time| format!("{time:.3}")));
        moved.unwrap_or_else(|| self.words.replaced(value))
    }
}

fn is_in(list: &str, word: &str) -> bool {
    !word.is_empty() && list.split_ascii_whitespace().any(|known| known == word)
}

fn is_identifier(word: &str) -> bool {
    word.len() <= 40
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !word.starts_with(|first: char| first.is_ascii_digit())
}

fn is_of_set(word: &str) -> bool {
    word.len() <= 40
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-/".contains(&byte))
}

fn is_model(word: &str) -> bool {
    let rest = word.strip_prefix("claude-");
    word == "<synthetic>" || rest.is_some_and(|rest| rest.len() <= 40 && is_of_set(rest))
}

fn is_version(word: &str) -> bool {
    word.len() <= 20 && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

#[cfg(test)]
#[path = "anonymize/tests.rs"]
mod tests;
