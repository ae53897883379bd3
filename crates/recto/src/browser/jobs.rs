//! The work of the browser that reads or writes files. It runs beside the screen.

use std::io::Seek;
use std::io::SeekFrom;
use std::path::PathBuf;
use std::sync::Arc;

use recto_log::LineReader;
use recto_log::decode;
use recto_session::FileChange;
use recto_session::ToolCall;
use recto_session::TurnCounter;
use recto_session::export::Format;
use recto_store::Agent;
use recto_store::FileKind;
use recto_store::Home;
use recto_store::open_file;

use super::document::PageLine;
use super::document::fold;
use super::message::Detail;
use super::message::Entry;
use super::message::Errand;
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
use crate::commands::show::ToolDetail;
use crate::commands::tools;
use crate::document_file::Existing;
use crate::error::CommandError;
use crate::output::Captured;
use crate::output::Look;
use crate::output::Output;
use crate::overflow::OverflowFiles;
use crate::reading::Reading;
use crate::text::Span;
use crate::text::plural;
use crate::text::safe;
use crate::transcript::Options;
use crate::transcript::Transcript;

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
    /// Waits before a log is looked at again; gives whether to go on.
    pub(super) wait: &'a dyn Fn() -> bool,
    pub(super) tell: &'a dyn Fn(Report),
}

/// Reads a log, or a part of it, line by line.
pub(super) fn read(home: &Home, request: &ReadRequest, flow: &Flow<'_>) {
    let done = match request.part {
        Part::Conversation => read_conversation(home, request, flow),
        Part::Changes(turn) => read_changes(request, turn, flow),
    };
    if let Err(error) = done {
        let message = format!("cannot read the log: {error}");
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
    let options = match request.detail {
        Detail::Brief => Options { thinking: false, tools: ToolDetail::Brief, meta: false },
        Detail::Full => Options { thinking: true, tools: ToolDetail::Full, meta: false },
        Detail::Words => Options { thinking: false, tools: ToolDetail::None, meta: false },
    };
    let files = OverflowFiles::new(home, &request.target.path);
    Transcript::new(options, Some(request.width), files)
}

fn read_conversation(
    home: &Home,
    request: &ReadRequest,
    flow: &Flow<'_>,
) -> Result<(), CommandError> {
    let (mut output, captured) = Output::captured(request.width);
    let mut shown = transcript(home, request);
    let mut sheet = Sheet::new(request, flow);
    let (mut offset, mut number) = (0, 1);
    loop {
        let mut file = open_file(&request.target.path)?;
        if file.metadata()?.len() < offset {
            (flow.tell)(Report::Begun { ticket: request.ticket });
            (offset, number) = (0, 1);
            shown = transcript(home, request);
            sheet = Sheet::new(request, flow);
        }
        file.seek(SeekFrom::Start(offset))?;
        let mut lines = LineReader::new(file).starting_at(offset, number);
        while let Some(line) = lines.next_line()? {
            if (flow.is_stopped)() {
                return Ok(());
            }
            // Of a log that grows, the last line is read when it is finished.
            if !line.terminated && request.follow {
                break;
            }
            let log_line = line.number;
            (offset, number) = (line.end(), line.number + 1);
            shown.entry(&decode(line).0, &mut output)?;
            take(&captured, &mut sheet, log_line, shown.turn());
            sheet.tell_some();
            if sheet.is_full() {
                sheet.end(true);
                return Ok(());
            }
        }
        if !request.follow {
            shown.end(&mut output)?;
            take(&captured, &mut sheet, number, shown.turn());
            if shown.is_empty() {
                let text = ("(no conversation in this log)".to_owned(), Look::Faint);
                sheet.add(vec![text], number, 0);
            }
        }
        sheet.end(false);
        if !request.follow || !(flow.wait)() {
            return Ok(());
        }
    }
}

fn take(captured: &Captured, sheet: &mut Sheet<'_>, log_line: u64, turn: u32) {
    for spans in captured.take() {
        sheet.add(spans, log_line, turn);
    }
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
    let (ticket, done) = match errand {
        Errand::Tools { ticket, entry, width } => {
            (Some(*ticket), tool_rows(home, entry, *width).map(|rows| (*ticket, rows)))
        }
        Errand::Agents { ticket, entry, width } => {
            (Some(*ticket), agent_rows(home, entry, *width).map(|rows| (*ticket, rows)))
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
    match done {
        Ok((ticket, rows)) => Report::Rows { ticket, rows },
        Err(error) => Report::Failed { ticket, message: format!("cannot read the log: {error}") },
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
    let cells = agents::table(&found).layout(Some(width));
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
        let place = Place { format, path: &path, existing: Existing::Keep };
        match export_to_file(home, &entry.target, None, place) {
            Ok(done) => return Ok((path, done.written)),
            Err(error) if error.kind() == "exists" && number < 1000 => number += 1,
            Err(error) => return Err(error),
        }
    }
}
