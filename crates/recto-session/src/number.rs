//! Numbers as people read them.

/// A number with marks at the thousands, such as `1,234,567`.
pub fn with_marks(number: u64) -> String {
    let digits = number.to_string();
    let mut marked = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            marked.push(',');
        }
        marked.push(digit);
    }
    marked
}

/// A number of things, such as `1 session` or `2 sessions`.
pub fn plural(number: u64, one: &str) -> String {
    let end = match number {
        1 => "",
        _ if one.ends_with(['x', 's']) => "es",
        _ => "s",
    };
    format!("{} {one}{end}", with_marks(number))
}

/// A span of milliseconds, such as `4.2s` or `3m 20s`.
pub fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match milliseconds {
        0..1000 => format!("{milliseconds}ms"),
        1000..10_000 => format!("{:.1}s", milliseconds as f64 / 1000.0),
        10_000..60_000 => format!("{seconds}s"),
        60_000..3_600_000 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        3_600_000..172_800_000 => format!("{}h {:02}m", seconds / 3600, seconds / 60 % 60),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_have_marks() {
        let shown: Vec<String> = [0, 999, 1000, 1_234_567].iter().map(|n| with_marks(*n)).collect();
        assert_eq!(shown, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn one_thing_is_not_many() {
        let shown = [plural(0, "log"), plural(1, "match"), plural(1000, "index")];
        assert_eq!(shown, ["0 logs", "1 match", "1,000 indexes"]);
    }

    #[test]
    fn spans_have_two_units_at_most() {
        let spans = [0, 999, 4_200, 59_999, 200_000, 7_260_000, 900_000_000];
        let shown: Vec<String> = spans.iter().map(|span| duration(*span)).collect();
        assert_eq!(shown, ["0ms", "999ms", "4.2s", "59s", "3m 20s", "2h 01m", "10d"]);
    }
}
