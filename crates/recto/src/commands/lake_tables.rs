//! What `recto lake` does, where it is built in.

use std::time::Duration;

use jiff::SignedDuration;
use recto_collect::Forget;
use recto_collect::Store;
use recto_lake::BuildReport;
use recto_lake::Engine;
use recto_lake::EraseOptions;
use recto_lake::Lake;
use recto_lake::LakeError;
use recto_lake::cache::Cache;
use recto_lake::library::nearest;
use recto_lake::query::ask_within;
use recto_lake::schema::Table as LakeTable;
use serde::Serialize;

use crate::commands::collect_store::open_store;
use crate::commands::lake::EraseArgs;
use crate::commands::lake::LakeArgs;
use crate::commands::lake::LakeCommand;
use crate::commands::lake::LakeStore;
pub(crate) use crate::commands::lake_team::team_source;
use crate::commands::prices::PricesOption;
use crate::commands::query::Asked;
use crate::commands::query::StoreQuery;
use crate::commands::query_show::file_name;
use crate::commands::restore::read_machine;
use crate::environment::Environment;
use crate::error::CommandError;
use crate::error::Outcome;
use crate::terminal::output::Output;
use crate::terminal::output::Progress;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::bytes;
use crate::terminal::text::count;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

#[derive(Debug, Serialize)]
struct BuildRow {
    batches: u64,
    segments: u64,
    bytes: u64,
    rows: u64,
    table_bytes: u64,
    damaged: Vec<String>,
}

#[derive(Debug, Serialize)]
struct TableRow {
    table: &'static str,
    version: i64,
    files: u64,
    rows: u64,
    bytes: u64,
}

