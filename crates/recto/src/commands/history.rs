//! `recto history`: prompts across all projects.

use clap::Args;
use jiff::Timestamp;
use recto_log::json::ObjectWriter;
use recto_store::Home;
use recto_store::LogFile;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::prompts::Gatherer;
use crate::prompts::Prompt;
use crate::prompts::merge;
use crate::select::filter::FilterArgs;
use crate::select::target;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::clock;
use crate::terminal::text::one_line;
use crate::terminal::text::path_from_home;

/// List the prompts typed in all projects, newest first
///
/// Taken from the client's history and from the logs. The history outlives the
/// logs, and only logs have prompts given with `-p`. A prompt that is in both is
/// listed once.
///
/// Examples:
///   recto history --since 7d
///   recto history --project app --text parser
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct HistoryArgs {
    /// Only prompts of this project: a path, or a part of one
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// Only prompts typed since then: a date, a time, or a span such as 7d
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only prompts typed before then
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// Only prompts with this text in them
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// List at most this many
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,
}

pub(crate) fn cmd_history(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &HistoryArgs,
) -> Result<Outcome, CommandError> {
    let filter = FilterArgs {
        since: args.since.clone(),
        until: args.until.clone(),
        ..FilterArgs::default()
    };
    let filter = filter.read(environment.now())?;
    let (project, text) = (lower(&args.project), lower(&args.text));
    let contains = |text: &str, part: &Option<String>| {
        part.as_deref().is_none_or(|part| text.to_lowercase().contains(part))
    };
    let inventory = home.inventory();
    target::tell_skipped(&inventory, output);
    let wanted = |prompt: &str| contains(prompt, &text);
    // No line of a log is newer than the log.
    let logs = inventory.sessions.iter().filter(|log| log.bytes() > 0);
    let logs: Vec<LogFile> = logs
        .filter(|log| filter.fits_since(log.modified()))
        .map(|log| LogFile::clone(log))
        .collect();
    let gatherer = Gatherer::default();
    let history = gatherer.of_history(home, wanted)?;
    let mut prompts = merge(history, gatherer.of_logs(&logs, output, wanted));
    prompts.retain(|prompt| {
        contains(&prompt.project, &project)
            && filter.fits_time(prompt.time.unwrap_or(Timestamp::UNIX_EPOCH))
    });
    prompts.reverse();
    prompts.sort_by_key(|prompt| std::cmp::Reverse(prompt.time));
    prompts.truncate(args.limit.unwrap_or(usize::MAX));
    if output.json {
        for prompt in &prompts {
            let time = prompt.time.map(|time| format!("{time:.3}"));
            output.json_line(
                ObjectWriter::new()
                    .string_or_null("time", time.as_deref())
                    .string("project", &prompt.project)
                    .string_or_null("session", prompt.session.as_deref())
                    .string("text", &prompt.text)
                    .number("pasted", prompt.pasted as u64)
                    .string("source", prompt.source.name()),
            )?;
        }
    } else {
        write_table(&prompts, environment, output)?;
    }
    Ok(if prompts.is_empty() { Outcome::Found } else { Outcome::Done })
}

fn lower(text: &Option<String>) -> Option<String> {
    text.as_deref().map(str::to_lowercase)
}

fn write_table(
    prompts: &[Prompt],
    environment: &Environment,
    output: &mut Output,
) -> Result<(), CommandError> {
    if prompts.len() > 30 {
        output.page();
    }
    let mut table = Table::new(&[Column::Left, Column::Left, Column::Flexible, Column::Flexible]);
    for prompt in prompts {
        let session: String = prompt.session.as_deref().unwrap_or("").chars().take(8).collect();
        table.row([
            prompt.time.map(clock).unwrap_or_default(),
            one_line(&session),
            one_line(&path_from_home(&prompt.project, environment.user_home.as_deref())),
            one_line(&prompt.text),
        ]);
    }
    for cells in table.layout(output.width) {
        let mut cells = cells.into_iter();
        let time = output.paint(Look::Faint, &cells.next().unwrap_or_default());
        let rest: Vec<String> = cells.collect();
        output.line(format!("{time}  {}", rest.join("  ")).trim_end())?;
    }
    Ok(())
}
