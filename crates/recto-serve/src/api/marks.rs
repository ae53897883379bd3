//! Stars, pins, tags, notes and saved searches: recto's own data. They are posted with the same
//! checks as edits, and need no leave to edit: nothing of Claude Code's is changed.

use axum::body::Body;
use axum::extract::Path;
use axum::extract::State;
use serde::Deserialize;

use super::edits::parse;
use super::edits::read;
use super::session_id;
use crate::answer::Failure;
use crate::answer::Json;
use crate::context::Context;
use crate::parameters::Parameters;
use recto_view::AllMarks;
use recto_view::Marks;
use recto_view::MarksChange;
use recto_view::SavedSearch;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewSearch {
    name: String,
    query: String,
}

pub(super) async fn all(
    State(context): State<Context>,
    parameters: Parameters,
) -> Result<Json<AllMarks>, Failure> {
    parameters.finish()?;
    context.answer(|library| library.marks()).await.map(Json)
}

pub(super) async fn mark(
    State(context): State<Context>,
    Path(session): Path<String>,
    parameters: Parameters,
    body: Body,
) -> Result<Json<Marks>, Failure> {
    parameters.finish()?;
    let id = session_id(&session)?;
    let change: MarksChange = parse(&read(body).await?)?;
    context.answer(move |library| library.mark(id, change)).await.map(Json)
}

pub(super) async fn save_search(
    State(context): State<Context>,
    parameters: Parameters,
    body: Body,
) -> Result<Json<Vec<SavedSearch>>, Failure> {
    parameters.finish()?;
    let NewSearch { name, query } = parse(&read(body).await?)?;
    context.answer(move |library| library.save_search(&name, &query)).await.map(Json)
}
