//! Why there is no answer, in words that say what to do.

use std::error::Error;
use std::io;
use std::time::Duration;

use crate::wire::ErrorBody;
use crate::wire::FinishedBlock;
use crate::wire::StreamError;

/// What went wrong.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApiError {
    /// No key was given.
    #[error("no API key")]
    NoKey,
    /// The key cannot be sent.
    #[error("the API key contains characters that cannot be sent")]
    BadKey,
    /// The command that gives the key failed.
    #[error("the command that prints the API key failed: {why}")]
    KeyCommand {
        /// What happened.
        why: String,
    },
    /// The base address is not one.
    #[error("invalid endpoint address: {why}")]
    BadAddress {
        /// What is wrong with it.
        why: String,
    },
    /// A header cannot be sent.
    #[error("the header `{name}` cannot be sent")]
    BadHeader {
        /// Its name.
        name: String,
    },
    /// Certificates or the proxy cannot be used.
    #[error("cannot use {what}")]
    BadSetting {
        /// Which of them.
        what: &'static str,
    },
    /// The endpoint was not reached.
    #[error("cannot reach {host}: {why}")]
    Unreachable {
        /// Host and port.
        host: String,
        /// Why.
        why: Unreachable,
    },
    /// The endpoint did not answer in time.
    #[error("{host} has not answered for {} s", after.as_secs())]
    Timeout {
        /// Host and port.
        host: String,
        /// How long was waited.
        after: Duration,
    },
    /// The endpoint refused.
    #[error("{}", refused(*status, error))]
    Status {
        /// The HTTP status.
        status: u16,
        /// What it said.
        error: ErrorBody,
        /// How long it asks to wait.
        retry_after: Option<Duration>,
    },
    /// The endpoint asks to wait longer than this client does.
    #[error("{} The endpoint asks you to wait {} s.", refused(*status, error), wait.as_secs())]
    WaitTooLong {
        /// The HTTP status.
        status: u16,
        /// What it said.
        error: ErrorBody,
        /// How long it asks to wait.
        wait: Duration,
    },
    /// What came is not an answer of this API.
    #[error("{host} sent `{kind}` instead of a Messages API answer")]
    NotTheApi {
        /// Host and port.
        host: String,
        /// The content type.
        kind: String,
    },
    /// The stream failed.
    #[error("the stream from {host} failed: {error}")]
    Stream {
        /// Host and port.
        host: String,
        /// How.
        error: StreamError,
    },
}

/// Why an endpoint was not reached.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unreachable {
    /// There is no such host.
    #[error("unknown host")]
    UnknownHost,
    /// Nobody listens there.
    #[error("connection refused")]
    Refused,
    /// The certificate is not trusted.
    #[error("its certificate is not trusted")]
    Certificate,
    /// It does not speak TLS, or not as we do.
    #[error("it does not accept encrypted connections")]
    Tls,
    /// The connection was cut.
    #[error("the connection dropped")]
    Cut,
    /// No connection in time.
    #[error("the connection timed out")]
    Slow,
    /// Something else.
    #[error("{0}")]
    Other(String),
}

fn refused(status: u16, error: &ErrorBody) -> String {
    let kind = if error.kind.is_empty() { String::new() } else { format!(" {}", error.kind) };
    let words = if error.message.is_empty() { "no reason given" } else { &error.message };
    format!("the endpoint answered {status}{kind}: {words}")
}

