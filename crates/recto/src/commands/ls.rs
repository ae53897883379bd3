//! `recto ls`: the sessions, newest first.

use std::collections::HashSet;

use clap::Args;
use jiff::Timestamp;
use rayon::prelude::*;
use recto_session::status::StatusKind;
use recto_session::usage::PriceTable;
use recto_store::Home;
use recto_store::Inventory;
use recto_view::AllMarks;
use recto_view::Library;
use recto_view::ListedLog;
use recto_view::ListedRow;
use recto_view::Listing;
use recto_view::MarkKind;

use crate::commands::costs::Costed;
use crate::commands::costs::Costs;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::filter::FilterArgs;
use crate::select::filter::most;
use crate::select::target::tell_skipped;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::age;
use crate::terminal::text::bytes;
use crate::terminal::text::one_line;
use crate::terminal::text::path_from_home;
use crate::terminal::text::plural;
use crate::terminal::text::short_model;
use crate::watching::status_view;

/// List sessions, newest first
///
/// Reads only the head and the tail of each log, and skips logs that are unchanged since they
/// were indexed. Hides files without a conversation (empty files, stubs, warm-ups); `--all`
/// shows them. ● marks a running session.
///
/// With --json, prints one object per line with at least id, project, path, cwd, title,
/// started, updated, bytes, version, branch and kind.
///
/// Examples:
///   recto ls --since 7d --project app
///   recto ls --json | jq -r 'select(.bytes > 1e6) | .id'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct LsArgs {
    /// List subagent logs too
    #[arg(long)]
    agents: bool,
    /// Only running sessions
    #[arg(long)]
    live: bool,
    /// List files without a conversation too
    #[arg(long, short)]
    all: bool,
    /// Limit the number of sessions (0 = no limit)
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,
    /// Show what each session cost, subagents included
    #[arg(long)]
    cost: bool,
    /// Only sessions with this tag (given in `recto serve`)
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Only sessions with a star (given in `recto serve`)
    #[arg(long)]
    starred: bool,
    // The last, because its heading holds for all that follow.
    #[command(flatten)]
    filter: FilterArgs,
}

impl LsArgs {
    /// The sessions with the marks that are asked for.
    fn marked(&self, environment: &Environment) -> Result<Option<HashSet<String>>, CommandError> {
        if self.tag.is_none() && !self.starred {
            return Ok(None);
        }
        let marks = AllMarks::read(&environment.data_directory()?)?;
        let starred = self.starred.then(|| marks.sessions_with(MarkKind::Starred));
        let tagged = self.tag.as_deref().map(|tag| marks.sessions_with(MarkKind::Tag(tag)));
        Ok(match (starred, tagged) {
            (Some(one), Some(other)) => Some(one.intersection(&other).cloned().collect()),
            (one, other) => one.or(other),
        })
    }
}

/// The title of a log, or what stands in for it.
pub(crate) fn title(log: &ListedLog) -> String {
    match &log.digest.title {
        Some((title, _)) => one_line(title),
        None if log.is_unreadable => "(unreadable)".to_owned(),
        None => format!("({})", log.kind().name()),
    }
}

/// The short form of the id, which `recto show` takes.
pub(crate) fn short_id(log: &ListedLog) -> String {
    match &log.agent {
        Some(agent) => agent.name(),
        None => log.session.id.to_string().chars().take(8).collect(),
    }
}

/// What marks the log of a running client: the words of `recto status`.
pub(crate) fn mark(log: &ListedLog) -> (&'static str, Look) {
    let words = match (&log.live, log.status) {
        (None, _) if log.session.is_archived() => return ("archived", Look::Faint),
        (None, _) => return ("", Look::Plain),
        (Some(_), Some(StatusKind::WaitingForApproval)) => "● needs approval",
        (Some(_), Some(StatusKind::WaitingForInput)) => "● needs input",
        (Some(_), Some(StatusKind::Working)) => "● working",
        (Some(_), Some(StatusKind::Idle)) => "● idle",
        (Some(_), Some(StatusKind::Ended | StatusKind::Unknown) | None) => "● running",
    };
    (words, log.status.map_or(Look::Faint, status_view::look))
}

