//! `recto history`: prompts across all projects.

use clap::Args;
use recto_session::usage::PriceTable;
use recto_store::Home;
use recto_view::PromptQuery;
use recto_view::PromptRow;
use recto_view::Prompts;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::filter::FilterArgs;
use crate::select::filter::most;
use crate::select::target;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::output::Progress;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::clock;
use crate::terminal::text::one_line;
use crate::terminal::text::path_from_home;

/// List the prompts of all projects, newest first
///
/// Reads Claude Code's prompt history and the logs. The history outlives the logs, but only
/// logs have prompts passed with `-p`. Lists a prompt that is in both once.
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
    /// Limit the number of prompts (0 = no limit)
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
    let query = PromptQuery {
        since: filter.since,
        until: filter.until,
        project: args.project.clone(),
        text: args.text.clone(),
    };
    let library = environment.library(home, PriceTable::default());
    target::tell_skipped(&library.inventory(), output);
    let progress = Progress::new("reading", output);
    let Prompts { rows: mut prompts, skipped } =
        library.prompts(&query, &|done, all| progress.tell(done, all))?;
    progress.done();
    skipped.iter().for_each(|why| output.remark(&format!("skipped: {why}")));
    prompts.truncate(most(args.limit));
    if output.json {
        output.rows(&prompts)?;
    } else if prompts.is_empty() {
        output.remark("no prompts found");
    } else {
        write_table(&prompts, environment, output)?;
    }
    Ok(if prompts.is_empty() { Outcome::Found } else { Outcome::Done })
}

fn write_table(
    prompts: &[PromptRow],
    environment: &Environment,
    output: &mut Output,
) -> Result<(), CommandError> {
    if prompts.len() > 30 {
        output.page();
    }
    let mut table = Table::new(&[Column::Detail, Column::Left, Column::Path, Column::Flexible]);
    for prompt in prompts {
        let session: String = prompt.session.as_deref().unwrap_or("").chars().take(8).collect();
        table.row([
            prompt.time.map(|time| clock(time.0)).unwrap_or_default(),
            one_line(&session),
            one_line(&path_from_home(&prompt.project, environment.user_home.as_deref())),
            one_line(&prompt.text),
        ]);
    }
    for cells in table.layout(output.width) {
        let mut cells = cells.into_iter();
        let time = output.paint(Look::Faint, &cells.next().unwrap_or_default());
        let rest: Vec<String> = cells.collect();
        let gap = output.gap();
        output.line(format!("{time}{gap}{}", rest.join(gap)).trim_end())?;
    }
    Ok(())
}
