//! `recto grep`, `recto search -e`: regular expressions in all sessions.

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

/// Search all sessions with a regular expression
///
/// The same as `recto search -e`.
///
/// Examples:
///   recto grep -F 'Vec<Option<' --since 7d
///   recto grep -i timeout --where 'tool:Bash is:error'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct GrepArgs {
    /// What to look for, as a regular expression
    #[arg(value_name = "PATTERN")]
    text: String,
    #[command(flatten)]
    pattern: PatternArgs,
    #[command(flatten)]
    hits: HitArgs,
}

/// How a regular expression is meant.
#[derive(Debug, Args)]
pub(crate) struct PatternArgs {
    /// Ignore case (regular expressions; words always do)
    #[arg(long, short = 'i')]
    ignore_case: bool,
    /// Look for exactly this text, not a regular expression
    #[arg(long, short = 'F')]
    fixed_strings: bool,
    /// Match whole words only (regular expressions)
    #[arg(long, short = 'w')]
    word_regexp: bool,
    /// Only texts that match this query too (regular expressions)
    #[arg(long = "where", value_name = "QUERY", allow_hyphen_values = true)]
    also: Option<String>,
}

impl PatternArgs {
    /// Whether one was given: then a pattern is meant, and not words.
    pub(crate) fn is_given(&self) -> bool {
        self.ignore_case || self.fixed_strings || self.word_regexp || self.also.is_some()
    }
}

pub(crate) fn cmd_grep(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &GrepArgs,
) -> Result<Outcome, CommandError> {
    search(home, environment, output, (&args.text, &args.pattern), &args.hits)
}

/// Searches with a pattern, and shows what matches.
pub(crate) fn search(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    (text, args): (&str, &PatternArgs),
    hits: &HitArgs,
) -> Result<Outcome, CommandError> {
    let options = ExpressionOptions {
        ignores_case: args.ignore_case,
        is_literal: args.fixed_strings,
        is_word: args.word_regexp,
    };
    if text.is_empty() {
        return Err(CommandError::user("bad-pattern", "the pattern is empty")
            .with_hint("`recto show SESSION` shows a whole session"));
    }
    let expression = Expression::new(text, options).map_err(|error| {
        // Lines before the last one draw an arrow below the pattern.
        let what = error.message.lines().last().unwrap_or_default();
        let what = what.strip_prefix("error: ").unwrap_or(what);
        CommandError::user("bad-pattern", format!("invalid regular expression: {what}"))
            .with_hint("use -F to look for exactly this text")
    })?;
    let query = args.also.as_deref().map(query::read_query).transpose()?;
    let filter = query::filter(query.as_ref(), &hits.filter, environment)?;
    let grep = Grep { expression, query, filter, limit: hits.limit(output) };
    let inventory = home.inventory();
    target::tell_skipped(&inventory, output);
    let progress = Progress::new("searching", output);
    let answer = grep.find(home, &inventory, &|done, all| progress.tell_bytes(done, all));
    progress.done();
    let mark = |text: &str| {
        let matches = grep.expression.regex().find_iter(text).map(|found| found.range());
        matches.filter(|range| !range.is_empty()).take(MOST_MARKS).collect()
    };
    hit_args::give(answer, hits, &mark, home, environment, output)
}
