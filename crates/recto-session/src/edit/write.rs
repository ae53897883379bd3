//! A draft as bytes.

use std::fmt;
use std::io;

use recto_log::Patch;

use crate::LineSource;
use crate::Span;
use crate::edit::Change;
use crate::edit::Draft;
use crate::edit::EditError;
use crate::edit::Link;
use crate::edit::Place;
use crate::edit::Rewrite;

/// Lines up to this length are read as a whole and can be changed; a longer
/// one is copied piece by piece.
pub(super) const WHOLE: u64 = 64 * 1024 * 1024;
const PIECE: u64 = 1024 * 1024;

/// Why a draft could not be written.
#[derive(Debug)]
pub enum WriteError<E> {
    /// The edit cannot be made.
    Edit(EditError),
    /// The bytes could not be put where they should go.
    Sink(E),
}

impl<E: fmt::Display> fmt::Display for WriteError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::Edit(error) => error.fmt(f),
            WriteError::Sink(error) => error.fmt(f),
        }
    }
}

impl<E: std::error::Error> std::error::Error for WriteError<E> {}

impl<E> From<EditError> for WriteError<E> {
    fn from(error: EditError) -> WriteError<E> {
        WriteError::Edit(error)
    }
}

impl Draft<'_> {
    /// Gives the bytes of the new log, in order, to `out`.
    pub fn write<E>(
        &self,
        rewrite: &Rewrite,
        log: &dyn LineSource,
        out: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), WriteError<E>> {
        let mut out = Out { rewrite, out, is_open: false };
        let count = self.manuscript.lines().len();
        for at in 0..count {
            let place = self.order.as_ref().map_or(at, |order| order[at]);
            for line in self.added.get(&Place::Before(place)).into_iter().flatten() {
                out.line(line.clone())?;
            }
            if self.keeps_line(place) {
                self.write_line(place, log, &mut out)?;
            }
        }
        for line in self.added.get(&Place::End).into_iter().flatten() {
            out.line(line.clone())?;
        }
        Ok(())
    }

    fn write_line<E>(
        &self,
        place: usize,
        log: &dyn LineSource,
        out: &mut Out<'_, E>,
    ) -> Result<(), WriteError<E>> {
        let number = place as u64 + 1;
        let Some(line) = self.manuscript.lines().get(place) else {
            return Err(EditError::SourceChanged { line: number }.into());
        };
        if line.span.length > WHOLE {
            return self.copy_long_line(number, line.span, line.is_terminated, log, out);
        }
        let gone = EditError::SourceChanged { line: number };
        let of_line = |error: io::Error| EditError::of_line(number, &error);
        let mut bytes = log.line(line.span).map_err(of_line)?.into_owned();
        let link = self.manuscript.node_at(place).and_then(|node| self.links.get(&node));
        let changes = self.changes.of(place);
        if link.is_some() || !changes.is_empty() {
            let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
            let mut patch = Patch::new(text).map_err(|_| gone.clone())?;
            if let Some(link) = link {
                self.link_change(link).apply(&mut patch).map_err(|_| gone.clone())?;
            }
            for change in changes {
                change.apply(&mut patch).map_err(|_| gone.clone())?;
            }
            bytes = patch.finish();
        }
        out.begin()?;
        out.put(&out.rewrite.apply(bytes))?;
        out.end(line.is_terminated)
    }

    fn link_change(&self, link: &Link) -> Change {
        match link {
            Link::Root => Change::parent(None),
            Link::Node(id) => Change::parent(Some(&self.manuscript.session.node(*id).uuid())),
            Link::New(uuid) => Change::parent(Some(uuid)),
        }
    }

    /// No client takes such a line for part of the conversation, and it is
    /// still the user's data.
    fn copy_long_line<E>(
        &self,
        number: u64,
        span: Span,
        is_terminated: bool,
        log: &dyn LineSource,
        out: &mut Out<'_, E>,
    ) -> Result<(), WriteError<E>> {
        out.begin()?;
        let end = span.offset + span.length;
        let mut offset = span.offset;
        while offset < end {
            let piece = Span { offset, length: PIECE.min(end - offset) };
            let bytes = log.line(piece).map_err(|error| EditError::of_line(number, &error))?;
            out.put(&bytes)?;
            offset += piece.length;
        }
        out.end(is_terminated)
    }
}

/// Where lines go, and whether the last one has been ended.
struct Out<'o, E> {
    rewrite: &'o Rewrite,
    out: &'o mut dyn FnMut(&[u8]) -> Result<(), E>,
    is_open: bool,
}

impl<E> Out<'_, E> {
    fn line(&mut self, bytes: Vec<u8>) -> Result<(), WriteError<E>> {
        self.begin()?;
        self.put(&self.rewrite.apply(bytes))?;
        self.end(true)
    }

    /// A torn last line gets its end only if something follows it.
    fn begin(&mut self) -> Result<(), WriteError<E>> {
        if self.is_open { self.put(b"\n") } else { Ok(()) }
    }

    fn end(&mut self, is_terminated: bool) -> Result<(), WriteError<E>> {
        self.is_open = !is_terminated;
        if is_terminated { self.put(b"\n") } else { Ok(()) }
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), WriteError<E>> {
        (self.out)(bytes).map_err(WriteError::Sink)
    }
}
