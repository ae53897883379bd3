//! What each tool is called, is for, and takes.

use std::sync::Arc;

use recto_store::index::USUAL_HITS;
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
}

impl ToolName {
    const ALL: [ToolName; 7] = [
        ToolName::Search,
        ToolName::List,
        ToolName::Read,
        ToolName::Usage,
        ToolName::Status,
        ToolName::Stats,
        ToolName::Plans,
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
                 of the answer says how to go on."
            }
            ToolName::Usage => {
                "Tokens and cost of past sessions, each message counted once, by day or another \
                 grouping. `cost_usd` is null where a price is not known."
            }
            ToolName::Status => {
                "What sessions do now: working, waiting_for_approval, waiting_for_input, idle, \
                 ended or unknown, with since when, how sure that is, and why. Without `session`, \
                 those that run or ran within the last hour."
            }
            ToolName::Stats => {
                "A session in numbers: goal, first prompts, last answer, turns, tool calls, files, \
                 tokens by model, compactions, lines by kind, clients that wrote it."
            }
            ToolName::Plans => {
                "Plans that were made in plan mode, newest first, with whether the user approved."
            }
        }
    }

    fn properties(self) -> Value {
        let filters = || {
            json!({
                "project": text("A working directory, or a part of one"),
                "since": text("Not before: a date (2026-11-16), a time, or a span before now (7d, 12h)"),
                "until": text("Before: a date, a time, or a span before now"),
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
                paged(USUAL_HITS as u32, SEARCH_MOST),
            ]),
            ToolName::List => joined([filters(), paged(50, LIST_MOST), json!({})]),
            ToolName::Read => json!({
                "session": text(&format!("{session}; agent-… for a subagent")),
                "turn": number("Only this turn", u32::MAX),
                "from_turn": number("Begin with this turn [default: 1]", u32::MAX),
                "from_item": number("Begin with this item of the turn, as the answer before says", u32::MAX),
                "thinking": flag("Give the model's thinking too"),
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
                paged(100, LIST_MOST),
            ]),
            ToolName::Status => json!({"session": text(session)}),
            ToolName::Stats => json!({
                "session": text(&format!("{session}; agent-… for a subagent")),
            }),
            ToolName::Plans => {
                joined([json!({"session": text(session)}), paged(10, LIST_MOST), json!({})])
            }
        }
    }

    fn required(self) -> &'static [&'static str] {
        match self {
            ToolName::Search => &["query"],
            ToolName::Read | ToolName::Stats => &["session"],
            ToolName::List | ToolName::Usage | ToolName::Status | ToolName::Plans => &[],
        }
    }
}

/// How many hits, and how many items of other lists, can be asked for at once.
pub(super) const SEARCH_MOST: u32 = 100;
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
        Tool::new(tool.name(), tool.description(), Arc::new(schema))
            .with_annotations(ToolAnnotations::new().read_only(true))
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
