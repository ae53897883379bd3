//! The body of a response: bytes, pauses, and how it ends.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::Context;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http_body::Body;
use http_body::Frame;
use tokio::time::Sleep;

/// How long what was sent has to leave before the connection is cut.
const BEFORE_CUT: Duration = Duration::from_millis(20);

/// How a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Whole,
    /// The connection ends in the middle.
    Cut,
    /// Nothing comes any more.
    Hang,
}

/// A body that is sent piece by piece.
#[derive(Debug)]
pub(super) struct Sent {
    events: VecDeque<Bytes>,
    /// The most bytes of a piece.
    chunk: Option<usize>,
    /// A pause before each piece.
    pause: Duration,
    /// How many bytes are left until the end.
    left: Option<usize>,
    end: End,
    sleep: Option<Pin<Box<Sleep>>>,
    /// Whether the pause before the next piece is over.
    has_paused: bool,
    /// Whether what was sent shall leave before more is given.
    flush: bool,
}

impl Sent {
    pub(super) fn whole(bytes: impl Into<Bytes>) -> Sent {
        Sent::events([bytes.into()])
    }

    pub(super) fn events(events: impl IntoIterator<Item = Bytes>) -> Sent {
        Sent {
            events: events.into_iter().filter(|event| !event.is_empty()).collect(),
            chunk: None,
            pause: Duration::ZERO,
            left: None,
            end: End::Whole,
            sleep: None,
            has_paused: false,
            flush: false,
        }
    }

    pub(super) fn with_chunks(mut self, bytes: usize) -> Sent {
        self.chunk = Some(bytes.max(1));
        self
    }

    pub(super) fn with_pause(mut self, pause: Duration) -> Sent {
        self.pause = pause;
        self
    }

    /// Ends after so many bytes.
    pub(super) fn cut_at(mut self, bytes: usize) -> Sent {
        self.left = Some(bytes);
        self.end = End::Cut;
        self
    }

    /// Ends after so many events.
    pub(super) fn ends_after(mut self, events: usize, end: End) -> Sent {
        self.events.truncate(events);
        self.end = end;
        self
    }

    fn next_piece(&mut self) -> Option<Bytes> {
        if self.left == Some(0) {
            return None;
        }
        let event = self.events.front_mut()?;
        let most = self.chunk.unwrap_or(usize::MAX).min(self.left.unwrap_or(usize::MAX));
        let piece = event.split_to(most.min(event.len()));
        if event.is_empty() {
            self.events.pop_front();
        }
        if let Some(left) = &mut self.left {
            *left -= piece.len();
        }
        Some(piece)
    }
}

impl Body for Sent {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if std::mem::take(&mut self.flush) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        if let Some(sleep) = &mut self.sleep {
            if sleep.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            self.sleep = None;
            self.has_paused = true;
        }
        let is_over = self.left == Some(0) || self.events.is_empty();
        let pause = match (is_over, self.end) {
            (true, End::Whole) => return Poll::Ready(None),
            // Whoever waits is not woken. The client ends the connection, or the server does.
            (true, End::Hang) => return Poll::Pending,
            (true, End::Cut) => BEFORE_CUT,
            (false, _) => self.pause,
        };
        if !pause.is_zero() && !std::mem::take(&mut self.has_paused) {
            let mut sleep = Box::pin(tokio::time::sleep(pause));
            let is_ready = sleep.as_mut().poll(context).is_ready();
            self.sleep = Some(sleep);
            if is_ready {
                context.waker().wake_by_ref();
            }
            return Poll::Pending;
        }
        match self.next_piece() {
            Some(piece) => {
                self.flush = self.chunk.is_some();
                Poll::Ready(Some(Ok(Frame::data(piece))))
            }
            None => Poll::Ready(Some(Err(io::Error::from(io::ErrorKind::ConnectionAborted)))),
        }
    }
}
