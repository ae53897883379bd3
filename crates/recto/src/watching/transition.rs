//! Changes of status: numbered, and which of them lasted.

use std::collections::HashMap;

use jiff::SignedDuration;
use jiff::Timestamp;
use recto_log::SessionId;
use recto_log::json::ObjectWriter;
use recto_session::status::Confidence;
use recto_session::status::StatusKind;
use recto_store::SessionStatus;

use crate::status_view;

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

    pub(super) fn json(&self) -> ObjectWriter {
        let head = ObjectWriter::new()
            .number("sequence", self.sequence)
            .string("time", &format!("{:.3}", self.time))
            .string_or_null("from", self.from.map(StatusKind::name))
            .string("to", self.to().name());
        status_view::json(head, &self.session)
    }
}

/// Makes events of what is found again and again.
#[derive(Default)]
pub(super) struct Transitions {
    known: HashMap<SessionId, SessionStatus>,
    sequence: u64,
}

impl Transitions {
    pub(super) fn see(&mut self, found: &[SessionStatus], now: Timestamp) -> Vec<Event> {
        let mut events = Vec::new();
        for one in found {
            let before = self.known.insert(one.id, one.clone()).map(|known| known.status.kind);
            if before != Some(one.status.kind) {
                events.push((before, one.clone()));
            }
        }
        let mut gone: Vec<SessionId> = self.known.keys().copied().collect();
        gone.retain(|id| !found.iter().any(|one| one.id == *id));
        gone.sort();
        for id in gone {
            let Some(mut one) = self.known.remove(&id) else { continue };
            let before = one.status.kind;
            if before == StatusKind::Ended {
                continue;
            }
            one.status.kind = StatusKind::Ended;
            one.status.since = Some(now);
            one.status.confidence = Confidence::Low;
            one.status.why = vec!["no client runs, and its log is old or gone".into()];
            (one.status.pending, one.status.current, one.status.changes_at) = (None, None, None);
            one.status.running.clear();
            events.push((Some(before), one));
        }
        let events = events.into_iter().map(|(from, session)| {
            self.sequence += 1;
            Event { sequence: self.sequence, time: now, from, session }
        });
        events.collect()
    }
}

/// Holds events back until their status has lasted.
pub(super) struct Lasting {
    wanted: Vec<StatusKind>,
    waiting: HashMap<SessionId, Event>,
    /// The last status of each session that lasted.
    lasted: HashMap<SessionId, StatusKind>,
}

impl Lasting {
    pub(super) fn new(wanted: Vec<StatusKind>) -> Lasting {
        Lasting { wanted, waiting: HashMap::new(), lasted: HashMap::new() }
    }

    pub(super) fn take(&mut self, events: &[Event], now: Timestamp) {
        for event in events {
            let id = event.session.id;
            if event.from.is_none() {
                // How things were at the start is no news.
                self.lasted.insert(id, event.to());
            } else {
                self.waiting.insert(id, Event { time: now, ..event.clone() });
            }
        }
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
