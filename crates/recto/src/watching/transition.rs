//! Changes of status: numbered, and which of them lasted.
//!
//! A session that is not found any more has not changed: its log has become old. It has
//! ended if it is said to be gone.

use std::collections::HashMap;
use std::collections::HashSet;

use jiff::SignedDuration;
use jiff::Timestamp;
use recto_log::SessionId;
use recto_session::status::Confidence;
use recto_session::status::StatusKind;
use recto_store::SessionStatus;
use recto_view::Moment;
use recto_view::StatusRow;
use serde::Serialize;

use super::source::Sight;

/// A status must last this long before somebody is told: what is over in a moment
/// needs nobody.
pub(super) const LASTING: SignedDuration = SignedDuration::from_secs(2);

/// A session has another status than before.
#[derive(Debug, Clone)]
pub(super) struct Event {
    /// One more than that of the event before.
    pub(super) sequence: u64,
    /// When it was seen.
    pub(super) time: Timestamp,
    /// The status before; none for a session that was not seen before.
    pub(super) from: Option<StatusKind>,
    /// The session as it is now.
    pub(super) session: SessionStatus,
}

impl Event {
    pub(super) fn to(&self) -> StatusKind {
        self.session.status.kind
    }

    pub(super) fn row(&self) -> EventRow {
        EventRow {
            sequence: self.sequence,
            time: Moment(self.time),
            from: self.from.map(StatusKind::name),
            to: self.to().name(),
            session: StatusRow::of(&self.session),
        }
    }
}

/// An event, for programs.
#[derive(Debug, Serialize)]
pub(super) struct EventRow {
    sequence: u64,
    time: Moment,
    from: Option<&'static str>,
    to: &'static str,
    #[serde(flatten)]
    session: StatusRow,
}

/// Makes events of what is found again and again.
#[derive(Default)]
pub(super) struct Transitions {
    known: HashMap<SessionId, SessionStatus>,
    sequence: u64,
}

impl Transitions {
    pub(super) fn see(&mut self, sight: &Sight, now: Timestamp) -> Vec<Event> {
        let (mut events, mut told) = (Vec::new(), HashSet::new());
        for one in &sight.found {
            // A session can have a log in two projects: the one that needs somebody counts.
            if !told.insert(one.id) {
                continue;
            }
            let before = self.known.insert(one.id, one.clone()).map(|known| known.status.kind);
            if before != Some(one.status.kind) {
                events.push((before, one.clone()));
            }
        }
        for id in &sight.gone {
            let Some(mut one) = self.known.remove(id) else { continue };
            let before = one.status.kind;
            if before == StatusKind::Ended {
                continue;
            }
            end(&mut one, now);
            events.push((Some(before), one));
        }
        let events = events.into_iter().map(|(from, session)| {
            self.sequence += 1;
            Event { sequence: self.sequence, time: now, from, session }
        });
        events.collect()
    }
}

/// Makes a session one that is gone.
pub(crate) fn end(one: &mut SessionStatus, now: Timestamp) {
    one.status.kind = StatusKind::Ended;
    one.status.since = Some(now);
    one.status.confidence = Confidence::Medium;
    one.status.why = vec!["its log no longer exists, and no client is running".into()];
    (one.status.pending, one.status.current, one.status.changes_at) = (None, None, None);
    one.status.running.clear();
}

/// Holds events back until their status has lasted.
pub(super) struct Lasting {
    wanted: Vec<StatusKind>,
    waiting: HashMap<SessionId, Event>,
    /// The last status of each session that lasted.
    lasted: HashMap<SessionId, StatusKind>,
    /// Whether it is known how things were at the start.
    has_started: bool,
}

impl Lasting {
    pub(super) fn new(wanted: Vec<StatusKind>) -> Lasting {
        Lasting { wanted, waiting: HashMap::new(), lasted: HashMap::new(), has_started: false }
    }

    pub(super) fn take(&mut self, events: &[Event], now: Timestamp) {
        for event in events {
            let id = event.session.id;
            // How things were at the start is no news, nor is the log of a session that
            // nobody saw at work, such as a copy.
            let is_over =
                matches!(event.to(), StatusKind::Idle | StatusKind::Ended | StatusKind::Unknown);
            if event.from.is_none() && (!self.has_started || is_over) {
                self.lasted.insert(id, event.to());
            } else {
                self.waiting.insert(id, Event { time: now, ..event.clone() });
            }
        }
        self.has_started = true;
    }

    /// The events that somebody is told now.
    pub(super) fn due(&mut self, now: Timestamp) -> Vec<Event> {
        let is_due = |event: &Event| now.duration_since(event.time) >= LASTING;
        let mut due: Vec<Event> =
            self.waiting.values().filter(|event| is_due(event)).cloned().collect();
        due.sort_by_key(|event| event.sequence);
        due.retain(|event| {
            let (id, to) = (event.session.id, event.to());
            self.waiting.remove(&id);
            // What was left for a moment only, and came back, was told already.
            self.lasted.insert(id, to) != Some(to) && self.wanted.contains(&to)
        });
        due
    }
}
