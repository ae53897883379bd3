//! Names that occur again and again, each kept once.

use std::hash::BuildHasher;
use std::num::NonZeroU32;

use foldhash::fast::RandomState;

use crate::fold::hash::Places;

/// A name in [`Names`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NameId(NonZeroU32);

/// All names of a session: message ids, tool names, tool call ids, models.
#[derive(Debug, Clone, Default)]
pub struct Names {
    places: Places,
    /// All names, one after the other.
    text: String,
    /// Where each name ends.
    ends: Vec<u32>,
    /// Names for which there is no room in `text`, from the place that follows
    /// those in `ends`.
    more: Vec<Box<str>>,
}

impl Names {
    /// The id of a name, new or known.
    pub fn add(&mut self, text: &str) -> NameId {
        if let Some(id) = self.find(text) {
            return id;
        }
        let place = u32::try_from(self.ends.len() + self.more.len()).unwrap_or(u32::MAX - 1);
        match u32::try_from(self.text.len() + text.len()) {
            Ok(end) if self.more.is_empty() => {
                self.text.push_str(text);
                self.ends.push(end);
            }
            _ => self.more.push(text.into()),
        }
        let (all, ends, more) = (&self.text, &self.ends, &self.more);
        let hash_at =
            |hashes: &RandomState, place| hashes.hash_one(text_at(all, ends, more, place));
        self.places.add(text, place, hash_at);
        id_of(place)
    }

    /// The id of a name, if it occurred.
    pub fn find(&self, text: &str) -> Option<NameId> {
        self.places.find(text, |place| self.at(place) == text).map(id_of)
    }

    /// How many names there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len() + self.more.len()
    }

    /// All names, in the order in which they came.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len() as u32).map(|place| self.at(place))
    }

    /// The name.
    pub fn text(&self, id: NameId) -> &str {
        self.at(id.0.get() - 1)
    }

    fn at(&self, place: u32) -> &str {
        text_at(&self.text, &self.ends, &self.more, place)
    }
}

impl NameId {
    /// Its place among the names.
    pub(crate) fn place(self) -> usize {
        self.0.get() as usize - 1
    }
}

fn id_of(place: u32) -> NameId {
    NameId(NonZeroU32::MIN.saturating_add(place))
}

fn text_at<'a>(all: &'a str, ends: &[u32], more: &'a [Box<str>], place: u32) -> &'a str {
    let place = place as usize;
    match ends.get(place) {
        Some(&end) => {
            let start = place.checked_sub(1).map_or(0, |before| ends[before]);
            all.get(start as usize..end as usize).unwrap_or_default()
        }
        None => more.get(place - ends.len()).map_or("", |text| text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_have_one_id() {
        let mut names = Names::default();
        let (a, b, empty) = (names.add("Bash"), names.add("Read"), names.add(""));
        assert_eq!(names.add("Bash"), a);
        assert_eq!(names.add(""), empty);
        assert_ne!(a, b);
        assert_eq!((names.text(a), names.text(b), names.text(empty)), ("Bash", "Read", ""));
        assert_eq!(names.find("Edit"), None);
    }
}
