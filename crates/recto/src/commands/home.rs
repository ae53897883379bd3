//! `recto home`: what is where, how large, and what will be deleted.

use clap::Args;
use jiff::Timestamp;
use recto_log::json::ArrayWriter;
use recto_log::json::ObjectWriter;
use recto_store::Area;
use recto_store::CleanupSetting;
use recto_store::Digest;
use recto_store::FileKind;
use recto_store::Home;
use recto_store::Retention;
use recto_store::Scope;
use recto_store::SessionFile;
use recto_store::keep::CollectOptions;
use recto_store::keep::CollectStatus;

use crate::edit::journal;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Look;
use crate::terminal::output::Output;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::age;
use crate::terminal::text::bytes;
use crate::terminal::text::one_line;
use crate::terminal::text::path_from_home;
use crate::terminal::text::plural;

/// Show disk usage and upcoming deletions
///
/// When Claude Code starts, it deletes logs not modified in `cleanupPeriodDays` (30 by
/// default). This command lists the logs that are due, whether the archive of `recto collect`
/// has them, and the setting to change. --keep changes it.
///
/// Examples:
///   recto home
///   recto home --keep 365
///   recto home --within 30
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct HomeArgs {
    /// List the sessions that will be deleted within this many days
    #[arg(long, value_name = "DAYS", default_value_t = 7)]
    within: u64,
    /// Set cleanupPeriodDays in the user's settings; `recto undo` undoes it
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    keep: Option<u64>,
}

/// A session that will be deleted.
pub(crate) struct Due {
    pub(crate) session: SessionFile,
    title: String,
    at: Timestamp,
    /// Whether the archive has all of it.
    is_archived: bool,
}

pub(crate) fn cmd_home(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &HomeArgs,
) -> Result<Outcome, CommandError> {
    let now = environment.now();
    if let Some(days) = args.keep {
        return keep(home, environment, output, days);
    }
    let areas = home.areas();
    let setting = home.cleanup_setting(environment.working_directory.as_deref());
    let mut due = due_sessions(home, &setting, now, args.within);
    note_archived(home, environment, &mut due);
    if output.json {
        return write_json(home, &areas, &setting, &due, output);
    }
    let root = path_from_home(&home.root().to_string_lossy(), environment.user_home.as_deref());
    let total: u64 = areas.iter().map(|area| area.bytes).sum();
    output.line(&format!("{}  {}", output.paint(Look::Strong, &one_line(&root)), bytes(total)))?;
    output.line("")?;
    let mut table =
        Table::new(&[Column::Left, Column::Right, Column::DetailRight, Column::Flexible]);
    for area in &areas {
        table.row([
            one_line(&area.name),
            bytes(area.bytes),
            plural(area.files, "file"),
            area.about.into(),
        ]);
    }
    for cells in table.aligned(output.width.map(|width| width.saturating_sub(2))) {
        output.line(format!("  {}", cells.join("  ")).trim_end())?;
    }
    if !areas.is_empty() {
        output.line("")?;
    }
    let source = match (&setting.scope, &setting.path) {
        (Scope::Default, _) | (_, None) => "the default".to_owned(),
        (scope, Some(path)) => format!("{} settings, {}", scope.name(), path.display()),
    };
    output.line(&format!(
        "Claude Code deletes logs not modified in {} ({}).",
        plural(setting.days, "day"),
        one_line(&source)
    ))?;
    if due.is_empty() {
        output.line(&format!("No session is due within {}.", plural(args.within, "day")))?;
        return Ok(Outcome::Done);
    }
    let warning = format!(
        "{} will be deleted within {}:",
        plural(due.len() as u64, "session"),
        plural(args.within, "day")
    );
    output.line(&output.paint(Look::Warning, &warning))?;
    use Column::Detail;
    use Column::DetailRight;
    use Column::Left;
    use Column::Right;
    let mut table = Table::new(&[Left, Right, DetailRight, Detail, Column::Flexible]);
    for one in &due {
        let id: String = one.session.id.to_string().chars().take(8).collect();
        let when = if one.at <= now {
            "at the next start".into()
        } else {
            format!("in {}", age(now, one.at))
        };
        let archived = if one.is_archived { "archived" } else { "not archived" };
        table.row([id, when, bytes(one.session.bytes()), archived.into(), one_line(&one.title)]);
    }
    for cells in table.aligned(output.width.map(|width| width.saturating_sub(2))) {
        output.line(format!("  {}", cells.join("  ")).trim_end())?;
    }
    if due.iter().any(|one| !one.is_archived) {
        output.line("To archive them, run `recto collect`.")?;
    }
    // The setting in force is the one to change: a wider one would change nothing.
    let days = 365.max(setting.days.saturating_mul(2));
    output.line(&match &setting.path {
        Some(path) if setting.scope != Scope::User => format!(
            "To keep them, set \"cleanupPeriodDays\": {days} in {}.",
            one_line(&path_from_home(&path.to_string_lossy(), environment.user_home.as_deref()))
        ),
        _ => format!("To keep them, run `recto home --keep {days}`."),
    })?;
    Ok(Outcome::Done)
}

