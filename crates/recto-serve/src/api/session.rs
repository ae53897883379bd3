//! What is asked of one session. A subagent's log has the same addresses below
//! `agents/{agent}`.

use std::collections::HashMap;

use axum::body::Body;
use axum::extract::Path;
use axum::extract::State;
use axum::http::Response;
use axum::http::StatusCode;
use recto_log::AgentId;

use super::agent_id;
use super::session_id;
use crate::answer::Failure;
use crate::answer::Json;
use crate::answer::content;
use crate::context::Context;
use crate::parameters::Parameters;
use recto_view::AgentRow;
use recto_view::FileRow;
use recto_view::FindQuery;
use recto_view::FoundPlaces;
use recto_view::HealthRow;
use recto_view::Library;
use recto_view::PlanRow;
use recto_view::PlanScope;
use recto_view::SessionCosts;
use recto_view::SessionHead;
use recto_view::SessionName;
use recto_view::SessionStats;
use recto_view::Show;
use recto_view::TurnPage;
use recto_view::TurnQuery;

/// Which log an address names.
pub(super) struct Log {
    pub(super) session: SessionName,
    pub(super) agent: Option<AgentId>,
}

impl Log {
    pub(super) fn of(parts: &HashMap<String, String>) -> Result<Log, Failure> {
        let session = parts.get("session").map_or("", String::as_str);
        let agent = parts.get("agent").map(|agent| agent_id(agent)).transpose()?;
        Ok(Log { session: session_id(session)?, agent })
    }

    /// Its address in the API.
    fn base(&self) -> String {
        let session = format!("/api/v1/sessions/{}", self.session);
        match &self.agent {
            Some(agent) => format!("{session}/agents/{}", agent.as_str()),
            None => session,
        }
    }
}

pub(super) async fn session(
    State(context): State<Context>,
    Path(session): Path<String>,
    parameters: Parameters,
) -> Result<Json<SessionHead>, Failure> {
    let id = session_id(&session)?;
    parameters.finish()?;
    context.answer(move |library| library.session(id)).await.map(Json)
}

pub(super) async fn stats(
    State(context): State<Context>,
    Path(parts): Path<HashMap<String, String>>,
    parameters: Parameters,
) -> Result<Json<SessionStats>, Failure> {
    let log = Log::of(&parts)?;
    parameters.finish()?;
    let work = move |library: &Library| {
        let reading = library.read_any(log.session, log.agent.as_ref())?;
        Ok(library.session_stats(&reading)?)
    };
    context.answer(work).await.map(Json)
}

pub(super) async fn find(
    State(context): State<Context>,
    Path(parts): Path<HashMap<String, String>>,
    mut parameters: Parameters,
) -> Result<Json<FoundPlaces>, Failure> {
    let log = Log::of(&parts)?;
    let query = FindQuery {
        text: parameters.text("q").unwrap_or_default(),
        is_regex: parameters.value("regex")?.unwrap_or(false),
    };
    parameters.finish()?;
    let work = move |context: &Context| {
        let reading = context.library.read_any(log.session, log.agent.as_ref())?;
        Ok(recto_view::find_in(&reading, &query, &context.asker)?)
    };
    context.work(work).await.map(Json)
}

pub(super) async fn costs(
    State(context): State<Context>,
    Path(session): Path<String>,
    parameters: Parameters,
) -> Result<Json<SessionCosts>, Failure> {
    let id = session_id(&session)?;
    parameters.finish()?;
    context.answer(move |library| library.session_costs(id)).await.map(Json)
}

pub(super) async fn turns(
    State(context): State<Context>,
    Path(parts): Path<HashMap<String, String>>,
    mut parameters: Parameters,
) -> Result<Json<TurnPage>, Failure> {
    let log = Log::of(&parts)?;
    let query = TurnQuery {
        from: parameters.value("from")?.unwrap_or(1),
        skip: parameters.value("skip")?.unwrap_or(0),
        count: parameters.value("count")?.unwrap_or(10),
        lines: None,
        show: match parameters.text("show") {
            Some(name) => Show::named(&name)?,
            None => Show::All,
        },
    };
    parameters.finish()?;
    let work = move |library: &Library| {
        let reading = library.read_any(log.session, log.agent.as_ref())?;
        library.turns(&reading, &log.base(), query)
    };
    context.answer(work).await.map(Json)
}

pub(super) async fn line(
    State(context): State<Context>,
    Path(parts): Path<HashMap<String, String>>,
    parameters: Parameters,
) -> Result<Response<Body>, Failure> {
    let log = Log::of(&parts)?;
    parameters.finish()?;
    let number = parts.get("line").and_then(|line| line.parse().ok());
    let number = number.ok_or_else(|| Failure::not_found("the log has no such line"))?;
    let work = move |library: &Library| {
        let reading = library.read_any(log.session, log.agent.as_ref())?;
        recto_view::line_body(&reading, number)
    };
    context.answer(work).await.map(text)
}

pub(super) async fn result(
    State(context): State<Context>,
    Path(parts): Path<HashMap<String, String>>,
    parameters: Parameters,
) -> Result<Response<Body>, Failure> {
    let log = Log::of(&parts)?;
    parameters.finish()?;
    let call = parts.get("call").cloned().unwrap_or_default();
    let work = move |library: &Library| {
        let reading = library.read_any(log.session, log.agent.as_ref())?;
        library.result_body(&reading, &call)
    };
    context.answer(work).await.map(text)
}

pub(super) async fn agents(
    State(context): State<Context>,
    Path(session): Path<String>,
    parameters: Parameters,
) -> Result<Json<Vec<AgentRow>>, Failure> {
    let id = session_id(&session)?;
    parameters.finish()?;
    context.answer(move |library| library.agents(id)).await.map(Json)
}

pub(super) async fn plans(
    State(context): State<Context>,
    Path(session): Path<String>,
    parameters: Parameters,
) -> Result<Json<Vec<PlanRow>>, Failure> {
    let id = session_id(&session)?;
    parameters.finish()?;
    context
        .answer(move |library| {
            let logs = library.logs_of(id)?;
            Ok(library.plans(PlanScope::Logs(logs), &|_, _| {}).rows)
        })
        .await
        .map(Json)
}

pub(super) async fn files(
    State(context): State<Context>,
    Path(session): Path<String>,
    parameters: Parameters,
) -> Result<Json<Vec<FileRow>>, Failure> {
    let id = session_id(&session)?;
    parameters.finish()?;
    let work = move |library: &Library| Ok(recto_view::files(&*library.read_any(id, None)?));
    context.answer(work).await.map(Json)
}

pub(super) async fn health(
    State(context): State<Context>,
    Path(session): Path<String>,
    parameters: Parameters,
) -> Result<Json<HealthRow>, Failure> {
    let id = session_id(&session)?;
    parameters.finish()?;
    context.answer(move |library| library.health(id)).await.map(Json)
}

/// A text of a log: never anything but text to a browser.
fn text(text: String) -> Response<Body> {
    content(StatusCode::OK, "text/plain; charset=utf-8", text)
}
