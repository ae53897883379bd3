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

/// Show what is in the home, how large it is, and what the client will delete
///
/// At its start the client deletes logs that were not written for
/// `cleanupPeriodDays` (30 by default). This command says which ones are due,
/// and which setting to change.
///
/// Examples:
///   recto home
///   recto home --within 30
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct HomeArgs {
    /// Name the sessions that will be deleted within so many days
    #[arg(long, value_name = "DAYS", default_value_t = 7)]
    within: u64,
}

/// A session that will be deleted.
pub(crate) struct Due {
    pub(crate) session: SessionFile,
    title: String,
    at: Timestamp,
}

pub(crate) fn cmd_home(
    home: &Home,
    environment: &Environment,
    output: &mut Output,
    args: &HomeArgs,
) -> Result<Outcome, CommandError> {
    let now = environment.now();
    let areas = home.areas();
    let setting = home.cleanup_setting(environment.working_directory.as_deref());
    let due = due_sessions(home, &setting, now, args.within);
    if output.json {
        return write_json(home, &areas, &setting, &due, output);
    }
    let root = path_from_home(&home.root().to_string_lossy(), environment.user_home.as_deref());
    let total: u64 = areas.iter().map(|area| area.bytes).sum();
    output.line(&format!("{}  {}", output.paint(Look::Strong, &one_line(&root)), bytes(total)))?;
    output.line("")?;
    let mut table = Table::new(&[Column::Left, Column::Right, Column::Right, Column::Flexible]);
    for area in &areas {
        table.row([
            one_line(&area.name),
            bytes(area.bytes),
            plural(area.files, "file"),
            area.about.into(),
        ]);
    }
    for cells in table.layout(output.width) {
        output.line(format!("  {}", cells.join("  ")).trim_end())?;
    }
    output.line("")?;
    let source = match (&setting.scope, &setting.path) {
        (Scope::Default, _) | (_, None) => "the client's default".to_owned(),
        (scope, Some(path)) => format!("{} settings, {}", scope.name(), path.display()),
    };
    output.line(&format!(
        "The client deletes logs that were not written for {} ({}).",
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
    let mut table = Table::new(&[Column::Left, Column::Right, Column::Right, Column::Flexible]);
    for one in &due {
        let id: String = one.session.id.to_string().chars().take(8).collect();
        let when = if one.at <= now {
            "at the next start".into()
        } else {
            format!("in {}", age(now, one.at))
        };
        table.row([id, when, bytes(one.session.bytes()), one_line(&one.title)]);
    }
    for cells in table.layout(output.width.map(|width| width.saturating_sub(2))) {
        output.line(format!("  {}", cells.join("  ")).trim_end())?;
    }
    // The setting in force is the one to change: a wider one would change nothing.
    let file = setting.path.clone().unwrap_or_else(|| home.settings());
    output.line(&format!(
        "To keep them, set \"cleanupPeriodDays\": {} in {}.",
        365.max(setting.days.saturating_mul(2)),
        one_line(&path_from_home(&file.to_string_lossy(), environment.user_home.as_deref()))
    ))?;
    Ok(Outcome::Done)
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
            .number("bytes", one.session.bytes());
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
