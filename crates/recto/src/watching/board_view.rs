//! The board on the screen, from its state alone.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::style::Style;
use recto_session::status::StatusKind;
use recto_store::SessionStatus;

use super::board::Board;
use super::board::DETAILS;
use super::board::HELP;
use crate::terminal::output::Look;
use crate::terminal::text::Span;
use crate::terminal::text::count;
use crate::terminal::text::fit;
use crate::terminal::text::one_line;
use crate::terminal::text::padded;
use crate::terminal::text::plural;
use crate::terminal::text::short_model;
use crate::terminal::text::wrap;
use crate::terminal::theme::Theme;
use crate::watching::status_view;

/// How wide the labels of details are.
const LABELS: usize = 9;
/// How wide the keys in the help are.
const KEYS: usize = 8;
/// How wide a status and an age are.
const STATUS: usize = 14;
const AGE: usize = 7;
/// From this width on, there is room for the name of the project and the call, and for its
/// whole path.
const WIDE_ENOUGH: usize = 66;
const WIDE: usize = 90;

pub(super) fn draw(board: &Board, frame: &mut Frame<'_>) {
    let area = frame.area();
    let view = View { board, theme: Theme { has_colour: board.facts.has_colour } };
    let buffer = frame.buffer_mut();
    let line = |y: u16| Rect { x: 0, y, width: area.width, height: u16::from(y < area.height) };
    view.header(line(0), buffer);
    let footer = area.height.saturating_sub(1);
    let has_details = board.has_details() && area.height > DETAILS;
    let end = if has_details { footer - DETAILS } else { footer };
    view.rows(Rect { x: 0, y: 1, width: area.width, height: end.saturating_sub(1) }, buffer);
    if let Some(one) = board.shown().get(board.selected()).filter(|_| has_details) {
        view.details(one, Rect { x: 0, y: end, width: area.width, height: DETAILS }, buffer);
    }
    view.footer(line(footer), buffer);
    if board.shows_help {
        view.help(area, buffer);
    }
}

struct View<'a> {
    board: &'a Board,
    theme: Theme,
}

fn span(text: impl Into<String>, look: Look) -> Span {
    (text.into(), look)
}

fn inset(area: Rect) -> Rect {
    Rect { x: area.x + 1, width: area.width.saturating_sub(2), ..area }
}

