//! What every answer needs.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

use axum::http::StatusCode;
use recto_view::Asker;
use recto_view::Library;
use recto_view::ViewError;
use tokio::sync::Semaphore;

use crate::answer::Failure;
use crate::asking::ask;
use crate::events::Hub;
use crate::team::Team;
use crate::team::TeamState;

/// What every answer needs. Cheap to clone: it is shared by all requests.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    shared: Arc<Shared>,
    /// Whether the client still waits for the answer.
    pub(crate) asker: Asker,
}

#[derive(Debug)]
pub(crate) struct Shared {
    /// Answers questions about the home.
    pub(crate) library: Library,
    /// The home, if a client that is started like any other would use another one.
    pub(crate) home_to_name: Option<PathBuf>,
    /// Whether anything may be changed.
    pub(crate) allows_edits: bool,
    /// The store of a team, if there is one.
    pub(crate) team: Option<Team>,
    /// What has happened.
    pub(crate) hub: Hub,
    /// Whether something was worked on since memory was given back.
    pub(crate) has_worked: AtomicBool,
    /// How many documents may still be made at once.
    pub(crate) exports: Arc<Semaphore>,
}

impl Context {
    pub(crate) fn new(shared: Shared) -> Context {
        Context { shared: Arc::new(shared), asker: Asker::default() }
    }

    /// Refuses unless the user has allowed that something is changed.
    pub(crate) fn check_edits(&self) -> Result<(), Failure> {
        if self.allows_edits {
            return Ok(());
        }
        let message = "this server is read-only";
        Err(Failure::new(StatusCode::FORBIDDEN, "edits-not-allowed", message)
            .with_hint("start it with `recto serve --allow-edits` to allow changes"))
    }

    /// What is known of the team.
    pub(crate) async fn team(&self) -> Result<TeamState, Failure> {
        let Some(team) = self.team.clone() else {
            let failure = Failure::not_found("this server has no team store");
            return Err(failure.with_hint("start it with `recto serve --store URL` to show one"));
        };
        self.work(move |_| Ok(team.look())).await
    }

    /// Answers a question about the home without blocking other requests.
    pub(crate) async fn answer<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Library) -> Result<T, ViewError> + Send + 'static,
    ) -> Result<T, Failure> {
        self.work(|context| Ok(question(&context.library)?)).await
    }

    /// Does what reads files or computes where it keeps nobody waiting.
    pub(crate) async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Context) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let shared = self.shared.clone();
        self.has_worked.store(true, Ordering::Relaxed);
        match ask(move |asker| work(&Context { shared, asker })).await {
            Ok(result) => result,
            // A panic in a request is the request's; the others go on.
            Err(_) => Err(Failure::internal("the work failed")),
        }
    }
}

impl std::ops::Deref for Context {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}
