//! The one source of chance.
//!
//! Owns: a small generator whose stream is the same on every platform (integers only, no libm).
//! Does not own: what the numbers are used for.

/// A deterministic stream of numbers: a counter with an odd step, mixed by multiplication and shifts.
pub(super) struct Random {
    state: u64,
}

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random { state: seed ^ 0x5265_6374_6f21_4c6f }
    }

    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number in `0..limit`; 0 when the limit is 0.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.next()) * limit as u128) >> 64) as usize
    }

    /// A number in `low..=high`.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below((high - low + 1) as usize) as u64
    }

    /// True `share` times out of ten thousand.
    pub(super) fn chance(&mut self, share: usize) -> bool {
        self.below(10_000) < share
    }

    pub(super) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// A size with a long tail: the median, doubled or halved about `spread` quarter steps at a time.
    ///
    /// A sum of eight dice gives the bell, and every quarter of a doubling is a fixed ratio, so the
    /// result needs no logarithm.
    pub(super) fn long_tail(&mut self, median: u64, spread: i64, low: u64, high: u64) -> u64 {
        let mut dice: i64 = 0;
        for _ in 0..8 {
            dice += self.below(7) as i64 - 3;
        }
        let quarters = dice * spread / 4;
        let whole = quarters.div_euclid(4);
        let fraction = [1000, 1189, 1414, 1682][quarters.rem_euclid(4) as usize];
        let base = median * fraction / 1000;
        let size = if whole >= 0 { base << whole.min(20) } else { base >> (-whole).min(40) };
        size.clamp(low, high.max(low))
    }

    /// Digits of `alphabet`, appended.
    pub(super) fn letters(&mut self, alphabet: &[u8; 64], count: usize, out: &mut String) {
        let mut left = count;
        while left > 0 {
            let mut bits = self.next();
            for _ in 0..left.min(10) {
                out.push(char::from(alphabet[(bits & 63) as usize]));
                bits >>= 6;
            }
            left = left.saturating_sub(10);
        }
    }

    /// Lower-case hexadecimal digits.
    pub(super) fn hex(&mut self, count: usize) -> String {
        let mut out = String::with_capacity(count);
        while out.len() < count {
            let word = self.next();
            for shift in 0..16.min(count - out.len()) {
                out.push(char::from(b"0123456789abcdef"[((word >> (shift * 4)) & 15) as usize]));
            }
        }
        out
    }

    /// A version 4 uuid in text form.
    pub(super) fn uuid(&mut self) -> String {
        let mut digits = self.hex(32).into_bytes();
        digits[12] = b'4';
        digits[16] = b"89ab"[self.below(4)];
        let mut out = String::with_capacity(36);
        for (index, digit) in digits.into_iter().enumerate() {
            if matches!(index, 8 | 12 | 16 | 20) {
                out.push('-');
            }
            out.push(char::from(digit));
        }
        out
    }
}

/// The alphabet of base64.
pub(super) const BASE64: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// The alphabet of the service's ids (letters and digits, two of them twice).
pub(super) const IDENTIFIER: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789Ab";
