//! `recto strip`: a session without some kinds of things.

use std::ops::RangeInclusive;

use clap::Args;
use recto_session::edit::StripOptions;
use recto_session::edit::strip;
use recto_store::Home;
use recto_store::StoreError;

use crate::edit::editor::EditArgs;
use crate::edit::editor::Editor;
use crate::edit::editor::Goal;
use crate::edit::editor::Job;
use crate::edit::editor::Source;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;

/// Remove thinking, tools, notes or whole turns
///
/// Removes calls together with their results, and lines that become empty; every client still
/// finds the rest.
///
/// Examples:
///   recto strip latest --thinking
///   recto strip 3f2a --tools WebFetch Bash --turns 3..5
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct StripArgs {
    /// The session
    session: String,
    /// Remove thinking
    #[arg(long)]
    thinking: bool,
    /// Remove calls and results, of all tools or of the named ones
    #[arg(long, value_name = "NAME", num_args = 0..)]
    tools: Option<Vec<String>>,
    /// Remove lines that no client needs to resume: logged requests, the queue, progress, notes
    #[arg(long)]
    meta: bool,
    /// Remove a range of turns
    #[arg(long, value_name = "FIRST..LAST", value_parser = parse_turns)]
    turns: Option<RangeInclusive<u32>>,
    #[command(flatten)]
    edit: EditArgs,
}

impl StripArgs {
    fn words(&self) -> Vec<String> {
        let mut words = vec![self.session.clone()];
        words.extend(self.thinking.then(|| "--thinking".to_owned()));
        if let Some(tools) = &self.tools {
            words.push("--tools".to_owned());
            words.extend(tools.iter().cloned());
        }
        words.extend(self.meta.then(|| "--meta".to_owned()));
        if let Some(turns) = &self.turns {
            words.push("--turns".to_owned());
            words.push(format!("{}..{}", turns.start(), turns.end()));
        }
        words
    }
}

/// Reads `3..5`, with both ends, or `4`.
fn parse_turns(text: &str) -> Result<RangeInclusive<u32>, String> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let number = |text: &str| text.trim_start_matches('=').parse::<u32>();
    match (number(first), number(last)) {
        (Ok(first), Ok(last)) if 0 < first && first <= last => Ok(first..=last),
        _ => Err("write turns as `3..5` or `4`".to_owned()),
    }
}

pub(crate) fn cmd_strip(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &StripArgs,
) -> Result<Outcome, CommandError> {
    let source = Source::open(home, environment, &args.session)?;
    let options = StripOptions {
        thinking: args.thinking,
        tools: args.tools.clone(),
        meta: args.meta,
        turns: args.turns.clone(),
    };
    if options == StripOptions::default() {
        return Err(CommandError::user("nothing-asked", "nothing to remove")
            .with_hint("use --thinking, --tools, --meta or --turns A..B"));
    }
    let plan =
        strip(&source.opened.manuscript, &options, &source.opened).map_err(StoreError::from)?;
    let goal = Goal::of(&source, &args.edit, "stripped");
    let job = Job::of_plan("strip", args.words(), plan, output);
    Editor { home, environment, output, source: &source }.finish(goal, args.edit.new.mode(), job)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_read_with_both_ends() {
        assert_eq!(parse_turns("3..5"), Ok(3..=5));
        assert_eq!(parse_turns("3..=5"), Ok(3..=5));
        assert_eq!(parse_turns("4"), Ok(4..=4));
        for bad in ["", "5..3", "0..2", "a..b", "-1"] {
            assert!(parse_turns(bad).is_err(), "{bad}");
        }
    }
}
