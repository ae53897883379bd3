//! The work of the browser that reads or writes files. It runs beside the screen.

mod changes;
mod clips;
mod conversation;
mod edits;
mod errand;
mod sheet;

use std::path::Path;

use recto_store::Home;
use recto_store::follow::Waker;

use changes::read_changes;
use conversation::read_conversation;

use super::message::Part;
use super::message::ReadRequest;
use super::message::Report;
use crate::error::CommandError;

pub(super) use errand::errand;

/// How work is stopped, and where it tells what it found.
pub(super) struct Flow<'a> {
    pub(super) is_stopped: &'a dyn Fn() -> bool,
    /// Takes what ends the wait for more of a log.
    pub(super) waits: &'a dyn Fn(Waker),
    pub(super) tell: &'a dyn Fn(Report),
}

/// Reads a log, or a part of it, line by line.
pub(super) fn read(home: &Home, request: &ReadRequest, flow: &Flow<'_>) {
    let done = match request.part {
        Part::Conversation => read_conversation(home, request, flow),
        Part::Changes(turn) => read_changes(request, turn, flow),
    };
    if let Err(error) = done {
        let message = cannot_read(&error, &request.log.path);
        (flow.tell)(Report::Failed { ticket: Some(request.ticket), message });
    }
}

/// The reason comes before the path, which may be longer than the screen is wide.
fn cannot_read(error: &CommandError, path: &Path) -> String {
    let (text, path) = (error.to_string(), path.display());
    match text.strip_prefix(&format!("{path}: ")) {
        Some(why) => format!("cannot read the log: {why}: {path}"),
        None => format!("cannot read the log: {text}"),
    }
}
