//! The part of the screen that is drawn again and again, from the state alone.

use unicode_width::UnicodeWidthStr;

use super::blocks;
use super::blocks::Lines;
use super::state::Console;
use super::state::Overlay;
use super::state::TICKS;
use crate::terminal::output::Look;
use crate::terminal::text::Span;
use crate::terminal::text::count;
use crate::terminal::text::fit;
use crate::terminal::text::money;
use crate::terminal::text::one_line;
use crate::terminal::text::safe;
use crate::terminal::text::short_model;

/// How many calls, tasks and waiting prompts are listed.
const MOST_LISTED: usize = 5;

/// The live area: lines, and where the cursor is.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) lines: Lines,
    pub(super) cursor: (usize, usize),
}

/// Draws the live area.
pub(super) fn area(console: &Console) -> Area {
    let (width, height) = (console.width, console.height.saturating_sub(1));
    let mut below = Lines::new();
    let cursor;
    match &console.overlay {
        Some(Overlay::Question(question)) => {
            let body = question.body(width);
            if body.len() + 12 <= console.height {
                below.push(rule(width));
                below.extend(body);
            }
            below.extend(question.lines(width));
            cursor = (below.len().saturating_sub(1), 0);
        }
        Some(Overlay::Picker(picker)) => {
            below.push(rule(width));
            below.extend(picker.lines(width, height.saturating_sub(3)));
            cursor = (1, 0);
        }
        Some(Overlay::Calls(list)) => {
            below.push(rule(width));
            below.extend(list.lines(&console.live.calls, width, height.saturating_sub(3)));
            cursor = (below.len() - 1, 0);
        }
        None => {
            below.push(rule(width));
            let most = height.saturating_sub(6).max(1);
            let (lines, at) = editor(console, width, most);
            cursor = (below.len() + at.0, at.1);
            below.extend(lines);
            if let Some(completion) = &console.completion {
                below.extend(completion.lines(width));
            }
        }
    }
    below.push(status(console, width));
    let room = height.saturating_sub(below.len());
    let mut lines = above(console, width, room);
    // A list that is taller than the screen loses its beginning, not its end.
    let cut = below.len().saturating_sub(height);
    below.drain(..cut);
    let row = (lines.len() + cursor.0).saturating_sub(cut);
    lines.append(&mut below);
    Area { lines, cursor: (row, cursor.1) }
}

fn rule(width: usize) -> Vec<Span> {
    vec![("─".repeat(width.saturating_sub(1)), Look::Faint)]
}

/// What is happening, in as many lines as there is room for; the newest count.
fn above(console: &Console, width: usize, room: usize) -> Lines {
    let live = &console.live;
    let mut lines = Lines::new();
    let growing = live.growing();
    if !growing.trim().is_empty() {
        // Only what fits is rendered: an answer of a megabyte in one line costs no more.
        let tail = growing.len().saturating_sub(width * room * 4);
        let tail = growing.ceil_char_boundary(tail);
        lines.extend(blocks::answer(&growing[tail..], width));
    }
    if let Some(tokens) = live.thinking {
        let text = format!("  ✻ thinking, {} tokens", count(tokens));
        lines.push(vec![(text, Look::Faint)]);
    }
    // The question shows the call that it is about.
    let asked = match &console.overlay {
        Some(Overlay::Question(question)) => question.asked.id.as_str(),
        Some(Overlay::Picker(_) | Overlay::Calls(_)) | None => "",
    };
    let running = live.running.iter().filter(|call| call.id != asked);
    for call in running.rev().take(MOST_LISTED).collect::<Vec<_>>().into_iter().rev() {
        let seconds = console.tick.saturating_sub(call.since) / TICKS;
        let mut line = vec![(mark(console.tick), Look::Tool)];
        let time = if seconds > 0 { format!("  {seconds} s") } else { String::new() };
        line.extend(blocks::call_line(&call.name, &call.about, width.saturating_sub(10)));
        line.push((time, Look::Faint));
        lines.push(line);
    }
    for task in live.tasks.iter().take(MOST_LISTED) {
        let about = fit(&one_line(&task.about), width.saturating_sub(20) / 2);
        let doing = fit(&one_line(&task.doing), width.saturating_sub(20) / 2);
        lines.push(vec![
            ("  ◦ ".to_owned(), Look::Tool),
            (about, Look::Plain),
            (format!("  {doing}"), Look::Faint),
        ]);
    }
    if let Some(retry) = &live.retry {
        lines.push(vec![(fit(&format!("  {retry}"), width), Look::Warning)]);
    }
    for queued in live.queue.iter().take(MOST_LISTED) {
        let text = fit(&one_line(&queued.text), width.saturating_sub(12));
        lines.push(vec![("  next: ".to_owned(), Look::Faint), (text, Look::Faint)]);
    }
    if live.is_busy && console.overlay.is_none() {
        let seconds = console.tick.saturating_sub(live.since) / TICKS;
        let text = format!("{}working, {seconds} s · Esc interrupts", mark(console.tick));
        lines.push(vec![(fit(&text, width), Look::Faint)]);
    }
    let cut = lines.len().saturating_sub(room);
    lines.drain(..cut);
    lines
}

