//! The screen with the list of sessions and the preview.

use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::style::Style;
use recto_session::search::TextRole;
use unicode_width::UnicodeWidthChar;
use unicode_width::UnicodeWidthStr;

use super::View;
use super::list_keys;
use super::span;
use crate::browser::find::Find;
use crate::browser::list::Focus;
use crate::browser::list::Mode;
use crate::browser::message::Entry;
use crate::browser::message::Hit;
use crate::browser::message::SearchState;
use crate::browser::row::Row;
use crate::browser::scope::Scope;
use crate::search::hits;
use crate::terminal::output::Look;
use crate::terminal::text::Span;
use crate::terminal::text::age;
use crate::terminal::text::bytes;
use crate::terminal::text::count;
use crate::terminal::text::duration;
use crate::terminal::text::fit;
use crate::terminal::text::plural;
use crate::terminal::theme::columns;

/// From this width on, a row has room for the size of the log, or for its directory.
const ROOM_FOR_MORE: u16 = 44;
/// How much of a directory is shown.
const DIRECTORY: usize = 14;

impl View<'_> {
    pub(super) fn list_page(&self, buffer: &mut Buffer) -> Option<Position> {
        let list = &self.browser.list;
        let layout = self.browser.list_layout();
        // Who asked for one session does not see the list of all for a moment.
        if self.browser.facts.first.is_some() {
            self.theme.put(buffer, layout.input, &[span(" looking…", Look::Faint)]);
            return None;
        }
        self.list_header(layout.header, buffer);
        let cursor = self.input(layout.input, buffer);
        self.rows(layout.list, buffer);
        if let Some((head, text)) = layout.preview {
            self.divider(head.x - 1, head.y, text.bottom(), buffer);
            self.preview(head, text, buffer);
        }
        let all = list.rows.iter().filter(|row| !matches!(row, Row::Heading { .. })).count();
        let before = list.rows.iter().take(list.selected + 1);
        let at = before.filter(|row| !matches!(row, Row::Heading { .. })).count();
        let place = if all == 0 { String::new() } else { format!("{at}/{all}") };
        self.status(list_keys(self.browser), &[span(place, Look::Faint)], layout.status, buffer);
        cursor.filter(|_| list.focus == Focus::List)
    }

    fn list_header(&self, area: Rect, buffer: &mut Buffer) {
        let list = &self.browser.list;
        let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
        let live = list.entries.iter().filter(|entry| entry.live.is_some()).count();
        let mut right = Vec::new();
        if live > 0 {
            right.push(span(format!("● {live} running  "), Look::Good));
        }
        let left_out = list.left_out().len();
        if left_out > 0 {
            // The help names them.
            let text = format!("{} skipped (F1)  ", count(left_out as u64));
            right.push(span(text, Look::Warning));
        }
        if !list.marked.is_empty() {
            let text = format!("{} marked  ", count(list.marked.len() as u64));
            right.push(span(text, Look::User));
        }
        let sessions = match list.scope {
            Scope::All => plural(list.entries.len() as u64, "session"),
            Scope::Here | Scope::Project => {
                let all = plural(list.entries.len() as u64, "session");
                format!("{} of {all}", count(list.in_scope().count() as u64))
            }
        };
        let text = if list.is_whole { sessions } else { format!("{sessions} so far…") };
        right.push(span(text, Look::Faint));
        let start = self.theme.put_right(buffer, inner, &right);
        let left = Rect { width: start.saturating_sub(inner.x + 1), ..inner };
        let home = fit(&self.browser.facts.home, usize::from(left.width).saturating_sub(7));
        let spans = [span("recto", Look::User), span(format!("  {home}"), Look::Faint)];
        let end = self.theme.put(buffer, left, &spans);
        self.toggles(Rect { x: end, width: left.right().saturating_sub(end), ..left }, buffer);
    }

    /// What is listed and in which order, with the keys that change it.
    fn toggles(&self, area: Rect, buffer: &mut Buffer) {
        let list = &self.browser.list;
        let keymap = &self.browser.facts.keymap;
        let mut x = area.x;
        for (key, name) in [("^s", list.scope.name()), ("^o", list.order.name())] {
            let key = format!("   {} ", keymap.shown(key));
            let width = key.width() + name.width();
            if usize::from(area.right().saturating_sub(x)) < width {
                return;
            }
            let place = Rect { x, width: width as u16, ..area };
            x = self.theme.put(buffer, place, &[span(key, Look::Strong), span(name, Look::Faint)]);
        }
    }

    fn input(&self, area: Rect, buffer: &mut Buffer) -> Option<Position> {
        let list = &self.browser.list;
        let area = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
        let (sign, typed, empty) = match list.mode {
            Mode::Filter => ("› ", &list.filter, "type to filter, / to search"),
            Mode::Search => ("/ ", &list.words, "search the text of all sessions"),
        };
        let state = match (list.mode, list.search) {
            (Mode::Filter, _) => String::new(),
            (Mode::Search, _) if list.says_nothing() => String::new(),
            (Mode::Search, SearchState::Running) => "…".into(),
            (Mode::Search, SearchState::Reading { done, all, .. }) => {
                format!("{} %", (done * 100).checked_div(all).unwrap_or(100))
            }
            (Mode::Search, SearchState::Whole) => plural(list.shown_hits() as u64, "hit"),
            (Mode::Search, SearchState::Failed) => String::new(),
            (Mode::Search, SearchState::Partial) => {
                format!("{} so far", plural(list.shown_hits() as u64, "hit"))
            }
            (Mode::Search, SearchState::Cut) => {
                format!("{}+ hits", count(list.shown_hits() as u64))
            }
        };
        let end = self.theme.put_right(buffer, area, &[span(state, Look::Faint)]);
        let room = usize::from(end.saturating_sub(area.x + 3));
        // Of a long text, the end is what is being typed.
        let width = typed.width();
        let shown: String = if width <= room {
            typed.clone()
        } else {
            let skipped = typed.chars().count().saturating_sub(room);
            typed.chars().skip(skipped).collect()
        };
        let text = match typed.is_empty() {
            true => span(fit(empty, room), Look::Faint),
            false => span(shown.clone(), Look::Plain),
        };
        let left = Rect { width: end.saturating_sub(area.x), ..area };
        self.theme.put(buffer, left, &[span(sign, Look::Tool), text]);
        let cursor = area.x + 2 + shown.width() as u16;
        (area.height > 0).then_some(Position::new(cursor, area.y))
    }

    fn divider(&self, x: u16, from: u16, to: u16, buffer: &mut Buffer) {
        let is_chosen = self.browser.list.focus == Focus::Preview;
        let look = if is_chosen { Look::User } else { Look::Faint };
        let line = if is_chosen { "┃" } else { "│" };
        // One column of space stands between the rule and the transcript.
        for y in from..to {
            buffer.set_string(x.saturating_sub(1), y, line, self.theme.style(look));
        }
    }

    fn rows(&self, area: Rect, buffer: &mut Buffer) {
        let list = &self.browser.list;
        if list.rows.is_empty() {
            let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
            let look = match (list.mode, list.search) {
                (Mode::Search, SearchState::Failed) => Look::Warning,
                _ => Look::Faint,
            };
            self.paragraph(&self.nothing(), look, inner, buffer);
        }
        let shown = list.rows.iter().enumerate().skip(list.top).take(area.height.into());
        for (at, row) in shown {
            let y = area.y + (at - list.top) as u16;
            let line = Rect { y, height: 1, ..area };
            match row {
                Row::Heading { text, count } => self.heading(text, *count, line, buffer),
                Row::Session { entry, fitting } => self.session(entry, fitting, line, buffer),
                Row::Hit { hit, .. } => {
                    if let Some(hit) = list.hits.get(*hit) {
                        self.hit(hit, line, buffer);
                    }
                }
            }
            if at == list.selected {
                let style = match list.focus {
                    Focus::List => Style::new().add_modifier(Modifier::REVERSED),
                    Focus::Preview => Style::new().add_modifier(Modifier::BOLD),
                };
                buffer.set_style(line, style);
                if list.focus == Focus::Preview {
                    buffer.set_string(line.x, line.y, "▌", self.theme.style(Look::User));
                }
            }
        }
    }

    /// What to say where there is nothing to list.
    fn nothing(&self) -> String {
        let list = &self.browser.list;
        match (list.mode, list.search) {
            (Mode::Search, _) if list.says_nothing() => "words in any order".into(),
            (Mode::Search, SearchState::Running) => "searching…".into(),
            (Mode::Search, SearchState::Reading { done, all, seconds_left }) => {
                let left =
                    seconds_left.map(|seconds| format!(", {} left", duration(seconds * 1000)));
                format!("reading {} of {}{}", bytes(done), bytes(all), left.unwrap_or_default())
            }
            (Mode::Search, SearchState::Failed) => list.trouble.clone(),
            (Mode::Search, SearchState::Partial) => {
                "not found so far; the index is being built".into()
            }
            (Mode::Search, SearchState::Whole | SearchState::Cut) => "not found".into(),
            (Mode::Filter, _) if !list.is_whole => "looking…".into(),
            (Mode::Filter, _) if list.entries.is_empty() => "no sessions yet".into(),
            (Mode::Filter, _) if list.filter.trim().is_empty() => {
                let key = self.browser.facts.keymap.shown("^s");
                format!("no sessions in {}; {key} shows others", list.scope.name())
            }
            (Mode::Filter, _) => "no match; Enter searches all text".into(),
        }
    }

    fn heading(&self, text: &str, number: usize, line: Rect, buffer: &mut Buffer) {
        let inner = Rect { x: line.x + 1, width: line.width.saturating_sub(2), ..line };
        let end = [span(count(number as u64), Look::Faint)];
        let start = self.theme.put_right(buffer, inner, &end);
        let room = usize::from(start.saturating_sub(inner.x + 1));
        // The end of a path says more than its beginning.
        let text = if text.starts_with(['~', '/']) { fit_end(text, room) } else { fit(text, room) };
        self.theme.put(buffer, inner, &[span(text, Look::Tool)]);
    }

    fn session(&self, entry: &Entry, fitting: &[u32], line: Rect, buffer: &mut Buffer) {
        let inner = Rect { x: line.x + 1, width: line.width.saturating_sub(2), ..line };
        let mut end: Vec<Span> = Vec::new();
        if let Some(live) = entry.live {
            let status = live.mark.trim_start_matches("● ");
            end.push(span(format!("{status} "), live.look));
        } else if entry.log.is_archived() {
            end.push(span("archived ", Look::Faint));
        }
        // What stands below no heading of its project names the directory.
        let is_apart = entry.live.is_some() || self.browser.list.names_directories();
        if line.width >= ROOM_FOR_MORE {
            let more = match is_apart {
                true => directory(entry),
                false => format!("{:>7}", bytes(entry.bytes)),
            };
            end.push(span(format!("{more} "), Look::Faint));
        }
        end.push(span(format!("{:>4}", age(entry.modified, self.browser.now)), Look::Faint));
        let start = self.theme.put_right(buffer, inner, &end);
        let is_marked = self.browser.list.marked.contains(entry.id());
        let mark = match entry.live {
            _ if is_marked => span("✓ ", Look::User),
            Some(live) => span("● ", live.look),
            None => span("  ", Look::Plain),
        };
        let x = self.theme.put(buffer, inner, &[mark]);
        let room = start.saturating_sub(x + 1);
        let (title, skipped) = slid(&entry.title, fitting, room.into());
        let area = Rect { x, width: room, ..inner };
        let title_end = self.theme.put(buffer, area, &[span(title.as_str(), Look::Plain)]);
        if is_apart && line.width < ROOM_FOR_MORE {
            let directory = directory(entry);
            let rest = area.right().saturating_sub(title_end);
            if usize::from(rest) >= directory.width() + 2 {
                self.theme.put_right(buffer, area, &[span(directory, Look::Faint)]);
            }
        }
        for (at, (start, c)) in title.char_indices().enumerate() {
            if fitting.contains(&((at + skipped) as u32)) && (at > 0 || skipped == 0) {
                let place = columns(&title, &(start..start + c.len_utf8()));
                let x = area.x + place.start.min(usize::from(area.width)) as u16;
                let cell = Rect { x, width: place.len() as u16, ..area }.intersection(area);
                buffer.set_style(cell, self.theme.style(Look::User));
            }
        }
    }

    fn hit(&self, hit: &Hit, line: Rect, buffer: &mut Buffer) {
        let inner = Rect { x: line.x + 1, width: line.width.saturating_sub(2), ..line };
        let turn = hit.turn.map_or(String::new(), |turn| turn.to_string());
        let age = hit.time.map_or(String::new(), |time| age(time, self.browser.now));
        let end = self.theme.put_right(buffer, inner, &[span(format!(" {age:>4}"), Look::Faint)]);
        let found = &hit.place.hit;
        let start = [
            span(format!("{turn:>3} "), Look::Faint),
            span(format!("{:<7}", role(found.role)), hits::look(found)),
        ];
        let x = self.theme.put(buffer, inner, &start);
        let area = Rect { x, width: end.saturating_sub(x), ..inner };
        let find = self.browser.list.find(Some(hit));
        let text = fit(&around(&hit.snippet, &find, area.width.into()), area.width.into());
        self.theme.put(buffer, area, &[span(text.as_str(), Look::Plain)]);
        for place in find.places(&text) {
            let columns = columns(&text, &place);
            let x = area.x + columns.start.min(usize::from(area.width)) as u16;
            let cell = Rect { x, width: columns.len() as u16, ..area }.intersection(area);
            buffer.set_style(cell, self.theme.style(Look::User));
        }
    }

    fn preview(&self, head: Rect, text: Rect, buffer: &mut Buffer) {
        let Some(preview) = &self.browser.list.preview else { return };
        let entry = &preview.entry;
        let title = fit(&entry.title, head.width.into());
        self.theme.put(buffer, head, &[span(title, Look::Strong)]);
        if head.height > 1 {
            let line = Rect { y: head.y + 1, height: 1, ..head };
            self.theme.put(buffer, line, &self.facts(entry, line.width));
        }
        self.document(preview, text, buffer);
    }
}

