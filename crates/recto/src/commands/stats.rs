//! `recto stats`: a session in numbers. Many of them are in `stats_all`.

use std::path::PathBuf;

use clap::Args;
use recto_session::usage::PriceTable;
use recto_store::Home;
use recto_view::Reading;
use recto_view::SessionStats;
use recto_view::StopCount;

use crate::commands::costs::Costed;
use crate::commands::costs::Costs;
use crate::commands::stats_all::Question;
use crate::commands::stats_all::stats_of_all;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::filter::FilterArgs;
use crate::select::filter::most;
use crate::select::target;
use crate::terminal::document_file::Existing;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::clock;
use crate::terminal::text::count;
use crate::terminal::text::duration;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;
use crate::terminal::text::wrap;
use crate::terminal::zone::read_zone;

/// Summarise a session, or all of them
///
/// For one session: its goal (the first prompt), last answer, turns, tools, files, tokens and
/// cost by model, compactions, subagents and errors. `recto stats latest` shows the newest
/// one.
///
/// Without SESSION, summarises all sessions that match the filters: tools with failures and
/// durations, models, turn durations, hours and days, the longest sessions, cache use, context
/// growth, and the files changed most. Messages that sessions copied from each other count
/// once, and so do the tokens of each API message. The filters select whole sessions.
///
/// Examples:
///   recto stats latest
///   recto stats --since 30d --project app
///   recto stats --svg stats.svg --tz Europe/Berlin
///   recto stats --json | jq '.tools[] | select(.failed_percent > 10)'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct StatsArgs {
    /// The session [default: all that match]
    #[arg(conflicts_with_all = ["svg", "tz", "limit", "project", "since", "until", "model", "branch"])]
    session: Option<String>,
    /// Write the charts to this file, as SVG
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Overwrite an existing SVG file
    #[arg(long, requires = "svg")]
    force: bool,
    /// The time zone of hours and days, such as Europe/Berlin or +02:00 [default: the system's]
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true)]
    tz: Option<String>,
    /// Limit the number of tools, models, sessions and files (0 = no limit)
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10)]
    limit: usize,
    // The last, because its heading holds for all that follow.
    #[command(flatten)]
    filter: FilterArgs,
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
            limit: most(Some(args.limit)),
            svg: args.svg.as_deref(),
            existing: Existing::forced(args.force),
        };
        return stats_of_all(home, environment, output, &question);
    };
    let library = environment.library(home, PriceTable::default());
    let log = target::find(home, &library.inventory(), environment, session)?;
    let session = log.main().map(|session| session.id.to_string());
    let stats = library.session_stats(&Reading::open(log)?)?;
    // A subagent, or a file that is not in the home, has no sum of its own.
    let costs = match &session {
        Some(id) => Some(Costs::read(home, environment, output, Some(id.clone()))?),
        None => None,
    };
    let (id, costs) = (session.unwrap_or_default(), costs.as_ref());
    if output.json {
        let cost_usd = costs.and_then(|costs| costs.dollars(&id));
        output.row(&Costed { row: &stats, cost_usd })?;
    } else {
        write_text(&stats, costs.map(|costs| costs.text(&id)), output)?;
    }
    Ok(Outcome::Done)
}

