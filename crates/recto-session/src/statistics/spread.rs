//! Numbers of which the middle is wanted.

/// Numbers, four bytes each. Larger ones count as the largest that fits, which
/// is seven weeks in milliseconds.
#[derive(Debug, Clone, Default)]
pub struct Spread {
    numbers: Vec<u32>,
    total: u64,
}

impl Spread {
    /// Takes in a number.
    pub fn add(&mut self, number: u64) {
        self.numbers.push(u32::try_from(number).unwrap_or(u32::MAX));
        self.total = self.total.saturating_add(number);
    }

    /// How many numbers there are.
    pub fn count(&self) -> u64 {
        self.numbers.len() as u64
    }

    /// What they add up to.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The smallest number that a share of them does not exceed, in percent: 50
    /// is the median. It is always one of them.
    pub fn at_percent(&mut self, percent: u32) -> Option<u64> {
        if self.numbers.is_empty() {
            return None;
        }
        let wanted = (self.count() * u64::from(percent.min(100))).div_ceil(100);
        let place = wanted.saturating_sub(1) as usize;
        let (_, number, _) = self.numbers.select_nth_unstable(place);
        Some(u64::from(*number))
    }

    /// How many numbers are below a bound.
    pub fn below(&self, bound: u64) -> u64 {
        self.numbers.iter().filter(|number| u64::from(**number) < bound).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_one_of_the_numbers() {
        let spread = |numbers: &[u64]| {
            let mut spread = Spread::default();
            numbers.iter().for_each(|number| spread.add(*number));
            spread
        };
        assert_eq!(Spread::default().at_percent(50), None);
        assert_eq!(spread(&[9, 1, 5]).at_percent(50), Some(5));
        assert_eq!(spread(&[9, 1, 5, 7]).at_percent(50), Some(5));
        assert_eq!(spread(&[9, 1]).at_percent(90), Some(9));
        assert_eq!(spread(&[9, 1, 5, 7]).at_percent(100), Some(9));
        assert_eq!(spread(&[9, 1, 5, 7]).at_percent(0), Some(1));
        let mut large = spread(&[u64::MAX, 2, 1]);
        assert_eq!((large.total(), large.at_percent(100)), (u64::MAX, Some(u64::from(u32::MAX))));
        assert_eq!((large.below(2), large.count()), (1, 3));
    }
}
