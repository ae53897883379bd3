//! `recto watch`: what the sessions do, while they do it.

use clap::Args;
use recto_store::Home;

use crate::commands::browse;
use crate::commands::status::read_statuses;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;
use crate::watching::Notice;
use crate::watching::Watching;

/// Watch what the sessions do, on the whole terminal
///
/// Those who wait for you are at the top. `recto status` says the same once, and explains
/// the statuses.
///
/// With --events (or --json), a JSON line is written for every change of a status; the first
/// lines are those of the sessions that are there.
///
/// With --notify, you are told when a session has had one of the statuses of --on for two
/// seconds: by the terminal's bell, on the desktop (notify-send or osascript), by a command,
/// which gets RECTO_EVENT_SESSION, _FROM, _TO, _SINCE, _TITLE, _PROJECT and _WHY as variables,
/// or by a POST of the JSON line to an http:// address.
///
/// Examples:
///   recto watch --notify bell
///   recto watch --notify desktop --on waiting_for_approval
///   recto watch --events --notify 'command:say "$RECTO_EVENT_TITLE"'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct WatchArgs {
    /// Write a JSON line for every change, instead of the board
    #[arg(long)]
    events: bool,
    /// How to tell you: bell, desktop, command:CMD or webhook:URL; may be repeated
    #[arg(long, value_name = "WAY")]
    notify: Vec<String>,
    /// Which statuses you are told about, with commas between them
    #[arg(
        long,
        value_name = "STATUS",
        requires = "notify",
        default_value = "waiting_for_approval,waiting_for_input,ended"
    )]
    on: String,
    /// Show sessions that ended too
    #[arg(long, short)]
    all: bool,
}

pub(crate) fn cmd_watch(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &WatchArgs,
) -> Result<Outcome, CommandError> {
    let notices = args.notify.iter().map(|text| Notice::parse(text));
    let watching = Watching {
        home,
        environment,
        notices: notices.collect::<Result<_, _>>()?,
        on: read_statuses("--on", &args.on)?,
        shows_ended: args.all,
    };
    if args.events || output.json {
        return watching.events(output);
    }
    if !browse::is_possible(environment, output) {
        return Err(CommandError::user("no-terminal", "the board needs a terminal")
            .with_hint("`recto watch --events` writes JSON, `recto status` says it once"));
    }
    watching.board(output.has_colour())
}
