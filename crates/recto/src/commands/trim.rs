//! `recto trim`: less of what fills the window.

use clap::Args;
use recto_session::edit::ResultAction;
use recto_session::edit::ResultPolicy;
use recto_session::edit::TrimOptions;
use recto_session::edit::trim;
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
use crate::select::filter::parse_size;
use crate::terminal::output::Output;

/// Shrink a session: results, images, attachments
///
/// The text of a result becomes a short note that says how long it was and where to find it;
/// prompts, answers and thinking stay. The original text is still in the source session, or in
/// the backup.
///
/// --tool-results accepts conditions, which must all be true: `older-than N` (turns),
/// `larger-than SIZE`, `tool NAME`. Without any, all results are trimmed. --to-tokens chooses
/// by itself: the oldest and largest results first, then images, attachments and whole calls,
/// until the request is small enough.
///
/// Examples:
///   recto trim latest --tool-results older-than 5 larger-than 2kB
///   recto trim 3f2a --to-tokens 50000 --dry-run
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct TrimArgs {
    /// The session
    #[arg(required_unless_present = "tool_results")]
    session: Option<String>,
    /// Trim results: `older-than N`, `larger-than SIZE`, `tool NAME`
    #[arg(long, value_name = "CONDITION", num_args = 0..)]
    tool_results: Option<Vec<String>>,
    /// Remove the calls with their results, instead of leaving a note
    #[arg(long)]
    drop: bool,
    /// Trim images and documents
    #[arg(long)]
    images: bool,
    /// Remove attachments: files, lists and reminders that Claude Code added
    #[arg(long)]
    attachments: bool,
    /// Leave the last turns alone
    #[arg(long, value_name = "TURNS", default_value_t = 0)]
    keep_last: u32,
    /// Trim until a request has about this many tokens
    #[arg(long, value_name = "TOKENS")]
    to_tokens: Option<u64>,
    #[command(flatten)]
    edit: EditArgs,
}

impl TrimArgs {
    /// The session, which may come after the conditions of --tool-results.
    fn session(&self) -> Result<&str, CommandError> {
        let last = self.tool_results.as_deref().unwrap_or_default().last();
        self.session
            .as_ref()
            .or(last.filter(|_| self.ends_with_session()))
            .map(String::as_str)
            .ok_or_else(|| {
                CommandError::user("no-session", "no session given")
                    .with_hint("name it first: recto trim SESSION --tool-results older-than 5")
            })
    }

    fn conditions(&self) -> &[String] {
        let words = self.tool_results.as_deref().unwrap_or_default();
        match words {
            [words @ .., _] if self.ends_with_session() => words,
            words => words,
        }
    }

    /// Whether the last word after --tool-results is not a condition but the session.
    fn ends_with_session(&self) -> bool {
        let words = self.tool_results.as_deref().unwrap_or_default();
        self.session.is_none()
            && matches!(words, [conditions @ .., _] if policy(conditions, ResultAction::Note).is_ok())
            && policy(words, ResultAction::Note).is_err()
    }

    fn options(&self, source: &Source) -> Result<TrimOptions, CommandError> {
        let action = if self.drop { ResultAction::DropPair } else { ResultAction::Note };
        let results = match &self.tool_results {
            Some(_) => Some(policy(self.conditions(), action)?),
            None if self.drop && self.to_tokens.is_none() => {
                Some(ResultPolicy { action, ..ResultPolicy::default() })
            }
            None => None,
        };
        let asks_nothing =
            results.is_none() && !self.images && !self.attachments && self.to_tokens.is_none();
        if asks_nothing {
            return Err(CommandError::user("nothing-asked", "nothing to trim")
                .with_hint("use --tool-results, --images, --attachments or --to-tokens N"));
        }
        Ok(TrimOptions {
            results,
            images: self.images,
            attachments: self.attachments,
            keep_last: self.keep_last,
            to_tokens: self.to_tokens,
            source: source.session.id.to_string(),
        })
    }

    fn words(&self, session: &str) -> Vec<String> {
        let mut words = vec![session.to_owned()];
        if self.tool_results.is_some() {
            words.push("--tool-results".to_owned());
            words.extend(self.conditions().iter().cloned());
        }
        for (is_set, word) in
            [(self.drop, "--drop"), (self.images, "--images"), (self.attachments, "--attachments")]
        {
            words.extend(is_set.then(|| word.to_owned()));
        }
        if self.keep_last > 0 {
            words.extend(["--keep-last".to_owned(), self.keep_last.to_string()]);
        }
        if let Some(tokens) = self.to_tokens {
            words.extend(["--to-tokens".to_owned(), tokens.to_string()]);
        }
        words
    }
}

/// Reads conditions: `older-than 5 turns larger-than 2kB tool Bash`, or the same
/// with `=`.
fn policy(words: &[String], action: ResultAction) -> Result<ResultPolicy, CommandError> {
    let mut policy = ResultPolicy { action, ..ResultPolicy::default() };
    let mut words = words.iter().flat_map(|word| word.splitn(2, '=')).peekable();
    while let Some(name) = words.next() {
        let value = words.next().unwrap_or_default();
        let bad = || {
            CommandError::user(
                "bad-condition",
                format!(
                    "invalid value `{}` for --tool-results",
                    format!("{name} {value}").trim_end()
                ),
            )
            .with_hint("use `older-than 5`, `larger-than 2kB` or `tool Bash`")
        };
        match name {
            "older-than" => policy.older_than = Some(value.parse().map_err(|_| bad())?),
            "larger-than" => policy.larger_than = Some(parse_size(value).ok_or_else(bad)?),
            "tool" if !value.is_empty() => policy.tools.push(value.to_owned()),
            _ => return Err(bad()),
        }
        if name == "older-than" {
            words.next_if(|word| matches!(*word, "turns" | "turn"));
        }
    }
    Ok(policy)
}

pub(crate) fn cmd_trim(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &TrimArgs,
) -> Result<Outcome, CommandError> {
    let session = args.session()?;
    let source = Source::open(home, environment, session)?;
    let options = args.options(&source)?;
    let plan =
        trim(&source.opened.manuscript, &options, &source.opened).map_err(StoreError::from)?;
    let goal = Goal::of(&source, &args.edit, "trimmed");
    let job = Job::of_plan("trim", args.words(session), plan, output);
    Editor { home, environment, output, source: &source }.finish(goal, args.edit.new.mode(), job)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_as_words_or_with_a_sign() {
        let read = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            policy(&words, ResultAction::Note)
        };
        let expected = ResultPolicy {
            older_than: Some(5),
            larger_than: Some(2000),
            tools: vec!["Bash".into(), "Read".into()],
            action: ResultAction::Note,
        };
        let spelled =
            ["older-than", "5", "turns", "larger-than", "2kB", "tool", "Bash", "tool=Read"];
        assert_eq!(read(&spelled).unwrap(), expected);
        let signs = ["older-than=5", "larger-than=2000", "tool=Bash", "tool=Read"];
        assert_eq!(read(&signs).unwrap(), expected);
        assert_eq!(read(&[]).unwrap(), ResultPolicy::default());
        for bad in [&["older-than"][..], &["older-than", "x"], &["tool"], &["newer", "3"]] {
            assert!(read(bad).is_err(), "{bad:?}");
        }
    }
}
