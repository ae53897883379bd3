//! One-time codes. An address ends up in the history of a browser and in the
//! list of processes (`--open`), so it must be worth nothing after its first use.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::time::Duration;
use std::time::Instant;

use crate::guard::Token;

/// How long a code can be used.
const LIFETIME: Duration = Duration::from_secs(600);

/// How many codes can be open at once.
const MOST: usize = 8;

/// The codes that were given out and not used.
#[derive(Debug, Clone, Default)]
pub(crate) struct Codes(Arc<Mutex<Vec<(Token, Instant)>>>);

impl Codes {
    /// A new code.
    pub(crate) fn issue(&self) -> String {
        self.issue_until(Instant::now() + LIFETIME)
    }

    fn issue_until(&self, end: Instant) -> String {
        let code = Token::random();
        let text = code.text().to_owned();
        let mut open = self.open();
        if open.len() == MOST {
            open.remove(0);
        }
        open.push((code, end));
        text
    }

    /// Whether a code can be used. It stays so.
    pub(crate) fn is_open(&self, given: &str) -> bool {
        let now = Instant::now();
        self.open().iter().any(|(code, end)| *end > now && code.is(given))
    }

    /// Uses a code up. `false` if it is not one, was used, or is too old.
    pub(crate) fn redeem(&self, given: &str) -> bool {
        let mut open = self.open();
        let now = Instant::now();
        open.retain(|(_, end)| *end > now);
        let before = open.len();
        open.retain(|(code, _)| !code.is(given));
        open.len() < before
    }

    fn open(&self) -> MutexGuard<'_, Vec<(Token, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_works_once_and_not_too_late() {
        let codes = Codes::default();
        let (one, other) = (codes.issue(), codes.issue());
        assert!(!codes.redeem("nothing"));
        assert!(codes.redeem(&one));
        assert!(!codes.redeem(&one));
        assert!(codes.redeem(&other));
        let late = codes.issue_until(Instant::now());
        assert!(!codes.redeem(&late));
        let first = codes.issue();
        for _ in 0..MOST {
            codes.issue();
        }
        assert!(!codes.redeem(&first), "the oldest makes room");
    }
}
