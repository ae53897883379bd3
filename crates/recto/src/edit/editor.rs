//! What all commands share that edit a session: the log to start from, where the
//! result goes, the preview, and the words and JSON about it.

use std::collections::HashSet;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use recto_log::EntryUuid;
use recto_log::SessionId;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_session::edit::Comparison;
use recto_session::edit::Draft;
use recto_session::edit::EditError;
use recto_session::edit::LineFilter;
use recto_session::edit::Plan;
use recto_session::edit::PlanRow;
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
use recto_store::publish::OperationId;
use recto_view::resume_command;

use crate::edit::journal;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::target;
use crate::terminal::output::Output;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::bytes;
use crate::terminal::text::count;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

/// Where the result of an edit goes.
#[derive(Debug, Args)]
pub(crate) struct EditArgs {
    /// Change the session itself instead of making a new one; `recto undo` brings the old version
    /// back
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
    /// Show what would change, without changing anything
    #[arg(long)]
    pub(crate) dry_run: bool,
}

impl NewArgs {
    pub(crate) fn mode(&self) -> Mode {
        if self.dry_run { Mode::Preview } else { Mode::Publish }
    }
}

/// What becomes of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It is only found out what it would do.
    Preview,
    Publish,
}

/// A session that is to be edited.
pub(crate) struct Source {
    pub(crate) inventory: Arc<Inventory>,
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
        let target = target::find_to_change(home, &inventory, environment, text)?;
        let session = journal::session_of(&target)?;
        journal::may_edit(home, environment, &session)?;
        let opened = OpenedLog::read(&session.path)?;
        Ok(Source { inventory: Arc::new(inventory), session, opened })
    }

    /// Reads a session of a listing.
    pub(crate) fn read(
        inventory: &Arc<Inventory>,
        session: &SessionFile,
    ) -> Result<Source, StoreError> {
        let opened = OpenedLog::read(&session.path)?;
        Ok(Source { inventory: Arc::clone(inventory), session: session.clone(), opened })
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
    /// The lines that need not be sent any more, where the plan knows better than
    /// the draft.
    pub(crate) removed: Option<HashSet<EntryUuid>>,
    /// What every line goes through, and the files that belong to the session.
    pub(crate) filter: Option<(LineFilter, Vec<PathBuf>)>,
    /// How many lines of the log the filter changes.
    pub(crate) filtered_lines: usize,
    /// Whether backups are removed afterwards, so that nothing can be undone.
    pub(crate) is_final: bool,
}

impl<'a> Job<'a> {
    /// A job that is a draft and nothing more.
    pub(crate) fn new(name: &'static str, arguments: Vec<String>, draft: Draft<'a>) -> Job<'a> {
        let (notes, details) = (Vec::new(), Vec::new());
        Job {
            name,
            arguments,
            draft,
            notes,
            details,
            removed: None,
            filter: None,
            filtered_lines: 0,
            is_final: false,
        }
    }

    /// Lets every line, and every file of the session, go through a filter.
    pub(crate) fn filtered(mut self, filter: LineFilter, parts: Vec<PathBuf>) -> Job<'a> {
        self.filter = Some((filter, parts));
        self
    }

    /// A job from a plan, with a table of what goes.
    pub(crate) fn of_plan(
        name: &'static str,
        arguments: Vec<String>,
        plan: Plan<'a>,
        output: &Output,
    ) -> Job<'a> {
        let mut notes = table_of(&plan.rows, output);
        notes.extend(plan.notes.iter().map(|note| one_line(note)));
        let rows = plan.rows.iter().fold(ArrayWriter::new(), |all, row| {
            let object = ObjectWriter::new()
                .string("kind", row.kind.name())
                .string("name", &row.name)
                .number("count", row.count)
                .number("bytes", row.bytes)
                .number("tokens", row.tokens);
            all.json(&object.finish())
        });
        let details = vec![("rows", rows.finish())];
        let removed = Some(plan.removed);
        Job { notes, details, removed, ..Job::new(name, arguments, plan.draft) }
    }
}

