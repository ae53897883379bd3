//! What the workers found goes into the state.

use super::document::Progress;
use super::list::Mode;
use super::message::Effect;
use super::message::Keep;
use super::message::Listing;
use super::message::Part;
use super::message::Report;
use super::overlay::Overlay;
use super::reader::Anchor;
use super::reader::Reader;
use super::state::Browser;
use super::state::Page;
use crate::terminal::output::Look;
use crate::terminal::text::bytes;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;

impl Browser {
    pub(super) fn report(&mut self, report: Report) {
        match report {
            Report::Listing(listing) => self.fill(listing),
            Report::Begun { ticket } => {
                self.with_reader(ticket, Reader::begin_again);
            }
            Report::Lines { ticket, lines } => {
                self.with_reader(ticket, |reader| reader.add(lines));
            }
            Report::Read { ticket, is_cut } => {
                let progress = if is_cut { Progress::Cut } else { Progress::Whole };
                self.with_reader(ticket, |reader| reader.finish(progress));
            }
            Report::Rows { ticket, rows } => {
                if let Some(Page::Table(table)) = self.pages.last_mut()
                    && table.ticket == ticket
                {
                    table.fill(rows);
                }
            }
            Report::Hits { ticket, hits } => {
                if self.list.search_ticket == ticket {
                    let replaces = self.list.add_hits(hits);
                    if replaces || self.list.preview.is_none() {
                        self.preview();
                    }
                }
            }
            Report::Searched { ticket, state } => {
                if self.list.search_ticket == ticket {
                    self.list.set_search(state);
                    if self.list.mode == Mode::Search && self.list.rows.is_empty() {
                        self.preview();
                    }
                }
            }
            Report::Unsearched { ticket, told } => {
                if self.list.search_ticket == ticket {
                    self.list.unsearched = told;
                }
            }
            Report::Exported { path, bytes: written } => {
                self.exports = self.exports.saturating_sub(1);
                let text = format!("wrote {} ({})", one_line(&path), bytes(written));
                self.notice = Some((text, Look::Good));
            }
            Report::Restored { files } => {
                let text = format!("restored {}; `recto undo` undoes it", plural(files, "file"));
                self.notice = Some((text, Look::Good));
                self.push(Effect::Refresh);
            }
            Report::Clips { ticket: wanted, clips: found } => {
                if let Some(Overlay::Copy { ticket, clips, .. }) = &mut self.overlay
                    && *ticket == wanted
                {
                    *clips = found;
                }
            }
            Report::Changed { text, removed } => self.changed(text, &removed),
            Report::LastOperation(None) => {
                self.notice = Some(("there is nothing to undo".into(), Look::Warning));
            }
            Report::LastOperation(Some((operation, command))) => {
                self.overlay = Some(Overlay::Undo { operation, command });
            }
            Report::Remark(text) => self.notice = Some((one_line(&text), Look::Warning)),
            Report::Failed { ticket, message } => self.failed(ticket, &message),
        }
    }

    /// The home was changed. What shows a session that is gone goes.
    fn changed(&mut self, text: String, removed: &[String]) {
        self.notice = Some((text, Look::Good));
        self.list.marked.retain(|id| !removed.contains(id));
        let is_gone = |page: &Page| match page {
            Page::Reader(reader) => removed.iter().any(|id| id == reader.entry.id()),
            Page::Table(table) => removed.iter().any(|id| id == table.entry.id()),
        };
        if self.pages.iter().any(is_gone) {
            self.pages.clear();
            self.facts.first = None;
            self.resize();
        }
        self.push(Effect::Refresh);
    }

    fn failed(&mut self, ticket: Option<u64>, message: &str) {
        let message = one_line(message);
        let Some(ticket) = ticket else {
            self.exports = self.exports.saturating_sub(1);
            self.notice = Some((message, Look::Bad));
            return;
        };
        // A query is mostly wrong because it is half typed, which is no news.
        if ticket == self.list.search_ticket {
            self.list.fail_search(message);
            return self.preview();
        }
        let mut is_shown = self.with_reader(ticket, Reader::fail);
        if let Some(Page::Table(table)) = self.pages.last_mut()
            && table.ticket == ticket
        {
            table.fail(message.clone());
            is_shown = true;
        }
        if is_shown {
            self.notice = Some((message, Look::Bad));
        }
    }

    /// Does something with the transcript that was asked for with this ticket. Gives
    /// whether it is still there.
    fn with_reader(&mut self, ticket: u64, work: impl FnOnce(&mut Reader)) -> bool {
        let pages = self.pages.iter_mut().filter_map(|page| match page {
            Page::Reader(reader) => Some(&mut **reader),
            Page::Table(_) => None,
        });
        let mut readers = pages.chain(self.list.preview.as_mut());
        readers.find(|reader| reader.ticket == ticket).map(work).is_some()
    }

    /// Reads the session that the browser was opened for, as soon as it is known.
    fn open_first(&mut self) {
        let Some(wanted) = self.facts.first.clone().filter(|_| self.pages.is_empty()) else {
            return;
        };
        let entry = self.list.entries.iter().find(|entry| entry.id() == wanted).cloned();
        match entry {
            Some(entry) => {
                let anchor = entry.live.map(|_| Anchor::End);
                let reader = Reader::new(entry, Part::Conversation, Keep::All).at(anchor);
                self.open(reader);
            }
            None if self.list.is_whole => {
                self.facts.first = None;
                let text = "the session has no log yet".to_owned();
                self.notice = Some((text, Look::Warning));
            }
            None => {}
        }
    }

    /// Takes a new look at the home.
    fn fill(&mut self, listing: Listing) {
        self.list.fill(listing);
        self.open_first();
        if self.pages.is_empty() {
            self.preview();
        }
        let Some(Page::Reader(reader)) = self.pages.last_mut() else { return };
        let fresh = self.list.entries.iter().find(|entry| entry.id() == reader.entry.id());
        let Some(fresh) = fresh else { return };
        let was_followed = reader.entry.live.is_some();
        let has_grown = fresh.bytes != reader.entry.bytes;
        let starts = !was_followed && fresh.live.is_some();
        let has_moved = fresh.log.path != reader.entry.log.path;
        reader.entry = fresh.clone();
        // What runs is followed where it is read; the rest is read again.
        if starts || has_moved || (has_grown && !was_followed) {
            self.read_again();
        }
    }
}
