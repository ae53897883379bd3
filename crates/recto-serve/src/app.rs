//! One request, from the guard to the answer.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Method;
use axum::http::Request;
use axum::http::Response;
use axum::http::StatusCode;
use axum::http::header;
use axum::response::IntoResponse;
use tower_service::Service;

use crate::answer::Failure;
use crate::api;
use crate::assets;
use crate::context::Context;
use crate::guard::Guard;
use crate::guard::Refusal;
use crate::guard::dress;
use crate::guard::dress_page;
use crate::pages;
use crate::pages::layout::HAS_TEAM;

/// How long an answer may take to begin.
const LONGEST_ANSWER: Duration = Duration::from_secs(60);

/// Everything that answers.
#[derive(Debug, Clone)]
pub(crate) struct App {
    guard: Arc<Guard>,
    router: Router,
    has_team: bool,
}

impl App {
    pub(crate) fn new(guard: Guard, context: Context) -> App {
        let has_team = context.team.is_some();
        let router = Router::new()
            .merge(pages::routes())
            .nest("/api", api::routes())
            .nest("/assets", assets::routes())
            .fallback(not_found)
            .with_state(context);
        App { guard: Arc::new(guard), router, has_team }
    }

    pub(crate) fn guard(&self) -> &Guard {
        &self.guard
    }

    /// The app as it is for connections to an address of this machine.
    pub(crate) fn at(&self, local: SocketAddr) -> App {
        let guard = Guard {
            token: self.guard.token.clone(),
            hosts: self.guard.hosts.with_local(local),
            codes: self.guard.codes.clone(),
            cookie: self.guard.cookie.clone(),
        };
        App { guard: Arc::new(guard), router: self.router.clone(), has_team: self.has_team }
    }

    /// Answers a request. Nothing reaches a route but through here.
    pub(crate) async fn answer(&self, request: Request<Body>) -> Response<Body> {
        if let Err(refusal) = self.guard.check(&request) {
            let refused = self.guard.refuse(refusal);
            return if wants_page(&request) { dress_page(refused).await } else { dress(refused) };
        }
        if request.uri().path() == "/login" {
            // Programs that look where a link leads must not use the code up.
            if request.method() != Method::GET {
                return dress(self.guard.refuse(Refusal::Method { allowed: "GET" }));
            }
            return dress(self.guard.login(&request));
        }
        let wants_page = wants_page(&request);
        // What only reads has no body; one that comes with it is not looked at.
        let is_posted = request.method() == Method::POST;
        let request = if is_posted { request } else { request.map(|_| Body::empty()) };
        let answer = HAS_TEAM.scope(self.has_team, self.router.clone().call(request));
        let answer = match tokio::time::timeout(LONGEST_ANSWER, answer).await {
            Ok(answer) => answer.unwrap_or_else(|never: Infallible| match never {}),
            Err(_) => {
                let message = "the answer timed out";
                Failure::new(StatusCode::SERVICE_UNAVAILABLE, "timeout", message).into_response()
            }
        };
        match answer.extensions().get::<Failure>() {
            Some(failure) if wants_page => {
                dress(HAS_TEAM.sync_scope(self.has_team, || pages::failure(failure)))
            }
            _ => dress(answer),
        }
    }
}

/// Whether somebody looks at the answer: a browser that opens an address asks for
/// HTML, scripts and programs do not.
fn wants_page(request: &Request<Body>) -> bool {
    let path = request.uri().path();
    let is_page = !path.starts_with("/api/") && !path.starts_with("/assets/");
    let mut accepted = request.headers().get_all(header::ACCEPT).into_iter();
    let accepts = accepted.any(|types| types.to_str().is_ok_and(|text| text.contains("text/html")));
    is_page && accepts
}

async fn not_found() -> Failure {
    Failure::not_found("nothing is at this address")
}
