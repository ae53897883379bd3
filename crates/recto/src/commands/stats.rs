//! `recto stats`: a session in numbers. Many of them are in `stats_all`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use recto_log::UserText;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_session::BlockFact;
use recto_session::FileFate;
use recto_session::NodeId;
use recto_session::Tokens;
use recto_session::Turn;
use recto_session::TurnKind;
use recto_session::file_uses;
use recto_store::Digest;
use recto_store::FileKind;
use recto_store::Home;

use crate::commands::stats_all::Question;
use crate::commands::stats_all::stats_of_all;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::reading::Reading;
use crate::select::filter::FilterArgs;
use crate::terminal::document_file::Existing;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::clock;
use crate::terminal::text::count;
use crate::terminal::text::duration;
use crate::terminal::text::fit;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;
use crate::terminal::zone::read_zone;

/// Sum up a session, or all of them
///
/// Of a session: its goal (the first prompt), the last answer, turns, tools,
/// files, tokens by model, compactions, subagents and errors. `recto stats
/// latest` is the newest one.
///
/// Without a session, all that fit the filters: tools with their failures and
/// times, models, how long turns take, hours and days, the longest sessions, how
/// much comes from the cache, how the context grows, the files changed most. What
/// a session has copied from another one counts once; so do the tokens of each
/// API message. The filters choose whole sessions.
///
/// Examples:
///   recto stats latest
///   recto stats --since 30d --project app
///   recto stats --svg stats.svg --tz Europe/Berlin
///   recto stats --json | jq '.tools[] | select(.failed_percent > 10)'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct StatsArgs {
    /// The session; without one, all that fit
    #[arg(conflicts_with_all = ["svg", "tz", "limit", "project", "since", "until", "model", "branch"])]
    session: Option<String>,
    /// Write the charts to this file, as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Replace the file of --svg if it is there
    #[arg(long, requires = "svg")]
    force: bool,
    /// The time zone of hours and days, such as Europe/Berlin or +02:00 [default: the system's]
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true)]
    tz: Option<String>,
    /// List at most this many tools, models, sessions and files
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10)]
    limit: usize,
    // The last, because its heading holds for all that follow.
    #[command(flatten)]
    filter: FilterArgs,
}

/// How much of the goal and of the last answer is kept.
const GOAL: usize = 200;
const LAST_OUTPUT: usize = 500;

struct Stats {
    title: String,
    goal: String,
    last_output: String,
    digest: Digest,
    turns: u64,
    prompts: u64,
    messages: u64,
    calls: u64,
    failed_calls: u64,
    open_calls: u64,
    files_changed: u64,
    files_read: u64,
    lines_added: u64,
    lines_removed: u64,
    compactions: u64,
    agents: u64,
    api_errors: u64,
    interrupts: u64,
    milliseconds: u64,
    models: BTreeMap<String, (u64, Tokens)>,
}

impl Stats {
    fn of(home: &Home, reading: &Reading) -> Result<Stats, CommandError> {
        let session = reading.session();
        let facts = session.facts();
        let digest = Digest::read(&reading.target.path, reading.target.is_agent)?;
        let mut models: BTreeMap<String, (u64, Tokens)> = BTreeMap::new();
        for message in facts.messages.iter().filter(|message| !message.is_synthetic) {
            let sum = models.entry(reading.name(message.model).to_owned()).or_default();
            sum.0 += 1;
            sum.1.add(message.tokens);
        }
        let files = file_uses(session);
        let files_read = files.values().filter(|file| file.fate() == FileFate::Read).count();
        let agents = match &reading.target.session {
            Some(file) => {
                let agents = home.agent_tree(&reading.inventory, file, session);
                agents.iter().filter(|agent| agent.kind == FileKind::Agent).count() as u64
            }
            None => 0,
        };
        let number =
            |kind: TurnKind| reading.turns.iter().filter(|turn| turn.kind == kind).count() as u64;
        Ok(Stats {
            title: digest.title.as_ref().map_or_else(String::new, |(title, _)| title.clone()),
            goal: first_prompt(reading),
            last_output: last_output(reading),
            digest,
            turns: reading.turns.len() as u64,
            prompts: number(TurnKind::Human),
            messages: models.values().map(|(messages, _)| messages).sum(),
            calls: facts.calls.len() as u64,
            failed_calls: facts.calls.iter().filter(|call| call.is_error).count() as u64,
            open_calls: facts.calls.iter().filter(|call| call.result.is_none()).count() as u64,
            files_changed: (files.len() - files_read) as u64,
            files_read: files_read as u64,
            lines_added: facts.files.iter().map(|touch| touch.added).sum(),
            lines_removed: facts.files.iter().map(|touch| touch.removed).sum(),
            compactions: facts.compactions.len() as u64,
            agents,
            api_errors: reading.turns.iter().map(|turn| u64::from(turn.api_errors)).sum(),
            interrupts: reading.turns.iter().filter(|turn| turn.is_interrupted).count() as u64,
            milliseconds: reading.turns.iter().filter_map(Turn::length).sum(),
            models,
        })
    }
}

fn first_prompt(reading: &Reading) -> String {
    let prompt =
        reading.turns.iter().find(|turn| matches!(turn.kind, TurnKind::Human | TurnKind::Agent));
    let text = prompt.map(|turn| reading.prompt(turn)).unwrap_or_default();
    fit(&one_line(&text), GOAL)
}

