//! What can go wrong on command.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// One fault. Spelled `NAME`, `NAME:NUMBER`, with options after commas: `429,retry-after=2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An error response.
    Status {
        /// The HTTP status.
        status: u16,
        /// `retry-after`, in seconds.
        retry_after: Option<u32>,
        /// `retry-after-ms`.
        retry_after_ms: Option<u32>,
        /// `x-should-retry`.
        should_retry: Option<bool>,
    },
    /// Nothing for a while.
    SlowStart(Duration),
    /// A pause before every few bytes.
    SlowBytes(Duration),
    /// Pieces of so many bytes.
    Chunks(usize),
    /// The connection ends after so many bytes of the body.
    CutByte(usize),
    /// The connection ends after so many events.
    CutEvent(usize),
    /// An `error` event after so many events.
    ErrorEvent {
        /// How many events come before it.
        after: usize,
        /// The type of the error.
        kind: String,
    },
    /// Bytes that are not an answer.
    Garbage,
    /// An answer that says that it is a web page.
    WrongType,
    /// Silence after so many events.
    Hang(usize),
    /// The connection is reset.
    Reset,
}

/// The spellings, with what they do.
pub const FAULTS: [(&str, &str); 11] = [
    ("400 … 599", "that status; options retry-after=S, retry-after-ms=MS, should-retry=true|false"),
    ("slow-start:MS", "a late first byte"),
    ("slow-bytes:MS", "a pause before every 16 bytes"),
    ("chunks:N", "pieces of N bytes (1 if not given)"),
    ("cut-byte:N", "the connection ends after N bytes of the body"),
    ("cut-event:N", "the connection ends after N events"),
    ("error-event:N", "an error event after N events; option type=overloaded_error"),
    ("garbage", "bytes that are not an answer"),
    ("wrong-type", "content type text/html"),
    ("hang:N", "silence after N events"),
    ("reset", "the connection is reset"),
];

/// A fault that is not spelled as one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown fault `{spelling}`: {why}")]
pub struct BadFault {
    /// What was given.
    pub spelling: String,
    /// What is wrong with it.
    pub why: &'static str,
}

impl FromStr for Fault {
    type Err = BadFault;

    fn from_str(text: &str) -> Result<Fault, BadFault> {
        let bad = |why: &'static str| BadFault { spelling: text.to_owned(), why };
        let mut words = text.split(',').map(str::trim);
        let head = words.next().unwrap_or_default();
        let options: Vec<(&str, &str)> = words
            .map(|word| word.split_once('=').ok_or_else(|| bad("options are name=value")))
            .collect::<Result<_, _>>()?;
        let (name, number) = match head.split_once(':') {
            Some((name, number)) => {
                let number = number.parse::<u32>().map_err(|_| bad("not a number after `:`"))?;
                (name, Some(number))
            }
            None => (head, None),
        };
        let known: &[&str] = match name {
            "error-event" => &["type"],
            _ if name.starts_with(|first: char| first.is_ascii_digit()) => {
                &["retry-after", "retry-after-ms", "should-retry"]
            }
            _ => &[],
        };
        if options.iter().any(|(name, _)| !known.contains(name)) {
            return Err(bad("an option that this fault does not have"));
        }
        let needed = || number.ok_or_else(|| bad("a number is missing, such as `cut-event:3`"));
        let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
        let time = |number: u32| Duration::from_millis(u64::from(number));
        Ok(match name {
            "slow-start" => Fault::SlowStart(time(needed()?)),
            "slow-bytes" => Fault::SlowBytes(time(needed()?)),
            "chunks" => Fault::Chunks(count(number.unwrap_or(1)).max(1)),
            "cut-byte" => Fault::CutByte(count(needed()?)),
            "cut-event" => Fault::CutEvent(count(needed()?)),
            "error-event" => {
                let kind = options.first().map_or("overloaded_error", |(_, kind)| kind);
                Fault::ErrorEvent { after: count(needed()?), kind: kind.to_owned() }
            }
            "garbage" => Fault::Garbage,
            "wrong-type" => Fault::WrongType,
            "hang" => Fault::Hang(count(number.unwrap_or(0))),
            "reset" => Fault::Reset,
            _ => {
                let status = name.parse::<u16>().map_err(|_| bad("there is no such fault"))?;
                if !(400..600).contains(&status) {
                    return Err(bad("a status is from 400 to 599"));
                }
                let option = |wanted: &str| options.iter().find(|(name, _)| *name == wanted);
                let seconds = |wanted: &str| match option(wanted) {
                    None => Ok(None),
                    Some((_, value)) => {
                        value.parse::<u32>().map(Some).map_err(|_| bad("not a number after `=`"))
                    }
                };
                let should_retry = match option("should-retry") {
                    None => None,
                    Some((_, "true")) => Some(true),
                    Some((_, "false")) => Some(false),
                    Some(_) => return Err(bad("should-retry is true or false")),
                };
                Fault::Status {
                    status,
                    retry_after: seconds("retry-after")?,
                    retry_after_ms: seconds("retry-after-ms")?,
                    should_retry,
                }
            }
        })
    }
}

