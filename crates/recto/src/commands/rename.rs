//! `recto rename`: another title for a session.

use std::io::Read;
use std::io::Seek;
use std::io::SeekFrom;

use clap::Args;
use recto_log::EntryBuilder;
use recto_log::json::ObjectWriter;
use recto_session::request::Generation;
use recto_store::Digest;
use recto_store::Home;
use recto_store::SessionFile;
use recto_store::StoreError;
use recto_store::TitleSource;
use recto_store::open_file;
use recto_store::publish::FileIdentity;
use recto_store::publish::Intent;

use crate::editing;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::output::Output;
use crate::target;
use crate::text::one_line;

/// Give a session another title
///
/// Adds to the log what the client's /rename adds. The time of the log
/// stays, so that the client still continues the session that it would have. A
/// session that is open in a client is refused: rename it there. An empty title
/// takes the one that was given back.
///
/// Examples:
///   recto rename 3f2a "Repair the parser"
///   recto rename latest "" && recto undo
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct RenameArgs {
    /// The session
    session: String,
    /// The title
    title: String,
    /// Say what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn cmd_rename(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &RenameArgs,
) -> Result<Outcome, CommandError> {
    let title = args.title.trim();
    if title.chars().any(char::is_control) {
        return Err(CommandError::user("bad-title", "a title is one line of text"));
    }
    // What was interrupted is put right before anything is looked at.
    let mut journal = editing::open_journal(environment, output)?;
    let inventory = home.inventory();
    let target = target::find(home, &inventory, environment, &args.session)?;
    let session = editing::session_of(&target)?;
    let now = environment.now();
    editing::may_edit(home, environment, session)?;
    let mut transaction = journal.begin(Intent {
        home,
        name: "rename",
        arguments: vec![args.session.clone(), args.title.clone()],
        time: now,
        source: Some(session.id),
        result: Some(session.id),
        directories: Vec::new(),
    })?;
    let mut source = open_file(&session.path)?;
    let identity = FileIdentity::of_file(&source)?;
    let lines = lines(session, title)?;
    let staged = transaction.replace(&session.path, &identity, |out| {
        let copied = std::io::copy(&mut source, out)?;
        if copied > 0 && !ends_with_line_end(&mut source)? {
            // A torn line stays a line of its own, as the client has it.
            out.write_all(b"\n")?;
        }
        Ok(out.write_all(&lines)?)
    })?;
    // The client keeps the title in a second place, which must not disagree.
    if let Some(path) = home.sidecars_of(session).custom_title {
        let identity = FileIdentity::of(&path)?;
        let content = ObjectWriter::new().string("customTitle", title).finish();
        transaction.replace(&path, &identity, |out| Ok(out.write_all(&content)?))?;
    }
    let found = Digest::read(staged.path(), false)?.title;
    let is_read_back = match &found {
        Some((found, TitleSource::Custom)) => found == title,
        Some(_) | None => title.is_empty(),
    };
    if !is_read_back {
        let message = "the log with the new title does not read back; nothing was changed";
        return Err(CommandError::user("not-read-back", message));
    }
    let shown = if title.is_empty() {
        "its own title".to_owned()
    } else {
        format!("`{}`", one_line(title))
    };
    let changes = transaction.changes();
    let operation = if args.dry_run { None } else { Some(transaction.commit()?) };
    if output.json {
        let id = operation.as_ref().map(|operation| operation.id.to_string());
        let object = ObjectWriter::new()
            .string("session", &session.id.to_string())
            .string("title", title)
            .json("operation", id.as_deref().unwrap_or("null").as_bytes())
            .boolean("dry_run", args.dry_run)
            .json("changes", &editing::changes_json(&changes));
        output.json_line(object)?;
    } else if let Some(operation) = operation {
        output.line(&format!("{} has {shown} now (operation {})", session.id, operation.id))?;
    } else {
        output.line(&format!("{} would have {shown}", session.id))?;
    }
    Ok(Outcome::Done)
}

/// What the client that wrote the log adds to it for a title.
fn lines(session: &SessionFile, title: &str) -> Result<Vec<u8>, StoreError> {
    let id = session.id.to_string();
    let mut lines = EntryBuilder::custom_title(&id, title).finish();
    lines.push(b'\n');
    let version = Digest::read(&session.path, false)?.version;
    let generation = version.and_then(|version| Generation::of_version(&version));
    if !title.is_empty() && generation >= Some(Generation::V2_1_200) {
        lines.extend(EntryBuilder::agent_name(&id, title).finish());
        lines.push(b'\n');
    }
    Ok(lines)
}

fn ends_with_line_end(file: &mut (impl Read + Seek)) -> Result<bool, StoreError> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}
