//! `recto watch`: what the sessions do, while they do it.

use clap::Args;
use recto_store::Home;

use crate::commands::browse;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;
use crate::watching::Notice;
use crate::watching::Watching;
use crate::watching::status_view::read_statuses;

/// The statuses that --notify is about by default.
const NEEDS_YOU: &str = "needs-approval,needs-input,ended";

/// Watch sessions on a live dashboard
///
/// Sessions waiting for you come first. `recto status` shows the same once, and explains the
/// statuses.
///
/// With --events (or --json), prints a JSON line for every status change; the first lines
/// describe the current sessions.
///
/// With --notify, recto notifies you when a session has had one of the --on statuses for two
/// seconds: with the terminal bell, on the desktop (notify-send or osascript), with a command,
/// which gets the variables RECTO_EVENT_SESSION, _FROM, _TO, _SINCE, _TITLE, _PROJECT and
/// _WHY, or by a POST of the JSON line to an http:// URL.
///
/// Examples:
///   recto watch --notify bell
///   recto watch --notify desktop --on needs-approval
///   recto watch --events --notify 'command:say "$RECTO_EVENT_TITLE"'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct WatchArgs {
    /// Print a JSON line for every change, instead of the board
    #[arg(long)]
    pub(crate) events: bool,
    /// How to notify you: bell, desktop, command:CMD or webhook:URL; repeatable
    #[arg(long, value_name = "WAY")]
    pub(crate) notify: Vec<String>,
    /// Which statuses to notify about (comma-separated)
    #[arg(
        long,
        value_name = "STATUS",
        requires = "notify",
        default_value = NEEDS_YOU
    )]
    pub(crate) on: String,
    /// Show sessions that ended too
    #[arg(long, short)]
    pub(crate) all: bool,
}

impl Default for WatchArgs {
    fn default() -> WatchArgs {
        WatchArgs { events: false, notify: Vec::new(), on: NEEDS_YOU.to_owned(), all: false }
    }
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
        return Err(CommandError::user("no-terminal", "the board needs a terminal").with_hint(
            "`recto watch --events` prints JSON, `recto status` prints the statuses once",
        ));
    }
    watching.board(output.has_colour())
}
