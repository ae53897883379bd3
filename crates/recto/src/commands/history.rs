//! `recto history`: prompts across all projects.

use std::io;

use clap::Args;
use jiff::Timestamp;
use recto_log::json::ObjectWriter;
use recto_store::Home;
use recto_store::StoreError;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::filter::FilterArgs;
use crate::output::Look;
use crate::output::Output;
use crate::text::Column;
use crate::text::Table;
use crate::text::clock;
use crate::text::one_line;
use crate::text::path_from_home;

/// List the prompts typed in all projects, newest first
///
/// Taken from the client's history, which outlives the logs: prompts of
/// sessions that were deleted are in it. Prompts given with `-p` are not.
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

/// One prompt.
struct Prompt {
    time: Option<Timestamp>,
    project: String,
    session: Option<String>,
    text: String,
    pasted: usize,
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
    let mut prompts = read(home)?;
    let contains = |text: &str, part: &Option<String>| {
        part.as_deref().is_none_or(|part| text.to_lowercase().contains(&part.to_lowercase()))
    };
    prompts.retain(|prompt| {
        contains(&prompt.project, &args.project)
            && contains(&prompt.text, &args.text)
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
                    .number("pasted", prompt.pasted as u64),
            )?;
        }
    } else {
        write_table(&prompts, environment, output)?;
    }
    Ok(if prompts.is_empty() { Outcome::Found } else { Outcome::Done })
}

fn read(home: &Home) -> Result<Vec<Prompt>, CommandError> {
    let mut prompts = Vec::new();
    let mut reader = match home.read_history() {
        Ok(reader) => reader,
        // A home in which nothing was typed has no history.
        Err(StoreError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(prompts);
        }
        Err(error) => return Err(error.into()),
    };
    while let Some(entry) = reader.next_entry()? {
        prompts.push(Prompt {
            time: entry.time,
            project: entry.project.unwrap_or_default(),
            session: entry.session,
            text: entry.display,
            pasted: entry.pasted.len(),
        });
    }
    Ok(prompts)
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
