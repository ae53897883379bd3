//! One attempt: a request goes out, bytes come in.

use std::time::Duration;

use reqwest::Response;
use reqwest::header::CONTENT_TYPE;
use reqwest::header::HeaderMap;
use tokio::sync::mpsc;

use super::ApiError;
use super::ApiEvent;
use super::Client;
use super::Failure;
use super::retry::Advice;
use crate::wire::Accumulator;
use crate::wire::Answer;
use crate::wire::ErrorBody;
use crate::wire::FinishedBlock;
use crate::wire::Json;
use crate::wire::MOST_ANSWER_BYTES;
use crate::wire::Progress;
use crate::wire::Request;
use crate::wire::SseParser;
use crate::wire::StreamError;
use crate::wire::StreamEvent;

/// The most bytes of an error that are read.
const MOST_ERROR_BYTES: usize = 1 << 20;

/// An attempt that failed.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) error: ApiError,
    pub(super) advice: Advice,
    pub(super) request_id: Option<String>,
    /// The blocks that were whole.
    pub(super) partial: Vec<FinishedBlock>,
}

impl From<ApiError> for Attempt {
    fn from(error: ApiError) -> Attempt {
        Attempt { error, advice: Advice::default(), request_id: None, partial: Vec::new() }
    }
}

type Events = mpsc::Sender<Result<ApiEvent, Failure>>;

/// Asks once.
pub(super) async fn send(
    client: &Client,
    request: &Request,
    number: u32,
    events: &Events,
) -> Result<Answer, Attempt> {
    let response = client.post("/v1/messages", request.body(), &request.betas).await?;
    let request_id = request_id(response.headers());
    let known = |error: Attempt| Attempt { request_id: request_id.clone(), ..error };
    if !response.status().is_success() {
        return Err(known(refusal(client, response).await));
    }
    let connected = ApiEvent::Connected { attempt: number, request_id: request_id.clone() };
    let _ = events.send(Ok(connected)).await;
    let kind = content_type(response.headers());
    let answer = match kind.as_str() {
        "text/event-stream" => stream(client, response, events).await.map_err(known)?,
        // Also what an endpoint gives that cannot stream.
        "application/json" => whole(client, response).await.map_err(|error| known(error.into()))?,
        _ => {
            let error = ApiError::NotTheApi { host: client.endpoint().host(), kind };
            return Err(known(error.into()));
        }
    };
    Ok(Answer { request_id, ..answer })
}

/// The type without its parameters, in lower case.
fn content_type(headers: &HeaderMap) -> String {
    let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn request_id(headers: &HeaderMap) -> Option<String> {
    let value = headers.get("request-id").or_else(|| headers.get("x-request-id"))?;
    value.to_str().ok().map(str::to_owned)
}

/// Reads an error response, whatever its shape.
pub(super) async fn refusal(client: &Client, response: Response) -> Attempt {
    let status = response.status().as_u16();
    let advice = Advice::of(response.headers());
    let id = request_id(response.headers());
    let body = read(client, response, MOST_ERROR_BYTES).await.unwrap_or_default();
    let error = match Json::parse(body.clone()) {
        Ok(json) => match ErrorBody::of(&json) {
            error if error.message.is_empty() && error.kind.is_empty() => {
                ErrorBody { message: first_line(&body), ..error }
            }
            error => error,
        },
        // A page of a proxy, mostly. Its first line says as much as all of it.
        Err(_) => ErrorBody { message: first_line(&body), ..ErrorBody::default() },
    };
    let request_id = error.request_id.clone().or(id);
    let error = ApiError::Status { status, error, retry_after: advice.wait };
    Attempt { error, advice, request_id, partial: Vec::new() }
}

/// The beginning of what an endpoint says that has not the shape of an error.
fn first_line(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    text.lines().next().unwrap_or_default().chars().take(200).collect()
}

/// Reads a body up to a limit.
pub(super) async fn read(
    client: &Client,
    mut response: Response,
    most: usize,
) -> Result<Vec<u8>, ApiError> {
    let mut body = Vec::new();
    while let Some(bytes) = next_bytes(client, &mut response).await? {
        if body.len() + bytes.len() > most {
            let error = StreamError::AnswerTooLarge;
            return Err(ApiError::Stream { host: client.endpoint().host(), error });
        }
        body.extend_from_slice(&bytes);
    }
    Ok(body)
}

/// The next bytes of a body; none at its end.
async fn next_bytes(
    client: &Client,
    response: &mut Response,
) -> Result<Option<bytes::Bytes>, ApiError> {
    let host = || client.endpoint().host();
    let idle: Duration = client.endpoint().timeouts.idle;
    match tokio::time::timeout(idle, response.chunk()).await {
        Err(_) => Err(ApiError::Timeout { host: host(), after: idle }),
        Ok(Err(error)) if error.is_timeout() => {
            Err(ApiError::Timeout { host: host(), after: idle })
        }
        // However the connection ended, what came is not all.
        Ok(Err(_)) => Err(ApiError::Stream { host: host(), error: StreamError::Truncated }),
        Ok(Ok(bytes)) => Ok(bytes),
    }
}

async fn whole(client: &Client, response: Response) -> Result<Answer, ApiError> {
    let host = client.endpoint().host();
    let body = read(client, response, MOST_ANSWER_BYTES).await?;
    let stream = |error| ApiError::Stream { host: host.clone(), error };
    let message = Json::parse(body).map_err(|_| stream(StreamError::NotJson))?;
    match message.str("type").as_deref() {
        Some("message") => Ok(Answer::of(message)),
        Some("error") => Err(stream(StreamError::Reported(ErrorBody::of(&message)))),
        _ => {
            let kind = "application/json".to_owned();
            Err(ApiError::NotTheApi { host, kind })
        }
    }
}

async fn stream(
    client: &Client,
    mut response: Response,
    events: &Events,
) -> Result<Answer, Attempt> {
    let mut parser = SseParser::default();
    let mut accumulator = Accumulator::default();
    let failed = |error: ApiError, accumulator: &Accumulator| Attempt {
        partial: accumulator.finished().cloned().collect(),
        ..error.into()
    };
    let host = client.endpoint().host();
    let of_stream = |error| ApiError::Stream { host: host.clone(), error };
    loop {
        let bytes = match next_bytes(client, &mut response).await {
            Ok(Some(bytes)) => bytes,
            Ok(None) => {
                let end = accumulator.end();
                return end.map_err(|error| failed(of_stream(error), &accumulator));
            }
            Err(error) => {
                // The connection may break after all was said.
                return accumulator.end().map_err(|_| failed(error, &accumulator));
            }
        };
        let mut parsed = Vec::new();
        let pushed = parser.push(&bytes, |frame| {
            // How some endpoints say that a stream is over.
            if frame.data != b"[DONE]" {
                parsed.push(StreamEvent::parse(frame.data).map_err(|_| StreamError::NotJson));
            }
        });
        for event in parsed {
            let progress = event.and_then(|event| {
                let progress = accumulator.push(&event)?;
                Ok((event, progress))
            });
            let (event, progress) =
                progress.map_err(|error| failed(of_stream(error), &accumulator))?;
            let _ = events.send(Ok(ApiEvent::Stream(event))).await;
            match progress {
                Progress::Going => {}
                Progress::Block { index, block } => {
                    let _ = events.send(Ok(ApiEvent::Block { index, block })).await;
                }
                Progress::Done(answer) => return Ok(*answer),
            }
        }
        pushed.map_err(|error| failed(of_stream(error.into()), &accumulator))?;
    }
}