fn write_text(
    stats: &SessionStats,
    cost: Option<String>,
    output: &mut Output,
) -> Result<(), CommandError> {
    let text = |text: &Option<String>| one_line(text.as_deref().unwrap_or_default());
    output.line(&output.paint(Look::Strong, &text(&stats.profile.title)))?;
    output.line(&output.paint(Look::Faint, &one_line(&stats.id)))?;
    output.line("")?;
    let mut rows = vec![
        ("goal", text(&stats.profile.goal)),
        ("last answer", text(&stats.profile.last_output)),
    ];
    rows.extend(work(stats));
    rows.extend(tokens(stats));
    rows.push(("cost", cost.unwrap_or_default()));
    for (label, number) in [
        ("compactions", stats.compactions as u64),
        ("subagents", stats.agents as u64),
        ("interrupts", stats.interrupts as u64),
        ("API errors", stats.api_errors),
        ("damaged lines", stats.damaged_lines as u64),
    ] {
        if number > 0 {
            rows.push((label, count(number)));
        }
    }
    rows.extend(inventory(stats));
    let room = output.width.map_or(usize::MAX, |width| width.saturating_sub(16));
    for (label, text) in rows.iter().filter(|(_, text)| !text.is_empty()) {
        for (at, line) in wrap(text, room).iter().enumerate() {
            let label = if at == 0 { *label } else { "" };
            output
                .line(&format!("{}{line}", output.paint(Look::Faint, &format!("{label:<15}"))))?;
        }
    }
    Ok(())
}

type Row = (&'static str, String);

/// What was done, and how long it took.
fn work(stats: &SessionStats) -> Vec<Row> {
    let times = [stats.started, stats.ended].into_iter().flatten().map(|time| clock(time.0));
    let mut tools = plural(stats.tool_calls as u64, "call");
    for (number, what) in
        [(stats.failed_tool_calls, "failed"), (stats.open_tool_calls, "without result")]
    {
        if number > 0 {
            tools.push_str(&format!(", {} {what}", count(number as u64)));
        }
    }
    let (turns, prompts) = (stats.turns as u64, stats.prompts as u64);
    vec![
        ("time", times.collect::<Vec<_>>().join(" to ")),
        ("working", duration(stats.working_ms)),
        ("turns", format!("{}, {}", plural(turns, "turn"), plural(prompts, "prompt"))),
        ("tools", tools),
        (
            "files",
            format!(
                "{} changed (+{} -{}), {} only read",
                count(stats.files_changed as u64),
                count(stats.lines_added),
                count(stats.lines_removed),
                count(stats.files_read as u64)
            ),
        ),
    ]
}

fn tokens(stats: &SessionStats) -> impl Iterator<Item = Row> {
    stats.models.iter().map(|model| {
        let tokens = &model.tokens;
        let text = format!(
            "{}: {}, {} in, {} out, {} cached, {} written to cache",
            one_line(&model.model),
            plural(model.messages, "message"),
            count(tokens.columns.input_tokens),
            count(tokens.columns.output_tokens),
            count(tokens.columns.cache_read_input_tokens),
            count(tokens.columns.cache_creation_input_tokens)
        );
        ("tokens", text)
    })
}

/// What the log is made of, and its first prompts where there are several.
fn inventory(stats: &SessionStats) -> Vec<Row> {
    let list = |parts: Vec<(&str, u64)>| {
        let part = |(name, number): &(&str, u64)| format!("{} {}", one_line(name), count(*number));
        parts.iter().map(part).collect::<Vec<_>>().join(", ")
    };
    let of_versions = stats.versions.iter().map(|one| (one.version.as_str(), one.lines));
    let of_kinds = stats.entries.iter().map(|one| (one.kind, one.lines));
    let of_blocks = stats.blocks.iter().map(|one| (one.kind, one.blocks));
    let reason = |one: &StopCount| one.reason.as_deref().unwrap_or("none").to_owned();
    let reasons: Vec<(String, u64)> =
        stats.stop_reasons.iter().map(|one| (reason(one), one.lines)).collect();
    let of_reasons = reasons.iter().map(|(reason, lines)| (reason.as_str(), *lines));
    let mut rows = vec![
        ("lines", list(of_kinds.collect())),
        ("blocks", list(of_blocks.collect())),
        ("stop reasons", list(of_reasons.collect())),
        ("versions", list(of_versions.collect())),
    ];
    if stats.first_prompts.len() > 1 {
        let prompts = stats.first_prompts.iter().zip(1..);
        rows.extend(prompts.map(|(prompt, number)| {
            (if number == 1 { "prompts" } else { "" }, format!("{number}. {}", one_line(prompt)))
        }));
    }
    rows
}