/// The text of the last answer in the file that has any.
fn last_output(reading: &Reading) -> String {
    let session = reading.session();
    let has_text = |id: &NodeId| {
        let node = session.node(*id);
        node.user == UserText::Nothing
            && node.kind == recto_log::Kind::Assistant
            && !node.flags.is_api_error
            && node.blocks.iter().any(|block| matches!(block, BlockFact::Text { is_blank: false }))
    };
    let last = session.ids().filter(has_text).max_by_key(|id| session.node(*id).line);
    fit(&one_line(&last.map(|id| reading.text(id)).unwrap_or_default()), LAST_OUTPUT)
}

pub(crate) fn cmd_stats(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &StatsArgs,
) -> Result<Outcome, CommandError> {
    let Some(session) = &args.session else {
        let question = Question {
            filter: args.filter.read(environment.now())?,
            zone: read_zone(args.tz.as_deref())?,
            limit: args.limit,
            svg: args.svg.as_deref(),
            existing: Existing::forced(args.force),
        };
        return stats_of_all(home, environment, output, &question);
    };
    let reading = Reading::open(home, environment, session)?;
    let stats = Stats::of(home, &reading)?;
    if output.json {
        output.json_line(json(&reading, &stats))?;
    } else {
        write_text(&reading, &stats, output)?;
    }
    Ok(Outcome::Done)
}

fn write_text(reading: &Reading, stats: &Stats, output: &mut Output) -> Result<(), CommandError> {
    output.line(&output.paint(Look::Strong, &one_line(&stats.title)))?;
    output.line(&output.paint(Look::Faint, &one_line(&reading.target.name)))?;
    let mut rows: Vec<(&str, String)> =
        vec![("goal", stats.goal.clone()), ("last answer", stats.last_output.clone())];
    let times = [stats.digest.started.map(clock), stats.digest.ended.map(clock)];
    rows.push(("time", times.into_iter().flatten().collect::<Vec<_>>().join(" to ")));
    rows.push(("working", duration(stats.milliseconds)));
    rows.push((
        "turns",
        format!("{}, {}", plural(stats.turns, "turn"), plural(stats.prompts, "prompt")),
    ));
    let mut tools = plural(stats.calls, "call");
    for (number, what) in [(stats.failed_calls, "failed"), (stats.open_calls, "without result")] {
        if number > 0 {
            tools.push_str(&format!(", {} {what}", count(number)));
        }
    }
    rows.push(("tools", tools));
    rows.push((
        "files",
        format!(
            "{} changed (+{} -{}), {} only read",
            count(stats.files_changed),
            count(stats.lines_added),
            count(stats.lines_removed),
            count(stats.files_read)
        ),
    ));
    for (model, (messages, tokens)) in &stats.models {
        rows.push((
            "tokens",
            format!(
                "{}: {}, {} in, {} out, {} cached, {} written to cache",
                one_line(model),
                plural(*messages, "message"),
                count(tokens.input),
                count(tokens.output),
                count(tokens.cache_read),
                count(tokens.cache_creation)
            ),
        ));
    }
    for (label, number) in [
        ("compactions", stats.compactions),
        ("subagents", stats.agents),
        ("interrupts", stats.interrupts),
        ("API errors", stats.api_errors),
        ("damaged lines", reading.session().damaged.len() as u64),
    ] {
        if number > 0 {
            rows.push((label, count(number)));
        }
    }
    output.line("")?;
    let room = output.width.map_or(usize::MAX, |width| width.saturating_sub(16));
    for (label, text) in rows.iter().filter(|(_, text)| !text.is_empty()) {
        for (at, line) in crate::terminal::text::wrap(text, room).iter().enumerate() {
            let label = if at == 0 { *label } else { "" };
            output
                .line(&format!("{}{line}", output.paint(Look::Faint, &format!("{label:<15}"))))?;
        }
    }
    Ok(())
}

fn json(reading: &Reading, stats: &Stats) -> ObjectWriter {
    let time = |time: Option<jiff::Timestamp>| time.map(|time| format!("{time:.3}"));
    let mut models = ArrayWriter::new();
    for (model, (messages, tokens)) in &stats.models {
        let object = ObjectWriter::new()
            .string("model", model)
            .number("messages", *messages)
            .number("input_tokens", tokens.input)
            .number("output_tokens", tokens.output)
            .number("cache_creation_input_tokens", tokens.cache_creation)
            .number("cache_read_input_tokens", tokens.cache_read);
        models = models.json(&object.finish());
    }
    let digest = &stats.digest;
    ObjectWriter::new()
        .string("id", &reading.target.name)
        .string("title", &stats.title)
        .string("goal", &stats.goal)
        .string("last_output", &stats.last_output)
        .string_or_null("cwd", digest.cwd.as_deref())
        .string_or_null("branch", digest.branch.as_deref())
        .string_or_null("version", digest.version.as_deref())
        .string_or_null("started", time(digest.started).as_deref())
        .string_or_null("ended", time(digest.ended).as_deref())
        .number("working_ms", stats.milliseconds)
        .number("lines", reading.session().lines)
        .number("damaged_lines", reading.session().damaged.len() as u64)
        .number("turns", stats.turns)
        .number("prompts", stats.prompts)
        .number("messages", stats.messages)
        .number("tool_calls", stats.calls)
        .number("failed_tool_calls", stats.failed_calls)
        .number("open_tool_calls", stats.open_calls)
        .number("files_changed", stats.files_changed)
        .number("files_read", stats.files_read)
        .number("lines_added", stats.lines_added)
        .number("lines_removed", stats.lines_removed)
        .number("compactions", stats.compactions)
        .number("agents", stats.agents)
        .number("interrupts", stats.interrupts)
        .number("api_errors", stats.api_errors)
        .json("models", &models.finish())
}
