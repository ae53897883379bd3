//! What each tool is called, is for, and takes.

use std::sync::Arc;

use rmcp::model::Tool;
use rmcp::model::ToolAnnotations;
use serde_json::Map;
use serde_json::Value;
use serde_json::json;

/// A tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolName {
    Search,
    List,
    Read,
    Usage,
    Status,
    Stats,
    Plans,
    Files,
    Insights,
}

impl ToolName {
    const ALL: [ToolName; 9] = [
        ToolName::Search,
        ToolName::List,
        ToolName::Read,
        ToolName::Usage,
        ToolName::Status,
        ToolName::Stats,
        ToolName::Plans,
        ToolName::Files,
        ToolName::Insights,
    ];

    pub(super) fn from_name(name: &str) -> Option<ToolName> {
        ToolName::ALL.into_iter().find(|tool| tool.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            ToolName::Search => "search_sessions",
            ToolName::List => "list_sessions",
            ToolName::Read => "read_session",
            ToolName::Usage => "usage",
            ToolName::Status => "status",
            ToolName::Stats => "stats",
            ToolName::Plans => "plans",
            ToolName::Files => "file_history",
            ToolName::Insights => "insights",
        }
    }

    fn description(self) -> &'static str {
        match self {
            ToolName::Search => {
                "Search the full text of past Claude Code sessions on this machine: prompts, \
                 answers, tool inputs and results, titles, plans. Words must all appear in one \
                 text; \"phrases\", pars*, OR, -not, and fields work: tool:Bash role:user \
                 file:src/main.rs model:opus project:app is:error after:7d. Newest first. Each \
                 hit names its session and turn for read_session."
            }
            ToolName::List => {
                "List past sessions, newest first, with title, directory, branch, model and times."
            }
            ToolName::Read => {
                "Read a session as text, turn by turn: prompts, answers, tool calls and results. \
                 Long results are cut; with `turn` one turn is given with longer texts. The end \
                 of the answer says how to continue."
            }
            ToolName::Usage => {
                "Tokens and cost of past sessions, each message counted once, by day or another \
                 grouping. `cost_usd` is null where a price is not known."
            }
            ToolName::Status => {
                "What sessions are doing: working, waiting_for_approval, waiting_for_input, \
                idle, ended or unknown, with since when, confidence, and evidence. Without `session`, \
                 those that run or ran within the last hour."
            }
            ToolName::Stats => {
                "A session's statistics: goal, first prompts, last answer, turns, tool calls, files, \
                 tokens by model, compactions, lines by kind, clients that wrote it."
            }
            ToolName::Plans => {
                "Plans from plan mode, newest first, and whether the user approved them."
            }
            ToolName::Files => {
                "What sessions did to a file: with `path`, each session and turn that read or \
                 changed it, newest first, with the prompt and lines added and removed; with \
                 `session`, the files that it used. Files are compared by name and never opened."
            }
            ToolName::Insights => {
                "Insights: activity (concurrent sessions, working or waiting for the user), \
                quality (failed calls, retries, repairs, stopped turns), cache (hits \
                 and misses), context (how contexts grow)."
            }
        }
    }

    fn properties(self) -> Value {
        let filters = || {
            json!({
                "project": text("A working directory, or a part of one"),
                "since": text("From: a date (2026-11-16), a time, or a span before now (7d, 12h)"),
                "until": text("Until: a date, a time, or a span before now"),
                "model": text("A part of the model's name"),
                "branch": text("The git branch"),
            })
        };
        let session = "An id, the beginning of one, a title, or `latest`";
        let paged = |limit: u32, most: u32| {
            json!({
                "limit": number(&format!("How many at most [default: {limit}]"), most),
                "offset": number("How many to skip: `next_offset` of the answer before", OFFSET),
            })
        };
        match self {
            ToolName::Search => joined([
                json!({"query": text("What to look for")}),
                filters(),
                paged(SEARCH_USUAL, SEARCH_MOST),
            ]),
            ToolName::List => joined([filters(), paged(20, LIST_MOST), json!({})]),
            ToolName::Read => json!({
                "session": text(&format!("{session}; agent-… for a subagent")),
                "turn": number("Only this turn", u32::MAX),
                "from_turn": number("Start at this turn [default: 1]", u32::MAX),
                "from_item": number("Begin with this item of the turn, as the answer before says", u32::MAX),
                "thinking": flag("Include the model's thinking"),
            }),
            ToolName::Usage => joined([
                json!({
                    "by": {
                        "type": "string",
                        "description": "What each row is [default: day]",
                        "enum": recto_session::usage::Dimension::ALL.map(|one| one.name()),
                    },
                    "session": text(session),
                }),
                filters(),
                paged(30, LIST_MOST),
            ]),
            ToolName::Status => json!({"session": text(session)}),
            ToolName::Stats => json!({
                "session": text(&format!("{session}; agent-… for a subagent")),
            }),
            ToolName::Plans => {
                joined([json!({"session": text(session)}), paged(5, LIST_MOST), json!({})])
            }
            ToolName::Files => joined([
                json!({
                    "path": text("A path, or the end of one, such as src/main.rs"),
                    "session": text(session),
                }),
                paged(20, LIST_MOST),
                json!({}),
            ]),
            ToolName::Insights => json!({
                "kind": {"type": "string", "description": "Which insight", "enum": ["activity", "quality", "cache", "context"]},
                "by": {"type": "string", "description": "Group the rows of quality and cache by this", "enum": ["tool", "project", "model", "week"]},
                "since": text("From: a date (2026-11-16), a time, or a span before now (7d, 12h)"),
                "until": text("Until: a date, a time, or a span before now"),
            }),
        }
    }

    /// The names of what it takes.
    pub(super) fn arguments(self) -> Vec<String> {
        match self.properties() {
            Value::Object(all) => all.keys().cloned().collect(),
            _ => Vec::new(),
        }
    }

    /// What its answer is; a session that is read is text.
    pub(super) fn answer_schema(self) -> Option<Value> {
        let list = || {
            json!({
                "type": "object",
                "properties": {
                    "total": {"type": "integer", "description": "The total number"},
                    "offset": {"type": "integer", "description": "How many items precede these"},
                    "items": {"type": "array", "items": {"type": "object"}},
                    "next_offset": {"type": ["integer", "null"], "description": "The `offset` for the next part"},
                    "next": {"type": ["object", "null"], "description": "The arguments to add for the next part"},
                    "sum": {"type": "object", "description": "The sum of all items"},
                    "notes": {"type": "array", "items": {"type": "string"}, "description": "What is missing or wrong"},
                },
                "required": ["total", "offset", "items", "next_offset", "next"],
            })
        };
        match self {
            ToolName::Read => None,
            ToolName::Stats | ToolName::Insights => Some(json!({"type": "object"})),
            ToolName::Search
            | ToolName::List
            | ToolName::Usage
            | ToolName::Status
            | ToolName::Plans
            | ToolName::Files => Some(list()),
        }
    }

    fn required(self) -> &'static [&'static str] {
        match self {
            ToolName::Search => &["query"],
            ToolName::Read | ToolName::Stats => &["session"],
            ToolName::Insights => &["kind"],
            ToolName::List
            | ToolName::Usage
            | ToolName::Status
            | ToolName::Plans
            | ToolName::Files => &[],
        }
    }
}

