//! `recto status`: what the sessions do now, and why that is said.

use std::time::Duration;
use std::time::Instant;

use clap::Args;
use jiff::Timestamp;
use recto_log::SessionId;
use recto_session::status::StatusKind;
use recto_store::Home;
use recto_store::RECENT;
use recto_store::SessionStatus;
use recto_store::StatusScope;
use recto_store::Statuses;
use recto_view::StatusRow;

use crate::commands::watch;
use crate::commands::watch::WatchArgs;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::target;
use crate::select::target::tell_skipped;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::fit;
use crate::watching;
use crate::watching::Source;
use crate::watching::status_view;
use crate::watching::status_view::read_statuses;

/// Show what each session is doing
///
/// With the evidence for it. A session is working, needs approval (of a call or a plan), needs
/// input (your answer or the next prompt), is idle, or has ended. Options call these working,
/// needs-approval, needs-input, idle, ended and unknown; JSON has waiting_for_approval and
/// waiting_for_input. Without SESSION, lists sessions that are running or were active within
/// the last hour.
///
/// With --wait, blocks until SESSION reaches one of the given statuses (comma-separated). The
/// exit code is then 0. It is 1 if --timeout passes first, or if the session ends (or its log
/// is deleted) and `ended` is not one of the statuses.
///
/// Examples:
///   recto status
///   recto status --json latest
///   recto status --wait latest needs-approval,needs-input --timeout 10m
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct StatusArgs {
    /// The sessions
    #[arg(value_name = "SESSION", conflicts_with = "wait")]
    sessions: Vec<String>,
    /// Include sessions that ended long ago
    #[arg(long, short, conflicts_with_all = ["sessions", "wait"])]
    all: bool,
    /// Keep watching: the same as `recto watch`
    #[arg(long, short, conflicts_with_all = ["sessions", "wait"])]
    watch: bool,
    /// Wait until the session has one of these statuses
    #[arg(long, num_args = 2, value_names = ["SESSION", "STATUS"])]
    wait: Vec<String>,
    /// How long to wait, such as 90s, 1m30s, 500ms or 2h; a number alone is seconds
    #[arg(long, value_name = "DURATION", requires = "wait")]
    timeout: Option<String>,
}

pub(crate) fn cmd_status(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &StatusArgs,
) -> Result<Outcome, CommandError> {
    if args.watch {
        let watched = WatchArgs { all: args.all, ..WatchArgs::default() };
        return watch::cmd_watch(home, environment, output, &watched);
    }
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
            output.remark("no session is running, and none was active within the last hour");
        }
        return Ok(Outcome::Found);
    }
    write(&found, environment, output, now)?;
    Ok(Outcome::Done)
}

/// The session that is meant. A client that was not asked anything yet has no log, and
/// is found by its id or the beginning of it, as it is listed.
fn find(home: &Home, environment: &Environment, text: &str) -> Result<SessionId, CommandError> {
    let announced: Vec<SessionId> =
        home.live_sessions_now().iter().map(|live| live.session).collect();
    if let Ok(id) = text.parse()
        && announced.contains(&id)
    {
        return Ok(id);
    }
    target::find_session(home, environment, text).or_else(|error| {
        let is_meant = |id: &&SessionId| text.len() >= 4 && id.to_string().starts_with(text);
        let mut meant = announced.iter().filter(is_meant);
        match (error.kind(), meant.next(), meant.next()) {
            ("not-found", Some(id), None) => Ok(*id),
            _ => Err(error),
        }
    })
}

fn read_timeout(text: &str) -> Result<Duration, CommandError> {
    parse_timeout(text.trim()).ok_or_else(|| {
        let message = format!("invalid value `{}` for --timeout", fit(text, 60));
        CommandError::user("bad-time", message)
            .with_hint("use a span such as 90s, 1m30s, 500ms or 2h; a number alone is seconds")
    })
}