/// Sets for how many days the client keeps logs.
fn keep(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    days: u64,
) -> Result<Outcome, CommandError> {
    let setting = home.cleanup_setting(environment.working_directory.as_deref());
    if let Some(path) = setting.path.filter(|_| setting.scope > Scope::User) {
        let path = path_from_home(&path.to_string_lossy(), environment.user_home.as_deref());
        let message = format!(
            "{} settings override the user's: {} says {}",
            setting.scope.name(),
            one_line(&path),
            plural(setting.days, "day")
        );
        return Err(CommandError::user("overridden", message).with_hint("change that file"));
    }
    let mut journal = journal::open_journal(home, environment, output)?;
    let operation = journal.set_cleanup_days(home, days, environment.now())?;
    let path = home.settings();
    if output.json {
        output.json_line(
            ObjectWriter::new()
                .number("days", days)
                .string("path", &path.to_string_lossy())
                .number_or_null("operation", operation.map(|one| one.id.number())),
        )?;
        return Ok(Outcome::Done);
    }
    let path = path_from_home(&path.to_string_lossy(), environment.user_home.as_deref());
    let path = one_line(&path);
    output.line(&match operation {
        Some(operation) => format!(
            "Claude Code keeps logs for {}: {path} (operation {})",
            plural(days, "day"),
            operation.id
        ),
        None => format!("nothing to change: {path} says {}", plural(days, "day")),
    })?;
    Ok(Outcome::Done)
}

/// Notes which sessions the archive has. What cannot be looked at is not safe.
fn note_archived(home: &Home, environment: &Environment, due: &mut [Due]) {
    let (Some(archive), Ok(data)) = (home.archive(), environment.data_directory()) else { return };
    if due.is_empty() {
        return;
    }
    let kinds = CollectOptions::default().kinds;
    let Ok(status) = CollectStatus::read(home, &data, archive, &kinds) else { return };
    for one in due {
        one.is_archived = status.safe.contains(&one.session.path);
    }
}

/// The sessions that are due, soonest first. Files without a conversation are
/// no loss and are not named.
pub(crate) fn due_sessions(
    home: &Home,
    setting: &CleanupSetting,
    now: Timestamp,
    days: u64,
) -> Vec<Due> {
    let retention = Retention::new(setting);
    let inventory = home.without_archive().inventory();
    let mut due: Vec<Due> = inventory
        .sessions
        .iter()
        .filter(|session| session.bytes() > 0 && retention.is_due(session.modified(), now, days))
        .filter_map(|session| {
            // A log that may not be read will be deleted all the same.
            let digest = Digest::read(&session.path, false).unwrap_or_default();
            (digest.kind == FileKind::Session).then(|| Due {
                session: session.clone(),
                title: digest.title.map_or_else(String::new, |(title, _)| title),
                at: retention.deletes_at(session.modified()),
                is_archived: false,
            })
        })
        .collect();
    due.sort_by_key(|one| one.at);
    due
}

fn write_json(
    home: &Home,
    areas: &[Area],
    setting: &CleanupSetting,
    due: &[Due],
    output: &mut Output,
) -> Result<Outcome, CommandError> {
    let mut parts = ArrayWriter::new();
    for area in areas {
        let object = ObjectWriter::new()
            .string("name", &area.name)
            .number("files", area.files)
            .number("bytes", area.bytes);
        parts = parts.json(&object.finish());
    }
    let mut sessions = ArrayWriter::new();
    for one in due {
        let object = ObjectWriter::new()
            .string("id", &one.session.id.to_string())
            .string("path", &one.session.path.to_string_lossy())
            .string("title", &one.title)
            .string("deleted_after", &format!("{:.3}", one.at))
            .number("bytes", one.session.bytes())
            .boolean("archived", one.is_archived);
        sessions = sessions.json(&object.finish());
    }
    let path = setting.path.as_ref().map(|path| path.to_string_lossy().into_owned());
    let cleanup = ObjectWriter::new()
        .number("days", setting.days)
        .string("scope", setting.scope.name())
        .string_or_null("path", path.as_deref());
    let object = ObjectWriter::new()
        .string("home", &home.root().to_string_lossy())
        .json("areas", &parts.finish())
        .json("cleanup", &cleanup.finish())
        .json("due", &sessions.finish());
    output.json_line(object)?;
    Ok(Outcome::Done)
}