/// What goes, as lines of a table.
fn table_of(rows: &[PlanRow], output: &Output) -> Vec<String> {
    use Column::Flexible;
    use Column::Left;
    use Column::Right;
    let mut table = Table::new(&[Left, Flexible, Right, Right, Right]);
    for row in rows {
        table.row([
            row.kind.name().to_owned(),
            one_line(&row.name),
            count(row.count),
            bytes(row.bytes),
            if row.tokens == 0 { String::new() } else { format!("{} tokens", count(row.tokens)) },
        ]);
    }
    let lines = table.aligned(output.width).into_iter();
    lines.map(|cells| cells.join("  ").trim_end().to_owned()).collect()
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

    /// The session that the result is.
    pub(crate) fn session(&self, source: &Source) -> SessionId {
        match self {
            Goal::InPlace => source.session.id,
            Goal::New(new) => new.id,
        }
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

/// Edits a session.
pub(crate) struct Editor<'a> {
    pub(crate) home: &'a Home,
    pub(crate) environment: &'a Environment,
    pub(crate) output: &'a mut Output,
    pub(crate) source: &'a Source,
}

impl Editor<'_> {
    /// Shows a plan or carries it out, and tells of it.
    pub(crate) fn finish(
        &mut self,
        goal: Goal,
        mode: Mode,
        mut job: Job<'_>,
    ) -> Result<Outcome, CommandError> {
        let (notes, details) = (std::mem::take(&mut job.notes), std::mem::take(&mut job.details));
        let name = job.name;
        let (filtered, is_final) = (job.filtered_lines, job.is_final);
        let mut report = self.carry_out(goal, mode, job)?;
        report.counts.1 += filtered;
        report.is_final = is_final;
        self.tell(&report, name, &notes, details)
    }

    /// Tells what an edit did, or would do.
    pub(crate) fn tell(
        &mut self,
        report: &Report,
        name: &str,
        notes: &[String],
        details: Vec<(&'static str, Vec<u8>)>,
    ) -> Result<Outcome, CommandError> {
        if self.output.json {
            let object = report.json(name, self.source.session.id, notes);
            let object =
                details.into_iter().fold(object, |object, (key, json)| object.json(key, &json));
            self.output.json_line(object)?;
        } else {
            for note in notes {
                self.output.line(note)?;
            }
            report.text(self.output)?;
        }
        Ok(Outcome::Done)
    }

    /// Carries a plan out, or finds out what it would do.
    pub(crate) fn carry_out(
        &self,
        goal: Goal,
        mode: Mode,
        job: Job<'_>,
    ) -> Result<Report, CommandError> {
        let Job { name, arguments, draft, removed, filter, .. } = job;
        let (home, source) = (self.home, self.source);
        let mut edit = match goal {
            Goal::InPlace if draft.is_unchanged() && filter.is_none() => {
                return Err(StoreError::from(EditError::NothingToDo).into());
            }
            Goal::InPlace => Edit::in_place(&source.opened, draft, &source.session.path),
            Goal::New(new) => {
                let Source { inventory, session, opened } = source;
                Edit::new_session(home, inventory, session, opened, draft, new)?
            }
        };
        if let Some(removed) = removed {
            edit.removed = removed;
        }
        if let Some((filter, parts)) = &filter {
            let parts: Vec<PathBuf> =
                parts.iter().filter(|path| **path != source.session.path).cloned().collect();
            edit = edit.filtered(home, filter, &parts);
        }
        self.publish(&edit, (name, arguments), mode)
    }

    /// Publishes an edit, or finds out what it would do.
    pub(crate) fn publish(
        &self,
        edit: &Edit<'_>,
        (name, arguments): (&str, Vec<String>),
        mode: Mode,
    ) -> Result<Report, CommandError> {
        let Editor { home, environment, source, .. } = *self;
        let session = match &edit.destination {
            Destination::InPlace { .. } => source.session.id,
            Destination::New { session, .. } => *session,
        };
        let (comparison, operation) = match mode {
            Mode::Preview => (edit.preview()?, None),
            Mode::Publish => {
                let mut journal = journal::open_journal(home, environment, self.output)?;
                let mut transaction = journal.begin(Intent {
                    home,
                    name,
                    arguments,
                    time: environment.now(),
                    source: Some(source.session.id),
                    result: Some(session),
                })?;
                let comparison = edit.stage(&mut transaction)?;
                // A client may have been started meanwhile.
                journal::may_edit(home, environment, &source.session)?;
                (comparison, Some(transaction.commit()?.id))
            }
        };
        Ok(Report {
            session,
            path: edit.destination.path(),
            is_in_place: matches!(edit.destination, Destination::InPlace { .. }),
            is_final: false,
            counts: edit.draft.counts(),
            copied_files: edit.copied_files() as u64,
            comparison,
            operation,
            home: target::home_to_name(home, environment),
            directory: edit.directory().map(str::to_owned).or_else(|| directory_of(source)),
        })
    }
}
/// What an edit did, or would do.
pub(crate) struct Report {
    pub(crate) session: SessionId,
    pub(crate) path: PathBuf,
    pub(crate) is_in_place: bool,
    /// Whether it cannot be undone.
    pub(crate) is_final: bool,
    /// Lines removed, changed and added.
    pub(crate) counts: (usize, usize, usize),
    pub(crate) copied_files: u64,
    pub(crate) comparison: Comparison,
    /// The operation; none if nothing was done.
    pub(crate) operation: Option<OperationId>,
    /// The home, where the client must be told.
    pub(crate) home: Option<PathBuf>,
    /// The working directory of the result, where the client looks for it.
    pub(crate) directory: Option<String>,
}

impl Report {
    pub(crate) fn percent_before(&self) -> f64 {
        self.comparison.percent_before
    }

    pub(crate) fn percent_after(&self) -> f64 {
        self.comparison.percent_after
    }

    /// What every edit of a session tells.
    pub(crate) fn json(&self, name: &str, source: SessionId, notes: &[String]) -> ObjectWriter {
        let object =
            ObjectWriter::new().string("operation", name).string("source", &source.to_string());
        let notes = notes.iter().fold(ArrayWriter::new(), |all, note| all.string(note));
        self.add_to(object).json("notes", &notes.finish())
    }

    /// Adds what every edit tells to a JSON object.
    pub(crate) fn add_to(&self, object: ObjectWriter) -> ObjectWriter {
        let (removed, changed, added) = self.counts;
        let comparison = &self.comparison;
        let pair = |before: String, after: String| {
            let object = ObjectWriter::new().json("before", before.as_bytes());
            object.json("after", after.as_bytes()).finish()
        };
        let tokens =
            pair(comparison.before.tokens.to_string(), comparison.after.tokens.to_string());
        let percent = |percent: f64| format!("{percent:.1}");
        let reach = pair(percent(comparison.percent_before), percent(comparison.percent_after));
        // A new session that was not made has no id yet.
        let result = if self.is_in_place || self.operation.is_some() {
            ObjectWriter::new()
                .string("id", &self.session.to_string())
                .string("path", &self.path.to_string_lossy())
                .finish()
        } else {
            b"null".to_vec()
        };
        let op = self.operation.map_or("null".to_owned(), |operation| operation.to_string());
        object
            .json("result", &result)
            .number("removed", removed as u64)
            .number("changed", changed as u64)
            .number("added", added as u64)
            .number("copied_files", self.copied_files)
            .json("tokens", &tokens)
            .json("reach", &reach)
            .json("op", op.as_bytes())
    }

    fn text(&self, output: &mut Output) -> Result<(), CommandError> {
        let (removed, changed, added) = self.counts;
        let comparison = &self.comparison;
        output.line(&format!(
            "lines    {} removed, {} changed, {} added",
            count(removed as u64),
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
        if self.copied_files > 0 {
            output.line(&format!("copied   {}", plural(self.copied_files, "file")))?;
        }
        let session = self.session;
        let Some(operation) = self.operation else {
            return output.line("nothing was changed (--dry-run)");
        };
        if self.is_in_place {
            let undo = if self.is_final { "it is final" } else { "`recto undo` undoes it" };
            return output.line(&format!("changed {session} (operation {operation}; {undo})"));
        }
        output.line(&format!(
            "new session {session} (operation {operation}; `recto undo` undoes it)"
        ))?;
        let home = self.home.as_deref();
        let directory = self.directory.as_deref().map(Path::new);
        let command = resume_command(home, "claude", &session.to_string(), directory);
        output.line(&format!("resume it with: {}", one_line(&command)))
    }
}
