//! What all commands share that edit a session: the log to start from, where the
//! result goes, the preview, and the words and JSON about it.

use std::path::PathBuf;

use clap::Args;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_session::edit::Comparison;
use recto_session::edit::Draft;
use recto_session::edit::EditError;
use recto_store::Destination;
use recto_store::Digest;
use recto_store::Edit;
use recto_store::Home;
use recto_store::Inventory;
use recto_store::NewSession;
use recto_store::OpenedLog;
use recto_store::SessionFile;
use recto_store::StoreError;
use recto_store::Uuids;
use recto_store::new_session_id;
use recto_store::publish::Intent;
use recto_store::publish::Journal;
use recto_store::publish::Operation;

use crate::editing;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::output::Output;
use crate::target;
use crate::text::count;
use crate::text::one_line;
use crate::text::plural;

/// Where the result of an edit goes.
#[derive(Debug, Args)]
pub(crate) struct EditArgs {
    /// Change the session itself, instead of making a new one. The old version is
    /// kept: `recto undo` brings it back
    #[arg(long)]
    pub(crate) in_place: bool,
    #[command(flatten)]
    pub(crate) new: NewArgs,
}

/// What the new session is to be.
#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// The title of the new session
    #[arg(long, value_name = "TITLE")]
    pub(crate) title: Option<String>,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// A session that is to be edited.
pub(crate) struct Source {
    pub(crate) inventory: Inventory,
    pub(crate) session: SessionFile,
    pub(crate) opened: OpenedLog,
}

impl Source {
    /// Reads the session that the user means. One that is live is refused.
    pub(crate) fn open(
        home: &Home,
        environment: &Environment,
        text: &str,
    ) -> Result<Source, CommandError> {
        let inventory = home.inventory();
        let target = target::find(home, &inventory, environment, text)?;
        let session = editing::session_of(&target)?.clone();
        editing::may_edit(home, environment, &session)?;
        let opened = OpenedLog::read(&session.path)?;
        Ok(Source { inventory, session, opened })
    }

    /// The directory of the session's project.
    pub(crate) fn project(&self) -> PathBuf {
        self.session.path.parent().map(PathBuf::from).unwrap_or_default()
    }

    /// The title of a session made from this one.
    pub(crate) fn title(&self, given: Option<&str>, word: &str) -> Option<String> {
        if let Some(title) = given {
            return Some(one_line(title));
        }
        let (title, _) = Digest::read(&self.session.path, false).ok()?.title?;
        Some(format!("{} ({word})", title.chars().take(200).collect::<String>()))
    }

    /// What the user said last before a line, for the client's list of sessions.
    pub(crate) fn prompt_before(&self, leaf: recto_session::NodeId) -> String {
        let session = self.opened.session();
        let mut at = Some(leaf);
        let mut steps = session.nodes().len();
        while let Some(id) = at {
            let node = session.node(id);
            if matches!(node.user, recto_log::UserText::Human) {
                let text = self.opened.bytes(node.span()).map(|bytes| {
                    let entry = recto_log::decode(recto_log::RawLine::alone(&bytes)).0;
                    entry.message().map(|message| message.content().text().into_owned())
                });
                return text.flatten().unwrap_or_default().chars().take(200).collect();
            }
            steps = steps.saturating_sub(1);
            at = session.parent(id).filter(|_| steps > 0);
        }
        String::new()
    }
}

/// The working directory of a session, as its log says.
pub(crate) fn directory_of(source: &Source) -> Option<String> {
    Digest::read(&source.session.path, false).ok()?.cwd
}

/// A plan, ready to be shown or carried out.
pub(crate) struct Job<'a> {
    /// The command.
    pub(crate) name: &'static str,
    /// What it was given, for the list of operations.
    pub(crate) arguments: Vec<String>,
    /// What the new log holds.
    pub(crate) draft: Draft<'a>,
    /// Lines to be shown about what goes.
    pub(crate) notes: Vec<String>,
    /// More members of the JSON object.
    pub(crate) details: Vec<(&'static str, Vec<u8>)>,
}

/// Where a job's result goes.
pub(crate) enum Goal {
    InPlace,
    New(NewSession),
}

impl Goal {
    /// The session itself, or a new one beside it.
    pub(crate) fn of(source: &Source, args: &EditArgs, word: &str) -> Goal {
        if args.in_place { Goal::InPlace } else { Goal::beside(source, &args.new, word) }
    }

    /// A new session beside the old one, whose lines keep their uuids.
    pub(crate) fn beside(source: &Source, args: &NewArgs, word: &str) -> Goal {
        Goal::New(NewSession {
            id: new_session_id(),
            project: source.project(),
            title: source.title(args.title.as_deref(), word),
            uuids: Uuids::Keep,
            moved: None,
        })
    }
}