/// How many hits, and how many items of other lists, can be asked for at once.
pub(super) const SEARCH_MOST: u32 = 100;
/// How many hits are given if nobody says how many.
pub(super) const SEARCH_USUAL: u32 = 10;
pub(super) const LIST_MOST: u32 = 500;
/// The highest offset.
pub(super) const OFFSET: u32 = 100_000;

/// All tools, as a client is told about them.
pub(super) fn all() -> Vec<Tool> {
    let tool = |tool: ToolName| {
        let schema = json!({
            "type": "object",
            "properties": tool.properties(),
            "required": tool.required(),
            "additionalProperties": false,
        });
        let schema = match schema {
            Value::Object(schema) => schema,
            _ => Map::new(),
        };
        let mut made = Tool::new(tool.name(), tool.description(), Arc::new(schema))
            .with_annotations(ToolAnnotations::new().read_only(true));
        if let Some(Value::Object(answer)) = tool.answer_schema() {
            made.output_schema = Some(Arc::new(answer));
        }
        made
    };
    ToolName::ALL.map(tool).to_vec()
}

fn text(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

fn number(description: &str, most: u32) -> Value {
    json!({"type": "integer", "minimum": 0, "maximum": most, "description": description})
}

fn flag(description: &str) -> Value {
    json!({"type": "boolean", "description": description})
}

fn joined(parts: [Value; 3]) -> Value {
    let mut all = Map::new();
    for part in parts {
        if let Value::Object(part) = part {
            all.extend(part);
        }
    }
    Value::Object(all)
}
