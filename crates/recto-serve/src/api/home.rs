//! What is asked of the whole home.

use axum::extract::State;

use super::filter;
use super::session_id;
use crate::answer::Failure;
use crate::answer::Json;
use crate::context::Context;
use crate::data;
use crate::data::Overview;
use crate::data::PlanView;
use crate::data::SearchAnswer;
use crate::data::SearchQuery;
use crate::data::SessionList;
use crate::data::SessionQuery;
use crate::data::StatusView;
use crate::data::UsageReport;
use crate::parameters::Parameters;

pub(super) async fn overview(
    State(context): State<Context>,
    parameters: Parameters,
) -> Result<Json<Overview>, Failure> {
    parameters.finish()?;
    context.work(|context| Ok(data::overview(context))).await.map(Json)
}

pub(super) async fn sessions(
    State(context): State<Context>,
    mut parameters: Parameters,
) -> Result<Json<SessionList>, Failure> {
    let query = SessionQuery {
        filter: filter(&context, &mut parameters)?,
        words: parameters.text("q"),
        only_live: parameters.value("live")?.unwrap_or(false),
        all: parameters.value("all")?.unwrap_or(false),
        from: parameters.value("from")?.unwrap_or(0),
        count: parameters.value("count")?.unwrap_or(50).min(500),
    };
    parameters.finish()?;
    context.work(move |context| Ok(data::sessions(context, &query))).await.map(Json)
}

pub(super) async fn search(
    State(context): State<Context>,
    mut parameters: Parameters,
) -> Result<Json<SearchAnswer>, Failure> {
    let by_rank = match parameters.text("sort").as_deref() {
        None | Some("newest") => false,
        Some("rank") => true,
        Some(_) => {
            let failure = Failure::bad_request("bad-parameter", "`sort` has no such value");
            return Err(failure.with_hint("newest or rank"));
        }
    };
    let query = SearchQuery {
        text: parameters.text("q").unwrap_or_default(),
        filter: filter(&context, &mut parameters)?,
        by_rank,
        from: parameters.value("from")?.unwrap_or(0),
        limit: parameters.value("count")?.unwrap_or(50).clamp(1, 200),
    };
    parameters.finish()?;
    context.work(move |context| data::search(context, &query)).await.map(Json)
}

pub(super) async fn usage(
    State(context): State<Context>,
    mut parameters: Parameters,
) -> Result<Json<UsageReport>, Failure> {
    let by = parameters.text("by").unwrap_or_else(|| "day".to_owned());
    let dimensions = data::dimensions(&by)?;
    let mut selection = filter(&context, &mut parameters)?.selection();
    if let Some(session) = parameters.text("session") {
        selection.session = Some(session_id(&session)?.to_string());
    }
    parameters.finish()?;
    context.work(move |context| Ok(data::usage(context, dimensions, &selection))).await.map(Json)
}

pub(super) async fn plans(
    State(context): State<Context>,
    parameters: Parameters,
) -> Result<Json<Vec<PlanView>>, Failure> {
    parameters.finish()?;
    context.work(|context| data::plans(context, None)).await.map(Json)
}

pub(super) async fn status(
    State(context): State<Context>,
    mut parameters: Parameters,
) -> Result<Json<Vec<StatusView>>, Failure> {
    let session = parameters.text("session").map(|id| session_id(&id)).transpose()?;
    parameters.finish()?;
    context.work(move |context| Ok(data::statuses(context, session))).await.map(Json)
}
