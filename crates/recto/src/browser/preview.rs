//! The transcript beside the list, and the search that the list shows.

use super::find::Find;
use super::list::Mode;
use super::message::Detail;
use super::message::Effect;
use super::message::Hit;
use super::message::Keep;
use super::message::Part;
use super::message::SearchRequest;
use super::message::Shown;
use super::reader::Anchor;
use super::reader::Reader;
use super::state::Browser;

impl Browser {
    /// Shows what is chosen beside the list.
    pub(super) fn preview(&mut self) {
        if self.list_layout().preview.is_none() {
            return;
        }
        let Some((entry, hit)) = self.list.chosen() else {
            self.list.preview = None;
            return;
        };
        let hit = hit.cloned();
        let known = self.list.preview.as_ref().filter(|preview| preview.entry.id() == entry.id());
        let detail = hit.as_ref().map_or(Detail::Brief, Hit::detail);
        let apart = hit.as_ref().filter(|hit| hit.shown == Shown::Apart).map(|hit| &hit.place);
        let is_same = known.is_some_and(|preview| {
            let is_live = preview.entry.live.is_some() == entry.live.is_some();
            let is_as_long = preview.entry.bytes == entry.bytes || entry.live.is_some();
            let is_there = preview.entry.log.path == entry.log.path;
            let is_found = hit.is_some() == (preview.keep == Keep::All);
            let is_seen = apart.is_none() || preview.place.as_ref() == apart;
            is_live && is_as_long && is_there && is_found && is_seen && preview.detail == detail
        });
        let find = match self.list.mode {
            Mode::Filter => Find::default(),
            Mode::Search => self.list.find(hit.as_ref()),
        };
        if is_same && self.list.mode == Mode::Filter {
            return;
        }
        let keep = match (&hit, entry.live) {
            // A hit may be anywhere.
            (Some(_), _) => Keep::All,
            (None, Some(_)) => Keep::End,
            (None, None) => Keep::Start,
        };
        let entry = entry.clone();
        match (self.list.preview.as_mut().filter(|_| is_same), &hit) {
            (Some(preview), Some(hit)) => {
                preview.find_again(find);
                preview.go_to_log_line(hit.line);
            }
            _ => {
                let mut reader = Reader::new(entry, Part::Conversation, keep).finding(find);
                reader.detail = detail;
                reader.place = hit.as_ref().map(|hit| hit.place.clone());
                reader = reader.at(hit.map(|hit| Anchor::Hit { log_line: hit.line }));
                self.list.preview = Some(reader);
                self.resize();
            }
        }
    }

    pub(super) fn search(&mut self) {
        let ticket = self.ticket();
        self.list.begin_search(ticket);
        let words = self.list.words.clone();
        self.push(Effect::Search(SearchRequest { ticket, words }));
        // Between titles and hits, the list has another width.
        self.resize();
        // What was found before stays beside the list until there is something new.
        if self.list.mode == Mode::Filter || self.list.rows.is_empty() {
            self.preview();
        }
    }
}
