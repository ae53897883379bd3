//! `recto status`: what the sessions do now, and why that is said.

use std::thread;
use std::time::Duration;
use std::time::Instant;

use clap::Args;
use jiff::Timestamp;
use recto_log::SessionId;
use recto_log::json::ObjectWriter;
use recto_session::status::StatusKind;
use recto_store::Home;
use recto_store::RECENT;
use recto_store::SessionStatus;
use recto_store::StatusScope;
use recto_store::Statuses;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::filter::parse_span;
use crate::output::Look;
use crate::output::Output;
use crate::status_view;
use crate::target;
use crate::target::tell_skipped;
use crate::text::Column;
use crate::text::Table;
use crate::text::fit;

/// Say what each session does now, and how that is known
///
/// A session is working, waiting_for_approval (of a call, or an answer to a question),
/// waiting_for_input, idle, ended or unknown. Without SESSION, those are listed that a
/// client announces, and those whose log was written within the last hour.
///
/// With --wait, nothing is said until SESSION has one of the statuses (names with
/// commas between them). The exit code is 0 then, and 1 if --timeout has passed first.
///
/// Examples:
///   recto status
///   recto status --json latest
///   recto status --wait latest waiting_for_approval,waiting_for_input --timeout 10m
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct StatusArgs {
    /// The sessions
    #[arg(value_name = "SESSION", conflicts_with = "wait")]
    sessions: Vec<String>,
    /// All sessions of the home, those that ended long ago too
    #[arg(long, short, conflicts_with_all = ["sessions", "wait"])]
    all: bool,
    /// Wait until the session has one of these statuses
    #[arg(long, num_args = 2, value_names = ["SESSION", "STATUS"])]
    wait: Vec<String>,
    /// How long to wait at most, such as 90s, 10m or 2h
    #[arg(long, value_name = "DURATION", requires = "wait")]
    timeout: Option<String>,
}

/// How often a session that is waited for is looked at, and the files are listed.
const PERIOD: Duration = Duration::from_millis(250);
const LISTING: Duration = Duration::from_secs(2);

pub(crate) fn cmd_status(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &StatusArgs,
) -> Result<Outcome, CommandError> {
    if let [session, wanted] = args.wait.as_slice() {
        let timeout = args.timeout.as_deref().map(read_timeout).transpose()?;
        let wanted = read_statuses("--wait", wanted)?;
        let waiting = Waiting { home, environment, wanted, timeout };
        return waiting.run(session, output);
    }
    let inventory = home.inventory();
    let scope = if args.all {
        StatusScope::All
    } else if args.sessions.is_empty() {
        StatusScope::Recent(RECENT)
    } else {
        let found = args.sessions.iter().map(|text| find(home, environment, text));
        StatusScope::Only(found.collect::<Result<_, _>>()?)
    };
    tell_skipped(&inventory, output);
    let now = environment.now();
    let found = Statuses::default().look(home, &inventory, &scope, now);
    if found.is_empty() {
        if !output.json {
            output.remark("no session runs, and none was written within the last hour");
        }
        return Ok(Outcome::Found);
    }
    write(&found, environment, output, now)?;
    Ok(Outcome::Done)
}

/// The session that is meant. A client that was not asked anything yet has no log, and
/// is found by its whole id.
fn find(home: &Home, environment: &Environment, text: &str) -> Result<SessionId, CommandError> {
    if let Ok(id) = text.parse()
        && home.live_sessions_now().iter().any(|live| live.session == id)
    {
        return Ok(id);
    }
    target::find_session(home, environment, text)
}

fn read_timeout(text: &str) -> Result<Duration, CommandError> {
    let span = parse_span(text).and_then(|span| Duration::try_from(span).ok());
    span.ok_or_else(|| {
        let message = format!("--timeout does not understand `{}`", fit(text, 60));
        CommandError::user("bad-time", message).with_hint("use a span such as 90s, 10m or 2h")
    })
}

/// Names of statuses with commas between them.
pub(crate) fn read_statuses(option: &str, text: &str) -> Result<Vec<StatusKind>, CommandError> {
    let one = |name: &str| {
        StatusKind::from_name(name.trim()).ok_or_else(|| {
            let names: Vec<&str> = StatusKind::ALL.iter().map(|kind| kind.name()).collect();
            let message = format!("{option}: there is no status `{}`", fit(name, 60));
            CommandError::user("bad-status", message)
                .with_hint(format!("the statuses are {}", names.join(", ")))
        })
    };
    text.split(',').map(one).collect()
}

struct Waiting<'a> {
    home: &'a Home,
    environment: &'a Environment,
    wanted: Vec<StatusKind>,
    timeout: Option<Duration>,
}

impl Waiting<'_> {
    fn run(&self, session: &str, output: &mut Output) -> Result<Outcome, CommandError> {
        // The exit code 1 is that of the timeout.
        let id = find(self.home, self.environment, session).map_err(|error| {
            let known = CommandError::user("no-session", error.to_string());
            error.hints().into_iter().fold(known, CommandError::with_hint)
        })?;
        let begin = Instant::now();
        let scope = StatusScope::Only(vec![id]);
        let mut statuses = Statuses::default();
        let (mut inventory, mut listed) = (self.home.inventory(), begin);
        loop {
            let now = self.environment.now();
            let found = statuses.look(self.home, &inventory, &scope, now);
            if found.iter().any(|one| self.wanted.contains(&one.status.kind)) {
                write(&found, self.environment, output, now)?;
                return Ok(Outcome::Done);
            }
            let left = self.timeout.map(|timeout| timeout.saturating_sub(begin.elapsed()));
            if left.is_some_and(|left| left.is_zero()) {
                let last = found.first().map_or("unknown", |one| one.status.kind.name());
                output.remark(&format!("the time is over; the session is {last}"));
                return Ok(Outcome::Found);
            }
            thread::sleep(left.map_or(PERIOD, |left| left.min(PERIOD)));
            if listed.elapsed() >= LISTING {
                (inventory, listed) = (self.home.inventory(), Instant::now());
            }
        }
    }
}

fn write(
    found: &[SessionStatus],
    environment: &Environment,
    output: &mut Output,
    now: Timestamp,
) -> Result<(), CommandError> {
    if output.json {
        for one in found {
            output.json_line(status_view::json(ObjectWriter::new(), one))?;
        }
        return Ok(());
    }
    let mut table = Table::new(&[
        Column::Left,
        Column::Left,
        Column::Right,
        Column::Flexible,
        Column::Flexible,
        Column::Flexible,
    ]);
    for one in found {
        let shown = status_view::shown(one, environment, now);
        let mark = if one.is_live() { "●" } else { " " };
        table.row([
            format!("{mark} {}", shown.id),
            status_view::label(one.status.kind).into(),
            shown.age,
            shown.title,
            shown.project,
            shown.why,
        ]);
    }
    for (cells, one) in table.layout(output.width).into_iter().zip(found) {
        let look = |at: usize| match at {
            1 => status_view::look(one.status.kind),
            2 | 4 | 5 => Look::Faint,
            _ => Look::Plain,
        };
        let cells: Vec<String> =
            cells.iter().enumerate().map(|(at, cell)| output.paint(look(at), cell)).collect();
        output.line(cells.join("  ").trim_end())?;
    }
    Ok(())
}
