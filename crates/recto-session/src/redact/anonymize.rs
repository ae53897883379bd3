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
const TOOLS: &str = "Agent AgentOutputTool AskUserQuestion Bash BashOutput Brief Config CronCreate \
    CronDelete CronList Edit EnterPlanMode EnterWorktree ExitPlanMode ExitWorktree Glob Grep \
    KillBash KillShell LSP ListAgents ListMcpResourcesTool LS MCPSearch Monitor MultiEdit \
    NotebookEdit NotebookRead PushNotification Read ReadMcpResourceTool RemoteTrigger \
    ScheduleWakeup SendMessage SendUserFile Skill SlashCommand StructuredOutput Task TaskCreate \
    TaskGet TaskList TaskOutput TaskStop TaskUpdate TeamCreate TeamDelete TodoRead TodoWrite \
    ToolSearch WebFetch WebSearch Workflow Write exit_plan_mode mcp__ide__executeCode \
    mcp__ide__getDiagnostics server_tool_use tool_search_tool_bm25 tool_search_tool_regex \
    web_fetch web_search code_execution bash_code_execution text_editor_code_execution";

/// Keys that tools of the client use in what they are given and give back.
const TOOL_KEYS: &str = "-A -B -C -i -n activeForm addBlockedBy addBlocks agentId agentType \
    allowed_domains allowedPrompts annotations answers args backgroundTaskId base64 bash_id block \
    blockedBy blocked_domains blocks canContinueAgent canReadOutputFile cell_id cell_type code \
    command commandName completed content context cron dangerouslyDisableSandbox description \
    dimensions displayHeight displayWidth durationMs durationSeconds edit_mode edits events \
    file filePath file_path filename filenames files filter from gitDiff glob head_limit header \
    height id input interrupted is_error isAgent isAsync isImage isolation label limit lines \
    matches max_results message messages metadata mode model multiSelect multiline name new_source \
    newLines newStart newString newTodos new_string noOutputExpected notebook_path numFiles \
    numLines numMatches offset oldLines oldStart oldString oldTodos old_string options \
    originalFile originalHeight originalSize originalWidth output outputFile output_mode owner \
    pages path pattern persistedOutputPath persistedOutputSize plan planFilePath planWasEdited \
    preview priority prompt query question questions recipient recurring replaceAll replace_all \
    request_id resolvedModel response result results returnCodeInterpretation run_in_background \
    shell_id skill source startLine status statusChange stderr stdout structuredPatch \
    subagent_type subject success summary target task taskId task_id tasks team_name text timeout \
    to todos tool_use_id totalDurationMs totalLines totalTokens totalToolUseCount truncated \
    truncatedByTokenCap type updatedFields url usage userModified value width";

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
            self.push_damaged(line, &mut out);
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

    /// A line that is no JSON. What is left of an object keeps its keys, and the words of
    /// JSON; all else is text.
    fn push_damaged(&self, line: &[u8], out: &mut Vec<u8>) {
        let push_text = |out: &mut Vec<u8>, bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            for piece in text.split_inclusive(|c: char| !c.is_alphanumeric() && c != '.') {
                let word = piece.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '.');
                let is_number = word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
                match is_number || ["true", "false", "null"].contains(&word) {
                    true => out.extend_from_slice(piece.as_bytes()),
                    false => out.extend_from_slice(self.words.replaced(piece).as_bytes()),
                }
            }
        };
        if !line.trim_ascii_start().starts_with(b"{") {
            let text = self.words.replaced(&String::from_utf8_lossy(line));
            return out.extend_from_slice(text.as_bytes());
        }
        let mut done = 0;
        each_string(line, |text| {
            push_text(out, &line[done..text.inside.start]);
            let inside = &line[text.inside.clone()];
            let value = String::from_utf8_lossy(inside);
            // A string without an end may be the beginning of any text.
            let is_whole = text.inside.end < line.len();
            match self.other(&text, &value) {
                None if is_whole => out.extend_from_slice(inside),
                _ => out.extend_from_slice(self.words.replaced(&value).as_bytes()),
            }
            done = text.inside.end;
        });
        push_text(out, &line[done..]);
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
            Role::Value if is_in(MODELS, &key) => is_model_name(value),
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
    /// No word of the lists is longer.
    const LONGEST: usize = 40;
    let is_short = !word.is_empty() && word.len() <= LONGEST;
    is_short && list.split_ascii_whitespace().any(|known| known == word)
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

/// The name of any model: letters and digits, and the signs that such names have.
fn is_model_name(word: &str) -> bool {
    let is_sign = |byte: u8| b"-._:/@[]".contains(&byte);
    let is_plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || is_sign(byte));
    is_model(word) || (word.len() <= 60 && is_plain)
}

fn is_version(word: &str) -> bool {
    word.len() <= 20 && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

#[cfg(test)]
#[path = "anonymize/tests.rs"]
mod tests;
