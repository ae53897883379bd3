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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_have_marks() {
        let shown: Vec<String> = [0, 999, 1000, 1_234_567].iter().map(|n| with_marks(*n)).collect();
        assert_eq!(shown, ["0", "999", "1,000", "1,234,567"]);
    }
}
