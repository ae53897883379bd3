//! The screen, from the state alone.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

use super::document::Progress;
use super::keys;
use super::keys::Key;
use super::layout;
use super::list::Focus;
use super::list::Mode;
use super::message::Entry;
use super::message::Part;
use super::reader::Reader;
use super::state::Browser;
use super::state::Page;
use super::table_page::TablePage;
use crate::terminal::output::Look;
use crate::terminal::text::Span;
use crate::terminal::text::age;
use crate::terminal::text::bytes;
use crate::terminal::text::fit;
use crate::terminal::text::plural;
use crate::terminal::text::wrap;
use crate::terminal::theme::Theme;
use crate::terminal::theme::columns;

mod list;
mod overlay;

pub(super) use overlay::help_overflow;

/// Draws everything.
pub(super) fn draw(browser: &Browser, frame: &mut Frame<'_>) {
    let size = (frame.area().width, frame.area().height);
    let view = View { browser, theme: Theme { has_colour: browser.facts.has_colour }, size };
    let buffer = frame.buffer_mut();
    let cursor = match browser.pages.last() {
        Some(Page::Reader(reader)) => view.reader_page(reader, buffer),
        Some(Page::Table(table)) => view.table_page(table, buffer),
        None => view.list_page(buffer),
    };
    match &browser.overlay {
        Some(overlay) => view.overlay(overlay, buffer),
        None => {
            if let Some(cursor) = cursor.filter(|cursor| frame.area().contains(*cursor)) {
                frame.set_cursor_position(cursor);
            }
        }
    }
}

struct View<'a> {
    browser: &'a Browser,
    theme: Theme,
    size: (u16, u16),
}

fn span(text: impl Into<String>, look: Look) -> Span {
    (text.into(), look)
}

