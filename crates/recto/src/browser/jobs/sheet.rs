//! Lines on their way to the screen, told in portions.

use super::Flow;
use crate::browser::document::PageLine;
use crate::browser::document::fold;
use crate::browser::message::Keep;
use crate::browser::message::ReadRequest;
use crate::browser::message::Report;
use crate::terminal::text::Span;

/// How many lines of the screen are kept of a log.
const MOST_LINES: usize = 200_000;
/// How many for a preview.
const MOST_IN_PREVIEW: usize = 2000;
/// How many lines make the first report: more than a screen has.
const FIRST_LINES: usize = 100;
/// How many lines make every other report.
const LINES: usize = 1000;

/// Lines on their way to the screen.
pub(super) struct Sheet<'a> {
    request: &'a ReadRequest,
    tell: &'a dyn Fn(Report),
    lines: Vec<PageLine>,
    told: usize,
    most: usize,
    /// Whether the beginning may go for the end.
    keeps_end: bool,
}

impl<'a> Sheet<'a> {
    pub(super) fn new(request: &'a ReadRequest, flow: &Flow<'a>) -> Sheet<'a> {
        let most = match request.keep {
            Keep::All => MOST_LINES,
            Keep::Start | Keep::End => MOST_IN_PREVIEW,
        };
        let keeps_end = request.keep == Keep::End;
        Sheet { request, tell: flow.tell, lines: Vec::new(), told: 0, most, keeps_end }
    }

    pub(super) fn add(&mut self, spans: Vec<Span>, log_line: u64, turn: u32) {
        for spans in fold(spans, self.request.width) {
            // A transcript begins with a blank line, which is no use at the top.
            if self.told == 0 && self.lines.is_empty() && spans.is_empty() {
                continue;
            }
            self.lines.push(PageLine { spans, log_line, turn });
        }
    }

    /// Tells what has been gathered, if it is enough.
    pub(super) fn tell_some(&mut self) {
        if self.keeps_end {
            if self.lines.len() > 2 * self.most {
                self.lines.drain(..self.lines.len() - self.most);
            }
            return;
        }
        if self.lines.len() >= if self.told == 0 { FIRST_LINES } else { LINES } {
            self.tell();
        }
    }

    fn tell(&mut self) {
        if self.keeps_end && self.lines.len() > self.most {
            self.lines.drain(..self.lines.len() - self.most);
        }
        // What is added later is added.
        self.keeps_end = false;
        if self.lines.is_empty() {
            return;
        }
        self.told += self.lines.len();
        let lines = std::mem::take(&mut self.lines);
        (self.tell)(Report::Lines { ticket: self.request.ticket, lines });
    }

    pub(super) fn is_full(&self) -> bool {
        !self.keeps_end && self.told + self.lines.len() >= self.most
    }

    pub(super) fn end(&mut self, is_cut: bool) {
        self.tell();
        (self.tell)(Report::Read { ticket: self.request.ticket, is_cut });
    }
}
