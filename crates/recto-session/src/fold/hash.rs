//! Fast maps for ids, and a table that finds things in a list.
//!
//! A session has a few ids on every line. The hash of the standard library
//! withstands anything and costs too much for that; this one multiplies, and is
//! mixed with a random number, so that a log cannot be made to collide.

use std::collections::HashMap;
use std::collections::HashSet;
use std::hash::BuildHasher;
use std::hash::Hash;
use std::hash::Hasher;
use std::hash::RandomState;

/// A map for ids.
pub(crate) type IdMap<K, V> = HashMap<K, V, Seeded>;

/// A set for ids.
pub(crate) type IdSet<K> = HashSet<K, Seeded>;

/// Makes hashers that begin with the same random number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seeded(u64);

impl Default for Seeded {
    fn default() -> Seeded {
        Seeded(RandomState::new().hash_one(0u8))
    }
}

impl BuildHasher for Seeded {
    type Hasher = Folding;

    fn build_hasher(&self) -> Folding {
        Folding(self.0)
    }
}

/// An odd number whose bits look random.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

/// Multiplies what comes and folds the product.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Folding(u64);

impl Folding {
    fn fold(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * u128::from(ODD);
        self.0 = (product as u64) ^ ((product >> 64) as u64).rotate_left(23);
    }
}

/// A number that is another one for other bytes, and the same in every run.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    let mut folding = Folding(ODD);
    folding.write(bytes);
    folding.finish()
}

impl Hasher for Folding {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.fold(u64::from_le_bytes(*word));
        }
        // The length keeps apart what differs in zeros at the end.
        let rest =
            rest.iter().fold(bytes.len() as u64, |word, byte| (word << 8) | u64::from(*byte));
        self.fold(rest);
    }

    fn write_u8(&mut self, number: u8) {
        self.fold(u64::from(number));
    }

    fn write_u32(&mut self, number: u32) {
        self.fold(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.fold(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.fold(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.fold(number as u64);
    }
}

/// Finds the places of things in a list that someone else keeps: four bytes for
/// each, where a map would hold the things a second time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Places {
    seeded: Seeded,
    /// A place plus one, or 0; as many slots as a power of two.
    slots: Vec<u32>,
    used: usize,
}

impl Places {
    /// The place of the thing with a key; `is` compares.
    pub(crate) fn find<K: Hash + ?Sized>(&self, key: &K, is: impl Fn(u32) -> bool) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let mask = self.slots.len() - 1;
        let mut at = self.seeded.hash_one(key) as usize & mask;
        loop {
            let place = self.slots[at].checked_sub(1)?;
            if is(place) {
                return Some(place);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds the thing with a key that is not there yet. `hash_at` gives the hash
    /// of what is at a place, for when the table grows.
    pub(crate) fn add<K: Hash + ?Sized>(
        &mut self,
        key: &K,
        place: u32,
        hash_at: impl Fn(&Seeded, u32) -> u64,
    ) {
        if self.used * 4 >= self.slots.len() * 3 {
            let larger = vec![0; (self.slots.len() * 2).max(16)];
            for place in std::mem::replace(&mut self.slots, larger) {
                if let Some(place) = place.checked_sub(1) {
                    self.put(hash_at(&self.seeded, place), place);
                }
            }
        }
        self.put(self.seeded.hash_one(key), place);
        self.used += 1;
    }

    fn put(&mut self, hash: u64, place: u32) {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = place + 1;
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
            places.add(text.as_str(), place, |seeded, at| {
                seeded.hash_one(list[at as usize].as_str())
            });
        }
        for (place, text) in (0..).zip(&list) {
            assert_eq!(places.find(text.as_str(), |at| list[at as usize] == *text), Some(place));
        }
        assert_eq!(places.find("name 5000", |at| list[at as usize] == "name 5000"), None);
    }

    #[test]
    fn texts_that_differ_in_length_only_have_other_hashes() {
        let seeded = Seeded::default();
        let zeros = |length: usize| {
            let mut hasher = seeded.build_hasher();
            hasher.write(&vec![0; length]);
            hasher.finish()
        };
        let hashes: HashSet<u64> = (0..100).map(zeros).collect();
        assert_eq!(hashes.len(), 100);
    }
}