impl View<'_> {
    /// What there is to know about a log, on one line.
    fn facts(&self, entry: &Entry, width: u16) -> Vec<Span> {
        let mut facts = vec![entry.project.clone(), entry.branch.clone(), entry.model.clone()];
        let age = age(entry.modified, self.browser.now);
        facts.push(if age == "now" { age } else { format!("{age} ago") });
        facts.extend([bytes(entry.bytes), entry.short_id()]);
        facts.retain(|fact| !fact.is_empty());
        let mut spans = Vec::new();
        let mut room = usize::from(width);
        if let Some(live) = entry.live {
            let mark = format!("{}  ", live.mark);
            room = room.saturating_sub(mark.width());
            spans.push(span(mark, live.look));
        } else if entry.log.is_archived() {
            room = room.saturating_sub("archived  ".len());
            spans.push(span("archived  ", Look::Warning));
        }
        spans.push(span(fit(&facts.join(" · "), room), Look::Faint));
        spans
    }

    fn rule(&self, buffer: &mut Buffer, area: Rect) {
        let rule = "─".repeat(area.width.into());
        self.theme.put(buffer, area, &[span(rule, Look::Faint)]);
    }

    /// The lines above a page: what it shows, and facts about it.
    fn page_header(&self, title: &[Span], entry: &Entry, area: Rect, buffer: &mut Buffer) {
        let line = |row: u16| Rect {
            x: area.x + 1,
            y: area.y + row,
            width: area.width.saturating_sub(2),
            height: u16::from(row < area.height),
        };
        let mut title = title.to_vec();
        let others = title.iter().rev().skip(1).map(|(text, _)| text.width()).sum();
        if let Some((text, _)) = title.last_mut() {
            *text = fit(text, usize::from(line(0).width).saturating_sub(others));
        }
        self.theme.put(buffer, line(0), &title);
        if area.height > 2 {
            self.theme.put(buffer, line(1), &self.facts(entry, line(1).width));
            self.rule(buffer, Rect { y: area.y + 2, height: 1, ..area });
        }
    }

    fn reader_page(&self, reader: &Reader, buffer: &mut Buffer) -> Option<Position> {
        let layout = layout::page(self.size);
        let entry = &reader.entry;
        let mut title = vec![span(entry.title.clone(), Look::Strong)];
        let keys = match reader.part {
            Part::Changes(turn) => {
                title.insert(0, span(format!("Changes of turn {turn}  "), Look::Tool));
                keys::CHANGES
            }
            Part::Conversation => keys::READER,
        };
        if entry.log.is_agent() {
            title.insert(0, span("subagent  ", Look::Tool));
        }
        self.page_header(&title, entry, layout.header, buffer);
        self.document(reader, layout.body, buffer);
        if let Some(typed) = &reader.typed {
            return Some(self.find_line(reader, typed, layout.status, buffer));
        }
        self.status(keys, &self.reader_place(reader), layout.status, buffer);
        None
    }

    /// Where one is in a document.
    fn reader_place(&self, reader: &Reader) -> Vec<Span> {
        let document = &reader.document;
        let mut facts = Vec::new();
        if reader.part == Part::Conversation
            && let Some(turn) = reader.turn()
        {
            facts.push(format!("turn {turn}/{}", document.last_turn()));
        }
        let height = usize::from(layout::page(self.size).body.height);
        let seen = (reader.top + height).min(document.lines.len());
        facts.push(match document.progress {
            Progress::Reading => "reading…".into(),
            Progress::Cut if seen == document.lines.len() => {
                "shortened; `recto show` prints all".into()
            }
            Progress::Whole | Progress::Cut => {
                let percent = (seen * 100).checked_div(document.lines.len()).unwrap_or(100);
                format!("{percent} %")
            }
        });
        vec![span(facts.join("  "), Look::Faint)]
    }

    fn find_line(&self, reader: &Reader, typed: &str, area: Rect, buffer: &mut Buffer) -> Position {
        let line = Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..area };
        let start = [span("find: ", Look::Tool), span(typed, Look::Plain)];
        let end = self.theme.put(buffer, line, &start);
        let count = match (typed.is_empty(), reader.find.count()) {
            (true, _) => String::new(),
            (false, 0) => reader.missing().into(),
            (false, count) if reader.is_waiting() => {
                format!("{} so far", plural(count as u64, "line"))
            }
            (false, count) => plural(count as u64, "line"),
        };
        let room = Rect { x: end + 2, width: area.right().saturating_sub(end + 3), ..area };
        let mut spans = vec![span(format!("{count}   "), Look::Faint)];
        // What was found is said before the keys.
        let left = usize::from(room.width).checked_sub(spans[0].0.width());
        if let Some(left) = left {
            spans.extend(self.key_spans(keys::FINDING, left));
            self.theme.put_right(buffer, room, &spans);
        }
        Position::new(end, area.y)
    }

    /// The lines of a document, with what was found in them.
    fn document(&self, reader: &Reader, area: Rect, buffer: &mut Buffer) {
        let lines = &reader.document.lines;
        let height = usize::from(area.height);
        let row = |at: usize| Rect { y: area.y + at as u16, height: 1, ..area };
        if lines.is_empty() && reader.is_waiting() && height > 0 {
            self.theme.put(buffer, row(0), &[span("reading…", Look::Faint)]);
        }
        for (at, line) in lines.iter().skip(reader.top).take(height).enumerate() {
            let area = row(at);
            self.theme.put(buffer, area, &line.spans);
            if reader.find.is_empty() {
                continue;
            }
            let text = line.text();
            let is_current = reader.current_match == Some(reader.top + at);
            for place in reader.find.places_on(reader.top + at, &text) {
                let columns = columns(&text, &place);
                let from = columns.start.min(usize::from(area.width)) as u16;
                let to = columns.end.min(usize::from(area.width)) as u16;
                let marked = Rect { x: area.x + from, width: to - from, ..area };
                buffer.set_style(marked, self.theme.found(is_current));
            }
        }
        // A mark stands before the turn that was chosen; in the middle of a screen it
        // would not be known otherwise.
        let chosen = reader.chosen_turn.and_then(|turn| reader.document.start_of(turn));
        let row_of_chosen = chosen.and_then(|line| line.checked_sub(reader.top));
        if let Some(at) = row_of_chosen.filter(|at| *at < height && area.x > 0) {
            let mark = Rect { x: area.x - 1, width: 1, ..row(at) };
            self.theme.put(buffer, mark, &[span("▸", Look::User)]);
        }
        self.scroll_bar(reader.top, lines.len(), area, buffer);
    }

    /// Shows where one is, at the right edge of the screen.
    fn scroll_bar(&self, top: usize, count: usize, area: Rect, buffer: &mut Buffer) {
        let height = usize::from(area.height);
        let x = area.right();
        if count <= height || height < 3 || x >= self.size.0 {
            return;
        }
        let length = (height * height / count).clamp(1, height - 1);
        let start = (top * (height - length)).checked_div(count - height).unwrap_or(0);
        for at in start..(start + length).min(height) {
            let style = self.theme.style(Look::Faint);
            buffer.set_string(x, area.y + at as u16, "┃", style);
        }
    }

    /// A text over as many lines as it needs.
    fn paragraph(&self, text: &str, look: Look, area: Rect, buffer: &mut Buffer) {
        for (line, y) in wrap(text, area.width.into()).into_iter().zip(area.y..area.bottom()) {
            self.theme.put(buffer, Rect { y, height: 1, ..area }, &[span(line, look)]);
        }
    }

    fn table_page(&self, table: &TablePage, buffer: &mut Buffer) -> Option<Position> {
        let layout = layout::page(self.size);
        let title = [
            span(format!("{}  ", table.subject.heading()), Look::Tool),
            span(table.entry.title.clone(), Look::Strong),
        ];
        self.page_header(&title, &table.entry, layout.header, buffer);
        let area = layout.body;
        let place = match &table.rows {
            None => {
                self.theme.put(buffer, area, &[span("reading…", Look::Faint)]);
                String::new()
            }
            Some(rows) if rows.is_empty() => {
                match &table.trouble {
                    Some(trouble) => self.paragraph(trouble, Look::Bad, area, buffer),
                    None => self.paragraph(table.subject.nothing(), Look::Faint, area, buffer),
                }
                String::new()
            }
            Some(rows) => {
                let shown = rows.iter().enumerate().skip(table.top).take(area.height.into());
                for (at, row) in shown {
                    let y = area.y + (at - table.top) as u16;
                    let line = Rect { y, height: 1, ..area };
                    self.theme.put(buffer, line, &row.spans);
                    if at == table.selected {
                        buffer.set_style(line, Style::new().add_modifier(Modifier::REVERSED));
                    }
                }
                self.scroll_bar(table.top, rows.len(), area, buffer);
                format!("{}/{}", table.selected + 1, rows.len())
            }
        };
        self.status(keys::TABLE, &[span(place, Look::Faint)], layout.status, buffer);
        None
    }

    /// The last line: what was said last, or the keys; and where one is.
    fn status(&self, keys: &[Key], place: &[Span], area: Rect, buffer: &mut Buffer) {
        let inner = Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area };
        let start = self.theme.put_right(buffer, inner, place);
        let left = Rect { width: start.saturating_sub(inner.x + 1), ..inner };
        if let Some((text, look)) = &self.browser.notice {
            self.theme.put(buffer, left, &[span(fit(text, left.width.into()), *look)]);
            return;
        }
        self.theme.put(buffer, left, &self.key_spans(keys, left.width.into()));
    }

    /// As many keys as there is room for. The last two, help and the way out, come before
    /// the others.
    fn key_spans(&self, keys: &[Key], room: usize) -> Vec<Span> {
        let keymap = &self.browser.facts.keymap;
        let keys: Vec<(String, &str)> =
            keys.iter().map(|(key, label)| (keymap.shown(key), *label)).collect();
        let width = |(key, label): &(String, &str)| key.width() + label.width() + 3;
        let mut kept: Vec<usize> = Vec::new();
        let mut used = 0;
        let last = keys.len().saturating_sub(2);
        for at in (last..keys.len()).rev().chain(0..last) {
            if used + width(&keys[at]) > room + 2 {
                break;
            }
            used += width(&keys[at]);
            kept.push(at);
        }
        kept.sort_unstable();
        let mut spans = Vec::new();
        for (key, label) in kept.into_iter().map(|at| keys[at].clone()) {
            spans.push(span(key, Look::Strong));
            spans.push(span(format!(" {label}  "), Look::Faint));
        }
        spans
    }
}

fn list_keys(browser: &Browser) -> &'static [Key] {
    match (browser.list.focus, browser.list.mode) {
        (Focus::Preview, _) => keys::PREVIEW,
        (Focus::List, Mode::Search) => keys::SEARCH,
        (Focus::List, Mode::Filter) if !browser.list.marked.is_empty() => keys::MARKED,
        (Focus::List, Mode::Filter) if !browser.list.filter.is_empty() => keys::FILTERED,
        (Focus::List, Mode::Filter) => keys::LIST,
    }
}
