//! Amounts of money, exact.

use std::fmt;

/// An amount in millionths of a millionth of a US dollar, in which every public
/// price of one token is a whole number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Money(u128);

impl Money {
    /// How many make a dollar.
    pub const PER_DOLLAR: u128 = 1_000_000_000_000;

    /// So many millionths of a millionth of a dollar.
    pub const fn from_pico(pico: u128) -> Money {
        Money(pico)
    }

    /// Millionths of a millionth of a dollar.
    pub const fn pico(self) -> u128 {
        self.0
    }

    /// The sum.
    pub fn plus(self, other: Money) -> Money {
        Money(self.0.saturating_add(other.0))
    }

    /// The amount for so many.
    pub fn times(self, number: u64) -> Money {
        Money(self.0.saturating_mul(u128::from(number)))
    }

    /// So many thousandths of the amount.
    pub fn thousandths(self, number: u64) -> Money {
        Money(self.0.saturating_mul(u128::from(number)) / 1000)
    }

    /// In dollars with so many digits after the point, rounded.
    pub fn rounded(self, digits: u32) -> String {
        let unit = 10u128.pow(12 - digits.min(12));
        let whole = self.0.saturating_add(unit / 2) / unit;
        let scale = 10u128.pow(digits.min(12));
        if digits == 0 {
            return whole.to_string();
        }
        let width = digits.min(12) as usize;
        format!("{}.{:0width$}", whole / scale, whole % scale)
    }

    /// Reads dollars, such as `12.5` or `1.2e-3`, rounded to what can be held.
    pub fn parse(text: &str) -> Option<Money> {
        let (number, exponent) = match text.split_once(['e', 'E']) {
            Some((number, exponent)) => (number, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let digits: String = [whole, part].concat();
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let value: u128 = digits.parse().ok()?;
        let shift = 12 + i64::from(exponent) - part.len() as i64;
        let power = 10u128.checked_pow(u32::try_from(shift.unsigned_abs()).ok()?)?;
        let pico = if shift >= 0 {
            value.checked_mul(power)?
        } else {
            value.checked_add(power / 2)? / power
        };
        Some(Money(pico))
    }
}

/// Exact, with as many digits as it takes, two at least.
impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.rounded(12);
        let point = all.find('.').unwrap_or(all.len());
        let kept = all.trim_end_matches('0').len().max(point + 3);
        f.write_str(all.get(..kept).unwrap_or(&all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_and_short() {
        let shown = |pico| Money::from_pico(pico).to_string();
        assert_eq!(shown(0), "0.00");
        assert_eq!(shown(1), "0.000000000001");
        assert_eq!(shown(1_500_000_000_000), "1.50");
        assert_eq!(shown(129_927_889_900_000), "129.9278899");
        let amount = Money::from_pico(1_995_500_000_000);
        assert_eq!([2, 4, 0].map(|digits| amount.rounded(digits)), ["2.00", "1.9955", "2"]);
    }

    #[test]
    fn dollars_are_read_in_any_spelling() {
        let read = |text| Money::parse(text).map(|money| money.to_string());
        assert_eq!(read("12.5").as_deref(), Some("12.50"));
        assert_eq!(read("0.06531200000000001").as_deref(), Some("0.065312"));
        assert_eq!(read("1e-7").as_deref(), Some("0.0000001"));
        assert_eq!(read("1.5E2").as_deref(), Some("150.00"));
        assert_eq!(read("2.").as_deref(), Some("2.00"));
        for bad in ["", ".", "-1", "1,5", "x", "1e", "1e99", "1e-99999999999"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
