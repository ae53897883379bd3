//! The number of the turn of each line, while a log is read.

use std::hash::BuildHasher;

use recto_log::Entry;
use recto_log::EntryUuid;
use recto_log::Kind;
use recto_log::UserText;
use recto_log::classify_user;

use super::turns::is_work;
use super::turns::kind_of_text;

/// Numbers turns while a log is read, line by line.
///
/// Gives the numbers of [`crate::turns`] without a second pass; they differ only in
/// lines that stand before their own prompt, or after the prompt of another
/// branch.
#[derive(Debug, Clone, Copy, Default)]
pub struct TurnCounter {
    number: u32,
    /// The prompt that was last, as [`mark`] numbers it.
    prompt: Option<u64>,
}

impl TurnCounter {
    /// Goes on after a line of which only the number is known.
    #[cfg(feature = "search")]
    pub(crate) fn after(number: u32) -> TurnCounter {
        TurnCounter { number, prompt: None }
    }

    /// How many turns have begun.
    #[cfg(feature = "search")]
    pub(crate) fn begun(self) -> u32 {
        self.number
    }

    /// The number of the turn of the line before.
    pub fn current(&self) -> u32 {
        self.number.max(1)
    }

    /// The number of the turn that the next line belongs to.
    pub fn next(&mut self, entry: &Entry<'_>) -> u32 {
        let text = classify_user(entry);
        let begins = entry.kind() == Kind::User && kind_of_text(text).is_some();
        let is_more = begins && text == UserText::Human && self.continues(entry);
        if begins {
            self.prompt = (text == UserText::Human).then(|| mark(entry.uuid(), entry)).flatten();
        }
        if begins && !is_more {
            self.number += 1;
        } else if self.number == 0 && entry.get("uuid").is_some() && is_work(entry.kind(), text) {
            self.number = 1;
        }
        // What stands before the first prompt belongs to it.
        self.current()
    }

    /// Whether a line is another part of the prompt before it.
    fn continues(&self, entry: &Entry<'_>) -> bool {
        self.prompt.is_some() && self.prompt == mark(entry.parent_uuid(), entry)
    }
}

/// A number for a line with a uuid and the time of an entry.
fn mark(uuid: Option<EntryUuid>, entry: &Entry<'_>) -> Option<u64> {
    let (uuid, time) = (uuid?, entry.timestamp()?);
    Some(foldhash::fast::FixedState::default().hash_one((uuid, time.as_nanosecond())))
}
