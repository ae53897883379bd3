//! How the status of a session is shown: rows and colours. `status` and `watch` share it.

use jiff::Timestamp;
use recto_session::status::StatusKind;
use recto_store::SessionStatus;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::terminal::output::Look;
use crate::terminal::text::duration;
use crate::terminal::text::fit;
use crate::terminal::text::one_line;
use crate::terminal::text::path_from_home;

/// The colour of a status.
pub(crate) fn look(kind: StatusKind) -> Look {
    match kind {
        StatusKind::WaitingForApproval => Look::Bad,
        StatusKind::WaitingForInput => Look::Warning,
        StatusKind::Working => Look::Good,
        StatusKind::Idle | StatusKind::Ended | StatusKind::Unknown => Look::Faint,
    }
}

/// Names of statuses with commas between them.
pub(crate) fn read_statuses(option: &str, text: &str) -> Result<Vec<StatusKind>, CommandError> {
    let one = |name: &str| {
        // As people read it, with hyphens, or as JSON has it.
        let words = name.trim().replace('-', " ");
        let label = |kind: &StatusKind| kind.label() == words;
        let known = StatusKind::from_name(name.trim());
        known.or_else(|| StatusKind::ALL.into_iter().find(label)).ok_or_else(|| {
            let names = StatusKind::ALL.iter().map(|kind| kind.label().replace(' ', "-"));
            let names: Vec<String> = names.collect();
            let message = format!("invalid status `{}` for {option}", fit(name, 60));
            CommandError::user("bad-status", message)
                .with_hint(format!("use one of {}", names.join(", ")))
        })
    };
    text.split(',').map(one).collect()
}

/// What is shown of a session, safe for a terminal.
pub(crate) struct Shown {
    pub(crate) id: String,
    pub(crate) age: String,
    pub(crate) why: String,
    pub(crate) title: String,
    pub(crate) project: String,
}

pub(crate) fn shown(one: &SessionStatus, environment: &Environment, now: Timestamp) -> Shown {
    let status = &one.status;
    let text = |text: &Option<String>| one_line(text.as_deref().unwrap_or_default());
    let title = text(&status.title);
    let cwd = status.cwd.as_deref().unwrap_or_default();
    Shown {
        id: one.id.to_string().chars().take(8).collect(),
        age: status.since.map(|since| age(since, now)).unwrap_or_default(),
        why: one_line(&status.why.join("; ")),
        title: if title.is_empty() { text(&one.first_prompt) } else { title },
        project: one_line(&path_from_home(cwd, environment.user_home.as_deref())),
    }
}

/// How long a status has lasted.
fn age(since: Timestamp, now: Timestamp) -> String {
    // Seconds are whole here: a status that lasts is not measured in tenths.
    let seconds = u64::try_from(now.duration_since(since).as_secs()).unwrap_or(0);
    match seconds {
        0..60 => format!("{seconds}s"),
        _ => duration(seconds * 1000),
    }
}