pub(crate) fn cmd_ls(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &LsArgs,
) -> Result<Outcome, CommandError> {
    let now = environment.now();
    let listing = Listing {
        filter: args.filter.read(now)?,
        words: None,
        agents: args.agents,
        only_live: args.live,
        all: args.all,
        limit: Some(most(args.limit)),
        only: args.marked(environment)?,
    };
    let inventory = home.inventory();
    let library = environment.library(home, PriceTable::default());
    let rows = library.listed(&listing, &inventory);
    let costs = match args.cost {
        true => Some(Costs::read(home, environment, output, None)?),
        false => None,
    };
    if output.json {
        let listed: Vec<ListedRow> = rows.par_iter().map(ListedRow::of).collect();
        match &costs {
            None => output.rows(&listed)?,
            Some(costs) => {
                for (listed, log) in listed.iter().zip(&rows) {
                    let cost_usd = costs.dollars(&log.session.id.to_string());
                    output.row(&Costed { row: listed, cost_usd })?;
                }
            }
        }
    } else {
        if rows.len() > 30 {
            output.page();
        }
        table(&rows, costs.as_ref(), environment, output, now)?;
    }
    tell_skipped(&inventory, output);
    if rows.is_empty() {
        if !output.json {
            output.remark(&why_empty(args, &library, &inventory));
        }
        return Ok(Outcome::Found);
    }
    Ok(Outcome::Done)
}

/// Why nothing is listed, and what to do.
fn why_empty(args: &LsArgs, library: &Library, inventory: &Inventory) -> String {
    let logs = inventory.sessions.len() as u64;
    match logs {
        0 => "this home has no sessions yet; `recto demo` shows recto on a sample".to_owned(),
        _ if args.live && library.clients().is_empty() => {
            "no session is running; `recto ls` lists all, `recto resume` resumes one".to_owned()
        }
        _ if args.live => "no running session matches".to_owned(),
        _ if args.all => format!("none of {} matches", plural(logs, "log")),
        _ => format!(
            "none of {} matches; `--all` includes logs without a conversation",
            plural(logs, "log")
        ),
    }
}

/// Prints rows as a table.
pub(crate) fn table(
    rows: &[ListedLog],
    costs: Option<&Costs>,
    environment: &Environment,
    output: &mut Output,
    now: Timestamp,
) -> Result<(), CommandError> {
    use Column::DetailRight;
    use Column::Flexible;
    use Column::Left;
    use Column::Optional;
    use Column::Path;
    use Column::Right;
    let mut columns = vec![Left, Right, DetailRight, Flexible, Path, Optional, Optional, Left];
    if costs.is_some() {
        columns.insert(3, Right);
    }
    let mut table = Table::new(&columns);
    let cells = |row: &ListedLog| {
        let digest = &row.digest;
        let cwd = digest.cwd.as_deref().unwrap_or("?");
        let mut cells = vec![
            short_id(row),
            age(row.log().modified(), now),
            bytes(row.log().bytes()),
            title(row),
            one_line(&path_from_home(cwd, environment.user_home.as_deref())),
            one_line(digest.branch.as_deref().filter(|branch| *branch != "HEAD").unwrap_or("")),
            one_line(digest.model.as_deref().map_or("", short_model)),
            mark(row).0.to_owned(),
        ];
        if let Some(costs) = costs {
            // What subagents cost is in the row of their session.
            let own = row.agent.is_none().then(|| costs.text(&row.session.id.to_string()));
            cells.insert(3, own.unwrap_or_default());
        }
        cells
    };
    for cells in rows.par_iter().map(cells).collect::<Vec<_>>() {
        table.cells(cells);
    }
    let title_at = if costs.is_some() { 4 } else { 3 };
    let looks = |row: &ListedLog, cell: usize, cells: usize| match cell {
        0 => Look::Strong,
        at if at == title_at => Look::Plain,
        _ if cell + 1 == cells && row.live.is_some() => mark(row).1,
        _ => Look::Faint,
    };
    let mut line = String::new();
    for (row, cells) in rows.iter().zip(table.layout(output.width)) {
        line.clear();
        for (at, cell) in cells.iter().enumerate() {
            line.push_str(if at == 0 { "" } else { output.gap() });
            line.push_str(&output.paint(looks(row, at, cells.len()), cell));
        }
        output.line(line.trim_end())?;
    }
    Ok(())
}