/// Shows a plan or carries it out.
pub(crate) fn finish(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    source: &Source,
    goal: Goal,
    is_dry: bool,
    job: Job<'_>,
) -> Result<Outcome, CommandError> {
    let Job { name, arguments, draft, notes, details } = job;
    let edit = match goal {
        Goal::InPlace if draft.is_unchanged() => {
            return Err(StoreError::from(EditError::NothingToDo).into());
        }
        Goal::InPlace => Edit::in_place(&source.opened, draft, &source.session.path),
        Goal::New(new) => {
            let Source { inventory, session, opened } = source;
            Edit::new_session(home, inventory, session, opened, draft, new)?
        }
    };
    let mut published = None;
    let comparison = if is_dry {
        edit.preview()?
    } else {
        let mut journal = editing::open_journal(environment, output)?;
        let (comparison, operation) =
            publish(home, environment, &mut journal, source, &edit, name, arguments)?;
        published = Some(operation);
        comparison
    };
    let told = Told { name, source, edit: &edit, comparison, operation: published.as_ref() };
    if output.json {
        output.json_line(told.json(&notes, details))?;
    } else {
        told.text(&notes, output)?;
    }
    Ok(Outcome::Done)
}

fn publish(
    home: &Home,
    environment: &Environment,
    journal: &mut Journal,
    source: &Source,
    edit: &Edit<'_>,
    name: &str,
    arguments: Vec<String>,
) -> Result<(Comparison, Operation), CommandError> {
    let result = match &edit.destination {
        Destination::InPlace { .. } => source.session.id,
        Destination::New { session, .. } => *session,
    };
    let mut transaction = journal.begin(Intent {
        home,
        name,
        arguments,
        time: environment.now(),
        source: Some(source.session.id),
        result: Some(result),
        directories: Vec::new(),
    })?;
    let comparison = edit.stage(&mut transaction)?;
    // A client may have been started meanwhile.
    editing::may_edit(home, environment, &source.session)?;
    Ok((comparison, transaction.commit()?))
}

/// What is told of an edit.
struct Told<'a> {
    name: &'static str,
    source: &'a Source,
    edit: &'a Edit<'a>,
    comparison: Comparison,
    operation: Option<&'a Operation>,
}

impl Told<'_> {
    /// The id of the result; none as long as there is no new session.
    fn result(&self) -> Option<String> {
        match &self.edit.destination {
            Destination::InPlace { .. } => Some(self.source.session.id.to_string()),
            Destination::New { session, .. } => self.operation.map(|_| session.to_string()),
        }
    }

    fn json(&self, notes: &[String], details: Vec<(&'static str, Vec<u8>)>) -> ObjectWriter {
        let (removed, changed, added) = self.edit.draft.counts();
        let comparison = &self.comparison;
        let pair = |before: Vec<u8>, after: Vec<u8>| {
            ObjectWriter::new().json("before", &before).json("after", &after).finish()
        };
        let number = |number: u64| number.to_string().into_bytes();
        let percent = |percent: f64| format!("{percent:.1}").into_bytes();
        let result = match self.result() {
            Some(id) => ObjectWriter::new()
                .string("id", &id)
                .string("path", &self.edit.destination.path().to_string_lossy())
                .finish(),
            None => b"null".to_vec(),
        };
        let op = self.operation.map_or("null".to_owned(), |operation| operation.id.to_string());
        let notes = notes.iter().fold(ArrayWriter::new(), |all, note| all.string(note));
        let object = ObjectWriter::new()
            .string("operation", self.name)
            .string("source", &self.source.session.id.to_string())
            .json("result", &result)
            .number("removed", removed as u64)
            .number("changed", changed as u64)
            .number("added", added as u64)
            .number("copied_files", self.edit.copied_files() as u64)
            .json(
                "tokens",
                &pair(number(comparison.before.tokens), number(comparison.after.tokens)),
            )
            .json(
                "reach",
                &pair(percent(comparison.percent_before), percent(comparison.percent_after)),
            )
            .json("op", op.as_bytes())
            .json("notes", &notes.finish());
        details.into_iter().fold(object, |object, (key, json)| object.json(key, &json))
    }

    fn text(&self, notes: &[String], output: &mut Output) -> Result<(), CommandError> {
        for note in notes {
            output.line(note)?;
        }
        let (removed, changed, added) = self.edit.draft.counts();
        let comparison = &self.comparison;
        let lines = |number: usize| plural(number as u64, "line");
        output.line(&format!(
            "lines    {} removed, {} changed, {} added",
            lines(removed),
            count(changed as u64),
            count(added as u64)
        ))?;
        output.line(&format!(
            "tokens   {} -> {} (estimated)",
            count(comparison.before.tokens),
            count(comparison.after.tokens)
        ))?;
        output.line(&format!(
            "reach    {:.1} % -> {:.1} %",
            comparison.percent_before, comparison.percent_after
        ))?;
        let files = self.edit.copied_files() as u64;
        if files > 0 {
            output.line(&format!("copied   {}", plural(files, "file")))?;
        }
        match (&self.edit.destination, self.operation) {
            (_, None) => output.line("nothing was changed (--dry-run)"),
            (Destination::InPlace { .. }, Some(operation)) => output.line(&format!(
                "{} was changed (operation {}; `recto undo` takes it back)",
                self.source.session.id, operation.id
            )),
            (Destination::New { session, .. }, Some(operation)) => {
                output.line(&format!(
                    "new session {session} (operation {}; `recto undo` takes it back)",
                    operation.id
                ))?;
                output.line(&format!("resume it with: claude --resume {session}"))
            }
        }
    }
}
