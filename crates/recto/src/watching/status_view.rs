//! How the status of a session is shown: rows, colours, JSON. `status` and `watch`
//! share it.

use jiff::Timestamp;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_session::status::PendingCall;
use recto_session::status::RunningTask;
use recto_session::status::StatusKind;
use recto_store::SessionStatus;

use crate::environment::Environment;
use crate::terminal::output::Look;
use crate::terminal::text::duration;
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

/// A status for people.
pub(crate) fn label(kind: StatusKind) -> &'static str {
    match kind {
        StatusKind::WaitingForApproval => "needs approval",
        StatusKind::WaitingForInput => "needs input",
        StatusKind::Working => "working",
        StatusKind::Idle => "idle",
        StatusKind::Ended => "ended",
        StatusKind::Unknown => "unknown",
    }
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
        title: if title.is_empty() { text(&status.goal) } else { title },
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

/// The fields of a session's status, after others.
pub(crate) fn json(head: ObjectWriter, one: &SessionStatus) -> ObjectWriter {
    let status = &one.status;
    let time = |time: Option<Timestamp>| time.map(|time| format!("{time:.3}"));
    let mut why = ArrayWriter::new();
    for sentence in &status.why {
        why = why.string(sentence);
    }
    let mut running = ArrayWriter::new();
    for task in &status.running {
        running = running.json(&task_json(task).finish());
    }
    let path = one.path.as_ref().map(|path| path.to_string_lossy().into_owned());
    let number = |number: Option<u64>| {
        number.map_or_else(|| b"null".to_vec(), |number| number.to_string().into_bytes())
    };
    let tokens = if one.is_whole {
        let tokens = &status.tokens;
        ObjectWriter::new()
            .number("input", tokens.input)
            .number("output", tokens.output)
            .number("cache_creation", tokens.cache_creation)
            .number("cache_read", tokens.cache_read)
            .finish()
    } else {
        b"null".to_vec()
    };
    let pid = one.announced.as_ref().map(|announced| u64::from(announced.pid));
    head.string("id", &one.id.to_string())
        .string("status", status.kind.name())
        .string_or_null("since", time(status.since).as_deref())
        .string("confidence", status.confidence.name())
        .json("why", &why.finish())
        .boolean("live", one.is_live())
        .json("pid", &number(pid))
        .string_or_null("title", status.title.as_deref())
        .string_or_null("goal", status.goal.as_deref())
        .string_or_null("last_output", status.last_output.as_deref())
        .string_or_null("project", status.cwd.as_deref())
        .string_or_null("branch", status.branch.as_deref())
        .string_or_null("model", status.model.as_deref())
        .string_or_null("version", status.version.as_deref())
        .string_or_null("permission_mode", status.permission_mode.as_deref())
        .json("pending", &call_json(status.pending.as_ref()))
        .json("current", &call_json(status.current.as_ref()))
        .json("running", &running.finish())
        .json("tokens", &tokens)
        .json("context_tokens", &number(status.context_tokens))
        .string_or_null("last_line", time(status.last_line).as_deref())
        .string_or_null("changes_at", time(status.changes_at).as_deref())
        .string_or_null("path", path.as_deref())
}

fn call_json(call: Option<&PendingCall>) -> Vec<u8> {
    let Some(call) = call else { return b"null".to_vec() };
    let since = call.since.map(|time| format!("{time:.3}"));
    ObjectWriter::new()
        .string("id", &call.id)
        .string("tool", &call.tool)
        .string("about", &call.about)
        .string_or_null("since", since.as_deref())
        .finish()
}

fn task_json(task: &RunningTask) -> ObjectWriter {
    let since = task.since.map(|time| format!("{time:.3}"));
    ObjectWriter::new()
        .string("id", &task.id)
        .string("kind", task.kind.name())
        .string("about", &task.about)
        .string_or_null("since", since.as_deref())
}
