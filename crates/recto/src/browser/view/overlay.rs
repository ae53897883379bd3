//! What lies over the screen: help and questions.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

use super::View;
use super::span;
use crate::browser::document::fold;
use crate::browser::keys;
use crate::browser::message::Entry;
use crate::browser::overlay::FORMATS;
use crate::browser::overlay::Overlay;
use crate::browser::overlay::copies;
use crate::browser::state::Browser;
use crate::terminal::output::Look;
use crate::terminal::text::Span;
use crate::terminal::text::fit;
use crate::terminal::text::one_line;
use crate::terminal::text::plural;
use crate::terminal::text::wrap;

impl View<'_> {
    pub(super) fn overlay(&self, overlay: &Overlay, buffer: &mut Buffer) {
        match overlay {
            Overlay::Help { top } => {
                let lines = help_lines(self.browser);
                let area = self.frame("Keys", lines.len(), widest(&lines), buffer);
                let rest = lines.len().saturating_sub(*top + usize::from(area.height));
                self.lines(&lines[(*top).min(lines.len())..], area, buffer);
                if rest > 0 {
                    let more = span(format!(" ↓ {rest} more "), Look::Warning);
                    let line = Rect { y: area.bottom(), height: 1, ..area };
                    self.theme.put_right(buffer, line, &[more]);
                }
            }
            Overlay::Copy { entries, clips, chosen, .. } => {
                let room = usize::from(self.size.0).saturating_sub(4);
                let mut lines = Vec::new();
                let mut at_line = 0;
                let copies = copies(entries, clips, &self.browser.facts);
                let facts = copies.len() - clips.len();
                for (at, clip) in copies.into_iter().enumerate() {
                    if at == *chosen {
                        at_line = lines.len();
                    }
                    lines.push(choice(clip.letter, &clip.name));
                    let text = span(format!("   {}", one_line(&clip.text)), Look::Faint);
                    match at < facts && entries.len() == 1 {
                        // All of it is shown, for terminals that take no copy.
                        true => lines.extend(fold(vec![text], room)),
                        false => lines.push(vec![span(fit(&text.0, room.min(60)), Look::Faint)]),
                    }
                }
                self.question("Copy", &lines, Some(at_line), buffer);
            }
            Overlay::Export { entries, chosen } => {
                let lines: Vec<Vec<Span>> =
                    FORMATS.iter().map(|(letter, name, _)| choice(*letter, name)).collect();
                let title = format!("Export {} as", named(entries));
                self.question(&title, &lines, Some(*chosen), buffer);
            }
            Overlay::Rename { entry, typed } => {
                let width = usize::from(self.size.0).saturating_sub(8).min(60);
                // Of a long title, the end is what is being typed.
                let skipped = typed.chars().count().saturating_sub(width);
                let shown: String = typed.chars().skip(skipped).collect();
                let mut line = vec![span(shown, Look::Plain), span("▏", Look::User)];
                let used = widest(std::slice::from_ref(&line));
                line.push(span(" ".repeat(width.saturating_sub(used)), Look::Plain));
                let title = format!("Rename {}", entry.short_id());
                self.framed(&title, &[line], " enter renames, esc cancels ", buffer);
            }
            Overlay::Fork { entry, turn } => {
                let turns =
                    if *turn == 1 { "turn 1".to_owned() } else { format!("turns 1 to {turn}") };
                let text = format!("Make a new session with {turns} of {}.", entry.short_id());
                let lines = [
                    vec![span(text, Look::Plain)],
                    vec![span("The original session does not change.", Look::Plain)],
                    Vec::new(),
                    choice('y', "make the new session"),
                ];
                self.question("Fork", &lines, None, buffer);
            }
            Overlay::Remove { entries } => {
                let room = usize::from(self.size.0).saturating_sub(4);
                let row = |entry: &Arc<Entry>| {
                    let text = format!("{}  {}", entry.short_id(), entry.title);
                    vec![span(fit(&text, room), Look::Plain)]
                };
                let mut lines: Vec<_> = entries.iter().take(MOST_NAMED).map(row).collect();
                if entries.len() > MOST_NAMED {
                    let more = format!("and {} more", entries.len() - MOST_NAMED);
                    lines.push(vec![span(more, Look::Plain)]);
                }
                let kept = "With subagents, results and snapshots. U brings all of it back.";
                lines.extend([vec![span(kept, Look::Faint)], Vec::new()]);
                lines.push(choice('y', &format!("remove {}", named(entries))));
                self.question("Remove", &lines, None, buffer);
            }
            Overlay::Undo { operation, command } => {
                let room = usize::from(self.size.0).saturating_sub(4);
                let text = span(format!("recto {command}"), Look::Plain);
                let mut lines = fold(vec![text], room);
                lines.push(Vec::new());
                lines.push(choice('y', "undo it"));
                self.question(&format!("Undo operation {operation}"), &lines, None, buffer);
            }
            Overlay::Resume { entry } => {
                let pid = entry.live.map_or(0, |live| live.pid);
                let text = format!("This session is already open (process {pid}).");
                let mut lines = vec![
                    vec![span(text, Look::Warning)],
                    vec![span("Two programs would write to the same log.", Look::Plain)],
                    Vec::new(),
                    choice('y', "resume it here anyway"),
                ];
                if self.browser.facts.in_tmux {
                    lines.push(choice('p', "go to its tmux pane"));
                }
                self.question("Resume", &lines, None, buffer);
            }
            Overlay::Restore { entry } => {
                let text = format!("Session {} is only in the archive.", entry.short_id());
                let lines = [
                    vec![span(text, Look::Warning)],
                    vec![span("Restore it to resume it.", Look::Plain)],
                    Vec::new(),
                    choice('y', "restore it"),
                ];
                self.question("Restore", &lines, None, buffer);
            }
        }
    }

    /// A few lines to choose from. One of them may be the one that enter takes.
    fn question(
        &self,
        title: &str,
        lines: &[Vec<Span>],
        chosen: Option<usize>,
        buffer: &mut Buffer,
    ) {
        let keys = match chosen {
            Some(_) => " ↑↓ enter, esc cancels ",
            None => " esc cancels ",
        };
        let area = self.framed(title, lines, keys, buffer);
        if let Some(at) = chosen.filter(|at| *at < usize::from(area.height)) {
            let line = Rect { y: area.y + at as u16, height: 1, ..area };
            buffer.set_style(line, Style::new().add_modifier(Modifier::REVERSED));
        }
    }

    /// Lines in a frame, with keys below; gives where the lines are.
    fn framed(&self, title: &str, lines: &[Vec<Span>], keys: &str, buffer: &mut Buffer) -> Rect {
        let area = self.frame(title, lines.len(), widest(lines).max(keys.width()), buffer);
        self.lines(lines, area, buffer);
        let line = Rect { y: area.bottom(), height: 1, ..area };
        self.theme.put_right(buffer, line, &[span(keys, Look::Faint)]);
        area
    }

    fn lines(&self, lines: &[Vec<Span>], area: Rect, buffer: &mut Buffer) {
        for (row, spans) in lines.iter().take(area.height.into()).enumerate() {
            let mut spans = spans.clone();
            if let [(text, _)] = spans.as_mut_slice() {
                *text = fit(text, area.width.into());
            }
            let line = Rect { y: area.y + row as u16, height: 1, ..area };
            self.theme.put(buffer, line, &spans);
        }
    }

    /// An empty frame in the middle of the screen; gives what is inside.
    fn frame(&self, title: &str, height: usize, width: usize, buffer: &mut Buffer) -> Rect {
        let frame = frame_area(self.size, height, width.max(title.width() + 4));
        let blank = " ".repeat(frame.width.into());
        let style = self.theme.style(Look::Plain);
        for y in frame.y..frame.bottom() {
            let line = Rect { y, height: 1, ..frame };
            for x in frame.x..frame.right() {
                if let Some(cell) = buffer.cell_mut((x, y)) {
                    cell.reset();
                }
            }
            buffer.set_stringn(line.x, y, &blank, frame.width.into(), style);
            let inside = usize::from(frame.width.saturating_sub(2));
            let is_first = y == frame.y;
            let is_last = y + 1 == frame.bottom();
            let (left, middle, right) = match (is_first, is_last) {
                (true, _) => ("╭", "─", "╮"),
                (_, true) => ("╰", "─", "╯"),
                _ => ("│", " ", "│"),
            };
            let text = format!("{left}{}{right}", middle.repeat(inside));
            self.theme.put(buffer, line, &[span(text, Look::Tool)]);
        }
        let line =
            Rect { x: frame.x + 2, width: frame.width.saturating_sub(4), height: 1, ..frame };
        self.theme.put(buffer, line, &[span(format!(" {title} "), Look::Strong)]);
        inside(frame)
    }
}

