//! Errands beside the reading: lists of a session, and documents.

use std::path::PathBuf;
use std::sync::Arc;

use recto_session::usage::PriceTable;
use recto_store::Agent;
use recto_store::AgentSource;
use recto_store::FileKind;
use recto_store::Home;
use recto_store::LogFile;
use recto_view::CallQuery;
use recto_view::ExportFormat;

use super::cannot_read;
use super::clips::clips;
use super::edits::edit;
use super::edits::refused;
use crate::browser::message::Entry;
use crate::browser::message::Errand;
use crate::browser::message::LeadsTo;
use crate::browser::message::Report;
use crate::browser::message::TableRow;
use crate::browser::state::shown_path;
use crate::commands::agents;
use crate::commands::export::Place;
use crate::commands::export::export_to_file;
use crate::commands::tools;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::reading::Reading;
use crate::terminal::document_file::Existing;
use crate::terminal::output::Look;

/// Does an errand. Where documents go is where the browser was started.
pub(in crate::browser) fn errand(
    home: &Home,
    environment: &Environment,
    errand: &Errand,
    (directory, user_home): (Option<&PathBuf>, Option<&PathBuf>),
) -> Report {
    let (ticket, entry, rows) = match errand {
        Errand::Tools { ticket, entry, width } => (*ticket, entry, tool_rows(home, entry, *width)),
        Errand::Agents { ticket, entry, width } => {
            (*ticket, entry, agent_rows(home, entry, *width))
        }
        Errand::Export { entry, format } => {
            return match export(home, entry, *format, directory) {
                Ok((path, bytes)) => Report::Exported { path: shown_path(&path, user_home), bytes },
                Err(error) => Report::Failed {
                    ticket: None,
                    message: format!("the document could not be written: {error}"),
                },
            };
        }
        Errand::Restore { entry } => {
            return restore(home, environment, entry).unwrap_or_else(|error| Report::Failed {
                ticket: None,
                message: format!("the session could not be restored: {error}"),
            });
        }
        Errand::Clips { ticket, entry, turn } => {
            return match clips(entry, *turn) {
                Ok(clips) => Report::Clips { ticket: *ticket, clips },
                Err(error) => {
                    let message = cannot_read(&error, &entry.log.path);
                    Report::Failed { ticket: None, message }
                }
            };
        }
        Errand::Rename { .. }
        | Errand::Fork { .. }
        | Errand::Remove { .. }
        | Errand::LastOperation
        | Errand::Undo { .. } => return edit(home, environment, errand),
    };
    match rows {
        Ok(rows) => Report::Rows { ticket, rows },
        Err(error) => {
            let message = cannot_read(&error, &entry.log.path);
            Report::Failed { ticket: Some(ticket), message }
        }
    }
}

fn restore(home: &Home, environment: &Environment, entry: &Entry) -> Result<Report, CommandError> {
    let library = environment.library(home, PriceTable::default());
    let missing =
        || CommandError::user("no-session", "restore the session to restore its subagents");
    let done = library.restore(entry.log.session.ok_or_else(missing)?);
    let done = done.map_err(refused)?;
    let files =
        done.restored.files.iter().filter(|file| ["new", "completed"].contains(&file.verdict));
    Ok(Report::Restored { files: files.count() as u64 })
}

fn tool_rows(home: &Home, entry: &Entry, width: usize) -> Result<Vec<TableRow>, CommandError> {
    let reading = Reading::of(entry.log.clone(), home.inventory())?;
    let calls = recto_view::call_rows(home, &reading, CallQuery::default());
    let cells = tools::table(&calls).layout(Some(width));
    let rows = calls.iter().zip(cells).map(|(call, cells)| TableRow {
        spans: vec![(cells.join("  ").trim_end().to_owned(), tools::look(call))],
        leads_to: LeadsTo::Line(call.line),
    });
    Ok(rows.collect())
}

fn agent_rows(home: &Home, entry: &Entry, width: usize) -> Result<Vec<TableRow>, CommandError> {
    let reading = Reading::of(entry.log.clone(), home.inventory())?;
    let Some(file) = reading.log.main() else { return Ok(Vec::new()) };
    let mut found = home.agent_tree(&reading.inventory, &file, &reading.loaded);
    found.retain(|agent| agent.kind == FileKind::Agent);
    let cells = agents::table_by_task(&found, width).layout(Some(width));
    let rows = found.iter().zip(cells).map(|(agent, cells)| TableRow {
        spans: vec![(cells.join("  ").trim_end().to_owned(), Look::Plain)],
        leads_to: match &agent.source {
            AgentSource::Log(file) => LeadsTo::Log(Arc::new(entry_of_agent(entry, agent, file))),
            AgentSource::Progress(told) | AgentSource::Result(told) => LeadsTo::Line(told.line),
        },
    });
    Ok(rows.collect())
}

fn entry_of_agent(session: &Entry, agent: &Agent, file: &LogFile) -> Entry {
    let (kind, task) = agents::about(agent);
    let title = [kind.as_str(), task.as_str()].join(" · ");
    session.of_agent(file, title.trim_matches([' ', '·']).to_owned())
}

/// Writes a document beside where the browser was started, under a name that is free.
fn export(
    home: &Home,
    entry: &Entry,
    format: ExportFormat,
    directory: Option<&PathBuf>,
) -> Result<(PathBuf, u64), CommandError> {
    let name = |number: usize| {
        let id = entry.short_id();
        let extension = format.extension();
        if number == 1 { format!("{id}.{extension}") } else { format!("{id}-{number}.{extension}") }
    };
    let directory = directory.cloned().unwrap_or_default();
    let mut number = 1;
    loop {
        let path = directory.join(name(number));
        let place = Place {
            format,
            path: &path,
            existing: Existing::Keep { hint: "remove older documents first" },
        };
        match export_to_file(home, &entry.log, None, place) {
            Ok(done) => return Ok((path, done.written)),
            Err(error) if error.kind() == "exists" && number < 1000 => number += 1,
            Err(error) => return Err(error),
        }
    }
}
