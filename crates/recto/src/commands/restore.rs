//! `recto restore`: archived sessions come back into the home.

use std::path::Path;
use std::path::PathBuf;

use clap::Args;
use recto_collect::Mirror;
use recto_collect::Wanted;
use recto_store::Home;
use recto_store::LogFile;
use recto_store::Retention;
use recto_store::StoreError;
use recto_store::follow::FileKind;
use recto_store::keep::Archive;
use recto_store::keep::Catalog;
use recto_store::keep::KeepError;
use recto_store::keep::KeptFile;
use recto_store::keep::KeptSession;
use recto_store::keep::MachineId;
use recto_store::keep::Restoration;
use recto_store::keep::RestoreOptions;
use recto_store::keep::RestoredFile;
use recto_store::keep::Verdict;
use recto_store::publish::Intent;
use recto_store::publish::Operation;
use recto_view::RestoreRow;
use recto_view::RestoredRow;

use crate::commands::collect::archive_directory;
use crate::commands::collect::no_archive;
use crate::commands::collect_store::is_store;
use crate::commands::collect_store::open_store;
use crate::edit::journal;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::select::filter::read_time;
use crate::select::target;
use crate::terminal::output::Output;
use crate::terminal::output::Progress;
use crate::terminal::text::bytes;
use crate::terminal::text::one_line;
use crate::terminal::text::path_from_home;
use crate::terminal::text::plural;