/// A mark that moves while something runs.
fn mark(tick: u64) -> String {
    let mark = if (tick / 4).is_multiple_of(2) { "⏺ " } else { "○ " };
    mark.to_owned()
}

/// The text that is typed, and where the cursor is in it.
fn editor(console: &Console, width: usize, most: usize) -> (Lines, (usize, usize)) {
    let (text, cursor) = (console.editor.text(), console.editor.cursor());
    let room = width.saturating_sub(3).max(4);
    let mut rows: Vec<String> = vec![String::new()];
    let mut place = (0, 0);
    let mut used = 0;
    for (at, c) in text.char_indices() {
        if at == cursor {
            place = (rows.len() - 1, used);
        }
        if c == '\n' {
            rows.push(String::new());
            used = 0;
            continue;
        }
        let shown = if c == '\t' { "    ".to_owned() } else { safe(&c.to_string()) };
        let wide = shown.width();
        if used + wide > room {
            rows.push(String::new());
            used = 0;
            if at == cursor {
                place = (rows.len() - 1, 0);
            }
        }
        if let Some(row) = rows.last_mut() {
            row.push_str(&shown);
        }
        used += wide;
    }
    if cursor >= text.len() {
        place = (rows.len() - 1, used);
    }
    let first = place.0.saturating_sub(most - 1);
    let look = match text.chars().next() {
        Some('!') => Look::Tool,
        Some('#') => Look::Literal,
        _ => Look::Plain,
    };
    let shown = rows.into_iter().enumerate().skip(first).take(most);
    let lines = shown.map(|(at, row)| {
        let lead = if at == 0 { "❯ " } else { "  " };
        vec![(lead.to_owned(), Look::User), (row, look)]
    });
    let mut lines: Lines = lines.collect();
    if text.is_empty() {
        let hint = "say what to do · /help · @file · !command";
        lines = vec![vec![
            ("❯ ".to_owned(), Look::User),
            (fit(hint, width.saturating_sub(4)), Look::Faint),
        ]];
    }
    (lines, (place.0 - first, place.1 + 2))
}

/// What a permission mode does, in two words.
pub(super) fn mode_name(mode: &str) -> &str {
    match mode {
        "default" => "asks first",
        "acceptEdits" => "accepts edits",
        "plan" => "plans only",
        "bypassPermissions" => "asks nothing",
        other => other,
    }
}

/// Model, context, cost, mode, branch; or a hint.
fn status(console: &Console, width: usize) -> Vec<Span> {
    if let Some(hint) = &console.hint {
        return vec![(fit(&format!("  {}", one_line(hint)), width), Look::Warning)];
    }
    let mut parts = vec![console.editor.vi_mode().unwrap_or_default().to_owned()];
    parts.push(one_line(short_model(&console.model)));
    if let Some((used, most)) = console.context {
        let window = match most {
            1_000_000.. if most.is_multiple_of(1_000_000) => format!("{}M", most / 1_000_000),
            _ => format!("{}k", most / 1000),
        };
        parts.push(format!("{}% of {window}", used * 100 / most.max(1)));
    }
    parts.push(money(console.cost));
    parts.push(one_line(mode_name(&console.mode)));
    parts.extend(console.branch.as_deref().map(one_line));
    parts.retain(|part| !part.is_empty());
    let look = if console.mode == "bypassPermissions" { Look::Bad } else { Look::Faint };
    vec![(fit(&format!("  {}", parts.join(" · ")), width), look)]
}
