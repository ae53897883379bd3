//! When to ask again, and how long to wait before.

use std::time::Duration;

use reqwest::header::HeaderMap;

use super::ApiError;
use super::Unreachable;
use crate::wire::StreamError;

/// How often and how long to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// How often to ask again at most.
    pub most: u32,
    /// How often to ask again when the endpoint says, time after time, that it is overloaded.
    pub most_overloaded: u32,
    /// Whether to ask again when the key was refused, as clients do whose keys come from a helper.
    pub after_refused_key: bool,
    /// How often to ask again when the endpoint calls the request wrong: each time without one
    /// of its betas. Where it is not found, once in one piece.
    pub after_refused_request: u32,
    /// The first wait; it doubles each time.
    pub first_wait: Duration,
    /// The longest wait of our own.
    pub longest_wait: Duration,
    /// The longest wait that an endpoint may ask for.
    pub longest_asked_wait: Duration,
}

impl Default for Retries {
    fn default() -> Retries {
        Retries {
            most: 10,
            most_overloaded: 3,
            after_refused_key: false,
            after_refused_request: 0,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(8),
            longest_asked_wait: Duration::from_secs(60),
        }
    }
}

/// What the headers of an error say about trying again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Advice {
    /// `x-should-retry`.
    pub(crate) should_retry: Option<bool>,
    /// `retry-after-ms` or `retry-after`.
    pub(crate) wait: Option<Duration>,
}

impl Advice {
    pub(crate) fn of(headers: &HeaderMap) -> Advice {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let seconds = |text: &str, unit: f64| {
            let number = text.trim().parse::<f64>().ok()? * unit;
            Duration::try_from_secs_f64(number).ok()
        };
        let should_retry = match text("x-should-retry") {
            Some("true") => Some(true),
            Some("false") => Some(false),
            _ => None,
        };
        let wait = text("retry-after-ms")
            .and_then(|text| seconds(text, 0.001))
            .or_else(|| seconds(text("retry-after")?, 1.0))
            .or_else(|| until(text("retry-after")?));
        Advice { should_retry, wait }
    }
}

