//! Where copies of a secret are that was replaced in a session.

use std::path::Path;

use recto_lake::cache::Cache;
use recto_log::LineReader;
use recto_log::SessionId;
use recto_session::redact::Outcome as Redacted;
use recto_session::redact::Redactor;
use recto_store::Home;
use recto_store::SessionFile;
use recto_store::index::Index;
use recto_store::open_file;

use crate::edit::journal;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::terminal::output::Output;
use crate::terminal::text::bytes;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// Asks twice.
pub(crate) fn may_purge(output: &Output) -> Result<bool, CommandError> {
    let first = "recto will remove its backups of this session. Continue?";
    let second = "The old versions cannot be brought back afterwards. Are you sure?";
    Ok(journal::confirm(first, output)? && journal::confirm(second, output)?)
}

/// Where copies may be, a sentence each. `history` is looked at unless its secrets are
/// replaced too.
pub(crate) fn places(
    home: &Home,
    session: &SessionFile,
    history: Option<&Path>,
    redactor: &Redactor,
    is_purged: bool,
) -> Result<Vec<String>, CommandError> {
    let mut places = Vec::new();
    if !is_purged {
        places.push("recto's backups, which `recto undo` needs; --purge removes them".to_owned());
    }
    if let Some(history) = history {
        let prompts = secret_lines(history, redactor)?;
        if prompts > 0 {
            let lines = plural(prompts, "line");
            places.push(format!("history.jsonl ({lines} with secrets); --history replaces them"));
        }
    }
    let versions = home.sidecars_of(session).file_history.len() as u64;
    if versions > 0 {
        let files = plural(versions, "version");
        places.push(format!("file-history ({files} of files from before an edit)"));
    }
    if let Some(trash) = home.known_trash() {
        places.push(format!("the trash, {}", trash.display()));
    }
    let others = "sessions made from this one, the archive of `recto collect`, packed and exported \
                  files, and the project itself";
    places.push(others.to_owned());
    Ok(places)
}

fn secret_lines(path: &Path, redactor: &Redactor) -> Result<u64, CommandError> {
    let mut lines = LineReader::new(open_file(path)?);
    let mut found = 0;
    while let Some(line) = lines.next_line()? {
        found += u64::from(matches!(redactor.line(line.bytes), Redacted::Changed(_)));
    }
    Ok(found)
}

/// Removes the index: words of a log stay in its free pages, and in what is not merged
/// yet. The next search builds it again.
pub(crate) fn remove_index(home: &Home, environment: &Environment, output: &Output) {
    let Ok(cache) = environment.cache_directory() else { return };
    // Who leaves the archive out has an index of its own.
    let homes = [home.clone(), home.without_archive()];
    let mut there = homes.iter().filter(|home| Index::is_there(home, &cache)).peekable();
    if there.peek().is_none() {
        return;
    }
    match there.try_for_each(|home| Index::remove(home, &cache)) {
        Ok(()) => output.remark("the search index was removed; the next search builds it again"),
        Err(error) => {
            let error = one_line(&error.to_string());
            output.remark(&format!(
                "the search index may still have the secrets: {error}; `recto index rebuild` helps"
            ));
        }
    }
}

/// Removes the tables of `recto query`, of this home and of stores: they have texts of logs. The
/// next query loads them again.
pub(crate) fn remove_tables(environment: &Environment, output: &Output) {
    let Ok(folder) = environment.table_directory() else { return };
    match Cache::remove_all(&folder) {
        Ok(false) => {}
        Ok(true) => {
            output.remark(
                "the tables of `recto query` were removed; the next query loads them again",
            );
        }
        Err(error) => {
            let (error, folder) = (one_line(&error.to_string()), folder.display().to_string());
            let folder = one_line(&folder);
            output.remark(&format!(
                "the tables of `recto query` may still have the secrets: {error}; delete {folder}"
            ));
        }
    }
}

/// Removes the backups of a session.
pub(crate) fn purge(
    home: &Home,
    environment: &Environment,
    output: &Output,
    session: SessionId,
) -> Result<(), CommandError> {
    let pruned = journal::open_journal(home, environment, output)?.purge(session)?;
    output.remark(&format!(
        "removed {} of backups; {} can no longer be undone",
        bytes(pruned.freed),
        plural(pruned.operations.len() as u64, "operation")
    ));
    Ok(())
}
