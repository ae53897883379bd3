//! The lines of a piece of a log, the last one first.

use memchr::memrchr;

/// Gives the lines of some bytes from the last to the first, without their line ends. What
/// is not finished is a line, too.
#[derive(Debug, Clone)]
pub(crate) struct LinesBack<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for LinesBack<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let bytes = self.0;
        let whole = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        if bytes.is_empty() {
            return None;
        }
        let start = memrchr(b'\n', whole).map_or(0, |at| at + 1);
        self.0 = &bytes[..start];
        Some(&whole[start..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_from_the_last_to_the_first() {
        for (bytes, expected) in [
            (&b""[..], &[][..]),
            (b"\n", &[&b""[..]]),
            (b"a\n\nb\n", &[b"b", b"", b"a"]),
            (b"a\nbc", &[b"bc", b"a"]),
        ] {
            assert_eq!(LinesBack(bytes).collect::<Vec<_>>(), expected);
        }
    }
}