/// One session by its id, or how many there are.
fn named(entries: &[Arc<Entry>]) -> String {
    match entries {
        [entry] => entry.short_id(),
        entries => plural(entries.len() as u64, "session"),
    }
}

/// A letter, and what it does.
fn choice(letter: char, name: &str) -> Vec<Span> {
    vec![span(format!("{letter}  "), Look::User), span(name, Look::Plain)]
}

fn widest(lines: &[Vec<Span>]) -> usize {
    let width = |spans: &Vec<Span>| spans.iter().map(|(text, _)| text.width()).sum();
    lines.iter().map(width).max().unwrap_or(0)
}

fn frame_area(size: (u16, u16), height: usize, width: usize) -> Rect {
    let width = u16::try_from(width + 4).unwrap_or(u16::MAX).min(size.0);
    let height = u16::try_from(height + 2).unwrap_or(u16::MAX).min(size.1);
    Rect::new((size.0 - width) / 2, (size.1 - height) / 2, width, height)
}

fn inside(frame: Rect) -> Rect {
    Rect {
        x: frame.x + 2.min(frame.width),
        y: frame.y + 1.min(frame.height),
        width: frame.width.saturating_sub(4),
        height: frame.height.saturating_sub(2),
    }
}

/// How many of the sessions that go are named.
const MOST_NAMED: usize = 8;
/// How many of the things that were left out are named.
const MOST_LEFT_OUT: usize = 20;

