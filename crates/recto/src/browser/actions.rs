//! What a person can do with a session beside reading it.

use std::sync::Arc;

use super::message::Effect;
use super::message::Entry;
use super::message::Errand;
use super::overlay::Overlay;
use super::state::Browser;
use crate::terminal::output::Look;

impl Browser {
    fn warn(&mut self, text: impl Into<String>) {
        self.notice = Some((text.into(), Look::Warning));
    }

    /// Offers what can be copied. What a turn says must be read first.
    pub(super) fn copy(&mut self, entries: Vec<Arc<Entry>>, turn: Option<u32>) {
        let ticket = self.ticket();
        if let ([entry], Some(turn)) = (entries.as_slice(), turn) {
            let entry = entry.clone();
            self.push(Effect::Errand(Errand::Clips { ticket, entry, turn }));
        }
        self.overlay = Some(Overlay::Copy { entries, ticket, clips: Vec::new(), chosen: 0 });
    }

    /// Why a session cannot be edited, if that is known without looking.
    fn refuses_edit(entry: &Entry) -> Option<&'static str> {
        if entry.log.is_agent() {
            return Some("a subagent cannot be changed on its own, only with its session");
        }
        if entry.log.is_archived() {
            return Some("the session is only in the archive; r restores it");
        }
        entry.live.map(|_| "the session is open in another program; change it there")
    }

    pub(super) fn rename(&mut self, entry: Arc<Entry>) {
        match Browser::refuses_edit(&entry) {
            Some(why) => self.warn(why),
            None => {
                let typed = entry.title.clone();
                self.overlay = Some(Overlay::Rename { entry, typed });
            }
        }
    }

    pub(super) fn fork(&mut self, entry: Arc<Entry>, turn: u32) {
        match Browser::refuses_edit(&entry) {
            Some(why) => self.warn(why),
            None => self.overlay = Some(Overlay::Fork { entry, turn }),
        }
    }

    pub(super) fn remove(&mut self, entries: Vec<Arc<Entry>>) {
        match entries.iter().find_map(|entry| Browser::refuses_edit(entry)) {
            Some(why) => self.warn(why),
            None if entries.is_empty() => {}
            None => self.overlay = Some(Overlay::Remove { entries }),
        }
    }

    pub(super) fn go_to_pane(&mut self, entry: &Entry) {
        match entry.live {
            None => self.warn("the session is not running"),
            Some(_) if !self.facts.in_tmux => self.warn("recto is not running in tmux"),
            Some(live) => self.push(Effect::Pane(live.pid)),
        }
    }

    pub(super) fn resume(&mut self, entry: Arc<Entry>) {
        if entry.log.is_archived() && !entry.log.is_agent() {
            self.overlay = Some(Overlay::Restore { entry });
            return;
        }
        match (&entry.live, entry.log.is_agent()) {
            (_, true) => {
                self.warn("a subagent cannot be resumed on its own, only its session");
            }
            (Some(_), false) => self.overlay = Some(Overlay::Resume { entry }),
            (None, false) => self.resume_now(&entry),
        }
    }

    pub(super) fn resume_now(&mut self, entry: &Entry) {
        let Some(directory) = entry.directory.clone() else {
            let text = "the log does not name the session's directory";
            self.notice = Some((text.into(), Look::Bad));
            return;
        };
        let id = entry.id().to_owned();
        self.push(Effect::Resume(super::message::Resume { id, directory }));
    }
}