impl View<'_> {
    fn header(&self, area: Rect, buffer: &mut Buffer) {
        let area = inset(area);
        let waiting = self.board.count(StatusKind::WaitingForApproval)
            + self.board.count(StatusKind::WaitingForInput);
        let working = self.board.count(StatusKind::Working);
        let look = if waiting > 0 { Look::Warning } else { Look::Faint };
        let right = [
            span(format!("{waiting} waiting"), look),
            span(format!(" · {working} working"), Look::Good),
        ];
        let start = self.theme.put_right(buffer, area, &right);
        let left = Rect { width: start.saturating_sub(area.x + 1), ..area };
        let home = one_line(&self.board.facts.home);
        self.theme.put(
            buffer,
            left,
            &[span("recto watch", Look::User), span(format!("  {home}"), Look::Faint)],
        );
    }

    fn rows(&self, area: Rect, buffer: &mut Buffer) {
        let shown = self.board.shown();
        if shown.is_empty() && area.height > 1 {
            let text = match self.board.has_looked {
                true => self.nothing_shown(),
                false => "looking…".to_owned(),
            };
            let area = inset(area);
            for (y, text) in (area.y + 1..area.bottom()).zip(wrap(&text, area.width.into())) {
                let line = Rect { y, height: 1, ..area };
                self.theme.put(buffer, line, &[span(text, Look::Faint)]);
            }
            return;
        }
        let selected = self.board.selected();
        let visible = self.board.visible();
        let rows = visible.filter_map(|at| Some((at, *shown.get(at)?)));
        for (row, (at, one)) in rows.take(area.height.into()).enumerate() {
            let y = area.y + u16::try_from(row).unwrap_or(u16::MAX);
            let line = Rect { y, height: 1, ..area };
            self.theme.put(buffer, inset(line), &self.row(one, usize::from(inset(line).width)));
            if at == selected {
                buffer.set_style(line, Style::new().add_modifier(Modifier::REVERSED));
            }
        }
    }

    /// Why no session is listed. Sessions that have just ended are hidden, not absent.
    fn nothing_shown(&self) -> String {
        match self.board.count(StatusKind::Ended) {
            0 => "no session is running, and none was active within the last hour".to_owned(),
            ended => format!(
                "no session is running; {} ended within the last hour (press a to show)",
                plural(ended as u64, "session")
            ),
        }
    }

    fn row(&self, one: &SessionStatus, width: usize) -> Vec<Span> {
        let shown = status_view::shown(one, &self.board.facts.environment, self.board.now);
        let kind = one.status.kind;
        let mark = if one.is_live() { "● " } else { "○ " };
        let room = width.saturating_sub(2 + STATUS + 1 + AGE + 2);
        let (project, about) = match width {
            WIDE.. => (room / 4, room / 3),
            WIDE_ENOUGH.. => (room / 4, room * 3 / 10),
            _ => (0, 0),
        };
        let title = room.saturating_sub(project + about + 4 * usize::from(project > 0));
        let call = one.status.pending.as_ref().or(one.status.current.as_ref());
        let call = call
            .map_or_else(String::new, |call| one_line(&format!("{} {}", call.tool, call.about)));
        // Of a path that is cut, the end says most.
        let project_text = match shown.project.rsplit('/').next() {
            Some(name) if width < WIDE && !name.is_empty() => name,
            _ => &shown.project,
        };
        let title_text = if shown.title.is_empty() { shown.id } else { shown.title };
        let mut spans = vec![
            span(mark, if one.is_live() { Look::Good } else { Look::Faint }),
            span(padded(kind.label(), STATUS), status_view::look(kind)),
            span(format!("{:>AGE$}  ", fit(&shown.age, AGE)), Look::Faint),
            span(padded(&title_text, title), Look::Plain),
        ];
        if project > 0 {
            spans.push(span(format!("  {}", padded(project_text, project)), Look::Faint));
            spans.push(span(format!("  {}", padded(&call, about)), Look::Tool));
        }
        spans
    }

    fn details(&self, one: &SessionStatus, area: Rect, buffer: &mut Buffer) {
        let rule = "─".repeat(area.width.into());
        self.theme.put(buffer, Rect { height: 1, ..area }, &[span(rule, Look::Faint)]);
        let width = usize::from(inset(area).width).saturating_sub(LABELS);
        let mut lines: Vec<(&str, String, Look)> = Vec::new();
        for (label, text, most, look) in self.facts_of(one) {
            let text = one_line(&text);
            let mut wrapped = wrap(&text, width.max(1));
            if wrapped.len() > most {
                // What does not fit shows that it does not.
                let rest = wrapped.split_off(most - 1).join(" ");
                wrapped.push(fit(&rest, width));
            }
            for (at, line) in wrapped.into_iter().enumerate() {
                if !line.is_empty() {
                    lines.push((if at == 0 { label } else { "" }, line, look));
                }
            }
        }
        let room = usize::from(area.height.saturating_sub(1));
        for (at, (label, text, look)) in lines.into_iter().take(room).enumerate() {
            let y = area.y + 1 + u16::try_from(at).unwrap_or(u16::MAX);
            let line = Rect { y, height: 1, ..inset(area) };
            let text = fit(&text, width);
            self.theme.put(
                buffer,
                line,
                &[span(padded(label, LABELS), Look::Faint), span(text, look)],
            );
        }
    }

    /// What there is to say about a session: label, text, most lines.
    fn facts_of(&self, one: &SessionStatus) -> Vec<(&'static str, String, usize, Look)> {
        let status = &one.status;
        let mut about: Vec<String> = vec![one.id.to_string()];
        about.extend(status.model.as_deref().map(|model| short_model(model).to_owned()));
        about.extend(status.branch.clone());
        about.extend(status.permission_mode.clone());
        if one.is_whole {
            about.push(format!("{} tokens out", count(status.tokens.output)));
        }
        let call = status.pending.as_ref().or(status.current.as_ref());
        let running: Vec<String> = status
            .running
            .iter()
            .map(|task| format!("{} {}", task.kind.name(), task.about))
            .collect();
        vec![
            ("why", status.why.join("; "), 2, Look::Plain),
            ("asked", status.last_prompt.clone().unwrap_or_default(), 1, Look::User),
            (
                "call",
                call.map_or_else(String::new, |call| format!("{} {}", call.tool, call.about)),
                1,
                Look::Tool,
            ),
            ("runs", running.join("; "), 1, Look::Tool),
            ("said", status.last_output.clone().unwrap_or_default(), 2, Look::Plain),
            ("session", about.join(" · "), 1, Look::Faint),
        ]
    }

    /// The keys, over the rows.
    fn help(&self, area: Rect, buffer: &mut Buffer) {
        let keymap = &self.board.facts.environment.keymap;
        let lines = HELP.iter().map(|(key, does)| {
            let key = padded(&keymap.shown(key), KEYS);
            vec![span(format!("  {key} "), Look::Strong), span(*does, Look::Plain)]
        });
        let rows = area.height.saturating_sub(2);
        let blank = " ".repeat(area.width.into());
        for (at, spans) in (0..rows).zip(lines.map(Some).chain(std::iter::repeat(None))) {
            let line = Rect { y: area.y + 1 + at, height: 1, ..area };
            buffer.set_style(line, Style::reset());
            buffer.set_string(line.x, line.y, &blank, Style::reset());
            self.theme.put(buffer, inset(line), &spans.unwrap_or_default());
        }
    }

    fn footer(&self, area: Rect, buffer: &mut Buffer) {
        let area = inset(area);
        if let Some(failure) = &self.board.failure {
            let text = fit(&one_line(failure), area.width.into());
            self.theme.put(buffer, area, &[span(text, Look::Bad)]);
            return;
        }
        let ended = if self.board.shows_ended { "hide ended" } else { "show ended" };
        let (visible, rows) = (self.board.visible(), self.board.shown().len());
        let hidden = [(visible.start, "above"), (rows.saturating_sub(visible.end), "below")];
        let hidden: Vec<String> = hidden
            .iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, place)| format!("{number} {place}"))
            .collect();
        let start = self.theme.put_right(buffer, area, &[span(hidden.join(", "), Look::Faint)]);
        let area = Rect { width: start.saturating_sub(area.x), ..area };
        let mut keys = vec![("↑↓", "choose"), ("enter", "read"), ("a", ended)];
        if self.board.facts.environment.in_tmux {
            keys.push(("p", "pane"));
        }
        keys.extend([("?", "help"), ("q", "quit")]);
        let keymap = &self.board.facts.environment.keymap;
        let mut spans = Vec::new();
        for (key, does) in keys {
            spans.push(span(keymap.shown(key), Look::Strong));
            spans.push(span(format!(" {does}   "), Look::Faint));
        }
        self.theme.put(buffer, area, &spans);
    }
}
