//! What is asked of the whole home.

use axum::extract::State;

use super::filter;
use super::session_id;
use crate::answer::Failure;
use crate::answer::Json;
use crate::context::Context;
use crate::parameters::Parameters;
use recto_view::Listing;
use recto_view::Overview;
use recto_view::PlanRow;
use recto_view::PlanScope;
use recto_view::SearchAnswer;
use recto_view::SearchQuery;
use recto_view::SessionList;
use recto_view::SessionQuery;
use recto_view::StatusRow;
use recto_view::UsageReport;

pub(super) async fn overview(
    State(context): State<Context>,
    parameters: Parameters,
) -> Result<Json<Overview>, Failure> {
    parameters.finish()?;
    context.answer(|library| Ok(library.overview(&library.home().inventory()))).await.map(Json)
}

pub(super) async fn sessions(
    State(context): State<Context>,
    mut parameters: Parameters,
) -> Result<Json<SessionList>, Failure> {
    let listing = Listing {
        filter: filter(&context, &mut parameters)?,
        words: parameters.text("q"),
        only_live: parameters.value("live")?.unwrap_or(false),
        all: parameters.value("all")?.unwrap_or(false),
        ..Listing::default()
    };
    let query = SessionQuery {
        listing,
        from: parameters.value("from")?.unwrap_or(0),
        count: parameters.value("count")?.unwrap_or(50).min(500),
        ..SessionQuery::default()
    };
    parameters.finish()?;
    context.answer(move |library| Ok(library.sessions(&query))).await.map(Json)
}

pub(super) async fn search(
    State(context): State<Context>,
    mut parameters: Parameters,
) -> Result<Json<SearchAnswer>, Failure> {
    let by_rank = match parameters.text("sort").as_deref() {
        None | Some("newest") => false,
        Some("rank") => true,
        Some(_) => {
            let failure = Failure::bad_request("bad-parameter", "invalid value for `sort`");
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
    context.work(move |context| Ok(context.library.search(&query, &context.asker)?)).await.map(Json)
}

pub(super) async fn usage(
    State(context): State<Context>,
    mut parameters: Parameters,
) -> Result<Json<UsageReport>, Failure> {
    let by = parameters.text("by").unwrap_or_else(|| "day".to_owned());
    let dimensions = recto_view::dimensions(&by)?;
    let mut selection = filter(&context, &mut parameters)?.selection();
    if let Some(session) = parameters.text("session") {
        selection.session = Some(session_id(&session)?.to_string());
    }
    parameters.finish()?;
    context.answer(move |library| Ok(library.usage(&dimensions, selection))).await.map(Json)
}

pub(super) async fn plans(
    State(context): State<Context>,
    parameters: Parameters,
) -> Result<Json<Vec<PlanRow>>, Failure> {
    parameters.finish()?;
    context.answer(|library| Ok(library.plans(PlanScope::Home, &|_, _| {}).rows)).await.map(Json)
}

pub(super) async fn status(
    State(context): State<Context>,
    mut parameters: Parameters,
) -> Result<Json<Vec<StatusRow>>, Failure> {
    let session = parameters.text("session").map(|id| session_id(&id)).transpose()?;
    parameters.finish()?;
    context.answer(move |library| Ok(library.statuses(session.map(|name| name.id)))).await.map(Json)
}
