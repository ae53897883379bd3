//! Numbers and names in few bytes, to be kept and read back.
//!
//! What is read back may be anything: a file that was cut, or one of another
//! version. A reader gives `None` then, and never takes more memory than a small
//! multiple of what it was given.

use jiff::Timestamp;

/// Writes.
pub struct Packer {
    bytes: Vec<u8>,
    seconds: i64,
}

impl Packer {
    /// Begins with a number for the form of what follows. So does the version of
    /// recto: another one may count otherwise.
    pub fn new(form: u8) -> Packer {
        let mut packer = Packer { bytes: Vec::new(), seconds: 0 };
        packer.byte(form);
        packer.text(env!("CARGO_PKG_VERSION"));
        packer
    }

    /// All of it, with a sum by which damage is known.
    pub fn finish(mut self) -> Vec<u8> {
        let sum = checksum(&self.bytes);
        self.fixed(&sum.to_le_bytes());
        self.bytes
    }

    /// One byte.
    pub fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// Bytes whose number the reader knows.
    pub fn fixed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Seven bits in a byte, the lowest first.
    pub fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// Small ones are short, whatever their sign.
    pub fn signed(&mut self, number: i64) {
        self.number(((number << 1) ^ (number >> 63)).cast_unsigned());
    }

    /// A number that may be missing.
    pub fn optional(&mut self, number: Option<u64>) {
        self.byte(u8::from(number.is_some()));
        if let Some(number) = number {
            self.number(number);
        }
    }

    /// A text with its length.
    pub fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// A number that may be broken, or missing.
    pub fn float(&mut self, number: Option<f64>) {
        self.byte(u8::from(number.is_some()));
        if let Some(number) = number {
            self.fixed(&number.to_bits().to_le_bytes());
        }
    }

    /// A time, as what it is after the one before.
    pub fn time(&mut self, time: Option<Timestamp>) {
        self.byte(u8::from(time.is_some()));
        if let Some(time) = time {
            self.signed(time.as_second().wrapping_sub(self.seconds));
            self.signed(i64::from(time.subsec_nanosecond()));
            self.seconds = time.as_second();
        }
    }
}

/// Reads what a [`Packer`] wrote.
pub struct Unpacker<'a> {
    bytes: &'a [u8],
    seconds: i64,
}

impl<'a> Unpacker<'a> {
    /// `None` if it is damaged, of another form, or of another version of recto.
    pub fn new(bytes: &'a [u8], form: u8) -> Option<Unpacker<'a>> {
        let (bytes, sum) = bytes.split_last_chunk()?;
        if checksum(bytes) != u64::from_le_bytes(*sum) {
            return None;
        }
        Unpacker::of_form(bytes, form)
    }

    fn of_form(bytes: &'a [u8], form: u8) -> Option<Unpacker<'a>> {
        let mut unpacker = Unpacker { bytes, seconds: 0 };
        let is_known = unpacker.byte()? == form && unpacker.text()? == env!("CARGO_PKG_VERSION");
        is_known.then_some(unpacker)
    }

    /// Whether all was read.
    pub fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }

    /// One byte.
    pub fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    /// A known number of bytes.
    pub fn fixed<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(*first)
    }

