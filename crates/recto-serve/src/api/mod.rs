//! The API: `/api/v1/…`, JSON. `openapi.json` describes it, and a test holds
//! that it does.

mod edits;
mod export;
mod home;
mod insights;
mod marks;
mod media;
mod session;
mod team;

use axum::Router;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use axum::routing::MethodRouter;
use axum::routing::get;
use axum::routing::post;
use jiff::Timestamp;
use recto_log::AgentId;
use recto_store::Filter;
use recto_view::SessionName;

use crate::answer::Failure;
use crate::answer::content;
use crate::context::Context;
use crate::events;
use crate::parameters::Parameters;

pub(crate) use edits::is_edit;

pub(crate) fn routes() -> Router<Context> {
    let add = |router: Router<Context>, (path, route)| router.route(path, route);
    table().into_iter().fold(Router::new(), add)
}

/// All addresses below `/api`, as the description names them.
fn table() -> Vec<(&'static str, MethodRouter<Context>)> {
    vec![
        ("/openapi.json", get(description)),
        ("/v1/overview", get(home::overview)),
        ("/v1/sessions", get(home::sessions)),
        ("/v1/sessions/{session}", get(session::session)),
        ("/v1/sessions/{session}/turns", get(session::turns)),
        ("/v1/sessions/{session}/lines/{line}", get(session::line)),
        ("/v1/sessions/{session}/results/{call}", get(session::result)),
        ("/v1/sessions/{session}/media/{line}/{number}", get(media::media)),
        ("/v1/sessions/{session}/find", get(session::find)),
        ("/v1/sessions/{session}/agents/{agent}/find", get(session::find)),
        ("/v1/sessions/{session}/marks", post(marks::mark)),
        ("/v1/searches", post(marks::save_search)),
        ("/v1/marks", get(marks::all)),
        ("/v1/sessions/{session}/agents", get(session::agents)),
        ("/v1/sessions/{session}/agents/{agent}/turns", get(session::turns)),
        ("/v1/sessions/{session}/agents/{agent}/lines/{line}", get(session::line)),
        ("/v1/sessions/{session}/agents/{agent}/results/{call}", get(session::result)),
        ("/v1/sessions/{session}/agents/{agent}/media/{line}/{number}", get(media::media)),
        ("/v1/sessions/{session}/agents/{agent}/stats", get(session::stats)),
        ("/v1/sessions/{session}/plans", get(session::plans)),
        ("/v1/sessions/{session}/files", get(session::files)),
        ("/v1/sessions/{session}/health", get(session::health)),
        ("/v1/sessions/{session}/stats", get(session::stats)),
        ("/v1/sessions/{session}/costs", get(session::costs)),
        ("/v1/sessions/{session}/export", get(export::export)),
        ("/v1/search", get(home::search)),
        ("/v1/status", get(home::status)),
        ("/v1/usage", get(home::usage)),
        ("/v1/insights/activity", get(insights::activity)),
        ("/v1/insights/quality", get(insights::quality)),
        ("/v1/insights/cache", get(insights::cache)),
        ("/v1/insights/context", get(insights::growth)),
        ("/v1/plans", get(home::plans)),
        ("/v1/team", get(team::team)),
        ("/v1/events", get(events::events)),
        ("/v1/operations", get(edits::operations)),
        ("/v1/sessions/{session}/title", post(edits::rename)),
        ("/v1/sessions/{session}/restore", post(edits::restore)),
        ("/v1/sessions/{session}/fork", post(edits::fork)),
        ("/v1/undo", post(edits::undo)),
    ]
}

/// What describes the API.
const DESCRIPTION: &str = include_str!("../../openapi.json");

async fn description() -> impl IntoResponse {
    content(StatusCode::OK, "application/json", DESCRIPTION)
}

/// A session's name out of an address. What is no name means no session.
fn session_id(text: &str) -> Result<SessionName, Failure> {
    text.parse().map_err(|_| Failure::not_found("no session has this id"))
}

fn agent_id(text: &str) -> Result<AgentId, Failure> {
    text.parse().map_err(|_| Failure::not_found("the session has no such subagent"))
}

/// The filters that lists share. A project is compared, and never looked up.
fn filter(context: &Context, parameters: &mut Parameters) -> Result<Filter, Failure> {
    let mut time = |name: &str| -> Result<Option<Timestamp>, Failure> {
        parameters
            .text(name)
            .map(|text| context.library.typed_time(&text))
            .transpose()
            .map_err(Failure::from)
    };
    let (since, until) = (time("since")?, time("until")?);
    Ok(Filter {
        since,
        until,
        project: parameters.text("project"),
        model: parameters.text("model"),
        branch: parameters.text("branch"),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_address_is_described_and_every_description_is_of_an_address() {
        let description: serde_json::Value = serde_json::from_str(DESCRIPTION).unwrap();
        let described = description["paths"].as_object().unwrap().keys().cloned();
        let described: BTreeSet<String> = described.collect();
        let served: BTreeSet<String> =
            table().into_iter().map(|(path, _)| format!("/api{path}")).collect();
        assert_eq!(described, served);
    }
}
