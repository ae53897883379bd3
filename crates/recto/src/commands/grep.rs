//! `recto grep`: regular expressions in all sessions.

use clap::Args;
use recto_session::search::Expression;
use recto_session::search::ExpressionOptions;
use recto_store::Home;
use recto_view::Grep;

use crate::commands::hit_args;
use crate::commands::hit_args::HitArgs;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::search::query;
use crate::select::target;
use crate::terminal::output::Output;
use crate::terminal::output::Progress;

/// So many places in a text are marked: more than is ever shown of it.
const MOST_MARKS: usize = 4096;

/// Find a regular expression in all sessions
///
/// The expression is matched against texts as people see them, not against the
/// JSON of the log: a quote is a quote, and ^ and $ are the ends of a line. The
/// logs are read as they are, without an index, so that all of every result is
/// searched. Upper and lower case differ; a search by words is `recto find`.
///
/// --where takes the fields that `recto find` has: tool:Bash role:user
/// file:src/main.rs model:opus project:app branch:main is:error before:2026-11-01
/// after:7d, and words.
///
/// Exit code 1 means that nothing was found.
///
/// Examples:
///   recto grep 'error\[E0[0-9]+\]'
///   recto grep -F 'Vec<Option<' --since 7d
///   recto grep -i timeout --where 'tool:Bash is:error'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct GrepArgs {
    /// What to look for, as a regular expression
    #[arg(value_name = "PATTERN")]
    pattern: String,
    /// Upper and lower case are the same
    #[arg(long, short = 'i')]
    ignore_case: bool,
    /// The pattern is a plain text
    #[arg(long, short = 'F')]
    fixed_strings: bool,
    /// Only whole words match
    #[arg(long, short = 'w')]
    word_regexp: bool,
    /// Only texts that fit this query too
    #[arg(long = "where", value_name = "QUERY", allow_hyphen_values = true)]
    query: Option<String>,
    #[command(flatten)]
    hits: HitArgs,
}

pub(crate) fn cmd_grep(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &GrepArgs,
) -> Result<Outcome, CommandError> {
    let options = ExpressionOptions {
        ignores_case: args.ignore_case,
        is_literal: args.fixed_strings,
        is_word: args.word_regexp,
    };
    if args.pattern.is_empty() {
        return Err(CommandError::user("bad-pattern", "the pattern is empty")
            .with_hint("recto show SESSION shows all of a session"));
    }
    let expression = Expression::new(&args.pattern, options).map_err(|error| {
        // Lines before the last one draw an arrow below the pattern.
        let what = error.message.lines().last().unwrap_or_default();
        let what = what.strip_prefix("error: ").unwrap_or(what);
        CommandError::user("bad-pattern", format!("the pattern cannot be read: {what}"))
            .with_hint("-F looks for it as a plain text")
    })?;
    let query = args.query.as_deref().map(query::read_query).transpose()?;
    let filter = query::filter(query.as_ref(), &args.hits.filter, environment)?;
    let grep = Grep { expression, query, filter, limit: args.hits.limit(output) };
    let inventory = home.inventory();
    target::tell_skipped(&inventory, output);
    let progress = Progress::new("searching", output);
    let answer = grep.find(home, &inventory, &|done, all| progress.tell_bytes(done, all));
    progress.done();
    let mark = |text: &str| {
        let matches = grep.expression.regex().find_iter(text).map(|found| found.range());
        matches.filter(|range| !range.is_empty()).take(MOST_MARKS).collect()
    };
    hit_args::give(answer, &args.hits, &mark, home, environment, output)
}
