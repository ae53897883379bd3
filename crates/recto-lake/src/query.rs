//! Asks the embedded SQLite.

use std::time::Duration;
use std::time::Instant;

use rusqlite::Connection;
use rusqlite::ErrorCode;
use rusqlite::Statement;
use rusqlite::types::ValueRef;

use crate::cache::LARGEST_HEAP;
use crate::cache::broken;
use crate::cache::code_of;
use crate::error::LakeError;
use crate::library::columns_in;
use crate::library::names;
use crate::library::nearest;

/// A connection that only reads.
pub type Reader = Connection;

/// An answer takes so much memory at most, in bytes.
const LARGEST_ANSWER: usize = 1024 * 1024 * 1024;
/// What a value takes beside its text.
const VALUE: usize = size_of::<Value>();
/// How many steps of SQLite there are between two looks at the clock.
const STEPS: i32 = 100_000;

const ONLY_READ: &str = "only read-only queries are allowed: SELECT, WITH or VALUES";

/// A value of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// A whole number.
    Integer(i64),
    /// Another number.
    Real(f64),
    /// Text.
    Text(String),
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// The names of its columns.
    pub columns: Vec<String>,
    /// Its rows.
    pub rows: Vec<Vec<Value>>,
    /// Whether there are more rows than were asked for.
    pub is_cut: bool,
}

/// Asks a query that reads, for so many rows at most, and gives it up when it takes too long.
pub fn ask_within(
    reader: &mut Reader,
    sql: &str,
    most: usize,
    patience: Option<Duration>,
) -> Result<Answer, LakeError> {
    let Some(patience) = patience else { return ask(reader, sql, most) };
    let begun = Instant::now();
    let is_over = move || begun.elapsed() >= patience;
    let limited = reader.progress_handler(STEPS, Some(is_over));
    limited.map_err(|error| broken(reader, &error))?;
    let answer = ask(reader, sql, most);
    let freed = reader.progress_handler(0, None::<fn() -> bool>);
    freed.map_err(|error| broken(reader, &error))?;
    match answer {
        Err(LakeError::TooLong { .. }) => Err(LakeError::TooLong { seconds: patience.as_secs() }),
        answer => answer,
    }
}

/// Asks a query that reads, for so many rows at most.
pub fn ask(connection: &Connection, sql: &str, most: usize) -> Result<Answer, LakeError> {
    let mut statement = prepare(connection, sql)?;
    let failed = |error: rusqlite::Error| failed(connection, sql, &error);
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut answer = Answer { columns, ..Answer::default() };
    let mut rows = statement.query([]).map_err(failed)?;
    let mut memory = 0;
    while let Some(row) = rows.next().map_err(failed)? {
        if answer.rows.len() == most {
            answer.is_cut = true;
            break;
        }
        let mut values = Vec::with_capacity(answer.columns.len());
        for at in 0..answer.columns.len() {
            values.push(match row.get_ref(at).map_err(failed)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(number) => Value::Integer(number),
                ValueRef::Real(number) => Value::Real(number),
                ValueRef::Text(text) | ValueRef::Blob(text) => {
                    Value::Text(String::from_utf8_lossy(text).into_owned())
                }
            });
        }
        let text = |value: &Value| if let Value::Text(text) = value { text.len() } else { 0 };
        memory += values.iter().map(|value| VALUE + text(value)).sum::<usize>();
        if memory > LARGEST_ANSWER {
            return Err(LakeError::TooMuch { mb: LARGEST_ANSWER as u64 / 1024 / 1024 });
        }
        answer.rows.push(values);
    }
    Ok(answer)
}

/// A query that reads and has an answer.
pub(crate) fn prepare<'a>(
    connection: &'a Connection,
    sql: &str,
) -> Result<Statement<'a>, LakeError> {
    let statement = connection.prepare(sql).map_err(|error| failed(connection, sql, &error))?;
    match statement.readonly() && statement.column_count() > 0 {
        true => Ok(statement),
        false => Err(LakeError::Query { message: ONLY_READ.to_owned(), near: Vec::new() }),
    }
}

/// Whether the query is wrong, or the file that was asked.
fn failed(connection: &Connection, sql: &str, error: &rusqlite::Error) -> LakeError {
    match code_of(error).map(|error| error.code) {
        Some(ErrorCode::OperationInterrupted) => LakeError::TooLong { seconds: 0 },
        Some(ErrorCode::OutOfMemory) => {
            LakeError::TooMuch { mb: LARGEST_HEAP as u64 / 1024 / 1024 }
        }
        Some(
            ErrorCode::SystemIoFailure
            | ErrorCode::DatabaseCorrupt
            | ErrorCode::NotADatabase
            | ErrorCode::DatabaseBusy
            | ErrorCode::CannotOpen
            | ErrorCode::DiskFull,
        ) => broken(connection, error),
        _ => explained(sql, error),
    }
}

/// What SQLite said, and names that may have been meant.
pub(crate) fn explained(sql: &str, error: &rusqlite::Error) -> LakeError {
    let message = match error {
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        other => other.to_string(),
    };
    let code = code_of(error).map(|error| error.code);
    if code == Some(ErrorCode::AuthorizationForStatementDenied) {
        return LakeError::Query { message: ONLY_READ.to_owned(), near: Vec::new() };
    }
    let near = match message.split_once(": ") {
        Some(("no such column", name)) => {
            // What follows a name in quotes is advice about quotes.
            let name = name.split_once(" - ").map_or(name, |(name, _)| name).trim_matches('"');
            let name = name.rsplit('.').next().unwrap_or(name);
            nearest(name, columns_in(sql))
        }
        Some(("no such table", name)) => nearest(name, names()),
        _ => Vec::new(),
    };
    LakeError::Query { message, near }
}