impl ApiError {
    /// A stable name.
    pub fn name(&self) -> &'static str {
        match self {
            ApiError::NoKey => "no-key",
            ApiError::BadKey => "bad-key",
            ApiError::KeyCommand { .. } => "key-command",
            ApiError::BadAddress { .. } => "bad-address",
            ApiError::BadHeader { .. } => "bad-header",
            ApiError::BadSetting { .. } => "bad-setting",
            ApiError::Unreachable { why: Unreachable::Certificate | Unreachable::Tls, .. } => "tls",
            ApiError::Unreachable { .. } => "unreachable",
            ApiError::Timeout { .. } => "timeout",
            ApiError::NotTheApi { .. } => "not-the-api",
            ApiError::Stream { error: StreamError::Truncated, .. } => "truncated",
            ApiError::Stream { .. } => "bad-stream",
            ApiError::WaitTooLong { .. } => "rate-limited",
            ApiError::Status { status, .. } => match status {
                400 => "invalid-request",
                401 => "unauthenticated",
                402 => "billing",
                403 => "forbidden",
                404 => "not-found",
                413 => "request-too-large",
                429 => "rate-limited",
                529 => "overloaded",
                _ => "endpoint-failed",
            },
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            ApiError::NoKey => "set ANTHROPIC_API_KEY, or ANTHROPIC_AUTH_TOKEN for a bearer token",
            ApiError::BadKey => "check the variable or command that provides the key",
            ApiError::KeyCommand { .. } => "run the command yourself: it must print the key alone",
            ApiError::BadAddress { .. } => "addresses look like https://api.anthropic.com",
            ApiError::Unreachable { why, .. } => match why {
                Unreachable::UnknownHost => "check the spelling of the address and the network",
                Unreachable::Refused => {
                    "start the endpoint, or check its port and the proxy settings"
                }
                Unreachable::Certificate => "pass its certificate authority with --ca FILE",
                Unreachable::Tls => "use http:// if the endpoint does not encrypt",
                Unreachable::Cut | Unreachable::Slow | Unreachable::Other(_) => {
                    "check the network and the proxy settings"
                }
            },
            ApiError::Timeout { .. } => "try again, or check whether the endpoint is overloaded",
            ApiError::NotTheApi { .. } => "check the address: the path /v1/messages is added to it",
            ApiError::WaitTooLong { .. } => "try again then",
            ApiError::Status { status, .. } => match status {
                401 => "check the API key",
                403 => "check the API key's permissions",
                404 => "check the address and the model name",
                407 => "check the proxy's user name and password",
                413 => "shorten the conversation with `recto trim`",
                429 => "try again later, or use another key",
                500..=599 => "try again later",
                _ => return None,
            },
            ApiError::BadHeader { .. } | ApiError::BadSetting { .. } | ApiError::Stream { .. } => {
                return None;
            }
        };
        Some(text.to_owned())
    }

    /// The HTTP status, if there was one.
    pub fn status(&self) -> Option<u16> {
        match self {
            ApiError::Status { status, .. } | ApiError::WaitTooLong { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// The error type of the API, such as `overloaded_error`, or our own name.
    pub fn kind(&self) -> String {
        match self {
            ApiError::Status { error, .. }
            | ApiError::WaitTooLong { error, .. }
            | ApiError::Stream { error: StreamError::Reported(error), .. }
                if !error.kind.is_empty() =>
            {
                error.kind.clone()
            }
            _ => self.name().to_owned(),
        }
    }

    /// Sorts an error of the HTTP library, whose own words may contain addresses.
    pub(crate) fn of_http(error: &reqwest::Error, host: &str, waited: Duration) -> ApiError {
        let host = host.to_owned();
        if error.is_timeout() && !error.is_connect() {
            return ApiError::Timeout { host, after: waited };
        }
        ApiError::Unreachable { host, why: why(error) }
    }
}

fn why(error: &reqwest::Error) -> Unreachable {
    if error.is_timeout() {
        return Unreachable::Slow;
    }
    let mut innermost = String::new();
    let mut next: Option<&(dyn Error + 'static)> = error.source();
    while let Some(source) = next {
        let text = source.to_string();
        if text.contains("certificate") {
            return Unreachable::Certificate;
        }
        if text.contains("corrupt message") || text.contains("handshake") {
            return Unreachable::Tls;
        }
        if text.contains("dns error") || text.contains("failed to lookup") {
            return Unreachable::UnknownHost;
        }
        match source.downcast_ref::<io::Error>().map(io::Error::kind) {
            Some(io::ErrorKind::ConnectionRefused) => return Unreachable::Refused,
            Some(
                io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::UnexpectedEof,
            ) => return Unreachable::Cut,
            _ => {}
        }
        if text.contains("before message completed") || text.contains("connection closed") {
            return Unreachable::Cut;
        }
        innermost = text;
        next = source.source();
    }
    if innermost.is_empty() { Unreachable::Cut } else { Unreachable::Other(innermost) }
}

/// An exchange that failed for good.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{error}")]
pub struct Failure {
    /// What went wrong last.
    pub error: ApiError,
    /// How often the endpoint was asked.
    pub attempts: u32,
    /// The id by which the endpoint knows the last attempt.
    pub request_id: Option<String>,
    /// The blocks that were whole when an error came in the middle of a stream. They were not
    /// asked for again: whoever wants to keep them goes on from there.
    pub partial: Vec<FinishedBlock>,
}
