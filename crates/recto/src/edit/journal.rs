//! What all commands that change files share: the journal, what it says about
//! interrupted operations, questions, and operations as text and JSON.

use std::io;
use std::io::BufRead;
use std::io::IsTerminal;

use recto_store::Home;
use recto_store::LogFile;
use recto_store::SessionFile;
use recto_store::publish::Change;
use recto_store::publish::Journal;
use recto_store::publish::Operation;
use recto_store::publish::Recovered;
use recto_store::publish::State;
use recto_view::ChangeRow;

use crate::environment::Environment;
use crate::error::CommandError;
use crate::terminal::output::Output;
use crate::terminal::text::bytes;
use crate::terminal::text::fit;
use crate::terminal::text::one_line;

/// Opens the journal, and tells what had been interrupted.
pub(crate) fn open_journal(
    home: &Home,
    environment: &Environment,
    output: &Output,
) -> Result<Journal, CommandError> {
    let journal = Journal::open(&environment.data_directory()?, home)?;
    for line in journal.recovered().iter().flat_map(Recovered::lines) {
        output.remark(&line);
    }
    Ok(journal)
}

/// Refuses a session that a client works on, or may: one that was written a
/// moment ago, unless it was recto that wrote it.
pub(crate) fn may_edit(
    home: &Home,
    environment: &Environment,
    session: &SessionFile,
) -> Result<(), CommandError> {
    Ok(home.may_edit(&environment.data_directory()?, session, environment.now())?)
}

/// The session of a log; subagents and other files have none.
pub(crate) fn session_of(log: &LogFile) -> Result<SessionFile, CommandError> {
    log.main().ok_or_else(|| {
        let message = format!("`{}` is not a session of this home", fit(&log.name(), 60));
        CommandError::user("no-session", message)
    })
}

/// Asks a person. Where there is none, `yes_option` must have been given.
pub(crate) fn confirm(question: &str, output: &Output) -> Result<bool, CommandError> {
    if !io::stdin().is_terminal() {
        return Err(CommandError::user(
            "needs-yes",
            "cannot ask for confirmation: standard input is not a terminal",
        )
        .with_hint("use --yes to skip the question, or --dry-run to see what would be done"));
    }
    output.remark(&format!("{question} [y/N]"));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Writes a line for each change: what is done, to which file, how large it is.
pub(crate) fn write_changes(
    home: &Home,
    changes: &[Change],
    output: &mut Output,
) -> Result<(), CommandError> {
    for change in changes {
        let size = match change.after.as_ref().or(change.before.as_ref()) {
            Some(State::File(file)) => bytes(file.bytes),
            Some(State::Directory { .. }) | None => "directory".to_owned(),
        };
        let path = one_line(&home.relative(&change.path).to_string_lossy());
        output.line(&format!("  {:7}  {path}  {size}", change.verb()))?;
    }
    Ok(())
}

/// The command as it was typed, or nearly so.
pub(crate) fn command_line(operation: &Operation) -> String {
    let mut words = vec![operation.name.clone()];
    for argument in &operation.arguments {
        let is_plain = !argument.is_empty()
            && argument.chars().all(|c| c.is_alphanumeric() || "-_./:=@".contains(c));
        words.push(if is_plain { argument.clone() } else { format!("\"{argument}\"") });
    }
    one_line(&words.join(" "))
}

/// Changes as JSON.
pub(crate) fn changes_json(changes: &[Change]) -> Result<Vec<u8>, CommandError> {
    let rows: Vec<ChangeRow> = changes.iter().map(ChangeRow::from).collect();
    Ok(serde_json::to_vec(&rows).map_err(io::Error::from)?)
}
