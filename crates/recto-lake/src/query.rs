//! Asks the embedded SQLite.

use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::error::LakeError;
use crate::library::columns_in;
use crate::library::names;
use crate::library::nearest;

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

/// Asks a query that reads, for so many rows at most.
pub fn ask(connection: &Connection, sql: &str, most: usize) -> Result<Answer, LakeError> {
    let trimmed = sql.trim().trim_end_matches(';');
    let first = trimmed.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
    if !["select", "with", "values", "explain"].contains(&first.as_str()) {
        let message = "only queries that read are possible: SELECT, WITH or VALUES".to_owned();
        return Err(LakeError::Query { message, near: Vec::new() });
    }
    let failed = |error: rusqlite::Error| explained(trimmed, &error);
    let mut statement = connection.prepare(trimmed).map_err(failed)?;
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut answer = Answer { columns, ..Answer::default() };
    let mut rows = statement.query([]).map_err(failed)?;
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
        answer.rows.push(values);
    }
    Ok(answer)
}

/// What SQLite said, and names that may have been meant.
fn explained(sql: &str, error: &rusqlite::Error) -> LakeError {
    let message = match error {
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        other => other.to_string(),
    };
    let near = match message.split_once(": ") {
        Some(("no such column", name)) => {
            let name = name.rsplit('.').next().unwrap_or(name);
            nearest(name, columns_in(sql))
        }
        Some(("no such table", name)) => nearest(name, names()),
        _ => Vec::new(),
    };
    LakeError::Query { message, near }
}
