//! Fast maps for ids, and a table that finds things in a list.
//!
//! A session has a few ids on every line. The hash of the standard library withstands
//! anything and costs too much for that; this one is seeded at random, so a log cannot be
//! made to collide.

use std::collections::HashMap;
use std::collections::HashSet;
use std::hash::BuildHasher;
use std::hash::Hash;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

/// A map for ids.
pub(crate) type IdMap<K, V> = HashMap<K, V, RandomState>;

/// A set for ids.
pub(crate) type IdSet<K> = HashSet<K, RandomState>;

/// Finds the places of things in a list that someone else keeps, where a map would hold the
/// things a second time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    hashes: RandomState,
    places: HashTable<u32>,
}

impl Places {
    /// The place of the thing with a key; `is` compares.
    pub(crate) fn find<K: Hash + ?Sized>(&self, key: &K, is: impl Fn(u32) -> bool) -> Option<u32> {
        self.places.find(self.hashes.hash_one(key), |place| is(*place)).copied()
    }

    /// Adds the thing with a key that is not there yet. `hash_at` gives the hash
    /// of what is at a place, for when the table grows.
    pub(crate) fn add<K: Hash + ?Sized>(
        &mut self,
        key: &K,
        place: u32,
        hash_at: impl Fn(&RandomState, u32) -> u64,
    ) {
        let hash = self.hashes.hash_one(key);
        self.places.insert_unique(hash, place, |place| hash_at(&self.hashes, *place));
    }
}

impl Places {
    /// Forgets the thing with a key.
    pub(crate) fn remove<K: Hash + ?Sized>(&mut self, key: &K, is: impl Fn(u32) -> bool) {
        if let Ok(found) = self.places.find_entry(self.hashes.hash_one(key), |place| is(*place)) {
            found.remove();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_was_added_is_found_and_nothing_else() {
        let list: Vec<String> = (0..5000).map(|number| format!("name {number}")).collect();
        let mut places = Places::default();
        assert_eq!(places.find("name 0", |_| true), None);
        for (place, text) in (0..).zip(&list) {
            places.add(text.as_str(), place, |hashes, at| {
                hashes.hash_one(list[at as usize].as_str())
            });
        }
        for (place, text) in (0..).zip(&list) {
            assert_eq!(places.find(text.as_str(), |at| list[at as usize] == *text), Some(place));
        }
        assert_eq!(places.find("name 5000", |at| list[at as usize] == "name 5000"), None);
    }
}
