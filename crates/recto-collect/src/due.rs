//! When new bytes are sent: when there are many, when they are old, or when their session is over.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use recto_log::SessionId;
use recto_store::Announcements;

use crate::report::SendOptions;

/// The last lines of a session can be archived this long after its client has left: the whole home
/// is looked at every two minutes for changes that the system did not report.
const GRACE: Duration = Duration::from_secs(300);

/// Which sessions run, and which have ended while somebody looked.
#[derive(Debug, Default)]
pub(crate) struct Endings {
    /// Sessions with a client, and its process.
    running: HashMap<SessionId, u32>,
    ended: HashMap<SessionId, Timestamp>,
}

impl Endings {
    /// Compares the clients of now with those of the last look.
    ///
    /// A session without a client proves nothing by itself, because old clients do not announce
    /// themselves: only one that was seen running can end.
    pub(crate) fn look(&mut self, now: Timestamp, every: Duration, clients: &Announcements) {
        let mut running: HashMap<SessionId, u32> = HashMap::new();
        for client in &clients.clients {
            // The process of a client elsewhere cannot be seen; its announcement is all there is.
            if client.alive || client.elsewhere {
                running.insert(client.session, client.pid);
            }
        }
        for (session, pid) in std::mem::take(&mut self.running) {
            if running.contains_key(&session) {
                continue;
            }
            // A client that is rewriting its announcement has not left.
            match clients.unreadable.iter().any(|one| one.pid == pid) {
                true => running.insert(session, pid).map_or((), drop),
                false => self.ended.insert(session, now).map_or((), drop),
            }
        }
        // After so long their lines are sent because of their age.
        let is_recent =
            |at: Timestamp| now.duration_since(at).unsigned_abs() <= every.saturating_add(GRACE);
        self.ended.retain(|session, at| !running.contains_key(session) && is_recent(*at));
        self.running = running;
    }

    /// When a session has ended, if it has.
    pub(crate) fn of(&self, session: SessionId) -> Option<Timestamp> {
        self.ended.get(&session).copied()
    }
}

/// Whether bytes that were archived at a time are sent now.
pub(crate) fn is_due(
    options: &SendOptions,
    bytes: u64,
    since: Timestamp,
    ended: Option<Timestamp>,
) -> bool {
    let age = (options.clock)().duration_since(since);
    options.all
        || bytes >= options.at_least
        || age.unsigned_abs() >= options.every
        || ended.is_some_and(|at| since.duration_since(at) <= GRACE.try_into().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use recto_store::LiveSession;
    use recto_store::UnreadableClient;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn session(number: u8) -> SessionId {
        format!("00000000-0000-4000-8000-0000000000{number:02}").parse().unwrap()
    }

    fn client(pid: u32, number: u8) -> LiveSession {
        LiveSession {
            pid,
            session: session(number),
            alive: true,
            elsewhere: false,
            cwd: None,
            version: None,
            status: None,
            waiting_for: None,
            kind: None,
            entrypoint: None,
            status_since: None,
            started: None,
        }
    }

    fn seen(clients: &[LiveSession], unreadable: &[u32]) -> Announcements {
        let unreadable = unreadable.iter();
        let unreadable =
            unreadable.map(|pid| UnreadableClient { pid: *pid, path: "x".into() }).collect();
        Announcements { clients: clients.to_vec(), unreadable }
    }

    #[test]
    fn a_session_ends_when_its_client_leaves_and_not_before() {
        let time = |second: i64| Timestamp::from_second(1_800_000_000 + second).unwrap();
        let mut endings = Endings::default();
        let dead = LiveSession { alive: false, ..client(3, 3) };
        endings.look(time(0), HOUR, &seen(&[client(1, 1), client(2, 2), dead.clone()], &[]));
        // Caught while it is written; and a client that died before anyone looked.
        endings.look(time(1), HOUR, &seen(&[client(2, 2), dead], &[1]));
        assert_eq!([1, 2, 3].map(|number| endings.of(session(number))), [None; 3]);
        // The first leaves, the second begins another session.
        endings.look(time(2), HOUR, &seen(&[client(2, 4)], &[]));
        assert_eq!(endings.of(session(1)), Some(time(2)));
        assert_eq!(endings.of(session(2)), Some(time(2)));
        assert_eq!(endings.of(session(4)), None);
        // The first is resumed; the second is forgotten when its lines are old.
        endings.look(time(3), HOUR, &seen(&[client(2, 4), client(5, 1)], &[]));
        assert_eq!(endings.of(session(1)), None);
        assert_eq!(endings.of(session(2)), Some(time(2)));
        endings.look(time(4000), HOUR, &seen(&[client(2, 4), client(5, 1)], &[]));
        assert_eq!(endings.of(session(2)), None);
        // Killed: its announcement stays.
        let killed = LiveSession { alive: false, ..client(5, 1) };
        endings.look(time(4001), HOUR, &seen(&[killed], &[]));
        assert_eq!(endings.of(session(1)), Some(time(4001)));
    }
}
