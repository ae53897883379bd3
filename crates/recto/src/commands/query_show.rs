//! Rows of an answer, for people and programs.

use recto_lake::query::Answer;
use recto_lake::query::Value;
use serde_json::Map;

use crate::error::CommandError;
use crate::terminal::output::Output;
use crate::terminal::text::Column;
use crate::terminal::text::Table;
use crate::terminal::text::bar;
use crate::terminal::text::count;
use crate::terminal::text::one_line;

/// How wide a full bar is.
const BAR: usize = 40;

/// How rows are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Aligned for a person, with tabs for a program.
    Table,
    /// Aligned also for a program.
    Aligned,
    /// Comma-separated values.
    Csv,
    /// A bar for each row.
    Chart,
}

pub(crate) fn show(answer: &Answer, form: Form, output: &mut Output) -> Result<(), CommandError> {
    if output.json {
        let names = field_names(&answer.columns);
        return answer.rows.iter().try_for_each(|row| {
            let object: Map<String, serde_json::Value> =
                names.iter().cloned().zip(row.iter().map(json)).collect();
            output.row(&object)
        });
    }
    match form {
        Form::Csv => csv(answer, output),
        Form::Chart => chart(answer, output),
        Form::Table | Form::Aligned => table(answer, form, output),
    }
}

/// The name of the cache of a home or a store: its own name may be long and have any character.
pub(crate) fn file_name(of: &[u8]) -> String {
    let hash = of.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}.sqlite")
}

/// The names of columns, each once: an object has one field of a name.
fn field_names(columns: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for column in columns {
        let others = (2..).map(|number| format!("{column}_{number}"));
        let free = std::iter::once(column.clone()).chain(others);
        names.extend(free.filter(|name| !names.contains(name)).take(1).collect::<Vec<_>>());
    }
    names
}

fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Null => serde_json::Value::Null,
        Value::Integer(number) => (*number).into(),
        Value::Real(number) => (*number).into(),
        Value::Text(text) => text.clone().into(),
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Integer(number) => number.to_string(),
        Value::Real(number) => format!("{number:.2}"),
        Value::Text(text) => one_line(text),
    }
}

/// The unit of costs in tables, which people do not count in.
const MICROS: &str = "_micros";

/// A value of a column as a person reads it: dollars for millionths.
fn for_person(column: &str, value: &Value) -> String {
    let micros = match value {
        Value::Integer(number) => *number as f64,
        Value::Real(number) => *number,
        Value::Null | Value::Text(_) => return text(value),
    };
    match column.contains(MICROS) {
        true if micros > 0.0 && micros < 5_000.0 => "<$0.01".to_owned(),
        true => format!("${:.2}", micros / 1e6),
        false => text(value),
    }
}

/// A value without loss, for programs.
fn exact(value: &Value) -> String {
    match value {
        Value::Real(number) => number.to_string(),
        other => text(other),
    }
}

fn csv(answer: &Answer, output: &mut Output) -> Result<(), CommandError> {
    let quoted = |cell: &str| match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    };
    let heads: Vec<String> = answer.columns.iter().map(|head| quoted(&one_line(head))).collect();
    output.line(&heads.join(","))?;
    for row in &answer.rows {
        let cell = |value: &Value| quoted(&exact(value));
        output.line(&row.iter().map(cell).collect::<Vec<_>>().join(","))?;
    }
    Ok(())
}

fn is_number(answer: &Answer, at: usize) -> bool {
    let is_none = |row: &Vec<Value>| matches!(row[at], Value::Null);
    let is_text = |row: &Vec<Value>| matches!(row[at], Value::Text(_));
    !answer.rows.iter().any(is_text) && !answer.rows.iter().all(is_none)
}

fn table(answer: &Answer, form: Form, output: &mut Output) -> Result<(), CommandError> {
    output.page();
    let columns: Vec<Column> = (0..answer.columns.len())
        .map(|at| if is_number(answer, at) { Column::Right } else { Column::Flexible })
        .collect();
    let mut table = Table::new(&columns);
    let is_for_person = output.width.is_some();
    let head = |name: &String| match is_for_person {
        true => one_line(name).replacen(MICROS, "", 1),
        false => one_line(name),
    };
    table.cells(answer.columns.iter().map(head).collect());
    for row in &answer.rows {
        let cells = answer.columns.iter().zip(row).map(|(name, value)| match form {
            _ if is_for_person => for_person(name, value),
            Form::Aligned => text(value),
            _ => exact(value),
        });
        table.cells(cells.collect());
    }
    let rows = match form {
        Form::Aligned => table.aligned(output.width),
        Form::Table | Form::Csv | Form::Chart => table.layout(output.width),
    };
    let gap = if form == Form::Aligned { "  " } else { output.gap() };
    for cells in rows {
        output.line(cells.join(gap).trim_end())?;
    }
    Ok(())
}

/// The last column with numbers, by the columns with text.
fn chart(answer: &Answer, output: &mut Output) -> Result<(), CommandError> {
    if answer.rows.is_empty() {
        return Ok(());
    }
    let numbers = (0..answer.columns.len()).rev().find(|at| is_number(answer, *at));
    let Some(at) = numbers else {
        let error = CommandError::user("no-numbers", "--chart needs a column of numbers");
        return Err(error.with_hint("select one, or run the query without --chart"));
    };
    let value = |row: &Vec<Value>| match &row[at] {
        Value::Integer(number) => u64::try_from(*number).unwrap_or(0),
        Value::Real(number) => number.max(0.0) as u64,
        Value::Null | Value::Text(_) => 0,
    };
    let labels: Vec<usize> =
        (0..answer.columns.len()).filter(|column| !is_number(answer, *column)).collect();
    let largest = answer.rows.iter().map(value).max().unwrap_or(0);
    let mut table = Table::new(&[Column::Flexible, Column::Right, Column::Left]);
    let name = &answer.columns[at];
    let head = one_line(name).replacen(MICROS, "", 1);
    table.row([String::new(), head, String::new()]);
    for row in &answer.rows {
        let label: Vec<String> = labels.iter().map(|column| text(&row[*column])).collect();
        let shown = match name.contains(MICROS) {
            true => for_person(name, &row[at]),
            false => count(value(row)),
        };
        table.row([label.join(" "), shown, bar(value(row), largest, BAR)]);
    }
    for cells in table.aligned(output.width) {
        output.line(cells.join("  ").trim_end())?;
    }
    Ok(())
}
