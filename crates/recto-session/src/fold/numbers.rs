//! A list of numbers with as many bytes each as the largest of them needs.

/// Some numbers, in as few bytes as they have in common.
#[derive(Debug, Clone)]
pub(crate) struct Numbers {
    /// The smallest, which is not in the list.
    least: u32,
    more: More,
}

/// What the numbers are more than the smallest.
#[derive(Debug, Clone)]
enum More {
    Nothing,
    One(Box<[u8]>),
    Two(Box<[u16]>),
    Three(Box<[[u8; 3]]>),
    Four(Box<[u32]>),
}

impl Numbers {
    pub(crate) fn of(numbers: &[u32]) -> Numbers {
        let least = numbers.iter().copied().min().unwrap_or(0);
        let most = numbers.iter().copied().max().unwrap_or(0) - least;
        let more = numbers.iter().map(|number| number - least);
        let more = match most {
            0 => More::Nothing,
            1..=0xff => More::One(more.map(|more| more as u8).collect()),
            0x100..=0xffff => More::Two(more.map(|more| more as u16).collect()),
            0x1_0000..=0xff_ffff => More::Three(more.map(three).collect()),
            _ => More::Four(more.collect()),
        };
        Numbers { least, more }
    }

    /// A number by its place, which is one of the list.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> u32 {
        let more = match &self.more {
            More::Nothing => 0,
            More::One(more) => u32::from(at_place(more, at)),
            More::Two(more) => u32::from(at_place(more, at)),
            More::Three(more) => {
                let [low, middle, high] = at_place(more, at);
                u32::from_le_bytes([low, middle, high, 0])
            }
            More::Four(more) => at_place(more, at),
        };
        self.least + more
    }
}

/// Numbers that rise about evenly, as what each is more than so many steps.
#[derive(Debug, Clone)]
pub(crate) struct Rising {
    least: i64,
    step: i64,
    more: Numbers,
}

impl Rising {
    /// `None` if they rise too unevenly.
    pub(crate) fn of(numbers: &[u64]) -> Option<Rising> {
        let numbers: Option<Vec<i64>> =
            numbers.iter().map(|number| i64::try_from(*number).ok()).collect();
        let numbers = numbers.filter(|numbers| numbers.iter().all(|number| *number < 1 << 60))?;
        let (first, last) = (numbers.first()?, numbers.last()?);
        let step = (last - first) / i64::try_from(numbers.len()).ok()?.max(2).saturating_sub(1);
        let after = |at: usize| numbers[at] - step * at as i64;
        let least = (0..numbers.len()).map(after).min()?;
        let more = (0..numbers.len()).map(|at| u32::try_from(after(at) - least).ok());
        Some(Rising { least, step, more: Numbers::of(&more.collect::<Option<Vec<u32>>>()?) })
    }

    /// A number by its place, which is one of the list.
    pub(crate) fn get(&self, at: usize) -> u64 {
        let number = self.least + self.step * at as i64 + i64::from(self.more.get(at));
        number.cast_unsigned()
    }
}

/// There is a number at every place that is asked for; to say so costs less than to be sure.
#[inline]
fn at_place<T: Copy + Default>(list: &[T], at: usize) -> T {
    list.get(at).copied().unwrap_or_default()
}

fn three(number: u32) -> [u8; 3] {
    let [low, middle, high, _] = number.to_le_bytes();
    [low, middle, high]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_rise_or_not_come_back() {
        let lists: [&[u64]; 6] = [
            &[7],
            &[0, 100, 200, 300],
            &[5, 1000, 1001, 70_000, 70_001],
            &[900, 800, 3, 2, 1 << 20],
            &[4, 4, 4],
            &[1 << 40, (1 << 40) + 3],
        ];
        for list in lists {
            let rising = Rising::of(list).unwrap();
            let back: Vec<u64> = (0..list.len()).map(|at| rising.get(at)).collect();
            assert_eq!(back, list);
        }
        assert!(Rising::of(&[0, 1 << 40, 0]).is_none());
        assert!(Rising::of(&[u64::MAX, 0]).is_none());
    }

    #[test]
    fn numbers_come_back_whatever_lies_between_them() {
        for most in [0, 1, 255, 256, 65_535, 65_536, 0xff_ffff, 0x100_0000, u32::MAX] {
            for least in [0, 1, 77] {
                let given: Vec<u32> = (0..10).map(|at| most / 9 * at + (least & !most)).collect();
                let numbers = Numbers::of(&given);
                let back: Vec<u32> = (0..given.len()).map(|at| numbers.get(at)).collect();
                assert_eq!(back, given);
            }
        }
    }
}
