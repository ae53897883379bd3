//! The rows of usage as comma-separated values.

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::Response;
use axum::http::StatusCode;
use axum::http::header;
use recto_session::usage::Dimension;
use recto_session::usage::Row;
use recto_session::usage::csv_cell;

use super::text::one_line;
use super::usage::question;
use crate::answer::Failure;
use crate::answer::content;
use crate::context::Context;
use crate::parameters::Parameters;
use recto_view::dimensions;

pub(crate) async fn csv(
    State(context): State<Context>,
    mut parameters: Parameters,
) -> Result<Response<Body>, Failure> {
    // Rows can stand for anything here.
    let by = parameters.text("by").unwrap_or_else(|| "day".into());
    let by = dimensions(&by)?;
    let question = question(&context, &mut parameters)?;
    parameters.finish()?;
    let asked = by.clone();
    let rows = context.answer(move |library| Ok(library.usage_rows(&question, &asked))).await?;
    let mut response = content(StatusCode::OK, "text/csv; charset=utf-8", csv_text(&by, &rows));
    let name = HeaderValue::from_static("attachment; filename=\"usage.csv\"");
    response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
    Ok(response)
}

/// The rows as comma-separated values, as `recto usage --csv` writes them.
fn csv_text(by: &[Dimension], rows: &[Row]) -> String {
    let mut lines = Vec::with_capacity(rows.len() + 1);
    let mut names: Vec<&str> = by.iter().map(|dimension| dimension.name()).collect();
    names.extend([
        "messages",
        "input_tokens",
        "output_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
        "cost_usd",
    ]);
    lines.push(names.join(","));
    for row in rows {
        let total = &row.total;
        let numbers = [total.messages, total.input, total.output, total.writes(), total.cache_read];
        let cost = total.cost().map_or_else(String::new, |cost| cost.to_string());
        let cells = row.keys.iter().map(|key| cell(key));
        let cells = cells.chain(numbers.iter().map(u64::to_string)).chain([cost]);
        lines.push(cells.collect::<Vec<_>>().join(","));
    }
    lines.join("\n") + "\n"
}

/// A text as a cell.
fn cell(text: &str) -> String {
    csv_cell(one_line(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_texts_for_every_reader() {
        let cells = ["main", "a,b", "say \"x\"", "=1+1", "a\u{1b}\nb"].map(cell);
        assert_eq!(cells, ["main", "\"a,b\"", "\"say \"\"x\"\"\"", "'=1+1", "a b"]);
    }
}
