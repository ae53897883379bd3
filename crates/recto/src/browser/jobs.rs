//! The work of the browser that reads or writes files. It runs beside the screen.

use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use recto_log::LineReader;
use recto_log::Lines;
use recto_log::RawLine;
use recto_log::decode;
use recto_session::FileChange;
use recto_session::ToolCall;
use recto_session::TurnCounter;
use recto_session::export::Format;
use recto_store::Agent;
use recto_store::FileKind;
use recto_store::Home;
use recto_store::follow::LogChange;
use recto_store::follow::LogFollower;
use recto_store::follow::Waker;
use recto_store::open_file;

use super::document::PageLine;
use super::document::fold;
use super::message::Detail;
use super::message::Entry;
use super::message::Errand;
use super::message::FoundPlace;
use super::message::Keep;
use super::message::LeadsTo;
use super::message::Part;
use super::message::ReadRequest;
use super::message::Report;
use super::message::TableRow;
use super::state::shown_path;
use crate::commands::agents;
use crate::commands::export::Place;
use crate::commands::export::export_to_file;
use crate::commands::tools;
use crate::error::CommandError;
use crate::reading::Reading;
use crate::terminal::document_file::Existing;
use crate::terminal::output::Look;
use crate::terminal::overflow::OverflowFiles;
use crate::terminal::text::Span;
use crate::terminal::text::plural;
use crate::terminal::text::safe;
use crate::terminal::text::wrap;
use crate::terminal::transcript::Answers;
use crate::terminal::transcript::Options;
use crate::terminal::transcript::ToolDetail;
use crate::terminal::transcript::Transcript;

/// How many lines of the screen are kept of a log.
const MOST_LINES: usize = 200_000;
/// How many for a preview.
const MOST_IN_PREVIEW: usize = 2000;
/// How many lines make the first report: more than a screen has.
const FIRST_LINES: usize = 100;
/// How many lines make every other report.
const LINES: usize = 1000;

/// How work is stopped, and where it tells what it found.
pub(super) struct Flow<'a> {
    pub(super) is_stopped: &'a dyn Fn() -> bool,
    /// Takes what ends the wait for more of a log.
    pub(super) waits: &'a dyn Fn(Waker),
    pub(super) tell: &'a dyn Fn(Report),
}

/// Reads a log, or a part of it, line by line.
pub(super) fn read(home: &Home, request: &ReadRequest, flow: &Flow<'_>) {
    let done = match request.part {
        Part::Conversation => read_conversation(home, request, flow),
        Part::Changes(turn) => read_changes(request, turn, flow),
    };
    if let Err(error) = done {
        let message = cannot_read(&error, &request.target.path);
        (flow.tell)(Report::Failed { ticket: Some(request.ticket), message });
    }
}

/// Lines on their way to the screen.
struct Sheet<'a> {
    request: &'a ReadRequest,
    tell: &'a dyn Fn(Report),
    lines: Vec<PageLine>,
    told: usize,
    most: usize,
    /// Whether the beginning may go for the end.
    keeps_end: bool,
}

impl<'a> Sheet<'a> {
    fn new(request: &'a ReadRequest, flow: &Flow<'a>) -> Sheet<'a> {
        let most = match request.keep {
            Keep::All => MOST_LINES,
            Keep::Start | Keep::End => MOST_IN_PREVIEW,
        };
        let keeps_end = request.keep == Keep::End;
        Sheet { request, tell: flow.tell, lines: Vec::new(), told: 0, most, keeps_end }
    }

    fn add(&mut self, spans: Vec<Span>, log_line: u64, turn: u32) {
        for spans in fold(spans, self.request.width) {
            // A transcript begins with a blank line, which is no use at the top.
            if self.told == 0 && self.lines.is_empty() && spans.is_empty() {
                continue;
            }
            self.lines.push(PageLine { spans, log_line, turn });
        }
    }

    /// Tells what has been gathered, if it is enough.
    fn tell_some(&mut self) {
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

    fn is_full(&self) -> bool {
        !self.keeps_end && self.told + self.lines.len() >= self.most
    }

    fn end(&mut self, is_cut: bool) {
        self.tell();
        (self.tell)(Report::Read { ticket: self.request.ticket, is_cut });
    }
}

