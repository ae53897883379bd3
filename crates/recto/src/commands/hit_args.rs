//! What `find` and `grep` share: which hits are wanted, and what is done with them.

use std::path::Path;
use std::path::PathBuf;

use clap::Args;
use recto_store::Home;
use recto_store::index::Answer;
use recto_store::index::Hit;
use recto_store::index::USUAL_HITS;

use crate::commands::show;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::search::hits;
use crate::search::hits::FoundText;
use crate::search::hits::Mark;
use crate::select::filter::FilterArgs;
use crate::select::target;
use crate::terminal::output::Output;
use crate::terminal::text::count;
use crate::terminal::text::plural;
use recto_view::resume_command;

/// Which hits, and what to do with them.
#[derive(Debug, Args)]
pub(crate) struct HitArgs {
    /// Limit the number of hits (0 = no limit) [default: 20, with --json all]
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,
    /// Show this many lines of the text before and after
    #[arg(long, short = 'C', value_name = "LINES")]
    context: Option<usize>,
    /// Show the turn of hit N
    #[arg(long, value_name = "N", conflicts_with_all = ["resume", "context"])]
    open: Option<usize>,
    /// Print the command that resumes the session of hit N
    #[arg(long, value_name = "N", conflicts_with = "context")]
    resume: Option<usize>,
    #[command(flatten)]
    pub(crate) filter: FilterArgs,
}

impl HitArgs {
    fn chosen(&self) -> Option<usize> {
        self.open.or(self.resume)
    }

    /// How many hits are needed; 0 for all.
    pub(crate) fn limit(&self, output: &Output) -> usize {
        let usual = if output.json { 0 } else { USUAL_HITS };
        self.chosen().map_or(self.limit.unwrap_or(usual), |chosen| chosen.max(1))
    }
}

/// Shows what was found, or does with it what was asked for.
pub(crate) fn give(
    answer: Answer,
    args: &HitArgs,
    mark: &Mark<'_>,
    home: &Home,
    environment: &Environment,
    output: &mut Output,
) -> Result<Outcome, CommandError> {
    for remark in &answer.remarks {
        output.remark(remark);
    }
    for skipped in &answer.skipped {
        output.remark(&skipped.to_string());
    }
    if let Some(number) = args.chosen() {
        let hit = number.checked_sub(1).and_then(|place| answer.hits.get(place));
        let hit = hit.ok_or_else(|| {
            let message = format!("there is no hit {number}");
            let hint = format!("there are {}", plural(answer.total as u64, "hit"));
            CommandError::user("not-found", message).with_hint(hint)
        })?;
        return match args.open {
            Some(_) => show::show_place(home, environment, output, &log_name(hit), hit.line),
            None => write_resume(hit, target::home_to_name(home, environment), output),
        };
    }
    // One text at a time: together they can be as large as all logs.
    let shown = if output.json {
        let mut shown = 0;
        for hit in &answer.hits {
            let Some(found) = FoundText::read(hit, mark) else { continue };
            hits::write_json(&found, output)?;
            shown += 1;
        }
        shown
    } else {
        if answer.hits.len() > 8 {
            output.page();
        }
        hits::write_text(&answer.hits, mark, args.context, environment, output)?
    };
    if answer.hits.len() < answer.total {
        let is_all = args.limit(output) == 0;
        let why = if is_all { "only the newest are ranked" } else { "--limit 0 shows all" };
        // What is not searched yet may have more.
        let least = if answer.is_partial { "at least " } else { "" };
        output.remark(&format!(
            "{} of {least}{} in {}; {why}",
            count(shown as u64),
            plural(answer.total as u64, "hit"),
            plural(answer.logs as u64, "log")
        ));
    }
    if answer.total == 0 && answer.is_partial {
        // Nobody should take that for an answer.
        let message = "nothing found in the logs searched so far";
        let error = CommandError::user("index-busy", message);
        return Err(error
            .with_hint("try again when the index is complete; `recto index` shows its progress"));
    }
    if answer.total == 0 && !output.json {
        output.remark("nothing found");
    }
    Ok(if answer.total == 0 { Outcome::Found } else { Outcome::Done })
}

fn log_name(hit: &Hit) -> String {
    hit.path.to_string_lossy().into_owned()
}

/// What to type to go on with a session, in the directory where the client looks
/// for it.
fn write_resume(
    hit: &Hit,
    home: Option<PathBuf>,
    output: &mut Output,
) -> Result<Outcome, CommandError> {
    let Some(session) = hit.session else {
        let message = "the subagent's session is unknown";
        return Err(CommandError::user("no-session", message));
    };
    let directory = hit.cwd.as_deref().map(Path::new);
    let command = resume_command(home.as_deref(), "claude", &session.to_string(), directory);
    output.line(&crate::terminal::text::one_line(&command))?;
    Ok(Outcome::Done)
}
