//! Random input that can be had again: for fuzz targets that run on a stable compiler.
//!
//! `RECTO_FUZZ_ITERATIONS` sets how many inputs a test tries, `RECTO_FUZZ_SEED` starts
//! somewhere else. A failure prints the seed and the round.

use std::fmt::Debug;

/// SplitMix64: small, fast, and good enough to choose test cases.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Numbers that follow from a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below another one, which is taken for 1 if it is 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % (end.max(1) as u64)) as usize
    }

    /// One of some things.
    ///
    /// # Panics
    /// If there are none.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// Damages some bytes in one to four places. `words` are whole pieces that mean something
    /// to whoever reads them: these do more than single bytes.
    pub fn damage(&mut self, bytes: &mut Vec<u8>, words: &[&str]) {
        for _ in 0..=self.below(4) {
            self.damage_once(bytes, words);
        }
    }

    fn damage_once(&mut self, bytes: &mut Vec<u8>, words: &[&str]) {
        const STRUCTURE: &[u8] =
            b"{}[]()\"',:;\\/0123456789-+.*?!&=<>#%eEtfnu \t\r\n\0\x1b\x7f\x80\xbf\xc3\xe2\xed\xf0\xff";
        let at = self.below(bytes.len() + 1);
        let upto = at + self.below((bytes.len() - at).min(40) + 1);
        match self.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            1 if at < bytes.len() => bytes[at] = *self.pick(STRUCTURE),
            2 => drop(bytes.drain(at..upto)),
            3 => bytes.insert(at, *self.pick(STRUCTURE)),
            4 => {
                let piece = bytes[at..upto].to_vec();
                let place = self.below(bytes.len() + 1);
                bytes.splice(place..place, piece);
            }
            5 if self.below(4) == 0 => bytes.truncate(at),
            _ if words.is_empty() => bytes.push(*self.pick(STRUCTURE)),
            _ => {
                let word = *self.pick(words);
                bytes.splice(at..upto, word.bytes());
            }
        }
    }
}

/// Tries damaged inputs, and says how to repeat one that makes `check` panic.
///
/// # Panics
/// If `check` does, or a variable is not a number.
pub fn fuzz(seeds: &[&str], words: &[&str], usual: u64, mut check: impl FnMut(&[u8])) {
    let seed = variable("RECTO_FUZZ_SEED", 1);
    let mut random = Random::new(seed);
    for round in 0..variable("RECTO_FUZZ_ITERATIONS", usual) {
        let mut input = random.pick(seeds).as_bytes().to_vec();
        random.damage(&mut input, words);
        let _case = Case { seed, round, input: &input };
        check(&input);
    }
}

/// The number in an environment variable, or the usual one.
///
/// # Panics
/// If the variable is not a number.
pub fn variable(name: &str, usual: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")),
        Err(_) => usual,
    }
}

/// Prints how to repeat a case if the test panics while this is alive.
struct Case<'a> {
    seed: u64,
    round: u64,
    input: &'a [u8],
}

impl Drop for Case<'_> {
    #[expect(clippy::print_stderr, reason = "a test that fails says how to repeat it")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            let shown = &self.input[..self.input.len().min(4000)];
            let shown: &dyn Debug = &String::from_utf8_lossy(shown);
            eprintln!("RECTO_FUZZ_SEED={}, round {}: {shown:?}", self.seed, self.round);
        }
    }
}
