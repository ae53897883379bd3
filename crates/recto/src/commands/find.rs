//! `recto find`: words in all sessions.

use std::ops::ControlFlow;

use clap::Args;
use recto_session::search::highlights;
use recto_store::Home;
use recto_store::index::Sorting;

use crate::commands::hit_args;
use crate::commands::hit_args::HitArgs;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::search::query::read_search;
use crate::select::target;
use crate::terminal::output::Output;
use crate::terminal::output::Progress;

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
    /// The best hits first, in place of the newest
    #[arg(long)]
    rank: bool,
    #[command(flatten)]
    hits: HitArgs,
}

pub(crate) fn cmd_find(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &FindArgs,
) -> Result<Outcome, CommandError> {
    let text = args.query.join(" ");
    let sorting = if args.rank { Sorting::Rank } else { Sorting::Newest };
    let limit = args.hits.limit(output);
    let search = read_search(&text, &args.hits.filter, environment, sorting, limit)?;
    let cache = environment.cache_directory()?;
    let inventory = home.inventory();
    target::tell_skipped(&inventory, output);
    let progress = Progress::new("indexing", output);
    let answer = search.find(home, &inventory, &cache, &|done, all| {
        progress.tell_bytes(done, all);
        ControlFlow::Continue(())
    });
    progress.done();
    let mark = |text: &str| highlights(&search.query, text);
    hit_args::give(answer, &args.hits, &mark, home, environment, output)
}
