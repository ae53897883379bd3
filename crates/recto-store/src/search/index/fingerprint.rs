//! Tells whether the beginning of a log is what it was.

use std::fs::File;
use std::io;

use crate::place::platform::read_fully;

/// Up to here everything is looked at.
const WHOLE: u64 = 64 * 1024;
/// Of more, the head and the tail, and samples between them.
const END: u64 = 16 * 1024;
const SAMPLES: u64 = 32;
const SAMPLE: u64 = 1024;

/// The fingerprint of the first `length` bytes of a file. A file that is shorter
/// has none.
pub(super) fn fingerprint(file: &File, length: u64) -> io::Result<Option<i64>> {
    let mut sum = Sum::of_length(length);
    let mut buffer = vec![0; WHOLE.min(length) as usize];
    if length <= WHOLE {
        if !sum.add(file, &mut buffer, 0)? {
            return Ok(None);
        }
        return Ok(Some(sum.0.cast_signed()));
    }
    let between = (length - 2 * END) / SAMPLES;
    let samples = (0..SAMPLES).map(|number| (END + number * between, SAMPLE.min(between)));
    let ends = [(0, END), (length - END, END)];
    for (at, size) in ends.into_iter().chain(samples) {
        if !sum.add(file, &mut buffer[..size as usize], at)? {
            return Ok(None);
        }
    }
    Ok(Some(sum.0.cast_signed()))
}

/// The sum of some bytes and of how many there are.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    let mut sum = Sum::of_length(bytes.len() as u64);
    sum.mix(bytes);
    sum.0
}

struct Sum(u64);

impl Sum {
    fn of_length(length: u64) -> Sum {
        Sum(length ^ 0x9e37_79b9_7f4a_7c15)
    }

    /// Adds what is at a place; `false` if the file ends before.
    fn add(&mut self, file: &File, buffer: &mut [u8], at: u64) -> io::Result<bool> {
        if read_fully(file, buffer, at)? < buffer.len() {
            return Ok(false);
        }
        self.mix(buffer);
        Ok(true)
    }

    fn mix(&mut self, bytes: &[u8]) {
        for word in bytes.chunks(8) {
            let mut bytes = [0; 8];
            bytes[..word.len()].copy_from_slice(word);
            let mixed = (self.0 ^ u64::from_le_bytes(bytes)).wrapping_mul(0xff51_afd7_ed55_8ccd);
            self.0 = mixed ^ (mixed >> 32);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::open_file;

    fn of(bytes: &[u8], length: u64) -> Option<i64> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(bytes).unwrap();
        fingerprint(&open_file(file.path()).unwrap(), length).unwrap()
    }

    #[test]
    fn every_byte_of_a_short_beginning_counts() {
        let bytes: Vec<u8> = (0..=255).cycle().take(3000).collect();
        let whole = of(&bytes, 2000);
        assert!(whole.is_some());
        for place in 0..2000 {
            let mut changed = bytes.clone();
            changed[place] ^= 1;
            assert_ne!(of(&changed, 2000), whole, "byte {place}");
        }
        let mut after = bytes.clone();
        after[2000] ^= 1;
        assert_eq!(of(&after, 2000), whole);
        assert_eq!(of(&bytes, 3001), None);
        assert_ne!(of(&bytes, 0), of(&bytes, 1));
    }

    #[test]
    fn of_a_long_one_the_ends_and_samples_count() {
        let bytes = vec![b'x'; 1_000_000];
        let whole = of(&bytes, 900_000);
        for place in [0, 16_000, 890_000, 899_999, 16 * 1024] {
            let mut changed = bytes.clone();
            changed[place] = b'y';
            assert_ne!(of(&changed, 900_000), whole, "byte {place}");
        }
        assert_eq!(of(&bytes, 1_000_001), None);
    }
}
