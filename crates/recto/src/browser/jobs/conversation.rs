//! The conversation of a log, read once or followed.

use std::time::Duration;

use recto_log::LineReader;
use recto_log::Lines;
use recto_log::RawLine;
use recto_log::decode;
use recto_store::Home;
use recto_store::follow::LogChange;
use recto_store::follow::LogFollower;
use recto_store::open_file;

use super::Flow;
use super::sheet::Sheet;
use crate::browser::message::Detail;
use crate::browser::message::FoundPlace;
use crate::browser::message::ReadRequest;
use crate::browser::message::Report;
use crate::error::CommandError;
use crate::terminal::output::Look;
use crate::terminal::overflow::OverflowFiles;
use crate::terminal::text::Span;
use crate::terminal::text::safe;
use crate::terminal::text::wrap;
use crate::terminal::transcript::Answers;
use crate::terminal::transcript::Options;
use crate::terminal::transcript::ToolDetail;
use crate::terminal::transcript::Transcript;

fn transcript<'a>(home: &'a Home, request: &'a ReadRequest) -> Transcript<'a> {
    let (thinking, tools) = match request.detail {
        Detail::Brief => (false, ToolDetail::Brief),
        Detail::Full => (true, ToolDetail::Full),
        Detail::Words => (false, ToolDetail::None),
    };
    let options = Options { thinking, tools, meta: false, answers: Answers::Rendered };
    let files = OverflowFiles::new(home, &request.log.path);
    Transcript::new(options, Some(request.width), files)
}

/// Reads the log as a conversation.
pub(super) fn read_conversation(
    home: &Home,
    request: &ReadRequest,
    flow: &Flow<'_>,
) -> Result<(), CommandError> {
    let mut page = Conversation::new(home, request, flow);
    if request.follow {
        return follow_conversation(&mut page);
    }
    let mut lines = LineReader::new(open_file(&request.log.path)?);
    while let Some(line) = lines.next_line()? {
        if page.line(line)? == Goes::NoFurther {
            return Ok(());
        }
    }
    page.end()
}

/// Reads what there is, and then what comes.
fn follow_conversation(page: &mut Conversation<'_>) -> Result<(), CommandError> {
    let mut follower = LogFollower::new(&page.request.log.path)?;
    (page.flow.waits)(follower.waker());
    loop {
        let mut changes = follower.next(Duration::ZERO);
        // Who stops this wakes the follower afterwards, so it is seen here, or ends the wait.
        if (page.flow.is_stopped)() {
            return Ok(());
        }
        if changes.is_empty() {
            page.sheet.end(false);
            changes = follower.next(Duration::MAX);
        }
        for change in changes {
            if page.take(change)? == Goes::NoFurther {
                return Ok(());
            }
        }
    }
}

/// Whether more lines are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goes {
    On,
    NoFurther,
}

/// A transcript on its way to the screen.
struct Conversation<'a> {
    home: &'a Home,
    request: &'a ReadRequest,
    flow: &'a Flow<'a>,
    shown: Transcript<'a>,
    sheet: Sheet<'a>,
    /// The number of the next line.
    number: u64,
}

impl<'a> Conversation<'a> {
    fn new(home: &'a Home, request: &'a ReadRequest, flow: &'a Flow<'a>) -> Conversation<'a> {
        let shown = transcript(home, request);
        let sheet = Sheet::new(request, flow);
        Conversation { home, request, flow, shown, sheet, number: 1 }
    }

    fn take(&mut self, change: LogChange) -> Result<Goes, CommandError> {
        match change {
            LogChange::Lines(offset, bytes) => {
                for line in Lines::new(&bytes).starting_at(offset, self.number) {
                    if self.line(line)? == Goes::NoFurther {
                        return Ok(Goes::NoFurther);
                    }
                }
            }
            LogChange::LongLine { offset, start, length } => {
                let number = self.number;
                let line = RawLine { offset, number, bytes: &start, length, terminated: true };
                return self.line(line);
            }
            LogChange::Restarted => {
                (self.flow.tell)(Report::Begun { ticket: self.request.ticket });
                self.shown = transcript(self.home, self.request);
                self.sheet = Sheet::new(self.request, self.flow);
                self.number = 1;
            }
            // What was read of it stays on the screen.
            LogChange::Removed => {
                let text = "the log no longer exists; recto waits for it";
                (self.flow.tell)(Report::Remark(text.into()));
            }
        }
        Ok(Goes::On)
    }

    fn line(&mut self, line: RawLine<'_>) -> Result<Goes, CommandError> {
        if (self.flow.is_stopped)() {
            return Ok(Goes::NoFurther);
        }
        let log_line = line.number;
        self.number = log_line + 1;
        let mut lines = Vec::new();
        self.shown.entry(&decode(line).0, &mut gather(&mut lines))?;
        self.add(lines, log_line);
        self.sheet.tell_some();
        if self.sheet.is_full() {
            self.sheet.end(true);
            return Ok(Goes::NoFurther);
        }
        Ok(Goes::On)
    }

    fn end(&mut self) -> Result<(), CommandError> {
        let mut lines = Vec::new();
        self.shown.end(&mut gather(&mut lines))?;
        self.add(lines, self.number);
        if self.shown.is_empty() {
            let text = ("(no conversation in this log)".to_owned(), Look::Faint);
            self.sheet.add(vec![text], self.number, 0);
        }
        self.sheet.end(false);
        Ok(())
    }

    /// Takes what the transcript shows of a line of the log.
    fn add(&mut self, mut lines: Vec<Vec<Span>>, log_line: u64) {
        let place = self.request.place.as_ref().filter(|place| place.hit.line == log_line);
        if let Some(place) = place.filter(|place| !is_seen(place, &lines)) {
            lines.extend(lines_apart(place, self.request.width));
        }
        for spans in lines {
            self.sheet.add(spans, log_line, self.shown.turn());
        }
    }
}

/// Takes lines of a transcript, without the space at their ends.
fn gather(lines: &mut Vec<Vec<Span>>) -> impl FnMut(Vec<Span>) -> Result<(), CommandError> {
    |mut line| {
        line.retain(|(text, _)| !text.is_empty());
        while let Some((text, Look::Plain)) = line.last_mut() {
            text.truncate(text.trim_end().len());
            if !text.is_empty() {
                break;
            }
            line.pop();
        }
        lines.push(line);
        Ok(())
    }
}

/// Whether lines show what was found. Signs do not count, because those of Markdown are
/// not shown, nor does space, because lines are broken.
fn is_seen(place: &FoundPlace, lines: &[Vec<Span>]) -> bool {
    let letters = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let text: String = lines.iter().flatten().map(|(text, _)| letters(text)).collect();
    !text.is_empty() && place.words.iter().all(|word| text.contains(&letters(word)))
}

/// A text that the transcript leaves out. It is not there if the log has changed.
fn lines_apart(place: &FoundPlace, width: usize) -> Vec<Vec<Span>> {
    let hit = &place.hit;
    let Some(found) = hit.read() else { return Vec::new() };
    let heading = format!("── {}, line {} of the log ──", hit.role.name(), hit.line);
    let mut lines = vec![Vec::new(), vec![(heading, Look::Warning)]];
    let text = safe(found.text.trim());
    let wrapped = wrap(&text, width.saturating_sub(2)).into_iter();
    lines.extend(wrapped.map(|line| vec![(format!("  {line}"), Look::Faint)]));
    lines
}