/// The time until a date such as `Wed, 21 Oct 2026 07:28:00 GMT`.
fn until(date: &str) -> Option<Duration> {
    let then = jiff::fmt::rfc2822::parse(date).ok()?.timestamp();
    let seconds = then.as_second().saturating_sub(jiff::Timestamp::now().as_second());
    Some(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

/// Counts the attempts of one exchange.
#[derive(Debug)]
pub(crate) struct Counter {
    retries: Retries,
    pub(crate) attempts: u32,
    overloaded: u32,
}

/// What to do after an attempt failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Retry(Duration),
    GiveUp,
    /// The endpoint asks to wait too long.
    TooLong(Duration),
}

impl Counter {
    pub(crate) fn new(retries: Retries) -> Counter {
        Counter { retries, attempts: 0, overloaded: 0 }
    }

    /// Decides after attempt number `attempts`.
    pub(crate) fn decide(&mut self, error: &ApiError, advice: Advice) -> Decision {
        let is_overloaded = error.status() == Some(529) || error.kind() == "overloaded_error";
        self.overloaded = if is_overloaded { self.overloaded + 1 } else { 0 };
        let is_refused_key = self.retries.after_refused_key && error.status() == Some(401);
        let is_worth_it =
            advice.should_retry.unwrap_or_else(|| is_passing(error) || is_refused_key);
        if !is_worth_it
            || self.attempts > self.retries.most
            || self.overloaded > self.retries.most_overloaded
        {
            return Decision::GiveUp;
        }
        match advice.wait {
            Some(wait) if wait > self.retries.longest_asked_wait => Decision::TooLong(wait),
            Some(wait) => Decision::Retry(wait),
            None => Decision::Retry(self.wait()),
        }
    }

    /// Twice as long each time, and up to a quarter less, so that clients that failed together
    /// do not come back together.
    fn wait(&self) -> Duration {
        let doublings = self.attempts.saturating_sub(1).min(16);
        let wait = self.retries.first_wait.saturating_mul(1 << doublings);
        let wait = wait.min(self.retries.longest_wait);
        let random = f64::from(u32::from_le_bytes(random_bytes())) / f64::from(u32::MAX);
        wait.mul_f64(1.0 - 0.25 * random)
    }
}

fn random_bytes() -> [u8; 4] {
    let [a, b, c, d, ..] = *uuid::Uuid::new_v4().as_bytes();
    [a, b, c, d]
}

impl ApiError {
    /// Whether it may be gone next time.
    pub(crate) fn is_passing(&self) -> bool {
        is_passing(self)
    }
}

fn is_passing(error: &ApiError) -> bool {
    match error {
        ApiError::Status { status, .. } => {
            matches!(status, 408 | 409 | 429) || (500..600).contains(status)
        }
        ApiError::Timeout { .. } => true,
        ApiError::Unreachable { why, .. } => match why {
            Unreachable::UnknownHost
            | Unreachable::Refused
            | Unreachable::Cut
            | Unreachable::Slow
            | Unreachable::Other(_) => true,
            Unreachable::Certificate | Unreachable::Tls => false,
        },
        ApiError::Stream { error, .. } => match error {
            StreamError::Reported(error) => matches!(
                error.kind.as_str(),
                "overloaded_error" | "api_error" | "rate_limit_error" | "timeout_error" | ""
            ),
            StreamError::Truncated | StreamError::NotJson | StreamError::OutOfOrder(_) => true,
            StreamError::EventTooLarge(_) | StreamError::AnswerTooLarge => false,
        },
        ApiError::NotTheApi { .. } => true,
        ApiError::NoKey
        | ApiError::BadKey
        | ApiError::KeyCommand { .. }
        | ApiError::BadAddress { .. }
        | ApiError::BadHeader { .. }
        | ApiError::BadSetting { .. }
        | ApiError::WaitTooLong { .. } => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::ErrorBody;

    fn status(status: u16) -> ApiError {
        ApiError::Status { status, error: ErrorBody::default(), retry_after: None }
    }

    fn advice(pairs: &[(&'static str, &str)]) -> Advice {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.insert(*name, value.parse().unwrap());
        }
        Advice::of(&headers)
    }

    #[test]
    fn headers_say_whether_and_when() {
        assert_eq!(advice(&[]), Advice::default());
        let wait = |pairs: &[(&'static str, &str)]| advice(pairs).wait;
        assert_eq!(wait(&[("retry-after", "2")]), Some(Duration::from_secs(2)));
        assert_eq!(
            wait(&[("retry-after", "2"), ("retry-after-ms", "1500")]),
            Some(Duration::from_millis(1500))
        );
        assert_eq!(wait(&[("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")]), Some(Duration::ZERO));
        for nonsense in ["-1", "NaN", "soon", "1e400"] {
            assert_eq!(wait(&[("retry-after", nonsense)]), None, "{nonsense}");
        }
        assert_eq!(advice(&[("x-should-retry", "false")]).should_retry, Some(false));
    }

    #[test]
    fn what_passes_is_tried_again_and_nothing_for_ever() {
        let mut retried = Vec::new();
        for number in [400, 401, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 529] {
            let mut counter = Counter::new(Retries::default());
            counter.attempts = 1;
            if let Decision::Retry(_) = counter.decide(&status(number), Advice::default()) {
                retried.push(number);
            }
        }
        assert_eq!(retried, [408, 409, 429, 500, 502, 503, 529]);
        let count = |number| {
            let mut counter = Counter::new(Retries::default());
            loop {
                counter.attempts += 1;
                if counter.decide(&status(number), Advice::default()) == Decision::GiveUp {
                    return counter.attempts;
                }
            }
        };
        assert_eq!((count(500), count(529)), (11, 4));
    }

    #[test]
    fn waits_double_within_their_bounds_and_the_endpoint_may_ask_for_others() {
        let mut counter = Counter::new(Retries::default());
        for (attempts, most) in [(1, 500), (2, 1000), (5, 8000), (10, 8000)] {
            counter.attempts = attempts;
            let Decision::Retry(wait) = counter.decide(&status(500), Advice::default()) else {
                panic!()
            };
            let most = Duration::from_millis(most);
            assert!(wait <= most && wait >= most.mul_f64(0.75), "{attempts}: {wait:?}");
        }
        let asked =
            |seconds| Advice { wait: Some(Duration::from_secs(seconds)), should_retry: None };
        assert_eq!(counter.decide(&status(429), asked(7)), Decision::Retry(Duration::from_secs(7)));
        assert_eq!(
            counter.decide(&status(429), asked(3600)),
            Decision::TooLong(Duration::from_secs(3600))
        );
        let no = Advice { should_retry: Some(false), wait: None };
        assert_eq!(counter.decide(&status(500), no), Decision::GiveUp);
        let yes = Advice { should_retry: Some(true), wait: None };
        assert!(matches!(counter.decide(&status(400), yes), Decision::Retry(_)));
    }
}
