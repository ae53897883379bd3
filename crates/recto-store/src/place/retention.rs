//! Which sessions the client will delete, and when.

use jiff::SignedDuration;
use jiff::Timestamp;

use crate::CleanupSetting;

/// When the client deletes logs, by a setting.
#[derive(Debug, Clone, Copy)]
pub struct Retention {
    period: SignedDuration,
}

impl Retention {
    /// By this setting.
    pub fn new(setting: &CleanupSetting) -> Retention {
        let days = i64::try_from(setting.days).unwrap_or(i64::MAX).min(100_000);
        Retention { period: SignedDuration::from_hours(24 * days) }
    }

    /// When the client may delete a session that was written last then, at its next start
    /// after that.
    pub fn deletes_at(&self, modified: Timestamp) -> Timestamp {
        modified.checked_add(self.period).unwrap_or(Timestamp::MAX)
    }

    /// Whether a session that was written last then will be deleted within `days` from `now`.
    pub fn is_due(&self, modified: Timestamp, now: Timestamp, days: u64) -> bool {
        let span = SignedDuration::from_hours(24 * i64::try_from(days).unwrap_or(0));
        self.deletes_at(modified) <= now.checked_add(span).unwrap_or(Timestamp::MAX)
    }
}

#[cfg(test)]
mod tests {
    use crate::Scope;

    use super::*;

    #[test]
    fn a_session_is_due_by_its_last_change() {
        let now: Timestamp = "2026-11-16T00:00:00Z".parse().unwrap();
        let before = |days: i64| now - SignedDuration::from_hours(24 * days);
        let retention =
            Retention::new(&CleanupSetting { days: 30, scope: Scope::Default, path: None });
        assert!(retention.is_due(before(40), now, 7));
        assert!(retention.is_due(before(24), now, 7));
        assert!(!retention.is_due(before(22), now, 7));
        let never =
            Retention::new(&CleanupSetting { days: u64::MAX, scope: Scope::User, path: None });
        assert!(!never.is_due(before(400), now, 7));
    }
}