#[derive(Debug, Serialize)]
struct OptimizeRow {
    files_before: u64,
    files_after: u64,
    tables: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
struct VacuumRow {
    done: bool,
    files: u64,
    bytes: u64,
}

#[derive(Debug, Serialize)]
struct EraseRow {
    done: bool,
    rows: u64,
    table_files: u64,
    machines: Vec<String>,
    files: u64,
    objects: u64,
    record: Option<String>,
    damaged: Vec<String>,
}

pub(crate) fn cmd_lake(
    environment: &Environment,
    output: &mut Output,
    args: &LakeArgs,
) -> Result<Outcome, CommandError> {
    let open = |store: &LakeStore| open_known_store(environment, &store.store);
    match &args.command {
        LakeCommand::Build(args) => {
            build(environment, output, &open(&args.store)?, &args.prices, /* again */ false)
        }
        LakeCommand::Rebuild(args) => {
            build(environment, output, &open(&args.store)?, &args.prices, /* again */ true)
        }
        LakeCommand::Status(args) => status(output, &open(&args.store)?),
        LakeCommand::Optimize(args) => optimize(output, &open(&args.store)?, args.at_least),
        LakeCommand::Vacuum(args) => {
            let retain = SignedDuration::from_hours(args.retain_hours.into());
            let done = Lake::vacuum(&open(&args.store)?, retain, args.yes, environment.now())?;
            tell_vacuum(output, args.yes, done.files, done.bytes)
        }
        LakeCommand::Erase(args) => erase(environment, output, &open(&args.store)?, args),
        LakeCommand::Files(args) => {
            let table = LakeTable::of_name(&args.table).ok_or_else(|| LakeError::NoName {
                what: "table",
                name: one_line(&args.table),
                near: nearest(&args.table, LakeTable::ALL.map(LakeTable::name)),
            })?;
            for file in Lake::files(&open(&args.store)?, table)? {
                match output.json {
                    true => output.row(&file)?,
                    false => output.line(&one_line(&file))?,
                }
            }
            Ok(Outcome::Done)
        }
        LakeCommand::Ddl(args) => {
            let engine = Engine::of_name(&args.engine)?;
            let text = Lake::ddl(&open(&args.store)?, engine)?;
            text.lines().try_for_each(|line| output.line(&one_line_kept(line)))?;
            Ok(Outcome::Done)
        }
    }
}

/// Opens a store that is there: tables of a directory that is not would be empty.
pub(super) fn open_known_store(
    environment: &Environment,
    address: &str,
) -> Result<Store, CommandError> {
    if !Lake::can_be_at(address) {
        let message = format!("no such directory: {}", one_line(address));
        let error = CommandError::user("bad-store", message);
        return Err(error.with_hint("`recto collect --to` makes a store"));
    }
    open_store(environment, address)
}

/// A line that keeps its indentation.
fn one_line_kept(line: &str) -> String {
    let words = line.trim_start();
    format!("{}{}", &line[..line.len() - words.len()], one_line(words))
}

fn build(
    environment: &Environment,
    output: &mut Output,
    store: &Store,
    prices: &PricesOption,
    again: bool,
) -> Result<Outcome, CommandError> {
    let prices = prices.read(environment)?;
    let progress = Progress::new("building tables", output);
    let mut tell = |done, all| progress.tell_bytes(done, all);
    let report = match again {
        true => Lake::rebuild(store, &prices, &mut tell),
        false => Lake::build(store, &prices, &mut tell),
    };
    progress.done();
    let BuildReport { batches, segments, bytes: read, rows, table_bytes, damaged } = report?;
    for problem in &damaged {
        output.remark(&format!("skipped: {}", one_line(problem)));
    }
    let outcome = if damaged.is_empty() { Outcome::Done } else { Outcome::Found };
    if output.json {
        output.row(&BuildRow { batches, segments, bytes: read, rows, table_bytes, damaged })?;
        return Ok(outcome);
    }
    match segments {
        0 => output.line("the tables are up to date")?,
        _ => output.line(&format!(
            "added {} ({}) as {} ({})",
            plural(segments, "segment"),
            bytes(read),
            plural(rows, "row"),
            bytes(table_bytes)
        ))?,
    }
    Ok(outcome)
}

fn status(output: &mut Output, store: &Store) -> Result<Outcome, CommandError> {
    let tables = Lake::status(store)?;
    if output.json {
        let rows: Vec<TableRow> = tables
            .iter()
            .map(|one| TableRow {
                table: one.table,
                version: one.version,
                files: one.files,
                rows: one.rows,
                bytes: one.bytes,
            })
            .collect();
        output.rows(&rows)?;
        return Ok(Outcome::Done);
    }
    let right = Column::Right;
    let mut lines = Table::new(&[Column::Left, right, right, right, right]);
    lines.row(["TABLE", "ROWS", "SIZE", "FILES", "VERSION"].map(str::to_owned));
    for one in tables {
        let version = one.version.max(0).to_string();
        lines.row([
            one.table.to_owned(),
            count(one.rows),
            bytes(one.bytes),
            count(one.files),
            version,
        ]);
    }
    for cells in lines.layout(output.width) {
        output.line(cells.join(output.gap()).trim_end())?;
    }
    Ok(Outcome::Done)
}

fn optimize(output: &mut Output, store: &Store, at_least: usize) -> Result<Outcome, CommandError> {
    let report = Lake::optimize(store, at_least)?;
    if output.json {
        output.row(&OptimizeRow {
            files_before: report.before,
            files_after: report.after,
            tables: report.tables,
        })?;
    } else if report.before == 0 {
        output.line("no table has enough small files to merge")?;
    } else {
        let (before, after) = (plural(report.before, "file"), plural(report.after, "file"));
        output.line(&format!("merged {before} into {after}"))?;
    }
    Ok(Outcome::Done)
}

fn tell_vacuum(
    output: &mut Output,
    done: bool,
    files: u64,
    size: u64,
) -> Result<Outcome, CommandError> {
    let what = format!("{} ({})", plural(files, "file"), bytes(size));
    if output.json {
        output.row(&VacuumRow { done, files, bytes: size })?;
    } else if files == 0 {
        output.line("no unused files")?;
    } else if done {
        output.line(&format!("removed {what}"))?;
    } else {
        output.line(&format!("would remove {what}; --yes removes them"))?;
    }
    Ok(Outcome::Done)
}

fn erase(
    environment: &Environment,
    output: &mut Output,
    store: &Store,
    args: &EraseArgs,
) -> Result<Outcome, CommandError> {
    let what = match (&args.machine, &args.user, &args.session) {
        (Some(machine), _, _) => Forget::Machine(read_machine(machine)?),
        (None, Some(user), _) => Forget::User(user.clone()),
        (None, None, session) => {
            let text = session.as_deref().unwrap_or_default();
            Forget::Session(text.parse().map_err(|_| {
                let message = format!("`{}` is not the id of a session", one_line(text));
                CommandError::user("usage", message).with_hint("use the whole id")
            })?)
        }
    };
    let by = environment.user_name.as_deref().unwrap_or("unknown");
    let report = Lake::erase(
        store,
        &what,
        &EraseOptions {
            really: args.yes,
            by,
            now: environment.now(),
            grace: Duration::from_secs(args.grace),
        },
    )?;
    let goes = if args.yes { "is removed as a whole" } else { "would be removed as a whole" };
    for problem in &report.damaged {
        output.remark(&format!("{}; the file {goes}", one_line(problem)));
    }
    if args.yes && !report.damaged.is_empty() {
        output.remark("damaged files may also have had other people's rows: `recto lake rebuild` restores those");
    }
    let is_none = report.files == 0 && report.raw.files == 0;
    let is_whole = report.damaged.is_empty();
    if output.json {
        output.row(&EraseRow {
            done: args.yes,
            rows: report.rows,
            table_files: report.files,
            machines: report.raw.machines.iter().map(ToString::to_string).collect(),
            files: report.raw.files,
            objects: report.raw.objects,
            record: report.raw.record,
            damaged: report.damaged,
        })?;
    } else {
        let what = format!(
            "{} of the tables, {} of the archive",
            plural(report.rows, "row"),
            plural(report.raw.files, "file")
        );
        match (is_none, args.yes) {
            (true, _) => output.line("nothing to erase")?,
            (false, true) => output.line(&format!("erased {what}"))?,
            (false, false) => output.line(&format!("would erase {what}; --yes erases it"))?,
        }
    }
    Ok(if is_none || !is_whole { Outcome::Found } else { Outcome::Done })
}

/// Asks the tables of a store.
pub(crate) fn ask_store(
    environment: &Environment,
    output: &mut Output,
    query: &StoreQuery<'_>,
) -> Result<Asked, CommandError> {
    let store = open_known_store(environment, query.address)?;
    let path = environment.table_directory()?.join(file_name(store.url().as_bytes()));
    let (answer, damaged) = Cache::with(&path, |mut cache| {
        let progress = Progress::new("loading tables", output);
        let mut tell = |done, all| progress.tell_bytes(done, all);
        let loaded = Lake::load(&store, &mut cache, query.needs, query.limit_mb, &mut tell);
        progress.done();
        let damaged = loaded?;
        let mut reader = cache.into_reader()?;
        Ok((ask_within(&mut reader, query.sql, query.most, query.patience)?, damaged))
    })?;
    for problem in &damaged {
        output.remark(&format!("skipped: {}", one_line(problem)));
    }
    Ok(Asked { answer, is_partial: !damaged.is_empty() })
}