fn transcript<'a>(home: &'a Home, request: &'a ReadRequest) -> Transcript<'a> {
    let (thinking, tools) = match request.detail {
        Detail::Brief => (false, ToolDetail::Brief),
        Detail::Full => (true, ToolDetail::Full),
        Detail::Words => (false, ToolDetail::None),
    };
    let options = Options { thinking, tools, meta: false, answers: Answers::Rendered };
    let files = OverflowFiles::new(home, &request.target.path);
    Transcript::new(options, Some(request.width), files)
}

fn read_conversation(
    home: &Home,
    request: &ReadRequest,
    flow: &Flow<'_>,
) -> Result<(), CommandError> {
    let mut page = Conversation::new(home, request, flow);
    if request.follow {
        return follow_conversation(&mut page);
    }
    let mut lines = LineReader::new(open_file(&request.target.path)?);
    while let Some(line) = lines.next_line()? {
        if page.line(line)? == Goes::NoFurther {
            return Ok(());
        }
    }
    page.end()
}

/// Reads what there is, and then what comes.
fn follow_conversation(page: &mut Conversation<'_>) -> Result<(), CommandError> {
    let mut follower = LogFollower::new(&page.request.target.path)?;
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
                let text = "the log is gone; it is read if it comes again";
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

/// What the file tools changed in a turn, as diffs.
fn read_changes(request: &ReadRequest, turn: u32, flow: &Flow<'_>) -> Result<(), CommandError> {
    let mut sheet = Sheet::new(request, flow);
    let mut turns = TurnCounter::default();
    let mut lines = LineReader::new(open_file(&request.target.path)?);
    let mut count = 0;
    while let Some(line) = lines.next_line()? {
        if (flow.is_stopped)() {
            return Ok(());
        }
        let log_line = line.number;
        let (entry, _) = decode(line);
        if turns.next(&entry) != turn {
            continue;
        }
        let Some(change) = FileChange::of(&entry) else { continue };
        count += 1;
        for spans in change_lines(&change) {
            sheet.add(spans, log_line, turn);
        }
        sheet.tell_some();
        if sheet.is_full() {
            sheet.end(true);
            return Ok(());
        }
    }
    if count == 0 {
        let text = format!("turn {turn} changed no file with the file tools");
        sheet.add(vec![(text, Look::Faint)], 0, turn);
    }
    sheet.end(false);
    Ok(())
}

fn change_lines(change: &FileChange) -> Vec<Vec<Span>> {
    let clean = |text: &str| safe(text).replace('\t', "    ").replace('\n', " ");
    let new_lines =
        |text: &str| -> Vec<String> { text.lines().map(|line| format!("+{line}")).collect() };
    let mut hunks: Vec<(Option<usize>, Vec<String>)> =
        change.hunks.iter().map(|hunk| (Some(hunk.new_start), hunk.lines.clone())).collect();
    if hunks.is_empty() {
        if let Some((old, new)) = &change.replaced {
            let removed = old.lines().map(|line| format!("-{line}"));
            hunks.push((None, removed.chain(new_lines(new)).collect()));
        } else if let Some(after) = &change.after {
            hunks.push((None, new_lines(after)));
        }
    }
    let count = |sign: char| {
        let lines = hunks.iter().flat_map(|(_, lines)| lines);
        lines.filter(|line| line.starts_with(sign)).count() as u64
    };
    let (added, removed) = (count('+'), count('-'));
    let kind = if change.is_new { "new file, " } else { "" };
    let sum = format!("  {kind}{} added, {removed} removed", plural(added, "line"));
    let mut shown = vec![vec![(clean(&change.path), Look::Strong), (sum, Look::Faint)]];
    for (start, lines) in hunks {
        if let Some(start) = start.filter(|start| *start > 0) {
            shown.push(vec![(format!("  line {start}"), Look::Faint)]);
        }
        for line in lines {
            let look = match line.chars().next() {
                Some('+') => Look::Good,
                Some('-') => Look::Bad,
                _ => Look::Faint,
            };
            shown.push(vec![("  ".into(), Look::Plain), (clean(&line), look)]);
        }
    }
    shown.push(Vec::new());
    shown
}

/// Does an errand. Where documents go is where the browser was started.
pub(super) fn errand(
    home: &Home,
    errand: &Errand,
    (directory, user_home): (Option<&PathBuf>, Option<&PathBuf>),
) -> Report {
    let (ticket, entry, rows) = match errand {
        Errand::Tools { ticket, entry, width } => (*ticket, entry, tool_rows(home, entry, *width)),
        Errand::Agents { ticket, entry, width } => {
            (*ticket, entry, agent_rows(home, entry, *width))
        }
        Errand::Export { entry, format } => {
            return match export(home, entry, *format, directory) {
                Ok((path, bytes)) => Report::Exported { path: shown_path(&path, user_home), bytes },
                Err(error) => Report::Failed {
                    ticket: None,
                    message: format!("the document could not be written: {error}"),
                },
            };
        }
    };
    match rows {
        Ok(rows) => Report::Rows { ticket, rows },
        Err(error) => {
            let message = cannot_read(&error, &entry.target.path);
            Report::Failed { ticket: Some(ticket), message }
        }
    }
}

/// The reason comes before the path, which may be longer than the screen is wide.
fn cannot_read(error: &CommandError, path: &Path) -> String {
    let (text, path) = (error.to_string(), path.display());
    match text.strip_prefix(&format!("{path}: ")) {
        Some(why) => format!("cannot read the log: {why}: {path}"),
        None => format!("cannot read the log: {text}"),
    }
}

fn tool_rows(home: &Home, entry: &Entry, width: usize) -> Result<Vec<TableRow>, CommandError> {
    let reading = Reading::of(entry.target.clone(), home.inventory())?;
    let calls: Vec<&ToolCall> = reading.session().facts().calls.iter().collect();
    let cells = tools::table(&reading, &calls).layout(Some(width));
    let rows = calls.iter().zip(cells).map(|(call, cells)| {
        let node = call.call.or(call.result).map(|id| reading.session().node(id));
        TableRow {
            spans: vec![(cells.join("  ").trim_end().to_owned(), tools::look(call))],
            leads_to: LeadsTo::Line(node.map_or(1, |node| node.line)),
        }
    });
    Ok(rows.collect())
}

fn agent_rows(home: &Home, entry: &Entry, width: usize) -> Result<Vec<TableRow>, CommandError> {
    let reading = Reading::of(entry.target.clone(), home.inventory())?;
    let Some(file) = &reading.target.session else { return Ok(Vec::new()) };
    let mut found = home.agent_tree(&reading.inventory, file, reading.session());
    found.retain(|agent| agent.kind == FileKind::Agent);
    let cells = agents::table_by_task(&found, width).layout(Some(width));
    let rows = found.iter().zip(cells).map(|(agent, cells)| TableRow {
        spans: vec![(cells.join("  ").trim_end().to_owned(), Look::Plain)],
        leads_to: LeadsTo::Log(Arc::new(entry_of_agent(entry, agent))),
    });
    Ok(rows.collect())
}

fn entry_of_agent(session: &Entry, agent: &Agent) -> Entry {
    let (kind, task) = agents::about(agent);
    let title = [kind.as_str(), task.as_str()].join(" · ");
    session.of_agent(&agent.file, title.trim_matches([' ', '·']).to_owned())
}

/// Writes a document beside where the browser was started, under a name that is free.
fn export(
    home: &Home,
    entry: &Entry,
    format: Format,
    directory: Option<&PathBuf>,
) -> Result<(PathBuf, u64), CommandError> {
    let name = |number: usize| {
        let id = entry.short_id();
        let extension = format.extension();
        if number == 1 { format!("{id}.{extension}") } else { format!("{id}-{number}.{extension}") }
    };
    let directory = directory.cloned().unwrap_or_default();
    let mut number = 1;
    loop {
        let path = directory.join(name(number));
        let place = Place {
            format,
            path: &path,
            existing: Existing::Keep { hint: "remove older documents first" },
        };
        match export_to_file(home, &entry.target, None, place) {
            Ok(done) => return Ok((path, done.written)),
            Err(error) if error.kind() == "exists" && number < 1000 => number += 1,
            Err(error) => return Err(error),
        }
    }
}
