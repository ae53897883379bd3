//! What others see of this process in the home: which session it works on, and whether it works
//! or waits for the user.

use std::sync::Mutex;

use jiff::Timestamp;
use recto_store::Home;
use recto_store::append::Activity;
use recto_store::append::Announcement;
use recto_store::append::ClientState;

use super::shared::lock;

/// The announcement of a session. A session works without one; others just do not see it.
#[derive(Debug, Default)]
pub(super) struct Presence(Mutex<Option<(Announcement, ClientState)>>);

impl Presence {
    pub(super) fn begin(&self, home: &Home, state: ClientState) {
        *lock(&self.0) = Announcement::new(home, &state).ok().map(|made| (made, state));
    }

    /// The session or what it does is another.
    pub(super) fn show(&self, state: ClientState) {
        if let Some((announcement, shown)) = lock(&self.0).as_mut() {
            let _ = announcement.update(&state);
            *shown = state;
        }
    }

    /// The same session does something else.
    pub(super) fn does(&self, activity: Activity) {
        let shown = lock(&self.0).as_ref().map(|(_, shown)| shown.clone());
        if let Some(shown) = shown {
            self.show(ClientState { activity, since: Timestamp::now(), ..shown });
        }
    }

    pub(super) fn end(&self) {
        if let Some((announcement, _)) = lock(&self.0).take() {
            let _ = announcement.finish();
        }
    }
}
