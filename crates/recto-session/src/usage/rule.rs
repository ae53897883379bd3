//! Which line of a message has its final usage. The only place that says it.

/// What a line says about how far its message had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seen {
    /// Whether it names a stop reason: then the message was over.
    pub(crate) has_stop: bool,
    /// The tokens of the answer so far.
    pub(crate) output: u64,
}

impl Seen {
    /// Whether this line counts in place of one that is known. A line with a
    /// stop reason beats one without, because clients 2.0.50 to 2.1.29 write
    /// lines before they know; else more output beats less, because early lines
    /// have placeholders; of equal lines the first stays.
    pub(crate) fn beats(self, known: Seen) -> bool {
        self > known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_reason_beats_more_output_and_the_first_of_equals_stays() {
        let seen = |has_stop, output| Seen { has_stop, output };
        assert!(seen(true, 1).beats(seen(false, 9)));
        assert!(!seen(false, 9).beats(seen(true, 1)));
        assert!(seen(false, 9).beats(seen(false, 1)));
        assert!(seen(true, 9).beats(seen(true, 1)));
        assert!(!seen(true, 5).beats(seen(true, 5)));
    }
}
