//! Recorded lines with random damage: no view panics, none hangs.
//!
//! This is the fuzz harness of the decoder, and it runs on a stable compiler
//! with every `cargo test`. `RECTO_FUZZ_ITERATIONS` sets how many damaged lines
//! are tried (by default a few seconds' worth); for a long run:
//!
//! ```text
//! RECTO_FUZZ_ITERATIONS=10000000 RECTO_FUZZ_SEED=7 \
//!     cargo test -p recto-log --test runner mutation
//! ```
//!
//! Each round takes a line of the corpus, damages it one to four times, decodes
//! it and asks every view for everything. A panic prints the seed, the round
//! and the line.

use recto_log::Drift;
use recto_log::Lines;
use recto_log::Patch;
use recto_log::RawLine;
use recto_log::Severity;
use recto_log::decode;

use crate::corpus::logs;
use crate::random::Case;
use crate::random::Random;
use crate::random::from_environment;
use crate::random::seed;
use crate::views::debug_form;
use crate::views::look_at_everything;

const DEFAULT_ITERATIONS: u64 = 150_000;

/// Longer lines say nothing new and take the time of many short ones.
const LONGEST_SEED: usize = 8 * 1024;

/// Bytes that mean something in JSON: these do more than others.
const STRUCTURE: &[u8] =
    b"{}[]\",:\\/0123456789-+.eEtfnu \t\r\n\0\x1f\x7f\x80\xbf\xc3\xe2\xed\xf0\xff";

/// Whole pieces of JSON.
const WORDS: [&str; 8] =
    ["null", "{}", "[]", "\"\\ud83d\"", "1e999", "[[[[[[[[", "\"type\":", "-0"];

/// Damages a line in one to four places.
pub(crate) fn damage(random: &mut Random, line: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..random.within(1..5) {
        damage_once(random, line, other);
    }
}

fn damage_once(random: &mut Random, line: &mut Vec<u8>, other: &[u8]) {
    if line.is_empty() {
        line.push(b'{');
        return;
    }
    let at = random.within(0..line.len());
    let upto = at + random.within(0..(line.len() - at).min(40) + 1);
    match random.within(0..9) {
        0 => line[at] ^= 1 << random.within(0..8),
        1 => line[at] = *random.pick(STRUCTURE),
        2 => drop(line.drain(at..upto)),
        3 | 4 => line.insert(at, *random.pick(STRUCTURE)),
        5 => {
            let piece = line[at..upto].to_vec();
            let place = random.within(0..line.len() + 1);
            line.splice(place..place, piece);
        }
        6 if !other.is_empty() => {
            let from = random.within(0..other.len());
            let to = from + random.within(0..(other.len() - from).min(200) + 1);
            line.splice(at..upto, other[from..to].iter().copied());
        }
        7 if random.one_in(4) => line.truncate(at),
        _ => {
            let word = random.pick(&WORDS);
            line.splice(at..upto, word.bytes());
        }
    }
}

/// The lines to start from, each once.
fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for log in logs() {
        let lines = Lines::new(&log.bytes).map(|line| line.bytes);
        seeds.extend(lines.filter(|line| line.len() <= LONGEST_SEED).map(<[u8]>::to_vec));
    }
    seeds.sort_unstable();
    seeds.dedup();
    seeds
}

#[test]
fn damaged_lines_never_panic_and_never_hang() {
    let (seed, seeds) = (seed(), seeds());
    let mut random = Random::new(seed);
    let mut drift = Drift::default();
    let mut line = Vec::new();
    let mut broken = 0;
    let iterations = from_environment("RECTO_FUZZ_ITERATIONS", DEFAULT_ITERATIONS);
    for round in 0..iterations {
        line.clear();
        line.extend_from_slice(random.pick(&seeds[..]).as_slice());
        let other = random.pick(&seeds[..]);
        damage(&mut random, &mut line, other);
        let _case = Case { seed, round, line: &line };
        let terminated = round % 4 != 0;
        let (entry, problems) = decode(RawLine { terminated, ..RawLine::alone(&line) });
        assert!(entry.bytes() == line);
        look_at_everything(&entry, &mut drift);
        assert!(debug_form(&problems) > 0);
        if problems.iter().any(|problem| problem.kind.severity() == Severity::Damage) {
            broken += 1;
        }
        if let Ok(patch) = Patch::new(&line) {
            assert!(patch.finish() == line);
        }
        // A drift report remembers every name; damage makes new ones without end.
        if round % 10_000 == 0 {
            drift = Drift::default();
        }
    }
    assert!(broken > iterations / 4, "only {broken} of {iterations} lines were damaged");
    assert!(broken < iterations, "nothing was left whole");
}

#[test]
fn undamaged_lines_can_be_looked_at() {
    let mut drift = Drift::default();
    for log in logs() {
        for line in Lines::new(&log.bytes) {
            let (entry, _) = decode(line);
            look_at_everything(&entry, &mut drift);
            assert!(debug_form(&entry) > line.bytes.len() / 2);
        }
    }
    assert!(drift.lines().map(|(_, count)| count).sum::<u64>() > 3000);
}
