//! `recto stats` without a session: many of them in numbers.

use std::path::Path;

use jiff::tz::TimeZone;
use recto_session::chart::svg;
use recto_session::statistics::Statistics;
use recto_session::statistics::Tally;
use recto_store::CacheDirectory;
use recto_store::Home;
use recto_store::Inventory;
use recto_store::LogFile;
use recto_store::SessionFile;

use crate::commands::ls::Listing;
use crate::commands::ls::Row;
use crate::commands::stats_charts::charts;
use crate::commands::stats_json::json;
use crate::commands::stats_text::about;
use crate::commands::stats_text::write_text;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::filter::Filter;
use crate::select::target::tell_skipped;
use crate::terminal::document_file::DocumentFile;
use crate::terminal::document_file::Existing;
use crate::terminal::output::Output;
use crate::terminal::output::Progress;
use crate::terminal::output::remark;

/// What is asked of all sessions.
pub(crate) struct Question<'a> {
    pub(crate) filter: Filter,
    pub(crate) zone: TimeZone,
    /// How many rows a list has.
    pub(crate) limit: usize,
    /// Where the charts go.
    pub(crate) svg: Option<&'a Path>,
    pub(crate) existing: Existing,
}

/// The answer.
pub(crate) struct Many {
    pub(crate) statistics: Statistics,
    /// The sessions that took the longest, longest first.
    pub(crate) longest: Vec<LongSession>,
}

/// A session, and how long its turns took.
pub(crate) struct LongSession {
    pub(crate) row: Row,
    pub(crate) working_milliseconds: u64,
    pub(crate) turns: u64,
    pub(crate) calls: u64,
}

pub(crate) fn stats_of_all(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    question: &Question<'_>,
) -> Result<Outcome, CommandError> {
    let inventory = home.inventory();
    let listing = Listing { filter: question.filter.clone(), ..Listing::default() };
    // Who has no cache directory has no index either.
    let cache = environment.cache_directory().ok();
    let rows = listing.rows(home, &inventory, cache.as_ref());
    tell_skipped(&inventory, output);
    if rows.is_empty() {
        output.remark("no session fits");
    }
    let many = gather(home, cache.as_ref(), &inventory, rows, question, output);
    if let Some(path) = question.svg {
        let about = about(&many.statistics, &question.zone);
        let document = svg("Sessions", &about.join(" · "), &charts(&many, question));
        DocumentFile::write(path, question.existing, &document)?;
        output.remark(&format!("wrote {}", path.display()));
    }
    if output.json {
        output.json_line(json(&many, question))?;
    } else if many.statistics.sessions > 0 {
        write_text(&many, question, environment, output)?;
    }
    Ok(if many.statistics.sessions == 0 { Outcome::Found } else { Outcome::Done })
}

/// Reads the logs of all sessions and their subagents. A few are read at a time;
/// what is kept of each is small.
fn gather(
    home: &Home,
    cache: Option<&CacheDirectory>,
    inventory: &Inventory,
    mut rows: Vec<Row>,
    question: &Question<'_>,
    output: &Output,
) -> Many {
    // The first log that has something counts: that of a session before those
    // that copied it, and before those of subagents.
    rows.sort_by(|a, b| {
        let key = |row: &Row| (row.digest.started.is_none(), row.digest.started);
        let times =
            key(a).cmp(&key(b)).then_with(|| a.session.modified().cmp(&b.session.modified()));
        times.then_with(|| a.session.path.cmp(&b.session.path))
    });
    let mut logs: Vec<LogFile> = rows.iter().map(|row| LogFile::clone(&row.session)).collect();
    let sessions: Vec<&SessionFile> = rows.iter().map(|row| &row.session).collect();
    logs.extend(home.agent_logs_of(inventory, &sessions));
    let progress = Progress::new("reading", output);
    let mut tally = Tally::new(question.zone.clone());
    let mut sums = Vec::with_capacity(rows.len());
    let tell = |done, all| progress.tell(done, all);
    home.statistics(&logs, cache, &tell, &mut |log| {
        let sum = match &log {
            Ok(log) => {
                tally.add(log);
                (log.working_milliseconds(), log.turns(), log.calls())
            }
            Err(error) => {
                remark(&format!("skipped: {error}"));
                (0, 0, 0)
            }
        };
        // The logs of sessions come first, in the order of their rows.
        if sums.len() < rows.len() {
            sums.push(sum);
        }
    });
    progress.done();
    let long = rows.into_iter().zip(sums).map(|(row, (working_milliseconds, turns, calls))| {
        LongSession { row, working_milliseconds, turns, calls }
    });
    let mut longest: Vec<LongSession> = long.filter(|one| one.working_milliseconds > 0).collect();
    longest.sort_by_key(|one| std::cmp::Reverse(one.working_milliseconds));
    longest.truncate(question.limit);
    Many { statistics: tally.finish(), longest }
}
