//! A log as a conversation that people can read, line by line.
//!
//! Works as the lines come, so that the first screen of a large log is there at
//! once. Everything from the log is made safe before it is written. Lines are spans: the
//! terminal paints them, the browser draws them.

use std::collections::HashMap;

use clap::ValueEnum;
use jiff::Timestamp;
use recto_log::Entry;
use recto_log::Kind;
use recto_log::UserText;
use recto_log::json::Value;
use recto_session::Diff;
use recto_session::Feed;
use recto_session::Item;
use recto_session::NoteKind;
use recto_session::Overflow;
use recto_session::Shown;

use crate::error::CommandError;
use crate::terminal::output::Look;
use crate::terminal::overflow::MOST_SHOWN;
use crate::terminal::overflow::OverflowFiles;
use crate::terminal::overflow::each_line;
use crate::terminal::overflow::text_of;
use crate::terminal::text::Span;
use crate::terminal::text::bytes;
use crate::terminal::text::clock;
use crate::terminal::text::count;
use crate::terminal::text::fit;
use crate::terminal::text::markdown;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;
use crate::terminal::text::safe;
use crate::terminal::text::wrap_each;

/// How many lines of a result are shown unless all are asked for.
const RESULT_LINES: usize = 4;
/// How many lines of a change are shown unless all are asked for.
const DIFF_LINES: usize = 12;
/// How much of a file is read for the first lines of a result.
const OVERFLOW_START: u64 = 16 * 1024;
/// Text on a wide terminal reads badly; on a pipe it is not wrapped at all.
const WIDEST: usize = 100;
/// The longest answer that is shown as headings, lists and code. Nobody reads a longer one on a
/// terminal, and its parts would take many times its memory.
const MOST_RENDERED: usize = 4 * 1024 * 1024;
/// How many calls are remembered to name their results.
const OPEN_CALLS: usize = 10_000;

/// What to show.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Options {
    pub(crate) thinking: bool,
    pub(crate) tools: ToolDetail,
    pub(crate) meta: bool,
    pub(crate) answers: Answers,
}

/// How much of tool calls is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolDetail {
    /// Nothing
    None,
    /// A line for the call, a few for the result
    Brief,
    /// Everything
    Full,
}

/// How the Markdown of answers is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answers {
    /// As the model wrote it.
    Written,
    /// As headings, lists and code, where lines have a width.
    Rendered,
}

/// Where lines go.
pub(crate) type Lines<'w> = dyn FnMut(Vec<Span>) -> Result<(), CommandError> + 'w;

/// Who spoke last, so that a heading comes only when that changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    User,
    Model,
    Client,
}

/// A transcript that is being written.
pub(crate) struct Transcript<'a> {
    options: Options,
    width: Option<usize>,
    speaker: Option<Speaker>,
    calls: HashMap<String, String>,
    feed: Feed,
    /// Where results are that were too long for the log.
    files: OverflowFiles<'a>,
    /// The number that a turn shown alone has.
    only_turn: Option<u32>,
    /// Whether the last thing shown was a tool call or its result.
    after_tool: bool,
    /// The turn of the last thing shown.
    turn: u32,
}

