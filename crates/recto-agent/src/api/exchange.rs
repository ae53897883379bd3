//! One request, asked until it is answered or cannot be.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::Adaptation;
use super::ApiError;
use super::Client;
use super::Failure;
use super::attempt;
use super::attempt::Attempt;
use super::retry::Counter;
use super::retry::Decision;
use crate::wire::Answer;
use crate::wire::FinishedBlock;
use crate::wire::Request;
use crate::wire::StreamError;
use crate::wire::StreamEvent;

/// How many events wait for a slow reader.
const WAITING: usize = 64;

/// How many streams may be cut before the answer is asked for in one piece.
const CUT_STREAMS: u32 = 2;

/// What happens during an exchange.
#[derive(Clone, PartialEq, Debug)]
pub enum ApiEvent {
    /// The request was changed because the endpoint does not accept all of it. Told once for
    /// each client.
    Adapted(Adaptation),
    /// The endpoint began to answer.
    Connected {
        /// The number of the attempt, from 1.
        attempt: u32,
        /// The id by which the endpoint knows it.
        request_id: Option<String>,
    },
    /// An event of the stream. Deltas are for those who watch.
    Stream(StreamEvent),
    /// A block is whole; it stays only if the answer comes.
    Block {
        /// Its number.
        index: u64,
        /// The block.
        block: FinishedBlock,
    },
    /// An attempt failed, another one follows. Everything since [`ApiEvent::Connected`] is void.
    Retry {
        /// The number of the attempt that failed, from 1.
        attempt: u32,
        /// How many may follow the first one.
        most: u32,
        /// How long until the next one.
        wait: Duration,
        /// Why.
        error: ApiError,
    },
    /// Streams were cut again and again: the answer is asked for in one piece. Everything since
    /// [`ApiEvent::Connected`] is void.
    Whole,
    /// The answer. Nothing follows.
    Answer(Box<Answer>),
}

/// A running exchange. Dropping it ends it.
#[derive(Debug)]
pub struct Exchange {
    events: mpsc::Receiver<Result<ApiEvent, Failure>>,
    task: JoinHandle<()>,
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Exchange {
    pub(crate) fn start(client: Client, request: Request) -> Exchange {
        let (sender, events) = mpsc::channel(WAITING);
        let task = tokio::spawn(async move {
            let end = match run(&client, request, &sender).await {
                Ok(answer) => Ok(ApiEvent::Answer(Box::new(answer))),
                Err(failure) => Err(failure),
            };
            // Nobody listens any more: then nobody needs to know.
            let _ = sender.send(end).await;
        });
        Exchange { events, task }
    }

    /// The next event; none after the answer or the failure. Safe to drop and to call again.
    pub async fn next(&mut self) -> Option<Result<ApiEvent, Failure>> {
        self.events.recv().await
    }

    /// Waits for the answer.
    pub async fn answer(mut self) -> Result<Answer, Failure> {
        while let Some(event) = self.next().await {
            if let ApiEvent::Answer(answer) = event? {
                return Ok(*answer);
            }
        }
        let host = String::new();
        Err(Failure {
            error: ApiError::Stream { host, error: StreamError::Truncated },
            attempts: 0,
            request_id: None,
            partial: Vec::new(),
        })
    }
}

/// Whether nothing that a request can leave out would help.
fn says_what_is_wrong(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["prompt is too long", "credit balance is too low"].iter().any(|words| message.contains(words))
}

async fn run(
    client: &Client,
    mut request: Request,
    events: &mpsc::Sender<Result<ApiEvent, Failure>>,
) -> Result<Answer, Failure> {
    for adaptation in client.adapt(&mut request) {
        let _ = events.send(Ok(ApiEvent::Adapted(adaptation))).await;
    }
    let mut counter = Counter::new(client.endpoint().retries);
    let (mut cut_streams, mut has_new_key, mut refused) = (0, false, 0);
    loop {
        counter.attempts += 1;
        let failed = match attempt::send(client, &request, counter.attempts, events).await {
            Ok(answer) => return Ok(answer),
            Err(failed) => failed,
        };
        let attempts = counter.attempts;
        let Attempt { error, advice, request_id, partial } = failed;
        let failure = |error| Failure { error, attempts, request_id, partial: Vec::new() };
        match &error {
            // What is whole is paid for. Asking for all of it again is for the caller to decide.
            ApiError::Stream { error: StreamError::Reported(_), .. } if !partial.is_empty() => {
                return Err(Failure { partial, ..failure(error) });
            }
            ApiError::Stream { error: StreamError::Reported(_) | StreamError::NotJson, .. }
            | ApiError::NotTheApi { .. }
                if !request.stream =>
            {
                return Err(failure(error));
            }
            ApiError::Stream { error: StreamError::Reported(_) | StreamError::NotJson, .. }
            | ApiError::NotTheApi { .. } => cut_streams = CUT_STREAMS,
            ApiError::Stream { .. } => cut_streams += 1,
            ApiError::Status { status: 401, .. } if client.has_key_command() && !has_new_key => {
                has_new_key = true;
                client.forget_key().await;
                continue;
            }
            ApiError::Status { status: 404, .. }
                if request.stream && client.endpoint().retries.after_refused_request > 0 =>
            {
                request.stream = false;
                continue;
            }
            ApiError::Status { status: 400 | 422, error: said, .. }
                if refused < client.endpoint().retries.after_refused_request
                    && !says_what_is_wrong(&said.message) =>
            {
                refused += 1;
                request.betas.pop();
                continue;
            }
            _ => {}
        }
        let wait = match counter.decide(&error, advice) {
            Decision::Retry(wait) => wait,
            // The last try is for the answer as a whole.
            Decision::GiveUp
                if request.stream
                    && cut_streams > 0
                    && client.endpoint().retries.after_refused_request > 0 =>
            {
                request.stream = false;
                let _ = events.send(Ok(ApiEvent::Whole)).await;
                continue;
            }
            Decision::GiveUp => return Err(failure(error)),
            Decision::TooLong(wait) => {
                return Err(failure(match error {
                    ApiError::Status { status, error, .. } => {
                        ApiError::WaitTooLong { status, error, wait }
                    }
                    error => error,
                }));
            }
        };
        let most = client.endpoint().retries.most;
        let event = ApiEvent::Retry { attempt: attempts, most, wait, error };
        let _ = events.send(Ok(event)).await;
        tokio::time::sleep(wait).await;
        request.stream = request.stream && cut_streams < CUT_STREAMS;
    }
}