/// Who wrote a text, in a word.
fn role(role: TextRole) -> &'static str {
    match role {
        TextRole::User => "you",
        TextRole::Assistant => "claude",
        TextRole::Thinking => "thinks",
        TextRole::ToolInput => "tool",
        TextRole::ToolResult => "result",
        TextRole::Summary => "sum",
        TextRole::Title => "title",
        TextRole::Plan => "plan",
        TextRole::System => "note",
    }
}

/// The last part of the directory of a session.
fn directory(entry: &Entry) -> String {
    fit(entry.project.rsplit('/').next().unwrap_or_default(), DIRECTORY)
}

/// As much of a title as there is room for, with the characters that fit what was typed.
/// Gives by how many places they stand further to the left.
fn slid(title: &str, fitting: &[u32], width: usize) -> (String, usize) {
    let first = fitting.iter().min().map_or(0, |first| *first as usize);
    let last = fitting.iter().max().map_or(0, |last| *last as usize);
    let up_to_last: String = title.chars().take(last + 1).collect();
    // The last column may be for the sign that something is cut.
    if fitting.is_empty() || title.width() <= width || up_to_last.width() < width {
        return (fit(title, width), 0);
    }
    // If the end is all that is left, there is room for more of what stands before it.
    let mut room = width.saturating_sub(1);
    let end = title.chars().rev().take_while(|c| {
        let wide = c.width().unwrap_or(0);
        let has_room = wide <= room;
        room = room.saturating_sub(wide);
        has_room
    });
    let end = title.chars().count() - end.count();
    let skipped = first.saturating_sub(width / 4).min(end).max(1);
    let rest: String = title.chars().skip(skipped).collect();
    (fit(&format!("…{rest}"), width), skipped - 1)
}

/// Cuts the beginning of a snippet, so that the first word can be seen in this width.
fn around(snippet: &str, find: &Find, width: usize) -> String {
    let Some(first) = find.places(snippet).into_iter().next() else { return snippet.to_owned() };
    let before = columns(snippet, &first).start;
    if before <= width / 3 || snippet.width() <= width {
        return snippet.to_owned();
    }
    let kept: Vec<char> = snippet[..first.start].chars().rev().take(width / 4).collect();
    let kept: String = kept.into_iter().rev().collect();
    format!("…{kept}{}", &snippet[first.start..])
}

/// Cuts the beginning of a text.
fn fit_end(text: &str, width: usize) -> String {
    if text.width() <= width || width == 0 {
        return fit(text, width);
    }
    let mut kept: Vec<char> = Vec::new();
    for c in text.chars().rev() {
        let longer: String = kept.iter().rev().collect::<String>();
        if longer.width() + 2 > width {
            break;
        }
        kept.push(c);
    }
    let end: String = kept.iter().rev().collect();
    format!("…{end}")
}
