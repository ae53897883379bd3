//! The tables of a store as rows for the team page of `recto serve`.

use std::path::Path;

use jiff::Timestamp;
use recto_collect::Fleet;
use recto_collect::FleetMachine;
use recto_collect::Store;
use recto_lake::Lake;
use recto_lake::LakeError;
use recto_lake::cache::Cache;
use recto_lake::library;
use recto_lake::library::Needs;
use recto_lake::library::Question;
use recto_lake::query::Answer;
use recto_lake::query::Reader;
use recto_lake::query::Value;
use recto_lake::query::ask;
use recto_serve::TeamAnswer;
use recto_serve::TeamMachine;
use recto_serve::TeamRows;
use recto_serve::TeamSource;
use recto_serve::TeamTrouble;
use recto_serve::TeamValue;
use recto_serve::TellRead;
use recto_view::Moment;

use crate::commands::lake_tables::open_known_store;
use crate::commands::query::LIMIT_MB;
use crate::commands::query_show::file_name;
use crate::environment::Environment;
use crate::error::CommandError;

/// The questions that the page shows.
const QUESTIONS: [&str; 5] =
    ["cost-by-week", "cost-by-user", "cost-by-project", "tool-failures", "waiting"];
/// Says how new the tables are.
const BUILT_TO: &str = "SELECT MAX(captured_ms) AS built FROM segments";
/// So many rows of an answer are kept in memory.
const MOST_ROWS: usize = 5000;

/// Reads the rows of a store, when the page asks for them.
pub(crate) fn team_source(
    environment: &Environment,
    address: &str,
) -> Result<TeamSource, CommandError> {
    let store = open_known_store(environment, address)?;
    let path = environment.table_directory()?.join(file_name(store.url().as_bytes()));
    Ok(TeamSource::new(move |tell| {
        read(&store, &path, tell).map_err(|error| TeamTrouble {
            kind: error.kind(),
            message: error.to_string(),
            hint: error.hint(),
        })
    }))
}

fn read(store: &Store, path: &Path, tell: &mut TellRead<'_>) -> Result<TeamRows, LakeError> {
    let questions = library::questions();
    let shown: Vec<_> =
        questions.iter().filter(|question| QUESTIONS.contains(&question.name)).collect();
    let all: Vec<&str> = shown.iter().map(|question| question.sql).chain([BUILT_TO]).collect();
    let mut needs = Needs::default();
    for sql in all {
        needs.add(library::needs(sql)?);
    }
    let mut rows = Cache::with(path, |mut cache| {
        let skipped = Lake::load(store, &mut cache, &needs, LIMIT_MB, &mut *tell)?;
        let rows = TeamRows { store: store.url().to_owned(), skipped, ..TeamRows::default() };
        answers(&cache.into_reader()?, &shown, rows)
    })?;
    rows.machines = Fleet::new(store.clone()).machines()?.into_iter().map(machine).collect();
    Ok(rows)
}

fn answers(
    reader: &Reader,
    shown: &[&Question],
    mut rows: TeamRows,
) -> Result<TeamRows, LakeError> {
    for question in shown {
        let Answer { columns, rows: found, is_cut } = ask(reader, question.sql, MOST_ROWS)?;
        let found = found.into_iter().map(|row| row.into_iter().map(value).collect());
        rows.answers.push(TeamAnswer {
            question: question.name.to_owned(),
            about: question.about.to_owned(),
            columns,
            rows: found.collect(),
            is_cut,
        });
    }
    let built = ask(reader, BUILT_TO, 1)?.rows.into_iter().flatten().next();
    rows.built_to = match built {
        Some(Value::Integer(ms)) => Timestamp::from_millisecond(ms).ok().map(Moment),
        _ => None,
    };
    Ok(rows)
}

fn value(value: Value) -> TeamValue {
    match value {
        Value::Null => TeamValue::Null,
        Value::Integer(number) => TeamValue::Integer(number),
        Value::Real(number) => TeamValue::Real(number),
        Value::Text(text) => TeamValue::Text(text),
    }
}

fn machine(found: FleetMachine) -> TeamMachine {
    let time = |text: &str| text.parse::<Timestamp>().ok().map(Moment);
    let beat = found.beat.as_ref();
    TeamMachine {
        machine: found.machine.to_string(),
        user: beat.and_then(|beat| beat.user.clone()),
        host: beat.and_then(|beat| beat.host.clone()),
        version: beat.map(|beat| beat.version.clone()),
        seen: beat.and_then(|beat| time(&beat.seen)).or(found.newest.map(Moment)),
        waiting_bytes: beat.map(|beat| beat.waiting_bytes),
        waiting_since: beat.and_then(|beat| time(beat.waiting_since.as_deref()?)),
        files: found.files,
        stored_bytes: found.stored_bytes,
        gaps: found.gaps,
    }
}
