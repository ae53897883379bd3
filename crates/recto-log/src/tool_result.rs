//! What the client keeps of a tool's result for itself (`toolUseResult`).
//!
//! The shape tells the tool in most cases; where two tools share a shape, the
//! caller's knowledge of the tool's name decides.

use crate::AgentId;
use crate::json::Value;

/// The structured result of a tool.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ToolResult<'a> {
    /// A shell command.
    Bash {
        /// Its output; cut or moved to a file where it was long.
        stdout: Option<Value<'a>>,
        /// Its errors.
        stderr: Option<Value<'a>>,
        /// Whether the user stopped it.
        interrupted: bool,
        /// The file with the whole output.
        persisted_path: Option<Value<'a>>,
        /// The command goes on in the background under this id.
        background: Option<Value<'a>>,
    },
    /// A file that was read.
    Read {
        /// Path, content, first line and number of lines.
        file: Value<'a>,
    },
    /// A file that was written.
    Write {
        /// The file.
        path: Option<Value<'a>>,
        /// What was written.
        content: Option<Value<'a>>,
        /// Whether the file is new.
        created: bool,
        /// What changed.
        patch: StructuredPatch<'a>,
    },
    /// A file that was edited.
    Edit {
        /// The file.
        path: Option<Value<'a>>,
        /// The text that was replaced.
        old: Option<Value<'a>>,
        /// The text in its place.
        new: Option<Value<'a>>,
        /// Whether all places were replaced.
        replace_all: bool,
        /// What changed.
        patch: StructuredPatch<'a>,
    },
    /// Names of files.
    Glob {
        /// The names.
        filenames: Value<'a>,
    },
    /// Hits in files.
    Grep {
        /// `content`, `files_with_matches` or `count`.
        mode: Option<Value<'a>>,
        /// The names.
        filenames: Option<Value<'a>>,
        /// The hits.
        content: Option<Value<'a>>,
    },
    /// A subagent that has answered.
    Agent {
        /// The subagent.
        agent: Option<AgentId>,
        /// `completed` or otherwise.
        status: Option<Value<'a>>,
        /// Its task.
        prompt: Option<Value<'a>>,
        /// Its answer.
        content: Option<Value<'a>>,
        /// How long it took, in milliseconds.
        milliseconds: Option<u64>,
        /// Its tokens.
        tokens: Option<u64>,
        /// How many tools it used.
        tools: Option<u64>,
    },
    /// A subagent that works in the background; its answer comes as a task
    /// notification.
    AgentLaunched {
        /// The subagent.
        agent: Option<AgentId>,
        /// Its task.
        prompt: Option<Value<'a>>,
        /// Where its output goes.
        output_file: Option<Value<'a>>,
    },
    /// The list of things to do.
    Todos {
        /// Before.
        old: Option<Value<'a>>,
        /// After.
        new: Option<Value<'a>>,
    },
    /// One or all tasks of the task tools, or what was changed in one.
    Tasks {
        /// The whole result.
        value: Value<'a>,
    },
    /// Answers of the user.
    Answers {
        /// The questions.
        questions: Option<Value<'a>>,
        /// The answers.
        answers: Option<Value<'a>>,
    },
    /// A plan that the user agreed to.
    Plan {
        /// The plan.
        plan: Option<Value<'a>>,
        /// The file that keeps it.
        path: Option<Value<'a>>,
    },
    /// The tool failed, or was refused.
    Error(Value<'a>),
    /// A shape that is not known here.
    Unknown(Value<'a>),
}

impl<'a> ToolResult<'a> {
    /// Sorts a `toolUseResult` by its shape.
    pub fn of(value: Value<'a>, tool: Option<&str>) -> ToolResult<'a> {
        if value.is_string() {
            return ToolResult::Error(value);
        }
        let Some(object) = value.as_object() else { return ToolResult::Unknown(value) };
        let get = |name| object.get(name);
        let has = |name| object.get(name).is_some();
        let number = |name| object.get(name).and_then(Value::as_u64);
        let agent = || object.str("agentId").and_then(|id| id.parse().ok());
        let patch = || StructuredPatch(get("structuredPatch"));
        let is_task_tool = tool.is_some_and(|name| name.starts_with("Task") && name != "Task");
        if is_task_tool && (has("task") || has("tasks") || has("taskId")) {
            return ToolResult::Tasks { value };
        }
        if has("stdout") {
            return ToolResult::Bash {
                stdout: get("stdout"),
                stderr: get("stderr"),
                interrupted: object.is_true("interrupted"),
                persisted_path: get("persistedOutputPath"),
                background: get("backgroundTaskId"),
            };
        }
        if has("oldString") {
            return ToolResult::Edit {
                path: get("filePath"),
                old: get("oldString"),
                new: get("newString"),
                replace_all: object.is_true("replaceAll"),
                patch: patch(),
            };
        }
        if has("structuredPatch") {
            return ToolResult::Write {
                path: get("filePath"),
                content: get("content"),
                created: object.str("type").is_some_and(|name| name == "create"),
                patch: patch(),
            };
        }
        if let Some(file) = get("file") {
            return ToolResult::Read { file };
        }
        if has("agentId") {
            return if object.is_true("isAsync") {
                ToolResult::AgentLaunched {
                    agent: agent(),
                    prompt: get("prompt"),
                    output_file: get("outputFile"),
                }
            } else {
                ToolResult::Agent {
                    agent: agent(),
                    status: get("status"),
                    prompt: get("prompt"),
                    content: get("content"),
                    milliseconds: number("totalDurationMs"),
                    tokens: number("totalTokens"),
                    tools: number("totalToolUseCount"),
                }
            };
        }
        if has("newTodos") {
            return ToolResult::Todos { old: get("oldTodos"), new: get("newTodos") };
        }
        if has("answers") {
            return ToolResult::Answers { questions: get("questions"), answers: get("answers") };
        }
        if has("plan") {
            return ToolResult::Plan { plan: get("plan"), path: get("filePath") };
        }
        if has("mode") && has("numFiles") {
            return ToolResult::Grep {
                mode: get("mode"),
                filenames: get("filenames"),
                content: get("content"),
            };
        }
        if let Some(filenames) = get("filenames") {
            return ToolResult::Glob { filenames };
        }
        if has("task") || has("tasks") || (has("taskId") && has("updatedFields")) {
            return ToolResult::Tasks { value };
        }
        ToolResult::Unknown(value)
    }
}

/// The hunks of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StructuredPatch<'a>(Option<Value<'a>>);

impl<'a> StructuredPatch<'a> {
    /// The hunks, each with `oldStart`, `newStart` and `lines`.
    pub fn hunks(self) -> impl Iterator<Item = Value<'a>> {
        self.0.into_iter().flat_map(Value::elements)
    }

    /// How many lines were added and removed.
    pub fn line_counts(self) -> (u64, u64) {
        let mut counts = (0, 0);
        for line in self.hunks().filter_map(|hunk| hunk.get("lines")).flat_map(Value::elements) {
            match line.string_inside().and_then(<[u8]>::first) {
                Some(b'+') => counts.0 += 1,
                Some(b'-') => counts.1 += 1,
                _ => {}
            }
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str, tool: Option<&str>) -> &'static str {
        match ToolResult::of(Value::parse(text.as_bytes()).unwrap(), tool) {
            ToolResult::Bash { .. } => "bash",
            ToolResult::Read { .. } => "read",
            ToolResult::Write { .. } => "write",
            ToolResult::Edit { .. } => "edit",
            ToolResult::Glob { .. } => "glob",
            ToolResult::Grep { .. } => "grep",
            ToolResult::Agent { .. } => "agent",
            ToolResult::AgentLaunched { .. } => "launched",
            ToolResult::Todos { .. } => "todos",
            ToolResult::Tasks { .. } => "tasks",
            ToolResult::Answers { .. } => "answers",
            ToolResult::Plan { .. } => "plan",
            ToolResult::Error(_) => "error",
            ToolResult::Unknown(_) => "unknown",
        }
    }

    #[test]
    fn the_shape_tells_the_tool() {
        let check = |text: &str, expected: &str| assert_eq!(name(text, None), expected, "{text}");
        check(r#"{"stdout":"a","stderr":"","interrupted":false,"isImage":false}"#, "bash");
        check(r#"{"type":"text","file":{"filePath":"/a","content":""}}"#, "read");
        check(r#"{"type":"create","filePath":"/a","content":"x","structuredPatch":[]}"#, "write");
        check(r#"{"filePath":"/a","oldString":"x","newString":"y","structuredPatch":[]}"#, "edit");
        check(r#"{"filenames":[],"durationMs":1,"numFiles":0,"truncated":false}"#, "glob");
        check(
            r#"{"mode":"content","numFiles":0,"filenames":[],"content":"","numLines":0}"#,
            "grep",
        );
        check(
            r#"{"status":"completed","prompt":"p","agentId":"a1","content":[],"totalTokens":3}"#,
            "agent",
        );
        check(
            r#"{"isAsync":true,"status":"async_launched","agentId":"a1","outputFile":"f"}"#,
            "launched",
        );
        check(r#"{"oldTodos":[],"newTodos":[]}"#, "todos");
        check(r#"{"task":{"id":"1"}}"#, "tasks");
        check(r#"{"success":true,"taskId":"1","updatedFields":["status"]}"#, "tasks");
        check(r#"{"questions":[],"answers":{}}"#, "answers");
        check(r#"{"plan":"do it","isAgent":false,"filePath":"/p"}"#, "plan");
        check(r#""Error: no such file""#, "error");
        check(r#"{"matches":[],"query":"q"}"#, "unknown");
        check("[1]", "unknown");
    }

    #[test]
    fn the_name_of_the_tool_decides_where_shapes_meet() {
        let text = r#"{"tasks":[],"stdout":""}"#;
        assert_eq!(name(text, Some("TaskList")), "tasks");
        assert_eq!(name(text, Some("Bash")), "bash");
    }

    #[test]
    fn lines_of_a_patch_are_counted() {
        let text = r#"[{"oldStart":1,"lines":[" a","-b","+c","+d"]},{"lines":["+e"]}]"#;
        let patch = StructuredPatch(Some(Value::parse(text.as_bytes()).unwrap()));
        assert_eq!(patch.line_counts(), (3, 1));
        assert_eq!(StructuredPatch(None).line_counts(), (0, 0));
    }
}
