//! `recto find`: words in all sessions.

use clap::Args;
use recto_session::search::Limit;
use recto_session::search::Query;
use recto_session::search::highlights;
use recto_store::Digest;
use recto_store::Home;
use recto_store::index::Hit;
use recto_store::index::LogFacts;
use recto_store::index::Request;
use recto_store::index::Sorting;

use crate::commands::show;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::filter::Filter;
use crate::filter::FilterArgs;
use crate::filter::read_time;
use crate::hits;
use crate::hits::FoundText;
use crate::output::Output;
use crate::output::Progress;
use crate::target;
use crate::text::count;
use crate::text::plural;

/// Find words in all sessions
///
/// All words must stand in one text: a prompt, an answer, thinking, the input or
/// the result of a tool, a summary, a title, a plan. Names of code are found by
/// their parts, case and accents do not count.
///
/// A query has words, "phrases", beginnings (pars*), OR, -not, brackets, and fields:
/// tool:Bash role:user file:src/main.rs model:opus project:app branch:main is:error
/// before:2026-11-01 after:7d. Put it in single quotes, so that the shell leaves it
/// as it is.
///
/// The first search makes an index in the cache directory; the next ones fold in
/// what is new. Of long results the first 64 KB are found.
///
/// Examples:
///   recto find borrow checker
///   recto find '"connection refused" tool:Bash after:7d'
///   recto find 'parse_line OR parseLine' --context 2
///   recto find panic --open 1
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct FindArgs {
    /// What to look for
    #[arg(required = true, value_name = "QUERY")]
    query: Vec<String>,
    /// Show at most this many hits; 0 for all
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    limit: usize,
    /// The best hits first, in place of the newest
    #[arg(long)]
    rank: bool,
    /// Show this many lines of the text before and after
    #[arg(long, short = 'C', value_name = "LINES")]
    context: Option<usize>,
    /// Read the turn of hit N
    #[arg(long, value_name = "N", conflicts_with_all = ["resume", "context"])]
    open: Option<usize>,
    /// Print the command that goes on with the session of hit N
    #[arg(long, value_name = "N", conflicts_with = "context")]
    resume: Option<usize>,
    #[command(flatten)]
    filter: FilterArgs,
}

pub(crate) fn cmd_find(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &FindArgs,
) -> Result<Outcome, CommandError> {
    let query = Query::parse(&args.query.join(" ")).map_err(|error| {
        CommandError::user("bad-query", error.message.clone()).with_hint(error.hint)
    })?;
    let filters = Filters::of(&query, args, environment)?;
    let (since, until) = filters.all.span();
    let chosen = args.open.or(args.resume);
    let limit = chosen.map_or(args.limit, |chosen| chosen.max(1));
    let request = Request {
        query: &query,
        sorting: if args.rank { Sorting::Rank } else { Sorting::Newest },
        limit,
        since,
        until,
        keep: &|facts| filters.fit(facts),
    };
    let cache = environment.cache_directory()?;
    let inventory = home.inventory();
    target::tell_skipped(&inventory, output);
    let progress = Progress::new("indexing", output);
    let answer = home.find(&inventory, &cache, &request, &|done, all| {
        progress.tell_bytes(done, all);
    });
    progress.done();
    for remark in &answer.remarks {
        output.remark(remark);
    }
    for skipped in &answer.skipped {
        output.remark(&format!("skipped: {} {}", skipped.path.display(), skipped.reason));
    }
    if let Some(number) = chosen {
        let hit = number.checked_sub(1).and_then(|place| answer.hits.get(place));
        let hit = hit.ok_or_else(|| {
            let message = format!("there is no hit {number}");
            let hint = format!("the query has {}", plural(answer.total as u64, "hit"));
            CommandError::user("not-found", message).with_hint(hint)
        })?;
        return match args.open {
            Some(_) => show::show_place(home, environment, output, &log_name(hit), hit.line),
            None => write_resume(hit, output),
        };
    }
    let found = texts(&query, answer.hits);
    if output.json {
        hits::write_json(&found, output)?;
    } else {
        if found.len() > 8 {
            output.page();
        }
        hits::write_text(&found, args.context, environment, output)?;
    }
    if found.len() < answer.total {
        output.remark(&format!(
            "{} of {} in {}; --limit 0 shows all",
            count(found.len() as u64),
            plural(answer.total as u64, "hit"),
            plural(answer.logs as u64, "log")
        ));
    }
    Ok(if answer.total == 0 { Outcome::Found } else { Outcome::Done })
}

/// The options and the limits in the query.
struct Filters {
    all: Filter,
    /// Projects of the query, and whether each one is refused.
    projects: Vec<(Filter, bool)>,
}

impl Filters {
    fn of(
        query: &Query,
        args: &FindArgs,
        environment: &Environment,
    ) -> Result<Filters, CommandError> {
        let now = environment.now();
        let mut filters = Filters { all: args.filter.read(now)?, projects: Vec::new() };
        for limit in &query.limits {
            match limit {
                Limit::Project { name, is_not } => {
                    filters.projects.push((Filter::of_project(name), *is_not));
                }
                Limit::Before(text) => {
                    filters.all.narrow(None, Some(read_time("before:", text, now)?));
                }
                Limit::After(text) => {
                    filters.all.narrow(Some(read_time("after:", text, now)?), None);
                }
            }
        }
        Ok(filters)
    }

    fn fit(&self, facts: &LogFacts) -> bool {
        let digest = Digest {
            cwd: facts.cwd.clone(),
            model: facts.model.clone(),
            branch: facts.branch.clone(),
            ..Digest::default()
        };
        let fits = |filter: &Filter| filter.fits(&facts.project, &digest);
        fits(&self.all) && self.projects.iter().all(|(filter, is_not)| fits(filter) != *is_not)
    }
}

/// The texts of hits. One whose log has changed meanwhile is left out.
fn texts(query: &Query, hits: Vec<Hit>) -> Vec<FoundText> {
    let mut found = Vec::with_capacity(hits.len());
    for hit in hits {
        let Some(text) = hit.read() else { continue };
        found.push(FoundText {
            marks: highlights(query, &text.text),
            session: hit.session.map(|session| session.to_string()),
            agent: hit.agent.map(|agent| agent.to_string()),
            path: hit.path,
            line: hit.line,
            offset: hit.offset,
            uuid: text.uuid,
            role: hit.role,
            tool: hit.tool,
            is_error: hit.is_error,
            time: text.time.or(hit.time),
            turn: hit.turn,
            text: text.text,
        });
    }
    found
}

fn log_name(hit: &Hit) -> String {
    hit.path.to_string_lossy().into_owned()
}

/// What to type to go on with a session, in the directory where the client looks
/// for it.
fn write_resume(hit: &Hit, output: &mut Output) -> Result<Outcome, CommandError> {
    let Some(session) = hit.session else {
        let message = "nobody knows which session the subagent belongs to";
        return Err(CommandError::user("no-session", message));
    };
    let command = match &hit.cwd {
        Some(cwd) => format!("cd {} && claude --resume {session}", quoted(cwd)),
        None => format!("claude --resume {session}"),
    };
    output.line(&crate::text::one_line(&command))?;
    Ok(Outcome::Done)
}

/// A word as a shell reads it back.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_for_a_shell() {
        assert_eq!(quoted("/home/dev/app-2.0"), "/home/dev/app-2.0");
        assert_eq!(quoted("/a b/$(x)"), "'/a b/$(x)'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