/// Restore archived sessions to the home
///
/// Claude Code resumes them. Restores the log with everything that belongs to it: subagents,
/// long tool results, file snapshots, to-dos and tasks, with their times. Never overwrites a
/// file that the home still has; if the home has only its beginning, adds the rest. `recto
/// undo` undoes a restore.
///
/// Examples:
///   recto restore 5c1e8a70
///   recto restore --project -home-dev-app --dry-run
///   recto restore 5c1e8a70 --at 2026-11-01
///   recto restore --all --to ~/restored
///   recto restore --all --from s3://team-sessions/claude --machine 5b0c91d24e6f7a83
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct RestoreArgs {
    /// The sessions
    #[arg(value_name = "SESSION", required_unless_present_any = ["project", "all"], conflicts_with_all = ["project", "all"])]
    sessions: Vec<String>,
    /// All sessions of a project, by its directory or its name below projects/
    #[arg(long, value_name = "PROJECT", conflicts_with = "all")]
    project: Option<String>,
    /// Restore everything in the archive
    #[arg(long)]
    all: bool,
    /// As it was then: a date, a time, or a span such as 3d
    #[arg(long, value_name = "WHEN")]
    at: Option<String>,
    /// A directory, or a store: s3://, gs://, az:// [default: archive in recto's data directory]
    #[arg(long, value_name = "URL")]
    from: Option<String>,
    /// The machine that archived them, by its id [default: this machine]
    #[arg(long, value_name = "MACHINE")]
    machine: Option<String>,
    /// Restore into another home
    #[arg(long, value_name = "HOME")]
    to: Option<PathBuf>,
    /// Show what would be restored, without restoring anything
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn cmd_restore(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &RestoreArgs,
) -> Result<Outcome, CommandError> {
    let machine = match &args.machine {
        Some(text) => read_machine(text)?,
        None => MachineId::of(home),
    };
    let named = |text: &str| target::find(home, &home.inventory(), environment, text);
    let store = args.from.as_deref().filter(|address| is_store(address));
    let mirror = match store {
        Some(address) => Some(mirror(environment, output, address, machine, args, &named)?),
        None => None,
    };
    let archive = match &mirror {
        Some(mirror) => mirror.archive()?,
        None => {
            let data = environment.data_directory()?;
            let root = archive_directory(args.from.as_deref(), "--from", &data)?;
            match Archive::open(&root, machine) {
                Err(KeepError::NoArchive { .. }) => return Err(no_archive(&root)),
                archive => archive.map_err(StoreError::from)?,
            }
        }
    };
    let catalog = Catalog::read(&archive).map_err(StoreError::from)?;
    for damaged in &catalog.damaged {
        output.remark(&damaged.to_string());
    }
    let at = args.at.as_deref().map(|when| read_time("--at", when, environment.now()));
    let options = RestoreOptions { at: at.transpose()? };
    let wanted = wanted(&catalog, args, &named)?;
    let other = args.to.as_ref().map(|to| other_home(to)).transpose()?;
    let target = other.as_ref().unwrap_or(home);
    let plan = Restoration::plan(&archive, target, wanted, options)?;
    let operation = match args.dry_run || !plan.is_change() {
        true => None,
        false => Some(carry_out(environment, output, target, args, &plan)?),
    };
    tell(environment, output, args, &plan, operation.as_ref())?;
    if operation.is_some() {
        warn_of_cleanup(target, environment, output, &plan);
    }
    let is_whole =
        plan.files.iter().all(|file| file.problems.is_empty() && file.verdict != Verdict::Refused);
    Ok(if is_whole && catalog.damaged.is_empty() { Outcome::Done } else { Outcome::Found })
}

/// The id of a machine.
pub(crate) fn read_machine(text: &str) -> Result<MachineId, CommandError> {
    text.parse().map_err(|()| {
        let message = format!("`{}` is not the id of a machine", one_line(text));
        CommandError::user("usage", message).with_hint("`recto fleet` lists machines")
    })
}

/// What is asked for, copied from a store.
fn mirror(
    environment: &Environment,
    output: &Output,
    address: &str,
    machine: MachineId,
    args: &RestoreArgs,
    named: &dyn Fn(&str) -> Result<LogFile, CommandError>,
) -> Result<Mirror, CommandError> {
    let wanted = match (&args.project, args.all) {
        (_, true) => Wanted::All,
        (Some(project), false) => Wanted::Project(project_key(project)),
        (None, false) => {
            // What the home knows by a name has an id.
            let id = |text: &String| {
                let listed = named(text).ok().and_then(|log| log.session);
                listed.map_or_else(|| text.to_lowercase(), |id| id.to_string())
            };
            Wanted::Sessions(args.sessions.iter().map(id).collect())
        }
    };
    let store = open_store(environment, address)?;
    let folder = environment.cache_directory()?.root().join("stores");
    let progress = Progress::new("fetching", output);
    let mirror = Mirror::fetch(&store, machine, &wanted, &folder, &mut |done, all| {
        progress.tell(done, all);
    });
    progress.done();
    let mirror = mirror?;
    for damaged in &mirror.damaged {
        output.remark(damaged);
    }
    Ok(mirror)
}

/// The folder of a project, by its directory or by itself.
fn project_key(project: &str) -> String {
    match project.contains('/') {
        true => recto_log::ProjectKey::of_path(project).as_str().to_owned(),
        false => project.to_owned(),
    }
}

/// A home that need not exist yet.
fn other_home(path: &Path) -> Result<Home, CommandError> {
    recto_store::make_home(path)?;
    Ok(Home::open(path)?)
}

/// The files that were asked for.
fn wanted<'a>(
    catalog: &'a Catalog,
    args: &RestoreArgs,
    named: &dyn Fn(&str) -> Result<LogFile, CommandError>,
) -> Result<Vec<&'a KeptFile>, CommandError> {
    if args.all {
        return Ok(catalog.files.iter().collect());
    }
    let sessions = catalog.sessions();
    let chosen: Vec<&KeptSession<'a>> = match &args.project {
        Some(project) => {
            let key = project_key(project);
            let is_log_in = |file: &KeptFile| {
                file.kind == FileKind::MainLog && file.project() == Some(key.as_str())
            };
            let is_in = |session: &&KeptSession<'_>| {
                is_log_in(session.log) || session.files.iter().any(|file| is_log_in(file))
            };
            sessions.iter().filter(is_in).collect()
        }
        None => {
            let mut chosen = Vec::new();
            for text in &args.sessions {
                chosen.push(one(&sessions, text, named)?);
            }
            chosen
        }
    };
    if chosen.is_empty() {
        let message = "no archived session matches".to_owned();
        return Err(CommandError::user("not-found", message));
    }
    let files = chosen
        .iter()
        .flat_map(|session| std::iter::once(session.log).chain(session.files.iter().copied()));
    Ok(files.collect())
}

