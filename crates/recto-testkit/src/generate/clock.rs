//! Timestamps.
//!
//! Owns: milliseconds to ISO 8601 text, from 2025 on. Does not own: the passing of time.

/// Milliseconds at the start of 2025 (UTC).
const YEAR_2025: i64 = 1_735_689_600_000;
/// Milliseconds of a day.
pub(super) const DAY: i64 = 86_400_000;

/// `2025-10-01T09:30:00.123Z`.
pub(super) fn timestamp(milliseconds: i64) -> String {
    let time = (milliseconds - YEAR_2025).rem_euclid(DAY);
    format!(
        "{}T{:02}:{:02}:{:02}.{:03}Z",
        date(milliseconds),
        time / 3_600_000,
        time / 60_000 % 60,
        time / 1000 % 60,
        time % 1000
    )
}

/// `2025-10-01`.
pub(super) fn date(milliseconds: i64) -> String {
    let mut days = (milliseconds - YEAR_2025).div_euclid(DAY);
    let mut year = 2025;
    loop {
        let length = if leap(year) { 366 } else { 365 };
        if days < length {
            break;
        }
        days -= length;
        year += 1;
    }
    let february = if leap(year) { 29 } else { 28 };
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= months[month] {
        days -= months[month];
        month += 1;
    }
    format!("{year}-{:02}-{:02}", month + 1, days + 1)
}

fn leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

#[cfg(test)]
mod tests {
    use super::timestamp;

    #[test]
    fn knows_leap_years() {
        assert_eq!(timestamp(1_759_276_800_000), "2025-10-01T00:00:00.000Z");
        assert_eq!(timestamp(1_794_788_170_838), "2026-11-16T00:16:10.838Z");
        assert_eq!(timestamp(1_835_481_599_999), "2028-02-29T23:59:59.999Z");
    }
}
