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

/// A list of so few things is looked through one by one.
const FEW: usize = 16;

/// Finds things in a list that is short in all logs but those that are made to be slow to read.
/// It says nothing by itself, so all are equal.
#[derive(Clone, Default)]
pub(crate) struct Shortcut {
    places: Places,
    /// So many of the list are in it.
    known: usize,
}

impl std::fmt::Debug for Shortcut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Shortcut")
    }
}

impl PartialEq for Shortcut {
    fn eq(&self, _: &Shortcut) -> bool {
        true
    }
}

impl Eq for Shortcut {}

impl Shortcut {
    /// The place of the thing with a key in a list that has only grown since.
    pub(crate) fn find<'l, T, K: Hash + PartialEq>(
        &mut self,
        list: &'l [T],
        key: &K,
        key_of: impl Fn(&'l T) -> K,
    ) -> Option<usize> {
        if list.len() <= FEW {
            return list.iter().position(|thing| key_of(thing) == *key);
        }
        for (at, thing) in list.iter().enumerate().skip(self.known) {
            let hash_at = |hashes: &RandomState, at| hashes.hash_one(key_of(&list[at as usize]));
            self.places.add(&key_of(thing), at as u32, hash_at);
        }
        self.known = list.len();
        self.places.find(key, |at| key_of(&list[at as usize]) == *key).map(|at| at as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shortcut_finds_what_a_walk_finds() {
        let mut list: Vec<String> = Vec::new();
        let mut shortcut = Shortcut::default();
        for number in 0..100 {
            let name = format!("name {}", number * 7 % 50);
            let expected = list.iter().position(|known| *known == name);
            let found = shortcut.find(&list, &name.as_str(), |known| known.as_str());
            assert_eq!(found, expected);
            if found.is_none() {
                list.push(name);
            }
        }
        assert_eq!(list.len(), 50);
    }

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
