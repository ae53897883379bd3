//! What tests of this folder share.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use recto_agent::api::ApiEvent;
use recto_agent::api::Client;
use recto_agent::api::Credential;
use recto_agent::api::Endpoint;
use recto_agent::api::Failure;
use recto_agent::mock::Mock;
use recto_agent::mock::MockOptions;
use recto_agent::mock::Script;
use recto_agent::wire::Answer;
use recto_agent::wire::Block;
use recto_agent::wire::Message;
use recto_agent::wire::Request;

/// A mock with a script, which keeps what it is asked.
pub(crate) fn mock_of(script: &str) -> Mock {
    let script = Script::parse(script).unwrap();
    Mock::start(MockOptions { script: Some(script), keep: 1000, ..MockOptions::default() }).unwrap()
}

/// An endpoint that waits for nothing longer than a moment.
pub(crate) fn endpoint_of(base: &str) -> Endpoint {
    let mut endpoint = Endpoint::new(base, Credential::api_key("sk-test").unwrap()).unwrap();
    endpoint.retries.first_wait = Duration::from_millis(1);
    endpoint.retries.longest_wait = Duration::from_millis(4);
    endpoint.timeouts.response = Duration::from_secs(2);
    endpoint.timeouts.idle = Duration::from_millis(700);
    endpoint
}

pub(crate) fn client_of(mock: &Mock) -> Client {
    Client::new(endpoint_of(&mock.base_url())).unwrap()
}

pub(crate) fn hello() -> Request {
    let mut request = Request::new("claude-opus-5-5", 100);
    request.messages.push(Message::user([Block::text("hello")]));
    request
}

pub(crate) fn wait<T>(work: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap().block_on(work)
}

/// The answer to a request, or why there is none.
pub(crate) fn ask(client: &Client, request: Request) -> Result<Answer, Failure> {
    wait(async { client.send(request).answer().await })
}

/// Everything that happens until an exchange is over.
pub(crate) fn events_of(
    client: &Client,
    request: Request,
) -> (Vec<ApiEvent>, Result<Answer, Failure>) {
    wait(async {
        let mut exchange = client.send(request);
        let mut events = Vec::new();
        loop {
            match exchange.next().await {
                Some(Ok(ApiEvent::Answer(answer))) => {
                    assert!(exchange.next().await.is_none(), "something follows the answer");
                    return (events, Ok(*answer));
                }
                Some(Ok(event)) => events.push(event),
                Some(Err(failure)) => return (events, Err(failure)),
                None => panic!("an exchange ended without an end"),
            }
        }
    })
}

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// The fixtures, and what `RECTO_CORPUS` names.
pub(crate) fn corpora() -> Vec<PathBuf> {
    let other = std::env::var_os("RECTO_CORPUS").map(PathBuf::from);
    [fixtures().join("corpus")].into_iter().chain(other).collect()
}

/// The files below a folder whose name ends in some way.
pub(crate) fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(end) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The logs of sessions and subagents in a corpus.
pub(crate) fn logs(corpus: &Path) -> Vec<PathBuf> {
    let mut logs = files(corpus, ".jsonl");
    logs.retain(|path| path.components().any(|part| part.as_os_str() == "projects"));
    logs
}