impl<'a> Transcript<'a> {
    pub(crate) fn new(
        options: Options,
        width: Option<usize>,
        files: OverflowFiles<'a>,
    ) -> Transcript<'a> {
        Transcript {
            options,
            width: width.map(|width| width.saturating_sub(2).clamp(20, WIDEST)),
            speaker: None,
            calls: HashMap::new(),
            feed: Feed::default(),
            files,
            only_turn: None,
            after_tool: false,
            turn: 0,
        }
    }

    /// The log is somewhere else, and the files of its results with it.
    pub(crate) fn set_files(&mut self, files: OverflowFiles<'a>) {
        self.files = files;
    }

    /// The number of the turn that was shown last.
    pub(crate) fn turn(&self) -> u32 {
        self.turn
    }

    /// All lines are of one turn, which has this number.
    pub(crate) fn of_turn(mut self, number: u32) -> Transcript<'a> {
        self.only_turn = Some(number);
        self
    }

    /// Whether nothing was shown.
    pub(crate) fn is_empty(&self) -> bool {
        self.speaker.is_none()
    }

    /// Shows one line of the log.
    pub(crate) fn entry(
        &mut self,
        entry: &Entry<'_>,
        lines: &mut Lines<'_>,
    ) -> Result<(), CommandError> {
        if entry.kind() == Kind::Unknown && self.options.meta {
            let name = entry.type_name().unwrap_or("line without a type".into());
            return self.note(
                &format!("({name}, line {})", entry.line().number),
                Look::Faint,
                lines,
            );
        }
        for shown in self.feed.next(entry) {
            self.show(&shown, lines)?;
        }
        Ok(())
    }

    /// Shows what is left when the log has ended.
    pub(crate) fn end(&mut self, lines: &mut Lines<'_>) -> Result<(), CommandError> {
        for shown in self.feed.rest() {
            self.show(&shown, lines)?;
        }
        Ok(())
    }

    /// Shows one item.
    pub(crate) fn show(
        &mut self,
        shown: &Shown,
        lines: &mut Lines<'_>,
    ) -> Result<(), CommandError> {
        let turn = self.only_turn.unwrap_or(shown.turn);
        self.turn = turn;
        self.item(&shown.item, turn, shown.origin.time, lines)
    }

    fn item(
        &mut self,
        item: &Item,
        turn: u32,
        time: Option<Timestamp>,
        lines: &mut Lines<'_>,
    ) -> Result<(), CommandError> {
        match item {
            Item::Prompt { text, pictures, kind, is_queued } => {
                if matches!(kind, UserText::Command | UserText::BashInput) {
                    self.speak(Speaker::User, lines)?;
                    return self.text(text, Look::Tool, lines);
                }
                let mark = if *kind == UserText::AgentTask { "Task" } else { "You" };
                let mut heading = turn.to_string();
                heading.extend(time.map(|time| format!("  {}", clock(time))));
                heading.push_str(if *is_queued { "  queued" } else { "" });
                self.prompt((mark, &heading), text, *pictures, lines)
            }
            Item::Answer { text } => {
                self.speak(Speaker::Model, lines)?;
                if std::mem::take(&mut self.after_tool) {
                    lines(Vec::new())?;
                }
                self.answer(text, lines)
            }
            Item::Thinking { text } => {
                if !self.options.thinking {
                    return Ok(());
                }
                self.speak(Speaker::Model, lines)?;
                let text =
                    if text.is_empty() { "(thinking, not shown by the model)" } else { text };
                self.text(text, Look::Faint, lines)
            }
            Item::Call { id, name, about, input } => self.call(id, name, about, input, lines),
            Item::Result { id, text, pictures, is_error, diff, overflow } => {
                if self.options.tools == ToolDetail::None {
                    return Ok(());
                }
                self.name_result(id, lines)?;
                if let Some(overflow) = overflow {
                    return self.overflow(id, text, *is_error, overflow, lines);
                }
                match diff {
                    Some(diff) => self.diff(diff, lines),
                    None if text.is_empty() && *pictures > 0 => self.result_text(
                        &format!("({})", plural(*pictures as u64, "image")),
                        *is_error,
                        lines,
                    ),
                    None => self.result_text(text, *is_error, lines),
                }
            }
            Item::Note { kind, text } => self.note_item(*kind, text, lines),
        }
    }

    fn prompt(
        &mut self,
        (mark, heading): (&str, &str),
        text: &str,
        pictures: usize,
        lines: &mut Lines<'_>,
    ) -> Result<(), CommandError> {
        lines(Vec::new())?;
        lines(vec![span(Look::User, mark), span(Look::Plain, "  "), span(Look::Faint, heading)])?;
        self.speaker = Some(Speaker::User);
        self.after_tool = false;
        self.text(text, Look::Plain, lines)?;
        if pictures > 0 {
            self.text(&format!("({})", plural(pictures as u64, "image")), Look::Faint, lines)?;
        }
        Ok(())
    }

    fn call(
        &mut self,
        id: &str,
        name: &str,
        about: &str,
        input: &[u8],
        lines: &mut Lines<'_>,
    ) -> Result<(), CommandError> {
        if self.calls.len() < OPEN_CALLS {
            self.calls.insert(id.to_owned(), name.to_owned());
        }
        if self.options.tools == ToolDetail::None {
            return Ok(());
        }
        self.speak(Speaker::Model, lines)?;
        self.after_tool = true;
        let name = one_line(name);
        let room = self.width.unwrap_or(usize::MAX).saturating_sub(name.len() + 6);
        let is_full = self.options.tools == ToolDetail::Full;
        let about = if is_full { String::new() } else { fit(&one_line(about), room) };
        lines(vec![
            span(Look::Plain, "  "),
            span(Look::Tool, "⏺"),
            span(Look::Plain, " "),
            span(Look::Strong, &name),
            span(Look::Plain, &format!(" {about}")),
        ])?;
        if is_full && let Ok(input) = Value::parse(input) {
            for member in input.members() {
                let value = member
                    .value
                    .as_str()
                    .unwrap_or_else(|| String::from_utf8_lossy(member.value.bytes()));
                self.indented(&format!("{}: {value}", member.key()), "    ", Look::Faint, lines)?;
            }
        }
        Ok(())
    }

    /// Says whose result it is, where something else stands between.
    fn name_result(&mut self, id: &str, lines: &mut Lines<'_>) -> Result<(), CommandError> {
        let name = self.calls.remove(id);
        if self.speaker == Some(Speaker::Model) {
            return Ok(());
        }
        self.speak(Speaker::Model, lines)?;
        let text = format!("result of {}", one_line(name.as_deref().unwrap_or("a tool")));
        lines(set_in("  ", Look::Faint, &text))
    }

    /// What an edit changed.
    fn diff(&mut self, diff: &Diff, lines: &mut Lines<'_>) -> Result<(), CommandError> {
        let sum = format!("{} added, {} removed", plural(diff.added, "line"), count(diff.removed));
        lines(set_in("  ⎿ ", Look::Faint, &sum))?;
        let most = if self.options.tools == ToolDetail::Full { usize::MAX } else { DIFF_LINES };
        let room = self.width.map_or(usize::MAX, |width| width.saturating_sub(6));
        for line in diff.lines.iter().take(most) {
            let look = match line.chars().next() {
                Some('+') => Look::Good,
                Some('-') => Look::Bad,
                _ => Look::Faint,
            };
            let line = fit(&safe(line).replace(['\n', '\t'], "    "), room);
            lines(set_in("    ", look, &line))?;
        }
        self.more(diff.lines.len(), most, lines)
    }

    /// The text of a result, cut to a few lines.
    fn result_text(
        &mut self,
        text: &str,
        is_error: bool,
        lines: &mut Lines<'_>,
    ) -> Result<(), CommandError> {
        let look = if is_error { Look::Bad } else { Look::Faint };
        let text = safe(text.trim_end());
        let shown: Vec<&str> = text.lines().collect();
        if shown.is_empty() {
            return lines(set_in("  ⎿ ", Look::Faint, "(nothing)"));
        }
        let is_full = self.options.tools == ToolDetail::Full;
        let most = if is_full { usize::MAX } else { RESULT_LINES };
        let room = self.width.map_or(usize::MAX, |width| width.saturating_sub(4));
        for (at, line) in shown.iter().take(most).enumerate() {
            let lead = if at == 0 { "  ⎿ " } else { "    " };
            let line = line.replace('\t', "    ");
            let line = if is_full { line } else { fit(&line, room) };
            lines(set_in(lead, look, &line))?;
        }
        self.more(shown.len(), most, lines)
    }

    /// A result that is in a file: its first lines, or all of it.
    fn overflow(
        &mut self,
        id: &str,
        text: &str,
        is_error: bool,
        overflow: &Overflow,
        lines: &mut Lines<'_>,
    ) -> Result<(), CommandError> {
        let name = one_line(&overflow.name);
        let file = self.files.find(id, overflow);
        let is_there = file.is_some();
        // A file that cannot be read is no reason to stop here.
        let start = file.as_ref().and_then(|file| text_of(&file.path, OVERFLOW_START).ok());
        let (Some(file), Some(start)) = (file, start) else {
            self.result_text(text, is_error, lines)?;
            let is_refused = is_there || self.files.is_refused(id, overflow);
            let remark = Overflow { is_refused, ..overflow.clone() }.remark();
            let remark = one_line(&remark);
            return lines(set_in("    ", Look::Warning, &remark));
        };
        let is_full = self.options.tools == ToolDetail::Full;
        if !is_full || start.is_empty() {
            let first: Vec<&str> = start.lines().take(RESULT_LINES).collect();
            self.result_text(&first.join("\n"), is_error, lines)?;
            let more = format!("… {} in total, in {name}", bytes(file.bytes));
            return lines(set_in("    ", Look::Faint, &more));
        }
        let look = if is_error { Look::Bad } else { Look::Faint };
        let mut lead = "  ⎿ ";
        each_line(&file.path, |line| {
            let line = safe(line).replace('\t', "    ").replace('\n', " ");
            lines(set_in(std::mem::replace(&mut lead, "    "), look, &line))
        })?;
        if file.bytes > MOST_SHOWN {
            let more = format!("… cut, {} in total, in {name}", bytes(file.bytes));
            lines(set_in("    ", Look::Warning, &more))?;
        }
        Ok(())
    }

    fn more(&self, all: usize, shown: usize, lines: &mut Lines<'_>) -> Result<(), CommandError> {
        if all <= shown {
            return Ok(());
        }
        let more = format!("… {}", plural((all - shown) as u64, "more line"));
        lines(set_in("    ", Look::Faint, &more))
    }

    fn note_item(
        &mut self,
        kind: NoteKind,
        text: &str,
        lines: &mut Lines<'_>,
    ) -> Result<(), CommandError> {
        match kind {
            NoteKind::Meta if !self.options.meta => Ok(()),
            NoteKind::Meta | NoteKind::Remark => self.note(text, Look::Faint, lines),
            NoteKind::Output => self.result_text(text, false, lines),
            NoteKind::Summary => {
                self.note("summary of the conversation so far", Look::Warning, lines)?;
                if self.options.meta { self.text(text, Look::Faint, lines) } else { Ok(()) }
            }
            NoteKind::Compaction => self.note(&format!("── {text} ──"), Look::Warning, lines),
            NoteKind::Interrupt | NoteKind::Hook => self.note(text, Look::Warning, lines),
            NoteKind::Task => self.note(text, Look::Tool, lines),
            NoteKind::ApiError => self.note(text, Look::Bad, lines),
            NoteKind::Damage => self.note(&format!("({text})"), Look::Bad, lines),
        }
    }

    /// A heading, if somebody else spoke before.
    fn speak(&mut self, speaker: Speaker, lines: &mut Lines<'_>) -> Result<(), CommandError> {
        if self.speaker == Some(speaker) {
            return Ok(());
        }
        self.speaker = Some(speaker);
        self.after_tool = false;
        lines(Vec::new())?;
        match speaker {
            Speaker::User => lines(vec![span(Look::User, "You")]),
            Speaker::Model => lines(vec![span(Look::Model, "Claude")]),
            Speaker::Client => Ok(()),
        }
    }

    /// A remark of the client's, on its own.
    fn note(&mut self, text: &str, look: Look, lines: &mut Lines<'_>) -> Result<(), CommandError> {
        self.speak(Speaker::Client, lines)?;
        self.text(text, look, lines)
    }

    /// Markdown as what it is, or as written.
    fn answer(&mut self, text: &str, lines: &mut Lines<'_>) -> Result<(), CommandError> {
        let is_rendered = self.options.answers == Answers::Rendered && text.len() <= MOST_RENDERED;
        let Some(width) = self.width.filter(|_| is_rendered) else {
            return self.text(text, Look::Plain, lines);
        };
        for mut line in markdown(&safe(text), width) {
            line.insert(0, span(Look::Plain, "  "));
            lines(line)?;
        }
        Ok(())
    }

    fn text(&mut self, text: &str, look: Look, lines: &mut Lines<'_>) -> Result<(), CommandError> {
        self.indented(text, "  ", look, lines)
    }

    fn indented(
        &self,
        text: &str,
        indent: &str,
        look: Look,
        lines: &mut Lines<'_>,
    ) -> Result<(), CommandError> {
        let text = safe(text.trim_end());
        let mut put = |line: String| lines(vec![span(Look::Plain, indent), (line, look)]);
        match self.width {
            Some(width) => wrap_each(&text, width, &mut put),
            // A text of one line may be long: it is not copied once more.
            None if !text.contains('\n') => put(text),
            None => text.split('\n').try_for_each(|line| put(line.to_owned())),
        }
    }
}

fn span(look: Look, text: &str) -> Span {
    (text.to_owned(), look)
}

/// A line of one look, set in.
fn set_in(indent: &str, look: Look, text: &str) -> Vec<Span> {
    vec![span(Look::Plain, indent), span(look, text)]
}
