//! The API: `/api/v1/…`, JSON. `openapi.json` describes it.

use axum::Router;
use axum::extract::State;
use axum::routing::get;

use crate::answer::Failure;
use crate::answer::Json;
use crate::context::Context;
use crate::data;
use crate::data::Overview;

pub(crate) fn routes() -> Router<Context> {
    Router::new().nest("/v1", Router::new().route("/overview", get(overview)))
}

async fn overview(State(context): State<Context>) -> Result<Json<Overview>, Failure> {
    context.work(|context| Ok(data::overview(context))).await.map(Json)
}