/// Numbers with units, one after the other, or one number of seconds.
fn parse_timeout(text: &str) -> Option<Duration> {
    let (mut rest, mut sum) = (text, Duration::ZERO);
    loop {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let number: f64 = number.parse().ok()?;
        let end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let seconds = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "" if rest == text && after.is_empty() => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            "w" => 604_800.0,
            _ => return None,
        };
        sum = sum.checked_add(Duration::try_from_secs_f64(number * seconds).ok()?)?;
        if after.is_empty() {
            return Some(sum);
        }
        rest = after;
    }
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
            let candidates = error.candidates().iter().cloned();
            let known = candidates.fold(known, CommandError::with_candidate);
            error.hints().into_iter().fold(known, CommandError::with_hint)
        })?;
        let begin = Instant::now();
        // It is known how it was, even if its log is deleted as soon as it is watched.
        let (scope, now) = (StatusScope::Only(vec![id]), self.environment.now());
        let mut last =
            Statuses::default().look(self.home, &self.home.inventory(), &scope, now).pop();
        let mut source = Source::of(self.home.clone(), id)?;
        loop {
            let now = self.environment.now();
            let sight = source.look(now);
            last = sight.found.into_iter().next().or(last);
            if sight.gone.contains(&id) {
                let Some(one) = &mut last else { return Ok(self.never_seen(output)) };
                watching::end(one, now);
            }
            if let Some(outcome) = self.outcome(last.as_slice(), output, now)? {
                return Ok(outcome);
            }
            let left = self.timeout.map(|timeout| timeout.saturating_sub(begin.elapsed()));
            if left.is_some_and(|left| left.is_zero()) {
                let last = last.as_ref().map_or(StatusKind::Unknown, |one| one.status.kind);
                let last = last.label();
                output.remark(&format!("timed out; the session's status is `{last}`"));
                return Ok(Outcome::Found);
            }
            source.wait(now, left);
        }
    }

    /// The log was deleted before it was looked at.
    fn never_seen(&self, output: &Output) -> Outcome {
        output.remark("the session's log no longer exists, and no client is running");
        let is_wanted = self.wanted.contains(&StatusKind::Ended);
        if is_wanted { Outcome::Done } else { Outcome::Found }
    }

    /// How the waiting ends, if it does: nothing is to come of a session that has ended.
    fn outcome(
        &self,
        last: &[SessionStatus],
        output: &mut Output,
        now: Timestamp,
    ) -> Result<Option<Outcome>, CommandError> {
        let has = |kind: StatusKind| last.iter().any(|one| one.status.kind == kind);
        if self.wanted.iter().any(|kind| has(*kind)) {
            write(last, self.environment, output, now)?;
            return Ok(Some(Outcome::Done));
        }
        if has(StatusKind::Ended) {
            let wanted: Vec<&str> = self.wanted.iter().map(|kind| kind.label()).collect();
            let wanted = wanted.join(" or ");
            output.remark(&format!("session ended before reaching `{wanted}`"));
            return Ok(Some(Outcome::Found));
        }
        Ok(None)
    }
}

fn write(
    found: &[SessionStatus],
    environment: &Environment,
    output: &mut Output,
    now: Timestamp,
) -> Result<(), CommandError> {
    if output.json {
        return output.rows(&found.iter().map(StatusRow::of).collect::<Vec<_>>());
    }
    let mut table = Table::new(&[
        Column::Left,
        Column::Left,
        Column::Right,
        Column::Flexible,
        Column::Path,
        Column::Spare,
    ]);
    for one in found {
        let shown = status_view::shown(one, environment, now);
        let mark = match (output.width, one.is_live()) {
            (None, _) => "",
            (Some(_), true) => "● ",
            (Some(_), false) => "  ",
        };
        table.row([
            format!("{mark}{}", shown.id),
            one.status.kind.label().into(),
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
        output.line(cells.join(output.gap()).trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_have_units_or_are_seconds() {
        let milliseconds = |text: &str| parse_timeout(text).map(|timeout| timeout.as_millis());
        for (text, expected) in [
            ("500ms", 500),
            ("1.5s", 1500),
            ("1m30s", 90_000),
            ("30", 30_000),
            ("0", 0),
            ("0s", 0),
            ("2h", 7_200_000),
            ("10min", 600_000),
            ("1d", 86_400_000),
        ] {
            assert_eq!(milliseconds(text), Some(expected), "{text}");
        }
        for bad in ["", "soon", "s", "-1s", "1m30", "1 m", "1.2.3s", "1e9", "9999999999999999999w"]
        {
            assert_eq!(milliseconds(bad), None, "{bad}");
        }
    }
}
