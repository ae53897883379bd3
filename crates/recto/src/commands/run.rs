//! `recto run`: a session of our own, in the files of the client.

use clap::Args;
use recto_store::Home;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::running;
use crate::terminal::output::Output;

/// Run a session with your own API key
///
/// On any compatible endpoint. With -p, recto answers one prompt and ends. It talks to the
/// Messages API, runs tools, asks hooks and rules as Claude Code does, and writes the same
/// log: each can resume what the other wrote. Options, output and exit codes are those of
/// `claude -p`.
///
/// The key is in ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, the endpoint in
/// ANTHROPIC_BASE_URL. With -p recto cannot ask you: it refuses what no rule allows, and the
/// model sees why.
///
/// Exit code 1 means that the last turn failed.
///
/// Examples:
///   recto run -p 'Why does the test fail?'
///   git diff | recto run -p 'Review this' --output-format json
///   recto run -p 'Continue' --resume 3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718
///   recto run -p 'Fix it' --allowedTools 'Bash(cargo test:*)' Edit --max-turns 20
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) options: RunOptions,
}

/// Options of a run, with the names that scripts for the client use.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct RunOptions {
    /// The prompt; standard input is added to it
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,
    /// Answer and end, without asking you
    #[arg(short = 'p', long)]
    pub(crate) print: bool,
    /// Output format: text, json or stream-json
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "json", "stream-json"], default_value = "text")]
    pub(crate) output_format: String,
    /// Input format: text or stream-json
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "stream-json"], default_value = "text")]
    pub(crate) input_format: String,
    /// Show answers as they arrive (stream-json)
    #[arg(long)]
    pub(crate) include_partial_messages: bool,
    /// Show hooks as they run (stream-json)
    #[arg(long)]
    pub(crate) include_hook_events: bool,
    /// Show prompts when work on them begins (stream-json)
    #[arg(long)]
    pub(crate) replay_user_messages: bool,
    /// Show lines of the log as they are written (stream-json)
    #[arg(long)]
    pub(crate) session_mirror: bool,
    /// Print every message, not only the result
    #[arg(long)]
    pub(crate) verbose: bool,
    /// The model, or opus, sonnet, haiku
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The model to use when the first one is overloaded
    #[arg(long, value_name = "MODEL")]
    pub(crate) fallback_model: Option<String>,
    /// How hard the model thinks: low, medium, high, max
    #[arg(long, value_name = "LEVEL")]
    pub(crate) effort: Option<String>,
    /// When the model thinks: adaptive or disabled
    #[arg(long, value_name = "HOW", value_parser = ["adaptive", "enabled", "disabled"])]
    pub(crate) thinking: Option<String>,
    /// How thinking is shown; recto shows it as it comes
    #[arg(long, value_name = "HOW", hide = true)]
    pub(crate) thinking_display: Option<String>,
    /// Token limit for thinking, on older models
    #[arg(long, value_name = "TOKENS")]
    pub(crate) max_thinking_tokens: Option<u64>,
    /// API betas to request
    #[arg(long, value_name = "BETA", num_args = 1..)]
    pub(crate) betas: Vec<String>,
    /// Limit the number of requests per turn
    #[arg(long, value_name = "NUMBER")]
    pub(crate) max_turns: Option<u64>,
    /// Stop after spending this much, in US dollars
    #[arg(long, value_name = "AMOUNT")]
    pub(crate) max_budget_usd: Option<String>,
    /// Token budget for the task, which the model sees
    #[arg(long, value_name = "TOKENS")]
    pub(crate) task_budget: Option<u64>,
    /// Allow these calls without asking, such as 'Bash(git log:*)' Edit
    #[arg(long = "allowedTools", alias = "allowed-tools", value_name = "RULE", num_args = 1..)]
    pub(crate) allowed_tools: Vec<String>,
    /// Deny these calls
    #[arg(long = "disallowedTools", alias = "disallowed-tools", value_name = "RULE", num_args = 1..)]
    pub(crate) disallowed_tools: Vec<String>,
    /// Tools to offer: names, '' for none, or default
    #[arg(long, value_name = "TOOL", num_args = 1..)]
    pub(crate) tools: Option<Vec<String>>,
    /// default, acceptEdits, plan, dontAsk or bypassPermissions
    #[arg(long, value_name = "MODE")]
    pub(crate) permission_mode: Option<String>,
    /// What answers permission questions: stdio, or a tool such as mcp__server__tool
    #[arg(long, value_name = "TOOL")]
    pub(crate) permission_prompt_tool: Option<String>,
    /// Who can answer permission questions; with none, recto denies such calls
    #[arg(long, value_name = "WHO", value_parser = ["host", "none"])]
    pub(crate) permission_prompts: Option<String>,
    /// Run every call that no rule denies
    #[arg(long)]
    pub(crate) dangerously_skip_permissions: bool,
    /// Let --permission-mode be bypassPermissions
    #[arg(long, hide = true)]
    pub(crate) allow_dangerously_skip_permissions: bool,
    /// Additional working directories
    #[arg(long, value_name = "DIR", num_args = 1..)]
    pub(crate) add_dir: Vec<std::path::PathBuf>,
    /// MCP servers, as JSON or files
    #[arg(long, value_name = "JSON|FILE", num_args = 1..)]
    pub(crate) mcp_config: Vec<String>,
    /// Use only the servers in --mcp-config
    #[arg(long)]
    pub(crate) strict_mcp_config: bool,
    /// A directory with commands, skills and agents to share
    #[arg(long, value_name = "DIR")]
    pub(crate) plugin_dir: Vec<std::path::PathBuf>,
    /// Additional subagents, as JSON by name
    #[arg(long, value_name = "JSON")]
    pub(crate) agents: Option<String>,
    /// Run the session as this agent: its prompt, tools and model
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Title of the session
    #[arg(short = 'n', long, value_name = "TITLE")]
    pub(crate) name: Option<String>,
    /// Require output that matches this JSON schema
    #[arg(long, value_name = "SCHEMA")]
    pub(crate) json_schema: Option<String>,
    /// Replace recto's system prompt
    #[arg(long, value_name = "TEXT")]
    pub(crate) system_prompt: Option<String>,
    /// The same, from a file
    #[arg(long, value_name = "FILE")]
    pub(crate) system_prompt_file: Option<std::path::PathBuf>,
    /// Append to the system prompt
    #[arg(long, value_name = "TEXT")]
    pub(crate) append_system_prompt: Option<String>,
    /// The same, from a file
    #[arg(long, value_name = "FILE", conflicts_with = "append_system_prompt")]
    pub(crate) append_system_prompt_file: Option<std::path::PathBuf>,
    /// Additional settings, as JSON or a file
    #[arg(long, value_name = "JSON|FILE")]
    pub(crate) settings: Option<String>,
    /// Which settings files to read: user, project, local
    #[arg(long, value_name = "SOURCES")]
    pub(crate) setting_sources: Option<String>,
    /// Print lines and redraw nothing, for screen readers
    #[arg(long)]
    pub(crate) plain: bool,
    /// Confine commands: no network, writes in the working directories only
    #[arg(long, overrides_with = "no_sandbox")]
    pub(crate) sandbox: bool,
    /// Run commands unconfined
    #[arg(long)]
    pub(crate) no_sandbox: bool,
    /// Domains that confined commands may reach, such as example.org or *.example.com
    #[arg(long, value_name = "DOMAIN", num_args = 1..)]
    pub(crate) allow_domain: Vec<String>,
    /// Resume a session, by id or title
    #[arg(short = 'r', long, visible_alias = "on", value_name = "SESSION")]
    pub(crate) resume: Option<String>,
    /// Resume the newest session of this directory
    #[arg(short = 'c', long = "continue", conflicts_with = "resume")]
    pub(crate) goes_on: bool,
    /// Continue in a copy; the session stays unchanged
    #[arg(long)]
    pub(crate) fork_session: bool,
    /// Resume from an earlier message, by its uuid
    #[arg(long, value_name = "UUID", requires = "resume")]
    pub(crate) resume_session_at: Option<String>,
    /// Skip one turn, by the uuid of its prompt
    #[arg(long, value_name = "UUID", requires = "resume_session_at")]
    pub(crate) resume_drops_turn: Option<String>,
    /// Replace old results with notes and skip the oldest turns until the request has this size
    #[arg(long, value_name = "TOKENS")]
    pub(crate) fit: Option<u64>,
    /// The id of the new session
    #[arg(long, value_name = "UUID")]
    pub(crate) session_id: Option<String>,
    /// Write no log
    #[arg(long)]
    pub(crate) no_session_persistence: bool,
    /// Write logs in the format of this version
    #[arg(long, value_name = "VERSION", value_parser = ["2.1.325", "2.1.29"], default_value = "2.1.325")]
    pub(crate) log_style: String,
    /// Log what happens to standard error
    #[arg(short = 'd', long, value_name = "FILTER", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) debug: Option<String>,
    /// The same
    #[arg(long, hide = true)]
    pub(crate) debug_to_stderr: bool,
    /// The endpoint [default: $ANTHROPIC_BASE_URL, else Anthropic's]
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Trust this certificate authority, as a PEM file
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<std::path::PathBuf>,
}

impl RunOptions {
    /// Those of `-p` alone.
    pub(crate) fn printing() -> RunOptions {
        RunOptions {
            print: true,
            output_format: "text".to_owned(),
            input_format: "text".to_owned(),
            log_style: "2.1.325".to_owned(),
            ..RunOptions::default()
        }
    }
}

pub(crate) fn cmd_run(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &RunArgs,
) -> Result<Outcome, CommandError> {
    running::run(home, environment, output, &args.options)
}