/// What was left out, and why.
fn left_out_lines(left_out: &[&str], room: usize) -> Vec<Vec<Span>> {
    let mut lines = Vec::new();
    if left_out.is_empty() {
        return lines;
    }
    lines.push(vec![span("Not listed, or not searched", Look::Warning)]);
    let mut texts: Vec<String> =
        left_out.iter().take(MOST_LEFT_OUT).map(|text| (*text).to_owned()).collect();
    if left_out.len() > MOST_LEFT_OUT {
        texts.push(format!("{} more; `recto ls` names them", left_out.len() - MOST_LEFT_OUT));
    }
    for text in texts {
        let text = wrap(&text, room.saturating_sub(2)).into_iter();
        lines.extend(text.map(|line| vec![span(format!("  {line}"), Look::Plain)]));
    }
    lines
}

/// The help, for the width of the screen. What was left out comes first.
fn help_lines(browser: &Browser) -> Vec<Vec<Span>> {
    let room = usize::from(browser.size.0).saturating_sub(4);
    // Where there is no room beside the keys, what they do stands below them.
    let indent = if room < 40 { 4 } else { 18 };
    let mut lines = left_out_lines(&browser.list.left_out(), room);
    for (heading, keys) in keys::HELP {
        if !lines.is_empty() {
            lines.push(Vec::new());
        }
        lines.extend(wrap(heading, room).into_iter().map(|line| vec![span(line, Look::Tool)]));
        for (key, what) in *keys {
            let key = browser.facts.keymap.shown(key);
            let mut start = span(format!("  {key:<15} "), Look::Strong);
            if room < 40 {
                lines.push(vec![start]);
                start = span(" ".repeat(indent), Look::Plain);
            }
            for line in wrap(what, room.saturating_sub(indent)) {
                let before = std::mem::replace(&mut start, span(" ".repeat(indent), Look::Plain));
                lines.push(vec![before, span(line, Look::Plain)]);
            }
        }
    }
    lines
}

/// How many lines of the help do not fit on the screen.
pub(in crate::browser) fn help_overflow(browser: &Browser) -> usize {
    let lines = help_lines(browser);
    let area = inside(frame_area(browser.size, lines.len(), 0));
    lines.len().saturating_sub(area.height.into())
}
