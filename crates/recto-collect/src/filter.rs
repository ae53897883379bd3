//! Bytes of a file as the policy lets them go.

use std::io;

use recto_session::redact::Outcome;
use recto_session::redact::Redactor;
use recto_store::follow::FileKind;

use crate::content::reduced;
use crate::content::withheld;
use crate::error::CollectError;
use crate::policy::Policy;

/// Longer lines are withheld: they would be in memory several times over.
const LONGEST_LINE: usize = 16 * 1024 * 1024;
/// Larger files that are no logs are withheld, for the same reason.
pub(crate) const LARGEST_FILE: u64 = 32 * 1024 * 1024;

/// Cuts what comes in pieces into lines.
#[derive(Debug, Default)]
pub(crate) struct Cutter {
    line: Vec<u8>,
    /// The length of a line that is too long to be looked at.
    too_long: u64,
}

/// A line, without its end.
pub(crate) enum Cut<'a> {
    Line(&'a [u8]),
    TooLong(u64),
}

impl Cutter {
    /// Hands out the lines that end in a piece.
    pub(crate) fn take(
        &mut self,
        mut piece: &[u8],
        mut line: impl FnMut(Cut<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        while let Some(end) = piece.iter().position(|byte| *byte == b'\n') {
            let (head, rest) = (&piece[..end], &piece[end + 1..]);
            piece = rest;
            if self.is_over(head) {
                line(Cut::TooLong(std::mem::take(&mut self.too_long)))?;
            } else if self.line.is_empty() {
                line(Cut::Line(head))?;
            } else {
                self.line.extend_from_slice(head);
                line(Cut::Line(&self.line))?;
            }
            self.line.clear();
        }
        if !self.is_over(piece) {
            self.line.extend_from_slice(piece);
        }
        Ok(())
    }

    fn is_over(&mut self, more: &[u8]) -> bool {
        if self.too_long > 0 {
            self.too_long += more.len() as u64;
        } else if self.line.len() + more.len() > LONGEST_LINE {
            self.too_long = (self.line.len() + more.len()) as u64;
            self.line = Vec::new();
        }
        self.too_long > 0
    }
}

/// Which lines of the history go, by the project that they name.
pub(crate) type TakesLine<'a> = dyn Fn(&[u8]) -> bool + 'a;

/// Lets lines go as the policy says. Everything is shown to it twice: secrets that have a name in
/// one place are known without it in another.
pub(crate) struct LineFilter<'a> {
    policy: &'a Policy,
    redactor: Option<Redactor>,
    takes: &'a TakesLine<'a>,
}

impl<'a> LineFilter<'a> {
    /// Makes ready, with what a first pass over all lines finds.
    pub(crate) fn new(
        policy: &'a Policy,
        takes: &'a TakesLine<'a>,
        first_pass: impl FnOnce(&mut dyn FnMut(&[u8]) -> io::Result<()>) -> Result<(), CollectError>,
    ) -> Result<LineFilter<'a>, CollectError> {
        let Some(redactor) = redactor(policy)? else {
            return Ok(LineFilter { policy, redactor: None, takes });
        };
        let mut collector = redactor.collector();
        let mut cutter = Cutter::default();
        first_pass(&mut |piece| {
            cutter.take(piece, |cut| {
                if let Cut::Line(line) = cut {
                    collector.line(line);
                }
                Ok(())
            })
        })?;
        let redactor = collector.finish().map_err(|error| refused(&error))?;
        Ok(LineFilter { policy, redactor: Some(redactor), takes })
    }

    /// A line as it goes, with its end; nothing if it stays.
    pub(crate) fn line(&self, cut: &Cut<'_>, out: &mut Vec<u8>) {
        out.clear();
        match cut {
            Cut::TooLong(bytes) => out.extend_from_slice(&withheld(*bytes)),
            Cut::Line(line) if !(self.takes)(line) => return,
            Cut::Line(line) => {
                let less = reduced(self.policy.content, line);
                let line = less.as_deref().unwrap_or(line);
                match self.redactor.as_ref().map(|redactor| redactor.line(line)) {
                    Some(Outcome::Changed(change)) => out.extend_from_slice(&change.bytes),
                    Some(Outcome::Unchanged) | None => out.extend_from_slice(line),
                }
            }
        }
        out.push(b'\n');
    }
}

/// The end of a log that no line end follows, with as much of it as of a line. It has no line end
/// then, either.
pub(crate) fn end_of_log(policy: &Policy, bytes: Vec<u8>) -> Vec<u8> {
    reduced(policy.content, &bytes).unwrap_or(bytes)
}

/// A whole file as the policy lets it go; none if it cannot be searched for secrets.
pub(crate) fn whole(
    policy: &Policy,
    kind: FileKind,
    bytes: Vec<u8>,
) -> Result<Option<Vec<u8>>, CollectError> {
    let Some(redactor) = redactor(policy)? else { return Ok(Some(bytes)) };
    let Ok(text) = String::from_utf8(bytes) else { return Ok(None) };
    let mut collector = redactor.collector();
    let is_json = recto_log::json::Value::parse(text.trim().as_bytes()).is_ok();
    match is_json && kind != FileKind::FileHistory {
        true => collector.line(text.trim().as_bytes()),
        false => collector.text(&text),
    }
    let redactor = collector.finish().map_err(|error| refused(&error))?;
    let changed = match is_json {
        true => match redactor.line(text.trim().as_bytes()) {
            Outcome::Changed(change) => Some(change.bytes),
            Outcome::Unchanged => None,
        },
        false => {
            let redacted = redactor.text(&text);
            (!redacted.findings.is_empty()).then(|| redacted.text.into_owned().into_bytes())
        }
    };
    Ok(Some(changed.unwrap_or_else(|| text.into_bytes())))
}

fn redactor(policy: &Policy) -> Result<Option<Redactor>, CollectError> {
    policy.redactor().map_err(|error| refused(&error))
}

fn refused(error: &recto_session::redact::RedactError) -> CollectError {
    CollectError::Policy { path: "collect.toml".to_owned(), reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_wherever_pieces_end_and_long_ones_are_counted() {
        let text = b"one\n\nthree and more\n";
        for size in 1..text.len() {
            let mut lines = Vec::new();
            let mut cutter = Cutter::default();
            for piece in text.chunks(size) {
                cutter
                    .take(piece, |cut| {
                        let Cut::Line(line) = cut else { panic!("too long") };
                        lines.push(String::from_utf8(line.to_vec()).unwrap());
                        Ok(())
                    })
                    .unwrap();
            }
            assert_eq!(lines, ["one", "", "three and more"], "{size}");
        }
        let mut cutter = Cutter::default();
        let mut found = Vec::new();
        let piece = vec![b'x'; LONGEST_LINE / 2 + 1];
        for piece in [&piece[..], &piece, &piece, b"y\nshort\n"] {
            cutter
                .take(piece, |cut| {
                    found.push(match cut {
                        Cut::Line(line) => line.len() as u64,
                        Cut::TooLong(bytes) => bytes,
                    });
                    Ok(())
                })
                .unwrap();
        }
        assert_eq!(found, [3 * (LONGEST_LINE as u64 / 2 + 1) + 1, 5]);
    }
}