/// The type and the words that the API gives with a status.
pub(super) fn error_of(status: u16) -> (&'static str, &'static str) {
    match status {
        401 => ("authentication_error", "invalid x-api-key"),
        402 => ("billing_error", "Your credit balance is too low to access the API."),
        403 => (
            "permission_error",
            "Your API key does not have permission to use the specified resource.",
        ),
        404 => ("not_found_error", "The requested resource could not be found."),
        413 => ("request_too_large", "Request exceeds the maximum size"),
        429 => (
            "rate_limit_error",
            "This request would exceed your organization's rate limit. Please try again later.",
        ),
        504 => ("timeout_error", "The request timed out."),
        529 => ("overloaded_error", "Overloaded"),
        500..=599 => ("api_error", "Internal server error"),
        _ => ("invalid_request_error", "This refusal was requested from the mock."),
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Status { status, .. } => write!(f, "{status}"),
            Fault::SlowStart(time) => write!(f, "slow-start:{}", time.as_millis()),
            Fault::SlowBytes(time) => write!(f, "slow-bytes:{}", time.as_millis()),
            Fault::Chunks(bytes) => write!(f, "chunks:{bytes}"),
            Fault::CutByte(bytes) => write!(f, "cut-byte:{bytes}"),
            Fault::CutEvent(events) => write!(f, "cut-event:{events}"),
            Fault::ErrorEvent { after, kind } => write!(f, "error-event:{after},type={kind}"),
            Fault::Garbage => f.write_str("garbage"),
            Fault::WrongType => f.write_str("wrong-type"),
            Fault::Hang(events) => write!(f, "hang:{events}"),
            Fault::Reset => f.write_str("reset"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_spelled_as_they_are_shown() {
        for text in [
            "529",
            "slow-start:5",
            "slow-bytes:1",
            "chunks:1",
            "cut-byte:0",
            "cut-event:3",
            "error-event:2,type=api_error",
            "garbage",
            "wrong-type",
            "hang:0",
            "reset",
        ] {
            assert_eq!(text.parse::<Fault>().unwrap().to_string(), text);
        }
        let full = "429,retry-after=2,should-retry=false".parse::<Fault>().unwrap();
        assert_eq!(
            full,
            Fault::Status {
                status: 429,
                retry_after: Some(2),
                retry_after_ms: None,
                should_retry: Some(false)
            }
        );
        for text in [
            "",
            "boom",
            "200",
            "600",
            "cut-byte",
            "cut-byte:x",
            "reset,a=b",
            "429,x",
            "429,a=1",
            "429,retry-after=soon",
            "cut-byte:-1",
            "99999999999",
        ] {
            assert!(text.parse::<Fault>().is_err(), "{text}");
        }
    }
}
