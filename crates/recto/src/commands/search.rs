//! `recto search`: words or a regular expression in all sessions.

use std::ops::ControlFlow;

use clap::Args;
use recto_session::search::highlights;
use recto_store::Home;
use recto_store::index::Sorting;
use recto_view::Search;

use crate::commands::grep;
use crate::commands::grep::PatternArgs;
use crate::commands::hit_args;
use crate::commands::hit_args::HitArgs;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::search::background;
use crate::search::query::read_search;
use crate::select::target;
use crate::terminal::output::Output;
use crate::terminal::output::Progress;

/// Search all sessions
///
/// Every word must appear in the same message: a prompt, an answer, thinking, the input or
/// the result of a tool, a summary, a title, a plan. Matches parts of names in code; ignores
/// case and accents.
///
/// A query has words, "phrases", prefixes (pars*), OR, -not, brackets, and fields: tool:Bash
/// role:user file:src/main.rs model:opus project:app branch:main is:error before:2026-11-01
/// after:7d. Put the query in single quotes to protect it from the shell.
///
/// With -e, QUERY is a regular expression. It matches text as you see it, not the JSON of the
/// log: a quote is a quote, and ^ and $ match at line ends. recto then reads every log in
/// full, without the index. Case matters unless you add -i.
///
/// The first search builds an index in the cache directory; later ones add what is new. If
/// that takes long, recto builds the index in the background and answers from the newest logs;
/// a note says how many are not searched yet. The index covers the first 64 KB of a long
/// result.
///
/// Exit code 1 means that nothing was found.
///
/// Examples:
///   recto search borrow checker
///   recto search '"connection refused" tool:Bash after:7d'
///   recto search 'parse_line OR parseLine' --context 2
///   recto search -e 'error\[E0[0-9]+\]' --since 7d
///   recto search panic --open 1
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct SearchArgs {
    /// What to look for
    #[arg(required = true, value_name = "QUERY")]
    query: Vec<String>,
    /// Treat QUERY as a regular expression
    #[arg(long, short = 'e', conflicts_with = "rank")]
    regexp: bool,
    /// Show the best hits first, not the newest
    #[arg(long)]
    rank: bool,
    #[command(flatten)]
    pattern: PatternArgs,
    #[command(flatten)]
    hits: HitArgs,
}

pub(crate) fn cmd_search(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &SearchArgs,
) -> Result<Outcome, CommandError> {
    let text = args.query.join(" ");
    if args.regexp || args.pattern.is_given() {
        return grep::search(home, environment, output, (&text, &args.pattern), &args.hits);
    }
    let sorting = if args.rank { Sorting::Rank } else { Sorting::Newest };
    let limit = args.hits.limit(output);
    let search = read_search(&text, &args.hits.filter, environment, sorting, limit)?;
    let search = Search { most_read: Some(background::most_read(environment)), ..search };
    let cache = environment.cache_directory()?;
    let inventory = home.inventory();
    target::tell_skipped(&inventory, output);
    let progress = Progress::new("indexing", output);
    let answer = search.find(home, &inventory, &cache, &|done, all| {
        progress.tell_bytes(done, all);
        ControlFlow::Continue(())
    });
    progress.done();
    if answer.is_partial {
        background::build_index(home);
    }
    let mark = |text: &str| highlights(&search.query, text);
    hit_args::give(answer, &args.hits, &mark, home, environment, output)
}