    /// A number without a sign.
    pub fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            // The tenth byte has room for one bit.
            if shift == 63 && bits > 1 {
                return None;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// A number that is not above a bound.
    pub fn at_most(&mut self, most: u64) -> Option<u64> {
        self.number().filter(|number| *number <= most)
    }

    /// A number of at most 32 bits.
    pub fn small(&mut self) -> Option<u32> {
        self.number().and_then(|number| u32::try_from(number).ok())
    }

    /// A number with a sign.
    pub fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    /// A number that may be missing.
    pub fn optional(&mut self) -> Option<Option<u64>> {
        Some(match self.yes_or_no()? {
            true => Some(self.number()?),
            false => None,
        })
    }

    /// A text.
    pub fn text(&mut self) -> Option<&'a str> {
        let length = usize::try_from(self.number()?).ok()?;
        let (text, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        std::str::from_utf8(text).ok()
    }

    /// Whether something is so.
    pub fn yes_or_no(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// A number that may be broken, or missing.
    pub fn float(&mut self) -> Option<Option<f64>> {
        Some(match self.yes_or_no()? {
            true => Some(f64::from_bits(u64::from_le_bytes(self.fixed()?))),
            false => None,
        })
    }

    /// A time that may be missing.
    pub fn time(&mut self) -> Option<Option<Timestamp>> {
        if !self.yes_or_no()? {
            return Some(None);
        }
        let second = self.seconds.wrapping_add(self.signed()?);
        let nanosecond = i32::try_from(self.signed()?).ok()?;
        self.seconds = second;
        Some(Some(Timestamp::new(second, nanosecond).ok()?))
    }

    /// A list, each of which takes some bytes at least, so that a length that
    /// cannot be true makes no room.
    pub fn list<T>(
        &mut self,
        least: usize,
        mut read: impl FnMut(&mut Unpacker<'a>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let length = usize::try_from(self.number()?).ok()?;
        if length > self.bytes.len() / least.max(1) {
            return None;
        }
        let mut list = Vec::with_capacity(length);
        for _ in 0..length {
            list.push(read(self)?);
        }
        Some(list)
    }
}

/// A number that is another one for other bytes, and the same in every run: it is kept.
fn checksum(bytes: &[u8]) -> u64 {
    /// An odd number whose bits look random.
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let fold = |sum: u64, word: u64| {
        let product = u128::from(sum ^ word) * u128::from(ODD);
        (product as u64) ^ ((product >> 64) as u64).rotate_left(23)
    };
    let (words, rest) = bytes.as_chunks::<8>();
    let sum = words.iter().fold(ODD, |sum, word| fold(sum, u64::from_le_bytes(*word)));
    // The length keeps apart what differs in zeros at the end.
    let rest = rest.iter().fold(bytes.len() as u64, |word, byte| (word << 8) | u64::from(*byte));
    fold(sum, rest)
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Makes bytes that get past the sum and the version, so that what follows
    /// is read.
    pub(crate) fn sealed(form: u8, bytes: &[u8]) -> Vec<u8> {
        let mut packer = Packer::new(form);
        packer.fixed(bytes);
        packer.finish()
    }

    /// The same with another byte at some place, and a sum that fits.
    pub(crate) fn resealed(mut bytes: Vec<u8>, place: usize, byte: u8) -> Vec<u8> {
        bytes.truncate(bytes.len() - 8);
        let place = place % bytes.len();
        bytes[place] = byte;
        let sum = checksum(&bytes);
        bytes.extend(sum.to_le_bytes());
        bytes
    }

    #[test]
    fn the_form_the_version_and_the_sum_must_fit() {
        let whole = sealed(3, b"abc");
        assert!(Unpacker::new(&whole, 3).is_some());
        assert!(Unpacker::new(&whole, 4).is_none());
        for place in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] ^= 4;
            assert!(Unpacker::new(&damaged, 3).is_none(), "byte {place}");
            assert!(Unpacker::new(&whole[..place], 3).is_none(), "cut at {place}");
        }
        let mut other = Packer { bytes: Vec::new(), seconds: 0 };
        other.byte(3);
        other.text("0.0.0-other");
        assert!(Unpacker::new(&other.finish(), 3).is_none(), "another version");
    }

    #[test]
    fn a_length_that_cannot_be_true_is_refused() {
        let mut packer = Packer { bytes: Vec::new(), seconds: 0 };
        packer.number(u64::MAX >> 8);
        let bytes = packer.bytes;
        let mut unpacker = Unpacker { bytes: &bytes, seconds: 0 };
        assert_eq!(unpacker.list(1, Unpacker::byte), None);
        let mut unpacker = Unpacker { bytes: &bytes, seconds: 0 };
        assert_eq!(unpacker.text(), None);
        let mut unpacker = Unpacker { bytes: &[0xff; 10], seconds: 0 };
        assert_eq!(unpacker.number(), None);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            numbers in proptest::collection::vec(any::<u64>(), 0..20),
            signed in any::<i64>(),
            float in any::<Option<f64>>(),
            text in ".*",
            times in proptest::collection::vec(
                proptest::option::of((-377_705_023_201i64..253_402_207_200, 0i32..1_000_000_000)), 0..9),
        ) {
            let times: Vec<Option<Timestamp>> = times
                .into_iter()
                .map(|time| time.and_then(|(second, nano)| Timestamp::new(second, nano).ok()))
                .collect();
            let mut packer = Packer::new(1);
            numbers.iter().for_each(|number| packer.number(*number));
            packer.signed(signed);
            packer.float(float);
            packer.text(&text);
            times.iter().for_each(|time| packer.time(*time));
            packer.optional(numbers.first().copied());
            let bytes = packer.finish();
            let mut unpacker = Unpacker::new(&bytes, 1).unwrap();
            for number in &numbers {
                prop_assert_eq!(unpacker.number(), Some(*number));
            }
            prop_assert_eq!(unpacker.signed(), Some(signed));
            prop_assert_eq!(unpacker.float().unwrap().map(f64::to_bits), float.map(f64::to_bits));
            prop_assert_eq!(unpacker.text(), Some(text.as_str()));
            for time in &times {
                prop_assert_eq!(unpacker.time(), Some(*time));
            }
            prop_assert_eq!(unpacker.optional(), Some(numbers.first().copied()));
            prop_assert!(unpacker.is_at_end());
        }
    }
}
