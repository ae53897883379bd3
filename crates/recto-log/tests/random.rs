//! Random numbers that can be had again: a seed, and what to print when a test fails.

use std::ops::Range;

/// SplitMix64: small, fast, and good enough to choose test cases.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number of a range that is not empty.
    pub(crate) fn within(&mut self, range: Range<usize>) -> usize {
        // Of 64 bits the high 32 are scaled, so that no division is needed.
        let width = (range.end - range.start) as u64;
        range.start + (((self.next() >> 32) * width) >> 32) as usize
    }

    /// True once in `times`.
    pub(crate) fn one_in(&mut self, times: usize) -> bool {
        self.within(0..times) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.within(0..choices.len())]
    }
}

/// The number in an environment variable, or the default.
pub(crate) fn from_environment(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")),
        Err(_) => default,
    }
}

/// Where the random tests start; `RECTO_FUZZ_SEED` moves it.
pub(crate) fn seed() -> u64 {
    from_environment("RECTO_FUZZ_SEED", 1)
}

/// Prints how to repeat a case if the test panics while this is alive.
pub(crate) struct Case<'a> {
    pub(crate) seed: u64,
    pub(crate) round: u64,
    pub(crate) line: &'a [u8],
}

impl Drop for Case<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let shown = &self.line[..self.line.len().min(4000)];
            let (seed, round) = (self.seed, self.round);
            eprintln!("RECTO_FUZZ_SEED={seed}, round {round}: {}", shown.escape_ascii());
        }
    }
}
