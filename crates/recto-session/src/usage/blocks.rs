//! Windows of five hours, by which subscriptions are limited.

use jiff::SignedDuration;
use jiff::Timestamp;

use super::Money;

/// How long a window is, in seconds.
const WINDOW_SECONDS: i64 = 5 * 3600;

/// A window of five hours. It begins with the hour of its first message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BillingBlock {
    /// When it begins.
    pub start: Timestamp,
    /// When it ends.
    pub end: Timestamp,
    /// The first message.
    pub first: Timestamp,
    /// The last message.
    pub last: Timestamp,
}

/// How fast a window is used up, and what it comes to if that goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Projection {
    /// Tokens a minute.
    pub tokens_per_minute: u64,
    /// Money an hour, where it is known.
    pub cost_per_hour: Option<Money>,
    /// Tokens at the end.
    pub tokens: u64,
    /// Money at the end, where it is known.
    pub cost: Option<Money>,
    /// Minutes until the end.
    pub minutes_left: u64,
}

/// The windows of messages at these times, oldest first.
pub(crate) fn billing_blocks(mut times: Vec<Timestamp>) -> Vec<BillingBlock> {
    times.sort_unstable();
    let mut blocks: Vec<BillingBlock> = Vec::new();
    for time in times {
        match blocks.last_mut() {
            Some(block) if time < block.end => block.last = time,
            _ => {
                let seconds = time.as_second();
                let hour = seconds - seconds.rem_euclid(3600);
                let start = Timestamp::from_second(hour).unwrap_or(time);
                let window = SignedDuration::from_secs(WINDOW_SECONDS);
                let end = start.saturating_add(window).unwrap_or(Timestamp::MAX);
                blocks.push(BillingBlock { start, end, first: time, last: time });
            }
        }
    }
    blocks
}

impl BillingBlock {
    /// Whether the window is open now.
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.start <= now && now < self.end
    }

    /// How fast it is used up, from its first message until now.
    pub fn projection(
        &self,
        now: Timestamp,
        tokens: u64,
        cost: Option<Money>,
    ) -> Option<Projection> {
        if !self.is_active(now) {
            return None;
        }
        let passed = now.duration_since(self.first).as_secs().max(60).unsigned_abs();
        let left = self.end.duration_since(now).as_secs().max(0).unsigned_abs();
        let more = |amount: u128, seconds: u64| amount * u128::from(seconds) / u128::from(passed);
        let tokens_in =
            |seconds| u64::try_from(more(u128::from(tokens), seconds)).unwrap_or(u64::MAX);
        let money_in = |seconds| cost.map(|cost| Money::from_pico(more(cost.pico(), seconds)));
        Some(Projection {
            tokens_per_minute: tokens_in(60),
            cost_per_hour: money_in(3600),
            tokens: tokens.saturating_add(tokens_in(left)),
            cost: cost.zip(money_in(left)).map(|(cost, more)| cost.plus(more)),
            minutes_left: left.div_ceil(60),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_window_begins_with_the_hour_and_lasts_five() {
        let times = ["2026-11-03T09:40:00Z", "2026-11-03T13:59:59Z", "2026-11-03T14:00:00Z"];
        let blocks = billing_blocks(times.map(at).to_vec());
        let starts: Vec<String> = blocks.iter().map(|block| block.start.to_string()).collect();
        assert_eq!(starts, ["2026-11-03T09:00:00Z", "2026-11-03T14:00:00Z"]);
        assert_eq!(blocks[0].last, at("2026-11-03T13:59:59Z"));
        assert!(billing_blocks(Vec::new()).is_empty());
    }

    #[test]
    fn the_rate_of_an_open_window_is_carried_on_to_its_end() {
        let block = billing_blocks(vec![at("2026-11-03T09:30:00Z")])[0];
        let cost = Some(Money::from_pico(6_000_000_000_000));
        let projection = block.projection(at("2026-11-03T11:30:00Z"), 1200, cost).unwrap();
        assert_eq!((projection.tokens_per_minute, projection.minutes_left), (10, 150));
        assert_eq!(projection.tokens, 2700);
        assert_eq!(projection.cost_per_hour.unwrap().to_string(), "3.00");
        assert_eq!(projection.cost.unwrap().to_string(), "13.50");
        assert_eq!(block.projection(at("2026-11-03T14:00:00Z"), 1200, cost), None);
    }
}
