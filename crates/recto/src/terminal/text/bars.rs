//! Numbers as bars of block characters.

/// A bar, to an eighth of a column. What is there is seen, however small it is.
pub(crate) fn bar(value: impl Into<u128>, largest: impl Into<u128>, columns: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let (value, largest) = (value.into(), largest.into());
    if value == 0 || largest == 0 {
        return String::new();
    }
    let all = columns as u128 * 8;
    let eighths = (value.saturating_mul(all) / largest).clamp(1, all) as usize;
    format!("{}{}", "█".repeat(eighths / 8), PARTS[eighths % 8])
}

/// Columns beside each other, one for each number, `wide` characters each.
pub(crate) fn columns(values: &[u64], wide: usize) -> String {
    const HEIGHTS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
    let largest = u128::from(values.iter().copied().max().unwrap_or(0).max(1));
    let column = |value: &u64| match *value {
        0 => " ".repeat(wide),
        value => HEIGHTS[(u128::from(value) * 8).div_ceil(largest) as usize - 1].repeat(wide),
    };
    values.iter().map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_drawn_to_an_eighth() {
        let bar = |value: u64, largest: u64, columns| bar(value, largest, columns);
        assert_eq!(bar(10, 10, 3), "███");
        assert_eq!(bar(5, 10, 3), "█▌");
        assert_eq!(bar(1, u64::MAX, 3), "▏");
        assert_eq!((bar(0, 10, 3), bar(1, 0, 3)), (String::new(), String::new()));
        assert_eq!(bar(20, 10, 3), "███", "never longer than its room");
        assert_eq!(bar(100, 100, 12), "█".repeat(12));
        assert_eq!(bar(1, 96, 12), "▏");
    }

    #[test]
    fn columns_are_as_high_as_their_numbers() {
        assert_eq!(columns(&[0, 1, 4, 8], 2), "  ▁▁▄▄██");
        assert_eq!(columns(&[u64::MAX, 1], 1), "█▁");
        assert_eq!(columns(&[], 2), "");
    }
}
