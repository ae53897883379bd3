//! How work goes, as rows.

use axum::extract::State;
use recto_view::Library;
use recto_view::insights::ActivityInsight;
use recto_view::insights::CacheInsight;
use recto_view::insights::ContextInsight;
use recto_view::insights::QualityBy;
use recto_view::insights::QualityInsight;
use recto_view::insights::TimeSpan;

use crate::answer::Failure;
use crate::answer::Json;
use crate::context::Context;
use crate::parameters::Parameters;

/// The span that `since` and `until` name.
fn span(context: &Context, parameters: &mut Parameters) -> Result<TimeSpan, Failure> {
    let mut time = |name: &str| {
        let text = parameters.text(name);
        text.map(|text| context.library.typed_time(&text)).transpose().map_err(Failure::from)
    };
    Ok((time("since")?, time("until")?))
}

fn by(parameters: &mut Parameters, usual: QualityBy) -> Result<QualityBy, Failure> {
    let name = parameters.text("by");
    name.map_or(Ok(usual), |name| QualityBy::named(&name).map_err(Failure::from))
}

pub(super) async fn activity(
    State(context): State<Context>,
    mut parameters: Parameters,
) -> Result<Json<ActivityInsight>, Failure> {
    let span = span(&context, &mut parameters)?;
    parameters.finish()?;
    context.answer(move |library: &Library| Ok(library.activity_insight(span))).await.map(Json)
}

pub(super) async fn quality(
    State(context): State<Context>,
    mut parameters: Parameters,
) -> Result<Json<QualityInsight>, Failure> {
    let (span, by) = (span(&context, &mut parameters)?, by(&mut parameters, QualityBy::Tool)?);
    parameters.finish()?;
    context.answer(move |library: &Library| Ok(library.quality_insight(span, by))).await.map(Json)
}

pub(super) async fn cache(
    State(context): State<Context>,
    mut parameters: Parameters,
) -> Result<Json<CacheInsight>, Failure> {
    let (span, by) = (span(&context, &mut parameters)?, by(&mut parameters, QualityBy::Project)?);
    parameters.finish()?;
    context.answer(move |library: &Library| Ok(library.cache_insight(span, by))).await.map(Json)
}

pub(super) async fn growth(
    State(context): State<Context>,
    mut parameters: Parameters,
) -> Result<Json<ContextInsight>, Failure> {
    let span = span(&context, &mut parameters)?;
    parameters.finish()?;
    context.answer(move |library: &Library| Ok(library.context_insight(span))).await.map(Json)
}
