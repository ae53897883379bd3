//! Which lines of two texts are the same.
//!
//! Lines that are unique in both texts are tied first, in their longest common
//! order; what lies between two of them is compared on its own. Braces and
//! empty lines are so kept at the side of what they belong to, which an edit
//! script of the least length does not care about. A stretch without unique
//! lines that is too long to compare fully has no ties: none is better than a
//! wrong one.

use std::collections::HashMap;
use std::ops::Range;

/// The largest product of lengths of two stretches that are compared fully.
const LARGEST: usize = 4_000_000;

/// Pairs of places of equal lines, rising on both sides.
pub(crate) fn same_lines(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    // Numbers compare faster than lines.
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    for line in old.iter().chain(new) {
        let next = numbers.len();
        numbers.entry(line).or_insert(next);
    }
    let numbered = |lines: &[&str]| lines.iter().map(|line| numbers[line]).collect::<Vec<_>>();
    let (old, new) = (numbered(old), numbered(new));
    let mut pairs = Vec::new();
    let mut waiting = vec![(0..old.len(), 0..new.len())];
    while let Some((mut left, mut right)) = waiting.pop() {
        while !left.is_empty() && !right.is_empty() && old[left.start] == new[right.start] {
            pairs.push((left.start, right.start));
            left.start += 1;
            right.start += 1;
        }
        while !left.is_empty() && !right.is_empty() && old[left.end - 1] == new[right.end - 1] {
            left.end -= 1;
            right.end -= 1;
            pairs.push((left.end, right.end));
        }
        if left.is_empty() || right.is_empty() {
            continue;
        }
        let ties = unique_ties(&old, &new, left.clone(), right.clone());
        if ties.is_empty() {
            if left.len().saturating_mul(right.len()) <= LARGEST {
                pairs.extend(longest_common(&old, &new, left, right));
            }
            continue;
        }
        let (mut left_start, mut right_start) = (left.start, right.start);
        for (a, b) in ties {
            waiting.push((left_start..a, right_start..b));
            pairs.push((a, b));
            (left_start, right_start) = (a + 1, b + 1);
        }
        waiting.push((left_start..left.end, right_start..right.end));
    }
    pairs.sort_unstable();
    pairs
}

/// Lines that are there once on each side, in their longest common order.
fn unique_ties(
    old: &[usize],
    new: &[usize],
    left: Range<usize>,
    right: Range<usize>,
) -> Vec<(usize, usize)> {
    // How often, and where last.
    let mut places: HashMap<usize, (u32, u32, usize)> = HashMap::new();
    for at in right {
        let place = places.entry(new[at]).or_default();
        place.1 += 1;
        place.2 = at;
    }
    for at in left.clone() {
        if let Some(place) = places.get_mut(&old[at]) {
            place.0 += 1;
        }
    }
    let unique = left.filter_map(|at| match places.get(&old[at]) {
        Some((1, 1, place)) => Some((at, *place)),
        _ => None,
    });
    longest_rising(&unique.collect::<Vec<_>>())
}

/// The longest part of the pairs, which rise on the left, that rises on the right.
fn longest_rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // The pair with the least right side that ends a rising part of each length.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (at, (_, right)) in pairs.iter().enumerate() {
        let length = ends.partition_point(|end| pairs[*end].1 < *right);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        if length == ends.len() {
            ends.push(at);
        } else {
            ends[length] = at;
        }
    }
    let mut rising = Vec::with_capacity(ends.len());
    let mut next = ends.last().copied();
    while let Some(at) = next {
        rising.push(pairs[at]);
        next = before[at];
    }
    rising.reverse();
    rising
}

/// The longest common part, by the table of all lengths.
fn longest_common(
    old: &[usize],
    new: &[usize],
    left: Range<usize>,
    right: Range<usize>,
) -> Vec<(usize, usize)> {
    let width = right.len() + 1;
    let mut lengths = vec![0u32; (left.len() + 1) * width];
    for a in (0..left.len()).rev() {
        for b in (0..right.len()).rev() {
            lengths[a * width + b] = if old[left.start + a] == new[right.start + b] {
                lengths[(a + 1) * width + b + 1] + 1
            } else {
                lengths[(a + 1) * width + b].max(lengths[a * width + b + 1])
            };
        }
    }
    let mut pairs = Vec::new();
    let (mut a, mut b) = (0, 0);
    while a < left.len() && b < right.len() {
        if old[left.start + a] == new[right.start + b] {
            pairs.push((left.start + a, right.start + b));
            a += 1;
            b += 1;
        } else if lengths[(a + 1) * width + b] >= lengths[a * width + b + 1] {
            a += 1;
        } else {
            b += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(old: &str, new: &str) -> Vec<(usize, usize)> {
        let (old, new): (Vec<&str>, Vec<&str>) =
            (old.split_whitespace().collect(), new.split_whitespace().collect());
        same_lines(&old, &new)
    }

    #[test]
    fn equal_lines_are_tied_in_order() {
        assert_eq!(pairs("a b c", "a b c"), [(0, 0), (1, 1), (2, 2)]);
        assert_eq!(pairs("a b c", "a x c"), [(0, 0), (2, 2)]);
        assert_eq!(pairs("a b c", "b c d"), [(1, 0), (2, 1)]);
        assert_eq!(pairs("", "a"), []);
        assert_eq!(pairs("a a b b", "b b a a").len(), 2);
        assert_eq!(pairs("x } y }", "x } z } y }"), [(0, 0), (1, 1), (2, 4), (3, 5)]);
    }

    #[test]
    fn ties_rise_and_are_equal_whatever_the_texts() {
        let mut seed = 7u32;
        let mut random = |below: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) % below
        };
        for _ in 0..500 {
            let mut text = |most: u32| {
                let length = random(most);
                (0..length).map(|_| random(6).to_string()).collect::<Vec<_>>()
            };
            let (old, new) = (text(30), text(30));
            let old: Vec<&str> = old.iter().map(String::as_str).collect();
            let new: Vec<&str> = new.iter().map(String::as_str).collect();
            let pairs = same_lines(&old, &new);
            assert!(pairs.iter().all(|(a, b)| old[*a] == new[*b]));
            assert!(pairs.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1));
        }
    }

    #[test]
    fn long_texts_without_unique_lines_take_little_time() {
        let old: Vec<&str> = ["a", "b"].repeat(50_000);
        let new: Vec<&str> = ["b", "b", "a"].repeat(40_000);
        assert!(same_lines(&old, &new).len() < 10);
    }
}
