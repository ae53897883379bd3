//! Which sessions the client will delete, and when.

use jiff::SignedDuration;
use jiff::Timestamp;

use crate::CleanupSetting;
use crate::SessionFile;

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

    /// When the client may delete a session, at its next start after that.
    pub fn deletes_at(&self, session: &SessionFile) -> Timestamp {
        session.modified.checked_add(self.period).unwrap_or(Timestamp::MAX)
    }

    /// Whether a session will be deleted within `days` from `now`.
    pub fn is_due(&self, session: &SessionFile, now: Timestamp, days: u64) -> bool {
        let span = SignedDuration::from_hours(24 * i64::try_from(days).unwrap_or(0));
        self.deletes_at(session) <= now.checked_add(span).unwrap_or(Timestamp::MAX)
    }
}

#[cfg(test)]
mod tests {
    use crate::Scope;

    use super::*;

    #[test]
    fn a_session_is_due_by_its_last_change() {
        let now: Timestamp = "2026-11-16T00:00:00Z".parse().unwrap();
        let session = |days: i64| SessionFile {
            id: "3f2a1b4c-9d8e-4f70-a1b2-c3d4e5f60718".parse().unwrap(),
            project: 0,
            path: "x".into(),
            bytes: 1,
            modified: now - SignedDuration::from_hours(24 * days),
            stamp: Default::default(),
        };
        let retention =
            Retention::new(&CleanupSetting { days: 30, scope: Scope::Default, path: None });
        assert!(retention.is_due(&session(40), now, 7));
        assert!(retention.is_due(&session(24), now, 7));
        assert!(!retention.is_due(&session(22), now, 7));
        let never =
            Retention::new(&CleanupSetting { days: u64::MAX, scope: Scope::User, path: None });
        assert!(!never.is_due(&session(400), now, 7));
    }
}
