//! Changes that a person asked for in the browser. All of them can be undone.

use recto_log::SessionId;
use recto_session::usage::PriceTable;
use recto_store::Home;
use recto_store::publish::OperationId;
use recto_store::publish::Status;
use recto_store::publish::newest_operations;
use recto_view::Library;
use recto_view::ViewError;

use crate::browser::message::Entry;
use crate::browser::message::Errand;
use crate::browser::message::Report;
use crate::edit::journal::command_line;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::terminal::text::bytes;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// Changes the home, or says why that cannot be.
pub(super) fn edit(home: &Home, environment: &Environment, errand: &Errand) -> Report {
    let library = environment.library(home, PriceTable::default());
    let done = match errand {
        Errand::Rename { entry, title } => rename(&library, entry, title),
        Errand::Fork { entry, turn } => fork(&library, entry, *turn),
        Errand::Remove { entries } => {
            let sessions: Result<Vec<SessionId>, _> =
                entries.iter().map(|entry| session(entry)).collect();
            sessions.and_then(|sessions| remove(&library, &sessions))
        }
        Errand::LastOperation => last_operation(home, environment),
        Errand::Undo { operation } => undo(&library, *operation),
        Errand::Tools { .. }
        | Errand::Agents { .. }
        | Errand::Export { .. }
        | Errand::Restore { .. }
        | Errand::Clips { .. } => return Report::Remark("this changes nothing".into()),
    };
    done.unwrap_or_else(|error| {
        let hints = error.hints().into_iter();
        let texts: Vec<String> = std::iter::once(error.to_string()).chain(hints).collect();
        Report::Failed { ticket: None, message: texts.join("; ") }
    })
}

/// What a library refuses, as commands say it.
pub(super) fn refused(error: ViewError) -> CommandError {
    match error {
        ViewError::Store(error) => CommandError::Store(error),
        error => CommandError::user("not-found", error.to_string()),
    }
}

fn session(entry: &Entry) -> Result<SessionId, CommandError> {
    let missing = || {
        CommandError::user(
            "no-session",
            "a subagent cannot be changed on its own, only with its session",
        )
    };
    entry.log.session.filter(|_| !entry.log.is_agent()).ok_or_else(missing)
}

fn changed(text: String) -> Report {
    Report::Changed { text: format!("{text}; U undoes it"), removed: Vec::new() }
}

fn rename(library: &Library, entry: &Entry, title: &str) -> Result<Report, CommandError> {
    let done = library.rename(session(entry)?, title).map_err(refused)?;
    Ok(changed(match done.title.is_empty() {
        true => "removed the title".to_owned(),
        false => format!("renamed to `{}`", one_line(&done.title)),
    }))
}

fn fork(library: &Library, entry: &Entry, turn: u32) -> Result<Report, CommandError> {
    let done = library.fork(session(entry)?, turn).map_err(refused)?;
    let id: String = done.session.chars().take(8).collect();
    Ok(changed(format!("new session {id} ends with turn {turn}")))
}

fn remove(library: &Library, sessions: &[SessionId]) -> Result<Report, CommandError> {
    let done = library.remove(sessions).map_err(refused)?;
    let text = format!(
        "removed {} ({}); U undoes it",
        plural(done.sessions.len() as u64, "session"),
        bytes(done.bytes)
    );
    Ok(Report::Changed { text, removed: done.sessions })
}

fn last_operation(home: &Home, environment: &Environment) -> Result<Report, CommandError> {
    let operations = newest_operations(&environment.data_directory()?, home)?.operations;
    let mut operations = operations.iter();
    let last = operations.find(|one| one.status == Status::Done && !one.is_unfinished());
    Ok(Report::LastOperation(last.map(|last| {
        let title = last.title.as_deref().map_or(String::new(), |title| format!("  ({title})"));
        (last.id.number(), format!("{}{}", command_line(last), one_line(&title)))
    })))
}

fn undo(library: &Library, operation: u64) -> Result<Report, CommandError> {
    let done = library.undo(Some(OperationId::from(operation))).map_err(refused)?;
    let text = format!("undid operation {}: {}", done.operation.id, one_line(&done.operation.name));
    Ok(Report::Changed { text, removed: Vec::new() })
}