/// The session that is meant: by the beginning of an id that the archive has, or by whatever
/// other commands take for a session.
fn one<'s, 'a>(
    sessions: &'s [KeptSession<'a>],
    text: &str,
    named: &dyn Fn(&str) -> Result<LogFile, CommandError>,
) -> Result<&'s KeptSession<'a>, CommandError> {
    let wanted = text.to_lowercase();
    let matches: Vec<&KeptSession<'a>> = sessions
        .iter()
        .filter(|session| !wanted.is_empty() && session.id.to_string().starts_with(&wanted))
        .collect();
    match matches.as_slice() {
        [one] => Ok(one),
        [] => {
            let listed = named(text).ok().and_then(|log| log.session);
            if let Some(one) = sessions.iter().find(|session| Some(session.id) == listed) {
                return Ok(one);
            }
            let message = format!("no archived session matches `{}`", one_line(text));
            let error = CommandError::user("not-found", message);
            Err(error.with_hint("`recto ls` lists archived sessions too"))
        }
        several => {
            let message = format!(
                "`{}` is ambiguous; it matches {} archived sessions",
                one_line(text),
                several.len()
            );
            Err(CommandError::user("ambiguous", message).with_hint("use more of the id"))
        }
    }
}

fn carry_out(
    environment: &Environment,
    output: &Output,
    home: &Home,
    args: &RestoreArgs,
    plan: &Restoration<'_>,
) -> Result<Operation, CommandError> {
    let mut journal = journal::open_journal(home, environment, output)?;
    let mut arguments = args.sessions.clone();
    arguments.extend(args.project.iter().flat_map(|key| ["--project".to_owned(), key.clone()]));
    arguments.extend(args.all.then(|| "--all".to_owned()));
    arguments.extend(args.at.iter().flat_map(|at| ["--at".to_owned(), at.clone()]));
    let mut transaction = journal.begin(Intent {
        home,
        name: "restore",
        arguments,
        time: environment.now(),
        source: None,
        result: None,
    })?;
    plan.stage(&mut transaction)?;
    Ok(transaction.commit()?)
}

/// What comes back has the time that it had: the client may delete it again at once.
fn warn_of_cleanup(
    home: &Home,
    environment: &Environment,
    output: &Output,
    plan: &Restoration<'_>,
) {
    let setting = home.cleanup_setting(environment.working_directory.as_deref());
    let (retention, now) = (Retention::new(&setting), environment.now());
    let is_due = |file: &&RestoredFile| {
        file.kind == FileKind::MainLog
            && file.verdict.is_change()
            && retention.is_due(file.modified, now, 0)
    };
    let due = plan.files.iter().filter(is_due).count() as u64;
    if due > 0 {
        output.remark(&format!(
            "Claude Code deletes {} again at its next start, after {}; `recto home --keep {}` \
             prevents that",
            plural(due, "session"),
            plural(setting.days, "day"),
            365.max(setting.days.saturating_mul(2))
        ));
    }
}

fn tell(
    environment: &Environment,
    output: &mut Output,
    args: &RestoreArgs,
    plan: &Restoration<'_>,
    operation: Option<&Operation>,
) -> Result<(), CommandError> {
    if output.json {
        return output.row(&RestoreRow {
            operation: operation.map(|operation| operation.id.number()),
            files: plan.files.iter().map(RestoredRow::from).collect(),
        });
    }
    let would = args.dry_run;
    for file in &plan.files {
        let path = file.path.to_string_lossy();
        let path = path_from_home(&path, environment.user_home.as_deref());
        let what = match &file.verdict {
            Verdict::New if would => "would restore",
            Verdict::New => "restored",
            Verdict::Completed if would => "would complete",
            Verdict::Completed => "completed",
            Verdict::Same => "unchanged",
            Verdict::Longer => "kept, the home has a longer version",
            Verdict::Differs => "kept, the home has a different version",
            Verdict::Nothing => "nothing to restore",
            Verdict::Refused => "refused, not a valid path on this system",
        };
        output.line(&format!("{what}: {} ({})", one_line(&path), bytes(file.bytes)))?;
        if let Some(known) = &file.archived_as {
            let known = one_line(known);
            output.line(&format!("  the home has the session here; archived as {known}"))?;
        }
        for problem in &file.problems {
            output.line(&format!("  {}", one_line(problem)))?;
        }
    }
    let changed = plan.files.iter().filter(|file| file.verdict.is_change()).count() as u64;
    match operation {
        Some(operation) => output.line(&format!(
            "restored {} (operation {})",
            plural(changed, "file"),
            operation.id
        )),
        None if would => output.line(&format!("would restore {}", plural(changed, "file"))),
        None => output.line("nothing to restore"),
    }
}
