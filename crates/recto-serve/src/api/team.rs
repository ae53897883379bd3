//! The team's store, as rows.

use std::sync::Arc;

use axum::extract::State;
use recto_view::Moment;
use serde::Serialize;

use crate::answer::Failure;
use crate::answer::Json;
use crate::context::Context;
use crate::parameters::Parameters;
use crate::team::TeamRows;

/// Rows, and when they were read.
#[derive(Debug, Serialize)]
pub(super) struct TeamReport {
    read_at: Moment,
    #[serde(flatten)]
    rows: Arc<TeamRows>,
}

pub(super) async fn team(
    State(context): State<Context>,
    parameters: Parameters,
) -> Result<Json<TeamReport>, Failure> {
    parameters.finish()?;
    let state = context.team().await?;
    match state.seen {
        Some(seen) => Ok(Json(TeamReport { read_at: Moment(seen.at), rows: seen.rows })),
        None => Err(Failure::team(&state)),
    }
}
