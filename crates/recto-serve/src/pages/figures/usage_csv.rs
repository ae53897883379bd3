//! The rows of usage as comma-separated values.

use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderValue;
use axum::http::Response;
use axum::http::StatusCode;
use axum::http::header;

use super::text::one_line;
use super::usage::question;
use crate::answer::Failure;
use crate::answer::content;
use crate::context::Context;
use crate::parameters::Parameters;
use recto_view::csv_lines;
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
    let text = context.answer(move |library| {
        let selection = question.selection(library, &question.period);
        let rows = library.count_usage(&by, selection, &|_, _| {}).report(&by).rows;
        Ok(csv_lines(&by, &rows, one_line).fold(String::new(), |text, line| text + &line + "\n"))
    });
    let mut response = content(StatusCode::OK, "text/csv; charset=utf-8", text.await?);
    let name = HeaderValue::from_static("attachment; filename=\"usage.csv\"");
    response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
    Ok(response)
}
